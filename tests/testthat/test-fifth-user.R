# What a statistician who read only the README stumbled over: verdicts, intervals of far scores, pictures.

far <- local({ # scores of a discriminant analysis: probabilities of 1e-30 among them, curves that bend
  set.seed(2)
  x <- c(rnorm(1900, -1, 2), -rexp(100, 0.05))
  list(p = plogis(x), y = rbinom(2000, 1, plogis(x + 1.5 * sin(1.5 * pmax(x, -8)))))
})

test_that("far scores leave Emax an interval, and the picture no spike", {
  set.seed(1)
  got <- as.data.frame(calib_validate(far$p, far$y))
  emax <- got[got$measure == "emax", ]
  expect_lt(emax$conf.high, 0.5)
  expect_gt(emax$estimate, 0.1)
  # The largest distance among the rows between the percentiles, and not of those beyond.
  fit <- smooth_fit(far$p, far$y)
  x <- curve_log_odds(far$p, 2000)$x
  gap <- abs(smooth_at(fit, x)$value - plogis(x))
  ends <- quantile(far$p, c(0.01, 0.99), type = 1)
  expect_equal(emax$estimate, max(gap[far$p > ends[1] & far$p <= ends[2]]), tolerance = 1e-4) # of cells
  band <- attr(reliability_table(far$p, far$y, method = "smooth"), "band")
  expect_gte(min(band$score), plogis(-log(2000)) - 1e-12)
  expect_lte(max(band$score), ends[2] + 1e-12)
  # A single event where the forecast says 1e-4 does not turn the curve up.
  p <- plogis(c(seq(-6, 3, length.out = 1999), -9))
  y <- c(as.integer(seq_len(1999) %% 50 == 0 | p[-2000] > 0.6), 1L)
  band <- attr(reliability_table(p, y, method = "smooth"), "band")
  expect_gt(min(band$score), 1e-3)
  caption <- function(p, y) gsub("\n", " ", autoplot(calib_validate(p, y))$labels$caption)
  expect_match(caption(p, y), "drawn only where the middle 98 % of the probabilities lie")
  expect_no_match(caption(rep(1:499 / 500, 2), rep(0:1, 499)), "middle 98 %") # nothing to see of it
})

test_that("few rows keep their ends", {
  cells <- list(x = as.double(1:50), w = rep(1, 50))
  expect_equal(inner_range(cells), c(1, 50))
  expect_equal(inner_range(list(x = as.double(1:1000), w = rep(1, 1000))), c(11, 990))
  expect_equal(inner_range(list(x = as.double(1:4), w = c(1, 500, 500, 1))), c(2, 3))
  expect_equal(curve_log_odds(c(1e-9, 0.5), 2)$x, c(-log(1000), 0))
})

test_that("the verdict of a validation names the curve beside the mean", {
  set.seed(3)
  x <- rnorm(3000)
  y <- rbinom(3000, 1, plogis(x + 0.3 + sin(2 * x)))
  said <- validation_verdict(calib_validate(plogis(x), y))
  expect_match(said, "too low on average")
  expect_match(said, "The calibration curve departs from the diagonal, by 0\\.[0-9]+ on average \\(ICI\\): see autoplot")
  expect_match(said, "Already calibrated\\? .*limited number of calibration rows, .*calibrate again only with more rows\\.$")
})

test_that("no miscalibration is found only where no interval excludes its ideal value", {
  valid <- calib_validate(far$p, far$y)
  place <- function(low, high) { # of a calibrated forecast, with one interval moved
    valid$estimate[1:9] <- c(1, 0, 0, 1, 0, 0.01, 0.01, 0.02, 0.03)
    valid$conf.low[1:9] <- c(0.9, -0.1, -0.1, 0.9, low, 0, 0, 0, 0)
    valid$conf.high[1:9] <- c(1.1, 0.1, 0.1, 1.1, high, 0.1, 0.1, 0.1, 0.1)
    valid$estimate[5] <- (low + high) / 2
    attr(valid, "p.value") <- 0.5
    validation_verdict(valid)
  }
  expect_match(place(-0.4, 0.3), "^No miscalibration found.*There is no reason to calibrate these probabilities \\(again\\)\\.$")
  just <- place(-0.788, -0.007)
  expect_no_match(just, "No miscalibration")
  expect_match(just, "The interval of the intercept fitted together with the slope excludes the ideal value 0\\. Only the mean is off, and barely: for perfectly calibrated")
  expect_match(just, "in about 1 of 7 validations")
  clear <- place(-0.788, -0.3)
  expect_match(clear, "intercept fitted together with the slope excludes")
  expect_match(clear, "calibrate again only with more rows")
})

