data <- oracle_data(400, 2, seed = 51)
p <- oracle_softmax(data$z)[, 2]
fit <- calib_gp(p, data$y)
layers_of <- function(plot) ggplot2::ggplot_build(plot)$data

test_that("maps are those of calib_map(), with the band where there is one", {
  cold <- calib_temperature(p, data$y)
  set.seed(1)
  plot <- plot_map(list(GP = fit, Temperature = cold), points = 51)
  set.seed(1)
  want <- calib_map(fit, seq(0, 1, length.out = 51))
  beyond <- want$p < fit$event_range[1] | want$p > fit$event_range[2]
  expect_equal(which(beyond), c(1L, 51L))
  want[beyond, c("conf.low", "conf.high")] <- NA # no band where no rows were
  got <- plot$data[plot$data$fit == "GP", ]
  expect_equal(got[names(want)], want)
  layers <- layers_of(plot)
  expect_equal(layers[[2]]$ymin, want$conf.low[!beyond])
  expect_equal(layers[[3]]$y[layers[[3]]$group == 2], calib_map(cold, seq(0, 1, length.out = 51))$calibrated)
  expect_length(unique(layers[[3]]$linetype), 2)
  expect_match(plot$labels$caption, "95% posterior interval")
  alone <- plot_map(cold)
  expect_false(grepl("Band", alone$labels$caption))
  expect_s3_class(alone + ggplot2::theme_void() + ggplot2::scale_x_sqrt(), "ggplot")
})

test_that("any calibrator draws itself; several classes get a panel each", {
  many <- oracle_data(100, 8, seed = 52)
  none <- calib_none(oracle_softmax(many$z), many$y)
  panels <- function(plot) ggplot2::ggplot_build(plot)$layout$layout
  expect_equal(dim(table(panels(plot_map(none))[c("ROW", "COL")])), c(2, 4))
  expect_no_match(plot_map(none)$labels$caption, "of 8 classes")
  plot <- plot_map(none, classes = 6)
  expect_equal(nrow(panels(plot)), 6)
  expect_match(gsub("\\s+", " ", plot$labels$caption), "^6 of 8 classes, those with the most calibration rows")
  largest <- sort(order(-tabulate(many$y, 8))[1:6])
  expect_identical(levels(plot$data$class), as.character(largest))
  expect_match(plot_map(none, classes = c("7", "2"))$labels$caption, "^2 of 8 classes\\.")
  expect_match(plot_map(calib_none(diag(3), 1:3), classes = 2)$labels$caption, "(the first of equals)", fixed = TRUE)
  none$prior <- NULL # of an old fit
  expect_match(plot_map(none, classes = 6)$labels$caption, "^6 of 8 classes, the first\\.")
  expect_identical(levels(plot_map(none, classes = 6)$data$class), as.character(1:6))
  expect_identical(levels(plot_map(none, classes = c("7", "2"))$data$class), c("7", "2"))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot.calibrator(none), none)
  expect_identical(autoplot.calibrator(none)$data, plot_map(none)$data)
})

test_that("steps are solid lines with marks of their own, beside others", {
  histogram <- calib_histogram(p, data$y)
  steps <- plot_map(list(GP = fit, Platt = calib_platt(p, data$y), Histogram = histogram, Isotonic = calib_isotonic(p, data$y)))
  lines <- layers_of(steps)[[3]]
  kinds <- unique(lines[c("group", "linetype")])
  expect_identical(as.character(kinds$linetype[3:4]), c("solid", "solid"))
  expect_true(kinds$linetype[2] != "solid")
  marked <- layers_of(steps)[[4]]
  looks <- unique(lines[c("group", "colour")])$colour
  expect_setequal(marked$colour, looks[3:4])
  expect_length(unique(marked$shape), 2)
  expect_length(intersect(marked$x[marked$colour == looks[3]], marked$x[marked$colour == looks[4]]), 0)
  expect_true(all(table(marked$colour) == 8))
  # Marks lie on their lines.
  on_line <- merge(marked[c("x", "y", "colour")], lines[c("x", "y", "colour")])
  expect_identical(nrow(on_line), nrow(marked))
  expect_length(layers_of(plot_map(histogram)), 2)
  # Panels of other classes have their own.
  rows <- data.frame(p = rep(0:8 / 8, 2), calibrated = rep(c(0, 0, 0, 1, 1, 1, 0, 0, 0), 2), class = rep(c("a", "b"), each = 9), fit = "H")
  many <- mark_steps(rows, "H")
  expect_identical(many$p[many$class == "a"], many$p[many$class == "b"])
})

test_that("wrong arguments are input errors", {
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  other <- calib_none(p, factor(c("a", "b")[data$y]))
  error(plot_map(list(a = fit, b = other)), "x\\[\\[2\\]\\]")
  error(plot_map(p), "`x`")
  error(plot_map(fit, lvel = 2), "lvel")
  error(plot_map(fit, level = 1), "level")
  many <- oracle_data(60, 3, seed = 53)
  error(plot_map(calib_gp(many$z, many$y)), "no calibration map")
  error(plot_map(calib_none(many$z, many$y), classes = "x"), "classes")
})

test_that("the map looks as it did", {
  skip_if_not_installed("vdiffr")
  skip_if(utils::packageVersion("ggplot2") >= "3.5.0", "drawn with ggplot2 3.4")
  warm <- calib_temperature(p, data$y)
  warm$temperature <- signif(warm$temperature, 3)
  expect_picture("two maps", plot_map(list(None = calib_none(p, data$y),
    Temperature = warm), points = 51))
})

