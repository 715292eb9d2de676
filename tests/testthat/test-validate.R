# Validation of forecasts of an event.

stored <- readRDS(test_path("fixtures", "validate.rds"))
value <- function(table, name, column = "estimate") table[[column]][table$measure == name]

test_that("the numbers are those of rms::val.prob()", {
  set.seed(1)
  got <- calib_validate(plogis(stored$x), stored$y)
  val <- stored$val
  expect_equal(value(got, "c_index"), val[["C (ROC)"]], tolerance = 1e-5) # ties by its tolerance
  expect_equal(value(got, "brier_score"), val[["Brier"]], tolerance = 1e-10)
  expect_equal(value(got, "slope"), val[["Slope"]], tolerance = 1e-5)
  expect_equal(value(got, "slope_intercept"), val[["Intercept"]], tolerance = 1e-5)
  # Its curve is another one, a lowess.
  expect_lt(abs(value(got, "ici") - val[["Eavg"]]), .01)
  expect_lt(abs(value(got, "e90") - val[["E90"]]), .02)
  expect_lt(abs(value(got, "emax") - val[["Emax"]]), .04)
})

test_that("intercept and slopes are those of glm, with intervals by the robust covariance", {
  x <- stored$x
  y <- stored$y
  got <- calib_validate(plogis(x), y, conf_level = .9)
  held <- glm(y ~ offset(x), family = binomial)
  free <- glm(y ~ x, family = binomial)
  z <- qnorm(.95)
  check <- function(name, fit, i) {
    est <- unname(coef(fit)[i])
    design <- model.matrix(fit)
    meat <- crossprod(design * (y - fitted(fit)) / (1 - hatvalues(fit))) # HC3
    se <- sqrt((vcov(fit) %*% meat %*% vcov(fit))[i, i])
    expect_equal(c(value(got, name), value(got, name, "conf.low"), value(got, name, "conf.high")),
      c(est, est - z * se, est + z * se), tolerance = 1e-6)
  }
  check("intercept", held, 1)
  check("slope_intercept", free, 1)
  check("slope", free, 2)
  p <- plogis(x)
  expect_equal(value(got, "oe_ratio"), mean(y) / mean(p))
  expect_equal(value(got, "in_the_large"), mean(y) - mean(p))
  expect_equal(value(got, "scaled_brier"), 1 - mean((p - y)^2) / (mean(y) * (1 - mean(y))))
  expect_equal(value(got, "in_the_large", "conf.high"),
    mean(y) - mean(p) + z * sqrt(mean((y - p - mean(y - p))^2) / length(y)))
})

test_that("the c-index counts pairs, ties half, and its error is DeLong's", {
  set.seed(2)
  x <- round(rnorm(60), 1)
  y <- rbinom(60, 1, plogis(x))
  w <- sample(1:3, 60, TRUE)
  pairs <- outer(x[y == 1], x[y == 0], ">") + outer(x[y == 1], x[y == 0], "==") / 2
  weight <- outer(w[y == 1], w[y == 0])
  expect_equal(.Call(C_concordance, x, y, as.double(w))$value, sum(pairs * weight) / sum(weight))
  got <- .Call(C_concordance, x, y, NULL)
  expect_equal(got$value, mean(pairs))
  delong <- var(rowMeans(pairs)) * (sum(y) - 1) / sum(y)^2 + var(colMeans(pairs)) * (sum(1 - y) - 1) / sum(1 - y)^2
  expect_equal(sum(got$influence^2), delong)
})

test_that("intervals agree with the bootstrap", {
  skip_on_cran()
  set.seed(3)
  n <- 600
  x <- rnorm(n, -.5, 1.2)
  y <- rbinom(n, 1, plogis(.2 + .8 * x))
  p <- plogis(x)
  got <- as.data.frame(calib_validate(p, y))
  names <- c("oe_ratio", "in_the_large", "intercept", "slope", "c_index", "brier_score", "scaled_brier")
  drawn <- replicate(400, {
    i <- sample(n, n, TRUE)
    rbind(validate_means(p[i], y[i], NULL, NULL, NULL), validate_lines(p[i], y[i], NULL, NULL, NULL))[names, 1]
  })
  rows <- match(names, got$measure)
  half <- (got$conf.high - got$conf.low)[rows] / 2
  expect_lt(max(abs(log(half / (1.96 * apply(drawn, 1, sd))))), .2)
})

