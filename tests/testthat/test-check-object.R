# Objects from files, other versions and other hands.

data3 <- oracle_data(120, 3, seed = 5)
y3 <- factor(c("a", "b", "c")[data3$y])
p2 <- oracle_softmax(data3$z)[, 2]
y2 <- factor(data3$y == 2)
make <- list(gp = calib_gp, temperature = calib_temperature, platt = calib_platt,
  isotonic = calib_isotonic, beta = calib_beta, bbq = calib_bbq, histogram = calib_histogram,
  none = calib_none, vector = calib_vector, matrix = calib_matrix,
  ordered = function(...) calib_gp(..., monotone = TRUE), venn = function(...) calib_isotonic(..., type = "venn-abers"))
fits <- c(
  lapply(make, function(f) f(data3$z, y3)),
  lapply(stats::setNames(make, paste0(names(make), "_pair")), function(f) f(p2, y2))
)
newdata_of <- function(fit) if (length(fit$classes) == 2) p2[1:4] else data3$z[1:4, ]

# Every way from a calibrator to a number or a picture
ways <- list(
  predict = function(x, new) predict(x, new), class = function(x, new) predict(x, new, type = "class"),
  print = function(x, new) utils::capture.output(print(x)),
  summary = function(x, new) utils::capture.output(print(summary(x))), coef = function(x, new) coef(x),
  nobs = function(x, new) nobs(x), tidy = function(x, new) tidy(x), glance = function(x, new) glance(x),
  augment = function(x, new) augment(x, new), map = function(x, new) calib_map(x, c(0, 0.5, 1)),
  latent = function(x, new) latent(x, 0.5), autoplot = function(x, new) autoplot(x),
  log_lik = function(x, new) stats::logLik(x), vcov = function(x, new) stats::vcov(x),
  confint = function(x, new) stats::confint(x), prior = function(x, new) estimate_prior(x, new)
)
has_way <- function(fit, way) switch(way,
  latent = inherits(fit, c("calib_gp", "calib_temperature", "calib_none")),
  log_lik = inherits(fit, c("calib_temperature", "calib_vector", "calib_matrix")) ||
    inherits(fit, c("calib_platt", "calib_beta")) && length(fit$classes) == 2,
  vcov = inherits(fit, c("calib_temperature", "calib_platt", "calib_beta", "calib_vector", "calib_matrix")),
  map = , autoplot = length(fit$classes) == 2, TRUE)

test_that("objects as they are made pass, and stay what they are", {
  for (fit in fits) {
    expect_identical(check_object(fit), fit)
    expect_identical(check_object(unserialize(serialize(fit, NULL))), fit)
  }
})

test_that("a newer format is refused by name, an unknown one as damage", {
  for (fit in fits) {
    fit$format <- 99L
    for (way in names(ways)) {
      if (!has_way(fit, way)) next
      expect_error(ways[[way]](fit, newdata_of(fit)), "newer version of gpcalib \\(format 99",
        class = "gpcalib_error_object")
    }
  }
  for (format in list(NULL, NA, "1", 0L, 1.5, 1:2)) {
    fit <- fits$none
    fit["format"] <- list(format)
    expect_error(predict(fit, data3$z), "no format number", class = "gpcalib_error_object")
  }
})

test_that("objects of format 1 are upgraded and predict what they did", {
  old <- readRDS(test_path("fixtures", "format-1.rds"))
  expect_identical(old$fits$gp$format, 1L)
  expect_null(old$fits$gp$scores_seen)
  for (name in c("gp", "temperature")) {
    expect_equal(predict(old$fits[[name]], old$newdata), old$probs[[name]], tolerance = 1e-6)
    expect_s3_class(autoplot(old$fits[[name]]), "ggplot")
    expect_output(print(summary(old$fits[[name]])), "calibration rows")
    expect_identical(check_object(old$fits[[name]])$format, object_format)
  }
  expect_equal(predict(old$fits$log, old$p), old$probs_log, tolerance = 1e-6)
  picture <- autoplot(old$fits$log)
  expect_silent(ggplot2::ggplot_build(picture))
  # nothing was seen: no histogram
  expect_null(picture$facet$params$rows)
})

# Damage ----------------------------------------------------------------------------------

valid_answer <- function(way, value, fit) {
  if (way != "predict") return(TRUE)
  is.matrix(value) && all(is.finite(value)) && all(abs(rowSums(value) - 1) < 1e-8)
}

