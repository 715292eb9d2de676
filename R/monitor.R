# A forecast watched over time. The object holds sums by period and the evidence against calibration; what
# is computed from them, and the pictures, are in monitor-methods.R and plot-monitor.R.

#' Monitor the calibration of a forecast over time
#'
#' A monitor receives probabilities and labels as they arrive. It keeps sums from which the scores of every
#' period can be computed, and a test of calibration whose result may be inspected after every batch.
#'
#' # The test
#' A test such as that of Hosmer and Lemeshow keeps its level if it is done once. If it is repeated after every batch,
#' it will sooner or later reject a calibrated forecast. The monitor computes *e-values* instead (Vovk and Wang, 2021;
#' Arnold, Henzi and Ziegel, 2023): likelihood ratios of recalibrated forecasts q against the forecast p,
#' \deqn{E_t = \int \prod_{n \le t} \frac{q_\theta(y_n)}{p(y_n)} \, d\pi(\theta).}{E_t = integral of the product
#'   over the rows so far of q(y; theta) / p(y), over a distribution of theta.}
#' If labels are drawn from the probabilities, E has expectation 1 at every time and
#' exceeds \eqn{1/\alpha}{1/alpha} *at any time* with probability at most \eqn{\alpha}{alpha} (Ville's
#' inequality). So calibration is rejected at level \eqn{\alpha}{alpha} as soon as E reaches
#' \eqn{1/\alpha}{1/alpha}, however often one has looked before. The alternatives are
#'
#' * `"temperature"`: \eqn{q_k \propto p_k^\beta}{q_k = p_k^beta divided by the sum of all}, the forecast is too extreme or
#'   not extreme enough;
#' * `"bins"`: the odds of the event (of the second of two classes; of the most likely class when there are
#'   more) are wrong by a factor that differs between ten bins of its probability;
#' * `"offset"`: the odds of single classes are wrong by a factor;
#' * `"process"`, on request: any map that [calib_gp()] can learn. A fit to the first 100 rows, which later rows
#'   [update][update.calibrator], predicts each row before its label is used. Since early fits may be poor, the products of
#'   \eqn{q/p}{q/p} that begin with the first, the second, ... fit are averaged.
#'
#' Each of the first three is averaged over a grid of parameters with fixed weights. By Bayes' rule that is the product of
#' \eqn{q_t(y_t)/p(y_t)}{q_t(y_t) / p(y_t)} where \eqn{q_t}{q_t} averages the grid with weights learned from the
#' rows before t. The e-value of the monitor is the mean of those of the alternatives. It depends on the rows
#' fed, not on their order or on how they were divided into batches (with `"process"` it depends on the
#' order, not on the batches). A label that was given probability 0 makes it infinite:
#' that cannot happen to a calibrated forecast. If zeros are rounded numbers (0.004 given as 0.00, say), raise them
#' first: `pmin(pmax(probs, 0.005), 0.995)` for a vector of two classes; with a matrix, raise them and divide each row by its sum.
#'
#' The level holds if, given the rows before it, each label is drawn from its probabilities. It does not hold for
#' forecasts of overlapping periods (this week's rain, issued every day), whose labels depend on each other.
#'
#' # Periods, late labels, recalibration
#' * `period` gives the period of each row; by default every call is a new period. Rows of an earlier period are added
#'   to its sums.
#' * Rows whose label is `NA` wait in the object. Give the labels later by
#'   `update(monitor, labels = , id = )`, with the `id` given before (by default rows are numbered 1, 2, ... as
#'   they are fed). They enter the sums of their own period, and the test from then on.
#' * After the forecast was recalibrated, `update(monitor, ..., restart = TRUE)` begins a new run: the e-value
#'   starts at 1 again. The level holds for each run, not for all runs together.
#'
#' # Weights
#' A weight is a number of rows: a row of weight 2 counts as two rows. With weights below 1 the test is conservative and
#' keeps its level. With weights above 1 that are not whole numbers the level no longer holds, and there is a warning:
#' divide such weights by their maximum.
#'
#' # Merging
#' `a + b` adds the sums of two monitors (of two machines, say), by period and run, and the evidence of their
#' last run. The result is the same as that of one monitor fed with all rows, if, given the probabilities, the labels of
#' one do not depend on those of the other. The path cannot be merged, because the order of the rows of the two monitors
#' is not known: the merged monitor shows the e-value from the moment of merging on, with a message. An earlier alarm is
#' recorded in the two original monitors only. If both have the alternative `"process"`, the fit with more rows is
#' continued, and the evidence of both is used.
#'
#' @param probs Probabilities of the classes: matrix, data frame or, for two classes, a vector (see
#'   [gpcalib_input]). `NULL` for a monitor that has seen nothing yet: then `classes` is needed.
#' @param labels The true classes, `NA` where they are not known yet.
#' @param period One value per row, or one for all: month, week, batch. Shown as text, in the order in which
#'   they are first seen. `NULL`: this call is a period of its own.
#' @param weights Not negative, one per row, or `NULL` for equal weights.
#' @param id One value per row, all different, by which labels can be given later. `NULL`: rows are numbered.
#' @param classes The classes, if they cannot be read from labels and columns.
#' @param alternatives Which alternatives to test against: some of `"temperature"`, `"bins"`, `"offset"` and `"process"`. The last is slower (a few hundredths of
#'   a second per hundred rows), and the monitor is larger with it. In simulations (`bench/results/monitor.md` in the sources) it
#'   detected miscalibration about as soon as the others.
#' @param level The level of the test: the alarm is raised when the e-value reaches 1/level. An alarm does not mean that something has changed: calibrators fitted to some hundred or thousand
#'   rows have an error of their own, which the test finds sooner or later. [`update()`][update.calibrator] the fit then.
#' @param object,x,e1,e2 A monitor.
#' @param restart Begin a new run before this batch?
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return An object of class `calib_monitor` of plain vectors, a few hundred numbers per period and one row per
#'   batch of the path. `update()` returns the monitor with the new rows; a batch that is refused leaves it as
#'   it was. `summary()` gives a list with `evidence` (a data frame with a row per alternative and their mean:
#'   `e_value` now, `highest`, `alarm`, the period in which 1/level was reached), `rise` (the period in which the
#'   rise that led to the alarm began; the forecast may have been miscalibrated before, even from the start, since small errors show late; `NA` if a label of probability 0 raised the alarm), `slope` (the inverse temperature 1/T that fits the run best: below 1 the
#'   forecast is overconfident; `NA` below 0.16 and above 6, which `print()` says) and
#'   `periods`; `tidy()` is the table of the periods: `period`, `run`, `n` (sum of weights), `log_loss`, `brier`,
#'   `accuracy`, `confidence`, `overconfidence`, `underconfidence`, `slope`, and for two classes `oe` (observed
#'   over expected events); `glance()` one row for the whole.
#' @references
#' Arnold, S., Henzi, A. and Ziegel, J. F. (2023). Sequentially valid tests for forecast calibration. *Annals of
#' Applied Statistics* 17, 1909-1935.
#'
#' Vovk, V. and Wang, R. (2021). E-values: calibration, combination and applications. *Annals of Statistics* 49,
#' 1736-1754.
#' @seealso [calib_test()] for a test made once.
#' @examples
#' # calibrated on the first quarter of a year, watched from then on
#' rain <- rain_nyc[order(rain_nyc$time), ]
#' month <- format(rain$time, "%m")
#' fit <- calib_platt(rain$prob[month <= "03"], rain$rain[month <= "03"])
#' m <- calib_monitor(classes = levels(rain$rain))
#' for (now in unique(month[month > "03"])) {
#'   rows <- month == now
#'   m <- update(m, predict(fit, rain$prob[rows]), rain$rain[rows], period = now)
#' }
#' m
#' summary(m)
#' head(tidy(m), 3)
#' @order 1
#' @export
calib_monitor <- function(probs = NULL, labels = NULL, period = NULL, weights = NULL, id = NULL, classes = NULL,
                          alternatives = c("temperature", "bins", "offset"), level = 0.05, ...) {
  check_monitor_dots(...)
  alternatives <- check_alternatives(alternatives)
  level <- check_number(level, "level", 1e-12, 0.5)
  empty <- is.null(probs)
  if (empty && !is.null(labels)) {
    stop_input("probs", "is missing", "Give the probabilities that go with the labels.")
  }
  classes <- if (is.null(classes)) find_classes(probs, labels) else check_classes(classes)
  monitor <- new_monitor(classes, alternatives, level)
  if (empty) monitor else feed_monitor(monitor, probs, labels, period, weights, id)
}

