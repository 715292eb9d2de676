# A matrix between many classes in calib_gp() (R/gp-wide.R): against every sum written out.

set.seed(41)
wide <- confused_data(900, 30)
wide$z <- wide$scores - rowMeans(wide$scores)
wide$fit <- quiet_gp(wide$scores, wide$labels)
wide$new <- confused_data(40, 30)$scores

test_that("the default finds a matrix of many classes where there is one", {
  expect_identical(wide$fit$class_effects, "matrix")
  offset <- quiet_gp(wide$scores, wide$labels, class_effects = "offset")
  expect_gt(wide$fit$offsets$worth, offset$offsets$worth + 20)
  set.seed(42)
  test <- confused_data(2000, 30)
  gain <- log_loss(predict(offset, test$scores), test$labels) - log_loss(predict(wide$fit, test$scores), test$labels)
  expect_gt(gain, 0.03)
  w <- effect_matrix(wide$fit, "softmax")$estimate
  expect_gt(mean(w[cbind(1:30 %% 30 + 1, 1:30)]), 5 * mean(abs(w)))
  # what is not there is not found to be worth anything
  set.seed(43)
  f <- wide$scores / 2
  y <- factor(max.col(f - log(-log(matrix(runif(length(f)), nrow(f))))), levels = 1:30)
  none <- quiet_gp(wide$scores, y, class_effects = "none")
  auto <- quiet_gp(wide$scores, y)
  expect_lt(abs(log_loss(predict(auto, wide$new), max.col(wide$new)) - log_loss(predict(none, wide$new), max.col(wide$new))), 0.01)
})

test_that("the bound, its optimum and the variances are those of the sums written out", {
  fit <- wide$fit
  e <- oracle_wide(fit)
  bound <- oracle_wide_bound(fit, wide$z, as.integer(wide$labels))
  expect_equal(fit$offsets$worth, bound$worth, tolerance = 0.1 / abs(bound$worth))
  tau <- fit$offsets$sd
  # Newton's step from here, by the diagonal, promises next to nothing
  promise <- function(g, mean, h, t) sum((g - mean / t^2)^2 / (h + 1 / t^2)) / 2
  expect_lt(promise(bound$g_b, e$b, bound$h_b, tau[["offset"]]), 0.1)
  expect_lt(promise(bound$g_w, e$w, bound$h_w, tau[["softmax"]]), 0.1)
  expect_equal(e$w_var, 1 / (bound$h_w + 1 / tau[["softmax"]]^2), tolerance = 0.01)
  expect_equal(e$b_var, 1 / (bound$h_b + 1 / tau[["offset"]]^2), tolerance = 0.01)
  # eq. (39d): another standard deviation of the matrix is no better
  value <- function(t) {
    sum((bound$g_w + bound$h_w * e$w)^2 / (bound$h_w + 1 / t^2) - log(1 + t^2 * bound$h_w)) / 2 - log(1 + (log(t / 0.4) / 0.28)^2)
  }
  best <- stats::optimize(value, tau[["softmax"]] * c(0.7, 1.4), maximum = TRUE, tol = 1e-6)$maximum
  expect_equal(tau[["softmax"]], best, tolerance = 0.02)
  # a smaller or larger matrix has a lower bound
  worth <- function(factor) {
    other <- fit
    other$offsets$wide$mean$unit <- factor * fit$offsets$wide$mean$unit
    oracle_wide_bound(other, wide$z, as.integer(wide$labels))$worth
  }
  expect_gt(bound$worth, max(worth(0.9), worth(1.1)))
})

test_that("predictions have the mean and the variance of the effects", {
  fit <- wide$fit
  z <- wide$new - rowMeans(wide$new)
  sums <- oracle_wide_sums(fit, z)
  phi <- matrix(latent(fit, as.vector(z))$mean, nrow(z))
  expect_equal(unname(predict(fit, wide$new, approx = "mean")), oracle_soft_rows(phi + sums$mean), tolerance = 1e-6)
  plain <- fit
  plain[c("offsets", "averaged")] <- list(NULL) # whose effects are those of the fit
  plain$class_effects <- "none"
  bare <- predict(plain, wide$new, type = "latent")
  full <- predict(fit, wide$new, type = "latent")
  expect_equal(unname(full$mean - bare$mean), sums$mean, tolerance = 1e-6)
  expect_equal(unname(full$var - bare$var), sums$var, tolerance = 1e-6)
  p <- unname(predict(plain, wide$new))
  s <- oracle_soft_rows(log(p) + sums$mean)
  for (i in 1:2) s <- oracle_soft_rows(log(p) + sums$mean + sums$var * (1 - 2 * s) / 2)
  expect_equal(unname(predict(fit, wide$new)), s, tolerance = 1e-6)
  set.seed(44)
  mc <- predict(fit, wide$new, approx = "mc", n_draws = 20000)
  expect_lt(max(abs(predict(fit, wide$new) - mc)), 0.01)
  expect_lt(max(abs(predict(fit, wide$new) - mc)), max(abs(predict(fit, wide$new, approx = "mean") - mc)))
})

