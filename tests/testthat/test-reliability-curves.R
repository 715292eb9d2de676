# Curves and their bands, groups and by.

simple <- function(n, seed = 1, slope = 1) {
  set.seed(seed)
  x <- rnorm(n, 0, 1.5)
  list(p = plogis(x), y = rbinom(n, 1, plogis(slope * x)))
}

test_that("a smooth table holds the curve at its bins and summarises its distance", {
  d <- simple(500, slope = .6)
  table <- reliability_table(d$p, d$y, method = "smooth", bins = 10)
  fit <- smooth_fit(d$p, d$y)
  full <- table[table$n > 0, ]
  expect_equal(full$observed, smooth_at(fit, qlogis(full$confidence))$value)
  z <- qnorm(.975)
  expect_equal(full$conf.low, smooth_at(fit, qlogis(full$confidence), z)$low)
  expect_equal(unlist(summary(table)[smooth_errors]), smooth_summary(fit)[, 1])
  wide <- reliability_table(d$p, d$y, method = "smooth", bins = 10, band = "simultaneous")
  expect_true(all(wide$conf.high - wide$conf.low > table$conf.high - table$conf.low, na.rm = TRUE))
  expect_output(print(table), "smooth, confidence band")
  none <- reliability_table(d$p, d$y, method = "smooth", conf_level = NULL)
  expect_true(all(is.na(none$conf.low)))
  set <- random_forecast(300, 3)
  classwise <- reliability_table(set$probs, set$labels, type = "classwise", method = "smooth")
  expect_equal(nrow(summary(classwise)), 3)
  expect_equal(summary(classwise)$ici[2], smooth_summary(smooth_fit(set$probs[, 2], set$labels == 2))["ici", 1],
    ignore_attr = TRUE)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (one in list(table, wide, none, classwise)) expect_silent(print(autoplot(one)))
})

test_that("the confidence band surrounds the curve, the consistency band the diagonal", {
  d <- simple(600, 2, slope = .4)
  set.seed(1)
  around <- reliability_table(d$p, d$y, method = "isotonic", band = "confidence", replicates = 200)
  expect_gt(mean(around$conf.low <= around$observed & around$observed <= around$conf.high), .9)
  under <- reliability_table(d$p, d$y, method = "isotonic", replicates = 200)
  expect_gt(mean(under$conf.low <= under$confidence & under$confidence <= under$conf.high), .8)
  expect_lt(mean(under$conf.low <= under$observed & under$observed <= under$conf.high), .6)
  # Where the curve ends, and in between.
  fit <- .Call(C_corp_fit, check_forecast(d$p, d$y), 2L)
  band <- attr(around, "band")
  own <- approx(c(rbind(fit$lower, fit$upper)), rep(fit$fit, each = 2), band$score, ties = "ordered")$y
  expect_true(all(band$conf.low <= own + 1e-12 & own <= band$conf.high + 1e-12))
})

test_that("the simultaneous band holds whole curves", {
  d <- simple(400, 3)
  forecast <- check_forecast(d$p, d$y)
  at <- seq(.05, .95, by = .05)
  drawn <- .Call(C_band_draw, forecast, 2L, at, NULL, NULL, 0L, c(1, 2), 0L, 1000L)
  limits <- apply(drawn, 1, middle_range, level = .9)
  wide <- whole_band(drawn, .9)
  inside <- function(ends, x) mean(colSums(x < ends[1, ] - 1e-12 | x > ends[2, ] + 1e-12) == 0)
  expect_gte(inside(wide, drawn), .895)
  expect_lt(inside(limits, drawn), .75)
  other <- .Call(C_band_draw, forecast, 2L, at, NULL, NULL, 0L, c(7, 8), 0L, 1000L)
  expect_gt(inside(wide, other), .86)
  expect_gt(mean(wide[2, ] - wide[1, ]), mean(limits[2, ] - limits[1, ]))
})

test_that("groups: repeated rows widen bands and intervals to what single rows give", {
  d <- simple(400, 4)
  again <- rep(1:400, each = 4)
  width <- function(table) sum((table$conf.high - table$conf.low) * table$n) / sum(table$n)
  for (band in c("consistency", "confidence", "simultaneous")) {
    set.seed(1)
    once <- reliability_table(d$p, d$y, method = "isotonic", band = band, replicates = 300)
    four <- reliability_table(d$p[again], d$y[again], method = "isotonic", band = band, replicates = 300,
      groups = again)
    expect_lt(abs(log(width(four) / width(once))), .35, label = band)
    naive <- reliability_table(d$p[again], d$y[again], method = "isotonic", band = band, replicates = 300)
    expect_lt(width(naive) / width(once), .75, label = band)
  }
  for (type in c("event", "confidence", "top_label", "classwise")) {
    once <- reliability_table(d$p, d$y, bins = 4, type = type)
    four <- reliability_table(d$p[again], d$y[again], bins = 4, type = type, groups = again)
    expect_lt(max(abs(four$conf.low - once$conf.low), na.rm = TRUE), .03)
    heavy <- reliability_table(d$p, d$y, bins = 4, type = type, weights = rep(4, 400))
    expect_equal(heavy$conf.low, once$conf.low)
  }
})

