# Tests of calibration.

#' Test whether a forecast is calibrated
#'
#' Four tests of the hypothesis that labels are drawn from the probabilities, for two classes and more.
#'
#' The default looks for probabilities that are too extreme, too cautious, or too high or low for a class, and cannot detect a calibration
#' curve that is bent: a large p-value says nothing about its shape. `"mcb"` and `"skce"` detect bent curves. Which classes are wrong, and
#' how, is answered by [calib_validate()]. `print()` says what the test can detect.
#'
#' # Methods
#' \describe{
#'   \item{`"likelihood"`}{Likelihood ratio against recalibration by Cox's slope b and an offset per class,
#'     \eqn{q_k \propto p_k^b e^{c_k}}{q_k = p_k^b exp(c_k), divided by the row's sum}: K free parameters. For
#'     two classes it is Cox's (1958) test of intercept and slope. It detects forecasts that are too extreme, not extreme
#'     enough, or biased for a class. `estimate` holds b and the offsets \eqn{c_k}{c_k} (0 for the most frequent class,
#'     -Inf for a class that does not occur). Chi-square p-value.}
#'   \item{`"spiegelhalter"`}{The Brier score minus its expectation under calibration,
#'     \eqn{\sum_n (\sum_k p_{nk}^2 - p_{n y_n})}{sum_n (sum_k p_nk^2 - p_n,y)}, divided by its standard
#'     deviation under calibration (Spiegelhalter, 1986, who has two classes; the sum over classes is the same
#'     for more). Positive when the forecast is overconfident. It cannot detect errors that leave the expected Brier score
#'     unchanged. Normal p-value.}
#'   \item{`"mcb"`}{The miscalibration part of the Brier score by isotonic recalibration (Dimitriadis,
#'     Gneiting and Jordan, 2021), summed over the classes when there are more than two. It detects any miscalibration whose
#'     calibration curve is increasing. P-value by redrawn labels.}
#'   \item{`"skce"`}{The squared kernel calibration error of Widmann, Lindsten and Zachariah (2019), for
#'     any departure, in all classes together:
#'     the mean of \eqn{k(p_i, p_j)\,(e_{y_i} - p_i)'(e_{y_j} - p_j)}{k(p_i, p_j) (e_yi - p_i)'(e_yj - p_j)} over
#'     pairs of rows, an unbiased estimate that is 0 on average under calibration and may be negative.
#'     `estimator = "quadratic"` takes all pairs, with a p-value by redrawn labels; `"linear"` takes rows two
#'     by two, (1, 2), (3, 4), ..., for data of any size, with a normal p-value; its power is much lower.
#'     `"auto"` is quadratic up to 10,000 rows (which takes some seconds and 400 MB) and linear beyond, which `print()` says; quadratic is possible up to 30,000 rows. The kernel is \eqn{\exp(-d/\nu)}{exp(-d/nu)} with the total
#'     variation distance d (`"laplace"`) or \eqn{\exp(-d^2/2\nu^2)}{exp(-d^2/(2 nu^2))} with the Euclidean one
#'     (`"gaussian"`); \eqn{\nu}{nu} is the median distance (of the pairs of at most 500 rows) unless
#'     `bandwidth` gives it.}
#' }
#'
#' # P-values by redrawn labels
#' Labels are drawn from the probabilities `replicates` times, which is the null hypothesis itself, and the
#' p-value is \eqn{(1 + \#\{\mathrm{drawn} \ge \mathrm{observed}\})/(\mathrm{replicates} + 1)}{(1 + #(drawn >=
#' observed)) / (replicates + 1)}: the test has the right size for any number of rows. Use [set.seed()] to make it
#' reproducible. For small samples and rare classes, `replicates` can be given for `"likelihood"` and `"spiegelhalter"`
#' as well, because their asymptotic distributions are then inaccurate (the likelihood ratio test rejects calibrated
#' forecasts in about 6 % of samples of 100 rows at the level of 5 %).
#'
#' # Groups
#' Where rows depend on each other within `groups` (patients of a hospital, days of a week), tests that
#' count rows reject too often. `"likelihood"` and `"spiegelhalter"` are then score tests. The contribution of each row
#' to the derivative of the log-likelihood with respect to slope and offsets (or to Spiegelhalter's sum) has mean 0
#' under calibration. These contributions are summed within groups, and Hotelling's T-squared test is applied to the
#' mean of the sums: an F test with q and G - q degrees of freedom for q parameters and G groups. `"mcb"` and `"skce"`
#' keep their statistic (`"skce"` over the pairs of rows of different groups), with a wild bootstrap in place of redrawn
#' labels: the residuals (label minus probability) of a whole group change their sign together, at random, `replicates`
#' times. All of these need at least about 20 groups.
#'
#' A test says whether there is evidence against calibration, not how large the miscalibration is: with many rows even a
#' harmless departure is significant. See [smooth_ece()], [ece()] and [reliability_table()] for size and shape.
#'
#' @inheritParams ece
#' @param method Which test, see below.
#' @param replicates How often to redraw labels. `NULL`: 999 for `"mcb"` and for quadratic `"skce"`, fewer
#'   (at least 99) for more than 20,000 rows, and none for the others, which then have an asymptotic p-value.
#' @param groups `NULL`, or one value per row: rows with the same value may depend on each other.
#' @param estimator,kernel,bandwidth For `"skce"`, see below.
#' @param by `NULL`, or one value per row (hospital, airport, sex): one test for each.
#' @return An object of class `c("calibration_test", "htest")`: a list with `statistic`, `parameter`, `p.value`, `estimate`, `method`
#'   (which says how the p-value was computed), `data.name`, and `null.value`. With `by`, a data frame with one row for each of its
#'   values and the columns `by`, `n`, `statistic`, `p.value` and `p.adjusted` (by Holm's method, for all values together); its
#'   attribute `tests` holds the objects of class `htest`.
#' @references
#' Cox, D. R. (1958). Two further applications of a model for binary regression. *Biometrika* 45, 562-565.
#'
#' Spiegelhalter, D. J. (1986). Probabilistic prediction in patient management and clinical trials.
#' *Statistics in Medicine* 5, 421-433.
#'
#' Widmann, D., Lindsten, F. and Zachariah, D. (2019). Calibration tests in multi-class classification: a
#' unifying framework. *Advances in Neural Information Processing Systems* 32.
#'
#' Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for probabilistic
#' classifiers. *Proceedings of the National Academy of Sciences* 118, e2016191118.
#' @seealso [calib_metrics()] for ranges of the calibration errors under calibration.
#' @examples
#' calib_test(rain_nyc$prob, rain_nyc$rain, "spiegelhalter")
#' calib_test(rain_nyc$prob, rain_nyc$rain, "spiegelhalter", by = rain_nyc$origin)
#'
#' test <- letters_nn$test
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' calib_test(predict(fit, test$scores), test$labels)
#' set.seed(1)
#' calib_test(predict(fit, test$scores), test$labels, "mcb", replicates = 99)
#' @export
calib_test <- function(probs, labels, method = c("likelihood", "spiegelhalter", "mcb", "skce"),
                       replicates = NULL, groups = NULL, estimator = c("auto", "quadratic", "linear"),
                       kernel = c("laplace", "gaussian"), bandwidth = NULL, by = NULL) {
  data_name <- paste(short_deparse(substitute(probs)), "and", short_deparse(substitute(labels)))
  method <- check_choice(method, c("likelihood", "spiegelhalter", "mcb", "skce"), "method")
  estimator <- check_choice(estimator, c("auto", "quadratic", "linear"), "estimator")
  kernels <- c("laplace", "gaussian")
  kernel <- check_choice(kernel, kernels, "kernel")
  if (!is.null(bandwidth)) bandwidth <- check_number(bandwidth, "bandwidth", 1e-10, 1e10)
  if (!is.null(replicates)) replicates <- check_count(replicates, "replicates", 19, 1e7)
  forecast <- check_forecast(probs, labels)
  groups <- check_groups(groups, length(forecast$labels))
  kernel <- match(kernel, kernels) - 1L
  test <- function(forecast, groups, name) {
    out <- if (!is.null(groups)) {
      test_groups(forecast, groups, method, replicates, estimator, kernel, bandwidth)
    } else switch(method,
      likelihood = test_likelihood(forecast, replicates),
      spiegelhalter = test_spiegelhalter(forecast, replicates),
      mcb = test_mcb(forecast, replicates),
      skce = test_skce(forecast, replicates, estimator, kernel, bandwidth)
    )
    sees <- c(out$sees, test_sees[[method]])[1]
    structure(c(out[names(out) != "sees"], list(data.name = name, sees = sees)), class = c("calibration_test", "htest"))
  }
  if (is.null(by)) test(forecast, groups, data_name) else test_each(forecast, groups, check_by(by, length(forecast$labels)), test, data_name)
}

