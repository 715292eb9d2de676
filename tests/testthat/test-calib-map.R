# The one-dimensional map, for calibrators of two classes and of many.

pair <- oracle_data(200, 2, seed = 11)
p2 <- oracle_softmax(pair$z)[, 2]
y2 <- factor(c("no", "yes")[pair$y], levels = c("no", "yes"))
at <- c(0, 0.2, 0.5, 0.9, 1)

test_that("for two classes the map is what predict() gives", {
  for (fit in list(calib_none(p2, y2), calib_temperature(p2, y2))) {
    map <- calib_map(fit, at)
    expect_s3_class(map, "data.frame")
    expect_identical(names(map), c("class", "p", "calibrated", "conf.low", "conf.high"))
    expect_identical(map$class, factor(rep("yes", 5), levels = c("no", "yes")))
    expect_identical(map$p, at)
    expect_identical(map$calibrated, unname(predict(fit, at)[, 2]))
    expect_true(all(is.na(map$conf.low)) && all(is.na(map$conf.high)))
  }
  expect_identical(calib_map(calib_none(p2, y2), at)$calibrated, at)
  expect_identical(nrow(calib_map(calib_none(p2, y2))), 101L)
  expect_identical(dim(calib_map(calib_none(p2, y2), numeric())), c(0L, 5L))
})

test_that("calibrators of logits are given log-odds", {
  odds <- pair$z[, 2] - pair$z[, 1]
  fit <- calib_temperature(odds, y2, input = "logits")
  map <- calib_map(fit, at)
  expect_equal(map$calibrated, plogis(qlogis(at) / fit$temperature), tolerance = 1e-14)
  expect_equal(calib_map(calib_none(odds, y2, input = "logits"), at)$calibrated, at,
    tolerance = 1e-14)
})

test_that("the process brings its band, and no warning", {
  for (input in c("probs", "logits")) {
    x <- if (input == "probs") p2 else qlogis(p2)
    fit <- calib_gp(x, y2, input = input)
    set.seed(1)
    expect_silent(map <- calib_map(fit, at))
    set.seed(1)
    expect_identical(map, calib_map(fit, at))
    expect_true(all(map$conf.low <= map$calibrated & map$calibrated <= map$conf.high))
    expect_true(all(is.finite(map$conf.low)) && all(is.finite(map$conf.high)))
    inner <- 2:4
    band <- suppressWarnings({
      set.seed(1)
      predict(fit, if (input == "probs") at[inner] else qlogis(at[inner]), type = "interval")
    })
    expect_equal(map$calibrated[inner], unname(band[, 2, 1]), tolerance = 1e-3)
    set.seed(1)
    narrow <- calib_map(fit, at, level = 0.5)
    expect_true(all(narrow$conf.high - narrow$conf.low <= map$conf.high - map$conf.low))
  }
})

test_that("shared maps of many classes have none, no calibration is the diagonal", {
  many <- oracle_data(60, 3, seed = 2)
  expect_error(calib_map(calib_temperature(many$z, many$y)), "latent\\(\\)",
    class = "gpcalib_error_input")
  map <- calib_map(calib_none(many$z, many$y), at)
  expect_identical(map$calibrated, rep(at, 3))
  expect_identical(as.character(map$class), rep(c("1", "2", "3"), each = 5))
})

test_that("bad arguments are named", {
  fit <- calib_none(p2, y2)
  expect_error(calib_map(1), "`object`", class = "gpcalib_error_input")
  expect_error(calib_map(fit, c(0.5, 1.2)), "`p` .*position 2", class = "gpcalib_error_input")
  expect_error(calib_map(fit, NA_real_), "`p`", class = "gpcalib_error_input")
  expect_error(calib_map(fit, "a"), "`p`", class = "gpcalib_error_input")
  expect_error(calib_map(fit, 0.5, level = 2), "`level`", class = "gpcalib_error_input")
  expect_error(calib_map(fit, 0.5, lvl = 2), "lvl", class = "gpcalib_error_input")
})
