# Effects of the classes in calib_gp(): predictions against every row's design written out, and what is
# said of them.

fit_mixed <- function(n, k, ...) {
  d <- mixed_data(n, k)
  c(d, list(fit = quiet_gp(d$scores, d$labels, ...), z = d$scores - rowMeans(d$scores)))
}
set.seed(21)
three <- fit_mixed(400, 3)
set.seed(22)
pair <- fit_mixed(400, 2)
set.seed(23)
many <- fit_mixed(300, 40, class_effects = "offset")

test_that("the default finds effects where they are, and none where there are none", {
  expect_identical(three$fit$class_effects, "matrix")
  expect_gt(three$fit$effects$worth, 10)
  plain <- shared_gp(three$scores, three$labels)
  set.seed(24)
  test <- mixed_data(2000, 3)
  gain <- log_loss(predict(plain, test$scores), test$labels) - log_loss(predict(three$fit, test$scores), test$labels)
  expect_gt(gain, 0.02)
  set.seed(25)
  z <- matrix(rnorm(3000, sd = 2), 1000)
  y <- max.col(z - log(-log(matrix(runif(3000), 1000))))
  fit <- calib_gp(z, y)
  away <- predict(fit, z) - predict(shared_gp(z, y), z)
  expect_lt(mean(abs(away)), 0.01)
})

test_that("latent values have the mean and covariance of the joint posterior", {
  for (d in list(three, pair)) {
    latent <- predict(d$fit, d$scores[1:5, ], type = "latent")
    for (n in 1:5) {
      row <- oracle_effect_row(d$fit, d$z[n, ])
      expect_equal(unname(latent$mean[n, ]), row$phi, tolerance = 1e-7)
      expect_equal(unname(latent$var[n, ]), diag(row$cov), tolerance = 1e-6)
    }
    p <- predict(d$fit, d$scores[1:5, ], approx = "mean")
    soft <- t(apply(d$z[1:5, ], 1, function(z) oracle_soft(oracle_effect_row(d$fit, z)$phi)))
    expect_equal(unname(p), soft, tolerance = 1e-7)
  }
})

test_that("two classes with effects agree with one-dimensional quadrature", {
  p <- predict(pair$fit, pair$scores[1:8, ])
  for (n in 1:8) {
    row <- oracle_effect_row(pair$fit, pair$z[n, ])
    sd <- sqrt(sum(row$cov * c(1, -1, -1, 1)))
    exact <- integrate(function(x) plogis(diff(row$phi) + sd * x) * dnorm(x), -9, 9, rel.tol = 1e-12)$value
    expect_equal(p[[n, 2]], exact, tolerance = 1e-9)
  }
})

test_that("several classes with effects agree with brute force, by every road", {
  set.seed(26)
  new <- three$scores[1:12, ]
  delta <- predict(three$fit, new)
  mc <- predict(three$fit, new, approx = "mc", n_draws = 20000)
  plain <- three$fit
  plain["averaged"] <- list(NULL) # draws and intervals of the fit's own posterior
  draws <- predict(plain, new, type = "draws", n_draws = 4000)
  ends <- predict(plain, new, type = "interval", level = 0.9, n_draws = 4000)
  expect_equal(ends[, , "estimate"], delta, tolerance = 1e-12)
  expect_equal(predict(three$fit, new, type = "class"), factor(max.col(delta), levels = 1:3))
  for (n in 1:12) {
    row <- oracle_effect_row(three$fit, three$z[n, ])
    root <- t(chol(row$cov + diag(1e-12, 3)))
    x <- root %*% matrix(rnorm(60000), 3)
    g <- exp(row$phi + cbind(x, -x))
    g <- g / rep(colSums(g), each = 3)
    expect_lt(max(abs(delta[n, ] - rowMeans(g))), 2e-3)
    expect_lt(max(abs(mc[n, ] - rowMeans(g))), 5e-3)
    expect_lt(max(abs(ends[n, , "lower"] - apply(g, 1, quantile, 0.05))), 0.02)
    expect_lt(max(abs(ends[n, , "upper"] - apply(g, 1, quantile, 0.95))), 0.02)
    ratio <- log(draws[n, 2, ] / draws[n, 1, ])
    expect_lt(abs(mean(ratio) - row$phi[2] + row$phi[1]), 1e-3)
    expect_equal(var(ratio), sum(row$cov[1:2, 1:2] * c(1, -1, -1, 1)), tolerance = 0.1)
  }
})