#' @rdname calib_monitor
#' @order 2
#' @importFrom stats update
#' @export
update.calib_monitor <- function(object, probs = NULL, labels, period = NULL, weights = NULL, id = NULL,
                                 restart = FALSE, ...) {
  check_monitor_dots(...)
  object <- check_monitor(object)
  if (missing(labels)) {
    if (is.null(probs)) stop_input("labels", "is missing", "Give labels, with NA where they are not known yet.")
    labels <- rep(NA, NROW(probs))
  }
  restart <- check_flag(restart, "restart")
  if (is.null(probs)) {
    if (!is.null(period) || !is.null(weights) || restart) {
      stop_input("probs", "is missing", paste0("Labels that arrive late are given with `id` alone: period and ",
        "weights were given with the probabilities."))
    }
    return(feed_late(object, labels, id))
  }
  if (restart) object <- restart_monitor(object)
  feed_monitor(object, probs, labels, period, weights, id)
}

check_monitor_dots <- function(...) {
  name <- intersect(...names(), c("time", "times", "date", "by"))
  if (length(name)) stop_input("...", paste0("has an unknown argument, ", name[1]), "Periods are given by `period`, such as format(time, \"%Y-%m\").")
  check_dots_empty(...)
}

# The object --------------------------------------------------------------------------------