damage <- list(
  gone = function(x) NULL, short = function(x) x[-1], empty = function(x) x[0],
  missing = function(x) replace(x, 1, NA), infinite = function(x) replace(x, 1, Inf),
  minus = function(x) if (is.numeric(x)) -abs(x) - 1 else "?", huge = function(x) if (is.numeric(x)) x * NA + 1e300 else x,
  text = function(x) rep("x", max(1, length(x))), list = function(x) list(x),
  factor = function(x) factor(seq_along(x)), twice = function(x) c(x, x),
  nan = function(x) if (is.double(x)) x * NaN else NaN
)

test_that("every field, damaged in every way, gives an error of ours or a valid answer", {
  refused <- 0
  for (name in names(fits)) {
    for (field in setdiff(names(fits[[name]]), "call")) {
      for (how in names(damage)) {
        fit <- unclass(fits[[name]])
        fit[field] <- list(damage[[how]](fit[[field]]))
        fit <- structure(fit, class = class(fits[[name]]))
        for (way in c("predict", "print", "coef")) {
          value <- suppressWarnings(tryCatch(ways[[way]](fit, newdata_of(fits[[name]])),
            error = identity))
          label <- paste(name, field, how, way)
          if (inherits(value, "error")) {
            if (!inherits(value, "gpcalib_error")) fail(paste0(label, ": ", conditionMessage(value)))
            refused <- refused + 1
          } else if (!valid_answer(way, value, fit)) {
            fail(paste0(label, ": no valid answer"))
          }
        }
      }
    }
  }
  expect_gt(refused, 3000)
})

test_that("damage of the whole object is named", {
  fit <- fits$gp
  expect_object <- function(x, text) {
    expect_error(predict(x, data3$z), text, class = "gpcalib_error_object")
    expect_error(predict(x, data3$z), class = "gpcalib_error_input")
  }
  whole <- class(fit)
  expect_object(structure(1:3, class = whole), "is no list")
  expect_object(structure(list(), class = whole), "without a name")
  expect_object(structure(c(unclass(fit), list(n = 3L)), class = whole), "a name twice")
  expect_object(structure(unclass(fit), class = c("calib_new", "calibrator")), "unknown method")
  expect_object(structure(replace(unclass(fit), "method", "platt"), class = whole), "unknown method")
  expect_object(replace(fit, "classes", list(c("a", "a", "b"))), "not distinct")
  expect_object(replace(fit, "classes", list("a")), "fewer than two")
  expect_object(replace(fit, "q_cov", list(-fit$q_cov)), "covariance that is not positive definite")
  expect_object(replace(fit, "q_cov", list(fit$q_cov + upper.tri(fit$q_cov))), "covariance that is not positive definite")
  expect_object(replace(fit, "hyper", list(unname(fit$hyper))), "without their names")
  expect_object(replace(fit, "hyper", list(replace(fit$hyper, "lengthscale", 1e-9))), "lengthscale far below")
  expect_object(replace(fit, "range", list(rev(fit$range))), "not in order")
  expect_object(replace(fit, "mean", list("log")), "log mean")
  expect_object(replace(fit, "inducing", list(rep(1, length(fit$inducing)))), "coincide")
  expect_object(replace(fit, "scores_seen", list(fit$scores_seen[-2])), "scores_seen")
  curve <- fits$isotonic
  expect_object(replace(curve, "x", list(rev(curve$x))), "not in order")
  expect_object(replace(curve, "start", list(rev(curve$start))), "incomplete")
  expect_object(replace(curve, "start", list(curve$start * 2L)), "incomplete")
  platt <- fits$platt
  expect_object(replace(platt, "coefficients", list(t(platt$coefficients))), "not those of its classes")
  expect_object(replace(platt, "log_odds", list(FALSE)), "logits as they are")
  expect_error(calib_map(1), class = "gpcalib_error_input")
})

test_that("nothing is read of an object that is truncated at any place", {
  for (fit in fits) {
    for (keep in seq_len(length(fit) - 1)) {
      cut <- structure(unclass(fit)[seq_len(keep)], class = class(fit))
      expect_error(predict(cut, newdata_of(fit)), class = "gpcalib_error_object")
    }
  }
})