test_that("a slope that is taken as known narrows the draws", {
  set.seed(27)
  new <- three$scores[1:3, ]
  plain <- three$fit
  plain["averaged"] <- list(NULL)
  known <- predict(plain, new, type = "draws", n_draws = 6000, vary_slope = FALSE)
  for (n in 1:3) {
    row <- oracle_effect_row(three$fit, three$z[n, ], known_slope = TRUE)
    expect_equal(var(log(known[n, 2, ] / known[n, 1, ])), sum(row$cov[1:2, 1:2] * c(1, -1, -1, 1)), tolerance = 0.1)
  }
})

test_that("offsets of many classes shift the process", {
  fit <- many$fit
  expect_null(fit$effects)
  b <- fit$offsets
  new <- many$scores[1:6, ]
  latent <- predict(fit, new, type = "latent")
  p <- predict(fit, new, approx = "mean")
  for (n in 1:6) {
    row <- oracle_row(many$z[n, ], fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)
    expect_equal(unname(latent$mean[n, ]), row$phi + unname(b$mean), tolerance = 1e-6)
    along <- oracle_row(many$z[n, ], fit$inducing, fit$slope_cross, fit$q_cov, replace(fit$hyper, "slope", 1))$phi
    expect_equal(unname(latent$var[n, ]), diag(row$cov) + (fit$slope_sd * along)^2 + b$var, tolerance = 1e-5)
    expect_equal(unname(p[n, ]), oracle_soft(row$phi + unname(b$mean)), tolerance = 1e-6)
  }
  set.seed(28)
  draws <- predict(fit, new, type = "draws", n_draws = 4000)
  ratio <- log(draws[1, 2, ] / draws[1, 1, ])
  row <- oracle_row(many$z[1, ], fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)
  expect_equal(var(ratio), sum(row$cov[1:2, 1:2] * c(1, -1, -1, 1)) + sum(b$var[1:2]), tolerance = 0.1)
  mc <- predict(fit, new, approx = "mc", n_draws = 4000)
  expect_equal(unname(mc), unname(apply(draws, 1:2, mean)), tolerance = 0.02)
  ends <- predict(fit, new, type = "interval", n_draws = 4000)
  wide <- predict(fit, new, type = "draws", n_draws = 4000, vary_slope = TRUE)
  expect_equal(unname(ends[, 1, "upper"]), unname(apply(wide[, 1, ], 1, quantile, 0.975)), tolerance = 0.05)
})

test_that("offsets of borderline worth come in little by little as rows gain weight", {
  set.seed(3)
  k <- 30
  z <- matrix(rnorm(400 * k, sd = 2), 400)
  y <- factor(max.col(z + rep(rnorm(k, sd = 0.3), each = 400) - log(-log(matrix(runif(400 * k), 400)))), 1:k)
  fits <- lapply(seq(0.5, 0.8, 0.01), function(w) {
    quiet_gp(z, y, weights = rep(w, 400), integrate = FALSE, hyper = c(slope = 1, variance = 0.01, lengthscale = 10),
      control = gp_control(diagonal_classes = 2))
  })
  expect_setequal(vapply(fits, `[[`, "", "class_effects"), c("none", "offset"))
  p <- vapply(fits, predict, z, newdata = z)
  expect_lt(max(abs(p[, , -1] - p[, , -length(fits)])), 0.01) # one step from none to all was .06
})

# What is reported --------------------------------------------------------------------------

test_that("tidy() gives offsets and matrices in the units of the scores, centred", {
  fit <- three$fit
  terms <- coef(fit)
  pick <- function(name) terms[grep(paste0("^", name, "\\["), names(terms))]
  b <- pick("offset")
  w <- matrix(pick("matrix"), 3)
  soft <- matrix(pick("softmax"), 3)
  power <- unname(pick("power"))
  expect_length(power, 3)
  expect_equal(sum(b), 0, tolerance = 1e-10)
  expect_equal(colSums(w), rep(0, 3), tolerance = 1e-10)
  # they are what the rows get beside the process
  for (n in 1:5) {
    z <- three$z[n, ]
    row <- oracle_effect_row(fit, z)
    process <- oracle_row(z, fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)$phi
    own <- row$phi - process
    p <- oracle_soft(fit$effects$scale[["slope"]] * z)
    powers <- power * log(p)
    expect_equal(unname(b) + drop(w %*% z) + drop(soft %*% p) + powers - mean(powers), own - mean(own), tolerance = 1e-8)
  }
  # the classes are mixed up as they were made to be
  expect_gt(w[1, 2], 2 * tidy(fit)$std.error[match("matrix[1, 2]", tidy(fit)$term)])
  expect_identical(names(which.max(b)), "offset[1]")
})

