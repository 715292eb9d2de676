# The path that every calibrator takes. A method file offers calib_<x>(), which ends in
# new_calibrator(), and S3 methods for the internal generics predict_probs(), describe(),
# parameters() and object_fields(); everything a user calls on a fit is here.

#' Build the object every calibrator returns: plain vectors only
#'
#' @param data what check_calibration() returned.
#' @param call the user's call; values that do.call() put into it are dropped.
#' @param ... the method's own fields.
#' @noRd
new_calibrator <- function(method, data, call, converged, iterations, ...) {
  fields <- list(
    method = method, classes = data$classes, input = data$input, n = nrow(data$scores),
    call = slim_call(call, method), converged = converged, iterations = iterations, ...,
    prior = class_shares(data), seen_weight = if (!is.null(data$weights)) sum(data$weights)
  )
  object <- structure(c(fields, format = object_format), class = c(paste0("calib_", method), "calibrator"))
  own <- own_rows(object, data)
  object$format <- NULL # stays last, so that an object cut short anywhere is found out
  object[["off"]] <- own$off
  object[["row_loss"]] <- own$loss
  object[["row_accuracy"]] <- own$accuracy
  object[["row_confidence"]] <- own$confidence
  object[["row_means"]] <- own$means
  if (only_votes(data)) object[["votes"]] <- TRUE
  object$format <- object_format
  if (method == "gp") warn_changed(object, data)
  object
}

#' Are the scores predicted classes, 0 and 1 only? The first row answers for most data
#' @noRd
only_votes <- function(data) {
  vote <- function(x) all(x == 0 | x == 1)
  data$input == "probs" && vote(data$scores[1, ]) && vote(data$scores)
}

#' Class frequencies of the calibration rows, by weight
#' @noRd
class_shares <- function(data) {
  counts <- class_weights(data$labels, data$weights, length(data$classes))
  as.double(counts / sum(counts))
}

#' A call without the data, and the function itself, that do.call() writes into it
#' @noRd
slim_call <- function(call, method) {
  if (is.function(call[[1]])) call[[1]] <- as.name(paste0("calib_", method))
  slim_part(call)
}

slim_part <- function(call) {
  for (i in seq_along(call)) {
    # Tested in place: an argument left out, as in x[1, ], cannot be passed on.
    if (is.symbol(call[[i]])) next
    part <- call[[i]]
    if (is.call(part) && !identical(part[[1]], quote(`function`))) {
      call[[i]] <- slim_part(part)
    } else if (!is.atomic(part) || length(part) > 10 || !is.null(attributes(part))) {
      call[[i]] <- quote(...)
    }
  }
  call
}

# Internal generics -----------------------------------------------------------------------

#' N x K probabilities of a method
#' @param data what check_newdata() returned.
#' @noRd
predict_probs <- function(object, data) UseMethod("predict_probs")

#' What print() and summary() say of a method: list(title, lines, details), the details in summary() alone
#' @noRd
describe <- function(object) UseMethod("describe")

#' What tidy() and coef() give: a data frame of term, estimate and std.error
#' @noRd
parameters <- function(object) UseMethod("parameters")

#' @export
parameters.default <- function(object) {
  data.frame(term = character(), estimate = numeric(), std.error = numeric())
}

# Prediction ------------------------------------------------------------------------------