test_that("draws share their effects among the rows, and intervals are their quantiles", {
  fit <- wide$fit
  fit["averaged"] <- list(NULL)
  rows <- wide$new[c(1:6, 1), ]
  set.seed(45)
  draws <- predict(fit, rows, type = "draws", n_draws = 4000, vary_slope = FALSE)
  expect_equal(draws[1, , ], draws[7, , ], tolerance = 1e-12)
  expect_equal(apply(draws, 1:2, sum)[, 1] > 0, rep(TRUE, 7), ignore_attr = TRUE)
  expect_equal(apply(draws, c(1, 3), sum), matrix(1, 7, 4000), tolerance = 1e-10, ignore_attr = TRUE)
  interval <- predict(fit, rows, type = "interval", n_draws = 4000, vary_slope = FALSE)
  quantiles <- apply(draws, 1:2, stats::quantile, c(0.025, 0.975))
  expect_lt(max(abs(interval[, , 2] - quantiles[1, , ])), 0.02)
  expect_lt(max(abs(interval[, , 3] - quantiles[2, , ])), 0.04)
  plain <- fit
  plain["offsets"] <- list(NULL)
  plain$class_effects <- "none"
  narrow <- predict(plain, rows, type = "interval", n_draws = 4000, vary_slope = FALSE)
  expect_gt(mean(interval[, , 3] - interval[, , 2]), 2 * mean(narrow[, , 3] - narrow[, , 2]))
  # of two rows with the same highest class the effects are correlated
  z <- rbind(c(6, rep(0, 29)), c(7, rep(0, 29)))
  d <- suppressWarnings(predict(fit, z, type = "draws", n_draws = 1000, vary_slope = FALSE))
  expect_gt(stats::cor(log(d[1, 2, ] / d[1, 1, ]), log(d[2, 2, ] / d[2, 1, ])), 0.9)
})

test_that("neither the order of classes and rows nor threads change a fit, and weights are rows", {
  few <- 1:400
  z <- wide$scores[few, ]
  y <- wide$labels[few]
  fit <- quiet_gp(z, y, class_effects = "matrix")
  p <- predict(fit, wide$new)
  expect_identical(predict(quiet_gp(z, y, class_effects = "matrix", threads = 2), wide$new, threads = 2), p)
  order <- sample(30)
  other <- quiet_gp(z[, order], factor(match(as.integer(y), order), levels = 1:30), class_effects = "matrix")
  expect_equal(unname(predict(other, wide$new[, order])), unname(p[, order]), tolerance = 1e-3)
  rows <- sample(few)
  expect_equal(predict(quiet_gp(z[rows, ], y[rows], class_effects = "matrix"), wide$new), p, tolerance = 1e-3)
  twice <- quiet_gp(z[c(1:200, 1:100), ], y[c(1:200, 1:100)], class_effects = "matrix")
  weighted <- quiet_gp(z[1:200, ], y[1:200], weights = rep(2:1, each = 100), class_effects = "matrix")
  expect_equal(predict(weighted, wide$new), predict(twice, wide$new), tolerance = 1e-3)
})

test_that("absent classes, zeros, ties and classes that are ruled out do no harm", {
  some <- as.integer(wide$labels) <= 25
  fit <- quiet_gp(wide$scores[some, ], wide$labels[some], class_effects = "matrix")
  p <- predict(fit, wide$new)
  expect_true(all(is.finite(p)) && all(p > 0))
  expect_equal(rowSums(p), rep(1, 40), tolerance = 1e-12, ignore_attr = TRUE)
  z <- wide$new
  z[, 3] <- -Inf
  p <- suppressWarnings(predict(wide$fit, z))
  expect_lt(max(p[, 3]), 1e-100)
  expect_equal(rowSums(p), rep(1, 40), tolerance = 1e-12, ignore_attr = TRUE)
  for (type in c("interval", "draws")) expect_true(all(is.finite(suppressWarnings(predict(wide$fit, z[1:3, ], type = type, n_draws = 10)))))
  tied <- round(wide$scores)
  p <- predict(quiet_gp(tied, wide$labels, class_effects = "matrix"), round(wide$new))
  expect_true(all(is.finite(p)))
  probs <- exp(wide$scores) / rowSums(exp(wide$scores))
  probs[probs < 1e-3] <- 0
  probs <- probs / rowSums(probs)
  fit <- quiet_gp(probs, wide$labels, class_effects = "matrix")
  expect_true(all(is.finite(predict(fit, probs[1:20, ]))))
  flat <- matrix(0, 60, 30)
  expect_true(all(is.finite(suppressWarnings(predict(quiet_gp(flat, rep_len(1:30, 60), class_effects = "matrix"), flat[1:2, ])))))
})