test_that("their standard deviations are those of the posterior", {
  fit <- three$fit
  own <- length(fit$inducing) + fit$effects$slopes
  free <- diag(own + length(fit$effects$effect))
  free[-seq_len(own), -seq_len(own)] <- oracle_effect_free(fit)
  cov <- free %*% oracle_effect_cov(fit) %*% t(free)
  r <- nrow(fit$effects$effect)
  helmert <- cbind(c(-1, 1, 0) / sqrt(2), c(-1, -1, 2) / sqrt(6))
  table <- tidy(fit)
  error <- function(term) table$std.error[match(term, table$term)]
  even <- diag(3) - 1 / 3
  for (k in 1:3) {
    weight <- numeric(ncol(cov)) # offset k less the mean of all
    weight[own + (0:2) * r + 1] <- even[k, ]
    expect_equal(error(paste0("offset[", k, "]")), sqrt(drop(weight %*% cov %*% weight)), tolerance = 1e-8)
    expect_equal(error(paste0("power[", k, "]")), sqrt(cov[own + k * r, own + k * r]), tolerance = 1e-8)
    for (j in 1:3) {
      weight <- numeric(ncol(cov))
      for (l in 1:3) weight[own + (l - 1) * r + 2:3] <- even[k, l] * helmert[j, ] / fit$effects$scale[["rms"]]
      expect_equal(error(paste0("matrix[", k, ", ", j, "]")), sqrt(drop(weight %*% cov %*% weight)), tolerance = 1e-8)
    }
  }
  b <- effect_offsets(many$fit)
  weight <- diag(40) - 1 / 40
  expect_equal(b$sd, sqrt(rowSums(weight^2 %*% diag(many$fit$offsets$var))), tolerance = 1e-10)
  expect_equal(b$estimate, drop(weight %*% many$fit$offsets$mean), tolerance = 1e-10)
})

test_that("the shape of two classes: integrals of hats", {
  for (d in c(-7, -1.3, 0, 0.2, 2, 3.3, 4.9)) expect_equal(effect_shapes(d)[1, ], oracle_shapes(d), tolerance = 1e-12)
  t <- seq(2, 3.3, length.out = 20001) # and the oracle's as sums of small steps
  by_steps <- vapply(1:9, function(i) sum(diff(t) * pmax(0, 1 - abs((t[-1] + t[-20001]) - i))), 0)
  expect_equal(oracle_shapes(3.3), by_steps, tolerance = 1e-7)
})

test_that("two classes: what is not odd is found, and is not known where there are no rows", {
  truth <- function(p) stats::plogis(stats::qlogis(p) + exp(-stats::qlogis(p)^2))
  d <- with_seed(31, {
    p <- stats::runif(3000, 0.02, 0.98)
    list(p = p, y = stats::rbinom(3000, 1, truth(p)))
  })
  fit <- suppressWarnings(calib_gp(d$p, d$y))
  at <- c(0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95)
  expect_lt(max(abs(predict(fit, at)[, 2] - truth(at))), 0.05)
  limits <- with_seed(1, predict(fit, at, type = "interval"))[, 2, ]
  expect_true(all(limits[, "lower"] < truth(at) & truth(at) < limits[, "upper"]))
  # a gap about 1/2: version 0.1 and fits with an offset and an asymmetry alone were sure of themselves there
  gap <- with_seed(4, {
    p <- c(stats::runif(150, 0.02, 0.2), stats::runif(150, 0.8, 0.98))
    list(p = p, y = stats::rbinom(300, 1, p))
  })
  fit <- calib_gp(gap$p, gap$y)
  limits <- with_seed(1, predict(fit, c(0.1, 0.5, 0.9), type = "interval", n_draws = 4000))[, 2, ]
  expect_gt(diff(limits[2, c("lower", "upper")]), 1.8 * diff(limits[1, c("lower", "upper")]))
})

test_that("two classes have offsets, an asymmetry and a shape", {
  names <- names(coef(pair$fit))
  expect_true(all(c("offset[1]", "offset[2]", "asymmetry[1]", "asymmetry[2]", "sd_asymmetry") %in% names))
  expect_equal(sum(coef(pair$fit)[c("asymmetry[1]", "asymmetry[2]")]), 0, tolerance = 1e-12)
  expect_true(all(c("sd_shape", "shape[1, 0]", "shape[2, 5]") %in% names))
  expect_true(all(effect_shapes(2) == 0)) # where it is always 0 it is not listed
  expect_false("shape[1, 2]" %in% names)
})