test_that("about one validation in seven of calibrated probabilities has an interval off", {
  skip_on_cran()
  set.seed(4)
  off <- replicate(150, {
    x <- rnorm(300, -1, 1.3)
    any(validation_outside(calib_validate(plogis(x), rbinom(300, 1, plogis(x)))))
  })
  expect_lt(abs(mean(off) - 1 / 7), 3 * sqrt(1 / 7 * 6 / 7 / 150))
})

test_that("several classes have the interval of the ICI and a p-value for their number", {
  set <- random_forecast(600, 3)
  valid <- calib_validate(set$probs, factor(letters[set$labels]))
  p <- attr(valid, "p.value")
  expect_length(p, 3)
  expect_equal(p[2], departure_p(smooth_fit(set$probs[, 2], as.integer(set$labels == 2))))
  expect_equal(validation_p(valid), p.adjust(p, "holm"))
  said <- capture.output(print(valid))
  expect_match(said[1], "each class against the rest, 600 rows; 95% intervals")
  expect_match(said[2], "ICI +c +p \\(Holm\\)")
  ici <- valid[valid$measure == "ici" & valid$class == "b", ]
  expect_match(said[4], sprintf("%.3f (%s, %.3f)", ici$estimate, say_ends(ici$conf.low, 3), ici$conf.high), fixed = TRUE)
  expect_match(paste(said, collapse = " "), "adjusted for the number of classes")
  expect_no_match(paste(said, collapse = " "), "curve\\)")
})

test_that("a test of calibration says what it sees and what it cannot see", {
  for (method in c("likelihood", "spiegelhalter", "mcb", "skce")) {
    set.seed(5)
    test <- calib_test(far$p[1:300], far$y[1:300], method, replicates = if (method %in% c("mcb", "skce")) 19)
    expect_s3_class(test, "htest")
    said <- paste(capture.output(print(test)), collapse = " ")
    expect_match(said, "p-value")
    if (method %in% c("likelihood", "spiegelhalter")) {
      expect_match(said, "cannot see .*bent calibration curve.*method = \"mcb\" or \"skce\", or calib_validate\\(\\)\\.$")
    } else {
      expect_no_match(said, "cannot")
    }
  }
})

test_that("the picture of the matrix frames only what exceeds two standard deviations", {
  set.seed(3)
  truth <- sample(3, 600, TRUE)
  z <- matrix(rnorm(1800), 600) + 3 * diag(3)[truth, ]
  quiet <- calib_gp(z[1:80, ], truth[1:80], class_effects = "matrix")
  z[truth == 1, 2] <- z[truth == 1, 2] + 1.5
  loud <- calib_gp(z, truth, class_effects = "matrix")
  frames <- function(fit) sum(vapply(ggplot2::ggplot_build(autoplot(fit, what = "matrix"))$data, function(layer) {
    if (all(c("xmin", "fill") %in% names(layer)) && all(is.na(layer$fill))) nrow(layer) else 0L
  }, 0L))
  said <- function(fit) gsub("\n", " ", autoplot(fit, what = "matrix")$labels$caption)
  clear <- function(fit) {
    moves <- effect_moves(fit)
    sum((abs(moves$estimate) > 2 * moves$sd)[row(moves$sd) != col(moves$sd)])
  }
  expect_identical(clear(quiet), 0L)
  expect_identical(frames(quiet), 0L)
  expect_match(said(quiet), "No cell is framed: no change exceeds two posterior standard deviations")
  expect_gt(clear(loud), 0)
  moves <- effect_moves(loud)
  expect_identical(frames(loud), min(5L, clear(loud)) + sum(diag(abs(moves$estimate) > 2 * moves$sd)))
  expect_match(said(loud), '[Ww]hen the scores say "2", "1" is raised by [0-9]')
  # summary() lists the pairs that the picture frames, and both say how many there are
  mixed <- summary(loud)$effects$mixed
  expect_identical(nrow(mixed), min(5L, clear(loud)))
  expect_identical(attr(mixed, "count"), clear(loud))
  expect_match(said(loud), paste0("Framed: changes beyond two posterior standard deviations", if (clear(loud) > 5) paste(" \\(the 5 largest of", clear(loud), "between two classes"), ".* When the scores"))
  shown <- capture.output(print(summary(loud)))
  expect_true(any(grepl("\"1\" where the scores say \"2\" (+", shown, fixed = TRUE)))
  expect_lte(max(nchar(grep("scores say|effects between", shown, value = TRUE))), 100)
  expect_output(print(summary(quiet)), "effects between classes: none is more than two posterior standard deviations from 0")
})