test_that("bins of weighted rows have the trials that their weights are worth", {
  set.seed(5)
  p <- runif(300)
  y <- rbinom(300, 1, p)
  w <- rexp(300)
  for (binning in c("width", "mass")) {
    table <- reliability_table(p, y, bins = 5, binning = binning, weights = w)
    for (b in 1:5) {
      here <- if (b == 1) p <= table$upper[1] else p > table$lower[b] & p <= table$upper[b]
      n <- sum(w[here])^2 / sum(w[here]^2)
      rate <- sum((w * y)[here]) / sum(w[here])
      want <- prop.test(rate * n, n, correct = FALSE)$conf.int
      expect_equal(c(table$conf.low[b], table$conf.high[b]), as.vector(want), tolerance = 1e-6)
    }
  }
})

test_that("by gives a table of tables, and a panel for each", {
  d <- simple(300, 6)
  by <- rep(c("u", "v"), c(100, 200))
  set.seed(1)
  table <- reliability_table(d$p, d$y, by = by, bins = 5)
  expect_equal(as.data.frame(table)[table$by == "v", -1], as.data.frame(reliability_table(d$p[by == "v"],
    d$y[by == "v"], bins = 5)), ignore_attr = TRUE)
  expect_named(summary(table)[1:2], c("by", "class"))
  expect_output(print(table), "300 rows")
  expect_s3_class(table[1:3, ], "data.frame", exact = TRUE)
  for (method in c("bins", "isotonic", "smooth")) {
    plot <- plot_reliability(d$p, d$y, by = by, method = method, conf_level = .9)
    expect_identical(levels(plot$data$forecast), c("u", "v"))
  }
  both <- plot_reliability(list(a = d$p, b = d$p^2), d$y, by = by, bins = 5)
  expect_identical(levels(both$data$forecast), c("a, u", "a, v", "b, u", "b, v"))
})

test_that("labels may differ between forecasts", {
  one <- simple(100, 7)
  two <- simple(150, 8)
  plot <- plot_reliability(list(a = one$p, b = two$p), list(b = two$y, a = one$y), bins = 5)
  expect_equal(as.vector(tapply(plot$data$n, plot$data$forecast, sum)), c(100, 150))
  expect_no_match(plot$labels$caption, "N = ")
  strips <- function(plot) unlist(lapply(ggplot2::ggplotGrob(plot)$grobs[grep("strip-t", ggplot2::ggplotGrob(plot)$layout$name)], function(grob) {
    grob$grobs[[1]]$children[[2]]$children[[1]]$label
  }))
  expect_identical(strips(plot), c("a (n\u00a0=\u00a0100)", "b (n\u00a0=\u00a0150)"))
  expect_match(plot_reliability(list(a = one$p, b = one$p^2), one$y, bins = 5)$labels$caption, "N = 100 in each panel")
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(plot_reliability(list(a = one$p, b = two$p), list(one$y)), "labels")
  error(plot_reliability(list(a = one$p, b = two$p), list(x = one$y, b = two$y)), "labels")
  error(plot_reliability(one$p, one$y, by = 1:3), "by")
})

test_that("wrong bands are input errors", {
  d <- simple(50)
  error <- function(...) expect_error(..., "`(band|method)`", class = "gpcalib_error_input")
  error(reliability_table(d$p, d$y, band = "confidence"))
  error(reliability_table(d$p, d$y, method = "smooth", band = "consistency"))
  error(reliability_table(d$p, d$y, method = "isotonic", band = "wide"))
  error(reliability_table(d$p, d$y, method = "smooth", type = "confidence"))
})

test_that("a band of the whole curve is made at places that know nothing of the labels", {
  limits <- rbind(c(0, .1, .3), c(.2, .5, 1))
  got <- spread_band(limits, c(.1, .4, .8), c(.1, .2, .4, .7, .8))
  expect_equal(got, rbind(c(0, 0, .1, .1, .3), c(.2, .5, .5, 1, 1)))
  set.seed(1)
  p <- runif(80)
  expect_identical(score_places(p), score_places(sample(p)))
  expect_equal(range(score_places(p)), range(p))
  # the observed curve counts among the drawn: with 19 of them the widest of 20 decides
  drawn <- matrix(runif(60), 3)
  band <- whole_band(drawn, .95)
  outside <- apply(drawn, 2, function(x) any(x < band[1, ] - 1e-9 | x > band[2, ] + 1e-9))
  expect_identical(sum(outside), 1L)
})
