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
#' Zero is best; the value lies in \eqn{[0, 1]}. With these formulas it does not decrease with
#' `norm`, and for the types `"confidence"` and `"top_label"` it is never below the
#' [confidence_gap()], whatever the bins (Wenger et al., 2020, Theorem 1). Binned errors of finite
#' samples are biased upwards: even a calibrated forecast has a positive one, and more bins make it
#' larger. [calib_metrics()] shows how large the error of a calibrated forecast with the same probabilities would be.
#'
#' @section Types:
#' \describe{
#'   \item{`"auto"`}{`"event"` for two classes, and for more when an `event` is named; otherwise
#'     `"confidence"`. With two classes the confidence of the predicted class can hide the error: if the probability of
#'     the event is always too high, the confidence is too high where it is above 1/2 and too low where it is below, and
#'     the two errors can cancel.}
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
#' `"width"`: edge \eqn{b} is the number `b / bins`, and a bin contains its upper edge but not its lower one; the first
#' also contains 0. `"mass"`: upper edges are the quantiles at `b / bins` (inverse of the empirical distribution
#' function, weighted), equal ones merged, so that tied scores stay together and there may be fewer bins than asked for.
#' Fifteen bins are usual (Guo et al., 2017) and are the default of every measure, table and diagram here. Wenger et al.
#' (2020) use 100, because errors of opposite sign cancel within a wide bin; but with fewer than some tens of thousands
#' of rows, most of what 100 bins show is chance. Use `bins = 100` to compare with that paper.
#'
#' @section Estimators:
#' `"mean"` is the formula above. `"midpoint"` uses the centre of the bin in place of the mean score. Its bins contain
#' their lower edge and have equal width over \eqn{[1/K, 1]} (over \eqn{[0, 1]} for `"classwise"` and `"event"`;
#' equal-mass bins stay as they are). This is close to the computer code of Wenger et al. (2020), which takes no
#' \eqn{p}-th root and whose centres are off by up to 0.0025. `"unweighted"` is the formula printed in the supplement of
#' that paper, \eqn{\frac1B (\sum_b |\mathrm{conf}_b - \mathrm{acc}_b|^p)^{1/p}}{ (1/B) (sum_b |conf_b -
#' acc_b|^p)^(1/p)}; empty bins add nothing. For `norm = Inf` (and so in `mce()`) that is the largest gap divided by
#' \eqn{B}.
#'
#' With `debias = TRUE` the variance of the frequencies is subtracted (Kumar, Liang and Ma, 2019):
#' \deqn{\max\left(0, \sum_b \frac{N_b}{N} \left[(\mathrm{conf}_b - \mathrm{acc}_b)^2 -
#'   \frac{\mathrm{acc}_b (1 - \mathrm{acc}_b)}{N_b - 1}\right]\right)^{1/2}}{
#'   max(0, sum_b N_b/N [(conf_b - acc_b)^2 - acc_b (1 - acc_b)/(N_b - 1)])^(1/2)}
#' where bins with at most one row contribute nothing. When more than a tenth of the rows are in such bins, there is a
#' warning of class `gpcalib_warning_bins`; when all are, the value is `NaN`, with a warning of class
#' `gpcalib_warning_undefined`.
#'
#' @param probs Probabilities: a numeric matrix or data frame with one row per case and one column
#'   per class, or a vector with the probability of the second of two classes. Columns named like
#'   the classes, in any order, are matched by name.
#' @param labels The true classes: factor, character, logical, or column numbers, starting
#'   at 1 (at 0 if any label is 0).
#' @param bins Number of bins.
#' @param norm The power \eqn{p}, from 1 to `Inf`.
#' @param binning Bins of equal `"width"` or of about equal `"mass"`.
#' @param estimator What is computed from a bin, see below.
#' @param type What is compared with what, see below.
#' @param event The class that is the event, by name. It implies `type = "event"`, and may be left out when
#'   there are two classes; then it is the second, or what `event_level` says.
#' @param debias Correct for the bias of squared gaps? Needs `norm = 2` and `estimator = "mean"`.
#' @param weights `NULL`, or one non-negative weight per row. A whole weight counts as that many
#'   rows.
#' @param event_level For two classes: whether the `"second"` of them (the default) or the `"first"` is
#'   the event.
#' @param by `NULL`, or one value per row (hospital, airport, sex): one result for each.
#' @return A number; with `by` a vector of them, named by its values.
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
#' ece(p, rain, bins = 2)
#' ece(p, rain, bins = 2, norm = 2)
#' mce(p, rain, bins = 2)
#'
#' # Stated: 90 %. Observed: 75 %.
#' probs <- matrix(c(.9, .05, .05), 100, 3, byrow = TRUE)
#' labels <- rep(1:3, c(75, 15, 10))
#' ece(probs, labels)
#' ece(probs, labels, type = "classwise")
#'
#' # One value for each airport
#' ece(rain_nyc$prob, rain_nyc$rain, by = rain_nyc$origin)
#' @export
ece <- function(probs, labels, bins = 15, norm = 1, binning = c("width", "mass"),
                estimator = c("mean", "midpoint", "unweighted"),
                type = c("auto", "confidence", "classwise", "top_label", "event"), event = NULL,
                debias = FALSE, weights = NULL, event_level = c("second", "first"), by = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins, norm, binning, estimator, type, event, debias, event_level)
  each_group(forecast, by, function(forecast) measure_ece(.Call(C_bin_sums, forecast, spec), spec))
}