test_that("maps carry marks at corners, bands by name, and Platt and beta have theirs", {
  p <- rain_nyc$prob[1:800]
  y <- rain_nyc$rain[1:800]
  steps <- calib_histogram(p, y, bins = 5)
  fits <- list(GP = suppressWarnings(calib_gp(p, y)), Platt = calib_platt(p, y), Beta = suppressWarnings(calib_beta(p, y)), Histogram = steps)
  set.seed(1)
  plot <- plot_map(fits)
  said <- gsub("\n", " ", plot$labels$caption)
  two <- list(A = fits$GP, B = calib_gp(p, y, class_effects = "none"))
  set.seed(1)
  expect_match(gsub("\n", " ", plot_map(two)$labels$caption), "The curves of \"A\" and \"B\" have the most probable smoothness; their bands average over other values of it, so that a curve need not be in the middle of its band.", fixed = TRUE)
  expect_match(said, "Bands: 95% posterior interval \\(\"GP\"\\); 95% confidence interval \\(\"Platt\", \"Beta\"\\)\\. The curve of \"GP\" has the most probable smoothness; its band averages over other values of it, so that the curve need not be in the middle of the band\\. Bands widen where there are few calibration rows, or few of one class among them\\. Thin lines: the edges of the bands\\. Marks: some corners of step-like maps, to tell their curves apart\\.")
  want <- predict(fits$Platt, 0.25, type = "interval")[, 2, ]
  got <- plot$data[plot$data$fit == "Platt" & plot$data$p == 0.25, ]
  expect_equal(c(got$conf.low, got$conf.high), unname(want[2:3]))
  expect_match(plot_map(fits$Beta)$labels$caption, "Band: 95% confidence interval\\.")
  expect_match(gsub("\n", " ", plot_map(fits$GP)$labels$caption),
    "Band: 95% posterior interval. The curve has the most probable smoothness; the band averages over other values of it, so that the curve need not be in the middle of the band.", fixed = TRUE)
  # Marks stand where the map bends: within one of 401 places of an edge between bins.
  marks <- mark_steps(plot$data, "Histogram")
  expect_gt(nrow(marks), 2)
  expect_true(all(vapply(marks$p, function(at) min(abs(at - (0:5) / 5)), 0) <= 1 / 400 + 1e-9))
  # The edge of the band is smoother than the draws, and holds the curve.
  raw <- plot$data[plot$data$fit == "GP", ]
  even <- smooth_bands(raw)
  rough <- function(x) sum(abs(diff(diff(x))))
  expect_lt(rough(even$conf.high), 0.8 * rough(raw$conf.high))
  expect_true(all(even$conf.low <= even$calibrated & even$conf.high >= even$calibrated))
  expect_lt(max(abs(even$conf.high - raw$conf.high)[raw$p > 0.05 & raw$p < 0.95]), 0.03)
})

test_that("the axis of the latent map covers the central 99 % of the scores", {
  seen <- list(breaks = c(-30, 10), true = c(1, rep(0, 24), rep(100, 10), rep(0, 5)), other = c(1, rep(0, 24), rep(100, 10), rep(0, 5)))
  expect_equal(bulk_range(seen), c(-5, 5))
  whole <- list(breaks = c(-30, 10), true = rep(1, 40), other = rep(1, 40))
  expect_equal(bulk_range(whole), c(-30, 10))
  fit <- calib_gp(far$p[1:400], far$y[1:400], class_effects = "none")
  fit$scores_seen[names(seen)] <- seen
  fit$scores_seen$beyond <- c(true = 0, other = 0.004)
  expect_equal(range(autoplot(fit)$data$z), c(-5, 5))
  # of the others 0.4 % are beyond the histogram, and of the rest one in 1001 in its first bin
  expect_equal(beyond_axis(latent_plan(list(fit), NULL, NULL)), 1 - 0.996 * 1000 / 1001)
  expect_match(gsub("\n", " ", autoplot(fit)$labels$caption), "Shown: the central 99.5% of the scores")
  expect_equal(range(plot_latent(fit, range = c(-20, 7))$data$z), c(-20, 7))
})

