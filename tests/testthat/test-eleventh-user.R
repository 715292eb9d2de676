# What an eleventh user and a second look at all pictures found.

said <- function(x) gsub("\\s+", " ", paste(capture.output(print(x)), collapse = " "))

# Probabilities whose only overlap lies among those below 1e-8: limited odds separate the events.
apart <- function(n = 600) {
  set.seed(4)
  x <- c(stats::rnorm(n / 2, -40, 5), stats::rnorm(n / 2, 6, 3))
  y <- rep(0:1, each = n / 2)
  y[1:3] <- 1
  list(p = stats::plogis(x), y = y)
}

test_that("where limited odds separate the events there is no slope to report, in words and in the picture", {
  d <- apart()
  valid <- suppressWarnings(calib_validate(d$p, d$y))
  expect_lt(valid$estimate[valid$measure == "slope"], 0.9)
  expect_identical(attr(valid, "far")[["slope", 1]], Inf)
  limited <- pmin(pmax(stats::qlogis(d$p), -log(1e4)), log(1e4))
  expect_gte(min(limited[d$y == 1]), max(limited[d$y == 0]))
  expect_match(said(valid), "Do not report it: if odds are limited to 10,000 to 1, they separate the events from the other rows, and there is no slope.", fixed = TRUE)
  corner <- function(plot) unlist(lapply(plot$layers, function(layer) if (is.data.frame(layer$data)) layer$data$label))
  expect_match(corner(autoplot(valid)), "limited slope undefined", all = FALSE)
  set.seed(1)
  x <- stats::rnorm(600)
  two <- suppressWarnings(calib_validate(c(d$p, stats::plogis(x)), c(d$y, stats::rbinom(600, 1, stats::plogis(x))), by = rep(c("far", "near"), each = 600)))
  expect_match(said(two), "far 303 .*\\) none .* none: limited odds separate the events from the other rows, so that no slope can be given\\.")
  expect_identical(unname(attr(two, "far")["slope", 2]), NA_real_)
  drawn <- corner(autoplot(two))
  expect_match(drawn[1], "limited slope undefined")
  expect_match(drawn[2], "limited slope [0-9.]+\n")
})

test_that("the slope of scores that separate is infinite, of others it is none", {
  expect_identical(separated_slope(c(1, 2, 3), c(0, 0, 1), NULL), Inf)
  expect_identical(separated_slope(c(1, 2, 2), c(0, 0, 1), NULL), Inf)
  expect_identical(separated_slope(c(3, 2, 1), c(0, 0, 1), NULL), -Inf)
  expect_identical(separated_slope(c(2, 2, 2), c(0, 0, 1), NULL), NaN)
  expect_identical(separated_slope(c(1, 2, 3), c(1, 1, 1), NULL), NaN)
  expect_identical(separated_slope(c(1, 9, 2, 3), c(0, 0, 0, 1), c(1, 0, 1, 1)), Inf)
})

test_that("p-values of chosen classes remain adjusted for all", {
  set.seed(2)
  z <- matrix(stats::rnorm(1500), 500)
  p <- exp(z) / rowSums(exp(z))
  y <- apply(p^2, 1, function(q) sample(3, 1, prob = q))
  valid <- suppressWarnings(calib_validate(p, y))
  holm <- stats::p.adjust(attr(valid, "p.value"), "holm")
  one <- valid[valid$class == "2", ]
  expect_equal(validation_p(one), holm[2])
  expect_equal(attr(one, "p.value"), attr(valid, "p.value")[2]) # as before
  expect_equal(validation_p(one[one$class == "2", ]), holm[2])
  worst <- which.min(holm)
  expect_lt(holm[worst], 0.05)
  chosen <- said(valid[valid$class == worst, ])
  expect_match(chosen, "after adjustment for all 3 classes")
  expect_no_match(chosen, "for 1 classes|these classes")
})

