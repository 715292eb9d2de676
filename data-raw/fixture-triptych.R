# Rscript data-raw/fixture-triptych.R: Murphy curves and score parts by the package triptych (Dimitriadis,
# Gneiting, Jordan and Vogel), for tests/testthat/fixtures/triptych.rds. Made with triptych 0.1.3. Its
# functions are called below their tidy interface, which newer packages broke. Tests do not need it.

set.seed(20)
x <- round(plogis(rnorm(120, sd = 1.5)), 2) # with ties
y <- rbinom(120, 1, plogis(0.7 * qlogis(pmin(pmax(x, 0.01), 0.99)) + 0.3))
inside <- pmin(pmax(x, 0.01), 0.99) # for the log score
parts <- function(x, score) {
  score <- getFromNamespace(score, "triptych")
  recalibrated <- triptych:::recalibrate_mean(x, as.double(y))
  value <- function(f) mean(ifelse(f == y, 0, score(f, y)))
  c(score = value(x), miscalibration = value(x) - value(recalibrated),
    discrimination = value(rep(mean(y), 120)) - value(recalibrated), uncertainty = value(rep(mean(y), 120)))
}
saveRDS(list(x = x, inside = inside, y = y, murphy = as.data.frame(triptych:::C_murphydiag_prob(x, as.double(y))),
  brier_score = parts(x, "Brier_score"), log_loss = parts(inside, "log_score"),
  version = as.character(packageVersion("triptych"))), "tests/testthat/fixtures/triptych.rds", version = 2)