test_that("scores are drawn as ticks at the foot", {
  set.seed(2)
  p <- stats::runif(60)
  fit <- calib_platt(p, stats::rbinom(60, 1, p))
  rug <- function(plot) Filter(function(layer) inherits(layer$geom, "GeomRug"), plot$layers)
  expect_length(rug(plot_map(fit)), 0)
  plot <- plot_map(fit, scores = p)
  expect_equal(rug(plot)[[1]]$data$p, sort(p))
  expect_match(attr(plot$labels$caption, "words"), "Ticks at the foot: the scores.", fixed = TRUE)
  # many are thinned by rank, both ends kept
  many <- stats::rbeta(5000, 1, 5)
  drawn <- rug(plot_map(fit, scores = many))[[1]]$data$p
  expect_equal(range(drawn), range(many))
  expect_length(drawn, 1000)
  # logits become probabilities, of each class in its panel
  z <- matrix(stats::rnorm(60), 20)
  three <- calib_histogram(z, rep(1:3, length.out = 20), input = "logits", bins = 2)
  drawn <- rug(autoplot(three, scores = z, classes = "2"))[[1]]$data
  expect_equal(drawn$p, sort(exp(z[, 2]) / rowSums(exp(z))))
  expect_error(plot_map(fit, scores = "a"), "`scores`", class = "gpcalib_error_input")
  expect_error(plot_map(fit, scores = numeric()), "`scores` has no rows", class = "gpcalib_error_input")
})

test_that("smoothing a band moves no limit by more than the error of the draws", {
  set.seed(2)
  z <- rnorm(300)
  fit <- calib_gp(plogis(3 * z), rbinom(300, 1, plogis(z)))
  set.seed(1)
  rows <- as.data.frame(plot_map(fit)$data)
  rows <- rows[!is.na(rows$conf.low), ]
  rows$fit <- factor("a")
  rows$class <- factor("1")
  even <- smooth_bands(rows)
  expect_lte(max(abs(even$conf.low - rows$conf.low), abs(even$conf.high - rows$conf.high)), band_moved + 1e-12)
  expect_gt(max(abs(even$conf.low - rows$conf.low)), 0)
})

test_that("the caption says why a band widens, if it does", {
  rows <- data.frame(fit = factor("a"), class = factor("1"), p = seq(0, 1, 0.01))
  rows$conf.low <- 0.4
  rows$conf.high <- 0.5
  expect_null(say_flare(rows))
  rows$conf.high[91] <- 0.6
  expect_match(say_flare(rows), "Bands widen where there are few calibration rows, or few of one class among them.", fixed = TRUE)
  # as wide in log-odds everywhere: wider where the probability is nearer to 1/2
  rows$conf.low <- plogis(seq(-6, 0, length.out = 101) - 0.2)
  rows$conf.high <- plogis(seq(-6, 0, length.out = 101) + 0.2)
  expect_null(say_flare(rows))
  rows$conf.high[] <- rows$conf.low[] <- NA
  expect_null(say_flare(rows))
})

test_that("more than two bands are outlined, and curves on each other are named", {
  set.seed(1)
  p <- runif(400)
  y <- rbinom(400, 1, p^2)
  fits <- list(Platt = calib_platt(p, y), Same = calib_platt(p, y), Beta = calib_beta(p, y), Raw = calib_none(p, y))
  ribbon <- function(plot) Filter(function(layer) inherits(layer$geom, "GeomRibbon"), plot$layers)[[1]]$aes_params$alpha
  said <- function(plot) gsub("\n", " ", plot$labels$caption)
  expect_lt(ribbon(plot_map(fits)), ribbon(plot_map(fits[c(1, 3)])))
  expect_match(said(plot_map(fits)), "The curves of \"Platt\" and \"Same\" nearly coincide.")
  expect_match(said(plot_map(fits)), "Thin lines: the edges of the bands.", fixed = TRUE)
  expect_no_match(said(plot_map(fits[c(1, 4)])), "coincide|Thin")
  probs <- lapply(fits, function(fit) predict(fit, p)[, 2])
  expect_match(said(plot_mcbdsc(probs, y)), "Marks on the same spot: \"Platt\"")
  expect_no_match(said(plot_mcbdsc(probs[c(1, 4)], y)), "same spot")
  expect_identical(near_ones(c("a", "b", "c", "d"), function(one, other) one == "a" && other == "c"), "\"a\" and \"c\"")
  at <- c(a = 0, b = 3, c = 2, d = 9, e = 1)
  near <- function(one, other) abs(at[[one]] - at[[other]]) < 1.5
  expect_identical(near_ones(names(at), near), "\"a\", \"b\", \"c\" and \"e\"") # in any order of the names
  expect_identical(near_ones(c("e", "d", "b", "a", "c"), near), "\"e\", \"b\", \"a\" and \"c\"")
})

test_that("a part of the axis can be drawn, and the caption says when that helps", {
  p <- with_seed(75, stats::runif(400, 0.42, 0.58))
  y <- with_seed(76, stats::rbinom(400, 1, stats::plogis(30 * (p - 0.5))))
  fit <- suppressWarnings(calib_gp(p, y))
  said <- function(plot) gsub("\n", " ", plot$labels$caption)
  whole <- plot_map(fit)
  part <- plot_map(fit, range = c(0.4, 0.6), scores = c(p, 0.9))
  expect_match(said(whole), "The scores take up little of the axis: with `range` only a part of it is drawn.", fixed = TRUE)
  expect_no_match(said(part), "They take up little")
  expect_equal(range(part$data$p), c(0.4, 0.6))
  expect_no_warning(ggplot2::ggplot_build(part))
  expect_equal(part$data$calibrated[201], predict(fit, 0.5)[[2]])
  for (bad in list(0.5, c(0.6, 0.4), c(-1, 1), c(0, NA), "a")) {
    expect_error(plot_map(fit, range = bad), "`range` must be two probabilities, the lower one first", class = "gpcalib_error_input")
  }
})