test_that("a bin of many rows has limits of its own rows where the curve is unknown", {
  d <- apart()
  table <- suppressWarnings(reliability_table(d$p, d$y, method = "smooth"))
  last <- as.data.frame(table)[nrow(table), ]
  expect_gt(last$n, 250)
  own <- d$y[d$p >= last$lower]
  exact <- stats::binom.test(sum(own), length(own))$conf.int
  expect_gte(last$conf.low, exact[1] - 1e-6)
  expect_gt(last$conf.low, 0.9)
  # the whole band is another matter
  both <- suppressWarnings(reliability_table(d$p, d$y, method = "smooth", band = "simultaneous"))
  expect_lt(as.data.frame(both)[nrow(both), "conf.low"], last$conf.low)
})

test_that("differences to a method that failed in some splits have no error of other splits", {
  count <- 0
  sometimes <- function(scores, labels, ...) {
    count <<- count + 1
    if (count %% 2 == 0) stop("no luck")
    calib_temperature(scores, labels)
  }
  rows <- c(1:300, 2001:2600)
  set.seed(3)
  study <- suppressWarnings(calib_study(rain_nyc$prob[rows] * 0.98 + 0.01, rain_nyc$rain[rows], list("none", "temperature", sometimes = sometimes), n_cal = 450,
    splits = 6, metrics = c("log_loss", "brier_score")))
  table <- summary(study, reference = "sometimes")
  row <- table[table$method == "temperature", ]
  expect_gt(table$failed[table$method == "sometimes"][1], 0)
  expect_equal(row$difference, c(0, 0))
  expect_equal(row$diff.error, c(0, 0))
  other <- table[table$method == "none" & table$metric == "log_loss", ]
  own <- as.data.frame(study)
  own <- own[own$metric == "log_loss" & is.na(own$error), ]
  both <- intersect(own$split[own$method == "sometimes"], own$split[own$method == "none"])
  apart <- own$value[own$method == "none" & own$split %in% both] - own$value[own$method == "sometimes" & own$split %in% both]
  expect_equal(other$diff.error, stats::sd(apart) * sqrt(1 / length(both) + mean(own$n_test) / mean(own$n_cal)))
})

test_that("bars that are known to be too long are called so", {
  set.seed(3)
  study <- calib_study(rain_nyc$prob * 0.98 + 0.01, rain_nyc$rain, c("none", "temperature"), n_cal = 300, splits = 3, metrics = c("ece", "brier_score"))
  words <- function(plot) attr(plot$labels$caption, "words")
  expect_match(words(autoplot(study)), "Bars of ECE are too long", fixed = TRUE)
  expect_no_match(words(autoplot(study, metrics = "brier_score")), "too long")
})

test_that("0 is among the breaks of differences even where there is room for few", {
  expect_true(0 %in% round(study_breaks(c(-0.16, 0.02), 3), 12))
  expect_lte(length(study_breaks(c(-0.16, 0.02), 3)), 3)
  expect_true(0 %in% round(study_breaks(c(-0.31, 0.4), 3), 12))
})

test_that("\"the first of equals\" is said where one that is left out is as large, and only there", {
  expect_true(is_tie(c(a = 5, b = 3, c = 3), 2, FALSE))
  expect_false(is_tie(c(a = 5, b = 5, c = 3), 2, FALSE))
  expect_true(is_tie(c(a = 5, b = 3, c = 3), 1, TRUE))
  expect_false(is_tie(c(a = 5, b = 3, c = 0), 2, FALSE)) # empty ones are never drawn
  expect_false(is_tie(c(a = 5, b = 5), 2, FALSE))
  set.seed(5)
  y <- rep(letters[1:4], c(40, 40, 30, 30))
  p <- matrix(stats::runif(140 * 4), 140, dimnames = list(NULL, letters[1:4]))
  p <- p / rowSums(p)
  words <- function(...) attr(plot_reliability(p, y, type = "classwise", ...)$labels$caption, "words")
  expect_match(words(classes = 3), "the first of equals")
  expect_no_match(words(classes = 2), "the first of equals")
  expect_match(words(classes = 1, rarest = TRUE), "the first of equals")
  expect_no_match(words(classes = 2, rarest = TRUE), "the first of equals")
})

