#' Vector and matrix scaling with a ridge penalty
#'
#' Scores get a slope and an offset for each class (vector scaling), or a matrix between the classes and
#' offsets (matrix scaling), before the softmax:
#' \deqn{f_k = s_k z_k + b_k \quad\mbox{or}\quad f_k = \sum_j W_{kj} z_j + b_k}{f_k = s_k z_k + b_k, or f_k = sum_j W_kj z_j + b_k}
#' with z the logits, or logarithms of the probabilities, minus their row mean. With so many parameters a ridge penalty is
#' needed: it shrinks offsets towards 0, and slopes and matrix towards one common slope, that is, towards temperature
#' scaling. Its strength is estimated from the calibration rows.
#'
#' # The ridge penalty
#' With \eqn{s_k = a + d_k}{s_k = a + d_k} or \eqn{W = a I + D}{W = a I + D}, in units of the root mean square of
#' the centred scores, the fit maximises
#' \deqn{\sum_n w_n \log p_{n, y_n} - \frac{\lambda_b}{2} \sum_k b_k^2 - \frac{\lambda_d}{2} \sum d^2}{
#' sum_n w_n log p(n, y_n) - lambda_b/2 sum b^2 - lambda_d/2 sum d^2}
#' and the common slope a is not penalised. `ridge = NULL` estimates both penalties by Laplace's approximation to the
#' evidence, with the curvature of the log-likelihood held fixed in each step (MacKay, 1992): at the optimum
#' \eqn{\lambda \sum \theta^2}{lambda sum theta^2} is the effective number of parameters. Estimated penalties stay between
#' 1e-4 and 1e6.
#'
#' Only differences between classes matter, so that offsets, and every column of the matrix, are reported
#' with mean zero over the classes.
#'
#' # When to use it
#' Vector scaling: when single classes are predicted too often or too rarely, or with too extreme probabilities. Matrix
#' scaling: when, in addition, pairs of classes are confused. Both are linear in the scores. Both are special cases of
#' [calib_gp()], whose map may be curved where the data support this. The most likely class of a row may change. There are
#' intervals of the parameters, by [`confint()`][calibrator_inference], but not of the probabilities: [calib_gp()] has those.
#'
#' With two classes the log-odds get a slope and an offset, \eqn{f_2 - f_1 = s\,(z_2 - z_1) + b}{f_2 - f_1 = s (z_2 - z_1) + b}: both functions are
#' then logistic regression, as [calib_platt()], with a penalty of the offset, and give the same probabilities. They are temperature scaling
#' only where the penalty makes the offset almost 0, which `print()` says, as that of a [calib_study()] does.
#'
#' If every calibration row is classified correctly, the common slope has no finite optimum; it is then limited as in
#' [calib_temperature()], with a warning of class `gpcalib_warning_separated`. A class without calibration rows gets a
#' negative offset, which is finite only because of the penalty. `calib_vector()` is for up to 1000 classes and
#' `calib_matrix()` for up to 50: their cost grows with the second and with the fourth power of that number per row.
#'
#' @inheritParams calib_temperature
#' @param floor Probabilities below this value are raised to it; from 2.23e-308 to less than 1/K. `NULL`: when zeros occur, the value that
#'   [calib_temperature()] would choose.
#' @param ridge `NULL` to estimate the penalties, or those of offsets and slopes (or matrix): one number for both, or two,
#'   named
#'   `offset` and `slope`. 0 means no penalty; `Inf` fixes the parameters at 0.
#' @param tol Stop when the next step is expected to raise the objective by less than this.
#' @param max_iter The largest number of passes over the data.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return An object of class `c("calib_vector", "calibrator")` or `c("calib_matrix", "calibrator")` with, beside
#'   the fields of every calibrator, `offset` (one per class), `weights` (slopes, or the matrix, whose entry in row k
#'   and column j is the effect of the score of class j on class k), `std_error` of both, `ridge`, `edf` (effective
#'   number of parameters), `log_lik`, `evidence` and `floor`. [`vcov()`][calibrator_inference] is kept for up to 120
#'   parameters.
#' @references
#' Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
#' networks. *Proceedings of ICML*, PMLR 70, 1321-1330.
#'
#' MacKay, D. J. C. (1992). Bayesian interpolation. *Neural Computation* 4, 415-447.
#' @seealso `vignette("methods", package = "gpcalib")` for the equations.
#' @family calibrators
#' @examples
#' rain <- calib_vector(rain_nyc$prob, rain_nyc$rain)
#' rain
#' predict(rain, c(0.1, 0.5, 0.9))
#'
#' fit <- calib_vector(letters_nn$cal$scores, letters_nn$cal$labels)
#' log_loss(predict(fit, letters_nn$test$scores), letters_nn$test$labels)
#' @export
calib_vector <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL, floor = NULL,
                         ridge = NULL, tol = 1e-6, max_iter = 100, ..., threads = 1) {
  check_dots_empty(...)
  fit_linear("vector", scores, labels, input, weights, floor, ridge, tol, max_iter, threads, match.call())
}

