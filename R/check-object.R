# Calibrators come back from files, from other versions and from other hands: each is looked at
# before anything is computed from it. A method says in object_fields() what it needs; the rest is
# the same for all.

object_format <- 8L # what new_calibrator() writes; see upgrade_object()

#' A calibrator as this version knows it, or an error of class gpcalib_error_object
#'
#' Costs as much as looking once at every number of the object.
#' @return the object, upgraded if it was of an older format.
#' @noRd
check_object <- function(object, arg = "object") {
  if (!inherits(object, "calibrator")) {
    stop_input(arg, "must be a calibrator", "Give the result of calib_gp() or another calib_*().")
  }
  if (!is.list(object)) stop_object(arg, "is no list")
  names <- names(object)
  if (is.null(names) || anyNA(names) || anyDuplicated(names)) {
    stop_object(arg, "has fields without a name, or a name twice")
  }
  check_format(object, arg)
  check_fields(object, common_fields, arg)
  check_fields(object, list(prior = field("number", length(object$classes), low = 0, high = 1,
    optional = TRUE)), arg)
  if (!inherits(object, paste0("calib_", object$method)) ||
    is.null(utils::getS3method("object_fields", paste0("calib_", object$method), optional = TRUE,
      envir = environment()))) {
    stop_object(arg, paste0("of class ", class(object)[1], " is of an unknown method"))
  }
  if (anyNA(object$classes) || anyDuplicated(object$classes)) {
    stop_object(arg, "has classes that are missing or not distinct")
  }
  if (off_wrong(object[["off"]], length(object$classes))) stop_object(arg, "has a comparison of its classes that is not one")
  object <- upgrade_object(object)
  check_fields(object, object_fields(object), arg)
  wrong <- c(object_wrong(object), auto_wrong(object))
  if (length(wrong)) stop_object(arg, wrong[1])
  object
}

stop_object <- function(arg, what) {
  stop(errorCondition(paste0("`", arg, "` ", what, ": it was changed, or its file is damaged. Fit the ",
    "calibrator again."), class = c("gpcalib_error_object", "gpcalib_error_input", "gpcalib_error"),
    call = NULL))
}

#' @noRd
check_format <- function(object, arg) {
  format <- object$format
  if (!is.numeric(format) || length(format) != 1 || is.na(format) || format < 1 ||
    format != floor(format)) {
    stop_object(arg, "has no format number")
  }
  if (format > object_format) {
    stop(errorCondition(paste0("`", arg, "` was saved by a newer version of gpcalib (format ",
      format, ", known here: up to ", object_format, "). Update the package."),
      class = c("gpcalib_error_object", "gpcalib_error_input", "gpcalib_error"), call = NULL))
  }
}

#' Objects of older formats
#'
#' Format 2 (the first with pictures) knows where the calibration scores of a calib_gp() lay; those
#' of format 1 may not, which `rows = 0` says. Format 3 limits the scores of calib_platt() to `range`; before,
#' only infinite ones went there, so that older objects get the limits of a fit that saw none. Format 4 has
#' effects of the classes in fits of calib_gp(), which older versions would leave out, and calls
#' `increasing` what was `monotone` before: that is now the promise of calib_gp(monotone = TRUE). Format 5 has powers
#' among the effects; older fits have none. Format 6 knows a skew part of the matrix; the matrix of older fits has one variance.
#' In format 7 a large covariance of effects is in single precision, which older versions cannot read.
#' In format 8 an average leaves out what follows from the rest of it (pack_averaged()).
#' @noRd
upgrade_object <- function(object) {
  if (object$format < 2L && object$method == "gp" && is.null(object$scores_seen)) {
    object$scores_seen <- nothing_seen(object)
  }
  if (object$format < 3L && object$method == "platt" && is.numeric(object$range)) {
    limit <- platt_limit(object$input, isTRUE(object$log_odds))
    object$range[] <- ifelse(seq_along(object$range) %% 2 == 1, pmin(object$range, -limit),
      pmax(object$range, limit))
  }
  if (object$format < 4L && object$method == "gp" && is.null(object$class_effects)) {
    object$class_effects <- "none"
  }
  if (object$method == "gp" && is.null(object$increasing)) {
    object$increasing <- object$monotone
    object$monotone <- FALSE
  }
  if (object$format < 5L && object$method == "gp") object <- add_powers(object)
  if (object$format < 6L && object$method == "gp") object <- add_skew(object)
  object$format <- object_format
  object
}

