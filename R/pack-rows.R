# Rows in an object (update-rows.R), in as few bytes as serve: integers that are bits, because they go through files of every kind.

most_single <- 6000L # scores kept in single precision, 24 kB; more take two bytes each. (Effects of a few classes often have two optima that
# are about as good, and what two bytes lose decides between them.)
most_short <- 50000L # scores of two bytes, 100 kB, where more of them take one (coarse_step). Of a few hundred rows it decides between optima as well.
largest_short <- 65535L

#' Numbers as the bits of single precision, four bytes each
#'
#' Zero has no sign: the bits of -0, which small numbers may be rounded to, are those of NA.
#' @noRd
to_single <- function(x) {
  bits <- readBin(writeBin(as.double(x), raw(), size = 4), "integer", length(x), size = 4)
  replace(bits, is.na(bits), 0L)
}

from_single <- function(bits) {
  readBin(writeBin(bits, raw(), size = 4), "double", length(bits), size = 4)
}

#' Numbers from -top to 0, and -Inf, as 0 to 65535: eleven bits of the fraction, five of the exponent below that of `top`
#'
#' What is read is written again as it was, as long as `top` stays: it is a power of two. 32768 is left out (pack_codes()).
#' @noRd
to_short <- function(x, top) .Call(C_short_scores, x, top)

from_short <- function(code, top) {
  exponent <- code %/% 2048L
  share <- ifelse(exponent == 0, code / 2^41, (1 + code %% 2048L / 2048) * 2^(exponent - 31))
  ifelse(code == largest_short, -Inf, -top * share)
}

#' Whole numbers of one or two bytes, several to an integer
#'
#' None of them is such that they become NA: that would be zeros with 128 (of one byte) or 32768 (of two) behind them.
#' @noRd
pack_codes <- function(code, bytes) {
  per <- 4L %/% bytes
  code <- c(code, integer(-length(code) %% per))
  readBin(writeBin(as.integer(code), raw(), size = bytes, endian = "little"), "integer", length(code) %/% per, size = 4, endian = "little")
}

unpack_codes <- function(packed, bytes, n) {
  readBin(writeBin(packed, raw(), size = 4, endian = "little"), "integer", n, size = bytes, signed = FALSE, endian = "little")
}

#' Bytes, compressed, as integers none of which is NA: the first byte of every four is changed by the same mask
#'
#' Damaged bzip2 is recognised at once; of gzip that ends too early R asks for more and more memory.
#' @return list: `size` of what is compressed, `mask`, `words`.
#' @noRd
pack_bytes <- function(bytes) {
  small <- memCompress(bytes, "bzip2")
  padded <- c(small, raw(-length(small) %% 4))
  words <- function(mask) readBin(xor(padded, as.raw(c(mask, 0L, 0L, 0L))), "integer", length(padded) %/% 4, size = 4, endian = "little")
  mask <- 0L
  while (mask < 255L && anyNA(words(mask))) mask <- mask + 1L # a word is NA with one of the masks, and few words are with any
  list(size = length(small), mask = mask, words = words(mask))
}

#' The same back; NULL where that fails
#' @noRd
unpack_bytes <- function(packed) {
  bytes <- writeBin(packed$words, raw(), size = 4, endian = "little")
  bytes <- xor(bytes, as.raw(c(packed$mask, 0L, 0L, 0L)))
  tryCatch(memDecompress(bytes[seq_len(packed$size)], "bzip2"), error = function(e) NULL)
}

bytes_wrong <- function(packed) {
  length(check_parts(packed, list(size = field("integer", low = 1), mask = field("integer", low = 0, high = 255), words = field("integer", NULL)))) > 0 ||
    length(packed$words) != packed_length(packed$size, 1)
}

most_chunks <- 24L # in which an object keeps coarse scores: updates add to them, and only then compress all of them anew

#' Compressed parts of the scores, in their order; objects that were never updated have one, without a list of its own
#' @noRd
score_chunks <- function(scores) if (is.list(scores) && is.null(names(scores))) scores else list(scores)

unpack_chunks <- function(scores) do.call(c, lapply(score_chunks(scores), unpack_bytes))

#' Coarse scores, compressed; of rows that an object had before (`packed`) as they are there
#' @noRd
pack_chunks <- function(z, unit, packed) {
  old <- if (!is.null(packed) && packed$top == -unit) score_chunks(packed$scores)
  if (length(old) && nrow(z) == packed$n) return(packed$scores)
  if (length(old) == 0 || length(old) >= most_chunks) return(pack_bytes(to_coarse(z, unit)))
  c(old, list(pack_bytes(to_coarse(z[-seq_len(packed$n), , drop = FALSE], unit))))
}

coarse_step <- 0.04 # b below. By splits 21 to 23 of two sets of 100 classes, which bench/stream.R does not use: predictions move by .0004 to .0016, the log
# loss by 2e-5; .08 moved the former by .004
# The bound moves by up to 3.3 of 2000 rows. Steps of .02 move it by 1 for a quarter more bytes, 12 bits by .15 for twice as many, 16 bits by nothing for three times
# as many, and none of them changes the log loss by more than 1e-4 (bench/stream-limits.R): it stays one byte.

#' Numbers up to 0, and -Inf, row by row as one byte each: a (exp(b c) - 1) below 0 has the code c, b apart near 0 in units of a and coarser below, where
#' probabilities are small. What is read is written again as it was, as long as the unit a stays.
#' @noRd
to_coarse <- function(z, unit) .Call(C_coarse_scores, z, unit, coarse_step)

from_coarse <- function(bytes, unit) c(-unit * expm1(coarse_step * 0:254), -Inf)[as.integer(bytes) + 1L]

