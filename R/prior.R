# Other class frequencies than those of the calibration rows: probabilities corrected for them, and
# the frequencies themselves from scores without labels.

#' Probabilities under other class frequencies
#'
#' Bayes' rule for a change of the class frequencies from `from` to `to` with the distribution of the
#' scores within each class unchanged (label shift): \eqn{q_k \propto p_k\,\mathrm{to}_k / \mathrm{from}_k}.
#' @param probs N x K matrix; @param from,to frequencies of the K classes, checked.
#' @return matrix with the dimnames of `probs`.
#' @noRd
apply_prior <- function(probs, from, to) {
  out <- .Call(C_prior_apply, probs, prior_ratio(from, to))
  if (out$dead > 0) {
    stop_input("prior", paste0("rules out every class that is possible in row ", out$dead,
      " of `newdata`"), "Classes with a frequency of 0 get probability 0.")
  }
  dimnames(out$probs) <- dimnames(probs)
  out$probs
}

#' The same, for what check_shift() returned
#' @noRd
shift_probs <- function(probs, shift) if (is.null(shift)) probs else apply_prior(probs, shift$from, shift$to)

prior_ratio <- function(from, to) ifelse(to > 0, to / from, 0)

#' What predict() is asked to do about class frequencies: NULL, or list(from, to)
#' @noRd
check_shift <- function(object, prior) {
  if (is.null(prior)) return(NULL)
  to <- check_prior(prior, object$classes)
  from <- object_prior(object)
  never <- object$classes[from <= 0 & to > 0]
  if (length(never)) {
    stop_input("prior", paste0("gives a frequency to classes that no calibration row has (",
      say_values(never), ")"), "Nothing was learned about them: give them 0, or calibrate with them.")
  }
  list(from = from, to = to)
}

#' Class frequencies as the user gives them: in order, by name, or that of the second of two
#' @noRd
check_prior <- function(prior, classes, arg = "prior") {
  prior <- unclass(prior)
  if (!is.numeric(prior) || length(dim(prior)) > 1) {
    stop_input(arg, "must be class frequencies", say_given(prior))
  }
  if (length(prior) == 1 && length(classes) == 2) prior <- c(1 - prior, prior)[1:2]
  if (length(prior) != length(classes)) {
    stop_input(arg, paste0("has ", say_count(length(prior), "value"), " but there are ", length(classes),
      " classes"), paste0("Give one frequency per class (", say_values(classes), ")."))
  }
  names <- names(prior)
  if (!is.null(names) && !all(is_gap(names))) {
    at <- match_columns(names, classes)
    if (is.null(at)) {
      stop_input(arg, paste0("has names (", say_values(names), ") that do not match the classes (",
        say_values(classes), ")"), "Rename them, or drop the names to take them in order.")
    }
    prior <- prior[at]
  }
  prior <- as.double(prior)
  if (anyNA(prior) || any(prior < 0) || abs(sum(prior) - 1) > probs_slack) {
    stop_input(arg, "must be frequencies: not negative, with sum 1",
      if (!anyNA(prior) && all(prior >= 0)) paste0("They sum to ", format(sum(prior)), "."))
  }
  prior / sum(prior)
}

#' Class frequencies of the calibration rows
#' @noRd
object_prior <- function(object) {
  if (is.null(object$prior)) {
    stop_input("object", "was fitted by a version of gpcalib that did not keep class frequencies",
      "Fit the calibrator again.")
  }
  object$prior / sum(object$prior)
}