#' Calibrated probabilities for new scores
#'
#' Applies a calibrator to scores: calibrated probabilities, the most likely classes, or, for some methods, probabilities with
#' intervals.
#'
#' @param object A calibrator: the result of [calib_temperature()] or another `calib_*()`. For
#'   [calib_gp()] see [predict.calib_gp()].
#' @param newdata Scores of the same kind and the same classes as in fitting: a matrix, data
#'   frame or, for two classes, a vector (see [gpcalib_input]). A data frame may hold other columns beside those
#'   named after the classes (with or without `.pred_`). Required.
#' @param type `"prob"` for probabilities, `"class"` for the most likely class, `"interval"` for probabilities with a
#'   confidence interval for the calibration map:
#'   [calib_temperature()] for any number of classes, [calib_platt()] and [calib_beta()] for two. It is computed by the
#'   delta method on the log-odds, and assumes that the form of the map is right. For Venn-Abers ([calib_isotonic()]) it is
#'   the pair of probabilities.
#' @param level Level of the intervals.
#' @param prior Class frequencies of the new rows, where they differ from those of the calibration rows: a
#'   number per class, in order or by name, for two classes also the frequency of the second class alone, or the result
#'   of [estimate_prior()]. Probabilities are multiplied by the ratio of new to old frequency, and each row is divided
#'   by its sum. This is correct when the distribution of the scores within each class is unchanged. `NULL`: no change.
#' @param threads How many threads to use. The result does not depend on it.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return For `"prob"` an N x K matrix of probabilities with the classes as column names and
#'   the row names of `newdata`; for `"class"` a factor with the levels of the training labels
#'   (the first of several equal maxima); for `"interval"` an array N x K x 3 (estimate, lower, upper). Its
#'   limits are `NA`, with a warning of class `gpcalib_warning_undefined`, where the fit has no standard
#'   errors.
#' @seealso [estimate_prior()] for `prior`, [calibrator_inference] for the parameters.
#' @examples
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' p <- predict(fit, letters_nn$test$scores)
#' round(p[1:3, 1:6], 4)
#' mean(predict(fit, letters_nn$test$scores, type = "class") == letters_nn$test$labels)
#'
#' rain <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' predict(rain, c(0.1, 0.5), type = "interval")[, "rain", ]
#' predict(rain, c(0.1, 0.5), prior = c(dry = 0.95, rain = 0.05))
#' @export
predict.calibrator <- function(object, newdata, type = c("prob", "class", "interval"), ..., level = 0.95,
                               prior = NULL, threads = 1) {
  check_predict_dots(...)
  object <- check_object(object)
  type <- check_predict_type(type, c("prob", "class", "interval"))
  level <- check_level(level, "level")
  data <- prepare_newdata(object, newdata, threads)
  shift <- check_shift(object, prior)
  if (type == "interval") {
    return(finish_interval(predict_interval(object, data, level, shift), object, data))
  }
  finish_probs(shift_probs(predict_probs(object, data), shift), object, data, type)
}

#' Words of predict() of other models
#' @noRd
check_predict_dots <- function(...) {
  name <- intersect(...names(), c("interval", "se.fit"))
  if (length(name)) stop_input("...", paste0("has an unknown argument, ", name[1]), "Intervals are asked for by type = \"interval\".")
  check_dots_empty(...)
}

check_predict_type <- function(type, choices) {
  if (identical(type, "response")) stop_input("type", "is \"response\"", "Probabilities are type = \"prob\".")
  check_choice(type, choices, "type")
}

finish_interval <- function(parts, object, data) {
  array(c(parts$estimate, parts$lower, parts$upper), c(dim(parts$estimate), 3),
    dimnames = list(data$rows, object$classes, c("estimate", "lower", "upper")))
}

prepare_newdata <- function(object, newdata, threads) {
  if (missing(newdata)) {
    stop_input("newdata", "is missing",
      "Give the scores to calibrate.")
  }
  threads <- check_threads(threads)
  c(check_newdata(object, newdata, threads), threads = threads)
}

finish_probs <- function(probs, object, data, type) {
  if (type == "class") {
    winner <- scan_rows(probs, data$threads)$arg
    return(factor(object$classes[winner], levels = object$classes))
  }
  dimnames(probs) <- list(data$rows, object$classes)
  probs
}

# Looking at a fit ------------------------------------------------------------------------