monitor_edges <- c(0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)

#' Parameters from which the alternatives are averaged: both signs of sizes that grow by the root of 2, so that
#' any departure has one within a fifth of it, with most weight on those that matter in practice
#' @noRd
monitor_grid <- function(smallest, steps, centre) {
  size <- smallest * 2^(seq(0, steps - 1) / 2)
  value <- c(-rev(size), size)
  weight <- stats::dnorm(log(abs(value)), log(centre), 1)
  list(value = value, log_weight = log(weight / sum(weight)))
}

monitor_t <- monitor_grid(0.02, 14, 0.25)
monitor_d <- monitor_grid(0.05, 12, 0.4)
monitor_totals <- c("weight", "loss", "brier", "hits", "conf", "over", "under", "impossible")
monitor_alternatives <- c("temperature", "bins", "offset", "process")

new_monitor <- function(classes, alternatives, level) {
  monitor <- list(
    classes = classes, alternatives = alternatives, level = level, fed = 0, run = 1L, period = character(),
    period_run = integer(), sums = matrix(0, 0, monitor_columns(length(classes))),
    evidence = numeric(monitor_evidence_size(length(classes))), impossible = 0,
    path = matrix(0, 0, 4 + length(alternatives)), batches = 0L,
    waiting = list(probs = matrix(0, 0, length(classes)), id = character(), period = integer(),
      weight = numeric()), format = 1L
  )
  if ("process" %in% alternatives) monitor$process <- new_process(length(classes))
  structure(monitor, class = "calib_monitor")
}

#' How many sums a period has: totals, observed and expected classes, bins, temperatures
#' @noRd
monitor_columns <- function(k) {
  length(monitor_totals) + 2L * k + 3L * (length(monitor_edges) + 1L) + length(monitor_t$value)
}

monitor_evidence_size <- function(k) {
  bins <- length(monitor_edges) + 1L
  length(monitor_t$value) + (bins + k - 1L) * length(monitor_d$value)
}

#' Where a part of a period's sums stands
#' @noRd
monitor_part <- function(k, part) {
  bins <- length(monitor_edges) + 1L
  sizes <- c(total = length(monitor_totals), observed = k, expected = k, bin = 3L * bins,
    temperature = length(monitor_t$value))
  end <- cumsum(sizes)[[part]]
  seq(end - sizes[[part]] + 1L, end)
}

# Feeding -----------------------------------------------------------------------------------

#' A batch is checked as a whole before the monitor is touched
#' @noRd
feed_monitor <- function(monitor, probs, labels, period, weights, id) {
  like <- list(classes = monitor$classes, input = "probs", method = "none")
  x <- check_newdata(like, probs, arg = "probs")$scores
  n <- nrow(x)
  if (n == 0) stop_input("probs", "has no rows", "Give at least one.")
  columns <- if (NCOL(probs) > 1) colnames(probs)
  codes <- batch_labels(labels, monitor$classes, n, columns, missing_ok = TRUE)
  if (!is.null(weights)) weights <- check_weights(weights, n)
  warn_fractions(weights)
  weight <- if (is.null(weights)) rep(1, n) else weights
  monitor$batches <- monitor$batches + 1L
  key <- check_period(period, n, monitor$batches)
  id <- check_ids(id, n, monitor)
  monitor$fed <- monitor$fed + n
  dimnames(x) <- NULL
  for (name in unique(key)) {
    rows <- which(key == name)
    place <- find_period(monitor, name)
    monitor <- place$monitor
    known <- rows[!is.na(codes[rows])]
    late <- setdiff(rows, known)
    waiting <- monitor$waiting
    monitor$waiting <- list(probs = rbind(waiting$probs, x[late, , drop = FALSE]), id = c(waiting$id, id[late]),
      period = c(waiting$period, rep(place$at, length(late))), weight = c(waiting$weight, weight[late]))
    monitor <- add_rows(monitor, place$at, x[known, , drop = FALSE], codes[known], weight[known])
    monitor <- add_look(monitor, place$at)
  }
  monitor
}