test_after <- paste("A small p-value says that the probabilities are not exactly calibrated, not that they are far off: calib_validate() gives distances.",
  "If they have already been calibrated, part of the remaining error comes from the limited number of calibration rows, and only more of them can lower it.")

test_sees <- list(
  likelihood = paste("This test sees probabilities that are too extreme, too cautious, or too high or low for a class.",
    "It has one slope for all classes, so that it may miss a class whose probabilities alone are too extreme, and cannot see a bent calibration curve: for these, use method = \"mcb\" or \"skce\", or calib_validate()."),
  spiegelhalter = paste("This test sees over- and underconfidence on the whole. It cannot see errors that leave the expected Brier score",
    "unchanged, as a bent calibration curve may: for these, use method = \"mcb\" or \"skce\", or calib_validate()."),
  mcb = paste("This test sees calibration curves of any increasing shape, bent ones too.", test_after),
  skce = paste("This test sees departures from calibration of any shape.", test_after)
)

#' @rdname calib_test
#' @param x A test.
#' @param ... Passed on to the `print()` of tests in stats.
#' @export
print.calibration_test <- function(x, ...) {
  NextMethod()
  if (length(x$sees)) cat(strwrap(x$sees, 80), sep = "\n")
  invisible(x)
}

#' The test of each group of rows, in a table
#' @param test function(forecast, groups, name).
#' @noRd
test_each <- function(forecast, groups, by, test, data_name) {
  rows <- rows_by(by)
  tests <- lapply(stats::setNames(nm = names(rows)), function(name) {
    at <- rows[[name]]
    own <- if (!is.null(groups)) match(groups[at], unique(groups[at]))
    tryCatch(test(forecast_rows(forecast, at, name), own, paste0(data_name, ", ", name)), gpcalib_error_input = function(e) {
      stop_input("by", paste0("has the value \"", name, "\", whose ", say_count(length(at), "row"), " cannot be tested"), conditionMessage(e))
    })
  })
  one <- function(field) vapply(tests, function(part) part[[field]][[1]], 0, USE.NAMES = FALSE)
  p <- one("p.value")
  structure(data.frame(by = factor(names(rows), levels = names(rows)), n = lengths(rows, use.names = FALSE),
    statistic = one("statistic"), p.value = p, p.adjusted = stats::p.adjust(p, "holm")), method = tests[[1]]$method, tests = tests)
}

