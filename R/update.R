# New labelled rows for a fitted calibrator, without the old ones.

#' Take new rows into a fitted calibrator
#'
#' `update()` takes a batch of labelled rows into a calibrator that was fitted before, without the rows of
#' the earlier fit: objects hold what they need, and stay of the same size. `forget` makes old rows count less,
#' so that the calibrator follows a classifier or a population that changes.
#'
#' # What is exact, and what is not
#' * [calib_none()] has nothing to learn, and [calib_histogram()] with bins of equal width is exact: sums
#'   suffice. (The edges of bins of equal mass stay as they were.)
#' * [calib_temperature()], [calib_platt()], [calib_beta()], [calib_vector()] and [calib_matrix()] (the last two with up to 120 parameters: 60 and 10
#'   classes): the log-likelihood of the old rows is replaced by
#'   its expansion to second order at the old estimate, a Gaussian prior for the new one (Laplace's
#'   approximation). For many rows that is as good as a new fit. Platt's and beta calibration have raw targets for the new rows.
#' * [calib_gp()]: as long as all rows are still in the object (see below), the update is the fit of all rows, floor for zeros and
#'   all. After that the log-likelihood of the old rows is replaced by a quadratic function of the latent map at up to 40 fixed scores
#'   and of the effects of the classes (Bui, Nguyen and Turner, 2017), expanded about the fit of those rows. Hyperparameters, slope, inducing inputs
#'   and effects are estimated anew with every batch, effects may appear or vanish, and the range of the scores may grow. What stays is the `floor`
#'   for zeros and the scale on which effects are measured.
#'   Fits with more than 420 effects of single classes (matrix effects of more than 20 classes) have no such quadratic: they
#'   can be updated only with `gp_control(buffer = NULL)`, up to 5000 rows in all.
#' * A fit with `monotone = TRUE` keeps its guarantee. `order_cost` adds up over the batches.
#' * [calib_isotonic()] and [calib_bbq()] keep, for every class, the scores with the number of rows and of events at each of them, up to 4000
#'   scores in all classes together (at least 50 and at most 1000 per class). Until there are more, the update is the fit of all rows, to the last
#'   digit; then neighbouring scores are pooled into blocks of about equal numbers of rows. Fits of more than 100,000 scores
#'   (rows times classes; two classes count as one) keep nothing, so that they stay as fast and small as they are.
#' * [calib_cv()] cannot be updated, and says so.
#'
#' # Calibration rows in the object
#' A fit of [calib_gp()] holds no calibration rows unless it is asked to. A quadratic is as good as the fit about which it is expanded, and
#' that of a few rows is not good: effects of the classes that the first batch did not show are held back, so that an updated fit may
#' remain behind a fit of all rows (by up to .02 in log loss in our measurements, `bench/results/stream.md` in the sources; most sets are within .001).
#' With `calib_gp(control = gp_control(buffer = NULL))` the object keeps its rows (scores in single precision, labels,
#' weights) as long as they are few: up to 500 rows, with effects of the classes 100 for each effect and up to 2000, not more than take 32 kB or the
#' room of the quadratic that would replace them. Until there are more, an update is the fit of all rows. A fit of more rows keeps none. When
#' updates bring more, all are frozen and removed, and rows are kept again from the next batch on. The difference from a fit of all rows
#' was then below .002 but once. Such an object, and a file that it is saved to, hold calibration rows: mind that if they are confidential. The same
#' holds for the scores that isotonic calibration and BBQ keep; those have no switch.
#'
#' # Forgetting
#' `forget = "auto"` runs updates with `forget` = 0, .05, .2 and .5 side by side and uses the one that forecast the last batches
#' best, each batch before it was taken in; losses count .8 as much after every batch. The object holds all four, so that it is four
#' times as large and an update takes four times as long. A later update with a number goes on from the one in use. Without a change of the classifier or the population
#' it costs little, after a change it is much better than remembering everything (`bench/results/stream-drift.md`).
#'
#' @param object A calibrator.
#' @param scores,labels,weights The new rows, as in fitting: the same classes, the same kind of scores. A single
#'   row will do. A batch with new classes, other columns or missing values is refused as a whole.
#' @param forget By which share the old rows lose weight, from 0 to 1: with 0.1 a row counts .9 after one batch
#'   and .35 after ten. 0: nothing is forgotten; 1: only the new rows count; `"auto"`: what has been best so far.
#' @param threads How many threads to use. The result does not depend on it.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return The calibrator, with the new rows taken in. `nobs()` counts all rows ever seen.
#' @references
#' Bui, T. D., Nguyen, C. V. and Turner, R. E. (2017). Streaming sparse Gaussian process approximations.
#' *Advances in Neural Information Processing Systems* 30.
#' @seealso [merge()][merge.calibrator] for two fits, [calib_monitor()] for when to update.
#' @examples
#' rain <- rain_nyc[order(rain_nyc$time), ]
#' month <- format(rain$time, "%m")
#' fit <- calib_gp(rain$prob[month == "01"], rain$rain[month == "01"])
#' for (now in c("02", "03", "04")) {
#'   fit <- update(fit, rain$prob[month == now], rain$rain[month == now])
#' }
#' fit
#' @export
update.calibrator <- function(object, scores, labels, weights = NULL, forget = 0, ..., threads = 1) {
  check_dots_empty(...)
  object <- check_object(object)
  auto <- identical(forget, "auto")
  if (!auto) forget <- check_forget(forget)
  threads <- check_threads(threads)
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of the new rows.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  if (auto) return(update_auto(object, scores, labels, weights, threads))
  object["auto"] <- NULL
  data <- check_batch(object, scores, labels, weights, threads)
  new <- update_fit(object, data, forget)
  counts <- class_weights(data$labels, data$weights, length(data$classes))
  if (!is.null(object$prior)) {
    old <- (1 - forget) * object$prior * old_weight(object)
    new$prior <- as.double((old + counts) / (sum(old) + sum(counts)))
  }
  new$n <- add_count(object$n, nrow(data$scores))
  new$seen_weight <- (1 - forget) * old_weight(object) + sum(counts)
  new[c("off", "row_loss", "row_accuracy")] <- list(NULL)
  new
}