#' @rdname calib_vector
#' @export
calib_matrix <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL, floor = NULL,
                         ridge = NULL, tol = 1e-6, max_iter = 100, ..., threads = 1) {
  check_dots_empty(...)
  fit_linear("matrix", scores, labels, input, weights, floor, ridge, tol, max_iter, threads, match.call())
}

linear_classes <- c(vector = 1000L, matrix = 50L)
linear_covariance <- 120L # parameters up to which covariances are kept
no_ridge <- 1e-9 # what a ridge of 0 is: constants, which change no probability, must stay put
full_ridge <- 1e12 # and one of Inf

fit_linear <- function(method, scores, labels, input, weights, floor, ridge, tol, max_iter, threads, call) {
  threads <- check_threads(threads)
  tol <- check_number(tol, "tol", 1e-12, 1)
  max_iter <- check_count(max_iter, "max_iter")
  ridge <- check_ridge(ridge)
  data <- check_calibration(scores, labels, input, weights, threads)
  k <- length(data$classes)
  if (k > linear_classes[[method]]) {
    stop_input("scores", paste0("have ", k, " classes, more than the ", linear_classes[[method]], " of calib_", method, "()"),
      "Use calib_gp(), whose offsets are for any number of classes, or calib_temperature().")
  }
  latent <- log_scores(data, floor)
  line <- linear_line(latent, data, threads)
  fit <- .Call(C_linear_fit, latent$z, data$labels, data$weights, list(floor = log(line$floor),
    matrix = method == "matrix", slope = line$beta, hold_slope = line$status %in% c("upper", "flat"), ridge = ridge,
    tol = tol, max_passes = max_iter))
  if (!fit$status %in% c("ok", "not_converged") || !all(is.finite(fit$theta)) || !is.finite(fit$log_lik)) {
    stop_input("scores", "are too large or too small for the log loss to be computed", "Rescale them.")
  }
  warn_linear(fit, line)
  parts <- linear_parameters(fit, data$classes, method)
  new_calibrator(method, data, call,
    converged = fit$status == "ok" && line$status != "upper", iterations = fit$passes,
    offset = parts$offset, weights = parts$weights, std_error = parts$std_error, covariance = parts$covariance,
    ridge = stats::setNames(fit$ridge, c("offset", "slope")), edf = fit$edf, log_lik = fit$log_lik,
    evidence = fit$evidence, floor = if (latent$floored) line$floor
  )
}

#' Two ridges, NA where they are to be learned
#' @noRd
check_ridge <- function(ridge) {
  if (is.null(ridge)) return(c(NaN, NaN))
  ridge <- unlist(ridge)
  named <- !is.null(names(ridge)) && setequal(names(ridge), c("offset", "slope")) && length(ridge) == 2
  if (!is.numeric(ridge) || !length(ridge) %in% 1:2 || (length(ridge) == 2) != named || anyNA(ridge) ||
    any(ridge < 0)) {
    stop_input("ridge", "must be one number, or two named \"offset\" and \"slope\", none of them negative",
      "For example ridge = c(offset = 1, slope = 10).")
  }
  if (named) ridge <- ridge[c("offset", "slope")]
  pmin(pmax(rep_len(as.double(ridge), 2), no_ridge), full_ridge)
}

#' Temperature scaling, where slopes begin: its slope, floor and status
#' @noRd
linear_line <- function(latent, data, threads) {
  fit <- NULL
  for (candidate in latent$floors) {
    trial <- .Call(C_temperature_fit, latent$z, data$labels, data$weights, log(candidate),
      if (is.null(fit)) 0 else fit$beta, 1e-10, 100L, threads)
    if (is.null(fit) || trial$loss < fit$loss) fit <- c(trial, floor = candidate)
  }
  if (fit$status == "not_finite") warn_temperature(fit)
  fit
}