short_deparse <- function(x) shorten(paste(deparse(x, width.cutoff = 60L), collapse = " "), 40)

#' How often to redraw where nothing else is known: time grows with the rows
#' @noRd
default_replicates <- function(n) as.integer(max(99, min(999, floor(2e7 / n))))

#' @param draw function(seed, first, count): a row with the observed value first, then the drawn ones.
#' @return list: `observed`, `p.value` (large values speak against calibration), `how`.
#' @noRd
redraw_test <- function(draw, replicates, two_sided = FALSE, chunk = NULL) {
  seed <- draw_seed()
  observed <- NULL
  drawn <- draw_replicates(function(first, count) {
    out <- draw(seed, as.integer(first), as.integer(count))
    observed <<- out[1]
    out[, -1, drop = FALSE]
  }, replicates, chunk)
  more <- if (two_sided) abs(drawn) >= abs(observed) else drawn >= observed
  list(observed = observed, p.value = (1 + sum(more)) / (replicates + 1),
    how = paste0("p-value by ", replicates, " redraws of the labels"))
}

test_likelihood <- function(forecast, replicates) {
  classes <- forecast$classes
  title <- "Likelihood ratio test of calibration (Cox's slope and class offsets)"
  given <- forecast$probs[cbind(seq_along(forecast$labels), forecast$labels)]
  if (any(given <= 0)) { # what happened was impossible
    rows <- which(given <= 0)
    warn_gpcalib("infinite", paste0("The label has probability 0 in ", say_rows(rows, length(rows)),
      ". This is impossible for a calibrated forecast, and the statistic is infinite."))
    return(list(statistic = c(LR = Inf), p.value = 0, method = title))
  }
  fit <- .Call(C_coxrecal_fit, forecast)
  df <- information_rank(fit$information)
  if (df == 0) {
    stop_input("probs", "has only probabilities of 0 and 1, which no slope or offset can change",
      "Every row gives all its probability to one class.")
  }
  observed <- max(0, 2 * (fit$log_lik - fit$null))
  estimate <- stats::setNames(fit$coef, c("slope", paste("offset", classes)))
  null <- stats::setNames(rep(c(1, 0), c(1, length(classes))), names(estimate))
  test <- if (is.null(replicates)) {
    list(p.value = stats::pchisq(observed, df, lower.tail = FALSE), how = "chi-square p-value")
  } else {
    redraw_test(function(seed, first, count) .Call(C_coxrecal_draw, forecast, seed, first, count), replicates)
  }
  absent <- classes[tabulate(forecast$labels, length(classes)) == 0]
  list(statistic = c(LR = observed), parameter = c(df = df), p.value = test$p.value, estimate = estimate,
    null.value = null, method = paste0(title, ", ", test$how),
    sees = paste0(test_sees$likelihood, if (length(classes) > 2) {
      paste0(" Offsets are differences from that of \"", classes[which.max(tabulate(forecast$labels, length(classes)))], "\", the most frequent class.")
    }, if (length(absent) && is.null(replicates)) {
      paste0(" No row has the label ", paste0("\"", utils::head(absent, 4), "\"", collapse = " or "), if (length(absent) > 4) " or one of others",
        ": with offsets of -Inf the chi-square p-value is rough. `replicates = 999` computes it by redrawn labels instead.")
    }))
}