test_that("groups: repeated rows sharpen nothing; weights: neither", {
  set.seed(4)
  again <- rep(seq_along(stored$x), each = 3)
  once <- calib_validate(plogis(stored$x), stored$y)
  three <- calib_validate(plogis(stored$x[again]), stored$y[again], groups = again)
  heavy <- calib_validate(plogis(stored$x), stored$y, weights = rep(3, length(stored$x)))
  expect_equal(three$estimate[-(6:9)], once$estimate[-(6:9)], tolerance = 1e-6)
  width <- function(v) (v$conf.high - v$conf.low)[-(6:9)]
  expect_lt(max(abs(log(width(three) / width(once)))), .1)
  expect_lt(max(abs(log(width(heavy) / width(once)))), .1)
  expect_equal(heavy$estimate, once$estimate, tolerance = 1e-6)
})

test_that("by and classes give a part each", {
  p <- plogis(stored$x)
  by <- rep(c("u", "v"), c(300, 500))
  set.seed(5)
  got <- calib_validate(p, stored$y, by = by)
  expect_named(got, c("by", "measure", "estimate", "conf.low", "conf.high"))
  part <- calib_validate(p[by == "v"], stored$y[by == "v"])
  expect_equal(got$estimate[got$by == "v"], part$estimate)
  set <- random_forecast(300, 3)
  labels <- factor(letters[set$labels])
  many <- calib_validate(set$probs, labels)
  expect_identical(levels(many$class), c("a", "b", "c"))
  one <- calib_validate(set$probs, labels, event = "b")
  expect_equal(many$estimate[many$class == "b"], one$estimate)
  two <- calib_validate(set$probs[, 2], labels == "b")
  expect_equal(one$estimate, two$estimate)
  first <- calib_validate(1 - set$probs[, 2], factor(labels == "b", levels = c(TRUE, FALSE)), event_level = "first")
  expect_equal(first$estimate, two$estimate, tolerance = 1e-6) # the search for the smoothness ends elsewhere
})

test_that("print names what is wrong, and the picture is drawn", {
  set.seed(6)
  p <- plogis(stored$x + 1)
  valid <- calib_validate(p, stored$y)
  expect_output(print(valid), "too high on average: 0.\\d+\\s+events\\s+were\\s+observed")
  expect_output(print(valid), "Recalibration slope \\(Cox\\)")
  expect_output(print(calib_validate(p, stored$y, by = rep(1:2, 400))), "O:E")
  expect_no_match(paste(capture.output(print(calib_validate(p, stored$y, conf_level = NULL))), collapse = " "), "interval")
  plot <- autoplot(valid)
  expect_s3_class(plot, "ggplot")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(valid))
  expect_silent(print(autoplot(calib_validate(p, stored$y, by = rep(1:2, 400)))))
  expect_s3_class(valid[1:2, ], "data.frame")
  expect_lt(object.size(valid), 60000)
})

test_that("the picture has six classes, those with the smallest p-values, or the named ones", {
  set.seed(8)
  y <- factor(sample(letters[1:8], 800, TRUE, c(1, 3, 2, 5, 4, 8, 7, 6)))
  p <- matrix(rgamma(8 * 800, 1), 800, dimnames = list(NULL, letters[1:8]))
  p <- p / rowSums(p)
  valid <- calib_validate(p, y)
  shown <- function(...) suppressMessages(levels(autoplot(valid, ...)$data$forecast))
  expect_length(shown(), 6)
  expect_message(plot <- autoplot(valid), "6 of 8 classes are drawn", class = "gpcalib_message_classes")
  expect_match(plot$labels$subtitle, "6 of 8 classes, those with the smallest p-values")
  small <- suppressMessages(autoplot(valid, base_size = 7))$labels$subtitle
  expect_match(small, "\n", fixed = TRUE) # one line would be cut off
  expect_identical(gsub("\n", " ", small), plot$labels$subtitle)
  expect_match(attr(plot$labels$caption, "words"), "^N = 800")
  expect_identical(shown(classes = 8), letters[1:8])
  expect_identical(shown(classes = c("c", "a")), c("c", "a"))
  # Small panels have no numbers, and the caption does not explain them.
  words <- function(size) suppressMessages(attr(autoplot(valid, base_size = size)$labels$caption, "words"))
  expect_match(words(9), "O:E: observed to expected")
  expect_no_match(words(7), "O:E")
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(shown(classes = "z"), "classes")
  error(autoplot(calib_validate(p[, 1], y == "a"), classes = 2), "classes")
})