feed_late <- function(monitor, labels, id) {
  if (is.null(id)) stop_input("id", "is missing", "Say which rows these labels belong to.")
  n <- length(labels)
  if (!is.atomic(id) || length(id) != n || anyNA(id) || anyDuplicated(as.character(id))) {
    stop_input("id", "must hold one value per label, all different", say_given(id))
  }
  waiting <- monitor$waiting
  at <- match(as.character(id), waiting$id)
  if (anyNA(at)) {
    stop_input("id", paste0("has values that wait for no label: ", say_values(as.character(id)[is.na(at)], 3)),
      paste0(length(waiting$id), " rows wait for theirs."))
  }
  codes <- batch_labels(labels, monitor$classes, n, monitor$classes, missing_ok = TRUE)
  at <- at[!is.na(codes)]
  codes <- codes[!is.na(codes)]
  for (period in unique(waiting$period[at])) {
    rows <- which(waiting$period[at] == period)
    monitor <- add_rows(monitor, period, waiting$probs[at[rows], , drop = FALSE], codes[rows],
      waiting$weight[at[rows]])
  }
  if (length(at)) {
    monitor$waiting <- list(probs = waiting$probs[-at, , drop = FALSE], id = waiting$id[-at],
      period = waiting$period[-at], weight = waiting$weight[-at])
    monitor <- add_look(monitor, length(monitor$period))
  }
  monitor
}

#' Sums of labelled rows, into their period and, if that belongs to the current run, into the evidence
#' @noRd
add_rows <- function(monitor, at, probs, codes, weights) {
  if (!length(codes)) return(monitor)
  sums <- .Call(C_monitor_sums, probs, codes, if (all(weights == 1)) NULL else weights, monitor_edges,
    monitor_t$value, monitor_d$value)
  monitor$sums[at, ] <- monitor$sums[at, ] + unlist(sums[1:5], use.names = FALSE)
  if (monitor$period_run[at] == monitor$run) {
    monitor$evidence <- monitor$evidence + unlist(sums[5:7], use.names = FALSE)
    monitor$impossible <- monitor$impossible + sums$total[length(monitor_totals)]
    if (!is.null(monitor$process)) monitor$process <- process_add(monitor$process, monitor$classes, probs, codes, weights)
  }
  monitor
}

#' One row of the path: run, period, weight of the run, log e-values (mean first)
#' @noRd
add_look <- function(monitor, at) {
  run <- monitor$period_run == monitor$run
  monitor$path <- rbind(monitor$path, c(monitor$run, at, sum(monitor$sums[run, 1]), log_e_values(monitor)))
  monitor
}

restart_monitor <- function(monitor) {
  monitor$run <- monitor$run + 1L
  monitor$evidence[] <- 0
  monitor$impossible <- 0
  if (!is.null(monitor$process)) monitor$process <- new_process(length(monitor$classes))
  monitor
}

find_period <- function(monitor, name) {
  at <- which(monitor$period == name & monitor$period_run == monitor$run)
  if (!length(at)) {
    monitor$period <- c(monitor$period, name)
    monitor$period_run <- c(monitor$period_run, monitor$run)
    monitor$sums <- rbind(monitor$sums, 0)
    at <- length(monitor$period)
  }
  list(monitor = monitor, at = at)
}

# E-values ----------------------------------------------------------------------------------

log_mean_exp <- function(x, log_weight) {
  top <- max(x)
  top + log(sum(exp(x - top + log_weight)))
}

#' Logarithms of the e-values: the mean of the alternatives, and each of them
#' @noRd
log_e_values <- function(monitor) {
  if (monitor$impossible > 0) return(rep(Inf, 1 + length(monitor$alternatives)))
  k <- length(monitor$classes)
  bins <- length(monitor_edges) + 1L
  ts <- length(monitor_t$value)
  ds <- length(monitor_d$value)
  evidence <- monitor$evidence
  # a factor per bin (per class) of which a share is different from 1, chosen before anything is seen
  product <- function(sums, share) {
    slab <- apply(sums, 1, log_mean_exp, monitor_d$log_weight)
    if (share == 1) sum(slab) else sum(vapply(slab, function(x) log_mean_exp(c(0, x), log(c(1 - share, share))), 0))
  }
  all <- c(
    temperature = log_mean_exp(evidence[seq_len(ts)], monitor_t$log_weight),
    bins = product(matrix(evidence[ts + seq_len(bins * ds)], bins), 0.5),
    offset = product(matrix(evidence[-seq_len(ts + bins * ds)], k - 1), 1 / (k - 1)),
    process = if (!is.null(monitor$process)) process_log_e(monitor$process)
  )[monitor$alternatives]
  c(log_mean_exp(all, rep(-log(length(all)), length(all))), all)
}