#' How many directions of slope and offsets the probabilities can tell apart
#' @noRd
information_rank <- function(information) {
  scale <- sqrt(pmax(diag(information), 0))
  used <- scale > 1e-9 * max(scale, 1e-300)
  if (!any(used)) return(0L)
  scaled <- information[used, used, drop = FALSE] / outer(scale[used], scale[used])
  values <- eigen(scaled, symmetric = TRUE, only.values = TRUE)$values
  sum(values > 1e-10)
}

test_spiegelhalter <- function(forecast, replicates) {
  p <- forecast$probs
  square <- rowSums(p^2)
  variance <- sum(pmax(rowSums(p^3) - square^2, 0))
  if (variance <= 1e-20 * length(square)) {
    stop_input("probs", "give every possible class of a row the same probability",
      "Spiegelhalter's statistic is then undefined; use another method.")
  }
  excess <- function(labels) sum(square - p[cbind(seq_along(labels), labels)])
  z <- excess(forecast$labels) / sqrt(variance)
  test <- if (is.null(replicates)) {
    list(p.value = 2 * stats::pnorm(-abs(z)), how = "normal p-value")
  } else {
    draw <- function(seed, first, count) .Call(C_spread_draw, forecast, square, seed, first, count)
    redraw_test(draw, replicates, two_sided = TRUE)
  }
  list(statistic = c(z = z), p.value = test$p.value,
    estimate = c("Brier score" = measure_brier(brier_sums(forecast)), expected = mean(1 - square) / if (ncol(p) == 2) 2 else 1),
    method = paste0("Spiegelhalter's test of calibration, ", test$how))
}