test_that("edges: no events, separated, zeros and ones", {
  p <- c(.1, .2, .3, .4, .6)
  expect_warning(got <- calib_validate(p, factor(rep(0, 5), levels = 0:1)), class = "gpcalib_warning_few")
  expect_true(all(is.nan(value(got, "c_index")), is.nan(value(got, "slope")), is.nan(value(got, "ici"))))
  expect_equal(value(got, "oe_ratio"), 0)
  q <- seq(.01, .99, length.out = 40)
  expect_warning(got <- calib_validate(q, as.integer(q > .5)), class = "gpcalib_warning_separated")
  expect_equal(value(got, "c_index"), 1)
  expect_warning(got <- calib_validate(c(0, q, 1), c(0, rep(0:1, 20), 1)), "2 probabilities are exactly 0 or 1, with infinite odds\\. For intercept and slope they get odds of 99 to 1\\. The curve limits all odds to 1,000 to 1; see \\?calib_validate\\.$", class = "gpcalib_warning_limited")
  expect_true(all(is.finite(got$estimate)))
  expect_error(calib_validate(p, c(0, 1, 0, 1, 1), conf_level = 2), class = "gpcalib_error_input")
  expect_error(calib_validate(p, c(0, 1, 0, 1, 1), event = "2"), class = "gpcalib_error_input")
  expect_error(calib_validate(p, c(0, 1, 0, 1, 1), groups = 1:3), class = "gpcalib_error_input")
})

test_that("a group of one row is printed without intervals, and counted in good grammar", {
  set.seed(1)
  p <- runif(60)
  y <- factor(rbinom(60, 1, p), levels = 0:1)
  expect_warning(got <- calib_validate(p, y, by = rep(c("one", "two"), c(1, 59))), "[01] events? in 1 row\\.",
    class = "gpcalib_warning_few")
  text <- capture.output(print(got))
  expect_false(any(grepl("NA to", text)))
  expect_match(text, "two +59", all = FALSE)
})

test_that("the verdict names what it speaks of", {
  set.seed(2)
  x <- rnorm(2000)
  steep <- calib_validate(plogis(2 * x), rbinom(2000, 1, plogis(x)))
  expect_output(print(steep), "The probabilities are too extreme: the recalibration slope is below 1")
  high <- calib_validate(plogis(2 * x + 1), rbinom(2000, 1, plogis(x)))
  expect_output(print(high), "too high on average.*They are too\\s+extreme")
})

test_that("probabilities that run against the event are said to, and no method is said to mend them", {
  set.seed(1)
  p <- runif(400)
  y <- rbinom(400, 1, p)
  v <- suppressWarnings(calib_validate(1 - p, y))
  expect_output(print(v), "contradict the event")
  expect_false(any(grepl("can correct", capture.output(print(v)))))
})

test_that("a validation says in words what it found", {
  set.seed(1)
  p <- runif(2000)
  y <- rbinom(2000, 1, p)
  valid <- calib_validate(p, y)
  expect_output(print(valid), "No miscalibration found: the intervals of O:E, slope and ICI contain their\\s+ideal\\s+values\\.")
  bent <- rbinom(2000, 1, plogis(qlogis(p) + 0.8 * sin(4 * qlogis(p))))
  expect_output(print(calib_validate(p, bent)), "No\\s+miscalibration\\s+of\\s+mean\\s+or\\s+slope\\s+was\\s+found,\\s+but\\s+the\\s+calibration\\s+curve departs.*Not\\s+calibrated\\s+on\\s+this\\s+population")
  by <- rep(c("men", "women"), 1000)
  low <- ifelse(by == "men", p / 2, p)
  expect_output(print(calib_validate(low, y, by = by)), "Miscalibrated \\(p below 0.05 after adjustment for 2 groups\\): \"men\" \\(O:E[^)]*\\)\\.\\s")
  expect_output(print(calib_validate(p, y, by = by)), "No miscalibration found: all intervals")
  few <- suppressWarnings(calib_validate(p[1:30], rep(0:1, c(26, 4))[rank(p[1:30])]))
  expect_output(print(few), "found|excludes|too")
  expect_identical(tidy(valid), as.data.frame(valid))
  expect_identical(summary(valid), valid)
})

