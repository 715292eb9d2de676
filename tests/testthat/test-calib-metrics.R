columns <- c("measure", "estimate", "conf.low", "conf.high", "null.low", "null.high", "p.value")
with_interval <- c("class_accuracy", "log_loss", "brier_score", "overconfidence",
  "underconfidence", "confidence_gap")

test_that("estimates are those of the functions they are named after", {
  set.seed(1)
  set <- random_forecast(150, 3)
  w <- rexp(150)
  table <- calib_metrics(set$probs, set$labels, bins = 15, norm = 2, debias = TRUE, weights = w)
  expect_s3_class(table, "data.frame")
  expect_named(table, columns)
  expect_setequal(table$measure, c(with_interval, "ece", "mce", "sharpness", "calib_slope"))
  expect_true(all(is.na(table[, 3:7])))
  plain <- setdiff(table$measure, c("ece", "mce", "calib_slope"))
  for (name in plain) {
    expect_equal(table$estimate[table$measure == name],
      get(name)(set$probs, set$labels, weights = w))
  }
  expect_equal(table$estimate[table$measure == "ece"],
    ece(set$probs, set$labels, 15, 2, debias = TRUE, weights = w))
  expect_equal(table$estimate[table$measure == "mce"], mce(set$probs, set$labels, 15, weights = w))
})

test_that("intervals and null ranges go where they belong", {
  set.seed(2)
  set <- random_forecast(250, 3)
  table <- calib_metrics(set$probs, set$labels, conf_level = .9, replicates = 200)
  means <- table$measure %in% c(with_interval, "calib_slope")
  errors <- table$measure %in% c("ece", "mce", "calib_slope")
  expect_true(all(table$conf.low[means] <= table$conf.high[means]))
  expect_true(all(is.na(table$conf.low[!means])) && all(is.na(table$conf.high[!means])))
  expect_true(all(table$null.low[errors] <= table$null.high[errors]))
  expect_true(all(is.na(table$null.low[!errors])) && all(is.na(table$p.value[!errors])))
  expect_true(all(table$p.value[errors] >= 1 / 201 & table$p.value[errors] <= 1))
})

test_that("set.seed() governs, two draws of R's generator are used, chunks do not matter", {
  set.seed(3)
  set <- random_forecast(300, 3)
  run <- function() {
    set.seed(42)
    calib_metrics(set$probs, set$labels, bins = 10, conf_level = .95, replicates = 50)
  }
  first <- run()
  after <- runif(1)
  expect_identical(run(), first)
  set.seed(42)
  runif(2)
  expect_identical(runif(1), after)
  set.seed(43)
  other <- calib_metrics(set$probs, set$labels, bins = 10, conf_level = .95, replicates = 50)
  expect_false(identical(other, first))

  forecast <- check_forecast(set$probs, set$labels)
  table <- first
  for (type in ece_types) {
    spec <- ece_spec(forecast$classes, bins = 10, type = type, event = if (type == "event") "2")
    tables <- lapply(c(1, 7, 50, 1000), function(chunk) {
      table <- add_bootstrap(table, forecast, .95, 50, c(5, 6), chunk)
      add_null(table, forecast, spec, .95, 50, c(5, 6), chunk)
    })
    for (other in tables[-1]) expect_identical(other, tables[[1]])
  }
  # Not resampling leaves R's generator alone.
  set.seed(1)
  before <- .Random.seed
  calib_metrics(set$probs, set$labels)
  expect_identical(.Random.seed, before)
})

test_that("the bootstrap of means has the spread that theory gives", {
  set.seed(4)
  set <- random_forecast(2000, 3)
  table <- calib_metrics(set$probs, set$labels, conf_level = .95, replicates = 2000)
  right <- max.col(set$probs, "first") == set$labels
  loss <- -log(set$probs[cbind(1:2000, set$labels)])
  brier <- rowSums((set$probs - outer(set$labels, 1:3, "=="))^2)
  conf <- apply(set$probs, 1, max)
  rows <- list(class_accuracy = right, log_loss = loss, brier_score = brier,
    overconfidence = conf[!right], underconfidence = 1 - conf[right])
  for (name in names(rows)) {
    x <- rows[[name]]
    want <- mean(x) + c(-1, 1) * qnorm(.975) * sd(x) / sqrt(length(x))
    got <- unlist(table[table$measure == name, c("conf.low", "conf.high")], use.names = FALSE)
    expect_lt(max(abs(got - want)) / diff(want), .12, label = name)
  }
})

