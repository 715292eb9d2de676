# Covariances, intervals and likelihoods of the simple calibrators.

d <- with_seed(3, {
  p <- stats::plogis(stats::rnorm(400, sd = 2))
  list(p = p, y = stats::rbinom(400, 1, stats::plogis(0.6 * stats::qlogis(p) + 0.4)))
})
three <- oracle_data(300, 3, seed = 4)
y3 <- factor(letters[three$y])

test_that("Platt scaling with raw targets has the covariance and likelihood of glm()", {
  for (scale in c("score", "logit")) {
    s <- if (scale == "score") d$p else stats::qlogis(d$p)
    fit <- calib_platt(d$p, d$y, targets = "raw", scale = scale)
    ref <- stats::glm(d$y ~ s, family = stats::binomial, control = list(epsilon = 1e-12))
    expect_equal(unname(vcov(fit)), unname(stats::vcov(ref))[2:1, 2:1], tolerance = 1e-6)
    expect_identical(rownames(vcov(fit)), c("slope", "intercept"))
    expect_equal(as.numeric(logLik(fit)), as.numeric(stats::logLik(ref)), tolerance = 1e-10)
    expect_equal(stats::AIC(fit), stats::AIC(ref), tolerance = 1e-10)
    expect_equal(stats::BIC(fit), stats::BIC(ref), tolerance = 1e-10)
    expect_equal(unname(confint(fit)), unname(stats::confint.default(ref))[2:1, ], tolerance = 1e-6)
    expect_equal(sqrt(diag(vcov(fit))), stats::setNames(tidy(fit)$std.error, tidy(fit)$term))
  }
})

test_that("weights count rows in covariances", {
  w <- rep(1:2, 200)
  one <- calib_platt(d$p, d$y, weights = w)
  two <- calib_platt(rep(d$p, w), rep(d$y, w))
  expect_equal(vcov(one), vcov(two), tolerance = 1e-8)
  expect_equal(vcov(calib_beta(d$p, d$y, weights = w)), vcov(calib_beta(rep(d$p, w), rep(d$y, w))), tolerance = 1e-8)
})

test_that("beta calibration has the covariance of glm() on its features", {
  u <- log(d$p)
  v <- -log1p(-d$p)
  control <- list(epsilon = 1e-12)
  ref <- stats::glm(d$y ~ u + v, family = stats::binomial, control = control)
  fit <- calib_beta(d$p, d$y)
  expect_equal(unname(vcov(fit)), unname(stats::vcov(ref))[c(2, 3, 1), c(2, 3, 1)], tolerance = 1e-5)
  expect_equal(stats::AIC(fit), stats::AIC(ref), tolerance = 1e-9)
  am <- stats::glm(d$y ~ I(u + v), family = stats::binomial, control = control)
  fit <- calib_beta(d$p, d$y, params = "am")
  expect_equal(unname(vcov(fit))[2:3, 2:3], unname(stats::vcov(am))[2:1, 2:1], tolerance = 1e-5)
  expect_equal(unname(vcov(fit))[1, ], unname(vcov(fit))[2, ])
  expect_identical(attr(logLik(fit), "df"), 2)
  ab <- stats::glm(d$y ~ 0 + I(u + log(2)) + I(v - log(2)), family = stats::binomial, control = control)
  fit <- calib_beta(d$p, d$y, params = "ab")
  expect_equal(unname(vcov(fit))[1:2, 1:2], unname(stats::vcov(ab)), tolerance = 1e-5)
  tie <- c(1, -1) * log(2)
  expect_equal(vcov(fit)["c", "c"], drop(tie %*% stats::vcov(ab) %*% tie), tolerance = 1e-5)
  expect_equal(stats::AIC(fit), stats::AIC(ab), tolerance = 1e-9)
})

test_that("terms that were not estimated have no covariance, and do not count", {
  # labels that fall with the score near 0 push `a` to its limit
  x <- with_seed(5, stats::runif(500))
  y <- with_seed(6, stats::rbinom(500, 1, stats::plogis(-3 - log(x) * 0.8 - 3 * log1p(-x))))
  fit <- calib_beta(x, y)
  expect_identical(unname(coef(fit)["a"]), 0)
  expect_true(all(is.na(vcov(fit)["a", ])))
  expect_false(anyNA(vcov(fit)[-1, -1]))
  expect_identical(attr(logLik(fit), "df"), 2)
  expect_false(anyNA(predict(fit, x[1:3], type = "interval")))
})