#' Look at a calibrator
#'
#' `print()` says in a few lines what was fitted; `summary()` adds the numerical details of
#' the fit; `coef()` gives its parameters and `nobs()` the number of calibration rows. `tidy()`
#' and `glance()` give the same as data frames with one row per parameter and per fit;
#' `augment()` adds calibrated probabilities to a data frame.
#'
#' @param x,object A calibrator.
#' @param newdata For `augment()`: scores as in [predict.calibrator()], or a data frame that
#'   holds, among other columns, the score columns under the names of the classes (with or
#'   without `.pred_`); for two classes that of the second is enough. Or a lazy table of \pkg{dbplyr}, which stays lazy: see [calib_sql()].
#' @param data For `augment()`: the data frame to add to; `newdata` itself when `NULL`.
#' @param conf.int,conf.level For `tidy()`: whether to add the intervals of [confint()], and their level.
#' @param interval For `augment()`: whether to add columns `.pred_lower_<class>` and `.pred_upper_<class>`, for
#'   methods whose `predict()` has `type = "interval"`.
#' @param level Level of these intervals.
#' @param ... Not used, except that `augment()` passes it to `predict()`, or for lazy tables takes `columns`, `keep` and `lookup` as
#'   [calib_sql()] does (by default all columns are kept) and `check`: whether to look for NULL and other bad scores by a query first.
#' @details
#' `print()` names the classes whose mean predicted probability on the calibration rows is more than four standard errors from their observed
#' frequency (the worst three, and how many more). The squared standard error is the variance of the frequency under calibration, that is the sum of p (1 - p) over
#' the rows divided by the square of their number, but at least half the variance of the observed frequency, f (1 - f) / N; the latter is larger where forecasts are sharp. What a fit
#' says of its calibration rows is from a sample of them, spread evenly, if they are more than 5000 or have more than 200,000 scores (but at least 200 rows).
#'
#' For a fit of [calib_gp()] and a lazy table, `augment()` computes `predict(approx = "mean")`, and says so in a message of class
#' `gpcalib_message_posterior_mean`: see [calib_sql()].
#' @return `print()` returns its argument and `summary()` an object of class `summary.calibrator`;
#'   `coef()` a named vector; `nobs()` a number; `tidy()` a data frame with the columns `term`,
#'   `estimate` and `std.error`, with `conf.int = TRUE` also `conf.low` and `conf.high`; `glance()` one row with `method`, `input`, `classes`, `nobs`,
#'   `converged`, `iterations` and `logLik` where the method has one; `augment()` the data frame
#'   with columns `.pred_<class>` and `.pred_class`, which replace older ones of the same name.
#' @examples
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' fit
#' summary(fit)
#' coef(fit)
#' tidy(fit)
#' glance(fit)
#'
#' rain <- calib_temperature(rain_nyc$prob, rain_nyc$rain)
#' head(augment(rain, rain_nyc$prob, data = rain_nyc[c("time", "origin", "rain")]), 3)
#' @name calibrator
NULL

#' @rdname calibrator
#' @export
print.calibrator <- function(x, ...) {
  x <- check_object(x, "x")
  about <- describe(x)
  cat("<", class(x)[1], "> ", about$title, "\n", sep = "")
  cat("  ", length(x$classes), " classes, ", format(x$n, big.mark = ","), " calibration rows of ",
    if (x$input == "probs") "probabilities" else "logits", "\n", sep = "")
  cat(paste0("  ", c(say_examples(x), say_loss(x), about$lines, say_votes(x), say_unseen(x), say_updated(x)), "\n"), sep = "")
  if (!is.null(x[["auto"]])) cat("  ", say_auto(x), "\n", sep = "")
  if (!x$converged) cat("  not converged: see the warnings of the fit\n")
  if (!is.null(x[["off"]])) cat(paste0("  ", say_off(x), "\n"), sep = "")
  invisible(x)
}

#' The line on probabilities that were raised, or NULL
#' @noRd
say_floor <- function(object) {
  if (is.null(object$floor) || isTRUE(object$votes)) return(NULL)
  floor <- format(object$floor, digits = 2)
  # Each method chooses its own, so that temperatures of one data set differ.
  paste0("probabilities below ", floor, " are treated as ", floor, if (is.null(object$call$floor)) ", since zeros occur",
    if (is.null(object$call$floor) && says_temperature(object)) "; the temperature depends on that")
}

says_temperature <- function(object) {
  object$method == "temperature" || object$method == "gp" && !is.null(say_confidence(object))
}

#' Classes without calibration rows, and what follows for one or several of them; NULL if there are none
#' @noRd
say_absent <- function(object, one, several) {
  absent <- object$classes[which(object$prior == 0)]
  if (!length(absent)) return(NULL)
  if (length(absent) == length(object$classes) - 1) {
    return(paste0("every calibration row is of class ", say_values(object$classes[which.max(object$prior)]),
      ": nothing can be learned about the ", if (length(absent) == 1) "other class" else "others"))
  }
  who <- if (length(absent) == 1) paste("class", say_values(absent)) else {
    paste0(length(absent), " of ", length(object$classes), " classes (", say_values(absent), ")")
  }
  paste0("no calibration rows of ", who, ": ", if (length(absent) == 1) one else several)
}

#' The same for methods that fit all classes together
#' @noRd
say_unseen <- function(object) {
  if (object$method == "none" || !is.null(object[["fixed"]])) return(NULL)
  rest <- "probabilities are based on the rows of the other classes alone"
  say_absent(object, paste("its", rest), paste("their", rest))
}

