# Rscript data-raw/fixture-epit.R: e-values by the package epit (Arnold, Henzi and Ziegel), for
# tests/testthat/fixtures/epit.rds. epit is not on CRAN; this was run with the functions of its version 0.1.0
# (e_rank_histogram() and e_pit() with what they call) from its public repository. Tests do not need it.
#
# halves: a forecast of 1/2 for each of two classes, which makes the class a rank in an ensemble of one member. The strategy
#         "empirical" bets on the shares of the classes so far, each counted once more.
# pits:   forecasts p that vary, as randomised PIT values: uniform on (0, 1 - p) where the event did not occur, on (1 - p, 1) where
#         it did. The strategy "beta" bets on the beta distribution that fits the values so far.

set.seed(23)
at <- c(1:20, 30, 50, 70, seq(100, 1000, 50))
halves <- lapply(c(0.5, 0.55, 0.6, 0.7), function(share) {
  y <- as.integer(runif(1000) < share)
  e <- epit::e_rank_histogram(y + 1L, h = 1, m = 1, strategy = "empirical", options = list(n0 = 0))$e
  list(share = share, y = y, log_e = cumsum(log(e))[at])
})
pits <- lapply(list(none = function(z) z, shift = function(z) z + 0.5, temperature = function(z) z / 1.6), function(map) {
  z <- round(rnorm(3000, sd = 1.5), 1)
  p <- plogis(z)
  y <- as.integer(runif(3000) < plogis(map(z)))
  u <- runif(3000)
  e <- epit::e_pit(ifelse(y == 1, 1 - p + u * p, u * (1 - p)), h = 1, strategy = "beta")$e
  list(z = z, y = y, log_e = cumsum(log(e))[c(100, 300, 1000, 3000)])
})
saveRDS(list(at = at, halves = halves, pits = pits, version = as.character(packageVersion("epit"))), "tests/testthat/fixtures/epit.rds",
  version = 2)
