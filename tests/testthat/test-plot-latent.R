# The latent map: the table behind the picture, and what a fit keeps for it.

data <- oracle_data(300, 4, seed = 41)
fit <- shared_gp(data$z, data$y)
layers_of <- function(plot) ggplot2::ggplot_build(plot)$data
rows_of <- function(plot, map) plot$data[grepl(map, plot$data$map), ]

test_that("a fit keeps a histogram of its scores", {
  seen <- fit$scores_seen
  centred <- data$z - rowMeans(data$z)
  expect_equal(seen$breaks, range(fit$inducing))
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = 41)
  mine <- cbind(1:300, data$y)
  count <- function(z) as.vector(table(cut(z, edges, include.lowest = TRUE, right = FALSE)))
  others <- centred
  others[mine] <- NA
  expect_equal(seen$true, count(centred[mine]))
  expect_equal(seen$other, count(others[!is.na(others)]))
  outside <- function(z) mean(z < edges[1] | z > edges[41])
  expect_equal(seen$beyond, c(true = outside(centred[mine]),
    other = outside(others[!is.na(others)])))
  expect_lt(length(unlist(seen)), 200)
  expect_lt(length(serialize(fit, NULL)), 10 * 1024)
})

test_that("it keeps the temperature, from all rows or from some of them", {
  all <- calib_temperature(data$z, data$y)
  expect_equal(fit$scores_seen$temperature, all$temperature, tolerance = 1e-3)
  expect_identical(fit$scores_seen$rows, 300L)
  # Weights count, as rows do
  w <- rep(0:2, 100)
  weighted <- calib_gp(data$z, data$y, weights = w)
  expect_equal(weighted$scores_seen$temperature,
    calib_temperature(data$z, data$y, weights = w)$temperature, tolerance = 1e-3)
  expect_equal(sum(weighted$scores_seen$true) / (1 - weighted$scores_seen$beyond[["true"]]), sum(w))
  # Many scores: rows spread evenly
  wide <- oracle_data(2500, 100, seed = 42)
  many <- calib_gp(wide$z, factor(wide$y, levels = 1:100))
  seen <- many$scores_seen
  expect_identical(seen$rows, 2000L)
  rows <- floor((0:1999) * (2500 / 2000)) + 1
  some <- calib_temperature(wide$z[rows, ], factor(wide$y[rows], levels = 1:100))
  expect_equal(seen$temperature, some$temperature, tolerance = 1e-3)
  expect_equal(sum(seen$true) / (1 - seen$beyond[["true"]]), 2500)
  expect_equal(sum(seen$other) / (1 - seen$beyond[["other"]]), 2000 * 99)
  expect_match(gsub("\n", " ", autoplot(many)$labels$caption), "2,000 of 2,500 rows")
})

test_that("raw probabilities are counted on the logarithmic scale", {
  p <- oracle_softmax(data$z)
  raw <- calib_gp(p, data$y, mean = "log")
  seen <- raw$scores_seen
  expect_identical(seen$scale, "log")
  expect_equal(exp(seen$breaks), range(raw$inducing), tolerance = 1e-6)
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = 41)
  want <- table(cut(log(p[cbind(1:300, data$y)]), edges, include.lowest = TRUE, right = FALSE))
  expect_equal(seen$true, as.vector(want))
  expect_equal(seen$temperature, calib_temperature(p, data$y)$temperature, tolerance = 1e-3)
  expect_s3_class(autoplot(raw), "ggplot")
})

test_that("curves are the maps, shifted to agree on average", {
  plot <- autoplot(fit)
  seen <- fit$scores_seen
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = 41)
  at <- (edges[-1] + edges[-41]) / 2
  p <- (seen$true / sum(seen$true) + seen$other / sum(seen$other)) / 2
  mean_of <- function(map) sum(p * map(at))
  post <- function(z) latent(fit, z)$mean
  got <- rows_of(plot, "Posterior")
  expect_equal(got$mean, post(got$z) - mean_of(post))
  line <- function(slope) function(z) slope * z
  for (slope in list(c("Prior", fit$hyper[["slope"]]), c("Temperature", 1 / seen$temperature),
    c("Identity", 1))) {
    rows <- rows_of(plot, slope[1])
    map <- line(as.numeric(slope[2]))
    expect_equal(rows$mean, map(rows$z) - mean_of(map))
    expect_true(all(is.na(rows$conf.low)))
  }
})