#' The unit of coarse scores: by the slope of the map about 2 of a latent value, a power of two, which stays when the slope changes a little
#'
#' No more than half of the scores are below it: a first batch may have no slope, and the next ones one.
#' @noRd
coarse_unit <- function(z, slope) {
  2^round(log2(min(2 / min(max(slope, 1e-25), 1e25), .Call(C_median_below, z), na.rm = TRUE)))
}

packed_length <- function(n, bytes) ceiling(as.double(n) * bytes / 4) # integers would overflow to NA, which no length differs from

label_bytes <- function(classes) if (classes < 128) 1L else 4L

#' Counts and weights: whole ones in two bytes
#' @noRd
number_bytes <- function(x) if (all(x == floor(x) & x >= 1 & x < 32768)) 2L else 4L

pack_numbers <- function(x, bytes) if (bytes == 2) pack_codes(x, 2L) else to_single(x)

unpack_numbers <- function(packed, bytes, n) if (bytes == 2) unpack_codes(packed, 2L, n) else from_single(packed)

#' @param rows list: `z` [n x K], `labels`, `weights`, `counts`; @param unit of coarse scores, or NULL; @param packed the same of the first rows, fewer than
#'   these, or NULL.
#' @return list: `n`; `top`, to which scores of two bytes relate, 0 where they have four, or minus the unit where they have one (compressed); `scores`;
#'   `labels`; `given`; `bytes` of counts and of weights; `counts` of the rows that each stands for unless all are 1, `weights` unless they are these.
#' @noRd
pack_rows <- function(rows, given, unit = NULL, packed = NULL) {
  z <- rows$z
  classes <- ncol(z)
  size <- largest_score(z)
  top <- if (length(z) <= most_single || size == 0 || any(z > 0)) 0 else if (is.null(unit) || length(z) <= most_short) 2^ceiling(log2(size)) else -unit
  bytes <- c(number_bytes(rows$counts), number_bytes(rows$weights))
  labels <- rows$labels
  scores <- if (top == 0) to_single(z) else if (top < 0) pack_chunks(z, unit, packed) else pack_codes(to_short(z, top), 2L)
  c(list(n = length(labels), top = top, scores = scores,
    labels = if (label_bytes(classes) == 1) pack_codes(labels, 1L) else labels, given = given, bytes = bytes),
    if (any(rows$counts != 1)) list(counts = pack_numbers(rows$counts, bytes[1])),
    if (any(rows$weights != rows$counts)) list(weights = pack_numbers(rows$weights, bytes[2])))
}

#' @param scores whether the scores are asked for: they are what takes long.
#' @noRd
unpack_rows <- function(rows, classes, scores = TRUE) {
  n <- rows$n
  counts <- if (is.null(rows$counts)) rep(1, n) else as.double(unpack_numbers(rows$counts, rows$bytes[1], n))
  list(z = if (scores) unpack_scores(rows, classes),
    labels = if (label_bytes(classes) == 1) unpack_codes(rows$labels, 1L, n) else rows$labels,
    weights = if (is.null(rows$weights)) counts else as.double(unpack_numbers(rows$weights, rows$bytes[2], n)), counts = counts)
}

unpack_scores <- function(rows, classes) {
  if (rows$top < 0) {
    bytes <- unpack_chunks(rows$scores)
    if (length(bytes) != as.double(rows$n) * classes) stop_object("object", "has a field `stream` that has rows with scores that are none")
    return(matrix(from_coarse(bytes, -rows$top), rows$n, byrow = TRUE))
  }
  matrix(if (rows$top == 0) from_single(rows$scores) else from_short(unpack_codes(rows$scores, 2L, rows$n * classes), rows$top), rows$n)
}

#' What is wrong with kept rows: text, or NULL
#' @noRd
rows_wrong <- function(rows, classes) {
  if (is.null(rows)) return(NULL)
  if (!is.list(rows)) return("has rows that are no list")
  if (length(field_wrong(rows$n, field("integer", low = 1))) || length(field_wrong(rows$top, field("number", low = -1e26, high = 2e30))) ||
    length(field_wrong(rows$bytes, field("integer", 2L))) || !all(rows$bytes %in% c(2L, 4L))) return("has rows that do not say how many they are")
  n <- rows$n
  numbers <- function(part, bytes) if (!is.null(rows[[part]])) stats::setNames(list(field("integer", packed_length(n, bytes))), part)
  coarse <- rows$top < 0 # every byte is a score
  if (coarse && any(vapply(score_chunks(rows$scores), bytes_wrong, NA))) return("has rows with scores that are none") # the rest where they are unpacked: predictions need none of it
  scores <- if (!coarse) list(scores = field("integer", packed_length(as.double(n) * classes, if (rows$top == 0) 4 else 2)))
  wrong <- check_parts(if (coarse) rows[names(rows) != "scores"] else rows, c(list(n = field("integer"), top = field("number")), scores, list(
    labels = field("integer", packed_length(n, label_bytes(classes))), given = field("flag"), bytes = field("integer", 2L)),
    numbers("counts", rows$bytes[1]), numbers("weights", rows$bytes[2])))
  if (length(wrong)) return(paste("has rows that:", wrong))
  kept <- unpack_rows(rows, classes, scores = rows$top == 0 || rows$top > 1e30) # otherwise every code is a score, from -2 top to 0, or -Inf
  if (any(kept$labels < 1 | kept$labels > classes)) return("has rows with labels that are none")
  z <- kept$z
  if (!is.null(z) && (anyNA(z) || any(z == Inf) || any(abs(z[z > -Inf]) > 2e30))) return("has rows with scores that are none")
  for (part in c("weights", "counts")) {
    value <- kept[[part]]
    if (anyNA(value) || any(value < (part == "counts") | value > 2e30)) return(paste("has rows with", part, "that are none"))
  }
}
