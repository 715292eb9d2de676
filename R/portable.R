# A calibrator as a file that other languages can read. The schema is documented on the page of write_calibrator();
# portable() says what a method writes.

portable_format <- "gpcalib-calibrator"
portable_version <- 1L

#' Save a calibrator for other languages
#'
#' `write_calibrator()` writes a fitted calibrator to a JSON file, with 17 digits per number, so that no precision is
#' lost; `read_calibrator()` turns the file into a calibrator with the same predictions.
#'
#' # The file
#' One JSON object with the members
#' \describe{
#'   \item{`format`, `version`}{`"gpcalib-calibrator"` and 1.}
#'   \item{`method`}{`"none"`, `"temperature"`, `"vector"`, `"matrix"`, `"platt"`, `"beta"`, `"isotonic"`, `"histogram"`, `"bbq"`, `"gp"`.}
#'   \item{`classes`}{K strings. Scores have one column per class, in this order.}
#'   \item{`input`}{`"probs"` or `"logits"`: what the scores must be. Probabilities are to be clamped to \[0, 1\] and divided by
#'     their sum.}
#'   \item{`formula`}{numbers, by the method: see below.}
#'   \item{`object`}{all fields of the R object, for `read_calibrator()`; other readers need not look at it.}
#' }
#' Vectors are arrays, matrices arrays of rows; a vector of length 1 is an array as well, except for the members said to be a number. Missing
#' values are `null`. Members that a method does not need are left out.
#'
#' # Formulas
#' z is a row of scores of length K, and p its probabilities: z itself, or for logits softmax(z).
#'
#' **`none`**: the result is p.
#'
#' **`temperature`, `vector`, `matrix`, `gp`**: the result is softmax(h), h the latent values of the classes. Members are `mean` (`"linear"` or
#' `"log"`), `floor` and `center` (true or false), by which scores become
#' \deqn{x_k = \log \max(p_k, \mathrm{floor}), \qquad x_k = z_k \;\mathrm{if\;floor} = 0, \qquad
#'   x_k = \max(p_k, \mathrm{floor}) \;\mathrm{if\;mean\;is\;log},}{x_k = log max(p_k, floor); x_k = z_k if floor = 0; x_k = max(p_k, floor) if mean is "log",}
#' less their mean over the row if `center`. Then \eqn{h_k = g(x_k)}{h_k = g(x_k)} plus what the other members add:
#' \describe{
#'   \item{`slope`}{a number a (for `vector` an array, one value per class): \eqn{g(x) = a x}{g(x) = a x}, or
#'     \eqn{a \log x}{a log x} if `mean` is `"log"`. Temperature scaling has nothing more: a is 1 divided by the temperature.}
#'   \item{`place`, `weight`, `lengthscale`}{two arrays and a number l: g has besides
#'     \eqn{\sum_j \mathrm{weight}_j \exp(-(x - \mathrm{place}_j)^2/(2 l^2))}{sum_j weight_j exp(-(x - place_j)^2 / (2 l^2))}.}
#'   \item{`nodes`, `values`}{of `calib_gp(monotone = TRUE)`: g is a straight line between these points, and has the slope a beyond the
#'     first and the last.}
#'   \item{`offset`}{an array: `offset`\[k\] is added.}
#'   \item{`linear`}{a matrix: \eqn{\sum_l}{sum_l} `linear`\[k\]\[l\] v\[l\] is added, v being x, limited to the two `limits` if
#'     they are there.}
#'   \item{`softmax`, `steep`}{a matrix and a number: \eqn{\sum_l}{sum_l} `softmax`\[k\]\[l\] u\[l\] is added, u = softmax(`steep` v).}
#'   \item{`least`}{a number: in place of u\[l\] it is max(u\[l\] - `least`, 0). With it there may be `power`, an array: `power`\[k\]
#'     max(log u\[k\], -30) is added, u as it was.}
#'   \item{`level`, `steep`}{a matrix with one column: `level`\[k\]\[1\] \eqn{\log \sum_l \exp}{log sum_l exp}(`steep` v\[l\]) is added.}
#'   \item{`even`, `steep`}{a matrix with one column: `even`\[k\]\[1\] 2 log cosh(`steep` (v\[2\] - v\[1\]) / 2) is added.}
#'   \item{`shape`, `every`}{two classes: with t = `steep` |v\[2\] - v\[1\]| / `every`, the sum over i = 1, 2, ... of
#'   `shape`\[k\]\[i\] `every` r(t - i + 1) is added, r(u) = u^2 / 2 for u from 0 to 1, 1 - (2 - u)^2 / 2 for u from 1 to 2, 0 before and 1 beyond.}
#' }
#' Of [calib_gp()] this is the softmax of the posterior mean, as by `predict(approx = "mean")`, not the integral over the posterior that `predict()` gives by
#' default; a message of class `gpcalib_message_posterior_mean` says so. It agrees with the former up to about 1e-8, with `monotone = TRUE` up to about 1e-5 (`predict()` interpolates
#' between nodes in another way); the order of the classes is kept up to rounding.
#'
#' **`platt`**: arrays `slope`, `intercept`, `low`, `high` with one value per map, and `log_odds`, true or false. With s the
#' log-odds log(p/(1 - p)) of the class (for logits \eqn{z_k - \log \sum_{j \ne k} \exp z_j}{z_k - log sum_(j != k) exp z_j}), or p itself, limited to
#' `low` and `high`, the map is 1/(1 + exp(-(slope s + intercept))).
#'
#' **`beta`**: arrays `a`, `b`, `c`, number `clip`. With q = max(p, clip) and r = max(1 - p, clip) the map is
#' 1/(1 + exp(-(a log q - b log r + c))).
#'
#' **`isotonic`, `histogram`, `bbq`**: `shape` and `maps`, an array with an object for each map.
#' \describe{
#'   \item{`"lines"`}{`x`, `y`: straight lines between these points and constant beyond.}
#'   \item{`"steps"`}{`x` (edges, ascending) and `y` (one value more): the value is `y[i]` (counted from 0), i the number of edges
#'     less than p; where it is `null` the value is p itself.}
#'   \item{`"pairs"`}{(Venn-Abers) `x`, `y` as for steps give p1, and `x0`, `y0` p0, where edges equal to p are counted as
#'     well; the value is p1/(1 - p0 + p1).}
#' }
#' Maps: with K = 2 there is one, that of the second class, and the first gets 1 less its value. With more there is one for each
#' class, and the values are divided by their sum; if that is 0 the result is p.
#'
#' Edges of steps are scores of calibration rows. For logits these are softmax values, which another program may round otherwise; they
#' are written moved by 1e-12 of themselves, so that a calibration row falls on its own side.
#'
#' @param object A calibrator.
#' @param file A file name, or a connection that is open for writing (for reading).
#' @return `write_calibrator()` returns `object`, invisibly; `read_calibrator()` a calibrator.
#'   Its `predict()` gives the same numbers as that of the object written, to the last bit.
#' @seealso [calib_sql()]; `vignette("database", package = "gpcalib")` has a reader in Python; [saveRDS()] if only R is to read it.
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
#' file <- tempfile(fileext = ".json")
#' write_calibrator(fit, file)
#' cat(substr(readLines(file), 1, 60), sep = "\n")
#' same <- read_calibrator(file)
#' identical(predict(same, c(0.1, 0.5)), predict(fit, c(0.1, 0.5)))
#' @export
write_calibrator <- function(object, file) {
  given <- object
  object <- check_object(object)
  if (missing(file)) stop_input("file", "is missing", "Give the name of a file.")
  content <- list(
    format = portable_format, version = portable_version, method = object$method, classes = I(object$classes),
    input = object$input, formula = portable(object), object = portable_object(object)
  )
  text <- to_json(content)
  if (inherits(file, "connection")) {
    writeLines(text, file, useBytes = TRUE)
  } else {
    check_file(file)
    out <- open_file(file, "wb")
    on.exit(close(out))
    writeLines(text, out, useBytes = TRUE)
  }
  say_posterior_mean(object, "The formula in this file gives")
  invisible(given)
}

