# Which rows to ask labels for: by what they would tell about the map (src/gp_query.h).

query_strategies <- c("mixed", "information", "entropy", "random")

#' Which rows should be labelled for calibration?
#'
#' Chooses `n` rows of a pool without labels. The labels of the chosen rows, once known, go into a new fit
#' or into [`update()`][update.calibrator].
#'
#' # Strategies
#' * `"information"`: the rows whose labels are most informative about the map. Let \eqn{\theta}{theta} be the uncertain
#'   parameters of a fit of [calib_gp()]: the latent map at its inducing inputs, the slope and the class effects. The
#'   label y of a row with latent values f has the mutual information
#'   \deqn{I(y; \theta) = H(E\,\mathrm{softmax}(f)) - E\,H(\mathrm{softmax}(f)),}{I(y; theta) = H(E softmax(f)) - E H(softmax(f)),}
#'   H the entropy and E the mean over the posterior (Houlsby and others, 2011). It is large where the map is uncertain,
#'   not where the class is. The rows are chosen one after the other. After each, the posterior covariance is updated as
#'   if the label were known (for the softmax the update does not depend on the label). The new covariance is the
#'   inverse of \eqn{S^{-1} + X'WX}{S^-1 + X'WX} with \eqn{W = E(\mathrm{diag}\,p - pp')}{W = E(diag p - pp')}. This
#'   avoids choosing rows that all carry the same information.
#' * `"mixed"`, the default: a share of the rows (`random`, one half) is drawn at random from those that
#'   `"information"` did not choose. These rows protect against a wrong model and make estimates for the pool possible
#'   (see below).
#' * `"entropy"`: the rows whose calibrated prediction is most uncertain. Active learning uses this rule to train a
#'   classifier. For calibration it may be worse than a random choice, because rows that the classifier is sure about
#'   are never chosen.
#' * `"random"`: every row has the same chance.
#'
#' # Estimates from chosen rows
#' Chosen rows are not a random sample of the pool: their accuracy or calibration error is not that of the pool.
#' `"mixed"` and `"random"` give weights that correct for this. Let N be the number of rows of the pool, n1 the number
#' chosen for their information and n2 the number drawn at random. The n1 rows are in the sample with certainty; each of
#' the others has the inclusion probability n2 / (N - n1). The weights are the inverse inclusion probabilities (Horvitz
#' and Thompson, 1952), divided by their mean. Weighted means such as `ece(weights = )` or [log_loss()] then estimate
#' those of the whole pool. The disadvantage is that few rows carry most of the weight. With `"information"` and
#' `"entropy"` most rows cannot be chosen at all. No weights can correct for that, and `weight` is `NA`.
#'
#' A fit of [calib_gp()] needs no weights: the choice depends on the scores only, and the model describes the labels
#' given the scores. Weights (`calib_gp(weights = )`) protect against a wrong model, at the cost of a larger variance.
#'
#' The weights are valid for one call. If rows are chosen from a pool several times, use only the rows of the last call
#' for estimates, which then refer to the pool as it was at that call.
#'
#' # When it is worth it
#' On six real classifiers with default fits (`bench/results/query.md` in the sources, 20 repeats) the mean log loss after 50, 100 and 200 labels is
#' 0.458, 0.430, 0.410 with `"mixed"`, 0.471, 0.446, 0.431 with `"random"` and 0.465, 0.436, 0.425 with `"entropy"`. The gain
#' comes from classifiers with several classes and large class effects; with two classes, and on one set with four
#' classes, it is within the standard error. The calibration error (ECE) is lower with 50 labels and hardly lower with
#' more. On all six sets, fits with the weights had a higher log loss than fits without. The gain is about as large with
#' 400 labels as with 200, and a quarter of that with 800.
#'
#' @param fit A fit of [calib_gp()]; for `"entropy"` and `"random"` any calibrator. Class effects are among the
#'   parameters to be learnt, except in fits of more than 26 classes, where the offsets are treated as known and a
#'   matrix is left out. For a fit with `monotone = TRUE`, the map before it is made increasing is used.
#' @param scores The pool: scores as in fitting, without labels.
#' @param n How many rows to choose.
#' @param strategy How to choose: see below.
#' @param random For `"mixed"`: the share of rows to draw at random (rounded down). Use [set.seed()] to make the draw
#'   reproducible.
#' @param threads How many threads to use. The result does not depend on it.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return A data frame of class `calib_query` with a line for every chosen row, in the order of choice: `row` (its number in the pool), `reason`
#'   (`"information"`, `"entropy"` or `"random"`), `information` (the expected information of the label about the map,
#'   in addition to the labels chosen before it, in nats, that is, in units of the natural logarithm; `NA` for rows
#'   chosen otherwise), `inclusion` (the probability of being chosen, given the pool) and `weight`.
#' @references
#' Houlsby, N., Huszár, F., Ghahramani, Z. and Lengyel, M. (2011). Bayesian active learning for classification and
#' preference learning. arXiv:1112.5745.
#'
#' Horvitz, D. G. and Thompson, D. J. (1952). A generalization of sampling without replacement from a finite universe. *Journal of
#' the American Statistical Association* 47, 663-685.
#' @seealso [calib_switch()] for whether to ask at all, [update.calibrator()] for taking the labels in.
#' @examples
#' first <- 1:60
#' fit <- calib_gp(rain_nyc$prob[first], rain_nyc$rain[first])
#' pool <- rain_nyc[61:1000, ]
#' set.seed(1)
#' ask <- calib_query(fit, pool$prob, n = 40)
#' ask
#' rows <- c(first, 60 + ask$row)
#' better <- calib_gp(rain_nyc$prob[rows], rain_nyc$rain[rows])
#' # the calibration error of the pool, from the labelled rows
#' ece(predict(fit, pool$prob[ask$row]), pool$rain[ask$row], weights = ask$weight)
#' @export
calib_query <- function(fit, scores, n, strategy = c("mixed", "information", "entropy", "random"), ...,
                        random = 0.5, threads = 1) {
  check_dots_empty(...)
  given <- !missing(random)
  fit <- check_object(fit, "fit")
  strategy <- check_choice(strategy, query_strategies, "strategy")
  random <- check_number(random, "random", 0, 1)
  if (given && strategy != "mixed") stop_input("random", "is only for strategy = \"mixed\"", "Leave it out.")
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of the rows to choose from.")
  if (missing(n)) stop_input("n", "is missing", "Say how many rows to choose.")
  data <- check_pool(fit, scores, threads)
  rows <- nrow(data$scores)
  n <- check_count(n, "n", 1)
  if (n > rows) {
    stop_input("n", paste0("is ", n, ", but there are only ", say_count(rows, "row"), " to choose from"), "Ask for fewer.")
  }
  drawn <- switch(strategy, mixed = floor(random * n), random = n, 0)
  picked <- switch(strategy, entropy = query_entropy(fit, data, n), query_greedy(fit, data, n - drawn))
  new_query(picked, drawn, rows, strategy)
}