test_that("the bootstrap is a multinomial draw of rows", {
  # 1200 rows make three blocks of unequal size; counts of rows have mean 1, variance 1 - 1/n.
  n <- 1200
  forecast <- check_forecast(rep(.5, n), rep_len(0:1, n))
  rows <- .Call(C_boot_rows, forecast, 0, NULL, 0L)
  rows[] <- 0
  picks <- c(1, 512, 513, 1024, 1025, 1200)
  for (i in 1:6) rows[i, picks[i]] <- 1
  drawn <- .Call(C_boot_draw, rows, c(1, 2), 0L, 4000L)[1:6, ]
  expect_true(all(drawn == floor(drawn)))
  expect_lt(max(abs(rowMeans(drawn) - 1)), 5 / sqrt(4000))
  expect_lt(max(abs(apply(drawn, 1, var) - 1)), .15)
  # So are counts of many rows: binomial, across the borders of blocks too.
  rows[] <- 0
  rows[1, 1:512] <- rows[2, 300:900] <- rows[3, 1025:1200] <- 1
  drawn <- .Call(C_boot_draw, rows, c(3, 4), 0L, 4000L)
  q <- c(512, 601, 176) / n
  expect_lt(max(abs(rowMeans(drawn)[1:3] - n * q) / sqrt(n * q * (1 - q) / 4000)), 5)
  expect_lt(max(abs(log(apply(drawn[1:3, ], 1, var) / (n * q * (1 - q))))), .15)
  rows[] <- 1
  expect_true(all(.Call(C_boot_draw, rows, c(1, 2), 0L, 5L) == n))
})

test_that("what the bootstrap sums gives the measures themselves", {
  set.seed(8)
  for (K in 2:3) {
    set <- random_forecast(90, K)
    for (w in list(rep(1, 90), rexp(90), sample(0:2, 90, TRUE))) {
      sums <- rowSums(.Call(C_boot_rows, check_forecast(set$probs, set$labels, w), 0, NULL, 0L))
      want <- oracle_scores(set$probs, set$labels, w)
      expect_equal(
        c(sums[2] / sums[1], sums[5] / sums[1], sums[6] / sums[1], sums[3] / (sums[1] - sums[2]),
          sums[4] / sums[2], abs(sums[3] - sums[4]) / sums[1]),
        unname(want[with_interval])
      )
    }
  }
})

test_that("weights travel with their rows", {
  set.seed(5)
  n <- 400
  set <- random_forecast(n, 3)
  w <- rexp(n)^2
  table <- calib_metrics(set$probs, set$labels, conf_level = .95, replicates = 2000, weights = w)
  right <- max.col(set$probs, "first") == set$labels
  mean <- sum(w * right) / sum(w)
  se <- sqrt(sum(w^2 * (right - mean)^2)) / sum(w) # of a ratio, by the delta method
  got <- unlist(table[table$measure == "class_accuracy", c("conf.low", "conf.high")])
  expect_lt(max(abs(got - (mean + c(-1, 1) * 1.96 * se))) / (2 * 1.96 * se), .15)
})