warn_linear <- function(fit, line) {
  if (line$status == "upper") {
    warn_gpcalib("separated", paste0("Every calibration row is classified correctly, so that the common slope has no finite optimum. ",
      "It was limited to ", format(line$beta, digits = 3), "."))
  }
  if (line$status == "flat") {
    warn_gpcalib("flat", "The scores within each row are all equal: only the frequencies of the classes can be learned.")
  }
  if (fit$status == "not_converged") {
    warn_gpcalib("not_converged", paste0("The fit did not converge in ", fit$passes,
      if (fit$passes == 1) " pass" else " passes", " over the data; increase `max_iter`."))
  }
}

#' From (a, b, d or D) of the scaled scores to offsets and weights of the scores, centred over the classes
#' @return list: offset, weights, std_error, covariance (lower triangle, or NULL)
#' @noRd
linear_parameters <- function(fit, classes, method) {
  k <- length(classes)
  scale <- if (fit$rms > 0) fit$rms else 1
  even <- diag(k) - 1 / k
  own <- if (method == "vector") diag(k) else even %x% even # W as columns, class by class
  first <- if (method == "vector") rep(1, k) else as.vector(even)
  map <- rbind(cbind(0, even, matrix(0, k, nrow(own))), cbind(first, matrix(0, nrow(own), k), own) / scale)
  if (method == "matrix") { # D is kept class by class, W by columns
    turn <- as.vector(t(matrix(seq_len(k^2), k)))
    map[, 1 + k + seq_len(k^2)] <- map[, 1 + k + turn]
  }
  all <- drop(map %*% fit$theta)
  spread <- map %*% fit$cov
  error <- sqrt(pmax(rowSums(spread * map), 0))
  weights <- all[-seq_len(k)]
  cov <- if (length(all) <= linear_covariance) tcrossprod(spread, map)
  list(
    offset = stats::setNames(all[seq_len(k)], classes),
    weights = if (method == "vector") stats::setNames(weights, classes) else matrix(weights, k, dimnames = list(classes, classes)),
    std_error = error, covariance = if (!is.null(cov)) cov[lower.tri(cov, TRUE)]
  )
}

# Methods ---------------------------------------------------------------------------------

predict_linear <- function(object, data) {
  z <- latent_scale(data$scores, object$input, floored = !is.null(object$floor), data$threads)
  .Call(C_linear_predict, z, log(temperature_floor(object)), unname(object$offset), as.vector(object$weights))
}

#' @export
predict_probs.calib_vector <- function(object, data) predict_linear(object, data)

#' @export
predict_probs.calib_matrix <- function(object, data) predict_linear(object, data)

describe_linear <- function(object, title, what) {
  say <- function(x) format(x, digits = 3)
  named <- function(i) paste0(say(object$offset[[i]]), " (\"", object$classes[i], "\")")
  lines <- c(
    what, paste("offsets from", named(which.min(object$offset)), "to", named(which.max(object$offset))), say_only_temperature(object),
    say_floor(object)
  )
  details <- paste0("ridge ", say(object$ridge[["offset"]]), " on offsets, ", say(object$ridge[["slope"]]), " on ",
    if (object$method == "vector") "slopes" else "the matrix", "; ", say(object$edf), " effective degrees of freedom")
  list(title = title, lines = lines, details = details)
}

only_temperature <- 1e-3 # of the slope: what is less changes no digit of a measure

#' Has the ridge left nothing but one slope for all classes? A number added to a column of the matrix changes no probability.
#' @noRd
say_only_temperature <- function(object) {
  w <- object$weights
  k <- length(object$classes)
  if (object$method == "vector") {
    slope <- mean(w)
    rest <- w - slope
  } else {
    w <- sweep(w, 2, colMeans(w))
    slope <- sum(diag(w)) / (k - 1)
    rest <- w - slope * (diag(k) - 1 / k)
  }
  if (!isTRUE(slope > 0 && max(abs(rest)) < only_temperature * slope && diff(range(object$offset)) < only_temperature)) return(NULL)
  paste0("this is temperature scaling (temperature ", format(1 / slope, digits = 3), "): offsets and ", if (object$method == "vector") "differences between the slopes" else "effects between classes",
    " are shrunk to almost 0")
}