check_file <- function(file) {
  if (!is.character(file) || length(file) != 1 || is.na(file) || !nzchar(file)) {
    stop_input("file", "must be a file name or a connection", say_given(file))
  }
}

open_file <- function(file, how) {
  tryCatch(base::file(file, how), error = function(e) e, warning = function(w) {
    stop_input("file", paste0("cannot be opened: ", conditionMessage(w)))
  })
}

#' @rdname write_calibrator
#' @export
read_calibrator <- function(file) {
  if (missing(file)) stop_input("file", "is missing", "Give the name of a file.")
  if (!inherits(file, "connection")) {
    check_file(file)
    if (!file.exists(file)) stop_input("file", "does not exist", paste0("It is \"", file, "\"."))
  }
  text <- paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  content <- from_json(text)
  if (!is.list(content) || !identical(content$format, portable_format)) {
    stop_input("file", "is not a file of write_calibrator()", "Its member `format` must be \"gpcalib-calibrator\".")
  }
  if (!is.numeric(content$version) || length(content$version) != 1 || content$version != portable_version) {
    stop_input("file", "was written by a newer version of gpcalib", "Update the package.")
  }
  object <- tryCatch(suppressWarnings(restore_object(content)), error = function(e) NULL)
  if (is.null(object)) stop_object("file", "holds no calibrator")
  check_object(object, "file")
}

# What a method writes --------------------------------------------------------------------

#' The numbers of a method's formula: a named list; I() marks arrays
#' @noRd
portable <- function(object) UseMethod("portable")

#' @export
portable.default <- function(object) {
  stop_input("object", paste0("of class ", class(object)[1], " has no portable form"), "Use saveRDS().")
}

#' @export
portable.calib_none <- function(object) structure(list(), names = character())