test_that("labels drawn anew have the moments of the probabilities", {
  # Bins of one row each would tell a single row's draws; take three rows, three bins.
  probs <- rbind(c(.7, .2, .1), c(.25, .5, .25), c(0, .1, .9))
  forecast <- check_forecast(probs, c(1, 2, 3))
  draw <- function(type, event = NULL, reps = 20000L, norm = 1) {
    spec <- ece_spec(forecast$classes, bins = 10, norm = norm, type = type, event = event)
    .Call(C_null_draw, forecast, spec, NULL, 0L, c(7, 8), 0L, reps)
  }
  # ECE_1 of one-row bins: mean of |p - hit| has mean 2 p (1 - p) per row.
  spread <- function(p) mean(2 * p * (1 - p))
  near <- function(x, want) expect_lt(abs(mean(x) - want), 5 * sd(x) / sqrt(length(x)))
  near(draw("confidence")[1, -1], spread(c(.7, .5, .9)))
  near(draw("top_label")[1, -1], spread(c(.7, .5, .9)))
  near(draw("event", "1")[1, -1], spread(probs[, 1]))
  near(draw("classwise")[1, -1], spread(probs))
  # A categorical draw: exactly one class of a row happens, in norm 2 (1/3 sum_k ECE_k^2) is
  # (1/9) sum_n sum_k (p - hit)^2, with mean (1/9) sum_n (1 - sum_k p^2).
  near(draw("classwise", norm = 2)[1, -1]^2, sum(1 - rowSums(probs^2)) / 9)
  # The observed errors come first.
  expect_equal(draw("classwise", reps = 1L)[, 1],
    c(ece(probs, 1:3, 10, type = "classwise"), mce(probs, 1:3, 10, type = "classwise")))
})

test_that("the null agrees with redrawing labels in R", {
  set.seed(6)
  set <- random_forecast(120, 3, digits = 2)
  w <- as.double(sample(1:3, 120, TRUE))
  forecast <- check_forecast(set$probs, set$labels, w)
  labels <- replicate(1500, apply(set$probs, 1, function(p) sample.int(3, 1, prob = p)))
  grid <- expand.grid(type = ece_types, binning = ece_binnings, estimator = ece_estimators,
    stringsAsFactors = FALSE)
  for (i in seq_len(nrow(grid))) {
    g <- grid[i, ]
    event <- if (g$type == "event") "3"
    spec <- ece_spec(forecast$classes, 8, 2, g$binning, g$estimator, g$type, event)
    got <- .Call(C_null_draw, forecast, spec, NULL, 0L, c(1, 2), 0L, 1500L)
    expect_equal(got[1, 1], ece(set$probs, set$labels, 8, 2, g$binning, g$estimator, g$type, event,
      weights = w))
    want <- apply(labels, 2, function(y) {
      forecast$labels <- y
      measure_ece(.Call(C_bin_sums, forecast, spec), spec)
    })
    drawn <- got[1, -1]
    expect_lt(abs(mean(drawn) - mean(want)), 5 * sqrt((var(drawn) + var(want)) / 1500))
    expect_lt(abs(log(sd(drawn) / sd(want))), .12)
  }
})

test_that("p-values are about uniform under calibration and small without it", {
  set.seed(7)
  p_values <- replicate(200, {
    p <- runif(150)
    y <- rbinom(150, 1, p)
    table <- calib_metrics(p, y, bins = 10, type = "event", conf_level = .9, replicates = 99)
    table$p.value[match(c("ece", "mce"), table$measure)]
  }) |> suppressWarnings(classes = "gpcalib_warning_few")
  for (i in 1:2) {
    expect_gt(suppressWarnings(ks.test(p_values[i, ], "punif"))$p.value, .001)
    expect_gt(mean(p_values[i, ] <= .1), .03)
    expect_lt(mean(p_values[i, ] <= .1), .2)
  }
  p <- rep(.9, 200)
  y <- rep(1:0, c(150, 50))
  bad <- calib_metrics(p, y, conf_level = .95, replicates = 199)
  expect_equal(bad$p.value[match(c("ece", "mce"), bad$measure)], c(1, 1) / 200)
  # The observed error lies far above the range under calibration.
  expect_gt(bad$estimate[bad$measure == "ece"], bad$null.high[bad$measure == "ece"])
})

