# Comparisons of forecasts.

pair <- oracle_forecast(300, 2, seed = 1)
p2 <- pair$p[, 2]
y2 <- as.integer(pair$y == 2)
other <- with_seed(2, stats::plogis(1.7 * stats::qlogis(p2) + stats::rnorm(300, sd = 0.5)))
three <- oracle_forecast(240, 4, seed = 3)
blur <- (three$p + 0.1) / rowSums(three$p + 0.1)
grade <- ordered(letters[three$y])

test_that("scores of rows are the measures, row by row", {
  rows <- .Call(C_row_scores, check_forecast(three$p, three$y), 0, TRUE)
  expect_equal(rows[, 1], -log(three$p[cbind(1:240, three$y)]), tolerance = 1e-14)
  expect_equal(rows[, 2], rowSums((three$p - diag(4)[three$y, ])^2), tolerance = 1e-13)
  expect_equal(rows[, 3], oracle_rps(three$p, three$y), tolerance = 1e-13)
  expect_equal(mean(rows[, 1]), log_loss(three$p, three$y))
  expect_equal(mean(rows[, 2]), brier_score(three$p, three$y))
  rows <- .Call(C_row_scores, check_forecast(p2, y2), 1e-3, TRUE)
  expect_equal(rows[, 2], (p2 - y2)^2, tolerance = 1e-13)
  expect_equal(rows[, 3], rows[, 2], tolerance = 1e-13)
})

test_that("rps() is the mean of the squared cumulative errors", {
  w <- rep(1:3, 80)
  each <- oracle_rps(three$p, three$y)
  expect_equal(rps(three$p, grade), mean(each))
  expect_equal(rps(three$p, grade, scale = TRUE), mean(each) / 3)
  expect_equal(rps(three$p, grade, weights = w), sum(w * each) / sum(w))
  expect_equal(rps(p2, y2), brier_score(p2, y2))
  # certain and three steps away
  expect_equal(rps(rbind(c(1, 0, 0, 0), c(1, 0, 0, 0)), c(4, 4)), 3)
  expect_error(rps(p2, y2, scale = NA), "`scale`", class = "gpcalib_error_input")
})

test_that("differences are those of paired t tests", {
  result <- compare_forecasts(list(a = p2, b = other), y2)
  a <- -log(ifelse(y2 == 1, p2, 1 - p2))
  b <- -log(ifelse(y2 == 1, other, 1 - other))
  got <- tidy(result)[1, ]
  ref <- stats::t.test(b, a, paired = TRUE)
  expect_identical(got$forecast, "b")
  expect_identical(got$reference, "a")
  expect_equal(got$difference, unname(ref$estimate), tolerance = 1e-12)
  expect_equal(c(got$conf.low, got$conf.high), as.vector(ref$conf.int), tolerance = 1e-10)
  expect_equal(got$p.value, ref$p.value, tolerance = 1e-9)
  expect_equal(got$statistic, unname(ref$statistic), tolerance = 1e-10)
  scores <- as.data.frame(result)
  expect_equal(scores$score[1:2], c(log_loss(p2, y2), log_loss(other, y2)))
  expect_equal(scores$conf.low[1], stats::t.test(a)$conf.int[1], tolerance = 1e-10)
  # weights count rows, but for the number of them in the standard error
  w <- rep(c(1, 2), 150)
  weighted <- tidy(compare_forecasts(list(p2, other), y2, weights = w))[2, ]
  d <- (other - y2)^2 - (p2 - y2)^2
  expect_equal(weighted$difference, sum(w * d) / sum(w))
  expect_equal(weighted$std.error, sqrt(300 / 299 * sum((w * (d - weighted$difference))^2)) / sum(w))
})