test_that("what a part is worth is near what the bound loses without it", {
  set.seed(29)
  d <- mixed_data(600, 3, w = 0, b = 0.8)
  with <- quiet_gp(d$scores, d$labels, class_effects = "offset")
  worth <- summary(with)$effects$parts[["offset"]]
  expect_equal(worth, with$effects$worth, tolerance = 0.25)
  expect_gt(worth, 5)
})

test_that("print() and summary() say what was decided", {
  expect_output(print(three$fit), "class effects chosen by \"auto\": offsets, matrix, .* \\(change in log evidence \\+[0-9.]+; .*not clearly needed\\); see summary\\(\\)\n")
  expect_output(print(shared_gp(three$scores, three$labels)), "class effects: none; all classes share the map\n")
  expect_output(print(calib_gp(three$scores, three$labels, covariance = "diag")), "does not try them with these settings")
  expect_output(print(summary(three$fit)), "effects between classes, by the matrix and the softmax matrix together: .*\"1\" where the scores say \"2\" \\(\\+")
  expect_output(print(summary(three$fit)), "whose offset is more than two posterior standard deviations from 0: \"1\" \\+")
  expect_output(print(summary(pair$fit)), "asymmetry: about [+-]")
  expect_output(print(summary(pair$fit)), "\\(low and high probabilities are bent differently\\)\n  shape: .* \\(a curve that raises or lowers")
  expect_output(print(pair$fit), "; asymmetry and shape not clearly needed); see summary()\n", fixed = TRUE)
  gains <- summary(pair$fit)$effects$parts
  expect_output(print(summary(pair$fit)), paste0("asymmetry: about ", say_gain(gains[["matrix"]]), ";"), fixed = TRUE)
  # what only helps together, a single effect, and gains that are not known
  part <- pair$fit
  part$effects$parts[] <- 0.5
  expect_identical(say_unneeded(part, 5), "needed together, none of them clearly by itself")
  expect_identical(say_unneeded(part, 0.5), "not clearly needed")
  expect_null(say_unneeded(many$fit, 5))
  part$effects$parts <- NULL
  part$effects$sd[["skew"]] <- 1
  expect_null(say_unneeded(part, 5))
  expect_output(print(summary(many$fit)), "offsets: about [+-]")
  # one sign for the whole and its parts: "lower by -0.3" would be a rise
  expect_output(print(summary(many$fit)), sprintf("All class effects together: %+.1f in log evidence", many$fit$offsets$worth), fixed = TRUE)
  old <- shared_gp(three$scores, three$labels)
  old[c("class_effects", "effects_asked", "effects_tried")] <- NULL
  old$format <- 3L
  expect_output(print(old), "class effects: none")
})

test_that("what the matrix moves is the change of a row's latent values", {
  fit <- three$fit
  moves <- effect_moves(fit)
  gap <- log(0.9 * 2 / 0.1) / fit$effects$scale[["slope"]]
  z <- gap * (c(0, 1, 0) - 1 / 3)
  between <- effect_rows(fit$effects, "matrix")[1]:max(effect_rows(fit$effects, "softmax")) # without the powers
  x <- oracle_effect_features(fit, z)[between]
  free <- matrix(effect_free(fit$effects, matrix(fit$effects$effect)), nrow(fit$effects$effect))
  own <- drop(x %*% free[between, ])
  expect_equal(unname(moves$estimate[, 2]), own - mean(own), tolerance = 1e-10)
})

test_that("pictures of the effects hold their tables", {
  plot <- autoplot(three$fit, what = "offsets", level = 0.5)
  offsets <- effect_offsets(three$fit)
  rows <- plot$data[match(offsets$class, as.character(plot$data$class)), ]
  expect_equal(rows$estimate, offsets$estimate)
  expect_equal(rows$conf.high - rows$conf.low, 2 * qnorm(0.75) * offsets$sd)
  heat <- autoplot(three$fit, what = "matrix")
  small <- three$fit # no entry is named that its digits do not show
  small$effects$effect <- small$effects$effect / 50
  expect_no_match(autoplot(small, what = "matrix")$labels$caption, "[+-]0\\.0+[, .](?![0-9])", perl = TRUE)
  expect_equal(nrow(heat$data), 9)
  expect_match(gsub("\n", " ", heat$labels$caption), '[Ww]hen the scores say "2", "1" is raised by')
  for (p in list(plot, heat, autoplot(many$fit, what = "offsets"), autoplot(three$fit))) {
    expect_silent(ggplot2::ggplot_build(p))
  }
  expect_match(gsub("\n", " ", autoplot(three$fit)$labels$caption), "The effects of the classes are not drawn")
  bad <- function(...) expect_error(autoplot(...), class = "gpcalib_error_input")
  bad(pair$fit, what = "matrix")
  bad(many$fit, what = "matrix")
  bad(shared_gp(three$scores, three$labels), what = "offsets")
  bad(three$fit, what = "bars")
  bad(three$fit, what = "offsets", histogram = TRUE)
})