test_that("Murphy curves that lie on each other are named", {
  set.seed(6)
  p <- stats::runif(400)
  y <- stats::rbinom(400, 1, p)
  words <- function(...) attr(plot_murphy(list(...), y)$labels$caption, "words")
  expect_match(words(one = p, other = p^1.0005, third = p^2), "The curves of \"one\" and \"other\" nearly coincide.", fixed = TRUE)
  expect_no_match(words(one = p, third = p^2), "coincide")
})

test_that("numbers stand in the corners of most panels or of none", {
  set.seed(7)
  p <- stats::runif(1200)
  y <- stats::rbinom(1200, 1, 1 - p)
  corner <- function(...) {
    plot <- suppressWarnings(plot_reliability(..., type = "event"))
    unlist(lapply(plot$layers, function(layer) if (inherits(layer$geom, "GeomFitText")) layer$data$label))
  }
  few <- corner(lapply(stats::setNames(seq_len(4), letters[1:4]), function(i) p), y) # both corners are taken in all
  good <- stats::rbinom(1200, 1, p)
  mixed <- corner(list(a = p, b = p, c = p, d = p), list(good, y, y, good))
  expect_true(all(!nzchar(few)))
  expect_true(all(nzchar(corner(list(a = p, b = p, c = p, d = p), good))))
  expect_true(all(!nzchar(mixed)))
})

test_that("names cut at their end in a legend end in dots", {
  expect_identical(cut_end(c("Power of GP, shared map", "Platt"), 16), c("Power of GP...", "Platt"))
  expect_lte(nchar(cut_end(c("Power of GP, shared map", "Platt"), 16)[1]), 16)
})

test_that("smooth curves that end early are said to, whichever class they are of", {
  set.seed(12)
  p <- stats::rbeta(600, 1, 1)
  q <- cbind(a = p, b = 0.1 * (1 - p), c = 0.9 * (1 - p))
  y <- apply(q, 1, function(row) sample(c("a", "b", "c"), 1, prob = row))
  words <- function(...) attr(plot_reliability(q, y, method = "smooth", ...)$labels$caption, "words")
  expect_match(words(type = "classwise"), "drawn only where the middle 98 % of the probabilities lie")
  expect_no_match(words(type = "classwise", classes = "a"), "drawn only")
})

test_that("weak evidence of one validation names the test that may find more", {
  found <- character()
  for (seed in 1:60) {
    set.seed(seed)
    p <- stats::runif(400, 0.05, 0.95)
    words <- said(calib_validate(p, stats::rbinom(400, 1, p)))
    if (grepl("This is weak evidence", words)) found <- c(found, words)
  }
  expect_gt(length(found), 2)
  expect_match(found, "before recalibrating. calib_test() may find more: its methods see different errors.", fixed = TRUE)
})

test_that("a vector of probabilities beyond 1 loses the other class, and says so", {
  set.seed(13)
  p <- stats::runif(200)
  y <- stats::rbinom(200, 1, p)
  p[1:3] <- 1.00001
  y[1:3] <- 1
  warned <- expect_warning(calib_temperature(p, y), "`scores` has 3 values a little above 1 \\(by up to 1e-05\\), which count as 1: one of the classes is then impossible", class = "gpcalib_warning_clamped")
  expect_match(conditionMessage(warned), "give them as a matrix, whose rows are divided by their sums", fixed = TRUE)
  expect_warning(calib_temperature(replace(p, 1:3, c(-1e-5, 1, 0)), y), "has a value a little below 0 \\(by up to 1e-05\\), which counts as 0", class = "gpcalib_warning_clamped")
  expect_no_warning(calib_temperature(replace(p, 1:3, c(1, 1, 1 + 1e-15)), y), class = "gpcalib_warning_clamped")
})

