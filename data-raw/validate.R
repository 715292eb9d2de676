# Makes tests/testthat/fixtures/validate.rds: what rms::val.prob() and mgcv::gam() say of a simulated forecast, for
# test-validate.R and test-smooth.R. Needs rms and mgcv (Debian: r-cran-rms, r-cran-mgcv).
#   Rscript data-raw/validate.R

set.seed(20)
n <- 800
x <- round(stats::rnorm(n, -0.7, 1.4), 3)
y <- stats::rbinom(n, 1, stats::plogis(-0.3 + 0.8 * x + 0.4 * sin(1.5 * x)))
p <- stats::plogis(x)
val <- rms::val.prob(p, y, pl = FALSE)

# Its own tolerance leaves the smoothing parameter a few per cent off where REML is flat.
exact <- mgcv::gam.control(newton = list(conv.tol = 1e-12))
knots <- unname(stats::quantile(sort(unique(x)), seq(0.01, 0.99, length.out = 10)))
# "cr" takes its knots as they are given; beyond them the spline is a straight line, as ours is.
gam <- mgcv::gam(y ~ s(x, bs = "cr", k = 10), family = stats::binomial(), method = "REML", knots = list(x = knots),
  control = exact)
at <- seq(-5, 4, by = 0.25)
pred <- stats::predict(gam, data.frame(x = at), se.fit = TRUE)

w <- rep(c(1, 2), n / 2)
heavy <- mgcv::gam(y ~ s(x, bs = "cr", k = 10), family = stats::binomial(), method = "REML", knots = list(x = knots),
  weights = w * sum(w) / sum(w^2), control = exact)

saveRDS(list(
  x = x, y = y, val = unclass(val), knots = knots, at = at, fit = as.vector(pred$fit), se = as.vector(pred$se.fit),
  edf = sum(gam$edf), w = w, heavy = as.vector(stats::predict(heavy, data.frame(x = at))),
  versions = c(rms = as.character(utils::packageVersion("rms")), mgcv = as.character(utils::packageVersion("mgcv")))
), "tests/testthat/fixtures/validate.rds", version = 2)