test_mcb <- function(forecast, replicates) {
  if (is.null(replicates)) replicates <- default_replicates(length(forecast$labels))
  test <- redraw_test(function(seed, first, count) .Call(C_mcb_draw, forecast, seed, first, count), replicates)
  list(statistic = c(MCB = test$observed), p.value = test$p.value,
    method = paste0("Test of calibration by isotonic miscalibration of the Brier score, ", test$how))
}

skce_rows <- 10000 # all pairs of more rows take long, and more than 400 MB
most_skce_rows <- 30000 # 3.6 GB of kernel values

test_skce <- function(forecast, replicates, estimator, kernel, bandwidth) {
  n <- length(forecast$labels)
  if (n < 2) {
    stop_input("method", "is \"skce\", which compares pairs of rows, but there is a forecast or group with a single row",
      "Leave that group out, or use another method.")
  }
  chosen <- estimator == "auto"
  if (chosen) estimator <- if (n <= skce_rows) "quadratic" else "linear"
  if (is.null(bandwidth)) bandwidth <- skce_bandwidth(forecast, kernel)
  title <- paste0("Test of calibration by the squared kernel calibration error (", estimator, " estimator), ")
  if (estimator == "linear") {
    h <- .Call(C_skce_pairs, forecast, kernel, bandwidth)
    if (length(h) < 2 || stats::var(h) == 0) {
      stop_input("probs", "has too few rows that differ for the linear estimator", "Use estimator = \"quadratic\".")
    }
    z <- mean(h) / sqrt(stats::var(h) / length(h))
    return(list(statistic = c(z = z), parameter = c(bandwidth = bandwidth),
      p.value = stats::pnorm(z, lower.tail = FALSE), estimate = c(SKCE = mean(h)),
      method = paste0(title, "normal p-value"), sees = say_linear(n, chosen)))
  }
  if (n > most_skce_rows) {
    stop_input("estimator", paste0("\"quadratic\" is not possible for ", n, " rows"),
      paste0("It keeps all pairs of rows: at most ", most_skce_rows, ". Use \"linear\"."))
  }
  if (is.null(replicates)) replicates <- default_replicates(n^2 / 200)
  draw <- function(seed, first, count) .Call(C_skce_draw, forecast, kernel, bandwidth, seed, first, count)
  test <- redraw_test(draw, replicates, chunk = 100L) # each call prepares all pairs of rows anew
  list(statistic = c(SKCE = test$observed), parameter = c(bandwidth = bandwidth), p.value = test$p.value,
    estimate = c(SKCE = test$observed), method = paste0(title, test$how))
}

#' What the linear estimator sees, and what sees more
#' @noRd
say_linear <- function(n, chosen) {
  paste0("This test sees departures from calibration of any shape, but with the linear estimator",
    if (chosen) paste0(", chosen because there are more than ", say_number(skce_rows), " rows,"), " its power is much lower. ",
    if (n <= most_skce_rows) "Use estimator = \"quadratic\", which takes longer." else {
      paste0("With up to ", say_number(most_skce_rows), " of the rows, estimator = \"quadratic\" is possible.")
    })
}

#' The median distance of rows; where most are alike, the mean
#' @noRd
skce_bandwidth <- function(forecast, kernel) {
  n <- length(forecast$labels)
  rows <- as.integer(unique(round(seq(1, n, length.out = min(n, 500)))))
  distance <- .Call(C_skce_distances, forecast, kernel, rows)
  width <- stats::median(distance)
  if (width <= 1e-10) width <- mean(distance)
  if (width > 1e-10) width else 1
}