test_that("groups give cluster-robust errors", {
  g <- with_seed(4, sample(25, 300, TRUE))
  got <- tidy(compare_forecasts(list(a = p2, b = other), y2, groups = g))[2, ]
  d <- (other - y2)^2 - (p2 - y2)^2
  sums <- tapply(d - mean(d), g, sum)
  expect_equal(got$std.error, sqrt(25 / 24 * sum(sums^2)) / 300, tolerance = 1e-12)
  expect_equal(got$df, 24)
  expect_equal(got$p.value, 2 * stats::pt(-abs(mean(d) / got$std.error), 24), tolerance = 1e-9)
  # groups of one row are no groups; names do not matter
  alone <- tidy(compare_forecasts(list(p2, other), y2, groups = paste("row", 1:300)))
  expect_equal(alone$std.error, tidy(compare_forecasts(list(p2, other), y2))$std.error, tolerance = 1e-12)
  # every row twice, in groups of two: what single rows give, but for G/(G - 1)
  twice <- compare_forecasts(list(rep(p2, 2), rep(other, 2)), rep(y2, 2), groups = rep(1:300, 2))
  expect_equal(tidy(twice)$std.error, tidy(compare_forecasts(list(p2, other), y2))$std.error, tolerance = 1e-12)
})

test_that("skill is relative to the reference, with the interval of a ratio", {
  result <- compare_forecasts(list(a = p2, b = other), y2, reference = "a", scores = "brier_score")
  scores <- result$scores
  a <- (p2 - y2)^2
  b <- (other - y2)^2
  ratio <- mean(b) / mean(a)
  expect_equal(scores$skill, c(0, 1 - ratio))
  se <- stats::sd(b - ratio * a) / mean(a) / sqrt(300)
  expect_equal(scores$skill.high[2] - scores$skill[2], stats::qt(0.975, 299) * se, tolerance = 1e-10)
  expect_identical(nrow(tidy(result)), 1L)
  # without a reference: the constant forecast
  alone <- compare_forecasts(list(a = p2, b = other), y2, scores = "brier_score")$scores
  expect_equal(alone$skill, 1 - alone$score / (mean(y2) * (1 - mean(y2))))
  expect_equal(alone$skill, (alone$discrimination - alone$miscalibration) / alone$uncertainty, tolerance = 1e-10)
  climate <- compare_forecasts(list(a = p2, b = other), y2, reference = "climatology")
  expect_identical(levels(climate$scores$forecast), c("a", "b", "climatology"))
  expect_identical(nrow(tidy(climate)), 4L)
  expect_equal(climate$scores$discrimination[6], 0)
})

test_that("parts are those of the isotonic table, and add up for every number of classes", {
  # reliabilitydiag's numbers (DESIGN)
  result <- compare_forecasts(list(x = c(.4, .3, .2, .1, .5, .9)), c(0, 0, 0, 1, 1, 1))
  parts <- c("score", "miscalibration", "discrimination", "uncertainty")
  expect_equal(unlist(result$scores[2, parts], use.names = FALSE), c(.2266667, .1016667, .125, .25), tolerance = 1e-6)
  expect_equal(unlist(result$scores[1, parts], use.names = FALSE), c(.6986228, .3237327, .3182571, .6931472),
    tolerance = 1e-6)
  result <- compare_forecasts(list(sharp = three$p, blur = blur), grade)
  s <- result$scores
  expect_identical(unique(s$measure), c("log_loss", "brier_score", "rps"))
  expect_true(all(is.na(s$miscalibration[1:2])))
  expect_equal(s$score[3:6], (s$miscalibration - s$discrimination + s$uncertainty)[3:6], tolerance = 1e-12)
  table <- summary(reliability_table(three$p, grade, type = "classwise", method = "isotonic", conf_level = NULL))
  expect_equal(s$miscalibration[3], sum(table$miscalibration[table$measure == "brier_score"]), tolerance = 1e-12)
  cumulative <- function(j) rowSums(three$p[, seq_len(j), drop = FALSE])
  by_hand <- vapply(1:3, function(j) {
    t <- reliability_table(pmin(cumulative(j), 1), factor(three$y <= j), type = "event", method = "isotonic",
      conf_level = NULL)
    summary(t)$miscalibration[1]
  }, 0)
  expect_equal(s$miscalibration[5], sum(by_hand), tolerance = 1e-10)
})

test_that("an infinite log loss has no difference, and is told of", {
  x <- replace(p2, which(y2 == 1)[1], 0)
  expect_warning(result <- compare_forecasts(list(a = x, b = other), y2), class = "gpcalib_warning_infinite")
  expect_identical(result$scores$score[1], Inf)
  expect_true(is.na(tidy(result)$p.value[1]) && is.finite(tidy(result)$p.value[2]))
  expect_output(print(result), "Inf")
  expect_silent(compare_forecasts(list(a = x, b = other), y2, eps = 1e-6))
})