test_that("ties between drawn and observed errors count", {
  # Two rows: the observed error is the largest possible or one of few values.
  p <- c(.5, .5)
  suppressWarnings( # every prediction is right
    table <- calib_metrics(p, c(0, 0), bins = 1, type = "event", conf_level = .9,
      replicates = 1000),
    classes = c("gpcalib_warning_undefined", "gpcalib_warning_few")
  )
  # |.5 - mean| is .5 with probability 1/2.
  expect_lt(abs(table$p.value[4] - .5), .08)
  # Equal probabilities in every row have no slope.
  expect_warning(expect_warning(table <- calib_metrics(p, c(0, 1), bins = 1, type = "event", conf_level = .9,
    replicates = 100), class = "gpcalib_warning_undefined"), class = "gpcalib_warning_few")
  expect_equal(table$p.value[4], 1)
})

test_that("undefined and infinite measures warn once and stay in the table", {
  p <- c(.2, .9, .8, .7)
  expect_warning(expect_warning(table <- calib_metrics(p, c(0, 1, 1, 1), conf_level = .9, replicates = 50),
    class = "gpcalib_warning_undefined"), class = "gpcalib_warning_few")
  row <- table$measure == "overconfidence"
  expect_identical(table$estimate[row], NaN)
  expect_true(is.na(table$conf.low[row]) && is.na(table$conf.high[row]))
  p <- rep(c(.2, .6, .3, .9), 20)
  y <- rep(c(0, 0, 1, 1), 20)
  p[3] <- 0
  expect_warning(expect_warning(table <- calib_metrics(p, y, conf_level = .9, replicates = 50),
    class = "gpcalib_warning_infinite"), "calib_slope", class = "gpcalib_warning_undefined")
  row <- table$measure == "log_loss"
  expect_identical(table$estimate[row], Inf)
  expect_true(is.na(table$conf.high[row]))
  # An impossible label: no slope makes it possible, and no redrawn label is.
  expect_identical(table$estimate[table$measure == "calib_slope"], NaN)
  expect_equal(table$p.value[table$measure == "calib_slope"], 1 / 51)
  expect_output(print(table), "undefined (NaN) with a p-value: a true class has probability 0", fixed = TRUE)
})

test_that("wrong arguments are input errors", {
  p <- c(.2, .9, .8)
  y <- c(0, 1, 0)
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(calib_metrics(p, y, conf_level = 1), "conf_level")
  error(calib_metrics(p, y, conf_level = 95), "conf_level")
  error(calib_metrics(p, y, conf_level = .9, replicates = 0), "replicates")
  error(calib_metrics(p, y, bin = 10), "bin")
  error(calib_metrics(p, y, 10), "names")
  error(calib_metrics(p, y, type = "event", event = "x"), "event")
})

test_that("the interval of the gap covers a calibrated forecast", {
  set.seed(3)
  covers <- replicate(60, {
    p <- runif(200)
    y <- factor(runif(200) < p, levels = c(FALSE, TRUE))
    row <- calib_metrics(p, y, conf_level = .95, replicates = 200)
    row <- row[row$measure == "confidence_gap", ]
    expect_lte(row$conf.low, row$estimate)
    row$conf.low <= 0
  })
  expect_gt(mean(covers), 0.85)
})

test_that("few wrong rows give no interval, and eps bounds the loss", {
  p <- rep(c(.9, .8, .6), 30)
  y <- rep(1, 90)
  y[c(1, 5, 9, 33, 50)] <- 0
  y <- factor(y, levels = 0:1)
  expect_warning(out <- calib_metrics(p, y, conf_level = .95, replicates = 50), "5 rows are classified wrongly",
    class = "gpcalib_warning_few")
  low <- stats::setNames(out$conf.low, out$measure)
  expect_true(all(is.na(low[c("overconfidence", "log_loss", "brier_score", "confidence_gap")])))
  expect_false(is.na(low["underconfidence"]) || is.na(low["class_accuracy"]))
  p <- c(0, rep(c(.3, .7), 30), 1)
  y <- c(1, rep(c(1, 0, 0, 1), 15), 1)
  out <- suppressWarnings(calib_metrics(p, y, eps = 1e-3, conf_level = .9, replicates = 50))
  expect_equal(out$estimate[out$measure == "log_loss"], log_loss(p, y, eps = 1e-3))
  expect_true(all(is.finite(unlist(out[out$measure == "log_loss", c("conf.low", "conf.high")]))))
  expect_error(calib_metrics(p, y, replicates = 5), class = "gpcalib_error_input")
})

