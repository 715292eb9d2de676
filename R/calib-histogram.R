#' Histogram binning
#'
#' Divides the scores into bins and predicts, for each bin, how often the class occurred in it:
#' \deqn{\pi(z) = \frac{\sum_{n \in b(z)} w_n y_n}{\sum_{n \in b(z)} w_n}.}{
#'   pi(z) = sum of w_n y_n / sum of w_n over the rows in the bin of z.}
#'
#' Bins of equal width are (0, 1/B\], (1/B, 2/B\], ..., and the first also contains 0. Bins of equal mass end at the
#' (weighted) quantiles 1/B, 2/B, ... of the scores; tied scores share a bin, so that there can be fewer bins than asked
#' for. Scores outside the range of the calibration scores belong to the outer bins. A bin of equal width without
#' calibration rows keeps the score as it is.
#'
#' # When to use it
#' When the correction has to be transparent (it is a short table), and as a baseline for other methods. Bins of equal
#' mass are the safer choice when many scores are near 0 and 1.
#'
#' What it cannot do: it does not keep the order of scores: a bin of higher scores can get a lower probability, and all
#' scores within a bin get the same one. A bin in which the class never or always occurred gives exactly 0 or 1.
#' [calib_bbq()] averages over many binnings and gives exactly 0 or 1 only through rounding.
#'
#' @inheritSection calib_isotonic More than two classes
#' @inheritParams calib_temperature
#' @param binning Bins of equal `"width"` or of equal `"mass"`.
#' @param bins How many bins.
#' @return An object of class `c("calib_histogram", "calibrator")` with, beside the fields of every
#'   calibrator, `binning`, and for every bin its upper edge `x` and its frequency `y` (`NaN` if it
#'   is empty), of which `start[k] + 1` to `start[k + 1]` belong to class k (for two classes there
#'   is one map, that of the second); `mass` and `hits`, the weight of the rows and of those of the class in every bin,
#'   for [update()][update.calibrator]. `fixed` names the classes with a constant probability. See
#'   [predict.calibrator()], [calib_map()] and [calibrator].
#' @references
#' Zadrozny, B. and Elkan, C. (2001). Obtaining calibrated probability estimates from decision trees
#' and naive Bayesian classifiers. *Proceedings of ICML*, 609-616.
#' @family calibrators
#' @examples
#' fit <- calib_histogram(rain_nyc$prob, rain_nyc$rain, bins = 5)
#' fit
#' tidy(fit)
#' @export
calib_histogram <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                            binning = c("width", "mass"), bins = 15, threads = 1) {
  threads <- check_threads(threads)
  binning <- check_choice(binning, c("width", "mass"), "binning")
  bins <- check_count(bins, "bins", 1, 1e6)
  data <- check_calibration(scores, labels, input, weights, threads)
  ova <- ova_data(data, threads)
  fit <- fit_curves(data, ova, if (binning == "width") 3L else 4L, bins, threads)
  maps <- if (length(data$classes) == 2) 2L else seq_along(data$classes)
  sums <- if (bins * length(maps) <= most_summed_bins) {
    edges <- histogram_edges(list(classes = data$classes, binning = binning, bins = bins, x = fit$x, start = fit$start))
    histogram_sums(ova$scores, data$labels, data$weights, edges, maps)
  }
  new_calibrator("histogram", data, match.call(),
    converged = TRUE, iterations = 1L, binning = binning, x = fit$x, y = fit$y, start = fit$start,
    fixed = ova$fixed, bins = bins, mass = sums$mass, hits = sums$hits
  )
}

#' @export
ova_maps.calib_histogram <- function(object) curve_maps(object, 1L)

#' @export
predict_probs.calib_histogram <- function(object, data) predict_ova(object, data)

#' @export
class_maps.calib_histogram <- function(object, p) map_ova(object, p)

#' @export
describe.calib_histogram <- function(object) {
  empty <- sum(is.nan(object$y))
  lines <- paste0(say_points(object, "bin"), " of equal ", object$binning,
    if (empty) paste0(", ", empty, " of them empty: they keep the score"))
  list(title = "Histogram binning", lines = describe_ova(object, c(lines, say_certain(object))))
}

#' @export
parameters.calib_histogram <- function(object) tidy_points(object, bin_terms(object))

#' @export
object_fields.calib_histogram <- function(object) {
  c(curve_fields(object, empty = TRUE), list(binning = field("text", among = c("width", "mass")),
    bins = field("whole", low = 1, high = 1e6, optional = TRUE), mass = field("number", NULL, low = 0, optional = TRUE),
    hits = field("number", length(object$mass), low = 0, optional = TRUE)))
}

#' @export
object_wrong.calib_histogram <- function(object) {
  wrong <- curve_wrong(object)
  if (length(wrong)) return(wrong)
  if (is.null(object$mass)) return(if (!is.null(object$hits)) "has hits without mass")
  size <- if (object$binning == "width") ova_count(object) * (if (is.null(object$bins)) 0 else object$bins) else {
    length(object$x)
  }
  if (length(object$mass) != size || is.null(object$hits) || any(object$hits > object$mass * (1 + 1e-9))) {
    "has sums that are not those of its bins"
  }
}
