# Forecasts watched over time.

test_that("e-values are those of forecasts written out", {
  for (k in c(2, 3, 5)) {
    d <- oracle_stream(60, k, k, 1.5)
    m <- calib_monitor(d$p, d$y)
    got <- summary(m)$evidence
    expect_equal(got$e_value, unname(oracle_e_values(d$p, d$y)), tolerance = 1e-10)
    expect_identical(got$alternative, c("mean", "temperature", "bins", "offset"))
  }
  d <- oracle_stream(40, 3, 9, 1.5)
  w <- with_seed(1, sample(c(0, 0.5, 1, 2), 40, TRUE))
  m <- calib_monitor(d$p, d$y, weights = w)
  expect_equal(summary(m)$evidence$e_value, unname(oracle_e_values(d$p, d$y, w)), tolerance = 1e-10)
  only <- calib_monitor(d$p, d$y, alternatives = "bins")
  expect_equal(glance(only)$e_value, oracle_e_values(d$p, d$y)[["bins"]], tolerance = 1e-10)
})

test_that("two classes: every alternative is the product of p_cal(y) / p_raw(y), p_cal from earlier rows alone", {
  d <- oracle_stream(330, 2, 31, 1.5)
  kinds <- c("temperature", "bins", "offset", "process")
  want <- oracle_e_process(d$p[, 2], d$y - 1, process = TRUE)
  # batches of every size, rows before the first fit, at it and behind it
  ends <- c(1, 8, 99, 100, 101, 150, 250, 330)
  m <- calib_monitor(classes = 1:2, alternatives = kinds)
  for (b in seq_along(ends)) {
    rows <- seq(c(0, ends)[b] + 1, ends[b])
    m <- update(m, d$p[rows, , drop = FALSE], d$y[rows])
  }
  expect_equal(unname(exp(m$path[, 5:8])), unname(want$e[ends, kinds]), tolerance = 1e-10)
  expect_equal(exp(m$path[, 4]), want$e[ends, "mean"], tolerance = 1e-10)
  expect_gt(max(abs(log(want$e[330, kinds]))), 1)
  # the first row has no past: p_cal is the prior's, and its e-values have expectation 1
  first <- rbind(oracle_e_process(d$p[1, 2], 0)$e, oracle_e_process(d$p[1, 2], 1)$e)
  expect_equal(drop(d$p[1, ] %*% first), rep(1, 4), ignore_attr = TRUE, tolerance = 1e-12)
  # sharp forecasts, a single alternative
  sharp <- with_seed(32, stats::plogis(stats::rnorm(120, sd = 4)))
  y <- with_seed(33, as.numeric(stats::runif(120) < stats::plogis(0.6 * stats::qlogis(sharp) + 0.5)))
  want <- oracle_e_process(sharp, y)$e
  for (kind in kinds[1:3]) {
    one <- calib_monitor(cbind(1 - sharp, sharp), y + 1, period = rep(1:12, each = 10), classes = 1:2, alternatives = kind)
    expect_equal(unname(exp(one$path[, 5])), unname(want[10 * 1:12, kind]), tolerance = 1e-10)
  }
})

test_that("the expectation of an e-value under calibration is 1", {
  # all 2^4 outcomes of four rows, by hand
  p <- cbind(1 - c(0.1, 0.4, 0.8, 0.97), c(0.1, 0.4, 0.8, 0.97))
  outcomes <- as.matrix(expand.grid(rep(list(1:2), 4)))
  e <- apply(outcomes, 1, function(y) exp(log_e_values(calib_monitor(p, y, classes = 1:2))))
  chance <- apply(outcomes, 1, function(y) prod(p[cbind(1:4, y)]))
  expect_equal(as.vector(e %*% chance), rep(1, 4), tolerance = 1e-12)
  three <- oracle_stream(3, 3, 4)$p
  outcomes <- as.matrix(expand.grid(rep(list(1:3), 3)))
  e <- apply(outcomes, 1, function(y) exp(log_e_values(calib_monitor(three, y, classes = 1:3))))
  chance <- apply(outcomes, 1, function(y) prod(three[cbind(1:3, y)]))
  expect_equal(as.vector(e %*% chance), rep(1, 4), tolerance = 1e-12)
})

test_that("batches, their order and weights as rows do not change sums and evidence", {
  d <- oracle_stream(90, 4, 2, 1.3)
  whole <- calib_monitor(d$p, d$y, period = "all")
  parts <- calib_monitor(classes = 1:4)
  for (rows in list(61:90, 1:1, 2:60)) parts <- update(parts, d$p[rows, , drop = FALSE], d$y[rows], period = "all")
  expect_equal(parts$sums, whole$sums)
  expect_equal(parts$evidence, whole$evidence)
  expect_identical(nrow(parts$path), 3L)
  w <- with_seed(3, sample(0:3, 90, TRUE))
  rows <- rep(seq_len(90), w)
  expect_equal(calib_monitor(d$p, d$y, weights = w)$evidence, calib_monitor(d$p[rows, ], d$y[rows])$evidence)
  expect_warning(calib_monitor(d$p, d$y, weights = rep(1.5, 90)), class = "gpcalib_warning_weights")
})