test_that("Platt fits of format 2 predict finite scores as they did", {
  d <- oracle_data(60, 3, seed = 3)
  for (fit in list(calib_platt(d$z, d$y), calib_platt(oracle_softmax(d$z)[, 1], d$y == 1))) {
    old <- fit
    old$format <- 2L
    old$range[] <- rep(c(-0.1, 0.1), length(old$range) / 2) # the extremes of the calibration scores, then
    new <- if (length(fit$classes) == 3) d$z * 3 else c(0.001, 0.5, 0.999)
    expect_identical(predict(old, new), predict(fit, new))
  }
})

test_that("class_effects = \"none\" gives the fits of version 0.1, whose objects keep their predictions", {
  old <- readRDS(test_path("fixtures", "format-3.rds"))
  x <- letters_nn$cal
  few <- 1:300
  new <- list(
    letters = shared_gp(x$scores[few, ], x$labels[few]),
    rain = shared_gp(rain_nyc$prob[few], rain_nyc$rain[few]),
    paper = shared_gp(x$scores[few, ], x$labels[few], mean = "identity", center = FALSE, covariance = "diag", inducing = 10)
  )
  for (name in names(new)) {
    expect_identical(old$fits[[name]]$format, 3L)
    prob <- function(fit, ...) suppressWarnings(predict(fit, old$new[[name]], ...))
    expect_equal(prob(old$fits[[name]], approx = "mean"), old$means[[name]], tolerance = 1e-8)
    # rows that need integration are integrated better than they were
    expect_lt(max(abs(prob(old$fits[[name]]) - old$probs[[name]])), 1e-3)
    expect_lt(max(abs(prob(new[[name]], approx = "mean") - old$means[[name]])), 1e-3)
    gain <- new[[name]]$elbo - old$fits[[name]]$elbo
    expect_true(gain > -1e-4 && gain < 1e-2)
    expect_identical(check_object(old$fits[[name]])$class_effects, "none")
    expect_output(print(old$fits[[name]]), "class effects: none")
    expect_s3_class(autoplot(old$fits[[name]]), "ggplot")
  }
})

test_that("fits with three blocks of effects keep their predictions, and take new rows", {
  old <- readRDS(test_path("fixtures", "format-4.rds"))
  for (name in names(old$fits)) {
    fit <- old$fits[[name]]
    new <- old$new[[name]]$scores
    expect_identical(fit$format, 4L)
    expect_length(fit$effects$count, 3)
    # rows that need integration are integrated differently
    expect_lt(max(abs(predict(fit, new) - old$probs[[name]])), 5e-4)
    expect_equal(predict(fit, new, approx = "mean"), old$means[[name]], tolerance = 1e-10)
    expect_equal(with_seed(1, predict(fit, new, type = "interval", n_draws = 1000)), old$ends[[name]], tolerance = 1e-4)
    expect_output(print(summary(fit)), "All class effects together")
    expect_false(any(grepl("power", names(coef(fit)))))
  }
  again <- suppressWarnings(update(old$fits$few, old$new$few$scores, old$new$few$labels))
  expect_lt(max(abs(predict(again, old$new$few$scores) - old$updated)), 0.02) # the hyperprior of the matrix has moved since, and fits begin elsewhere
  expect_identical(again$effects$count[4], 0L)
})

test_that("fits with one variance for the matrix keep their predictions, and take new rows", {
  old <- readRDS(test_path("fixtures", "format-5.rds"))
  for (name in names(old$fits)) {
    fit <- old$fits[[name]]
    expect_identical(fit$format, 5L)
    expect_equal(predict(fit, old$new$scores), old$probs[[name]], tolerance = 1e-8)
    expect_equal(summary(fit)$effects$parts, old$worth[[name]], tolerance = 1e-8)
    expect_false("sd_skew" %in% names(coef(fit)))
  }
  again <- suppressWarnings(update(old$fits$frozen, old$new$scores, old$new$labels)) # goes on with one variance
  expect_identical(names(again$effects$sd), names(old$fits$frozen$effects$sd))
  expect_lt(max(abs(predict(again, old$new$scores) - old$updated$frozen)), 0.02) # the hyperprior has moved
  again <- suppressWarnings(update(old$fits$few, old$new$scores, old$new$labels)) # is fitted anew
  expect_true("skew" %in% names(again$effects$sd))
  expect_lt(max(abs(predict(again, old$new$scores) - old$updated$few)), 0.05)
})