test_that("small validations raise no warning but ours", {
  set.seed(2)
  for (i in 1:60) {
    n <- sample(2:12, 1)
    p <- round(runif(n), sample(1:3, 1))
    y <- factor(sample(0:1, n, TRUE, c(0.8, 0.2)), levels = 0:1)
    kinds <- list()
    withCallingHandlers(calib_validate(p, y, by = if (i %% 2) sample(1:2, n, TRUE)), warning = function(w) {
      kinds[[length(kinds) + 1]] <<- class(w)
      invokeRestart("muffleWarning")
    })
    expect_true(all(vapply(kinds, function(k) "gpcalib_warning" %in% k, NA)))
  }
})

test_that("of many classes the worst are drawn, others by name, and parts keep their curves", {
  set.seed(8)
  z <- matrix(rnorm(900 * 9), 900)
  y <- apply(z + matrix(-log(-log(runif(900 * 9))), 900), 1, which.max)
  z[, 4] <- z[, 4] + 1 # one class is stated too likely
  p <- exp(z) / rowSums(exp(z))
  colnames(p) <- letters[1:9]
  v <- calib_validate(p, factor(letters[y]))
  expect_message(plot <- autoplot(v), "classes = ", class = "gpcalib_message_classes")
  worst <- letters[1:9][order(attr(v, "p.value"))][1:6]
  expect_identical(worst[1], "d")
  strips <- function(plot) unique(as.character(ggplot2::ggplot_build(plot)$layout$layout[[4]]))
  expect_identical(sub(",? .*", "", strips(plot)), worst)
  expect_match(plot$labels$subtitle, "6 of 9 classes")
  expect_no_message(some <- autoplot(v, histogram = FALSE, classes = c("i", "b")))
  expect_identical(sub(",? .*", "", strips(some)), c("i", "b"))
  expect_identical(length(strips(autoplot(v, classes = 9))), 9L)
  expect_error(autoplot(v, classes = "z"), "classes", class = "gpcalib_error_input")
  expect_error(autoplot(calib_validate(p[, 1], y == 1), classes = "z"), "classes", class = "gpcalib_error_input")
  # rows of whole parts are a validation of these
  one <- v[v$class == "c", ]
  expect_s3_class(one, "calib_validation")
  expect_identical(strips(autoplot(one)), strips(autoplot(v, classes = "c")))
  expect_output(print(one), "each class against the rest")
  expect_identical(attr(one, "events"), attr(v, "events")[3])
  two <- v[v$class %in% c("c", "d"), ]
  expect_identical(attr(two, "p.value"), attr(v, "p.value")[3:4])
  # other rows are a table
  expect_identical(class(v[v$measure == "slope", ]), "data.frame")
  expect_identical(class(v[, c("class", "measure")]), "data.frame")
  expect_identical(v$estimate[3], v[3, "estimate"])
})

test_that("slopes that a few extreme probabilities decide are given with their odds limited", {
  set.seed(9)
  x <- rnorm(400)
  p <- plogis(x)
  y <- rbinom(400, 1, p)
  p[1:40] <- 1e-250
  y[1:40] <- c(1, rep(0, 39))
  v <- calib_validate(p, y)
  far <- attr(v, "far")
  expect_identical(far[["rows", 1]], 40)
  z <- pmax(qlogis(p), -log(1e4))
  fit <- glm(y ~ z, family = binomial)
  expect_equal(far[["slope", 1]], unname(coef(fit)[2]), tolerance = 1e-6)
  expect_true(far[["low", 1]] < far[["slope", 1]] && far[["slope", 1]] < far[["high", 1]])
  said <- gsub("\\s+", " ", paste(capture.output(print(v)), collapse = " "))
  expect_match(said, "The slope in the table depends on 40 rows with odds beyond 10,000 to 1. Report instead the slope with odds limited to 10,000 to 1: [0-9.]+ \\([-0-9.]+ to [-0-9.]+\\)\\.")
  two <- calib_validate(c(p, plogis(x)), c(y, y), by = rep(c("a", "b"), each = 400))
  words <- gsub("\\s+", " ", paste(capture.output(print(two)), collapse = " "))
  expect_match(words, "limited: the slope if odds are limited to 10,000 to 1. Where the two differ, report the limited slope: rows with more extreme odds decide the other one. (Intervals of the limited slope: attr(x, \"far\").)", fixed = TRUE)
  shown <- attr(two, "far")["slope", 1]
  expect_match(capture.output(print(two)), sprintf(" a .*\\) +%.3f +[0-9.]+ \\(", shown), all = FALSE)
  # zeros are no farther than that either
  zeros <- suppressWarnings(calib_validate(replace(p, 1:20, 0), y))
  expect_equal(attr(zeros, "far")[["rows", 1]], 20)
})