test_that("the table of periods is what the measures say", {
  d <- oracle_stream(300, 3, 5, 1.4)
  month <- rep(c("a", "b"), c(120, 180))
  table <- tidy(calib_monitor(d$p, d$y, period = month))
  expect_identical(table$period, c("a", "b"))
  for (i in 1:2) {
    rows <- month == table$period[i]
    p <- d$p[rows, ]
    y <- factor(d$y[rows], 1:3)
    expect_equal(table$log_loss[i], log_loss(p, y))
    expect_equal(table$brier[i], brier_score(p, y))
    expect_equal(table$accuracy[i], class_accuracy(p, y))
    expect_equal(table$overconfidence[i], overconfidence(p, y))
    expect_equal(table$underconfidence[i], underconfidence(p, y))
    expect_equal(abs(table$confidence[i] - table$accuracy[i]), confidence_gap(p, y))
    expect_equal(table$slope[i], 1 / calib_temperature(p, y)$temperature, tolerance = 2e-3)
  }
  two <- oracle_stream(100, 2, 6)
  table <- tidy(calib_monitor(two$p, two$y))
  expect_equal(table$brier, brier_score(two$p, two$y))
  expect_equal(table$oe, sum(two$y == 2) / sum(two$p[, 2]))
})

test_that("labels may come late, by number or by name", {
  d <- oracle_stream(40, 3, 7)
  y <- d$y
  y[c(3, 17, 30)] <- NA
  m <- calib_monitor(d$p[1:20, ], y[1:20], period = "a")
  m <- update(m, d$p[21:40, ], y[21:40], period = "b")
  expect_identical(glance(m)$waiting, 3L)
  m <- update(m, labels = d$y[c(30, 3)], id = c(30, 3))
  m <- update(m, labels = d$y[17], id = "17")
  now <- calib_monitor(d$p, d$y, period = rep(c("a", "b"), each = 20))
  expect_equal(m$sums, now$sums)
  expect_equal(m$evidence, now$evidence)
  expect_identical(glance(m)$waiting, 0L)
  expect_error(update(m, labels = 1, id = 17), "wait for no label", class = "gpcalib_error_input")
  expect_error(update(m, labels = 1), class = "gpcalib_error_input")
  named <- calib_monitor(d$p, rep(NA, 40), id = paste0("row", 1:40), classes = 1:3)
  expect_error(update(named, d$p[1, , drop = FALSE], NA, id = "row7"), "wait", class = "gpcalib_error_input")
  named <- update(named, labels = d$y, id = paste0("row", 1:40))
  expect_equal(named$evidence, now$evidence)
})

test_that("a restart begins the evidence anew, and late labels of the old run stay there", {
  d <- oracle_stream(60, 2, 8, 2)
  y <- d$y
  y[1] <- NA
  m <- calib_monitor(d$p[1:30, ], y[1:30], period = "a")
  m <- update(m, d$p[31:60, ], d$y[31:60], period = "a", restart = TRUE)
  fresh <- calib_monitor(d$p[31:60, ], d$y[31:60])
  expect_equal(glance(m)$e_value, glance(fresh)$e_value)
  expect_identical(tidy(m)$run, 1:2)
  m <- update(m, labels = d$y[1], id = 1)
  expect_equal(glance(m)$e_value, glance(fresh)$e_value)
  expect_equal(tidy(m)$n, c(30, 30))
})

test_that("monitors of two machines add up", {
  d <- oracle_stream(80, 3, 10, 1.2)
  month <- rep(c("a", "b", "a", "c"), each = 20)
  one <- calib_monitor(d$p[1:40, ], d$y[1:40], period = month[1:40])
  two <- calib_monitor(d$p[41:80, ], c(NA, d$y[42:80]), period = month[41:80], id = paste0("m", 41:80))
  expect_message(sum <- one + two, "path")
  sum <- update(sum, labels = d$y[41], id = "m41")
  whole <- calib_monitor(d$p, d$y, period = month)
  expect_equal(sum$sums, whole$sums)
  expect_equal(sum$evidence, whole$evidence)
  expect_error(one + calib_monitor(classes = 1:2), "classes", class = "gpcalib_error_input")
  expect_error(one - two, class = "gpcalib_error_input")
  expect_error(one + 1, class = "gpcalib_error_input")
})