test_that("the map of two classes has the true intercept", {
  at <- c(0.1, 0.5, 0.8)
  map <- calib_map(pair$fit, at)
  odds <- qlogis(at)
  for (i in 1:3) {
    row <- oracle_effect_row(pair$fit, c(-odds[i], odds[i]) / 2)
    sd <- sqrt(sum(row$cov * c(1, -1, -1, 1)))
    exact <- integrate(function(x) plogis(diff(row$phi) + sd * x) * dnorm(x), -9, 9, rel.tol = 1e-12)$value
    expect_equal(map$calibrated[i], exact, tolerance = 1e-8)
  }
  expect_lt(map$conf.high[2], 0.5) # class 1 is favoured: 1/2 does not stay 1/2
  expect_equal(plot_map(pair$fit, points = 11)$data$calibrated, calib_map(pair$fit, seq(0, 1, 0.1))$calibrated)
})

test_that("offsets of many classes that are far apart are found, and the bound is one", {
  # Newton's first step goes far beyond the maximum here: the bound fell by millions before steps were halved
  set.seed(31)
  k <- 100
  shift <- rnorm(k)
  draw <- function() {
    z <- matrix(rnorm(800 * k, sd = 3), 800)
    list(z = z, y = max.col(z / 2 + rep(shift, each = 800) - log(-log(matrix(runif(800 * k), 800)))))
  }
  d <- draw()
  fit <- quiet_gp(d$z, d$y)
  expect_identical(fit$class_effects, "offset")
  expect_true(fit$converged)
  expect_gt(fit$offsets$worth, 200)
  expect_gt(cor(fit$offsets$mean, shift), 0.85)
  new <- draw()
  gain <- log_loss(predict(shared_gp(d$z, d$y), new$z), new$y) - log_loss(predict(fit, new$z), new$y)
  expect_gt(gain, 0.3)
  # worth is a difference of bounds: no more than what the rows gain
  p <- predict(fit, d$z, approx = "mean")
  q <- predict(shared_gp(d$z, d$y), d$z, approx = "mean")
  expect_lt(fit$offsets$worth, 800 * (log_loss(q, d$y) - log_loss(p, d$y)))
})

test_that("a row's prediction does not depend on the rows beside it, to the last digit", {
  d <- with_seed(81, mixed_data(460, 6))
  fit <- suppressWarnings(calib_gp(d$scores[1:400, ], d$labels[1:400], class_effects = "matrix"))
  new <- rbind(d$scores[401:460, ], 3 * d$scores[401:420, ])
  together <- suppressWarnings(predict(fit, new))
  alone <- t(vapply(seq_len(nrow(new)), function(i) suppressWarnings(predict(fit, new[i, , drop = FALSE])), together[1, ]))
  expect_identical(unname(together), unname(alone))
})

test_that("small probabilities are averaged over the posterior as well: they may be those of the truth", {
  set.seed(1)
  n <- 80
  labels <- sample(4, n, TRUE)
  z <- matrix(rnorm(4 * n, sd = 3), n)
  z[cbind(1:n, labels)] <- z[cbind(1:n, labels)] + 4
  fit <- suppressWarnings(calib_gp(z, labels, class_effects = "matrix", hyper = c(matrix = 0.2), integrate = FALSE))
  fit$outside <- NULL # the model alone, as draws are
  new <- rbind(c(25, -5, -5, -15), c(30, -10, -10, -10), c(24, -3, -3, -18), c(5, 4, 3, -12))
  set.seed(2)
  draws <- suppressWarnings(predict(fit, new, type = "draws", n_draws = 4e4))
  p <- suppressWarnings(predict(fit, new))
  # they were too low by factors of up to 700; averages of draws may be off by a factor of 5, since few of them matter
  expect_lt(max(abs(log(p / apply(draws, 1:2, mean)))), log(8))
  mean <- suppressWarnings(predict(fit, new, approx = "mean"))
  expect_gt(max(p / mean), 100)
  expect_equal(unname(rowSums(p)), rep(1, 4), tolerance = 1e-12)
})

