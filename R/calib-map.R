#' The calibration map of a calibrator
#'
#' The calibrated probability as a function of the raw probability, as a data frame, so that the maps of several methods
#' can be drawn and compared. The diagonal means no change.
#'
#' For two classes every calibrator has such a map, that of the second class: it is what
#' [`predict()`][predict.calibrator] gives for the forecast (1 - p, p). With more classes, the one-vs-all methods
#' ([calib_platt()], [calib_isotonic()], [calib_beta()], [calib_bbq()], [calib_histogram()]) have one map per class,
#' before each row is divided by its sum. [calib_temperature()] and [calib_gp()] then have no such map, because the
#' calibrated probability of a class depends on the other probabilities of its row; see [latent()] for their map.
#'
#' @param object A calibrator.
#' @param p Raw probabilities at which to evaluate the map. Calibrators fitted to logits get their
#'   log-odds.
#' @param level For [calib_gp()]: the level of the band. It comes from random draws; use `set.seed()` to make it reproducible.
#' @param ... Not used.
#' @return A data frame with one row per class and value of `p`: `class` (a factor with the classes
#'   as levels), `p`, `calibrated`, and `conf.low` and `conf.high`, which are `NA` except for
#'   [calib_gp()] and for Venn-Abers calibration ([calib_isotonic()]), where they are the pair of probabilities.
#' @seealso [latent()], [predict.calibrator()].
#' @examples
#' fit <- calib_temperature(rain_nyc$prob, rain_nyc$rain)
#' calib_map(fit, c(0.1, 0.5, 0.9))
#' @export
calib_map <- function(object, p = seq(0, 1, length.out = 101), level = 0.95, ...) {
  check_dots_empty(...)
  object <- check_object(object)
  p <- check_map_points(p)
  level <- check_number(level, "level", 1e-6, 1 - 1e-6)
  map <- if (length(object$classes) == 2) pair_map(object, p, level) else class_maps(object, p)
  maps <- length(map$calibrated) / max(1, length(p))
  codes <- if (maps == 1) length(object$classes) else seq_along(object$classes)
  if (length(p) == 0) codes <- integer()
  data.frame(
    class = factor(rep(object$classes[codes], each = length(p)), levels = object$classes),
    p = rep(p, length(codes)), calibrated = map$calibrated, conf.low = map$low,
    conf.high = map$high
  )
}

check_map_points <- function(p) {
  if (!is.numeric(p) || is.object(p)) {
    stop_input("p", "must be a numeric vector of probabilities", say_given(p))
  }
  if (anyNA(p) || any(p < 0 | p > 1)) {
    bad <- which(is.na(p) | p < 0 | p > 1)
    stop_input("p", paste0("has values outside [0, 1] (the first at position ", bad[1], ")"),
      "Give probabilities.")
  }
  as.double(p)
}

#' Probabilities of the second class as scores that a fit takes
#' @noRd
as_pair <- function(object, p) {
  pair <- cbind(1 - p, p, deparse.level = 0)
  # Log-probabilities are logits, and stay finite on one side where p is 0 or 1.
  if (object$input == "logits") log(pair) else pair
}

#' Without the warnings that most of [0, 1] may lie beyond the calibration scores: that is what maps are looked at for
#' @noRd
within_range <- function(expr) {
  withCallingHandlers(expr, gpcalib_warning_extrapolation = function(w) invokeRestart("muffleWarning"),
    gpcalib_warning_input = function(w) invokeRestart("muffleWarning"))
}

#' The map of two classes, by predict()
#' @noRd
pair_map <- function(object, p, level) {
  pair <- as_pair(object, p)
  none <- rep(NA_real_, length(p))
  calibrated <- unname(within_range(predict(object, pair))[, 2])
  if (!inherits(object, "calib_gp") && is.null(object$x0)) {
    return(list(calibrated = calibrated, low = none, high = none))
  }
  band <- within_range(predict(object, pair, type = "interval", level = level))
  list(calibrated = calibrated, low = unname(band[, 2, 2]), high = unname(band[, 2, 3]))
}

#' One map per class, for calibrators that have them: list(calibrated, low, high), classes one
#' after the other
#' @noRd
class_maps <- function(object, p) UseMethod("class_maps")

#' @export
class_maps.default <- function(object, p) {
  stop_input("object", paste0("of class ", class(object)[1], " has no calibration map for ",
    length(object$classes), " classes"),
    "Its calibrated probabilities depend on the whole row; autoplot() draws its shared map, and latent() gives its values.")
}

#' @export
class_maps.calib_none <- function(object, p) {
  p <- rep(p, length(object$classes))
  list(calibrated = p, low = NA_real_ * p, high = NA_real_ * p)
}

# What print() says of the map ---------------------------------------------------------------

example_points <- c(0.1, 0.5, 0.9)

#' The points of the examples; where a fit has not seen them, a tenth, the middle and nine tenths of the range that it has seen
#' @noRd
seen_examples <- function(object) {
  ends <- if (object$input == "probs") object[["event_range"]]
  if (is.null(ends) || diff(ends) <= 0 || ends[1] <= example_points[1] && ends[2] >= example_points[3]) return(example_points)
  at <- signif(ends[1] + c(0.1, 0.5, 0.9) * diff(ends), 2)
  if (anyDuplicated(at) || any(at <= ends[1] | at >= ends[2])) example_points else at
}

#' What becomes of a few probabilities; with more than two classes the range over the classes, where each has a map
#' of its own. NULL where it depends on the whole row
#' @noRd
say_examples <- function(object) {
  if (object$method == "none") return(NULL)
  k <- length(object$classes)
  say <- function(x) {
    # 0.9998 is not 1.00
    ifelse(x > 0.995 & x < 1, format(1 - signif(1 - x, 2), digits = 12, trim = TRUE), formatC(x, digits = 3, format = "g", flag = "#"))
  }
  at <- if (isTRUE(object$votes)) c(0, 1) else seen_examples(object)
  join <- function(y) paste0("a probability of ", paste(at, "becomes", y, collapse = ", "))
  if (k == 2) {
    # By quadrature or a formula, without random numbers.
    y <- unname(within_range(predict(object, as_pair(object, at)))[, 2])
    return(paste0("class \"", object$classes[2], "\": ", join(say(y))))
  }
  maps <- tryCatch(class_maps(object, at), gpcalib_error_input = function(e) NULL)
  if (is.null(maps)) return(NULL)
  y <- matrix(maps$calibrated, length(at))
  low <- apply(y, 1, min)
  high <- apply(y, 1, max)
  paste0(join(paste(say(low), "to", say(high))), ", depending on the class")
}