test_that("the band does not widen where a steep curve has reached 0 or 1", {
  set.seed(16) # votes of a forest, far too cautious: all rows below .15 are of one class, all above .6 of the other
  p <- c(stats::rbeta(1600, 0.6, 12), stats::rbeta(240, 6, 1.2))
  y <- stats::rbinom(length(p), 1, stats::plogis(30 * (p - 0.38)))
  fit <- smooth_fit(p, y)
  at <- c(0.07, 0.1, 0.65, 0.7, 0.8)
  x <- stats::qlogis(at)
  plain <- smooth_at(fit, x, stats::qnorm(0.975))
  sharp <- sharpen_limits(fit, x, plain, 0.95)
  expect_true(any(plain$error > unknown_error))
  expect_true(all(sharp$low >= plain$low & sharp$high <= plain$high & sharp$low <= sharp$value & sharp$high >= sharp$value))
  # of a curve that increases
  grid <- seq(min(fit$cells$x), max(fit$cells$x), length.out = 300)
  band <- sharpen_limits(fit, grid, smooth_at(fit, grid, stats::qnorm(0.975)), 0.95)
  firm <- band$error <= unknown_error
  for (i in which(!firm)) {
    before <- which(firm & grid < grid[i])
    after <- which(firm & grid > grid[i])
    if (length(before)) expect_gte(band$low[i], min(band$value[i], band$low[max(before)]) - 0.02)
    if (length(after)) expect_lte(band$high[i], max(band$value[i], band$high[min(after)]) + 0.02)
  }
})

test_that("one full bin in the middle is told beside the ece and in the picture", {
  set.seed(17)
  p <- c(stats::rnorm(950, 0.5, 0.008), stats::runif(50))
  y <- stats::rbinom(1000, 1, as.double(p > 0.5))
  metrics <- suppressWarnings(calib_metrics(p, y))
  expect_match(said(metrics), "ece: 9[0-9] % of the rows are in one bin, which hides errors within it: use binning = \"mass\", or the ICI of calib_validate()", fixed = FALSE)
  expect_gt(ece(p, y, binning = "mass"), 2 * metrics$estimate[metrics$measure == "ece"])
  expect_match(attr(plot_reliability(p, y)$labels$caption, "words"), "Where most scores are in few of the bins")
  expect_match(said(suppressWarnings(calib_metrics(list(a = p, b = stats::runif(1000)), y))), "ece: one bin has 9[0-9] % of the rows or more for \"a\"")
  # the first and the last bin are full in most data
  rare <- stats::rbeta(1000, 0.2, 10)
  event <- stats::rbinom(1000, 1, rare)
  expect_no_match(said(suppressWarnings(calib_metrics(rare, event))), "in one bin")
  expect_no_match(attr(plot_reliability(rare, event, histogram = FALSE)$labels$caption, "words"), "Where most")
  expect_no_match(said(suppressWarnings(calib_metrics(p, y, binning = "mass"))), "in one bin")
})

test_that("what is wrong with classes is named with its side, the clearest first", {
  set.seed(18)
  z <- matrix(stats::rnorm(2400), 800, dimnames = list(NULL, c("a", "b", "c")))
  y <- c("a", "b", "c")[max.col(2.5 * z + rep(c(0, 0, 1.5), each = 800) - log(-log(matrix(stats::runif(2400), 800))))]
  p <- exp(z) / rowSums(exp(z))
  valid <- calib_validate(p, y)
  words <- said(valid)
  expect_match(words, "\"c\" (O:E > 1, slope > 1, ICI)", fixed = TRUE)
  expect_match(words, "O:E > 1: probabilities too low on average; O:E < 1: too high on average; slope > 1: too cautious.", fixed = TRUE)
  first <- sub(".*adjustment for 3 classes\\): \"(.)\".*", "\\1", words)
  expect_identical(first, c("a", "b", "c")[which.min(attr(valid, "p.value"))])
})

test_that("summary() and the picture place the straight line alike", {
  cal <- letters_nn$cal
  fit <- suppressWarnings(calib_gp(cal$scores[1:600, ], cal$labels[1:600], class_effects = "none", integrate = FALSE))
  out <- summary(fit)
  average <- latent_average(list(seen = fit$scores_seen, range = fit$range))
  map <- function(at) .Call(C_gp_latent, fit, at)$mean - fit$hyper[["slope"]] * at
  at <- out$departure$z
  expect_equal(out$departure$departure, map(at) - sum(average$p * map(average$z)), tolerance = 1e-5)
})