test_that("the band is the posterior of the map less its average", {
  set.seed(5)
  plot <- autoplot(fit, level = 0.9)
  got <- rows_of(plot, "Posterior")
  seen <- fit$scores_seen
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = 41)
  at <- (edges[-1] + edges[-41]) / 2
  p <- (seen$true / sum(seen$true) + seen$other / sum(seen$other)) / 2
  # Functions drawn from the posterior by way of the kernel
  h <- fit$hyper
  k <- function(a, b) h[["variance"]] * exp(-outer(a, b, "-")^2 / (2 * h[["lengthscale"]]^2))
  root <- t(chol(k(fit$inducing, fit$inducing) + diag(h[["noise"]], length(fit$inducing))))
  v <- fit$q_mean + t(chol(fit$q_cov)) %*% matrix(rnorm(length(fit$inducing) * 4000), ncol = 4000)
  tilt <- fit$slope_sd * rnorm(4000)
  v <- v + outer(fit$slope_cross, tilt)
  draws <- function(z) t(forwardsolve(root, k(fit$inducing, z))) %*% v + outer(z, tilt)
  centred <- draws(got$z) - rep(colSums(p * draws(at)), each = nrow(got))
  half <- (got$conf.high - got$conf.low) / 2
  expect_equal(half, qnorm(.95) * apply(centred, 1, sd), tolerance = .05)
  # Without the average it is the variance that latent() gives
  shape <- .Call(C_centred, fit, got$z, 1e6, 1)
  along <- got$z + drop(crossprod(forwardsolve(root, k(fit$inducing, got$z)), fit$slope_cross))
  var <- shape$var + shape$rho + (fit$slope_sd * along)^2
  expect_equal(sqrt(var), latent(fit, got$z)$sd, tolerance = 1e-5)
  # and that of draws
  expect_equal(apply(draws(got$z), 1, sd), latent(fit, got$z)$sd, tolerance = 0.05)
})

test_that("inducing inputs lie on the curve, and the lines can be chosen", {
  plot <- autoplot(fit)
  points <- layers_of(plot)[[3]]
  expect_equal(points$x, fit$inducing)
  expect_equal(nrow(layers_of(autoplot(fit, inducing = FALSE))[[3]]), 2) # the blank layer
  levels_of <- function(...) levels(autoplot(fit, ...)$data$map)
  expect_identical(levels_of(compare = character()), "Posterior mean")
  expect_identical(levels_of(compare = "identity"), c("Posterior mean", "Identity"))
  expect_length(levels_of(), 4)
  own <- calib_gp(data$z, data$y, mean = "identity")
  expect_false("Identity" %in% levels(autoplot(own)$data$map))
})

test_that("the scores stand below, as shares", {
  plot <- autoplot(fit)
  layout <- ggplot2::ggplot_build(plot)$layout
  expect_equal(nrow(layout$layout), 2)
  bars <- Filter(function(layer) all(c("xmin", "ymax") %in% names(layer)) && nrow(layer) == 40,
    layers_of(plot))[[1]]
  seen <- fit$scores_seen
  view <- layout$panel_params[[2]]$y
  breaks <- view$get_breaks()
  per <- max(breaks, na.rm = TRUE) /
    as.numeric(sub("%", "", view$get_labels()[which.max(breaks)]))
  want <- 100 * (1 - seen$beyond[["other"]]) * seen$other / sum(seen$other)
  expect_equal(bars$ymax / per, want, tolerance = 1e-6)
  expect_equal(nrow(ggplot2::ggplot_build(autoplot(fit, histogram = FALSE))$layout$layout), 1)
})