test_that("forecasts that are the same differ by nothing", {
  result <- tidy(compare_forecasts(list(p2, p2), y2))
  expect_identical(result$difference, c(0, 0))
  expect_identical(result$p.value, c(1, 1))
})

test_that("columns are matched by name, whatever labels are", {
  named <- three$p
  colnames(named) <- letters[1:4]
  turned <- named[, c(3, 1, 4, 2)]
  labels <- letters[three$y]
  result <- compare_forecasts(list(a = named, b = turned), labels)
  expect_equal(result$scores$score[1], result$scores$score[2])
  expect_identical(tidy(result)$difference, c(0, 0))
  same <- compare_forecasts(list(a = named, b = turned), grade)
  expect_equal(same$scores$score[3:6], c(result$scores$score[3:4], rep(rps(named, grade), 2)))
})

test_that("print says what the numbers mean", {
  result <- compare_forecasts(list(raw = three$p, blur = blur), grade, groups = rep(1:24, 10))
  expect_output(print(result), "2 forecasts of 240 cases, 4 classes, 24 groups")
  expect_output(print(result), "blur - raw")
  expect_output(print(result), "Ranked probability score")
  expect_output(print(result), "robust to dependence")
  expect_output(print(compare_forecasts(p2, y2)), "1 forecast of 300")
})

test_that("bad input is named", {
  bad <- function(..., text) expect_error(compare_forecasts(...), text, class = "gpcalib_error_input")
  bad(list(a = p2, b = other[-1]), y2, text = "forecasts\\$b|labels")
  bad(list(a = p2, b = 2 * other), y2, text = "forecasts\\$b")
  bad(list(a = p2, a = other), y2, text = "name twice")
  bad(list(p2, "x"), y2, text = "forecasts\\[\\[2\\]\\]")
  bad(list(p2, other), y2, reference = "zz", text = "`reference`")
  bad(list(p2, other), y2, reference = 3, text = "`reference`")
  bad(list(p2, other), y2, groups = 1:3, text = "`groups` has 3 values")
  bad(list(p2, other), y2, groups = rep(1, 300), text = "same value")
  bad(list(p2, other), y2, groups = replace(1:300, 7, NA), text = "row 7")
  bad(list(p2, other), y2, scores = "auc", text = "`scores`")
  bad(list(p2, other), y2, conf_level = 1, text = "`conf_level`")
  bad(list(p2, other), text = "`labels`")
  bad(labels = y2, text = "`forecasts`")
  bad(list(), y2, text = "`forecasts`")
})

# Pictures --------------------------------------------------------------------------------

