# New labelled rows for a fitted calibrator, without the old ones.

#' Update a calibrator with new rows
#'
#' `update()` adds a batch of labelled rows to a calibrator that was fitted before. The rows of the earlier fit are not
#' needed: the object contains a summary of them, whose size does not grow. `forget` gives old rows less weight,
#' so that the calibrator follows a classifier or a population that changes.
#'
#' # Exact and approximate updates
#' * [calib_none()] has nothing to estimate. [calib_histogram()] with bins of equal width is exact: sums
#'   suffice. (The edges of bins of equal mass do not change.)
#' * [calib_temperature()], [calib_platt()], [calib_beta()], [calib_vector()] and [calib_matrix()] (the last two with up to 120
#'   parameters: 60 and 10 classes): the log-likelihood of the old rows is replaced by its second-order expansion at the old
#'   estimate, which acts as a Gaussian prior for the new one (Laplace's approximation). With many rows the result is as good
#'   as a new fit. [calib_platt()] and [calib_beta()] use the labels of the new rows without smoothing.
#' * [calib_gp()]: with up to 200 classes, and unless `class_effects = "none"`, the object contains a summary of its rows (next section).
#'   An update fits the summary and the new rows together, so that hyperparameters, class effects and the floor for zeros (up to one step from the
#'   last one on the grid of floors, see the section Zeros of [calib_gp()]) are estimated again, from the same starting values as in a fit of all rows. (There are often several optima, and a start at the last one
#'   could end in a worse one.) As long as no rows are merged, an update takes little less time than a fit of all rows; later it takes about half of that time, and an ever smaller share as rows accumulate.
#'
#'   The rows are not stored, or no longer, in these cases:
#'     * up to 26 classes and more than 2000 rows (with weights or forgetting: the effective number of rows);
#'     * 27 to 200 classes and more than 2000 rows or 200,000 scores (rows times classes);
#'     * more than 200 classes, or `class_effects = "none"`.
#'
#'   Then the log-likelihood of the old rows is replaced by a quadratic function of the latent map at up to
#'   40 fixed scores and of the class effects (Bui, Nguyen and Turner, 2017), expanded about the fit of those rows. In the first two cases a new
#'   summary begins. Hyperparameters, slope, inducing inputs and class effects are still estimated again with every batch, effects can be added or
#'   dropped, and the range of the scores can grow. (Where the evidence for an effect is borderline, an update and the fit of all rows may decide differently.) Only the `floor` for zeros and the scale of the effects no longer change.
#'   Fits with more than 420 class effects (matrix effects of 21 to 26 classes) have no such quadratic: they
#'   can be updated up to 10,000 rows in all, from a summary of their rows. With more than 26 classes
#'   the quadratic function treats the class effects, offsets and matrix entries alike, as independent of each other.
#'
#'   The order of the batches matters most with more than 200 classes, because no rows are stored. On one set of 1000 classes (20 batches of 100 rows, ten orders) the probabilities of a row changed by up
#'   to 0.006 in the mean (half the sum of absolute differences), and the log loss by 0.0003. With `gp_control(buffer = 2000)` in the first fit rows are stored for these
#'   classes, too: the change was 0.0025, but the object took 1.4 MB instead of 90 kB, and the last update about twice the time of a fit of all rows.
#' * A fit with `monotone = TRUE` remains monotone. `order_cost` is summed over the batches.
#' * [calib_isotonic()] and [calib_bbq()] store, for every class, the distinct scores with the numbers of rows and of events at each of
#'   them: up to 4000 scores in all classes together, but 50 to 1000 in each class (so with more than 80 classes more than 4000 in all). Until there are more, the update equals the
#'   fit of all rows to the last digit. Then neighbouring scores are pooled into blocks of about equal numbers of rows. Fits of
#'   more than 100,000 scores (rows times classes; two classes count as one) store none, to remain fast and small, and cannot be updated.
#' * [calib_cv()] cannot be updated and gives an error.
#'
#' # Calibration rows in the object
#' A quadratic is accurate only near the fit about which it is expanded, and a fit of few rows may be far from later ones: class effects
#' that the first batch did not show are estimated too small, and the log loss of an updated fit was up to 0.02 higher than that of a fit
#' of all rows. Therefore [calib_gp()] first stores a summary of its rows: scores, labels and weights. Up to 6000 scores (rows times
#' classes) are stored in single precision, larger summaries with a relative precision of 2.4e-4, or, with more than 26 classes and more than 50,000 scores, of about
#' 0.02, in one byte that is compressed. When there are more than 300 rows of two classes, 1400 of three to 20 or 2000 of 21 to 26, rows with
#' the same label and the same highest score that lie close to each other are replaced by one row at the mean of their scores. Confident rows, usually the
#' majority, become a few. Rows near a boundary between classes remain single, and so do all rows of more than 26 classes. The summary takes up to 3 kB for two
#' classes, 27 kB for three and four, 32 kB for ten, 60 kB for twenty, 110 kB for 26 and about as much for more. The covariance of class effects, which predictions and
#' intervals need, takes more, although large ones are kept in single precision: a fit with effects of two classes takes 15 to 21 kB, of ten 50 to 300 kB,
#' of twenty 80 to 500 kB, of 26 up to 1.2 MB, of 100 about 200 kB.
#'
#' The file that [saveRDS()] writes is smaller: 10 kB for two classes with `integrate = FALSE`, 15 kB with the average that intervals and draws are taken from.
#' Scores of one byte change the evidence lower bound, by up to 3.3 with 2000 rows of 100 classes, and the probabilities of a row by 0.001, half the sum of absolute differences
#' (`bench/results/stream-limits.md` in the sources).
#'
#' How much higher the log loss of an updated fit was than that of a fit of all rows: with this summary and up to 2000 rows, by at most 0.002 in all of 2716 comparisons on 23 sets; with
#' up to 6000 rows, in 2 of 105 (by 0.003 with 10 classes, by 0.01 with 26 classes and 3000 rows) (`bench/results/stream.md` in the sources).
#'
#' Such an object, and a file to which it is saved, contain scores and labels of single calibration rows, without names or order.
#' If they are confidential, use `calib_gp(control = gp_control(buffer = 0))`: the object then contains the quadratic alone. (With more than
#' 420 class effects such a fit cannot be updated.) For the scores that isotonic calibration and BBQ store there is no such option.
#'
#' # Forgetting
#' `forget = "auto"` keeps four calibrators, updated with `forget` = 0, 0.05, 0.2 and 0.5, and uses the one that predicted the most recent
#' batches best. Each batch is predicted before it is used in the update, and the weight of earlier losses is multiplied by 0.8 with every batch.
#' The object contains all four calibrators, so it is four times as large and an update takes four times as long. A later update with a
#' numeric `forget` continues from the calibrator in use. If nothing changes, the cost in log loss is small; after a change of the classifier or the
#' population the result is much better than with `forget = 0` (`bench/results/stream-drift.md` in the sources).
#'
#' @aliases update.calib_gp
#' @param object A calibrator.
#' @param scores,labels,weights The new rows, in the same form and with the same classes as in fitting. A single
#'   row is enough. A batch with new classes, other columns or missing values is an error, and none of its rows is used.
#' @param forget The share of their weight that old rows lose, from 0 to 1: with 0.1 the weight of a row is 0.9 after one batch
#'   and 0.35 after ten. 0: nothing is forgotten; 1: only the new rows count; `"auto"`: see the section Forgetting.
#' @param threads How many threads to use. The result does not depend on it.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return The updated calibrator. `nobs()` counts all rows seen so far. If a fit of [calib_gp()] could not change the most likely class of any row before,
#'   and can now (because class effects were added, say), there is a message of class `gpcalib_message_order`. How many calibration rows
#'   change their most likely class is not known (`NA`) if, before the update, rows had been merged, forgotten, or replaced by the quadratic function of the section on exact and approximate updates.
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
  new <- update_object(object, scores, labels, weights, forget, threads)
  say_reordered(object, new)
  new
}