test_that("limits and held variances are kept to", {
  expect_error(quiet_gp(wide$scores, wide$labels, class_effects = "matrix", control = gp_control(diagonal_classes = 29)), "diagonal_classes = 30",
    class = "gpcalib_error_input")
  fit <- quiet_gp(wide$scores, wide$labels, control = gp_control(diagonal_classes = 29))
  expect_identical(fit$class_effects, "offset")
  expect_null(fit$offsets$wide)
  held <- quiet_gp(wide$scores, wide$labels, hyper = c(softmax = 0.25, offset = 0.04))
  expect_equal(held$offsets$sd[c("offset", "softmax")], c(offset = 0.2, softmax = 0.5))
})

test_that("what is said and drawn of them", {
  fit <- wide$fit
  expect_output(print(fit), "class effects chosen by \"auto\": .*softmax matrix \\(change in log evidence \\+")
  expect_output(print(summary(fit)), "effects between classes, by the softmax matrix: .*where the scores say \"")
  terms <- tidy(fit)
  e <- oracle_wide(fit)
  w <- e$w - rep(colMeans(e$w), each = 30)
  expect_equal(terms$estimate[terms$term == "softmax[7, 6]"], w[7, 6])
  centre <- diag(30) - 1 / 30
  expect_equal(terms$std.error[terms$term == "softmax[7, 6]"], sqrt(sum(centre[7, ]^2 * e$w_var[, 6])))
  expect_equal(effect_moves(fit)$estimate[7, 6], w[7, 6] * (0.9 - 1 / 60))
  expect_named(coef(fit)[terms$term == "softmax[7, 6]"], "softmax[7, 6]")
  plot <- autoplot(fit, what = "matrix")
  expect_match(gsub("\n", " ", plot$labels$caption), "Framed: changes beyond two posterior standard deviations")
  expect_s3_class(autoplot(fit, what = "offsets"), "ggplot")
})

test_that("objects keep their predictions in files", {
  fit <- wide$fit
  expect_lt(length(serialize(fit$offsets, NULL)), 3 * 2 * 2 * 900 + 4000)
  file <- tempfile()
  suppressMessages(write_calibrator(fit, file))
  expect_identical(predict(read_calibrator(file), wide$new), predict(fit, wide$new))
  # the formula of the file, as another program would read it
  f <- gp_formula(fit)
  z <- wide$new - rowMeans(wide$new)
  u <- oracle_soft_rows(f$steep * z)
  h <- matrix(bump_sum(f, z), nrow(z)) + rep(f$offset, each = nrow(z)) + pmax(u - f$least, 0) %*% t(f$softmax)
  if (!is.null(f$power)) h <- h + pmax(log(u), -30) * rep(f$power, each = nrow(z))
  expect_equal(unname(predict(fit, wide$new, approx = "mean")), oracle_soft_rows(h), tolerance = 1e-6)
  for (part in names(fit$offsets$wide)) for (value in list(NULL, "x", NA, -1, list(unit = 1, codes = 1L), c(1, 2))) {
    broken <- fit
    broken$offsets$wide[part] <- list(value)
    expect_error(predict(broken, wide$new), class = "gpcalib_error_object")
  }
})

test_that("a database gives what predict() gives", {
  skip_without_sqlite()
  con <- memory_db()
  x <- wide$new
  colnames(x) <- paste0("c", 1:30)
  fit <- quiet_gp(`colnames<-`(wide$scores, colnames(x)), factor(paste0("c", wide$labels), levels = colnames(x)))
  powers <- fit
  powers$offsets$sd <- c(fit$offsets$sd["offset"], power = 0.1, fit$offsets$sd["softmax"])
  powers$offsets$wide$power <- stats::rnorm(30, sd = 0.1)
  powers$offsets$wide$power_var <- rep(0.01, 30)
  DBI::dbWriteTable(con, "rows", data.frame(id = seq_len(nrow(x)), x))
  for (fit in list(fit, powers)) {
    out <- as.data.frame(suppressMessages(augment(fit, dplyr::tbl(con, "rows"))))
    p <- predict(fit, x, approx = "mean")
    expect_lt(max(abs(as.matrix(out[order(out$id), paste0(".pred_", colnames(x))]) - p)), 1e-6)
  }
})