test_that("the bootstrap-t is the one written out", {
  set.seed(11)
  set <- random_forecast(200, 3)
  w <- rexp(200)
  forecast <- check_forecast(set$probs, set$labels, w)
  rows <- .Call(C_boot_rows, forecast, 0, NULL, 0L)
  drawn <- .Call(C_boot_draw, rows, c(1, 2), 0L, 300L)
  loss <- -log(set$probs[cbind(1:200, set$labels)])
  se <- function(x, w) sqrt(sum(w^2 * (x - sum(w * x) / sum(w))^2)) / sum(w)
  own <- boot_ratio(matrix(rowSums(rows)), "log_loss")
  expect_equal(own$value, sum(w * loss) / sum(w))
  expect_equal(own$error, se(loss, w))
  wrong <- max.col(set$probs, "first") != set$labels
  conf <- apply(set$probs, 1, max)
  expect_equal(boot_ratio(matrix(rowSums(rows)), "overconfidence")$error, se(conf[wrong], w[wrong]))
  expect_equal(boot_ratio(matrix(rowSums(rows)), "confidence_gap")$error, se(conf - !wrong, w))
  t <- (drawn[5, ] / drawn[1, ] - own$value) / boot_ratio(drawn, "log_loss")$error
  expect_equal(boot_t(rowSums(rows), drawn, "log_loss", .9),
    own$value - unname(quantile(t, c(.95, .05))) * own$error)
})

test_that("groups: whole groups are drawn, and repeated rows do not sharpen anything", {
  set.seed(12)
  set <- random_forecast(300, 3)
  again <- rep(1:300, each = 4)
  once <- calib_metrics(set$probs, set$labels, conf_level = .95, replicates = 500)
  four <- calib_metrics(set$probs[again, ], set$labels[again], conf_level = .95, replicates = 500,
    groups = again)
  width <- function(x) (x$conf.high - x$conf.low)[x$measure %in% with_interval]
  expect_equal(once$estimate[-9], four$estimate[-9])
  expect_lt(max(abs(log(width(four) / width(once)))), .2)
  rows <- match(c("ece", "calib_slope"), once$measure)
  expect_lt(max(abs(log((four$null.high - four$null.low)[rows] / (once$null.high - once$null.low)[rows]))), .4)
  naive <- calib_metrics(set$probs[again, ], set$labels[again], conf_level = .95, replicates = 200)
  expect_true(all(width(naive) < .65 * width(once)))
  for (type in ece_types) { # every kind of calibration error, each group a row: spread as by labels
    event <- if (type == "event") "2"
    one <- calib_metrics(set$probs, set$labels, type = type, event = event, conf_level = .9, replicates = 300)
    two <- calib_metrics(set$probs, set$labels, type = type, event = event, conf_level = .9, replicates = 300,
      groups = 1:300)
    expect_lt(abs(log(two$null.high[4] / one$null.high[4])), .35)
  }
  expect_warning(calib_metrics(set$probs, set$labels, conf_level = .9, replicates = 50,
    groups = rep(1:3, 100)), class = "gpcalib_warning_few")
})

test_that("by gives a table for each group of rows", {
  set.seed(13)
  set <- random_forecast(300, 3)
  by <- rep(c("u", "v"), c(100, 200))
  table <- calib_metrics(set$probs, set$labels, by = by)
  expect_named(table, c("by", columns))
  expect_equal(table$estimate[table$by == "v"],
    calib_metrics(set$probs[101:300, ], set$labels[101:300])$estimate)
  expect_output(print(table), "by +measure +estimate")
  expect_no_match(paste(capture.output(print(table)), collapse = "\n"), "p.value|NA|e-")
  expect_output(print(calib_metrics(set$probs, set$labels, conf_level = .9, replicates = 20)), "p.value")
})