test_that("a row may be one that the calibration rows say nothing of: eq. (38a)", {
  set.seed(3)
  labels <- sample(4, 200, TRUE)
  z <- matrix(rnorm(800, sd = 2), 200)
  z[cbind(1:200, labels)] <- z[cbind(1:200, labels)] + 3
  fit <- calib_gp(z, labels, class_effects = "matrix", integrate = FALSE)
  share <- 0.2 / 200.2
  far <- rbind(c(30, -10, -10, -10), z[1, ])
  quiet <- function(...) suppressWarnings(predict(fit, far, ...))
  p <- quiet()
  at <- gp_newdata(fit, prepare_newdata(fit, far, 1))
  inside <- .Call(C_effects_predict, fit, at, 1L, 1L)
  expect_equal(unname(p), (1 - share) * inside + share / 4, tolerance = 1e-12)
  expect_gt(min(p), share / 4)
  expect_lt(min(inside), share / 400)
  expect_lt(min(quiet(approx = "mean")), share / 400)
  # draws and limits are of the model: true probabilities nearer to 0 or 1 must have a place in an interval
  expect_lt(min(quiet(type = "draws", n_draws = 50)), share / 400)
  ends <- quiet(type = "interval", n_draws = 50)
  expect_equal(ends[, , "estimate"], p, tolerance = 1e-12)
  expect_true(all(ends[, , "lower"] <= ends[, , "estimate"] & ends[, , "estimate"] <= ends[, , "upper"]))
  expect_lt(min(ends[, , "lower"], 1 - ends[, , "upper"]), share / 400)
  set.seed(1)
  expect_gt(min(quiet(approx = "mc", n_draws = 50)), share / 4)
  # weights count as rows; two classes and fits without effects are left alone
  double <- calib_gp(z, labels, weights = rep(2, 200), class_effects = "matrix", integrate = FALSE)
  expect_equal(min(suppressWarnings(predict(double, far))) / (0.2 / 400.2 / 4), 1, tolerance = 0.05)
  expect_lt(min(suppressWarnings(predict(calib_gp(z, labels, class_effects = "none"), far))), share / 400)
  old <- fit
  old$outside <- NULL # of an older version
  expect_equal(unname(suppressWarnings(predict(old, far))), inside, tolerance = 1e-12)
  two <- suppressWarnings(calib_gp(z[, 1:2], labels > 2, class_effects = "matrix", integrate = FALSE))
  expect_identical(share_out(c(1, 0), two, list()), c(1, 0))
  # what is ruled out stays so
  gone <- suppressWarnings(predict(fit, rbind(c(1, -Inf, 0, -1), c(-Inf, -Inf, 2, -9)), type = "interval", n_draws = 20))
  expect_lt(max(gone[1, 2, ], gone[2, 1:2, ]), 1e-90)
  expect_gt(min(gone[1, -2, "estimate"], gone[2, 3:4, "estimate"]), share / 4)
  expect_equal(unname(rowSums(gone[, , "estimate"])), c(1, 1), tolerance = 1e-12)
})

test_that("rows that change their class are counted by the map's mean, in parts of many rows as well", {
  now <- max.col(predict(three$fit, three$scores, approx = "mean"), "first")
  expect_gt(three$fit$changed, 0)
  expect_equal(three$fit$changed, sum(now != max.col(three$scores, "first")))
  rows <- rep_len(1:400, 30001) # more than are looked at together
  at <- list(z = three$scores[rows, ], floor = -Inf)
  before <- max.col(three$scores, "first")
  each <- as.double(seq_along(rows) %% 7)
  changed <- function(before, counts = NULL) {
    .Call(gpcalib:::C_effects_changed, three$fit, at, list(before = before[rows], centre = three$fit$center, counts = counts), 1L)
  }
  expect_equal(changed(before), sum((now != before)[rows]))
  expect_equal(changed(before, each), sum(each * (now != before)[rows]))
  expect_equal(changed(now), 0)
  # a class whose score was no higher than that of the class now is no change
  worst <- max.col(-three$scores, "first")
  expect_equal(changed(worst), 0)
})

