# Two calibrators as one.

#' Merge two calibrators of different rows
#'
#' Combines two calibrators into one that equals a fit to the rows of both. This is possible where the objects store
#' enough information about their rows: [calib_none()] and [calib_histogram()] with the same number of bins of equal
#' width; [calib_isotonic()] and [calib_bbq()] as long as no scores are pooled; [calib_gp()] as long as both store all
#' their rows unmerged (for the limits, and for the precision of stored scores, see [update.calibrator()]). For the
#' other methods, and beyond these limits, it is an error. Use [`update()`][update.calibrator] to add the rows of one
#' fit to the other.
#'
#' @param x,y Calibrators of the same method, classes, kind of input and settings.
#' @param ... Must be empty.
#' @return A calibrator; its call is that of `x`.
#' @examples
#' half <- seq_len(nrow(rain_nyc)) %% 2 == 0
#' one <- calib_histogram(rain_nyc$prob[half], rain_nyc$rain[half])
#' two <- calib_histogram(rain_nyc$prob[!half], rain_nyc$rain[!half])
#' merge(one, two)
#' @export
merge.calibrator <- function(x, y, ...) {
  check_dots_empty(...)
  x <- check_object(x, "x")
  y <- check_object(y, "y")
  same <- c("method", "classes", "input", switch(x$method, histogram = c("binning", "bins"), isotonic = "interpolate",
    gp = c("mean", "center", "covariance", "monotone", "effects_asked")))
  for (part in same) {
    if (!identical(x[[part]], y[[part]])) {
      stop_input("y", paste0("has another `", part, "` than `x`"), "Such calibrators cannot be merged.")
    }
  }
  weight <- c(old_weight(x), old_weight(y))
  counts <- x$prior * weight[1] + y$prior * weight[2]
  x <- merge_fits(x, y, counts)
  x$prior <- as.double(counts / sum(counts))
  x$n <- add_count(x$n, y$n)
  x$seen_weight <- sum(weight)
  x[c("off", "row_loss", "row_accuracy", "votes", "auto")] <- list(NULL)
  x[["row_confidence"]] <- x[["row_means"]] <- NULL
  x
}

#' A method's part of merge()
#' @param counts weight of the rows of every class, of both.
#' @noRd
merge_fits <- function(x, y, counts) UseMethod("merge_fits")

#' @export
merge_fits.default <- function(x, y, counts) {
  stop_input("x", paste0("of class ", class(x)[1], " cannot be merged: the fits do not store enough about their ",
    "rows"), "Use update() with the rows of one of them, or fit again.")
}

#' @export
merge_fits.calib_none <- function(x, y, counts) x

#' @export
merge_fits.calib_histogram <- function(x, y, counts) {
  if (x$binning != "width") return(merge_fits.default(x))
  if (is.null(x$mass)) stop_old_histogram("x")
  if (is.null(y$mass)) stop_old_histogram("y")
  x$mass <- x$mass + y$mass
  x$hits <- x$hits + y$hits
  histogram_maps(x, counts)
}

#' @export
merge_fits.calib_isotonic <- function(x, y, counts) merge_points(x, y, counts)

#' @export
merge_fits.calib_bbq <- function(x, y, counts) merge_points(x, y, counts)

merge_points <- function(x, y, counts) {
  if (is.null(x$points)) stop_no_points("x")
  if (is.null(y$points)) stop_no_points("y")
  if (is.null(x$x0) != is.null(y$x0)) stop_input("y", "has another `type` than `x`", "Such calibrators cannot be merged.")
  if (x$points$pooled || y$points$pooled) return(merge_fits.default(x))
  points_maps(x, add_points(x$points, y$points), counts)
}

#' @export
merge_fits.calib_gp <- function(x, y, counts) {
  all_rows <- function(fit) !is.null(fit$stream$rows) && is.null(fit$stream$rows$counts) && is.null(fit$stream$knots)
  if (!all_rows(x) || !all_rows(y)) return(merge_fits.default(x))
  if (!identical(x$stream$held, y$stream$held)) stop_input("y", "has another `hyper` than `x`", "Such calibrators cannot be merged.")
  nothing <- list(scores = matrix(0, 0, length(y$classes)), labels = integer(), classes = y$classes, input = y$input, threads = 1L)
  new <- update_fit(x, add_kept(y$stream$rows, nothing, 0), 0)
  if (can_reorder(new) && y$n != y$stream$rows$n) new$changed <- NA_integer_ # some of its rows are forgotten
  new
}
