# What calib_study() compares and by what: methods and metrics as users write them (a name, a
# function, a list with arguments) turned into one form each.

# Methods ---------------------------------------------------------------------------------

# The order in which the package's own calibrators stand in tables; others follow.
study_order <- c("none", "platt", "isotonic", "beta", "histogram", "bbq", "temperature", "gp")

#' The names of all calibrators of the package
#'
#' Looked up when called, so that a calibrator takes part once it is there: an exported
#' calib_<x>(scores, labels, input, ...).
#' @noRd
known_calibrators <- function(space = topenv()) {
  names <- grep("^calib_", getNamespaceExports(space), value = TRUE)
  is_one <- vapply(names, function(name) {
    identical(utils::head(names(formals(get(name, space))), 3), c("scores", "labels", "input"))
  }, NA)
  found <- sub("^calib_", "", names[is_one])
  c(intersect(study_order, found), sort(setdiff(found, study_order)))
}

#' @return list of methods, each list(name, fit, args, predict): `fit` a function, `args` what it
#'   gets beside the data, `predict` a function(fit, newdata) or the arguments for predict().
#' @noRd
check_methods <- function(methods, written = NULL) {
  if (is.null(methods)) methods <- known_calibrators()
  if (is.function(methods)) methods <- list(methods)
  if (is.character(methods)) methods <- as.list(methods)
  if (!is.list(methods) || !length(methods)) {
    stop_input("methods", "must be names of calibrators, functions, or a list of these",
      say_given(methods))
  }
  names <- spec_names(methods, written, "method", name_calibrator)
  check_unique(names, "methods")
  unname(Map(read_method, methods, names))
}

#' "gp" for "calib_gp" and for the function itself, NULL for functions from elsewhere
#' @noRd
name_calibrator <- function(x) {
  if (is.character(x)) return(sub("^calib_", "", x))
  for (name in known_calibrators()) {
    if (identical(x, get(paste0("calib_", name), topenv()))) return(name)
  }
}

read_method <- function(method, name) {
  spec <- split_spec(method, "fit", "methods", name)
  args <- spec$args
  predict <- args[["predict"]]
  args[["predict"]] <- NULL
  if (!is.null(predict) && !is.function(predict) && !is_named_list(predict)) {
    stop_input("methods", paste0("has a bad `predict` in \"", name, "\""),
      "Give a function(fit, newdata), or a list of named arguments for predict().")
  }
  fit <- spec$main
  if (is.character(fit)) {
    known <- known_calibrators()
    bare <- sub("^calib_", "", fit)
    if (!bare %in% known) {
      stop_input("methods", paste0("has a name that is no calibrator, \"", fit, "\""),
        paste0("The calibrators are ", say_values(known, 20), "; others can be given as functions."))
    }
    fit <- get(paste0("calib_", bare), topenv())
  }
  # An empty list with names is not identical to one without: fits are shared by comparing them.
  list(name = name, fit = fit, args = if (length(args)) args else list(), predict = predict)
}

# Metrics ---------------------------------------------------------------------------------

metric_functions <- c("ece", "mce", "log_loss", "brier_score", "class_accuracy", "overconfidence",
  "underconfidence", "confidence_gap", "sharpness")
higher_metrics <- c("class_accuracy", "sharpness")

#' @return list of metrics, each list(name, fun, args, higher, target, loss): `higher` says that larger is
#'   better, `target` what it should be nearest to (NA: neither), `loss` what it is a mean of (or NULL).
#' @noRd
check_metrics <- function(metrics, written = NULL) {
  if (is.function(metrics)) metrics <- list(metrics)
  if (is.character(metrics)) metrics <- as.list(metrics)
  if (!is.list(metrics) || !length(metrics)) {
    stop_input("metrics", "must be names of measures, functions, or a list of these",
      say_given(metrics))
  }
  names <- spec_names(metrics, written, "metric", function(x) if (is.character(x)) x)
  check_unique(names, "metrics")
  unname(Map(read_metric, metrics, names))
}

read_metric <- function(metric, name) {
  spec <- split_spec(metric, "fun", "metrics", name)
  args <- spec$args
  higher <- args[["higher"]]
  target <- args[["target"]]
  args[["higher"]] <- args[["target"]] <- NULL
  loss <- NULL
  fun <- spec$main
  if (is.character(fun)) {
    if (!fun %in% metric_functions) {
      stop_input("metrics", paste0("has a name that is no measure, \"", fun, "\""),
        paste0("The measures are ", say_values(metric_functions, 20),
          "; others can be given as functions."))
    }
    if (is.null(higher)) higher <- fun %in% higher_metrics
    loss <- row_losses[[fun]]
    fun <- get(fun, topenv())
  }
  # yardstick marks its measures in this way.
  if (is.null(target) && identical(attr(fun, "direction"), "zero")) target <- 0
  if (is.null(higher)) higher <- identical(attr(fun, "direction"), "maximize")
  higher <- check_flag(higher, "higher")
  target <- if (is.null(target)) NA_real_ else check_number(target, "target")
  if (higher && !is.na(target)) {
    stop_input("metrics", paste0("has both `higher` and `target` in \"", name, "\""),
      "Larger is better, or nearer to the target: give one of the two.")
  }
  list(name = name, fun = fun, args = args, higher = higher, target = target, loss = loss)
}

# Both ------------------------------------------------------------------------------------

#' A name, a function or list(name or function, argument = , ...) as list(main, args)
#' @noRd
split_spec <- function(spec, field, arg, name) {
  args <- list()
  main <- spec
  if (is.list(spec)) {
    named <- entry_names(spec)
    at <- which(named == field)
    if (!length(at)) at <- which(named == "")
    if (length(at) == 1) {
      main <- spec[[at]]
      args <- spec[-at]
    } else {
      main <- NULL
    }
  }
  if (!is.function(main) && !(is.character(main) && length(main) == 1 && !is.na(main)) ||
    any(entry_names(args) == "")) {
    stop_input(arg, paste0("has an entry that cannot be read, \"", name, "\""),
      paste0("Give a name, a function, or a list that holds one of these first and then named ",
        "arguments for it."))
  }
  list(main = main, args = args)
}

entry_names <- function(x) {
  if (is.null(names(x))) rep("", length(x)) else ifelse(is.na(names(x)), "", names(x))
}

is_named_list <- function(x) is.list(x) && !any(entry_names(x) == "")

#' What the entries are called: their names, else what they say, else how they were written
#' @noRd
spec_names <- function(specs, written, kind, say) {
  names <- entry_names(specs)
  symbols <- if (is.call(written) && length(written) == length(specs) + 1) as.list(written)[-1]
  if (is.symbol(written) && length(specs) == 1) symbols <- list(written)
  for (i in which(names == "")) {
    part <- specs[[i]]
    if (is.list(part) && length(part)) part <- part[[1]]
    known <- say(part)[1]
    names[i] <- if (!is.null(known)) {
      known
    } else if (!is.null(symbols) && is.symbol(symbols[[i]])) {
      as.character(symbols[[i]])
    } else {
      paste0(kind, i)
    }
  }
  names
}

check_unique <- function(names, arg) {
  twice <- unique(names[duplicated(names)])
  if (length(twice)) {
    stop_input(arg, paste0("has entries of the same name (", say_values(twice), ")"),
      "Name them apart: list(one = ..., two = ...).")
  }
}

#' Does a function take this argument, by name or (when `dots`) through `...`?
#' @noRd
takes <- function(fun, arg, dots = FALSE) {
  known <- names(formals(args(fun)))
  arg %in% known || dots && "..." %in% known
}