# Normal densities of each class for new rows, as of quadratic discriminant analysis: log posterior probabilities.
discriminants <- function(x, class, new) {
  log_density <- vapply(levels(class), function(k) {
    own <- x[class == k, ]
    root <- chol(cov(own))
    centred <- backsolve(root, t(new) - colMeans(own), transpose = TRUE)
    log(mean(class == k)) - sum(log(diag(root))) - 0.5 * colSums(centred^2)
  }, numeric(nrow(new)))
  density <- exp(log_density - apply(log_density, 1, max))
  density / rowSums(density)
}

test_that("effects are fitted to the end where a few scores lie far out", {
  set.seed(2)
  rows <- ggplot2::diamonds[sample(nrow(ggplot2::diamonds), 6000)[1:4000], ]
  x <- cbind(log(rows$carat), rows$depth, rows$table, log(rows$price))
  class <- factor(rows$cut, ordered = FALSE)
  train <- 1:2000
  p <- discriminants(x[train, ], class[train], x[-train, ])
  fit <- calib_gp(p, class[-train], integrate = FALSE)
  expect_true(fit$converged) # steps of .1 in the logarithms of the hyperparameters were too long
  expect_gt(fit$elbo, -1640)
})

# The symmetric and the skew part of the matrix ------------------------------------------------

# W and its parts, in contrasts of both the classes and the scores, of a fit: c = list(symmetric, skew) of parameters, and their covariances
oracle_skew <- function(fit) {
  k <- ncol(fit$effects$effect)
  r <- nrow(fit$effects$effect)
  own <- length(fit$inducing) + fit$effects$slopes
  free <- oracle_effect_free(fit)
  mean <- drop(free %*% as.vector(fit$effects$effect))
  cov <- free %*% oracle_effect_cov(fit)[-seq_len(own), -seq_len(own)] %*% t(free)
  helmert <- sapply(seq_len(k - 1), function(j) c(rep(-1, j), j, rep(0, k - j - 1)) / sqrt(j * (j + 1)))
  d <- function(q, i) { # weights of D_qi = sum_k U_kq E_ki
    w <- numeric(k * r)
    w[(seq_len(k) - 1) * r + 1 + i] <- helmert[, q]
    w
  }
  sym <- skew <- NULL
  for (i in seq_len(k - 1)) {
    sym <- cbind(sym, d(i, i))
    for (q in seq_len(i - 1)) {
      sym <- cbind(sym, (d(q, i) + d(i, q)) / sqrt(2))
      skew <- cbind(skew, (d(i, q) - d(q, i)) / sqrt(2))
    }
  }
  for (i in seq_len(k - 1)) { # the level
    w <- numeric(k * r)
    w[(seq_len(k) - 1) * r + 1 + i] <- 1 / sqrt(k)
    sym <- cbind(sym, w)
  }
  lapply(list(matrix = sym, skew = skew), function(w) list(mean = drop(crossprod(w, mean)), cov = crossprod(w, cov %*% w)))
}

test_that("the parts of the matrix are worth the ratio of prior and posterior density at zero", {
  set.seed(30)
  for (fit in list(three$fit, fit_mixed(300, 4)$fit)) {
    parts <- oracle_skew(fit)
    for (name in names(parts)) {
      at <- parts[[name]]
      tau <- fit$effects$sd[[name]]
      n <- length(at$mean)
      worth <- 0.5 * (determinant(at$cov)$modulus + drop(at$mean %*% solve(at$cov, at$mean))) - n * log(tau)
      expect_equal(summary(fit)$effects$parts[[name]], as.vector(worth), tolerance = 1e-6)
    }
  }
  expect_output(print(summary(three$fit)), "symmetric part of the matrix: about.*skew part of the matrix: about")
  expect_output(print(three$fit), "; softmax matrix and powers not clearly needed)", fixed = TRUE)
})

test_that("with one variance for both parts the matrix has one", {
  held <- c(offset = 0.2, matrix = 0.05, softmax = 0.1, power = 0.02)
  one <- quiet_gp(three$scores, three$labels, class_effects = "matrix", hyper = held)
  both <- quiet_gp(three$scores, three$labels, class_effects = "matrix", hyper = c(held, skew = 0.05))
  expect_identical(names(one$effects$sd), c("offset", "matrix", "softmax", "power"))
  expect_identical(names(both$effects$sd), c("offset", "matrix", "softmax", "power", "skew"))
  expect_equal(both$elbo, one$elbo, tolerance = 1e-6)
  expect_equal(predict(both, three$scores), predict(one, three$scores), tolerance = 1e-4)
  less <- quiet_gp(three$scores, three$labels, class_effects = "matrix", hyper = c(held, skew = 1e-8))
  expect_lt(max(abs(oracle_skew(less)$skew$mean)), 1e-4)
  expect_gt(max(abs(oracle_skew(both)$skew$mean)), 1e-2)
})