test_that("effective numbers of rows stand behind weighted intervals", {
  set.seed(14)
  n <- 2000
  p <- runif(n)
  y <- factor(runif(n) < p, levels = c(FALSE, TRUE))
  w <- rexp(n)^2
  out <- calib_metrics(p, y, weights = w, conf_level = .95, replicates = 20)[1, ]
  size <- sum(w)^2 / sum(w^2)
  wilson <- stats::prop.test(out$estimate * size, size, correct = FALSE)$conf.int
  expect_equal(c(out$conf.low, out$conf.high), as.vector(wilson))
})

test_that("a slope that a label of probability 0 leaves undefined is warned of", {
  kinds <- character()
  got <- withCallingHandlers(calib_metrics(c(0, 0.3, 0.6, 0.8), c(1, 0, 1, 1)), warning = function(w) {
    kinds <<- c(kinds, class(w)[1], conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  expect_true("gpcalib_warning_undefined" %in% kinds && any(grepl("calib_slope.*eps = 1e-6", kinds)))
  expect_true(is.nan(got$estimate[got$measure == "calib_slope"]))
})

test_that("a list of forecasts gives a table with all of them", {
  pair <- oracle_forecast(200, 3, seed = 4)
  blur <- (pair$p + 0.1) / rowSums(pair$p + 0.1)
  both <- calib_metrics(list(sharp = pair$p, blurred = blur), pair$y)
  expect_equal(names(both)[1], "forecast")
  expect_equal(both$estimate, c(calib_metrics(pair$p, pair$y)$estimate, calib_metrics(blur, pair$y)$estimate))
  said <- utils::capture.output(print(both))
  expect_match(said[1], "Measures of 2 forecasts; ece", fixed = TRUE)
  expect_match(said, "measure +sharp +blurred", all = FALSE)
  expect_match(said, all = FALSE, sprintf("brier_score +%.4f +%.4f", brier_score(pair$p, pair$y), brier_score(blur, pair$y)))
  by <- rep(1:2, 100)
  grouped <- calib_metrics(list(sharp = pair$p, blurred = blur), pair$y, by = by)
  expect_equal(names(grouped)[1:3], c("forecast", "by", "measure"))
  expect_equal(grouped$estimate[grouped$forecast == "blurred"], calib_metrics(blur, pair$y, by = by)$estimate)
  # intervals: a block for each, none wider than 80
  set.seed(1)
  said <- utils::capture.output(print(calib_metrics(list(sharp = pair$p, blurred = blur), pair$y, conf_level = .9, replicates = 20)))
  expect_true(all(c("-- sharp", "-- blurred") %in% said))
  expect_lte(max(nchar(said)), 80)
  expect_equal(sum(grepl("^ *(measure|p.value)", said)), 2) # no table is split
  # columns in another order are the same forecast
  y <- c("a", "b", "c")[pair$y]
  named <- pair$p
  colnames(named) <- c("a", "b", "c")
  turned <- calib_metrics(list(one = named, two = named[, 3:1]), y, type = "event", event = "b")
  expect_equal(turned$estimate[turned$forecast == "two"], turned$estimate[turned$forecast == "one"])
  expect_output(print(both[0, ]), "Measures of 0 forecasts")
  # a warning says of which forecast it is
  zero <- rbind(c(0, 1, 0), pair$p[-1, ])
  expect_warning(expect_warning(calib_metrics(list(fine = pair$p, certain = zero), c(1, pair$y[-1])), "\"certain\": .*calib_slope",
    class = "gpcalib_warning_undefined"), "\"certain\": The log loss is infinite", class = "gpcalib_warning_infinite")
  expect_error(calib_metrics(list(a = pair$p, b = 3 * blur), pair$y), "`probs\\$b` has rows", class = "gpcalib_error_input")
  expect_error(calib_metrics(list(a = pair$p, a = blur), pair$y), "a name twice", class = "gpcalib_error_input")
})

test_that("print() says on which side of the accuracy the mean confidence lies", {
  y <- rep(1:0, c(75, 25))
  said <- function(...) paste(trimws(utils::capture.output(print(calib_metrics(...)))), collapse = " ")
  expect_match(said(rep(.9, 100), y), "accuracy|, of the most likely class; overconfident on average", fixed = TRUE)
  expect_match(said(rep(.6, 100), y), "class; underconfident on average", fixed = TRUE)
  expect_match(suppressWarnings(said(rep(.9, 100), factor(rep(1, 100), 0:1))), "class; underconfident on average", fixed = TRUE) # none is wrong
  both <- list(A = rep(.9, 100), B = rep(.6, 100), C = rep(.95, 100))
  expect_match(said(both, y), "on average overconfident: A, C; underconfident: B", fixed = TRUE)
  expect_match(said(both[c(1, 3)], y), "all forecasts overconfident on average", fixed = TRUE)
  # a gap that may be chance has no direction
  expect_match(said(rep(.78, 100), y), "class; no clear direction", fixed = TRUE)
  expect_match(said(rep(.78, 10000), rep(y, 100)), "overconfident on average", fixed = TRUE)
  expect_match(said(c(both, list(D = rep(.74, 100))), y), "overconfident: A, C; underconfident: B; no clear direction: D", fixed = TRUE)
  expect_match(said(list(D = rep(.74, 100), E = rep(.77, 100)), y), "no clear direction in any of them", fixed = TRUE)
  patients <- rep(1:10, each = 1000) # all rows of a patient are alike
  expect_match(said(rep(.78, 10000), rep(rep(1:0, c(7500, 2500))), groups = patients), "no clear direction", fixed = TRUE)
  set.seed(1)
  quietly_few <- function(...) suppressWarnings(calib_metrics(...), classes = "gpcalib_warning_few")
  interval <- quietly_few(both, y, conf_level = .95, replicates = 200)
  expect_true(all(interval$conf.low[interval$measure == "confidence_gap"] > 0))
  expect_output(print(interval), "overconfident: A, C")
  interval$conf.low[interval$measure == "confidence_gap" & interval$forecast == "C"] <- 0
  expect_output(print(interval), "overconfident: A; underconfident: B; no clear\\s+direction: C")
})

test_that("print() says where a few rows decide the maximum calibration error and its p-value", {
  p <- rep(c(0.05, 0.95), each = 400)
  y <- rep(c(0, 1, 0, 1), c(380, 20, 20, 380))
  said <- function(x) gsub(" +", " ", paste(utils::capture.output(print(x)), collapse = " "))
  note <- "mce: the bin with the largest gap has one row, which decides mce and its p-value"
  alone <- calib_metrics(c(p, 0.45), c(y, 1), conf_level = 0.9, replicates = 20)
  expect_match(said(alone), note, fixed = TRUE)
  expect_match(said(calib_metrics(c(p, 0.45, 0.44), c(y, 1, 1), conf_level = 0.9, replicates = 20)), "has 2 rows, which decide mce", fixed = TRUE)
  # the centre of the bin in place of its mean, and the gap that is largest in one class
  expect_match(said(calib_metrics(c(p, 0.45), c(y, 1), conf_level = 0.9, replicates = 20, estimator = "midpoint")), note, fixed = TRUE)
  expect_match(said(calib_metrics(c(p, 0.45), c(y, 1), conf_level = 0.9, replicates = 20, type = "classwise")), note, fixed = TRUE)
  # without intervals, and enough rows: nothing to say
  expect_match(said(calib_metrics(c(p, 0.45), c(y, 1))), "has one row, which decides mce($| )")
  expect_no_match(said(calib_metrics(p, y)), "mce:", fixed = TRUE)
  expect_no_match(said(calib_metrics(p, y, conf_level = 0.9, replicates = 20)), "mce:", fixed = TRUE)
  # of several forecasts, which
  both <- calib_metrics(list(full = c(p, 0.95), thin = c(p, 0.45)), c(y, 1), conf_level = 0.9, replicates = 20)
  expect_match(said(both), "decide mce and its p-value, for \"thin\"", fixed = TRUE)
  expect_no_match(said(both[both$forecast == "full", ]), "mce:", fixed = TRUE)
  by <- calib_metrics(c(p, 0.45, p), c(y, 1, y), by = rep(c("a", "b"), c(801, 800)), conf_level = 0.9, replicates = 20)
  expect_match(said(by), "decide mce and its p-value, for \"a\"", fixed = TRUE)
})