#' A fit with the three blocks of effects of format 4 as one with four, of which the last is empty
#' @noRd
add_powers <- function(object) {
  none <- function(x, value) if (length(x) == 3) c(x, value) else x
  three <- effect_blocks[1:3]
  extend <- function(effects) {
    if (is.list(effects) && is.integer(effects$count)) effects$count <- none(effects$count, 0L)
    effects
  }
  object["effects"] <- list(extend(object$effects))
  if (is.list(object$averaged$effects)) object$averaged$effects <- extend(object$averaged$effects)
  stream <- object$stream
  if (!is.list(stream)) return(object)
  power <- c(power = NA_real_)
  if (is.double(stream$held) && identical(utils::tail(names(stream$held), 3), three)) stream$held <- c(stream$held, power)
  if (is.list(stream$effects)) {
    if (is.integer(stream$effects$blocks)) stream$effects$blocks <- none(stream$effects$blocks, 0L)
    if (identical(names(stream$effects$held), three)) stream$effects$held <- c(stream$effects$held, power)
  }
  object$stream <- stream
  object
}

#' What a fit of format 5 keeps for later rows, with another variance, which its frozen rows do without
#' @noRd
add_skew <- function(object) {
  stream <- object$stream
  if (!is.list(stream)) return(object)
  skew <- c(skew = NA_real_)
  if (is.double(stream$held) && identical(utils::tail(names(stream$held), 4), feature_blocks)) stream$held <- c(stream$held, skew)
  if (is.list(stream$effects)) {
    if (is.integer(stream$effects$blocks) && length(stream$effects$blocks) == 4) stream$effects$blocks <- c(stream$effects$blocks, 0L)
    if (identical(names(stream$effects$held), feature_blocks)) stream$effects$held <- c(stream$effects$held, skew)
  }
  object$stream <- stream
  object
}

# What a field must be ----------------------------------------------------------------------

#' The rule for one field
#'
#' @param kind "number" (double), "single" (bits of single precision, see to_single(); `high` is for their size), "integer", "whole" (double or integer), "flag" or "text".
#' @param size how many values, NULL for one or more, NA for any; @param low,high limits of numbers;
#' @param na whether values may be missing; @param among the texts allowed; @param optional whether
#'   the field may be NULL.
#' @noRd
field <- function(kind, size = 1L, low = -Inf, high = Inf, na = FALSE, among = NULL,
                  optional = FALSE) {
  list(kind = kind, size = size, low = low, high = high, na = na, among = among, optional = optional)
}

common_fields <- list(
  method = field("text"), classes = field("text", NULL), input = field("text", among = c("probs", "logits")),
  n = field("whole", low = 1), converged = field("flag"), iterations = field("whole", low = 0),
  off = field("number", NULL, low = 0, optional = TRUE), row_loss = field("number", 2L, low = 0, na = TRUE, optional = TRUE),
  row_accuracy = field("number", 2L, low = 0, high = 1, optional = TRUE),
  row_confidence = field("number", 2L, low = 0, high = 1 + 1e-9, optional = TRUE), row_means = field("number", NULL, low = 0, optional = TRUE), votes = field("flag", optional = TRUE), columns = field("text", NULL, optional = TRUE),
  seen_weight = field("number", low = 0, optional = TRUE)
)

#' What a method's objects hold beside the common fields: a named list of field()s
#' @noRd
object_fields <- function(object) UseMethod("object_fields")

#' What is wrong with an object whose fields are all right by themselves: text, or NULL
#' @noRd
object_wrong <- function(object) UseMethod("object_wrong")

#' @export
object_wrong.default <- function(object) NULL

check_fields <- function(object, fields, arg) {
  if (length(object$classes) < 2) stop_object(arg, "has fewer than two classes")
  for (name in names(fields)) {
    wrong <- field_wrong(object[[name]], fields[[name]])
    if (length(wrong)) stop_object(arg, paste0("has a field `", name, "` that ", wrong))
  }
}

#' @return text, or NULL when the value is as the rule says.
#' @noRd
field_wrong <- function(x, rule) {
  if (is.null(x)) return(if (!rule$optional) "is missing")
  type <- switch(rule$kind, number = is.double(x), integer = , single = is.integer(x),
    whole = is.numeric(x), flag = is.logical(x),
    text = is.character(x))
  if (!type || is.object(x)) return("is of another type")
  if (isTRUE(length(x) != rule$size)) return("is of another length")
  if (is.null(rule$size) && !length(x)) return("is empty")
  if (rule$kind %in% c("flag", "text")) {
    if (anyNA(x) && !rule$na) return("has missing values")
    if (!is.null(rule$among) && !all(x %in% rule$among)) return("has unknown values")
    return(NULL)
  }
  if (!length(x)) return(NULL)
  if (rule$kind == "single") x <- .Call(C_single_size, x) # the largest; NaN where any number is
  if (anyNA(x)) {
    if (!rule$na) return("has missing values")
    x <- x[!is.na(x)]
    if (!length(x)) return(NULL)
  }
  ends <- range(x)
  if (any(is.infinite(ends)) || ends[1] < rule$low || ends[2] > rule$high) {
    return("has values out of range")
  }
  if (rule$kind == "whole" && any(x != floor(x))) return("has values that are not whole")
}