test_that("pictures draw what the tables hold", {
  result <- compare_forecasts(list(raw = p2, other = other), y2, reference = "raw")
  picture <- autoplot(result)
  expect_s3_class(picture, "ggplot")
  expect_equal(picture$data$difference, tidy(result)$difference)
  expect_silent(ggplot2::ggplot_build(picture))
  picture <- plot_mcbdsc(result)
  expect_equal(picture$data$miscalibration, result$scores$miscalibration[3:4])
  expect_silent(ggplot2::ggplot_build(picture))
  expect_silent(ggplot2::ggplot_build(plot_mcbdsc(result, "log_loss")))
  # lines of equal score: slope 1, and the score is what stands on them
  lines <- score_lines(0.25, c(mcb = 0.02, dsc = 0.1))
  expect_equal(lines$yend - lines$y, lines$xend - lines$x)
  expect_equal(lines$x - lines$y + 0.25, lines$score)
  # ends lie within the panel even if they miss it by rounding, and the axis begins near the forecasts
  for (top in c(0.1, 0.17, 0.23, 0.3)) {
    lines <- score_lines(0.3 + top / 7, c(mcb = top / 3, dsc = top, low = top / 2))
    expect_true(all(lines$y >= top / 2 & lines$yend <= top & lines$x >= 0 & lines$xend <= top / 3))
  }
  sharp <- list(scores = data.frame(forecast = factor(c("a", "b")), measure = "brier_score", score = c(0.05, 0.06),
    miscalibration = c(0.004, 0.008), discrimination = c(0.2, 0.204), uncertainty = 0.25))
  sharp <- plot_mcbdsc(structure(sharp, class = "forecast_comparison"))
  expect_gt(sharp$scales$get_scales("y")$limits[1], 0.15)
  expect_silent(ggplot2::ggplot_build(sharp))
  expect_error(plot_mcbdsc(result, "rps"), "`measure`", class = "gpcalib_error_input")
  expect_error(plot_mcbdsc(3), "`x`", class = "gpcalib_error_input")
  many <- compare_forecasts(list(three$p, blur), three$y, scores = "log_loss")
  expect_error(plot_mcbdsc(many), "no parts", class = "gpcalib_error_input")
  # labels of one class: no uncertainty, and a picture all the same
  one <- compare_forecasts(list(p2, other), factor(rep(1, 300), levels = 0:1))
  expect_silent(ggplot2::ggplot_build(plot_mcbdsc(one)))
  expect_error(autoplot(compare_forecasts(p2, y2)), "no differences", class = "gpcalib_error_input")
  sure <- list(a = rep(c(0, 0.5), c(1, 29)), b = rep(0.6, 30), c = rep(0.3, 30)) # a label of probability 0
  lost <- suppressWarnings(compare_forecasts(sure, rep(c(TRUE, FALSE), 15)))
  expect_match(gsub("\\s+", " ", autoplot(lost)$labels$caption), "2 differences of infinite or undefined scores are left out")
})

test_that("Murphy curves are means of elementary scores, with their jumps", {
  x <- c(.1, .4, .4, .7, .9, 0, 1)
  y <- c(0, 1, 0, 1, 1, 0, 1)
  theta <- c(0, .1, .25, .4, .65, .9, 1)
  got <- .Call(C_murphy, check_forecast(x, y), 2L, theta)
  slow <- function(t, w = rep(1, 7)) sum(w * mapply(oracle_elementary, x, y, t)) / sum(w)
  expect_equal(got[, 1], vapply(theta, slow, 0), tolerance = 1e-14)
  expect_equal(got[-1, 2], vapply(theta[-1] - 1e-9, slow, 0), tolerance = 1e-7)
  w <- c(1, 2, 0, 1, 3, 1, 1)
  expect_equal(.Call(C_murphy, check_forecast(x, y, w), 2L, theta)[, 1], vapply(theta, slow, 0, w = w), tolerance = 1e-14)
  curve <- murphy_curve(check_forecast(x, y), 2L, 51)
  expect_false(is.unsorted(curve$theta))
  # between its points the curve is straight: trapezoids are exact, and their sum is the Brier score
  area <- function(curve) sum(diff(curve$theta) * (curve$score[-1] + curve$score[-nrow(curve)]) / 2)
  expect_equal(area(curve), brier_score(x, y), tolerance = 1e-12)
  exact <- murphy_curve(check_forecast(p2, y2), 2L, 501)
  expect_equal(area(exact), brier_score(p2, y2), tolerance = 1e-12)
  # and with the weight 1 / (2 theta (1 - theta)) the log loss
  fine <- murphy_curve(check_forecast(p2, y2), 2L, 2e5)
  inner <- fine[fine$theta > 0 & fine$theta < 1, ]
  inner$score <- inner$score / (2 * inner$theta * (1 - inner$theta))
  expect_equal(area(inner), log_loss(p2, y2), tolerance = 1e-4)
})

test_that("a Murphy diagram leaves room for the forecasts, and has lines without gaps where they jump", {
  set.seed(7)
  x <- rnorm(2000, -1, 4)
  y <- rbinom(2000, 1, plogis(x))
  forecasts <- list(raw = plogis(1.3 * x), steps = round(plogis(x), 1))
  plot <- plot_murphy(forecasts, y)
  top <- max(plot$data$score)
  expect_lt(ggplot2::ggplot_build(plot)$layout$panel_params[[1]]$y.range[2], 1.3 * top)
  expect_match(attr(plot$labels$caption, "words"), "the constant forecast, which is worse than all others where it leaves the picture", fixed = TRUE)
  expect_identical(as.character(unique(plot$layers[[2]]$data$forecast)), "steps")
  shown <- ggplot2::ggplot_build(plot)$plot$scales$get_scales("colour")
  expect_identical(as.character(shown$get_breaks()), names(forecasts))
  near <- plot_murphy(list(a = rep(mean(y), 2000) + 0.01), y)
  expect_no_match(attr(near$labels$caption, "words"), "leaves the picture")
})