test_that("overconfidence is found, when it began is said, and an impossible label is infinite evidence", {
  good <- oracle_stream(1000, 2, 11)
  bad <- oracle_stream(1500, 2, 12, 2)
  m <- calib_monitor(good$p, good$y, period = rep(1:5, each = 200))
  expect_lt(glance(m)$e_value, 20)
  for (i in 1:5) m <- update(m, bad$p[300 * (i - 1) + 1:300, ], bad$y[300 * (i - 1) + 1:300], period = 5 + i)
  s <- summary(m)
  expect_true(glance(m)$alarm)
  expect_true(s$rise %in% c("5", "6", "7"))
  expect_lt(s$slope, 1)
  expect_output(print(s), "may have been miscalibrated before")
  m <- update(m, cbind(1, 0), 2)
  expect_identical(glance(m)$e_value, Inf)
  expect_output(print(m), "probability 0")
  for (type in c("evidence", "scores", "reliability")) expect_no_warning(ggplot2::ggplot_build(autoplot(m, type)))
})

test_that("a bad batch is refused whole, by our errors", {
  d <- oracle_stream(30, 3, 13)
  m <- calib_monitor(d$p, factor(letters[d$y]))
  before <- m
  bad <- list(
    list(d$p[, 1:2], letters[d$y]), list(d$p, rep("z", 30)), list(replace(d$p, 5, NaN), letters[d$y]),
    list(d$p * 2, letters[d$y]), list(d$p[0, ], character()), list(d$p, letters[d$y][-1]),
    list(d$p, factor(letters[d$y], levels = c("c", "b", "a"))), list(`colnames<-`(d$p, c("a", "b", "q")), letters[d$y])
  )
  for (case in bad) expect_error(update(m, case[[1]], case[[2]]), class = "gpcalib_error_input")
  expect_error(update(m, d$p, letters[d$y], weights = -1), class = "gpcalib_error_input")
  expect_error(update(m, d$p, letters[d$y], period = 1:3), class = "gpcalib_error_input")
  expect_error(update(m, d$p, letters[d$y], id = rep(1, 30)), class = "gpcalib_error_input")
  expect_error(update(m, d$p, letters[d$y], odd = 1), class = "gpcalib_error_input")
  expect_error(calib_monitor(), class = "gpcalib_error_input")
  expect_identical(m, before)
  # columns by name in another order
  named <- `colnames<-`(d$p, letters[1:3])
  expect_equal(update(m, named[, 3:1], letters[d$y])$evidence, update(m, d$p, letters[d$y])$evidence)
})

test_that("damaged monitors are recognised, sound ones survive a file", {
  d <- oracle_stream(30, 3, 14)
  m <- calib_monitor(d$p, c(NA, d$y[-1]))
  file <- tempfile()
  saveRDS(m, file)
  expect_identical(readRDS(file), m)
  for (name in names(m)) {
    for (value in list(NULL, "x", NA, -1, list())) {
      if (name == "period" && identical(value, "x")) next # as good a name as any
      broken <- unclass(m)
      broken[name] <- list(value)
      expect_error(print(structure(broken, class = "calib_monitor")), class = "gpcalib_error_object")
    }
  }
  m$waiting$probs[1] <- NaN
  expect_error(tidy(m), class = "gpcalib_error_object")
})

test_that("what is infinite is left out of the picture, and that is said", {
  m <- calib_monitor(c(0.2, 0, 0.7), c(0, 1, 1), period = c("a", "a", "b"))
  expect_match(gsub("\n", " ", autoplot(m, "scores")$labels$caption), "log loss of 1 of 2 periods")
  m <- calib_monitor(c(0.2, 0.4, 0.7, 0.6), c(0, 1, 1, 0), period = c("a", "a", "b", "b"))
  expect_no_match(paste0("", autoplot(m, "evidence")$labels$caption), "left out")
  expect_match(autoplot(m, "evidence")$labels$caption, "e-value\\s+of 20")
  sure <- calib_monitor(rep(0.001, 400), rep(c(TRUE, FALSE), 200)) # evidence beyond what is drawn
  expect_match(attr(autoplot(sure)$labels$caption, "words"), " Drawn: values above 1e12 at 1e12.", fixed = TRUE)
  expect_no_match(autoplot(calib_monitor(rep(0.5, 40), rep(c(TRUE, FALSE), 20)))$labels$caption, "beyond")
})