#' What a user can do whose scores are predicted classes
#' @noRd
say_votes <- function(object) {
  if (!isTRUE(object$votes) || object$method == "none") return(NULL)
  "the scores are only 0 and 1, that is, predicted classes; probabilities or decision values, if the classifier has them, tell more"
}

#' @rdname calibrator
#' @export
summary.calibrator <- function(object, ...) {
  object <- check_object(object)
  structure(list(fit = object, coefficients = tidy(object), glance = glance(object)),
    class = "summary.calibrator"
  )
}

#' @export
print.summary.calibrator <- function(x, ...) {
  print(x$fit)
  cat("\nCall: ", paste(deparse(x$fit$call, width.cutoff = 80L), collapse = "\n  "), "\n", sep = "")
  print_means(x$fit)
  details <- describe(x$fit)$details
  if (length(details)) cat("\nModel:\n", paste0("  ", details, "\n"), sep = "")
  if (nrow(x$coefficients)) {
    cat("\nParameters:\n")
    shown <- if (nrow(x$coefficients) > 24) 20 else nrow(x$coefficients) # one or two more need no line of their own
    print(utils::head(x$coefficients, shown), row.names = FALSE, digits = 4)
    if (nrow(x$coefficients) > shown) cat("... and ", nrow(x$coefficients) - shown, " more: see tidy()\n", sep = "")
  }
  one <- x$glance
  cat("\nIterations: ", one$iterations, " (", if (one$converged) "converged" else "not converged",
    ")", if (is.finite(one$logLik)) paste0(", log-likelihood ", format(one$logLik, digits = 6)),
    "\n", sep = "")
  classes <- x$fit$classes
  cat("Classes: ", paste(utils::head(classes, 12), collapse = ", "),
    if (length(classes) > 12) paste0(", ... (", length(classes), ")"), "\n", sep = "")
  invisible(x)
}

#' @rdname calibrator
#' @export
coef.calibrator <- function(object, ...) {
  terms <- tidy(object)
  stats::setNames(terms$estimate, terms$term)
}

#' @rdname calibrator
#' @export
nobs.calibrator <- function(object, ...) check_object(object)$n

#' @rdname calibrator
#' @export
tidy.calibrator <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  x <- check_object(x, "x")
  table <- parameters(x)
  if (check_flag(conf.int, "conf.int")) add_interval(x, table, conf.level) else table
}

#' @rdname calibrator
#' @export
glance.calibrator <- function(x, ...) {
  x <- check_object(x, "x")
  data.frame(
    method = x$method, input = x$input, classes = length(x$classes), nobs = x$n,
    converged = x$converged, iterations = x$iterations,
    logLik = if (is.null(x$log_lik)) NA_real_ else x$log_lik
  )
}

# The latent map --------------------------------------------------------------------------

#' The latent map of a calibrator
#'
#' Calibrators with one map shared by all classes turn every score z of a row into g(z) and return
#' softmax(g(z_1), ..., g(z_K)): no calibration has g(z) = z, temperature scaling
#' g(z) = z / T. A constant added to g changes nothing, so only differences of g within a row
#' matter.
#'
#' @param object A calibrator with a latent map: [calib_gp()], [calib_temperature()] or
#'   [calib_none()].
#' @param z Numeric vector of scores on the scale the map works on: logits, or logarithms of
#'   probabilities; less their row mean where [calib_gp()] centres rows, and raw probabilities for its
#'   `mean = "log"`.
#' @param ... Not used.
#' @return A data frame with the columns `z`, `mean` (the map) and `sd` (its standard deviation,
#'   that of an estimated slope included; 0 for maps without uncertainty).
#' @examples
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' latent(fit, c(-10, 0, 10))
#' @export
latent <- function(object, z, ...) {
  if (missing(z)) stop_input("z", "is missing", "Give the scores at which to evaluate the map.")
  UseMethod("latent")
}

#' @export
latent.default <- function(object, z, ...) {
  stop_input("object", paste0("of class ", class(object)[1], " has no latent map"),
    "It is defined for calib_gp(), calib_temperature() and calib_none().")
}

latent_line <- function(z, slope) {
  if (!is.numeric(z)) stop_input("z", "must be a numeric vector", say_given(z))
  if (anyNA(z)) stop_input("z", "has missing values", "Remove them.")
  z <- as.double(z)
  data.frame(z = z, mean = slope * z, sd = rep(0, length(z)))
}