test_that("summary() counts scores, not a stretch of the axis", {
  fit <- calib_gp(far$p, far$y, class_effects = "none")
  expect_output(print(summary(fit)), "differs from a straight line \\(the prior mean\\) by up to [0-9.]+, at score .*\\s+(nowhere by more than two posterior standard deviations|by more than two posterior standard deviations for [0-9.]+ % of the calibration scores)")
  seen <- fit$scores_seen
  middle <- seen$breaks[1] + diff(seen$breaks) * (seq_along(seen$true) - 0.5) / length(seen$true)
  away <- gp_departure(fit, middle, seen$true + seen$other)
  want <- weighted.mean(abs(away$departure) > 2 * away$sd, seen$true + seen$other)
  expect_equal(clear_share(fit), want)
  expect_lte(want, 1)
})

test_that("pictures of forecasts take a list and labels", {
  forecasts <- list(raw = rain_nyc$prob, rough = round(rain_nyc$prob, 1))
  from <- compare_forecasts(forecasts, rain_nyc$rain, scores = "brier_score")
  expect_equal(plot_mcbdsc(forecasts, rain_nyc$rain)$data, plot_mcbdsc(from)$data)
  expect_equal(plot_mcbdsc(from, "brier_score")$data, plot_mcbdsc(from)$data)
  expect_s3_class(plot_murphy(forecasts, rain_nyc$rain), "ggplot")
  expect_error(plot_mcbdsc(forecasts), "probabilities and `labels`", class = "gpcalib_error_input")
})

test_that("all classes are drawn where there is room, in their own order", {
  set <- random_forecast(400, 5)
  labels <- factor(letters[set$labels], levels = letters[1:5])
  plot <- plot_reliability(list(a = set$probs, b = set$probs), labels, type = "classwise")
  expect_identical(levels(droplevels(plot$data$class)), letters[1:5])
  many <- random_forecast(400, 12)
  plot <- plot_reliability(list(a = many$probs, b = many$probs), many$labels, type = "classwise")
  expect_length(unique(plot$data$class), 3)
})

test_that("tables of a study begin with the best method", {
  set.seed(2)
  study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature", "platt"), splits = 2, metrics = c("brier_score", "class_accuracy"))
  table <- summary(study)
  means <- table$mean[table$metric == "brier_score"]
  methods <- as.character(table$method[table$metric == "brier_score"])
  expect_identical(methods_by_result(table), methods[order(means)])
  best <- table[table$metric == "class_accuracy", ]
  expect_identical(methods_by_result(table, "class_accuracy")[1], as.character(best$method[which.max(best$mean)]))
  said <- capture.output(print(study))
  expect_match(said[3], paste0("^ ", methods[which.min(means)]))
  expect_match(paste(said, collapse = " "), "methods\\s+sorted by brier_score")
  expect_match(paste(said, collapse = " "), "Standard\\s+errors\\s+include\\s+the\\s+sampling\\s+of\\s+test\\s+rows\\.")
  first <- grep("^class_accuracy", capture.output(print(table)))
  expect_match(capture.output(print(table))[first + 2], paste0("^ ", best$method[which.max(best$mean)]))
})

test_that("small words: one slope of two classes, the call of calib_cv(), rows used twice", {
  said <- paste(capture.output(print(calib_vector(rain_nyc$prob, rain_nyc$rain))), collapse = "\n")
  expect_match(said, "  slope 0\\.[0-9]+: the scores were overconfident")
  expect_match(said, "after calibration \\(optimistic: these rows were used to fit\\)")
  set.seed(1)
  expect_output(print(calib_gp(letters_nn$cal$scores[1:300, ], letters_nn$cal$labels[1:300], class_effects = "matrix")), "accuracy on the calibration rows: .* after \\(also optimistic\\)")
  cars <- mtcars[c("wt", "hp")]
  fit <- calib_cv(function(data, labels) glm(labels ~ wt, binomial, cbind(data, labels)), function(model, newdata) predict(model, newdata, type = "response"),
    cars, factor(mtcars$am), method = "vector", folds = 4, assess = FALSE)
  expect_identical(deparse(fit$calibrator$call), "calib_vector(scores = out_of_fold_scores, labels = labels)")
})

