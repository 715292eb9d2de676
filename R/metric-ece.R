# Expected and maximum calibration error.

#' Calibration error
#'
#' How far stated probabilities are from observed frequencies, bin by bin:
#' `ece()` averages the gaps, `mce()` takes the largest.
#'
#' With \eqn{B} bins, \eqn{N_b} rows in bin \eqn{b}, their mean score
#' \eqn{\mathrm{conf}_b}{conf_b} and the share \eqn{\mathrm{acc}_b}{acc_b} of them in which the
#' event happened,
#' \deqn{\mathrm{ECE}_p = \left(\sum_{b=1}^B \frac{N_b}{N}
#'   \left|\mathrm{conf}_b - \mathrm{acc}_b\right|^p\right)^{1/p},\qquad
#'   \mathrm{MCE} = \max_{b:\,N_b > 0} \left|\mathrm{conf}_b - \mathrm{acc}_b\right|.}{
#'   ECE_p = (sum_b N_b/N |conf_b - acc_b|^p)^(1/p),  MCE = max_b |conf_b - acc_b|.}
#' Zero is best; the value lies in \eqn{[0, 1]}. With these formulas it never falls when `norm`
#' grows, and for the types `"confidence"` and `"top_label"` it is never below the
#' [confidence_gap()], whatever the bins (Wenger et al., 2020, Theorem 1). Binned errors of finite
#' samples are biased upwards: even a calibrated forecast has a positive one, and more bins make it
#' larger. [calib_metrics()] tells how large an error a calibrated forecast with the same
#' probabilities would show.
#'
#' @section Types:
#' \describe{
#'   \item{`"confidence"`}{the largest probability of a row against whether that class (the first
#'     of them, if tied) is the label.}
#'   \item{`"classwise"`}{each class's probability against its frequency; errors
#'     \eqn{\mathrm{ECE}_k}{ECE_k} combine to
#'     \eqn{(\frac1K \sum_k \mathrm{ECE}_k^p)^{1/p}}{(1/K sum_k ECE_k^p)^(1/p)}.}
#'   \item{`"top_label"`}{as `"confidence"`, within the \eqn{N_c} rows of each predicted class:
#'     \eqn{(\sum_c \frac{N_c}{N} \mathrm{ECE}_c^p)^{1/p}}{(sum_c N_c/N ECE_c^p)^(1/p)}.}
#'   \item{`"event"`}{the probability of one class against its frequency: reliability in the sense
#'     of forecast verification.}
#' }
#' For `norm = Inf` sums over classes become maxima.
#'
#' @section Bins:
#' `"width"`: edge \eqn{b} is the number `b / bins`, and a bin holds its upper edge but not its
#' lower one; the first holds 0 as well. `"mass"`: upper edges are the quantiles at `b / bins`
#' (inverse of the empirical distribution function, weighted), equal ones merged, so that tied
#' scores stay together and there may be fewer bins than asked for.
#' The default of 100 bins follows Wenger et al. (2020): few bins hide errors that cancel within a
#' bin. Diagrams are easier to read with fewer, so that [reliability_table()] takes 15; give both the
#' same `bins` to compare them.
#'
#' @section Estimators:
#' `"mean"` is the formula above. `"midpoint"` puts the centre of the bin in place of the mean
#' score, with bins that hold their lower edge, of equal width over \eqn{[1/K, 1]} (over
#' \eqn{[0, 1]} for `"classwise"` and `"event"`; equal-mass bins stay as they are). This is close
#' to the computer code of Wenger et al. (2020), which takes no \eqn{p}-th root and whose centres
#' are off by up to 0.0025. `"unweighted"` is the formula printed in the supplement of that paper,
#' \eqn{\frac1B (\sum_b |\mathrm{conf}_b - \mathrm{acc}_b|^p)^{1/p}}{
#' (1/B) (sum_b |conf_b - acc_b|^p)^(1/p)}; empty bins add nothing. For `norm = Inf` (and so in
#' `mce()`) that is the largest gap divided by \eqn{B}.
#'
#' With `debias = TRUE` the variance of the frequencies is taken off (Kumar, Liang and Ma, 2019):
#' \deqn{\max\left(0, \sum_b \frac{N_b}{N} \left[(\mathrm{conf}_b - \mathrm{acc}_b)^2 -
#'   \frac{\mathrm{acc}_b (1 - \mathrm{acc}_b)}{N_b - 1}\right]\right)^{1/2}}{
#'   max(0, sum_b N_b/N [(conf_b - acc_b)^2 - acc_b (1 - acc_b)/(N_b - 1)])^(1/2)}
#' where bins with no more than one row add nothing.
#'
#' @param probs Probabilities: a numeric matrix or data frame with one row per case and one column
#'   per class, or a vector with the probability of the second of two classes. Columns named like
#'   the classes, in any order, are matched by name.
#' @param labels The true classes: factor, character, logical, or whole numbers that count the
#'   columns from 1 (from 0, when a 0 occurs).
#' @param bins Number of bins.
#' @param norm The power \eqn{p}, from 1 to `Inf`.
#' @param binning Bins of equal `"width"` or of about equal `"mass"`.
#' @param estimator What is computed from a bin, see below.
#' @param type What is compared with what, see below.
#' @param event For `type = "event"`: the name of the class. May be left out when there are two
#'   classes; then it is the second.
#' @param debias Correct for the bias of squared gaps? Needs `norm = 2` and `estimator = "mean"`.
#' @param weights `NULL`, or one non-negative weight per row. A whole weight counts as that many
#'   rows.
#' @return A number.
#' @references
#' Naeini, M. P., Cooper, G. F. and Hauskrecht, M. (2015). Obtaining well calibrated
#' probabilities using Bayesian binning. *AAAI Conference on Artificial Intelligence*.
#'
#' Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
#' networks. *International Conference on Machine Learning*.
#'
#' Kumar, A., Liang, P. and Ma, T. (2019). Verified uncertainty calibration. *Advances in Neural
#' Information Processing Systems* 32.
#'
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *International Conference on Artificial Intelligence and Statistics*.
#' @seealso [calib_metrics()] for all measures at once, [reliability_table()] for the bins.
#' @examples
#' p <- c(.25, .25, .55, .75, .75)
#' rain <- c(FALSE, FALSE, TRUE, TRUE, TRUE)
#' ece(p, rain, bins = 2, type = "event")
#' ece(p, rain, bins = 2, type = "event", norm = 2)
#' mce(p, rain, bins = 2, type = "event")
#'
#' # Nine in ten claimed, three in four achieved
#' probs <- matrix(c(.9, .05, .05), 100, 3, byrow = TRUE)
#' labels <- rep(1:3, c(75, 15, 10))
#' ece(probs, labels)
#' ece(probs, labels, type = "classwise")
#' @export
ece <- function(probs, labels, bins = 100, norm = 1, binning = c("width", "mass"),
                estimator = c("mean", "midpoint", "unweighted"),
                type = c("confidence", "classwise", "top_label", "event"), event = NULL,
                debias = FALSE, weights = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins, norm, binning, estimator, type, event, debias)
  .Call(C_ece, forecast, spec)
}