#' @export
describe.calib_vector <- function(object) {
  ends <- range(object$weights)
  # As for the temperature: only what two standard errors tell from 1. Of two classes only the mean slope is determined.
  error <- object$std_error[length(object$classes) + seq_along(object$weights)]
  error <- 2 * if (length(error) == 2) sqrt(mean(stats::vcov(object)[3:4, 3:4])) else error
  verdict <- if (isTRUE(all(object$weights + error < 1 & object$weights > 0))) "overconfident" else if (isTRUE(all(object$weights - error > 1))) "underconfident"
  two <- length(object$classes) == 2
  describe_linear(object, "Vector scaling", paste0(if (two) paste0("slope ", format(mean(ends), digits = 3)) else {
    paste("slopes", say_span(ends))
  }, if (isTRUE(nzchar(verdict))) paste0(if (two) ": the scores were " else ": the scores of every class were ", verdict),
  if (length(against <- object$classes[which(object$weights + error < 0)])) {
    paste0("; a higher score of ", paste0("\"", utils::head(against, 3), "\"", collapse = ", "), if (length(against) > 3) ", ...", " makes it less likely (slope below 0)")
  }))
}

#' @export
describe.calib_matrix <- function(object) {
  w <- object$weights
  off <- row(w) != col(w)
  describe_linear(object, "Matrix scaling", paste0("weights of a class's own score ", say_span(w[!off]), ", of others ", say_span(w[off])))
}

#' "0.29 to 0.32", or "all 0.302" where the digits shown are the same
#' @noRd
say_span <- function(x) {
  ends <- unique(vapply(range(x), format, "", digits = 3))
  if (length(ends) == 2) paste(ends, collapse = " to ") else if (length(x) > 1) paste("all", ends) else ends
}

parameters_linear <- function(object) {
  classes <- object$classes
  weights <- if (object$method == "vector") paste0("slope[", classes, "]") else {
    paste0("weight[", outer(classes, classes, paste, sep = ", "), "]")
  }
  data.frame(term = c(paste0("offset[", classes, "]"), weights), estimate = unname(c(object$offset, as.vector(object$weights))),
    std.error = object$std_error)
}

#' @export
parameters.calib_vector <- function(object) parameters_linear(object)

#' @export
parameters.calib_matrix <- function(object) parameters_linear(object)

vcov_linear <- function(object) {
  object <- check_object(object)
  terms <- parameters(object)$term
  if (is.null(object$covariance)) {
    stop_input("object", paste0("has ", length(terms), " parameters, and covariances are kept for up to ", linear_covariance),
      "Their standard errors are in tidy().")
  }
  cov <- matrix(0, length(terms), length(terms), dimnames = list(terms, terms))
  cov[lower.tri(cov, TRUE)] <- object$covariance
  cov[upper.tri(cov)] <- t(cov)[upper.tri(cov)]
  cov
}

#' @importFrom stats vcov
#' @export
vcov.calib_vector <- function(object, ...) vcov_linear(object)

#' @export
vcov.calib_matrix <- function(object, ...) vcov_linear(object)

log_lik_linear <- function(object) {
  object <- check_object(object)
  new_log_lik(object, object$edf)
}

#' @importFrom stats logLik
#' @export
logLik.calib_vector <- function(object, ...) log_lik_linear(object)

#' @export
logLik.calib_matrix <- function(object, ...) log_lik_linear(object)

no_class_maps <- function(object) {
  stop_input("object", paste0("of class ", class(object)[1], " has no calibration map for ", length(object$classes), " classes"),
    "Its calibrated probabilities depend on the whole row; coef() has its slopes and offsets.")
}

#' @export
class_maps.calib_vector <- function(object, p) no_class_maps(object)

#' @export
class_maps.calib_matrix <- function(object, p) no_class_maps(object)

linear_fields <- function(object) {
  k <- length(object$classes)
  weights <- if (object$method == "vector") k else k^2
  all <- k + weights
  list(
    offset = field("number", k, low = -1e100, high = 1e100), weights = field("number", weights, low = -1e100, high = 1e100),
    std_error = field("number", all, low = 0), ridge = field("number", 2L, low = 0), edf = field("number", low = 0),
    covariance = field("number", all * (all + 1) / 2, optional = TRUE), log_lik = field("number"),
    evidence = field("number"), floor = field("number", low = .Machine$double.xmin, high = 0.5, optional = TRUE)
  )
}

#' @export
object_fields.calib_vector <- function(object) linear_fields(object)

#' @export
object_fields.calib_matrix <- function(object) linear_fields(object)

linear_wrong <- function(object) {
  if (!identical(names(object$ridge), c("offset", "slope"))) return("has ridges without their names")
  if (object$method == "matrix" && !identical(dim(object$weights), rep(length(object$classes), 2))) {
    return("has weights that are no matrix of its classes")
  }
}

#' @export
object_wrong.calib_vector <- function(object) linear_wrong(object)

#' @export
object_wrong.calib_matrix <- function(object) linear_wrong(object)