test_that("the process predicts every row by a fit to rows before it, whatever the batches", {
  d <- oracle_stream(320, 3, 15, 1.6)
  y <- factor(d$y, 1:3)
  both <- c("bins", "process")
  whole <- calib_monitor(d$p, y, period = "all", alternatives = both)
  fit <- suppressWarnings(calib_gp(d$p[1:100, ], y[1:100], integrate = FALSE))
  ratio <- numeric() # of the blocks predicted by the first, second and third fit
  for (first in c(101, 201, 301)) {
    rows <- first:min(320, first + 99)
    at <- cbind(seq_along(rows), d$y[rows])
    ratio <- c(ratio, prod(suppressWarnings(predict(fit, d$p[rows, ]))[at] / d$p[rows, ][at]))
    if (first < 300) fit <- suppressWarnings(update(fit, d$p[rows, ], y[rows]))
  }
  want <- log(prod(ratio) / 2 + prod(ratio[2:3]) / 6 + ratio[3] / 12 + 1 / 4)
  e <- log_e_values(whole)
  expect_equal(e[["process"]], want, tolerance = 1e-4) # 1e-6 of the forecast are mixed in
  expect_identical(e[["bins"]], log_e_values(calib_monitor(d$p, y, alternatives = "bins"))[["bins"]])
  expect_equal(e[[1]], log(mean(exp(e[-1]))))
  parts <- calib_monitor(classes = 1:3, alternatives = both)
  for (rows in list(1:7, 8:8, 9:215, 216:320)) parts <- update(parts, d$p[rows, , drop = FALSE], y[rows], period = "all")
  expect_equal(parts$process, whole$process)
  # rows of weight 0 are no rows
  some <- calib_monitor(d$p[c(1:320, 1:9), ], y[c(1:320, 1:9)], weights = rep(1:0, c(320, 9)), alternatives = both)
  expect_equal(some$process, whole$process)
})

test_that("the process's e-value has expectation 1 under calibration, given what was seen", {
  d <- oracle_stream(103, 2, 16, 2)
  before <- calib_monitor(d$p[1:100, ], factor(d$y[1:100], 1:2), alternatives = "process")
  expect_equal(log_e_values(before)[["process"]], 0)
  outcomes <- as.matrix(expand.grid(rep(list(1:2), 3)))
  e <- apply(outcomes, 1, function(y) exp(log_e_values(update(before, d$p[101:103, ], y))[["process"]]))
  chance <- apply(outcomes, 1, function(y) prod(d$p[cbind(101:103, y)]))
  expect_equal(sum(e * chance), 1, tolerance = 1e-12)
  expect_gt(stats::sd(e), 0.01)
})

test_that("monitors with a process: restart, merging, files, damage, pictures", {
  d <- oracle_stream(400, 2, 17, 2)
  m <- calib_monitor(d$p, d$y, period = rep(1:4, each = 100), alternatives = c("temperature", "process"))
  expect_gt(log_e_values(m)[["process"]], log(20))
  expect_identical(summary(m)$evidence$alternative, c("mean", "temperature", "process"))
  expect_no_warning(ggplot2::ggplot_build(autoplot(m)))
  file <- tempfile()
  saveRDS(m, file)
  expect_identical(update(readRDS(file), d$p[1:30, ], d$y[1:30]), update(m, d$p[1:30, ], d$y[1:30]))
  again <- update(m, d$p[1:50, ], d$y[1:50], restart = TRUE)
  expect_identical(log_e_values(again)[["process"]], 0)
  expect_null(again$process$fit)
  half <- calib_monitor(d$p[1:200, ], d$y[1:200], alternatives = c("temperature", "process"))
  expect_message(sum <- half + m, "with more rows is continued")
  expect_equal(process_log_e(sum$process), process_log_e(half$process) + process_log_e(m$process))
  expect_identical(sum$process$fit, m$process$fit)
  for (name in names(m$process)) for (value in list("x", NA, Inf, list(1))) {
    broken <- m
    broken$process[name] <- list(value)
    expect_error(print(broken), class = "gpcalib_error_object")
  }
  m$process <- NULL
  expect_error(print(m), class = "gpcalib_error_object")
})

test_that("a label of probability 0 and labels of one class are no trouble for the process", {
  p <- rep(c(0, 0.2, 0.7), 60)
  m <- calib_monitor(p, rep(FALSE, 180), alternatives = "process", classes = c("FALSE", "TRUE"))
  expect_true(is.finite(glance(m)$e_value))
  m <- update(m, p[1:3], c(TRUE, FALSE, TRUE))
  expect_identical(glance(m)$e_value, Inf)
})