test_that("how many intervals are expected to exclude the ideal by chance is not rounded up to one", {
  set.seed(1)
  p <- runif(2000)
  y <- rbinom(2000, 1, p)
  by <- rep(c("men", "women"), 1000)
  v <- calib_validate(ifelse(by == "men", p / 2, p), y, by = by)
  v$conf.low[v$measure == "slope" & v$by == "women"] <- 1.01
  expect_match(gsub("\\s+", " ", paste(capture.output(print(v)), collapse = " ")),
    "\"men\" \\(O:E[^)]*\\). Single intervals also exclude the ideal value for \"women\" \\(slope > 1\\)\\. 1 of the 3 intervals of the groups not called miscalibrated excludes it; about 0.2 would by chance\\. This may be chance\\.")
})

test_that("zeros have no sign", {
  expect_identical(no_minus_zero(c("-0.000", "-0.001", "0.00", "-0", "-10.000")), c("0.000", "-0.001", "0.00", "0", "-10.000"))
})

test_that("probabilities that nearly tie do not leave the curve without a covariance", {
  near <- function(by, seed) with_seed(seed, c(rep(1e-4, 54), 0.05, 0.05, 0.6 + by * stats::runif(20), rep(0.9999, 45)))
  events <- rep(rep(c(TRUE, FALSE), 4), c(11, 43, 0, 2, 4, 16, 24, 21))
  for (by in c(1e-2, 1e-3, 1e-5, 1e-8)) for (seed in 1:8) {
    got <- suppressWarnings(calib_validate(near(by, seed), events))
    expect_lt(attr(got, "p.value"), 1e-50)
    expect_gt(got$conf.low[got$measure == "ici"], 0.1)
  }
  expect_gt(min(diff(spline_knots(sort(near(1e-8, 1))))), 5e-4)
})

test_that("a limit above 0 is not printed as 0", {
  expect_identical(say_decimals(c(0, 1e-5, -1e-5, 0.25), 3), c("0.000", "<0.001", "0.000", "0.250"))
  expect_identical(say_ends(c(0, 1e-5, -1e-5, 0.25), 3), c("0", "<0.001", "0.000", "0.250"))
})

test_that("more intervals that exclude the ideal than by chance are not said to be chance", {
  off <- function(out, of) matrix(rep(c(TRUE, FALSE), c(out, of - out)), 3)
  expect_identical(say_excluded(off(19, 30), 0.95, "classes", FALSE),
    "19 of the 30 intervals exclude it; about 1.5 would by chance. This is more than chance explains: some of these classes are likely to be off somewhat.")
  expect_match(say_excluded(off(9, 15), 0.95, "classes", TRUE), "^9 of the 15 intervals of the classes not called miscalibrated exclude it; about 0.8 .* are likely to be off somewhat, too\\.$")
  expect_match(say_excluded(off(4, 30), 0.95, "classes", FALSE), "4 of the 30 .* This may be chance\\.$")
  expect_false(may_be_chance(off(5, 30), 0.95))
})

test_that("the intercept of a slope is told next to it", {
  set.seed(1)
  x <- rnorm(4000)
  said <- function(line) gsub("\\s+", " ", paste(capture.output(print(calib_validate(plogis(x), rbinom(4000, 1, plogis(line))))), collapse = " "))
  expect_match(said(-1 + 0.5 * x), "slope is below 1\\. Its intercept \\(-[0-9.]+\\) differs from 0, too\\.")
  expect_match(said(-1 + 0.5 * x), "Intercept (with that slope)", fixed = TRUE)
  expect_no_match(said(-1 + 0.5 * x), "fitted together")
})