test_that("plot_murphy() draws them", {
  picture <- plot_murphy(list(raw = p2, other = other), y2)
  expect_identical(names(picture$data), c("forecast", "theta", "score"))
  expect_silent(ggplot2::ggplot_build(picture))
  picture <- plot_murphy(three$p, grade, event = "b", points = 11)
  expect_equal(picture$data$score[picture$data$theta == 0.5][1],
    mean(mapply(oracle_elementary, three$p[, 2], three$y == 2, 0.5)))
  expect_error(plot_murphy(three$p, grade), "`event`", class = "gpcalib_error_input")
  expect_error(plot_murphy(p2), "`labels`", class = "gpcalib_error_input")
  expect_error(plot_murphy(p2, y2, points = 1), "`points`", class = "gpcalib_error_input")
})

# Other software --------------------------------------------------------------------------

test_that("Murphy curves and parts are those of triptych", {
  ref <- readRDS(test_path("fixtures", "triptych.rds"))
  got <- .Call(C_murphy, check_forecast(ref$x, ref$y), 2L, ref$murphy$knot)
  expect_equal(got[, 1], ref$murphy$val_right, tolerance = 1e-12)
  expect_equal(got[-1, 2], ref$murphy$val_left[-1], tolerance = 1e-12)
  brier <- compare_forecasts(ref$x, ref$y, scores = "brier_score")$scores
  log <- compare_forecasts(ref$inside, ref$y, scores = "log_loss")$scores
  expect_equal(unlist(brier[names(ref$brier_score)]), ref$brier_score, tolerance = 1e-12)
  expect_equal(unlist(log[names(ref$log_loss)]), ref$log_loss, tolerance = 1e-12)
})

test_that("by compares within each of its values", {
  site <- rep(c("north", "south", "south"), 100)
  days <- rep(1:60, 5)
  all <- compare_forecasts(list(a = p2, b = other), y2, groups = days, by = site)
  expect_identical(all$n, c(north = 100L, south = 200L))
  for (name in c("north", "south")) {
    own <- site == name
    one <- compare_forecasts(list(a = p2[own], b = other[own]), y2[own], groups = days[own])
    for (field in c("scores", "differences")) {
      part <- all[[field]][all[[field]]$by == name, -1]
      rownames(part) <- NULL
      expect_equal(part, one[[field]])
    }
  }
  expect_output(print(all), "-- south (200 cases)", fixed = TRUE)
  drawn <- plot_murphy(list(a = p2, b = other), y2, by = site)$data
  own <- plot_murphy(list(a = p2, b = other)[1], y2)$data # whole
  south <- plot_murphy(list(a = p2[site == "south"]), y2[site == "south"])$data
  expect_equal(drawn$score[drawn$by == "south" & drawn$forecast == "a"], south$score)
  expect_false(isTRUE(all.equal(drawn$score[drawn$by == "south" & drawn$forecast == "a"], own$score)))
  expect_s3_class(ggplot2::ggplot_build(plot_mcbdsc(all)), "ggplot_built")
  expect_s3_class(ggplot2::ggplot_build(autoplot(all)), "ggplot_built")
  expect_error(compare_forecasts(list(a = p2), y2, by = 1:3), "`by`", class = "gpcalib_error_input")
})

test_that("no line of equal scores is lost at the edge of the picture by rounding", {
  top <- c(mcb = 1.2 * 0.0221, dsc = 1.15 * 0.0437)
  lines <- score_lines(0.1254, top)
  expect_true(all(lines$y >= 0 & lines$yend <= top[["dsc"]] & lines$xend <= top[["mcb"]]))
  set.seed(1)
  ends <- vapply(1:200, function(i) {
    top <- c(mcb = runif(1, 0.001, 0.3), dsc = runif(1, 0.001, 0.3))
    lines <- score_lines(runif(1, 0, 0.25), top)
    max(lines$y - top[["dsc"]], lines$yend - top[["dsc"]], -lines$y, -lines$yend)
  }, 0)
  expect_lte(max(ends), 0)
})