test_that("a constant forecast of one half: the e-value beside that of Laplace's rule", {
  # Two equally likely ranks. The e-value of Arnold, Henzi and Ziegel (2023) for rank histograms is then the product of
  # 2 (1 + number of earlier rows of this class) / (t + 1), which is 2^n k! (n - k)! / (n + 1)!: a mixture over all frequencies, as
  # "offset" is one over a grid. Their logarithms differ by what the two put near the frequency in question, whatever n is, and by
  # the distance to the grid, which costs less than a hundredth of the evidence.
  laplace <- function(n, k) n * log(2) + lgamma(k + 1) + lgamma(n - k + 1) - lgamma(n + 2)
  y <- with_seed(18, 1 + (stats::runif(60) < 0.7))
  steps <- vapply(1:60, function(t) log(2 * (1 + sum(y[seq_len(t - 1)] == y[t])) / (t + 1)), 0)
  expect_equal(sum(steps), laplace(60, sum(y == 2)))
  for (share in c(0.6, 0.7, 0.85)) {
    far <- vapply(c(200, 1000, 5000), function(n) {
      k <- round(share * n)
      m <- calib_monitor(matrix(0.5, n, 2), rep(2:1, c(k, n - k)), classes = 1:2)
      c(log_e_values(m)[["offset"]] - laplace(n, k), laplace(n, k))
    }, numeric(2))
    expect_true(all(abs(far[1, ]) < 2 + 0.01 * far[2, ]))
    expect_gt(far[2, 3], 80) # while the evidence itself grows without limit
  }
})

test_that("beside the package epit: the same evidence where both bet on the frequency of a class, more where forecasts vary", {
  theirs <- readRDS(test_path("fixtures", "epit.rds")) # data-raw/fixture-epit.R
  at <- theirs$at
  for (stream in theirs$halves) {
    ours <- vapply(at, function(n) log_e_values(calib_monitor(rep(0.5, n), stream$y[seq_len(n)], classes = 0:1))[["offset"]], 0)
    # both average over frequencies, by other weights: the logarithms stay together however far they go
    expect_lt(max(abs(ours - stream$log_e)), 2)
    if (stream$share == 0.5) expect_lt(max(ours), log(20))
    if (stream$share >= 0.6) {
      alarm <- at[which(ours > log(20))[1]]
      expect_lte(alarm, at[which(stream$log_e > log(20))[1]] + 50)
    }
  }
  # a randomised PIT value says less than the pair of forecast and label
  for (departure in names(theirs$pits)) {
    stream <- theirs$pits[[departure]]
    p <- stats::plogis(stream$z)
    ours <- log_e_values(calib_monitor(p, stream$y, classes = 0:1))[[1]]
    if (departure == "none") expect_lt(max(ours, stream$log_e), log(20)) else expect_gt(ours, stream$log_e[4] + 20)
  }
})

test_that("beside the safe Hosmer-Lemeshow test: both stay low where the forecast is calibrated, and grow as the divergence elsewhere", {
  # by hand: after labels 0 and 1 at .2 and .8 the isotonic map is 0 and 1, which half a stake makes .1 and .9
  expect_equal(oracle_safe_hl(c(0.2, 0.8, 0.2, 0.8), c(0, 1, 0, 0), c(1, 1, 2, 2)), c(0, log(0.9 / 0.8) + log(0.1 / 0.2)))
  n <- 6000
  batch <- rep(1:60, each = 100)
  for (departure in c("none", "temperature", "bend")) {
    d <- with_seed(20, {
      z <- stats::rnorm(n, sd = 1.5)
      truth <- stats::plogis(switch(departure, none = z, temperature = z / 1.6, bend = z + 1.2 * (z > 0.5 & z < 2)))
      list(p = stats::plogis(z), truth = truth, y = as.integer(stats::runif(n) < truth))
    })
    log_e <- log_e_values(calib_monitor(d$p, d$y, period = batch, classes = 0:1))[[1]]
    safe <- oracle_safe_hl(d$p, d$y, batch)[60]
    # what the forecast that is right would have gained: nobody gains more for long
    best <- sum(ifelse(d$y == 1, log(d$truth / d$p), log((1 - d$truth) / (1 - d$p))))
    if (departure == "none") {
      expect_lt(max(log_e, safe), log(20))
    } else {
      expect_gt(min(log_e, safe), log(20))
      expect_lt(max(log_e, safe), best + 3)
      expect_gt(log_e, 0.5 * best)
      expect_gt(log_e, safe) # half a stake and a curve learnt from nothing cost more than a grid
    }
  }
})

test_that("lines end at periods with an infinite score", {
  m <- calib_monitor(c(0.2, 0.6, 0.3, 0.7, 0, 0.4, 0.8, 0.3), c(0, 1, 1, 0, 1, 0, 1, 0), period = rep(c("a", "b", "c", "d"), each = 2))
  built <- ggplot2::ggplot_build(autoplot(m, "scores"))
  line <- built$data[[3]]
  loss <- line[line$PANEL == 1, ]
  expect_equal(loss$x, 1:2) # not on to d
  words <- built$data[[5]]
  expect_equal(words$x[words$PANEL == 1], 3)
  expect_identical(words$label[words$PANEL == 1], "Inf")
  expect_equal(sum(built$data[[4]]$PANEL == 1), 3)
})