test_that("several maps are overlaid, on one scale", {
  other <- calib_gp(data$z, data$y, covariance = "diag")
  plot <- plot_latent(list(Full = fit, Diagonal = other, T = calib_temperature(data$z, data$y)))
  expect_identical(levels(plot$data$map), c("Full", "Diagonal", "T", "Identity"))
  expect_s3_class(plot + ggplot2::theme_classic() + ggplot2::labs(title = "Maps"), "ggplot")
  expect_s3_class(autoplot(calib_temperature(data$z, data$y)), "ggplot")
  expect_identical(levels(autoplot(calib_none(data$z, data$y))$data$map), "Identity")
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  raw <- calib_gp(data$z, data$y, center = FALSE)
  error(plot_latent(list(a = fit, b = raw)), "scales")
  error(plot_latent(list(a = fit, b = 1)), "x\\[\\[2\\]\\]")
  error(plot_latent(fit, compare = "prio"), "compare")
  error(plot_latent(fit, range = c(2, 1)), "range")
  error(plot_latent(fit, level = 2), "level")
  error(autoplot(fit, levels = 2), "levels")
  expect_equal(range(plot_latent(fit, range = c(-1, 2))$data$z), c(-1, 2))
})

test_that("no calibration does not scale the picture, nor take the look of a fit", {
  sharp <- calib_gp(20 * data$z, data$y)
  both <- plot_latent(list(None = calib_none(20 * data$z, data$y), GP = sharp), histogram = FALSE)
  limits <- both$scales$get_scales("y")$limits
  curves <- both$data
  own <- range(curves[curves$map == "GP", c("mean", "conf.low", "conf.high")])
  expect_lte(diff(limits), 1.5 * diff(own) + 1e-9)
  expect_gt(diff(range(curves$mean[curves$map == "None"])), diff(limits))
  looks <- latent_looks(c("None", "GP", "Identity"), 2, 1)
  expect_identical(unname(looks$linetype[["GP"]]), "solid")
  expect_identical(looks$colour[["None"]], looks$colour[["Identity"]])
})

test_that("odd fits can be drawn", {
  draw <- function(fit, ...) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    expect_silent(out <- plot(fit, ...))
    expect_identical(out, fit)
  }
  quiet <- function(...) suppressWarnings(calib_gp(...))
  draw(fit)
  draw(quiet(matrix(.5, 20, 2), rep(0:1, 10))) # all scores equal
  draw(quiet(data$z, factor(rep(1, 300), levels = 1:4))) # one class
  draw(quiet(data$z[1:10, ], factor(data$y[1:10], levels = 1:4)))
  draw(quiet(rbind(data$z, 1e4 * data$z[1, ]), c(data$y, data$y[1]))) # an outlying row
  draw(fit, range = c(-100, -50))
  draw(calib_none(data$z, data$y))
})

test_that("the map looks as it did", {
  skip_if_not_installed("vdiffr")
  skip_if(utils::packageVersion("ggplot2") >= "3.5.0", "drawn with ggplot2 3.4")
  # By rounded numbers: last digits differ between machines.
  plain <- fit
  for (name in c("hyper", "inducing", "q_mean", "q_cov", "slope_sd", "slope_cross")) plain[[name]] <- signif(fit[[name]], 3)
  plain$scores_seen$breaks <- signif(fit$scores_seen$breaks, 3)
  plain$scores_seen$temperature <- signif(fit$scores_seen$temperature, 3)
  expect_picture("latent map", autoplot(plain))
})

test_that("offsets of two classes are not said to be the whole of the change", {
  set.seed(1)
  p <- stats::runif(400)
  y <- stats::rbinom(400, 1, stats::plogis(0.5 + 2 * stats::qlogis(p)))
  caption <- function(effects) gsub("\n", " ", autoplot(calib_gp(p, y, class_effects = effects), what = "offsets")$labels$caption)
  expect_match(caption("matrix"), "Map, asymmetry and shape .* also change how likely a class is: see plot_map()")
  expect_no_match(caption("matrix"), "Right of 0")
  expect_match(caption("offset"), "Right of 0 the class becomes more likely")
})
