# The work of calib_study(): one task is one data set, one split, and the methods that share a fit.

#' Tasks in an order that gives each worker its part of every data set
#' @noRd
study_tasks <- function(counts, methods) {
  shared <- vapply(methods, function(method) {
    same <- function(other) identical(other[c("fit", "args")], method[c("fit", "args")])
    which(vapply(methods, same, NA))[1]
  }, 0L)
  groups <- unname(split(seq_along(methods), shared))
  tasks <- list()
  for (split in seq_len(max(counts))) {
    for (set in which(counts >= split)) {
      tasks <- c(tasks, lapply(groups, function(members) {
        list(set = set, split = split, methods = members)
      }))
    }
  }
  tasks
}

#' Here, or on the workers of a future::plan()
#' @noRd
study_apply <- function(tasks, job, sums) {
  progress <- if (isNamespaceLoaded("progressr")) {
    progressr::progressor(steps = length(tasks))
  } else {
    function(...) NULL
  }
  parallel <- isNamespaceLoaded("future") && !inherits(future::plan(), "sequential")
  if (parallel && !requireNamespace("future.apply", quietly = TRUE)) {
    warn_gpcalib("future", paste0("A future::plan() is set, but the package future.apply is not ",
      "installed: the study runs in this session."))
    parallel <- FALSE
  }
  if (!parallel) {
    return(lapply(tasks, function(task) add_row_sums(sums, run_task(task, job, progress))))
  }
  needs <- user_globals(job)
  # Random numbers are ours: see run_task().
  results <- future.apply::future_lapply(tasks, run_task, job = job, progress = progress, future.seed = NULL,
    future.globals = needs$globals, future.packages = c(utils::packageName(), needs$packages))
  lapply(results, add_row_sums, sums = sums)
}

#' What the user's own functions use: they sit in lists, where future does not look
#' @noRd
user_globals <- function(job) {
  functions <- c(lapply(job$methods, `[[`, "fit"), lapply(job$methods, `[[`, "predict"),
    lapply(job$metrics, `[[`, "fun"))
  own <- Filter(function(f) is.function(f) && identical(topenv(environment(f)), globalenv()),
    functions)
  if (!length(own)) return(list(globals = list(), packages = NULL))
  names(own) <- paste0("...own", seq_along(own))
  found <- future::getGlobalsAndPackages(as.call(c(as.name("{"), lapply(names(own), as.name))),
    envir = list2env(own, parent = globalenv()))
  globals <- as.list(found$globals)
  list(globals = globals[setdiff(names(globals), names(own))], packages = found$packages)
}

# Random numbers --------------------------------------------------------------------------

random_state <- function() get0(".Random.seed", globalenv(), inherits = FALSE)

#' Streams of L'Ecuyer's generator, from one number of the session's own
#' @noRd
draw_streams <- function(count) {
  start <- sample.int(.Machine$integer.max, 1)
  old <- random_state()
  on.exit(assign(".Random.seed", old, envir = globalenv()))
  set.seed(start, "L'Ecuyer-CMRG", "Inversion", "Rejection")
  streams <- vector("list", count)
  streams[[1]] <- random_state()
  for (i in seq_len(count - 1)) streams[[i + 1]] <- parallel::nextRNGStream(streams[[i]])
  streams
}

#' Evaluate with the generator in a given state, and leave it as it was
#' @noRd
with_stream <- function(stream, code) {
  old <- random_state()
  kind <- RNGkind()
  on.exit({
    if (is.null(old)) {
      do.call(RNGkind, as.list(kind))
      rm(".Random.seed", envir = globalenv())
    } else {
      assign(".Random.seed", old, envir = globalenv())
    }
  })
  assign(".Random.seed", stream, envir = globalenv())
  code
}

# One task --------------------------------------------------------------------------------

#' @return one record per method of the task: where it belongs, `values` and `errors` by metric,
#'   times, and the conditions met.
#' @noRd
run_task <- function(task, job, progress) {
  set <- job$sets[[task$set]]
  rows <- job$splits[[task$set]][[task$split]]
  stream <- job$streams[[task$set]][[task$split]]
  methods <- job$methods[task$methods]
  test <- list(
    scores = set$scores[rows$test, , drop = FALSE], labels = set$labels[rows$test],
    weights = set$weights[rows$test]
  )
  fit <- observe("fit", stream, function() fit_method(methods[[1]], set, rows$cal))
  levels <- if (!is.null(set$by)) split(seq_along(rows$test), set$by[rows$test])
  records <- lapply(seq_along(methods), function(i) {
    place <- list(set = task$set, split = task$split, method = task$methods[i],
      n_cal = length(rows$cal), n_test = if (is.null(levels)) length(rows$test) else lengths(levels),
      rows = rows$test)
    c(place, measure_method(methods[[i]], fit, test, job$metrics, stream, levels))
  })
  progress()
  records
}