test_that("odds are limited by the number of rows of each group", {
  q <- seq(.01, .99, length.out = 1998)
  got <- function(...) gsub("\\s+", " ", conditionMessage(expect_warning(calib_validate(...), class = "gpcalib_warning_limited")))
  y <- c(0, rep(0:1, 999), 1)
  expect_match(got(c(0, q, 1), y), "The curve limits all odds to 2,000 to 1; see ?calib_validate.", fixed = TRUE)
  expect_match(got(c(0, q, 1), y, by = rep(c("a", "b"), c(500, 1500))), "The curve limits all odds to the number of rows (at least 1,000) to 1; see ?calib_validate.", fixed = TRUE)
  half <- seq(.01, .99, length.out = 998)
  both <- c(0, half, 1, 0, 0.0002, half[-1], 1)
  outcome <- rep(c(0, rep(0:1, 499), 1), 2)
  expect_match(got(both, outcome, by = rep(c("a", "b"), each = 1000)), "4 probabilities .* For intercept and slope they get the most extreme odds of other rows \\(1,001 to 1 up to 4,999 to 1, depending on the group\\)\\.")
})

test_that("few events: neither words nor picture make them look like many", {
  set.seed(1)
  x <- stats::qlogis(.06) + stats::rnorm(300)
  y <- stats::rbinom(300, 1, stats::plogis(x))
  few <- calib_validate(stats::plogis(x), y)
  said <- gsub("\\s+", " ", paste(utils::capture.output(print(few)), collapse = " "))
  slope <- few[few$measure == "slope", ]
  expect_match(said, sprintf("But %d events leave much open (slopes from %.2f to %.2f are possible), and a bent curve may look straight.", sum(y),
    slope$conf.low, slope$conf.high), fixed = TRUE)
  words <- function(plot) attr(plot$labels$caption, "words")
  expect_match(words(autoplot(few)), paste0("Only ", sum(y), " events: a bent curve may look straight"))
  turned <- calib_validate(1 - stats::plogis(x), 1 - y)
  expect_match(words(autoplot(turned)), paste0("Only ", sum(y), " non-events: a bent"))
  expect_match(words(plot_reliability(list(a = stats::plogis(x), b = stats::plogis(x)), y, method = "smooth")), "Where there are fewer than 50 events or non-events, a bent")
  # enough of both: not a word
  x <- stats::rnorm(300)
  many <- calib_validate(stats::plogis(x), stats::rbinom(300, 1, stats::plogis(x)))
  expect_no_match(words(autoplot(many)), "bent")
  expect_no_match(paste(utils::capture.output(print(many)), collapse = " "), "bent")
})

test_that("the picture has the limited slope where print() has it", {
  set.seed(1)
  x <- stats::rnorm(400)
  y <- stats::rbinom(400, 1, stats::plogis(x))
  corner <- function(valid) attr(attr(valid, "tables")[[1]], "corner")
  plain <- calib_validate(stats::plogis(x), y)
  expect_no_match(corner(plain), "limited")
  x[1:3] <- c(-60, -50, -40)
  y[1:3] <- c(0, 1, 0)
  far <- calib_validate(stats::plogis(x), y)
  expect_match(corner(far), sprintf("\nlimited slope %.3f\n", attr(far, "far")["slope", 1]), fixed = TRUE)
  expect_match(attr(autoplot(far)$labels$caption, "words"), "(best: 1); limited slope: the same with odds beyond 10,000 to 1 set to 10,000 to 1;", fixed = TRUE)
})

test_that("a class that never occurs is judged by its mean, and counted apart from the tests", {
  set.seed(5)
  p <- matrix(rgamma(3000, 1), 1000) %*% diag(c(1, 1, 0.2))
  p <- p / rowSums(p)
  y <- factor(ifelse(runif(1000) < p[, 1] / (p[, 1] + p[, 2]), 1, 2), levels = 1:3)
  expect_warning(v <- calib_validate(p, y), "in 1 of 3 classes (the first is \"3\"): 0 events", fixed = TRUE)
  said <- gsub("\\s+", " ", paste(capture.output(print(v)), collapse = " "))
  expect_match(said, "Without a p-value, for want of events or of non-events, but with an interval that excludes the ideal value: \"3\" (O:E < 1).", fixed = TRUE)
  expect_match(said, "after adjustment for 2 classes with events and non-events", fixed = TRUE)
})