test_that("new rows join the matrix of old ones", {
  first <- 1:450
  fit <- quiet_gp(wide$scores[first, ], wide$labels[first], control = gp_control(buffer = 0))
  expect_null(fit$stream$rows)
  expect_true(fit$stream$wide$kept)
  new <- suppressWarnings(update(fit, wide$scores[-first, ], wide$labels[-first]))
  matrix_of <- function(fit) as.vector(effect_matrix(fit, "softmax")$estimate)
  expect_gt(stats::cor(matrix_of(new), matrix_of(wide$fit)), 0.95)
  expect_gt(stats::cor(matrix_of(new), matrix_of(wide$fit)), stats::cor(matrix_of(fit), matrix_of(wide$fit)) + 0.05)
  expect_equal(new$offsets$worth, wide$fit$offsets$worth, tolerance = 0.25)
  # rows that are kept are fitted with the new ones
  kept <- quiet_gp(wide$scores[first, ], wide$labels[first])
  expect_false(is.null(kept$stream$rows))
  all <- suppressWarnings(update(kept, wide$scores[-first, ], wide$labels[-first]))
  expect_gt(stats::cor(matrix_of(all), matrix_of(wide$fit)), 0.99)
  # what is forgotten is gone
  alone <- quiet_gp(wide$scores[-first, ], wide$labels[-first])
  expect_equal(matrix_of(suppressWarnings(update(fit, wide$scores[-first, ], wide$labels[-first], forget = 1))), matrix_of(alone), tolerance = 0.02)
  for (part in names(fit$stream$wide)) for (value in list(NULL, "x", NA, c(2, 1))) {
    broken <- fit
    broken$stream$wide[part] <- list(value)
    expect_error(update(broken, wide$scores[-first, ], wide$labels[-first]), class = "gpcalib_error_object")
  }
  # a matrix that was not worth it is not lost: what old rows say of it is kept
  set.seed(46)
  f <- wide$scores[first, ]
  y <- factor(max.col(f - log(-log(matrix(runif(length(f)), nrow(f))))), levels = 1:30)
  none <- quiet_gp(f, y, control = gp_control(buffer = 0))
  if (none$class_effects != "matrix") expect_false(none$stream$wide$kept)
  expect_false(is.null(none$stream$wide))
})

test_that("a fit that has no passes left makes a step, and is a fit", {
  for (effects in c("matrix", "offset")) {
    fit <- suppressWarnings(quiet_gp(wide$scores, wide$labels, class_effects = effects, control = gp_control(max_passes = 1)))
    expect_identical(fit$class_effects, effects)
    expect_true(is.finite(fit$elbo))
    expect_equal(rowSums(predict(fit, wide$new)), rep(1, 40), tolerance = 1e-12, ignore_attr = TRUE)
  }
})

test_that("a variance that an object may not have may not be held", {
  scores <- wide$scores
  scores[, 1] <- -50
  for (name in c("softmax", "offset")) {
    expect_error(quiet_gp(scores, wide$labels, hyper = stats::setNames(1e34, name)), "hyper.*1e\\+?12", class = "gpcalib_error_input")
    for (effects in c("matrix", if (name == "offset") "offset")) {
      fit <- suppressWarnings(quiet_gp(scores, wide$labels, class_effects = effects, hyper = stats::setNames(1e12, name)))
      expect_true(all(is.finite(predict(fit, scores[1:3, ]))))
    }
  }
  # a class that is never seen has the variance that is held
  none <- wide$labels != levels(factor(wide$labels))[1]
  fit <- suppressWarnings(quiet_gp(scores[none, ], factor(wide$labels[none], levels = levels(factor(wide$labels))), class_effects = "offset", hyper = c(offset = 1e12)))
  expect_true(all(is.finite(predict(fit, scores[1:3, ]))))
})

test_that("a fit whose parts have no finite worth is a fit without them", {
  set.seed(47)
  d <- mixed_data(300, 3)
  for (kind in c("matrix", "offset")) {
    fit <- quiet_gp(d$scores, d$labels, class_effects = kind)
    has <- effect_blocks %in% names(fit$effects$sd)
    # what the core returns, without a factor of the covariance
    core <- c(fit[c("elbo", "hyper", "inducing", "q_mean", "q_cov")], fit$effects[c("scale", "count", "effect", "cov")],
      list(kept = TRUE, converged = TRUE, passes = 0L, none = 0, slopes = 0L, averaged = NULL, tau = replace(numeric(5), has, fit$effects$sd),
        skew = has[5], parts = replace(numeric(5), has, NaN)))
    again <- gp_with_effects(replace(unclass(fit), "effects", list(core)), list(classes = fit$classes), NULL)
    expect_identical(again$effects[c("sd", "scale", "count", "effect", "cov")], fit$effects[c("sd", "scale", "count", "effect", "cov")])
    fit$effects <- replace(again$effects, "slopes", fit$effects$slopes)
    expect_false("parts" %in% names(fit$effects))
    expect_true(all(is.finite(predict(fit, d$scores[1:3, ]))))
    expect_output(print(summary(fit)), "All class effects together: [-+][0-9.]+ in log evidence\\.")
  }
})