check_forget <- function(forget) {
  if (is.character(forget)) stop_input("forget", "must be \"auto\" or a number from 0 to 1", say_given(forget))
  check_number(forget, "forget", 0, 1)
}

#' Counts that may pass the largest integer
#' @noRd
add_count <- function(a, b) {
  sum <- as.double(a) + b
  if (sum > .Machine$integer.max) sum else as.integer(sum)
}

#' The weight of all rows so far: their number, unless weights or forgetting made it another
#' @noRd
old_weight <- function(object) {
  if (is.null(object$seen_weight)) as.double(object$n) else object$seen_weight
}

#' A method's part of update(): new rows in, the object out
#' @param data as check_data() returns it.
#' @noRd
update_fit <- function(object, data, forget) UseMethod("update_fit")

#' @export
update_fit.default <- function(object, data, forget) {
  stop_input("object", paste0("of class ", class(object)[1], " cannot take in new rows without the old ones"),
    "Fit it again on all rows.")
}

#' @export
update_fit.calib_none <- function(object, data, forget) object

#' New rows in canonical form, by the classes and the input of a fit
#' @noRd
check_batch <- function(object, scores, labels, weights, threads) {
  found <- check_newdata(object, scores, threads, arg = "scores")
  x <- found$scores
  if (nrow(x) == 0) stop_input("scores", "has no rows", "Give at least one.")
  columns <- if (NCOL(scores) > 1) colnames(scores)
  codes <- batch_labels(labels, object$classes, nrow(x), columns)
  weights <- check_weights(weights, nrow(x))
  list(scores = x, labels = codes, classes = object$classes, weights = weights, input = object$input,
    scan = scan_rows(x, threads), threads = threads)
}