test_that("of many classes those without events are not drawn", {
  set.seed(6)
  p <- matrix(rgamma(8000, 1), 1000)
  p <- p / rowSums(p)
  y <- factor(max.col(log(p) - log(-log(matrix(runif(8000), 1000)))), levels = 1:8)
  y[y %in% c("3", "5")] <- "1"
  v <- suppressWarnings(calib_validate(p, y))
  expect_no_error(suppressMessages(ggplot2::ggplot_build(autoplot(v))))
  expect_identical(validated_shown(v, NULL), setdiff(order(attr(v, "p.value"))[1:6], c(3, 5)))
  expect_length(validated_shown(v, "3"), 1)
})

test_that("a class without events is no finding by itself: exact limits of its rate", {
  # 2 expected, none observed: P(0) = .13, so that O:E = 1 is within the limits; 20 expected: it is not.
  one <- function(p, ...) suppressWarnings(calib_validate(p, factor(rep("no", length(p)), c("no", "yes")), ...))
  ends <- function(x, measure) unlist(x[x$measure == measure, c("estimate", "conf.low", "conf.high")], use.names = FALSE)
  p <- rep(c(.005, .015), 100)
  few <- one(p)
  upper <- stats::binom.test(0, 200)$conf.int[2]
  expect_equal(ends(few, "oe_ratio"), c(0, 0, upper / mean(p)))
  expect_equal(ends(few, "in_the_large"), c(-mean(p), -mean(p), upper - mean(p)))
  expect_gt(ends(few, "oe_ratio")[3], 1)
  said <- gsub("\\s+", " ", paste(capture.output(print(few)), collapse = " "))
  expect_match(said, "There are no events: the interval of O:E contains its ideal value, but the slope and the curve are undefined, so that only a mean that is far too high could be found.", fixed = TRUE)
  expect_no_match(said, "No miscalibration found|excludes")
  expect_lt(ends(one(rep(c(.05, .15), 100)), "oe_ratio")[3], 1)
  # All events: the mirror image. Weights count as the effective number of rows, clusters as one row each.
  all <- suppressWarnings(calib_validate(1 - p, factor(rep("yes", 200), c("no", "yes"))))
  expect_equal(ends(all, "in_the_large"), -ends(few, "in_the_large")[c(1, 3, 2)])
  expect_equal(ends(one(p, weights = rep(c(1, 3), 100)), "oe_ratio")[3], (1 - .025^(1 / 160)) / mean(p[c(1, 2, 2, 2)]))
  expect_equal(ends(one(p, groups = rep(1:50, 4)), "oe_ratio")[3], stats::binom.test(0, 50)$conf.int[2] / mean(p))
})

test_that("a picture has slopes of one kind, and says where there are no events", {
  set.seed(1)
  x <- stats::rnorm(800)
  y <- stats::rbinom(800, 1, stats::plogis(x))
  x[1:3] <- c(-60, -50, -40)
  y[1:3] <- c(0, 1, 0)
  valid <- calib_validate(stats::plogis(x), y, by = rep(c("far", "near"), each = 400))
  corners <- function(plot) {
    layers <- lapply(plot$layers, function(layer) layer$data$label)
    unlist(layers[lengths(layers) > 0])
  }
  expect_match(corners(autoplot(valid)), "\nlimited slope [0-9.]+\n")
  near <- as.data.frame(valid)
  slope <- near$estimate[near$by == "near" & near$measure == "slope"]
  expect_match(corners(autoplot(valid))[2], sprintf("limited slope %.3f", slope), fixed = TRUE)
  expect_match(corners(autoplot(valid[valid$by == "near", ])), "\nslope", fixed = TRUE)
  p <- matrix(stats::rgamma(900, 1), 300)
  p <- p / rowSums(p)
  none <- suppressWarnings(calib_validate(p, factor(rep(1:2, 150), 1:3)))
  plot <- autoplot(none)
  expect_identical(corners(plot)[3], "no events")
  ribbon <- Filter(function(layer) inherits(layer$geom, "GeomRibbon"), plot$layers)[[1]]$data
  expect_identical(as.character(unique(ribbon$forecast)), c("1", "2"))
  expect_match(attr(plot$labels$caption, "words"), "O:E: observed", fixed = TRUE)
  alone <- autoplot(suppressWarnings(calib_validate(p, factor(rep(1:2, 150), 1:3), event = "3")))
  expect_identical(corners(alone), "no events")
  expect_no_match(attr(alone$labels$caption, "words"), "O:E|bent")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(print(plot))
  expect_silent(print(alone))
})