#' @rdname ece
#' @export
mce <- function(probs, labels, bins = 100, binning = c("width", "mass"),
                estimator = c("mean", "midpoint", "unweighted"),
                type = c("confidence", "classwise", "top_label", "event"), event = NULL,
                weights = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins, Inf, binning, estimator, type, event)
  .Call(C_ece, forecast, spec)
}

ece_types <- c("confidence", "classwise", "top_label", "event")
ece_estimators <- c("mean", "midpoint", "unweighted")
ece_binnings <- c("width", "mass")
most_bins <- 1e6

#' What the C core wants to know of a calibration error (gpc_ece_spec in src/measures.h)
#' @noRd
ece_spec <- function(classes, bins = 100, norm = 1, binning = ece_binnings,
                     estimator = ece_estimators, type = ece_types, event = NULL,
                     debias = FALSE) {
  type <- check_choice(type, ece_types, "type")
  estimator <- check_choice(estimator, ece_estimators, "estimator")
  norm <- check_number(norm, "norm", 1, Inf)
  debias <- check_flag(debias, "debias")
  if (debias && (norm != 2 || estimator != "mean")) {
    stop_input("debias", "can only be TRUE with norm = 2 and estimator = \"mean\"",
      "The correction is one of squared gaps of means.")
  }
  list(
    type = match(type, ece_types) - 1L,
    event = check_event(event, type, classes),
    bins = check_count(bins, "bins", 1, most_bins),
    mass = check_choice(binning, ece_binnings, "binning") == "mass",
    estimator = match(estimator, ece_estimators) - 1L,
    norm = norm,
    debias = debias
  )
}

#' The number of the class that is the event; 0 when the type has none
#' @noRd
check_event <- function(event, type, classes) {
  if (type != "event") {
    if (!is.null(event)) {
      stop_input("event", paste0("is given but type is \"", type, "\""),
        "Pass type = \"event\" as well, or leave `event` out.")
    }
    return(0L)
  }
  if (is.null(event)) {
    if (length(classes) == 2) return(2L)
    stop_input("event", paste0("is needed for type = \"event\" with ", length(classes), " classes"),
      paste0("Name one of ", say_values(classes), "."))
  }
  code <- if (length(event) == 1) match(as.character(event), classes) else NA
  if (is.na(code)) {
    stop_input("event", paste0("must be one of the classes (", say_values(classes), ")"),
      say_given(event))
  }
  code
}