#' @param levels NULL, or the test rows of each value of `by`: a column of values and errors for each.
#' @noRd
measure_method <- function(method, fit, test, metrics, stream, levels = NULL) {
  parts <- if (is.null(levels)) list(seq_along(test$labels)) else levels
  values <- matrix(NA_real_, length(metrics), length(parts))
  errors <- matrix(NA_character_, length(metrics), length(parts))
  losses <- NULL
  predict_time <- NA_real_
  seen <- fit$seen
  if (is.na(fit$error)) {
    # A stream of its own for the prediction: it must not matter whether the fit was shared.
    next_stream <- parallel::nextRNGSubStream(stream)
    out <- observe("predict", next_stream, function() predict_method(method, fit$value, test$scores))
    seen <- rbind(seen, out$seen)
    failed <- out$error
    predict_time <- out$time
    if (is.na(failed)) {
      checked <- observe("predict", next_stream, function() check_predictions(out$value, test))
      seen <- rbind(seen, checked$seen)
      failed <- checked$error
    }
    if (is.na(failed)) {
      for (l in seq_along(parts)) {
        probs <- if (is.null(levels)) checked$value else checked$value[parts[[l]], , drop = FALSE]
        rows <- if (is.null(levels)) test else test_rows(test, parts[[l]])
        for (i in seq_along(metrics)) {
          one <- observe(metrics[[i]]$name, next_stream,
            function() measure_one(metrics[[i]], probs, rows))
          seen <- rbind(seen, one$seen)
          errors[i, l] <- one$error
          if (is.na(one$error)) values[i, l] <- one$value
        }
      }
      losses <- vapply(Filter(function(metric) !is.null(metric$loss), metrics), losses_of,
        numeric(length(test$labels)), probs = checked$value, labels = test$labels)
    } else {
      errors[] <- failed
    }
  } else {
    errors[] <- fit$error
  }
  list(values = values, errors = errors, losses = losses, fit_time = fit$time, predict_time = predict_time,
    seen = seen)
}

test_rows <- function(test, rows) {
  list(scores = test$scores[rows, , drop = FALSE], labels = test$labels[rows], weights = test$weights[rows])
}

#' Run, timed, with errors caught and warnings and messages collected
#' @noRd
observe <- function(stage, stream, run) {
  kinds <- character()
  messages <- character()
  note <- function(kind, condition) {
    kinds <<- c(kinds, kind)
    messages <<- c(messages, trimws(conditionMessage(condition)))
  }
  start <- Sys.time()
  failed <- FALSE
  value <- with_stream(stream, tryCatch(
    withCallingHandlers(run(),
      warning = function(w) {
        note("warning", w)
        tryInvokeRestart("muffleWarning")
      },
      message = function(m) {
        note("message", m)
        tryInvokeRestart("muffleMessage")
      }),
    error = function(e) {
      note("error", e)
      failed <<- TRUE
    }
  ))
  seconds <- as.double(difftime(Sys.time(), start, units = "secs"))
  list(
    value = if (!failed) value, time = if (failed) NA_real_ else seconds,
    error = if (failed) messages[length(messages)] else NA_character_,
    seen = data.frame(stage = rep(stage, length(kinds)), kind = kinds, message = messages)
  )
}

fit_method <- function(method, set, rows) {
  args <- method$args
  if (is.null(args[["input"]]) && takes(method$fit, "input")) args[["input"]] <- set$input
  if (!is.null(set$weights) && is.null(args[["weights"]]) && takes(method$fit, "weights", TRUE)) {
    args[["weights"]] <- set$weights[rows]
  }
  do.call(method$fit, c(list(set$scores[rows, , drop = FALSE], set$labels[rows]), args),
    quote = TRUE)
}

predict_method <- function(method, fit, scores) {
  if (is.function(method$predict)) return(method$predict(fit, scores))
  how <- if (is.function(fit)) fit else function(...) predict(fit, ...)
  do.call(how, c(list(scores), method$predict), quote = TRUE)
}

#' Predictions as a matrix of probabilities with the classes in their order
#' @noRd
check_predictions <- function(probs, test) {
  if (NROW(probs) != nrow(test$scores)) {
    stop(paste0("The predictions have ", NROW(probs), " rows instead of ", nrow(test$scores), "."),
      call. = FALSE)
  }
  data <- check_data(probs, test$labels, "probs", NULL, "predictions", compare = FALSE)
  dimnames(data$scores) <- list(NULL, data$classes)
  data$scores
}