test_that("a c-index of 1 is not above it by rounding of the weights", {
  n <- 60
  hit <- rep(c(FALSE, TRUE), c(25, 35))
  for (seed in 1:20) {
    set.seed(seed)
    w <- runif(n)
    silent <- TRUE
    out <- withCallingHandlers(calib_validate(0.4 + seq_len(n) / 300, hit, weights = w), warning = function(warning) {
      if (!inherits(warning, "gpcalib_warning")) silent <<- FALSE
      invokeRestart("muffleWarning")
    })
    expect_true(silent)
    expect_lte(out$estimate[out$measure == "c_index"], 1)
  }
})

test_that("a list of forecasts is refused with what to write instead", {
  p <- c(0.2, 0.7, 0.4, 0.9)
  y <- c(0, 1, 1, 1)
  expect_error(calib_validate(list(raw = p, new = p / 2), y),
    "`probs` is a list of 2 forecasts. Give one at a time: lapply(probs, calib_validate, labels = labels)", fixed = TRUE, class = "gpcalib_error_input")
  expect_error(calib_validate(list(p), y), "`probs` is a list of 1 forecast. Give one at a time: probs[[1]].", fixed = TRUE)
  labels <- c(y, y)
  probs <- list(raw = c(p, p), new = c(p, p) / 2)
  each <- suppressWarnings(lapply(probs, calib_validate, labels = labels, conf_level = NULL))
  expect_equal(each$new$estimate, suppressWarnings(calib_validate(probs$new, labels, conf_level = NULL))$estimate)
})

test_that("where thousands of rows have no event the band is that of the next rows, not of unknown log-odds", {
  x <- with_seed(71, c(stats::rnorm(3000, -12, 1.5), stats::rnorm(1000, 0, 2)))
  y <- with_seed(72, c(rep(0, 3000), stats::rbinom(1000, 1, stats::plogis(3 * x[3001:4000]))))
  fit <- smooth_fit(stats::plogis(x), y)
  at <- c(-8, 0, 2)
  curve <- smooth_at(fit, at, 2)
  expect_gt(curve$error[1], unknown_error)
  sharp <- sharpen_limits(fit, at, curve, 0.95)
  # by hand: the 200 rows from -8 on (of those limited at -log(4000) none is beyond it)
  next_ones <- order(x)[sort(x) >= at[1]][1:200]
  by_hand <- stats::qbeta(0.975, 1 + sum(y[next_ones]), 200 - sum(y[next_ones]))
  expect_lt(abs(sharp$high[1] - by_hand), 0.01)
  expect_lt(sharp$high[1], curve$high[1])
  expect_identical(lapply(sharp, `[`, 2:3), lapply(curve, `[`, 2:3)) # elsewhere nothing changes
  band <- attr(reliability_table(stats::plogis(x), y, method = "smooth"), "band")
  expect_true(all(band$conf.low <= band$observed & band$observed <= band$conf.high))
  # the other end is the mirror image
  other <- smooth_fit(stats::plogis(-x), 1 - y)
  mirror <- smooth_at(other, -at, 2)
  expect_equal(sharpen_limits(other, -at, mirror, 0.95)$low, 1 - sharp$high, tolerance = 0.05)
})

test_that("examples of print() are within the probabilities that a fit of two classes has seen", {
  p <- with_seed(73, stats::runif(400, 0.4, 0.6))
  y <- with_seed(74, stats::rbinom(400, 1, stats::plogis(20 * (p - 0.5))))
  expect_output(print(suppressWarnings(calib_gp(p, y))), "a probability of 0\\.42 becomes .*, 0\\.5 becomes .*, 0\\.58 becomes")
})