#' @rdname ece
#' @export
mce <- function(probs, labels, bins = 15, binning = c("width", "mass"),
                estimator = c("mean", "midpoint", "unweighted"),
                type = c("auto", "confidence", "classwise", "top_label", "event"), event = NULL,
                weights = NULL, event_level = c("second", "first"), by = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins, Inf, binning, estimator, type, event,
    event_level = event_level)
  each_group(forecast, by, function(forecast) measure_ece(.Call(C_bin_sums, forecast, spec), spec))
}

ece_types <- c("confidence", "classwise", "top_label", "event")
type_choices <- c("auto", ece_types)
ece_estimators <- c("mean", "midpoint", "unweighted")
ece_binnings <- c("width", "mass")
event_levels <- c("second", "first")
most_bins <- 1e6
default_bins <- 15

#' The calibration error of sums; NaN when the correction for bias has nothing to go by
#' @param bins list of sums, one for each problem, as C_bin_sums returns them.
#' @noRd
measure_ece <- function(bins, spec) {
  if (spec$debias) {
    alone <- lone_rows(bins)
    if (alone >= 1) {
      warn_gpcalib("undefined", paste0("The debiased calibration error is undefined (NaN): no bin has two rows, ",
        "so that the variance of the frequencies cannot be estimated. Use fewer bins."))
      return(NaN)
    }
    if (alone > lone_limit) {
      warn_gpcalib("bins", paste0(format(100 * alone, digits = 2), " % of the rows are alone in their bin. The variance of such bins cannot be estimated, and ",
        "they are left out, so that the debiased error is too small. Use fewer bins."))
    }
  }
  .Call(C_sums_error, bins, spec)
}

lone_limit <- 0.1

#' The share of rows, by weight, in bins of no more than one row
#' @noRd
lone_rows <- function(bins) {
  sums <- unlist(lapply(bins, `[[`, "weight"))
  sum(sums[sums <= 1]) / sum(sums)
}

#' What the C core wants to know of a calibration error (gpc_ece_spec in src/measures.h)
#' @noRd
ece_spec <- function(classes, bins = default_bins, norm = 1, binning = ece_binnings,
                     estimator = ece_estimators, type = type_choices, event = NULL,
                     debias = FALSE, event_level = event_levels) {
  type <- check_type(type, classes, event, event_level)
  estimator <- check_choice(estimator, ece_estimators, "estimator")
  norm <- check_number(norm, "norm", 1, Inf)
  debias <- check_flag(debias, "debias")
  if (debias && (norm != 2 || estimator != "mean")) {
    stop_input("debias", "can only be TRUE with norm = 2 and estimator = \"mean\"",
      "The correction is defined for squared gaps only.")
  }
  list(
    type = match(type, ece_types) - 1L,
    event = check_event(event, type, classes, event_level),
    bins = check_count(bins, "bins", 1, most_bins),
    mass = check_choice(binning, ece_binnings, "binning") == "mass",
    estimator = match(estimator, ece_estimators) - 1L,
    norm = norm,
    debias = debias
  )
}

#' "auto": the event for two classes or where one is named, otherwise the confidence
#' @noRd
check_type <- function(type, classes, event = NULL, event_level = event_levels) {
  type <- check_choice(type, type_choices, "type")
  level <- check_choice(event_level, event_levels, "event_level")
  if (type != "auto") return(type)
  if (length(classes) == 2 || !is.null(event) || level == "first") "event" else "confidence"
}

#' The number of the class that is the event; 0 when the type has none
#' @noRd
check_event <- function(event, type, classes, event_level = event_levels) {
  level <- check_choice(event_level, event_levels, "event_level")
  if (type != "event") {
    if (!is.null(event) || level == "first") {
      stop_input(if (is.null(event)) "event_level" else "event", paste0("is given but type is \"", type,
        "\""), "Leave out one of the two: an event goes with type = \"event\" or \"auto\".")
    }
    return(0L)
  }
  if (level == "first" && (!is.null(event) || length(classes) > 2)) {
    stop_input("event_level", if (is.null(event)) {
      paste0("is for two classes, but there are ", length(classes))
    } else {
      "is given together with `event`"
    }, "Name the class by `event` alone.")
  }
  if (is.null(event)) {
    if (length(classes) == 2) return(if (level == "first") 1L else 2L)
    stop_input("event", paste0("is needed with ", length(classes), " classes: it says which of them is the event"),
      paste0("Name one of ", say_values(classes), "."))
  }
  code <- if (length(event) == 1) match(as.character(event), classes) else NA
  if (is.na(code)) {
    stop_input("event", paste0("must be one of the classes (", say_values(classes), ")"),
      say_given(event))
  }
  code
}