measure_one <- function(metric, probs, test) {
  args <- metric$args
  if (!is.null(test$weights) && is.null(args[["weights"]]) && takes(metric$fun, "weights", TRUE)) {
    args[["weights"]] <- test$weights
  }
  value <- do.call(metric$fun, c(list(probs, test$labels), args), quote = TRUE)
  if (!is.numeric(value) || length(value) != 1) {
    stop("The metric returned something other than one number.", call. = FALSE)
  }
  as.double(value)
}

# The result ------------------------------------------------------------------------------

#' Records as a calib_study
#' @noRd
finish_study <- function(records, job, sums) {
  place <- function(field) vapply(records, function(record) as.double(record[[field]]), 0)
  records <- records[order(place("set"), place("split"), place("method"))]
  name_of <- function(parts) vapply(parts, `[[`, "", "name")
  names <- set_labels(job$sets)
  methods <- name_of(job$methods)
  metrics <- name_of(job$metrics)
  each <- length(metrics)
  coded <- function(values, levels) factor(levels[values], levels = levels)
  # One block of rows per record and level of `by`, the levels in place of data sets.
  first <- cumsum(c(0, lengths(names)))[place("set")]
  counts <- vapply(records, function(record) ncol(record$values), 0L)
  level <- rep(first, counts) + sequence(counts)
  whose <- rep(rep(seq_along(records), counts), each = each)
  sets <- unlist(names)
  table <- data.frame(
    data = rep(coded(level, sets), each = each), split = as.integer(place("split"))[whose],
    method = coded(place("method"), methods)[whose],
    metric = factor(rep(metrics, sum(counts)), levels = metrics),
    value = unlist(lapply(records, `[[`, "values")),
    fit_time = place("fit_time")[whose],
    predict_time = place("predict_time")[whose],
    n_cal = as.integer(place("n_cal"))[whose],
    n_test = rep(as.integer(unlist(lapply(records, `[[`, "n_test"))), each = each),
    error = unlist(lapply(records, `[[`, "errors"))
  )
  table <- table[order(as.integer(table$data), table$split, as.integer(table$method)), ]
  rownames(table) <- NULL
  counts <- vapply(records, function(record) nrow(record$seen), 0L)
  seen <- cbind(
    data.frame(
      data = rep(coded(first + 1, sets), counts), split = rep(as.integer(place("split")), counts),
      method = rep(coded(place("method"), methods), counts)
    ),
    do.call(rbind, lapply(records, `[[`, "seen"))
  )
  study <- structure(table,
    higher = stats::setNames(vapply(job$metrics, `[[`, NA, "higher"), metrics),
    target = stats::setNames(vapply(job$metrics, `[[`, 0, "target"), metrics),
    rows = row_covariances(sums, job, sets),
    conditions = seen, class = c("calib_study", "data.frame"))
  warn_failed(study)
  warn_undefined(study)
  study
}

#' What stands in the column `data`: names of sets, values of `by`, or both; a vector for each set
#' @noRd
set_labels <- function(sets) {
  lapply(sets, function(set) {
    name <- if (is.null(set$name)) "data" else set$name
    if (is.null(set$by)) return(name)
    if (is.null(set$name)) levels(set$by) else paste0(name, ": ", levels(set$by))
  })
}

warn_failed <- function(study) {
  bad <- study[!is.na(study$error), ]
  if (!nrow(bad)) return()
  whole <- unique(data.frame(bad$data, bad$split, bad$method))
  warn_gpcalib("failed", paste0(nrow(whole), " of ",
    nrow(unique(as.data.frame(study)[c("data", "split", "method")])),
    " fits, predictions or measurements failed, the first by \"", bad$method[1], "\": ", bad$error[1]))
}

warn_undefined <- function(study) {
  none <- is.na(study$value) & is.na(study$error)
  if (!any(none)) return()
  warn_gpcalib("undefined", paste0(sum(none), " of the ", nrow(study), " values are undefined (NaN; ",
    say_values(levels(droplevels(study$metric[none]))), "), and so are means over them."))
}

#' Rows keep what belongs to the study; without its columns it is a plain data frame
#' @noRd
#' @export
`[.calib_study` <- function(x, ...) {
  kept <- attributes(x)[c("higher", "target", "rows", "conditions")]
  out <- NextMethod()
  if (!is.data.frame(out)) return(out)
  if (all(study_columns %in% names(out))) {
    return(structure(out, higher = kept$higher, target = kept$target, rows = kept$rows,
      conditions = kept$conditions))
  }
  as.data.frame.calib_study(out)
}

study_columns <- c("data", "split", "method", "metric", "value", "fit_time", "predict_time", "n_cal",
  "n_test", "error")

#' @export
as.data.frame.calib_study <- function(x, ...) {
  plain <- c("names", "row.names")
  attributes(x) <- c(attributes(x)[plain], class = "data.frame")
  x
}