test_that("labels of tiny probability are finite evidence, at every stage", {
  # the same sums written out by logarithms
  by_logs <- function(p, y, w = rep(1, length(y))) {
    each <- vapply(exp(monitor_t$value), function(beta) {
      sum(w * vapply(seq_along(y), function(i) {
        z <- beta * log(p[i, ])
        z[y[i]] - max(z) - log(sum(exp(z - max(z)))) - log(p[i, y[i]])
      }, 0))
    }, 0)
    max(each) + log(sum(exp(each - max(each) + monitor_t$log_weight)))
  }
  kinds <- c("temperature", "bins", "offset", "process")
  for (tiny in c(1e-170, 1e-200, 1e-300, 1e-310, 5e-324)) for (k in c(2, 4)) {
    p <- rbind(c(tiny, rep(0, k - 2), 1), c(1, rep(0, k - 2), tiny), rep(1 / k, k), c(rep(tiny, k - 1), 1))
    y <- c(1, k, 1, 1)
    m <- calib_monitor(p, y, classes = seq_len(k), alternatives = kinds)
    expect_true(all(is.finite(m$evidence)) && all(is.finite(m$sums)) && all(is.finite(m$path)))
    expect_equal(log_e_values(m)[["temperature"]], by_logs(p, y))
    w <- c(3, 0.5, 0, 2)
    expect_equal(log_e_values(calib_monitor(p, y, weights = w, classes = seq_len(k)))[["temperature"]], by_logs(p, y, w))
    # kept, read again, added, continued
    file <- tempfile()
    saveRDS(m, file)
    back <- readRDS(file)
    expect_output(print(back), "e-value")
    expect_output(print(summary(back)), "temperature")
    suppressMessages(two <- back + m)
    expect_equal(two$evidence, 2 * m$evidence)
    expect_true(all(is.finite(update(two, p, y)$path)))
    for (type in c("evidence", "scores", "reliability")) expect_no_warning(ggplot2::ggplot_build(autoplot(back, type)))
  }
  # the process: its own prediction over a probability that is nearly 0
  d <- oracle_stream(150, 3, 21, 2)
  p <- rbind(d$p, c(1, 0, 5e-324), c(5e-324, 0.5, 0.5))
  m <- calib_monitor(p, c(d$y, 3, 1), classes = 1:3, alternatives = "process")
  expect_true(is.finite(m$process$log_begun))
  expect_gt(m$process$log_begun, 600)
  expect_output(print(m), "raised")
})

test_that("an alarm in the first period: the forecast was off from the start, and e-values beyond a double are said by their power of ten", {
  m <- calib_monitor(rep(0.001, 400), rep(c(TRUE, FALSE), 200))
  expect_output(print(summary(m)), "seems to have been miscalibrated from the start")
  expect_output(print(m), "the e-value was 1e[0-9]{3} ")
  expect_output(print(calib_monitor(c(0, 0.4), c(TRUE, FALSE))), "when the e-value became infinite \\(alarm")
  expect_no_match(paste(capture.output(print(summary(m))), collapse = " "), "before|Inf ")
})

test_that("rows of weight 0 do not let products of odds run over", {
  n <- 16 * 400
  p <- rep(0.999, n)
  w <- rep(c(rep(1, 15), 0), n / 16) # each sixteenth row, after which logarithms are taken
  m <- calib_monitor(p, rep(TRUE, n), weights = w, classes = c("FALSE", "TRUE"))
  expect_equal(m$evidence, calib_monitor(p[w > 0], rep(TRUE, n)[w > 0], classes = c("FALSE", "TRUE"))$evidence)
  expect_true(all(is.finite(m$evidence)))
})

test_that("summary() says where the rise began, and not that calibration was lost then", {
  set.seed(5)
  p <- runif(600)
  wrong <- rbinom(600, 1, plogis(3 * qlogis(p)))
  from_start <- calib_monitor(p, wrong, period = rep(c("a", "b"), each = 300))
  expect_output(print(summary(from_start)), "in the first period, \"a\"\\.\\s+The forecast seems to have been miscalibrated from the start")
  right <- rbinom(600, 1, p)
  later <- calib_monitor(c(p, p), c(right, wrong), period = rep(c("a", "b"), each = 600))
  expect_output(print(summary(later)), "in period \"b\"\\.\\s+The forecast may have been miscalibrated before, even from the start")
})

test_that("an inverse temperature beyond the grid is said to be there, and plot() draws", {
  d <- with_seed(3, {
    z <- stats::rnorm(400, sd = 40)
    list(p = stats::plogis(z), y = as.integer(stats::runif(400) < stats::plogis(z / 40)))
  })
  m <- calib_monitor(pmin(pmax(d$p, 1e-12), 1 - 1e-12), d$y, classes = 0:1)
  expect_true(is.na(summary(m)$slope))
  expect_output(print(summary(m)), "Inverse temperature below 0.16 .*very overconfident")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(m), m)
})

