# The latest rows of a fit of the process, kept beside the frozen quadratic until there are so many that they are
# frozen too: a quadratic is as good as the fit at which it is expanded, and that of a few rows is not good.

most_effects <- 420 # as GPC_SITE_EFFECTS in src/gp_stream.h
fewest_rows <- 500 # by bench/stream.R: a quadratic about fits of so many rows is as good as the rows ...
rows_per_effect <- 100 # ... and with effects of the classes of so many for each of them
most_rows <- 2000
most_rows_alone <- 5000 # where nothing can be frozen
least_room <- 32768 # bytes; rows may also take as much room as the quadratic that would replace them
knots_about <- 40

#' How many rows a fit may keep
#' @noRd
buffer_rows <- function(buffer, blocks, classes) {
  if (!is.null(buffer)) return(buffer)
  effects <- if (sum(blocks) > 1) count_effects(blocks, classes) else 0
  if (effects > most_effects) return(most_rows_alone)
  size <- knots_about + effects
  room <- max(least_room, 8 * size * (size + 1) / 2)
  as.integer(min(max(fewest_rows, rows_per_effect * effects), most_rows, room %/% (4 * (classes + 1))))
}

count_effects <- function(blocks, classes) {
  classes * sum(blocks * block_sizes(classes))
}

#' Numbers as the bits of single precision, four bytes each
#'
#' Integers, because they go through files of every kind. Zero has no sign: the bits of -0, which small numbers may be rounded
#' to, are those of NA.
#' @noRd
to_single <- function(x) {
  bits <- readBin(writeBin(as.double(x), raw(), size = 4), "integer", length(x), size = 4)
  replace(bits, is.na(bits), 0L)
}

from_single <- function(bits) {
  readBin(writeBin(bits, raw(), size = 4), "double", length(bits), size = 4)
}

#' The rows of a fit to be kept in place of a quadratic, or NULL
#'
#' Probabilities are kept as logarithms: those below 1e-38 are none in single precision.
#' @param given whether the floor was given, not chosen: then it stays.
#' @noRd
gp_keep_rows <- function(data, center, spec, blocks, given) {
  classes <- length(data$classes)
  if (nrow(data$scores) > buffer_rows(spec$control$buffer, blocks, classes)) return(NULL)
  z <- data$scores
  if (data$input == "probs") {
    z <- log(z)
  } else if (center) {
    z <- z - scan_rows(z, keep = "max")$max
  }
  # what single precision cannot hold is frozen at once
  size <- max(abs(z[is.finite(z)]), 0)
  if (size > 1e30 || size > 0 && size < 1e-20 || any(data$weights > 1e30 | data$weights < 1e-30)) return(NULL)
  weighted <- !is.null(data$weights) && any(data$weights != 1)
  c(list(scores = to_single(z), labels = as.integer(data$labels), given = given),
    if (weighted) list(weights = to_single(data$weights)))
}

#' Rows kept before, at (1 - forget) of their weight, with those of a batch behind them
#' @noRd
add_kept <- function(rows, data, forget) {
  if (is.null(rows) || forget == 1) return(data)
  n <- length(rows$labels)
  z <- matrix(from_single(rows$scores), n)
  if (data$input == "probs") z <- exp(z)
  old <- (1 - forget) * if (is.null(rows$weights)) rep(1, n) else from_single(rows$weights)
  new <- if (is.null(data$weights)) rep(1, nrow(data$scores)) else data$weights
  data$scores <- rbind(z, unname(data$scores))
  data$labels <- c(rows$labels, as.integer(data$labels))
  data$weights <- if (all(old == 1) && all(new == 1)) NULL else c(old, new)
  data$scan <- scan_rows(data$scores, data$threads)
  data
}

#' What is wrong with kept rows: text, or NULL
#' @noRd
rows_wrong <- function(rows, classes) {
  if (is.null(rows)) return(NULL)
  if (!is.list(rows)) return("has rows that are no list")
  n <- length(rows$labels)
  wrong <- check_parts(rows, c(list(scores = field("integer", n * classes), labels = field("integer", NULL, low = 1, high = classes),
    given = field("flag")), if (!is.null(rows$weights)) list(weights = field("integer", n))))
  if (length(wrong)) return(paste("has rows that:", wrong))
  z <- from_single(rows$scores)
  if (anyNA(z) || any(z == Inf) || any(abs(z[z > -Inf]) > 2e30)) return("has rows with scores that are none")
  weights <- if (!is.null(rows$weights)) from_single(rows$weights)
  if (anyNA(weights) || any(weights < 0 | weights > 2e30)) "has rows with weights that are none"
}