test_that("classes that are confused in both directions are told so by one of them", {
  set.seed(31)
  n <- 6000
  z <- matrix(rnorm(n * 8, sd = 1.5), n)
  w <- matrix(rnorm(64), 8)
  f <- 0.8 * z + z %*% (w + t(w)) / 10
  y <- max.col(f - log(-log(matrix(runif(n * 8), n))))
  fit <- quiet_gp(z[1:1500, ], y[1:1500])
  expect_lt(fit$effects$sd[["skew"]], 0.6 * fit$effects$sd[["matrix"]])
  equal <- quiet_gp(z[1:1500, ], y[1:1500], hyper = c(matrix = fit$effects$sd[["matrix"]]^2))
  expect_gt(fit$elbo, equal$elbo)
  test <- 1501:n
  expect_lt(log_loss(predict(fit, z[test, ]), y[test]), log_loss(predict(equal, z[test, ]), y[test]))
})

test_that("effects that are worth next to nothing change next to nothing", {
  for (seed in 1:4) {
    set.seed(seed)
    z <- matrix(rnorm(200 * 6, sd = 3), 200)
    y <- max.col(z / 2 - log(-log(matrix(runif(1200), 200))))
    fit <- calib_gp(z, y, class_effects = "matrix", integrate = FALSE)
    none <- calib_gp(z, y, class_effects = "none", integrate = FALSE)
    expect_lt(mean(abs(predict(fit, z) - predict(none, z))), 0.06)
  }
})

test_that("names of an axis are their beginnings, unless these are the same", {
  expect_identical(begin_names(c("atheism", "religion.christian", "space"), 8), c("atheism", "religio.", "space"))
  expect_identical(begin_names(c("religion.christian", "religion.misc", "space"), 8), c(shorten(c("religion.christian", "religion.misc", "space"), 8)[1:2], "space"))
  expect_identical(anyDuplicated(begin_names(paste0("comp.sys.", letters, ".hardware"), 8)), 0L)
})

test_that("changed rows are counted for offsets, for effects of many classes, for weights and for probabilities too", {
  moved <- function(fit, scores, w = rep(1, nrow(scores))) {
    now <- max.col(suppressWarnings(predict(fit, scores, approx = "mean")), "first")
    before <- max.col(scores, "first")
    at <- cbind(seq_len(nrow(scores)), now)
    sum(w[now != before & scores[at] < scores[cbind(at[, 1], before)]])
  }
  set.seed(8)
  k <- 5
  z <- matrix(stats::rnorm(300 * k), 300)
  y <- max.col(z + rep(c(2, 0, 0, -1, 0), each = 300) - log(-log(matrix(stats::runif(300 * k), 300))))
  offset <- suppressWarnings(calib_gp(z, y, class_effects = "offset"))
  expect_gt(offset$changed, 0)
  expect_equal(offset$changed, moved(offset, z))
  p <- exp(z) / rowSums(exp(z))
  of_probs <- suppressWarnings(calib_gp(p, y, class_effects = "offset"))
  expect_gt(of_probs$changed, 0)
  expect_equal(of_probs$changed, moved(of_probs, p))
  for (classes in c(30, 40)) {
    z <- matrix(stats::rnorm(400 * classes), 400)
    y <- max.col(z + rep(c(4, rep(0, classes - 1)), each = 400) - log(-log(matrix(stats::runif(400 * classes), 400))))
    wide <- suppressWarnings(calib_gp(z, y, class_effects = if (classes == 30) "matrix" else "offset"))
    expect_gt(wide$changed, 0)
    expect_equal(wide$changed, moved(wide, z))
  }
})

test_that("the range of the scores of two classes is that of their differences", {
  set.seed(9)
  z <- matrix(stats::rnorm(200, sd = 4), 100)
  y <- stats::rbinom(100, 1, stats::plogis((z[, 2] - z[, 1]) / 2))
  fit <- suppressWarnings(calib_gp(z, y))
  expect_identical(fit$event_range, range(z[, 2] - z[, 1]))
  z[3, 1] <- -Inf
  expect_identical(suppressWarnings(calib_gp(z, y))$event_range[2], 1e300)
  p <- stats::plogis(z[, 2] - pmax(z[, 1], -9))
  expect_identical(suppressWarnings(calib_gp(p, y))$event_range, range(p))
})