test_that("pictures have the intervals that the sums allow", {
  set.seed(3)
  x <- stats::rnorm(600)
  y <- stats::rbinom(600, 1, stats::plogis(0.6 * x))
  m <- calib_monitor(stats::plogis(x), y, period = rep(c("a", "b", "c"), each = 200))
  # the likelihood of the inverse temperature, maximised and inverted directly
  f <- function(b) sum(stats::plogis(ifelse(y == 1, b, -b) * x, log.p = TRUE))
  best <- stats::optimize(f, c(0.1, 3), maximum = TRUE, tol = 1e-8)
  g <- function(b) f(b) - best$objective + stats::qchisq(0.95, 1) / 2
  direct <- c(stats::uniroot(g, c(0.05, best$maximum))$root, stats::uniroot(g, c(best$maximum, 3))$root)
  expect_equal(monitor_slope_interval(colSums(monitor_sums(m, "temperature"))), direct, tolerance = 2e-3)
  expect_identical(monitor_slope_interval(rep(0, length(monitor_t$value))), c(NA_real_, NA_real_))
  bars <- function(picture) Filter(function(layer) inherits(layer$geom, "GeomLinerange"), picture$layers)[[1]]
  drawn <- bars(autoplot(m, "scores"))$data
  accuracy <- drawn[grepl("Accuracy", drawn$measure), ]
  hits <- tapply(ifelse(x > 0, y == 1, y == 0), rep(1:3, each = 200), sum)
  wilson <- t(sapply(hits, function(k) stats::prop.test(k, 200, correct = FALSE)$conf.int))
  expect_equal(unname(as.matrix(accuracy[c("conf.low", "conf.high")])), unname(wilson))
  reliability <- autoplot(m, "reliability")
  bars(reliability)
  expect_true(all(reliability$data$conf.low <= reliability$data$observed & reliability$data$observed <= reliability$data$conf.high))
  expect_match(attr(reliability$labels$caption, "words"), "95% intervals")
  said <- utils::capture.output(print(summary(m)))
  expect_lte(max(nchar(said)), 80)
  expect_match(said, "an e-value of 1 is no evidence", all = FALSE)
  expect_match(said, "^ *period +n +log loss +Brier +accuracy +conf\\. +over +under +slope +O:E$", all = FALSE)
})

test_that("every interval of a monitor has a point that can be seen, and captions say what is drawn", {
  words <- function(picture) attr(picture$labels$caption, "words")
  set.seed(4)
  p <- c(stats::runif(990, 0, 0.3), rep(0.95, 10)) # bins of one or two rows beside large ones
  y <- stats::runif(1000) < p
  period <- rep(sprintf("%02d", 1:10), 100)
  m <- calib_monitor(p, y, period = period)
  points <- ggplot2::ggplot_build(autoplot(m, "reliability"))$data[[4]]
  expect_true(all(points$size >= 0.9 & points$alpha >= 0.5))
  expect_gt(max(points$size), 2 * min(points$size)) # rows still show
  expect_match(words(autoplot(m, "reliability")), "Periods pooled into 4 groups.", fixed = TRUE)
  expect_match(words(autoplot(m, "reliability", periods = 1)), "All periods pooled.", fixed = TRUE)
  expect_no_match(words(autoplot(m, "reliability", periods = 10)), "pooled")
  expect_match(words(autoplot(m, "scores")), "No bars for log loss and Brier score: the monitor does not store the sums they need.", fixed = TRUE)
  expect_match(words(autoplot(m)), "the mean (thick)", fixed = TRUE)
  # With one period there is no line to be thick.
  one <- autoplot(calib_monitor(p, y))
  expect_match(words(one), "the mean (large point)", fixed = TRUE)
  built <- ggplot2::ggplot_build(one)$data
  points <- built[[length(built)]]
  expect_equal(sum(points$size == max(points$size)), 1)
  expect_identical(points$colour[which.max(points$size)], ink[4])
})

test_that("a score that is infinite in all periods is marked as such", {
  m <- calib_monitor(c(0, 0.2, 0, 0.6), c(1, 0, 1, 1), period = c("a", "a", "b", "b"))
  built <- ggplot2::ggplot_build(autoplot(m, "scores"))
  panel <- built$layout$panel_params[[1]] # log loss
  expect_length(panel$y$get_labels(), 0)
  expect_length(panel$y.range, 2)
  expect_true(diff(panel$y.range) > 0 && max(abs(panel$y.range)) < nothing)
  marks <- Filter(function(layer) "label" %in% names(layer), built$data)[[1]]
  expect_identical(marks$label[marks$PANEL == 1], c("Inf", "Inf"))
  expect_gte(length(built$layout$panel_params[[2]]$y$get_labels()), 2)
})

