# From sums to tables and measures.

#' @param sums what check_sums() accepts; @param args arguments of reliability_table() that were given.
#' @noRd
sums_table <- function(sums, conf_level = 0.95, interval = c("wilson", "clopper-pearson"), classes = NULL) {
  check_sums(sums, "probs")
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  interval <- check_choice(interval, c("wilson", "clopper-pearson"), "interval")
  tables <- lapply(sums$parts, one_sums_table, sums = sums, level = conf_level, interval = interval, kept = classes)
  if (!sums$by) return(tables[[1]])
  structure(bind_groups(tables, names(tables)), parts = tables, type = sums$type, method = "bins", conf_level = conf_level,
    N = sum(vapply(sums$parts, function(part) part$totals[["n"]], 0)), K = length(sums$classes), classes = sums$classes,
    class = c("reliability_table", "data.frame"))
}

one_sums_table <- function(part, sums, level, interval, kept) {
  part <- unstack_bins(part, sums$bins)
  kept <- sums_classes(part$bins, sums, kept)
  how <- list(type = sums$type, spec = list(event = sums$event, mass = FALSE), method = "bins", level = level, interval = interval,
    kept = kept)
  finish_table(binned_parts(part$bins, how, sums$classes), part$totals, how, part$totals$n, sums$classes)
}

#' kept_classes() of sums: the largest by true, or predicted, rows
#' @noRd
sums_classes <- function(bins, sums, classes) {
  if (is.null(classes)) return(NULL)
  if (sums$type %in% c("classwise", "top_label") && is.numeric(classes) && length(classes) == 1) {
    most <- check_count(classes, "classes")
    sizes <- vapply(bins, function(bin) sum(bin[[if (sums$type == "classwise") "hits" else "weight"]]), 0)
    return(utils::head(order(-sizes), most))
  }
  kept_classes(list(classes = sums$classes), classes, sums$type)
}

# Measures --------------------------------------------------------------------------------

sums_metrics <- function(sums, ...) {
  check_sums(sums, "probs")
  given <- list(...)
  allowed <- c("norm", "debias", "estimator")
  bad <- setdiff(names(given), allowed)
  if (length(bad) || length(given) && is.null(names(given))) {
    stop_input("...", paste0("has arguments that cannot be applied to sums (", say_values(bad), ")"),
      "Bins, type and event are those that calib_sums() was given; norm, debias and estimator can be chosen here.")
  }
  spec <- ece_spec(sums$classes, bins = sums$bins, type = sums$type, norm = given$norm %||% 1,
    debias = given$debias %||% FALSE, estimator = given$estimator %||% "mean",
    event = if (sums$type == "event") sums$classes[sums$event])
  if (spec$estimator == 1L) stop_input("estimator", "is \"midpoint\", whose bins are others", "Use rows, or \"mean\".")
  specs <- list(ece = spec, mce = maximum_spec(spec))
  tables <- lapply(sums$parts, function(part) measures_table(unstack_bins(part, sums$bins), specs, length(sums$classes)))
  table <- if (sums$by) bind_groups(tables, names(tables)) else tables[[1]]
  structure(table, type = sums$type, event = if (sums$event > 0) sums$classes[sums$event], conf_level = NULL, class = c("calib_metrics", "data.frame"))
}

`%||%` <- function(a, b) if (is.null(a)) b else a
