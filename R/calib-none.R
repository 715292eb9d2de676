#' No calibration
#'
#' Returns probabilities as they are and the softmax of logits: the reference that every
#' calibrator has to beat, in the same form as the others.
#'
#' \deqn{\pi(z)_k = p_k \quad\mbox{or}\quad \pi(z)_k = \frac{\exp(z_k)}{\sum_j \exp(z_j)}.}{
#'   pi(z)_k = p_k, or exp(z_k) / sum_j exp(z_j).}
#'
#' @inheritParams calib_temperature
#' @return An object of class `c("calib_none", "calibrator")`; see [predict.calibrator()] and
#'   [calibrator].
#' @family calibrators
#' @examples
#' none <- calib_none(letters_nn$cal$scores, letters_nn$cal$labels)
#' none
#' calib_metrics(predict(none, letters_nn$test$scores), letters_nn$test$labels)
#' @export
calib_none <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL) {
  data <- check_calibration(scores, labels, input, weights)
  new_calibrator("none", data, match.call(), converged = TRUE, iterations = 0L)
}

#' @export
predict_probs.calib_none <- function(object, data) {
  if (object$input == "probs") return(data$scores)
  .Call(C_softmax, data$scores, 1, -Inf, data$threads)
}

#' @export
describe.calib_none <- function(object) {
  list(
    title = "No calibration",
    lines = if (object$input == "probs") "probabilities as given" else "softmax of the logits"
  )
}

#' @export
latent.calib_none <- function(object, z, ...) {
  check_object(object)
  latent_line(z, 1)
}

#' @export
object_fields.calib_none <- function(object) list()