#' The pool in canonical form
#' @noRd
check_pool <- function(fit, scores, threads) {
  threads <- check_threads(threads)
  data <- c(check_newdata(fit, scores, threads, arg = "scores"), threads = threads)
  if (nrow(data$scores) == 0) stop_input("scores", "has no rows", "Give at least one.")
  data
}

#' The rows of greatest information, in order
#' @return list: `row`, `gain`.
#' @noRd
query_greedy <- function(fit, data, n) {
  if (n == 0) return(list(row = numeric(), gain = numeric()))
  posterior <- query_posterior(fit)
  .Call(C_query_greedy, posterior$fit, gp_newdata_free(fit, data), posterior$offset, as.integer(n))[c("row", "gain")]
}

#' The rows whose prediction has the greatest entropy, in order
#' @noRd
query_entropy <- function(fit, data, n) {
  p <- if (inherits(fit, "calib_gp")) {
    gp_probs_pool(fit, data)
  } else {
    predict_probs(fit, data)
  }
  entropy <- -rowSums(ifelse(p > 0, p * log(p), 0))
  list(row = utils::head(order(-entropy), n), gain = rep(NA_real_, n))
}

gp_probs_pool <- function(fit, data) gp_probs(fit, gp_newdata(fit, data), "delta", threads = data$threads)