#' @noRd
update_object <- function(object, scores, labels, weights, forget, threads) {
  data <- check_batch(object, scores, labels, weights, threads)
  new <- update_fit(object, data, forget)
  counts <- class_weights(data$labels, data$weights, length(data$classes))
  if (!is.null(object$prior)) {
    old <- (1 - forget) * object$prior * old_weight(object)
    new$prior <- as.double((old + counts) / (sum(old) + sum(counts)))
  }
  new$n <- add_count(object$n, nrow(data$scores))
  new$seen_weight <- (1 - forget) * old_weight(object) + sum(counts)
  new[c("off", "row_loss", "row_accuracy", "votes")] <- list(NULL)
  new[["row_confidence"]] <- new[["row_means"]] <- NULL
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
  stop_input("object", paste0("of class ", class(object)[1], " cannot be updated without the old rows"),
    "Fit it again on all rows.")
}

#' @export
update_fit.calib_none <- function(object, data, forget) object

#' New rows in canonical form, by the classes and the input of a fit
#' @noRd
check_batch <- function(object, scores, labels, weights, threads) {
  found <- check_newdata(object, scores, threads, arg = "scores")
  x <- found$scores
  if (object$input == "logits" && nrow(x) > 1 && NCOL(scores) > 1 && looks_like_probs(found$scan, FALSE)) {
    stop_input("scores", "looks like probabilities, but the calibrator was fitted to logits",
      "Give logits; if there are none, the logarithms of the probabilities.")
  }
  if (nrow(x) == 0) stop_input("scores", "has no rows", "Give at least one.")
  columns <- if (NCOL(scores) > 1) colnames(scores)
  codes <- batch_labels(labels, object$classes, nrow(x), columns)
  weights <- check_weights(weights, nrow(x))
  list(scores = x, labels = codes, classes = object$classes, weights = weights, input = object$input,
    scan = scan_rows(x, threads), threads = threads)
}