#' Class frequencies of new rows, without their labels
#'
#' When classes are more or less frequent among new rows than among the calibration rows, while the
#' scores within each class are as before (label shift), calibrated probabilities are wrong, but can be
#' corrected by Bayes' rule: [`predict(prior = )`][predict.calibrator]. Where the new frequencies are not known, they
#' can be estimated from the new scores.
#'
#' With calibrated probabilities \eqn{p_{nk}}, frequencies \eqn{\pi_k} of the calibration rows and
#' \eqn{\pi'_k} of the new ones, the likelihood of the new scores is proportional to
#' \deqn{\prod_n \sum_k p_{nk}\, \pi'_k / \pi_k.}{prod_n sum_k p_nk pi'_k / pi_k.}
#' It is maximised over \eqn{\pi'}{pi'} by the iteration of Saerens, Latinne and Decaestecker (2002):
#' correct the probabilities by the frequencies so far, and take their means as the next frequencies. The log-likelihood is concave, so that every
#' local maximum is a global one; the iteration stops when at most `tol` per row can still be gained.
#'
#' The estimate is only as good as the calibration: miscalibration can be mistaken for a shift of the class frequencies.
#' Calibrate with a method that can shift classes ([calib_gp()], [calib_platt()], [calib_beta()]), not with temperature
#' scaling alone.
#'
#' The standard errors are those of maximum likelihood, from the observed information; they take the calibrated probabilities
#' as known. `print()` also says by how many standard errors each frequency differs from that of the calibration rows, with the sampling error of
#' the latter added. This is not a valid test where the calibration is in doubt.
#'
#' @param object A calibrator.
#' @param newdata Scores of the new rows, as for [predict.calibrator()].
#' @param tol What the log-likelihood per row may still gain when the iteration stops.
#' @param max_iter The largest number of iterations. If it does not suffice, a warning of class
#'   `gpcalib_warning_not_converged` says so.
#' @param ... Passed to `predict()`: `threads`.
#' @return A numeric vector of class `prior_estimate` with the frequencies of the classes, named; to be
#'   given to `predict(prior = )`. Attributes: `from` (the frequencies of the calibration rows),
#'   `std.error` (`NA` for a frequency of 0 and where the scores do not tell the classes apart), `from_n` (the number of calibration rows),
#'   `iterations`, `converged` and `n`. Classes that no calibration row has are 0,
#'   with a warning of class `gpcalib_warning_absent`.
#' @references
#' Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier to new a
#' priori probabilities: a simple procedure. *Neural Computation* 14, 21-41.
#' @seealso [predict.calibrator()] for `prior`.
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' mean(rain_nyc$rain == "rain")
#'
#' # A drier place: half of the rainy hours are left out
#' wet <- which(rain_nyc$rain == "rain")
#' drier <- rain_nyc[-wet[c(TRUE, FALSE)], ]
#' mean(drier$rain == "rain")
#' new <- estimate_prior(fit, drier$prob)
#' new
#' log_loss(predict(fit, drier$prob), drier$rain)
#' log_loss(predict(fit, drier$prob, prior = new), drier$rain)
#' @export
estimate_prior <- function(object, newdata, tol = 1e-9, max_iter = 10000, ...) {
  object <- check_object(object)
  tol <- check_number(tol, "tol", 1e-14, 1)
  max_iter <- check_count(max_iter, "max_iter")
  from <- object_prior(object)
  probs <- predict(object, newdata, ...)
  if (!is.matrix(probs)) stop_input("...", "must not change what predict() gives", "Leave out `type`.")
  if (nrow(probs) == 0) stop_input("newdata", "has no rows", "At least one is needed.")
  absent <- from <= 0
  if (any(absent)) {
    warn_gpcalib("absent", paste0("No calibration row is of class ", say_values(object$classes[absent]),
      ": its frequency cannot be estimated and is set to 0."))
  }
  fit <- .Call(C_prior_em, probs, from, tol, max_iter)
  if (fit$status == "not_finite") {
    stop_input("newdata", "has rows in which only classes that no calibration row has are possible",
      "Calibrate with rows of all classes.")
  }
  if (fit$status == "not_converged") {
    warn_gpcalib("not_converged", paste0("The class frequencies did not converge in ", max_iter,
      " iterations; raise `max_iter`."))
  }
  structure(stats::setNames(fit$prior, object$classes), from = stats::setNames(from, object$classes),
    std.error = stats::setNames(prior_error(probs, from, fit$prior), object$classes), from_n = object$n,
    iterations = fit$iterations, converged = fit$status == "ok", n = nrow(probs), class = "prior_estimate")
}

most_products <- 2e9 # for the information: with more than so many, rows spread evenly over the data stand for all

#' Standard errors of estimated frequencies: the inverse of the observed information sum_n r_n r_n', r_nk = (p_nk / from_k) / sum_j p_nj
#' to_j / from_j, on the frequencies above 0 that sum to one
#' @noRd
prior_error <- function(probs, from, to) {
  free <- which(to > 1e-8)
  out <- rep(NA_real_, length(to))
  if (length(free) < 2) return(out)
  n <- nrow(probs)
  size <- min(n, max(1000, floor(most_products / length(free)^2)))
  rows <- if (size < n) unique(round(seq(1, n, length.out = size))) else seq_len(n)
  r <- sweep(probs[rows, free, drop = FALSE], 2, from[free], "/")
  r <- r / drop(r %*% to[free])
  z <- effect_contrasts(length(free))
  information <- crossprod(r %*% z) * n / length(rows)
  root <- tryCatch(chol(information), error = function(e) NULL)
  if (is.null(root) || rcond(information) < 1e-12) return(out)
  out[free] <- sqrt(colSums(backsolve(root, t(z), transpose = TRUE)^2))
  out
}

#' @rdname estimate_prior
#' @param x A result of `estimate_prior()`.
#' @param digits How many decimals to print.
#' @export
print.prior_estimate <- function(x, digits = 3, ...) {
  cat("Class frequencies of ", say_number(attr(x, "n")), " new rows, from their scores (",
    attr(x, "iterations"), " iterations", if (!isTRUE(attr(x, "converged"))) ", not converged", ")\n", sep = "")
  from <- attr(x, "from")
  new <- unclass(x)[seq_along(x)]
  table <- rbind(calibration = from, new = new)
  error <- attr(x, "std.error")
  if (!is.null(error)) {
    apart <- (new - from) / sqrt(error^2 + from * (1 - from) / attr(x, "from_n"))
    table <- rbind(table, "std. error" = error)
  }
  colnames(table) <- names(x)
  print(round(table, digits))
  if (!is.null(error) && any(is.finite(apart))) {
    most <- which.max(abs(apart))
    # Of K classes the largest difference is compared with what K differences reach by chance (Bonferroni); two classes have only one.
    limit <- stats::qnorm(1 - 0.025 / if (length(x) > 2) length(x) else 1)
    cat("Largest difference from the calibration rows: \"", names(x)[most], "\", ", formatC(abs(apart[most]), digits = 1, format = "f"), " standard errors of that difference",
      if (abs(apart[most]) < limit) ": no clear shift" else ": a clear shift",
      if (length(x) > 2) paste0(" (the limit for ", length(x), " classes is ", formatC(limit, digits = 1, format = "f"), ")"), "\n", sep = "")
  }
  invisible(x)
}