#' A fit as src/gp_query.h wants it: the joint covariance of (v, slope, effects), and offsets taken as known
#' @noRd
query_posterior <- function(fit) {
  if (!inherits(fit, "calib_gp")) {
    stop_input("fit", paste0("is of class ", class(fit)[1], ", which has no posterior of its map"),
      "Give a fit of calib_gp(), or use strategy = \"entropy\" or \"random\".")
  }
  offset <- if (!is.null(fit$offsets)) as.double(fit$offsets$mean)
  fit <- gp_full_effects(fit)
  if (is.null(fit$effects)) {
    cov <- fit$q_cov
    slopes <- as.integer(!is.null(fit$slope_sd) && fit$slope_sd > 0)
    if (slopes == 1) { # q_cov is that given the slope
      var <- fit$slope_sd^2
      cov <- rbind(cbind(cov + var * tcrossprod(fit$slope_cross), var * fit$slope_cross), var * c(fit$slope_cross, 1))
    }
    cov <- unname(cov)
    range <- as.double(fit$range)
    fit$effects <- list(scale = c(1, 1, range), count = integer(length(feature_blocks)), slopes = slopes, effect = numeric(),
      cov = cov[lower.tri(cov, TRUE)])
  }
  list(fit = fit, offset = offset)
}

#' The answer of calib_query()
#'
#' @param picked list of `row` and `gain`, chosen for certain; @param drawn how many of the others to draw.
#' @noRd
new_query <- function(picked, drawn, rows, strategy) {
  certain <- length(picked$row)
  rest <- setdiff(seq_len(rows), picked$row)
  more <- rest[sample.int(length(rest), drawn)]
  honest <- strategy == "random" || drawn > 0 || certain == rows
  inclusion <- c(rep(1, certain), rep(drawn / max(1, rows - certain), drawn))
  weight <- if (honest) (1 / inclusion) / mean(1 / inclusion) else rep(NA_real_, certain)
  out <- data.frame(row = as.integer(c(picked$row, more)),
    reason = rep(c(if (strategy == "entropy") "entropy" else "information", "random"), c(certain, drawn)),
    information = c(picked$gain, rep(NA_real_, drawn)), inclusion = inclusion, weight = weight)
  structure(out, class = c("calib_query", "data.frame"), pool = rows, strategy = strategy)
}

#' @rdname calib_query
#' @param x An answer of `calib_query()`.
#' @export
print.calib_query <- function(x, ...) {
  pool <- attr(x, "pool")
  if (is.null(pool) || !all(c("row", "reason", "information", "weight") %in% names(x))) { # a part of one
    print(as.data.frame(x), ...)
    return(invisible(x))
  }
  cat("<calib_query> ", say_count(nrow(x), "row"), " of ", say_number(pool), " to label, strategy \"", attr(x, "strategy"), "\"\n", sep = "")
  count <- table(x$reason)
  told <- sum(x$information, na.rm = TRUE)
  for (name in names(count)) {
    cat("  ", count[[name]], switch(name, information = paste0(" for their information about the map, together ", format(told, digits = 3),
      " in units of the log loss"), entropy = " for the entropy of their prediction", random = " drawn at random"), "\n", sep = "")
  }
  if (anyNA(x$weight)) {
    cat("  no weights: estimates from these rows are not valid for the pool\n")
  } else if (length(unique(x$weight)) > 1) {
    cat("  weights for estimates: ", paste(format(range(x$weight), digits = 3), collapse = " to "), "\n", sep = "")
  }
  first <- utils::head(as.data.frame(x), 6)
  print(first, row.names = FALSE, digits = 3)
  if (nrow(x) > 6) cat("  and ", nrow(x) - 6, " more\n", sep = "")
  invisible(x)
}