test_that("print() says when the alarm was raised, at which e-value, and what it is now", {
  bad <- oracle_stream(600, 2, 12, 2)
  good <- oracle_stream(800, 2, 11)
  until <- function(n) calib_monitor(bad$p[1:n, ], bad$y[1:n], period = "a", classes = 1:2)
  m <- until(Find(function(n) glance(until(n))$alarm, seq(20, 600, 10))) # just above 20
  then <- say_e(glance(m)$e_value)
  expect_no_match(paste(capture.output(print(m)), collapse = " "), "now|stays")
  m <- update(m, good$p, good$y, period = "b")
  said <- paste(capture.output(print(m)), collapse = " ")
  expect_match(said, paste0("alarm raised in period \"a\", when the e-value was ", then, " \\(alarm at 20\\);   it is [0-9.]+ now; the alarm stays"))
  expect_output(print(calib_monitor(good$p[1:20, ], good$y[1:20])), "e-value against calibration [0-9.]+: no alarm \\(raised at 20\\)")
})

test_that("a period of few rows does not make the others flat", {
  d <- with_seed(9, {
    x <- stats::rnorm(1632)
    list(p = stats::plogis(x), y = stats::rbinom(1632, 1, stats::plogis(x)))
  })
  period <- c(rep(1:8, each = 200), rep(9, 32))
  p <- replace(d$p, 1601:1632, ifelse(d$y[1601:1632] == 1, 0.7, 0.3)) # all right, hardly any range of slopes
  plot <- autoplot(calib_monitor(p, d$y, period = period), "scores")
  built <- ggplot2::ggplot_build(plot)
  words <- attr(plot$labels$caption, "words")
  expect_match(words, "Faint points: less than a quarter of the usual number of rows. Arrows: such a period lies, or its interval reaches, beyond the panel.", fixed = TRUE)
  arrows <- Filter(function(layer) inherits(layer$geom, "GeomSegment"), plot$layers)[[1]]$data
  expect_true(all(arrows$at == 9))
  whole <- autoplot(calib_monitor(d$p[1:1600], d$y[1:1600], period = period[1:1600]), "scores")
  width <- function(plot) vapply(ggplot2::ggplot_build(plot)$layout$panel_params, function(panel) diff(panel$y.range), 0)
  expect_true(all(width(plot) < 2.2 * width(whole)))
  expect_no_match(attr(whole$labels$caption, "words"), "Faint|Arrows")
})

test_that("infinite e-values are marked, not drawn as large ones", {
  m <- calib_monitor(c(0.2, 0.3, 0.6), c(0, 0, 1), period = "a")
  m <- update(m, c(0, 0.5), c(1, 0), period = "b")
  m <- update(m, c(0.4, 0.5), c(1, 0), period = "c")
  plot <- autoplot(m)
  expect_match(attr(plot$labels$caption, "words"), "Inf: all e-values are infinite, because a label had probability 0.", fixed = TRUE)
  expect_no_match(attr(plot$labels$caption, "words"), "1e12")
  expect_identical(unique(plot$data$look), 1L)
  marks <- Filter(function(layer) inherits(layer$geom, "GeomText"), plot$layers)[[1]]
  expect_equal(marks$data$look, 2:3)
  none <- autoplot(calib_monitor(c(0, 0.4), c(TRUE, FALSE)))
  expect_silent(ggplot2::ggplot_build(none))
  expect_match(attr(none$labels$caption, "words"), "the alarm uses the mean. Dashed", fixed = TRUE) # there is no point to be large
})

test_that("pictures mark a restart by a line and say so", {
  set.seed(4)
  p <- runif(200)
  y <- runif(200) < p
  m <- calib_monitor(classes = c("FALSE", "TRUE"))
  for (i in 1:4) m <- update(m, p[1:50 + 50 * (i - 1)], y[1:50 + 50 * (i - 1)], period = letters[i], restart = i == 3)
  lines_of <- function(plot) {
    at <- vapply(plot$layers, function(layer) inherits(layer$geom, "GeomVline"), NA)
    unlist(lapply(plot$layers[at], function(layer) layer$data$xintercept))
  }
  for (what in c("evidence", "scores")) {
    plot <- autoplot(m, what)
    expect_equal(lines_of(plot), 2.5)
    expect_match(gsub("\\s+", " ", plot$labels$caption), "Dotted vertical line: restart")
    expect_no_warning(ggplot2::ggplot_build(plot))
    before <- autoplot(calib_monitor(p, y, rep(1:4, each = 50)), what)
    expect_null(lines_of(before))
    expect_no_match(before$labels$caption, "restart")
  }
})