test_that("columns that were matched by name are not said to be in another order", {
  # A classifier that takes most rows of class c for d.
  truth <- rep(1:4, c(100, 100, 300, 100))
  said <- truth
  said[truth == 3] <- rep(c(3, 4), c(20, 280))
  said[truth == 4] <- rep(c(3, 4), c(30, 70))
  p <- diag(4)[said, ] * 0.6 + 0.1
  labels <- factor(letters[truth])
  expect_warning(ece(p, labels), "in another order", class = "gpcalib_warning_against")
  colnames(p) <- letters[1:4]
  expect_silent(ece(p, labels))
  # Wrong names are still noticed, but naming is no advice.
  colnames(p) <- letters[c(2, 3, 4, 1)]
  said <- expect_warning(ece(p, labels), "matched with the classes by name", class = "gpcalib_warning_against")
  expect_no_match(conditionMessage(said), "name them")
  two <- cbind(no = c(rep(0.2, 50), rep(0.8, 50)), yes = c(rep(0.8, 50), rep(0.2, 50)))
  two[1, ] <- c(0.3, 0.7)
  two[100, ] <- c(0.7, 0.3)
  said <- expect_warning(ece(two, factor(rep(c("no", "yes"), each = 50))), "matched with the classes by name")
  expect_no_match(conditionMessage(said), "other order")
})

test_that("a slope that a few far scores decide is said to", {
  set.seed(5)
  x <- rnorm(2000, -2)
  y <- rbinom(2000, 1, plogis(x))
  p <- plogis(x)
  p[which(y == 1)[1:3]] <- 1e-200
  set.seed(1)
  got <- calib_validate(p, y)
  near <- coef(glm(y ~ pmax(qlogis(p), -log(2e4)), binomial))[[2]]
  expect_lt(got$estimate[got$measure == "slope"], 0.1)
  expect_equal(attr(got, "far")[1:2, 1], c(rows = 3, slope = near), tolerance = 1e-6)
  said <- gsub("\\s+", " ", paste(capture.output(print(got)), collapse = " "))
  expect_match(said, sprintf("The slope in the table depends on 3 rows with odds beyond 20,000 to 1. Report instead the slope with odds limited to 20,000 to 1: %.2f (", near), fixed = TRUE)
  two <- calib_validate(c(p, plogis(x)), c(y, y), by = rep(c("far", "near"), each = 2000))
  said <- gsub("\\s+", " ", paste(capture.output(print(two)), collapse = " "))
  expect_match(said, sprintf("far 333 .*\\) %.3f [0-9.]+ \\(.* limited: the slope if odds are limited to 20,000 to 1\\.", near))
  expect_no_match(paste(capture.output(print(calib_validate(plogis(x), y))), collapse = " "), "depends")
})

test_that("intervals that exclude without a small p (Holm) end in a conclusion", {
  set.seed(12)
  p <- runif(3000)
  valid <- calib_validate(p, rbinom(3000, 1, p), by = rep(letters[1:6], 500))
  attr(valid, "p.value") <- rep(0.03, 6) # Holm: 0.18
  valid$conf.low[valid$measure == "slope" & valid$by == "a"] <- 1.01
  said <- gsub("\\s+", " ", paste(capture.output(print(valid)), collapse = " "))
  expect_match(said, "No clear miscalibration: no p is below 0.05 after adjustment for 6 groups. Single intervals exclude the ideal value for \"a\" (slope > 1). 1 of the 18 intervals excludes it; about 0.9 would by chance. This may be chance. slope > 1: too cautious. This is no reason to calibrate (again); validate on more rows first.", fixed = TRUE)
})

test_that("which standard errors a study has, and thin curves, are said where they occur", {
  set.seed(2)
  study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature"), splits = 2, metrics = c("brier_score", "ece", "mce"))
  expect_match(gsub("\\s+", " ", paste(capture.output(print(study)), collapse = " ")),
    "Standard errors include the sampling of test rows. No stars for ece and mce: their standard errors (by the correction of Nadeau and Bengio) are so large that", fixed = TRUE)
  study$n_test <- 3L * study$n_cal
  expect_match(gsub("\\s+", " ", paste(capture.output(print(study)), collapse = " ")),
    "No stars for ece and mce: their standard errors (by the correction of Nadeau and Bengio) are too large when there are many more test rows than calibration rows", fixed = TRUE)
  caption <- function(p) {
    gsub("\n", " ", plot_reliability(p, rbinom(length(p), 1, p), method = "smooth")$labels$caption)
  }
  expect_match(caption(c(runif(100, 0, 0.2), runif(100, 0.6, 0.9))), "The curve is thin where there are no rows.", fixed = TRUE)
  expect_no_match(caption(runif(2000)), "thin")
})
