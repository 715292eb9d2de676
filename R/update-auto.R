# forget = "auto": updates with several values of `forget` side by side, of which the one is used whose forecasts of the
# batches were best, each batch forecast before it was taken in.

auto_values <- c(0, 0.05, 0.2, 0.5)
auto_memory <- 0.8 # of losses from batch to batch: old mistakes count less, or a change would be noticed late

#' @param object a calibrator, checked; its field `auto` has what was kept by the last such update: the values of forget, the
#'   losses, which of them is the object itself, and the other calibrators (an empty list in the place of the object).
#' @noRd
update_auto <- function(object, scores, labels, weights, threads) {
  old <- object$auto
  object["auto"] <- NULL
  fits <- if (is.null(old)) rep(list(object), length(auto_values)) else replace(old$fits, old$chosen, list(object))
  same <- is.null(old) # all are the same calibrator still
  data <- check_batch(object, scores, labels, weights, threads)
  loss <- if (same) numeric(length(fits)) else auto_memory * old$loss + vapply(fits, batch_loss, 0, data = data, scores = scores)
  fits <- lapply(seq_along(fits), function(i) update_object(fits[[i]], scores, labels, weights, auto_values[i], threads))
  chosen <- which.min(loss)
  new <- fits[[chosen]]
  say_reordered(object, new)
  format <- new$format
  new$format <- NULL
  new$auto <- list(forget = auto_values, loss = loss - min(loss), chosen = chosen, fits = replace(fits, chosen, list(list())))
  new$format <- format # stays last, see new_calibrator()
  new
}

#' Log loss of a batch, summed over its rows; a probability of 0 is not the end
#' @noRd
batch_loss <- function(object, data, scores) {
  p <- suppressWarnings(predict(object, scores, threads = data$threads))[cbind(seq_along(data$labels), data$labels)]
  w <- if (is.null(data$weights)) 1 else data$weights
  sum(w * -log(pmax(p, 1e-6)))
}

#' What is wrong with what forget = "auto" keeps: text, or NULL
#' @noRd
auto_wrong <- function(object) {
  auto <- object[["auto"]]
  if (is.null(auto)) return(NULL)
  size <- length(auto$forget)
  wrong <- check_parts(auto[setdiff(names(auto), "fits")], list(forget = field("number", length(auto_values), low = 0, high = 1),
    loss = field("number", size, low = 0), chosen = field("integer", low = 1, high = length(auto_values))))
  if (length(wrong) || !identical(auto$forget, auto_values) || !is.list(auto$fits) || length(auto$fits) != size) {
    return("has a field `auto` that is not complete")
  }
  for (i in setdiff(seq_len(size), auto$chosen)) {
    other <- auto$fits[[i]]
    if (!inherits(other, "calibrator") || !is.null(other[["auto"]]) ||
      !identical(other[c("method", "classes", "input")], object[c("method", "classes", "input")])) {
      return("has a field `auto` with other calibrators")
    }
    check_object(other)
  }
}

#' The line that print() has for it
#' @noRd
say_auto <- function(object) {
  auto <- object[["auto"]]
  if (is.null(auto)) return(NULL)
  share <- auto$forget[auto$chosen]
  if (share == 0) return("forget = \"auto\": nothing is forgotten at present")
  paste0("forget = \"auto\": old rows lose ", 100 * share, " % of their weight with every batch at present")
}