#' @export
portable.calib_temperature <- function(object) {
  list(slope = 1 / object$temperature, mean = "linear", floor = temperature_floor(object), center = TRUE)
}

#' @export
portable.calib_vector <- function(object) {
  list(slope = I(unname(object$weights)), offset = I(unname(object$offset)), mean = "linear",
    floor = temperature_floor(object), center = TRUE)
}

#' @export
portable.calib_matrix <- function(object) {
  list(slope = 0, linear = unname(object$weights), offset = I(unname(object$offset)), mean = "linear",
    floor = temperature_floor(object), center = TRUE)
}

#' @export
portable.calib_platt <- function(object) {
  range <- matrix(object$range, 2)
  coef <- unname(object$coefficients)
  list(slope = I(coef[1, ]), intercept = I(coef[2, ]), low = I(range[1, ]), high = I(range[2, ]),
    log_odds = object$log_odds)
}

#' @export
portable.calib_beta <- function(object) {
  coef <- unname(object$coefficients)
  list(a = I(coef[1, ]), b = I(coef[2, ]), c = I(coef[3, ]), clip = object$clip)
}

#' @export
portable.calib_histogram <- function(object) portable_curves(object, "steps")

#' @export
portable.calib_bbq <- function(object) portable_curves(object, "steps")

#' @export
portable.calib_isotonic <- function(object) {
  portable_curves(object, if (!is.null(object$x0)) "pairs" else if (object$interpolate) "lines" else "steps")
}

portable_curves <- function(object, shape) {
  maps <- lapply(seq_len(ova_count(object)), function(j) {
    at <- seq.int(object$start[j] + 1L, object$start[j + 1L])
    x <- object$x[at]
    y <- object$y[at]
    if (shape == "lines") return(list(x = I(x), y = I(y)))
    if (shape == "steps") return(list(x = I(nudge(object, x[-length(x)], 1)), y = I(y)))
    low <- seq.int(object$start0[j] + 1L, object$start0[j + 1L])
    list(x = I(nudge(object, x, 1)), y = I(c(y, 1)), x0 = I(nudge(object, object$x0[low], -1)),
      y0 = I(c(0, object$y0[low])))
  })
  list(shape = shape, maps = maps)
}

#' @export
portable.calib_gp <- function(object) {
  out <- gp_formula(object)
  numbers <- c("slope", "lengthscale", "floor", "steep", "every", "mean", "center", "least")
  for (name in intersect(c("even", "level"), names(out))) out[[name]] <- matrix(out[[name]])
  lapply(stats::setNames(names(out), names(out)), function(name) if (name %in% numbers) out[[name]] else I(out[[name]]))
}

# The R object ----------------------------------------------------------------------------

#' Fields with what JSON does not say: types, dimensions, names
#'
#' Numbers are hexadecimal ("%a"), many in one text: exact on every machine, and quick to read.
#' @noRd
portable_object <- function(object) {
  object[c("call", "auto")] <- NULL
  portable_field(unclass(object))
}

portable_field <- function(x) {
  if (is.null(x)) return(list(type = "null"))
  if (is.object(x) || !is.list(x) && !is.atomic(x)) stop_input("object", "has fields that are no plain vectors", "Use saveRDS().")
  value <- if (is.list(x)) {
    I(lapply(unname(x), portable_field))
  } else if (is.character(x)) {
    I(as.vector(x))
  } else if (is.double(x)) {
    paste(sprintf("%a", as.vector(x)), collapse = " ")
  } else {
    paste(as.integer(x), collapse = " ")
  }
  out <- list(type = typeof(x), value = value, names = if (is.null(dim(x)) && !is.null(names(x))) I(names(x)),
    dim = if (!is.null(dim(x))) I(dim(x)), dimnames = if (!is.null(dimnames(x))) portable_field(unname(dimnames(x))))
  out[!vapply(out, is.null, NA)]
}

restore_object <- function(content) {
  fields <- restore_field(content$object)
  if (!identical(fields$method, content$method)) return(NULL)
  fields <- append(fields, list(call = as.call(list(as.name(paste0("calib_", content$method))))), 4)
  structure(fields, class = c(paste0("calib_", content$method), "calibrator"))
}

restore_field <- function(x) {
  if (x$type == "null") return(NULL)
  numbers <- function() {
    text <- if (nzchar(x$value)) strsplit(x$value, " ", fixed = TRUE)[[1]] else character()
    text[text == "NA"] <- NA
    text
  }
  out <- switch(x$type,
    list = lapply(x$value, restore_field),
    character = vapply(x$value, identity, ""),
    double = as.double(numbers()),
    integer = as.integer(numbers()),
    logical = as.logical(as.integer(numbers()))
  )
  if (!is.null(x$names)) names(out) <- vapply(x$names, identity, "")
  if (!is.null(x$dim)) dim(out) <- as.integer(unlist(x$dim))
  if (!is.null(x$dimnames)) dimnames(out) <- restore_field(x$dimnames)
  out
}