test_that("names stand beside points or at the end of a line, or in the caption", {
  scores <- function(mcb, dsc) {
    data.frame(forecast = factor(paste("Forecast", seq_along(mcb)), paste("Forecast", seq_along(mcb))), measure = "brier_score", mean = 0.2 + mcb - dsc,
      miscalibration = mcb, discrimination = dsc, uncertainty = 0.2)
  }
  draw <- function(rows, ...) plot_mcbdsc(structure(list(scores = rows, classes = c("0", "1")), class = "forecast_comparison"), ...)
  named <- function(plot) {
    layer <- Filter(function(layer) inherits(layer$geom, "GeomText") && "all" %in% names(layer$data), plot$layers)
    layer[[1]]$data
  }
  said <- function(plot) gsub("\\s+", " ", plot$labels$caption)
  apart <- scores(seq(0.01, 0.1, length.out = 10), rep(c(0.05, 0.08), 5))
  apart[10, c("miscalibration", "discrimination")] <- apart[9, c("miscalibration", "discrimination")] # the same spot
  plot <- draw(apart, base_size = 11)
  expect_identical(sort(unlist(named(plot)$all)), sort(as.character(apart$forecast)))
  expect_true("Forecast 9\nForecast 10" %in% named(plot)$name)
  expect_match(said(plot), "Names one below the other: points on the same spot.", fixed = TRUE)
  expect_no_match(said(plot), "Without a name")
  near <- named(plot) # each at its own point
  far <- sqrt(((near$to.x - near$miscalibration) / 0.12)^2 + ((near$to.y - near$discrimination) / 0.05)^2)
  expect_lt(max(far[!near$led]), 0.05)
  # A heap: some have lines, and what finds no place stands in the caption.
  set.seed(1)
  heap <- scores(0.05 + runif(60, 0, 0.02), 0.05 + runif(60, 0, 0.01))
  plot <- draw(heap, base_size = 7)
  drawn <- unlist(named(plot)$all)
  expect_true(any(named(plot)$led))
  lost <- setdiff(as.character(heap$forecast), drawn)
  expect_gt(length(lost), 0)
  expect_match(said(plot), paste0("Without a name in the picture: .*", lost[1], "(;|\\.)"))
  expect_true(all(vapply(lost, function(name) grepl(paste0(name, "(;|\\.)"), said(plot)), NA)))
  # more than three on a spot
  six <- apart
  six[5:10, c("miscalibration", "discrimination")] <- apart[rep(9, 6), c("miscalibration", "discrimination")]
  plot <- draw(six, base_size = 11)
  expect_true("Forecast 5\nForecast 6\nand 4 more" %in% named(plot)$name)
  expect_match(said(plot), "Without a name in the picture: Forecast 7; Forecast 8; Forecast 9; Forecast 10.", fixed = TRUE)
  expect_silent(ggplot2::ggplot_build(plot))
})

test_that("intervals of many pairs have no caps, which would touch", {
  caps <- function(n) {
    set.seed(1)
    y <- rep(0:1, 20)
    forecasts <- stats::setNames(lapply(seq_len(n), function(i) stats::plogis(y + stats::rnorm(40))), paste("f", seq_len(n)))
    plot <- autoplot(compare_forecasts(forecasts, y))
    !is.null(Filter(function(layer) inherits(layer$geom, "GeomSegment"), plot$layers)[[1]]$geom_params$arrow)
  }
  expect_true(caps(6)) # 15 pairs
  expect_false(caps(7))
})

test_that("summary() of a comparison is the comparison, which print() shows in full", {
  two <- list(a = pmin(pmax(rain_nyc$prob[1:200], 0.01), 0.99), b = rep(0.3, 200))
  compared <- compare_forecasts(two, rain_nyc$rain[1:200])
  expect_identical(summary(compared), compared)
})