test_that("the temperature's interval is that of log T, and its likelihood counts one", {
  fit <- calib_temperature(three$z, y3)
  t <- fit$temperature
  expect_equal(as.vector(confint(fit)), t * exp(c(-1, 1) * stats::qnorm(0.975) * fit$std_error / t))
  expect_identical(dimnames(confint(fit, level = 0.9)), list("temperature", c("5 %", "95 %")))
  expect_identical(attr(logLik(fit), "df"), 1)
  table <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
  expect_equal(c(table$conf.low, table$conf.high), as.vector(confint(fit, level = 0.9)))
  expect_identical(names(tidy(fit)), c("term", "estimate", "std.error"))
})

test_that("maps that were fitted one by one have no joint covariance and no joint likelihood", {
  fit <- calib_platt(three$z, y3)
  v <- vcov(fit)
  expect_identical(dim(v), c(6L, 6L))
  expect_true(all(is.na(v[1:2, 3:6])))
  two <- calib_platt(oracle_softmax(three$z)[, 2], three$y == 2, scale = "logit")
  expect_equal(unname(v[3:4, 3:4]), unname(vcov(two)), tolerance = 1e-5)
  expect_error(logLik(fit), "3 classes", class = "gpcalib_error_input")
  expect_error(predict(fit, three$z, type = "interval"), "two classes only", class = "gpcalib_error_input")
  expect_error(predict(calib_none(three$z, y3), three$z, type = "interval"), "does not have",
    class = "gpcalib_error_input")
})

test_that("a method without intervals names those that have them for so many classes", {
  fit <- calib_vector(three$z, y3)
  expect_error(predict(fit, three$z, type = "interval"), "calib_gp\\(\\), calib_temperature\\(\\) and calib_isotonic",
    class = "gpcalib_error_input")
  expect_error(plot_interval(fit, three$z), "calib_vector\\(\\) does not have", class = "gpcalib_error_input")
  pair <- calib_vector(three$z[, 1:2], factor(1 + (three$y == 2)))
  expect_error(predict(pair, three$z[, 1:2], type = "interval"), "calib_platt\\(\\), calib_beta\\(\\) and", class = "gpcalib_error_input")
  # what is named has them
  for (other in list(calib_gp(three$z, y3), calib_temperature(three$z, y3), calib_isotonic(three$z, y3, type = "venn-abers"))) {
    expect_identical(dim(predict(other, three$z, type = "interval")), c(nrow(three$z), 3L, 3L))
  }
})

# Intervals of probabilities --------------------------------------------------------------

test_that("two-class intervals are those of predict.glm() on the link", {
  new <- c(0.01, 0.2, 0.5, 0.97)
  control <- list(epsilon = 1e-12)
  cases <- list(
    list(calib_platt(d$p, d$y, targets = "raw", scale = "logit"), stats::glm(y ~ qlogis(p), stats::binomial, d,
      control = control)),
    list(calib_platt(d$p, d$y, targets = "raw", scale = "score"), stats::glm(y ~ p, stats::binomial, d,
      control = control)),
    list(calib_beta(d$p, d$y), stats::glm(y ~ log(p) + log1p(-p), stats::binomial, d, control = control))
  )
  for (case in cases) {
    got <- predict(case[[1]], new, type = "interval", level = 0.9)
    ref <- stats::predict(case[[2]], data.frame(p = new), se.fit = TRUE)
    q <- stats::qnorm(0.95)
    expect_equal(unname(got[, 2, ]), unname(cbind(stats::plogis(ref$fit), stats::plogis(ref$fit - q * ref$se.fit),
      stats::plogis(ref$fit + q * ref$se.fit))), tolerance = 1e-5)
    expect_equal(got[, 1, "lower"], 1 - got[, 2, "upper"])
    expect_equal(got[, 2, "estimate"], unname(predict(case[[1]], new)[, 2]), tolerance = 1e-12)
  }
})

test_that("logits give the intervals of their probabilities", {
  s <- stats::qlogis(d$p)
  a <- predict(calib_platt(s, d$y, input = "logits"), s[1:5], type = "interval")
  b <- predict(calib_platt(d$p, d$y, scale = "logit"), d$p[1:5], type = "interval")
  expect_equal(a, b, tolerance = 1e-8)
  a <- predict(calib_beta(s, d$y, input = "logits"), s[1:5], type = "interval")
  b <- predict(calib_beta(d$p, d$y), d$p[1:5], type = "interval")
  expect_equal(a, b, tolerance = 1e-8)
})

