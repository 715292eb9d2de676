# reliability_table(), calib_metrics() and calib_validate() of sums and of lazy tables.

#' The arguments of a call that were given, evaluated; `names` are those that may be
#' @noRd
given_arguments <- function(call, frame, allowed, what) {
  given <- setdiff(names(call), c("", "probs", "truth", "estimate", "weights", "by"))
  bad <- setdiff(given, allowed)
  if (length(bad)) {
    stop_input(bad[1], paste0("is not for ", what), if (length(allowed)) paste0("There are ", paste(allowed, collapse = ", "), "."))
  }
  lapply(stats::setNames(given, given), function(name) eval(call[[name]], frame))
}

sum_arguments <- c("bins", "type", "event", "event_level")

#' Sums from sums, or of a lazy table
#' @noRd
take_sums <- function(call, probs, frame, args, eps = 0) {
  if (!is_lazy(probs)) return(probs)
  lazy_sums(call, probs, frame, args[intersect(names(args), sum_arguments)], eps)
}

table_of_sums <- function(call, probs, frame) {
  lazy <- is_lazy(probs)
  own <- c("conf_level", "interval", "classes")
  allowed <- if (lazy) c(own, sum_arguments, "method", "binning", "replicates", "band") else own
  args <- given_arguments(call, frame, allowed, if (lazy) "lazy tables" else "sums, which are made by calib_sums()")
  if (!lazy) {
    for (name in intersect(c("by", "weights", "truth", "estimate"), names(call))) {
      stop_input(name, "is not for sums", "Give it to calib_sums().")
    }
  }
  curves <- !is.null(args$method) && !identical(args$method, "bins") || identical(args$binning, "mass")
  if (lazy && curves) return(table_of_counts(call, probs, frame, args))
  sums <- take_sums(call, probs, frame, args)
  do.call(sums_table, c(list(sums), args[intersect(names(args), own)]))
}

metrics_of_sums <- function(call, probs, frame, ...) {
  dots <- list(...)
  for (name in intersect(c("conf_level", "replicates", "groups"), names(call))) {
    stop_input(name, "is not for lazy tables and sums", "Intervals of these measures need the rows.")
  }
  eps <- if (is.null(call$eps)) 0 else check_number(eval(call$eps, frame), "eps", 0, 1)
  if (!is_lazy(probs)) {
    if (!is.null(call$eps)) stop_input("eps", "is not for sums", "Give it to calib_sums().")
    return(sums_metrics(probs, ...))
  }
  if (identical(dots$binning, "mass")) stop_input("binning", "is \"mass\"", "Lazy tables are summed in bins of equal width.")
  sums <- take_sums(call, probs, frame, dots, eps)
  do.call(sums_metrics, c(list(sums), dots[setdiff(names(dots), c(sum_arguments, "binning"))]))
}

#' Curves and bins of equal mass, from counts that are as exact as doubles
#' @noRd
table_of_counts <- function(call, probs, frame, args) {
  counts <- lazy_counts(call, probs, frame, digits = count_digits, scale = "prob", event = args$event,
    event_level = args$event_level)
  if (!is.null(args$type) && !identical(args$type, "event") && !(identical(args$type, "auto"))) {
    stop_input("type", "must be \"event\" for curves and bins of equal mass of lazy tables")
  }
  if (sum(counts$n) > most_expanded && !is.null(args$conf_level %||% 0.95) && !identical(args$method, NULL) &&
    !identical(args$method, "bins") && !("conf_level" %in% names(args) && is.null(args$conf_level))) {
    stop_input("conf_level", paste0("asks for a band, but there are more than ", format(most_expanded, scientific = FALSE),
      " rows"), "Pass conf_level = NULL for the curve alone.")
  }
  args <- args[setdiff(names(args), c("event", "event_level", "type"))]
  expand <- sum(counts$n) <= most_expanded
  rows <- if (expand) rep(seq_len(nrow(counts)), counts$n) else seq_len(nrow(counts))
  more <- list(probs = counts$prob[rows], labels = counts$label[rows], weights = if (!expand) counts$n,
    by = if (!is.null(counts$by)) counts$by[rows])
  do.call(reliability_table, c(more, args))
}

# So many rows are made of counts again, where bands need them.
most_expanded <- 1e6
count_digits <- 6L

#' A validation from counts: rows of equal probability and outcome count together
#' @noRd
validate_lazy <- function(call, probs, frame) {
  args <- given_arguments(call, frame, c("event", "conf_level", "event_level"), "lazy tables")
  counts <- lazy_counts(call, probs, frame, digits = 4L, scale = "logit", event = args$event, event_level = args$event_level)
  args <- args[setdiff(names(args), c("event", "event_level"))]
  validate_counts(counts, args)
}

validate_counts <- function(counts, args) {
  forecast <- check_forecast(counts$prob, counts$label, counts$n)
  forecast$counts <- TRUE
  level <- if ("conf_level" %in% names(args)) args$conf_level else 0.95
  if (!is.null(level)) level <- check_level(level)
  validate_forecast(forecast, 2L, level, counts$by)
}