test_that("the temperature's intervals follow the derivative of the log-odds", {
  fit <- calib_temperature(three$z, y3)
  got <- predict(fit, three$z[1:20, ], type = "interval")
  expect_equal(got[, , 1], predict(fit, three$z[1:20, ]))
  at <- function(b) stats::qlogis(oracle_softmax(b * three$z[1:20, ]))
  b <- 1 / fit$temperature
  slope <- (at(b + 1e-5) - at(b - 1e-5)) / 2e-5
  half <- stats::qnorm(0.975) * abs(slope) * fit$std_error / fit$temperature^2
  expect_equal(unname(got[, , 2]), stats::plogis(at(b) - half), tolerance = 1e-6)
  expect_equal(unname(got[, , 3]), stats::plogis(at(b) + half), tolerance = 1e-6)
  # two classes: the image of an interval for 1/T
  pair <- calib_temperature(d$p, d$y)
  se <- pair$std_error / pair$temperature^2
  ends <- 1 / pair$temperature + c(-1, 1) * stats::qnorm(0.975) * se
  expect_equal(unname(predict(pair, 0.9, type = "interval")[1, 2, 2:3]), stats::plogis(stats::qlogis(0.9) * ends),
    tolerance = 1e-8)
})

test_that("intervals are probabilities at the limits of doubles", {
  far <- rbind(c(0, 800, -800), c(0, 1e4, 0), c(0, 0, 0), c(40, 0, 0), c(-Inf, 0, 1))
  got <- predict(calib_temperature(three$z, y3), far, type = "interval")
  expect_true(all(is.finite(got)) && all(got >= 0 & got <= 1))
  expect_true(all(got[, , 2] <= got[, , 1] & got[, , 1] <= got[, , 3]))
  for (fit in list(calib_platt(d$p, d$y), calib_platt(d$p, d$y, scale = "logit"), calib_beta(d$p, d$y))) {
    got <- predict(fit, c(0, 1, 1e-300), type = "interval")
    expect_true(all(is.finite(got)) && all(got[, , 2] <= got[, , 3]))
  }
  expect_identical(dim(predict(calib_temperature(three$z, y3), three$z[0, ], type = "interval")), c(0L, 3L, 3L))
})

test_that("without standard errors the limits are missing, and that is said", {
  y <- rep(0:1, each = 10)
  x <- seq(0.05, 0.95, length.out = 20)
  fit <- suppressWarnings(calib_platt(x, y, targets = "raw"))
  expect_warning(got <- predict(fit, 0.3, type = "interval"), class = "gpcalib_warning_undefined")
  expect_true(all(is.na(got[, , 2:3])) && all(is.finite(got[, , 1])))
  expect_true(all(is.na(confint(fit))))
  fit <- suppressWarnings(calib_temperature(x, y))
  expect_warning(got <- predict(fit, 0.3, type = "interval"), class = "gpcalib_warning_undefined")
  expect_true(all(is.na(got[, , 2:3])))
})

test_that("fits of versions that kept no covariances say so", {
  fit <- calib_platt(d$p, d$y)
  fit$covariance <- NULL
  expect_error(vcov(fit), "Fit the calibrator again", class = "gpcalib_error_input")
  expect_error(predict(fit, 0.2, type = "interval"), "again", class = "gpcalib_error_input")
  expect_equal(nrow(predict(fit, 0.2)), 1)
})

test_that("methods without a likelihood say so", {
  fit <- calib_isotonic(d$p, d$y)
  expect_error(logLik(fit), "no likelihood", class = "gpcalib_error_input")
  expect_error(vcov(fit), "no covariances", class = "gpcalib_error_input")
})

test_that("bad arguments are named", {
  fit <- calib_platt(d$p, d$y)
  expect_error(confint(fit, "zz"), "`parm`", class = "gpcalib_error_input")
  expect_error(confint(fit, 3), "`parm`", class = "gpcalib_error_input")
  expect_error(confint(fit, level = 2), "`level`", class = "gpcalib_error_input")
  expect_error(tidy(fit, conf.int = NA), "`conf.int`", class = "gpcalib_error_input")
  expect_error(tidy(fit, conf.int = TRUE, conf.level = 1), "`conf.level`", class = "gpcalib_error_input")
  expect_error(predict(fit, 0.1, type = "interval", level = 0), "`level`", class = "gpcalib_error_input")
  expect_identical(rownames(confint(fit, "slope")), "slope")
  expect_true(all(is.na(confint(calib_isotonic(d$p, d$y)))))
})

test_that("a fit that does not hold its log-likelihood says so", {
  fit <- calib_beta(d$p, d$y)
  fit["log_lik"] <- list(NULL)
  expect_error(logLik(fit), "log-likelihood", class = "gpcalib_error_input")
})
