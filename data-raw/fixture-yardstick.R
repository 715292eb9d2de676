# Rscript data-raw/fixture-yardstick.R: Brier scores and log losses by the package yardstick, for
# tests/testthat/fixtures/yardstick.rds. Made with yardstick 1.4.0. From the root of the repository.

set.seed(14)
softmax <- function(z) exp(z) / rowSums(exp(z))
sets <- lapply(2:4, function(k) {
  p <- softmax(matrix(rnorm(40 * k, sd = 1.5), 40))
  y <- factor(letters[apply(p, 1, function(row) sample.int(k, 1, prob = row))], levels = letters[seq_len(k)])
  colnames(p) <- letters[seq_len(k)]
  w <- round(runif(40, 0.2, 3), 2)
  value <- function(metric, weights) {
    estimate <- if (k == 2) p[, 1] else p # the first level is yardstick's event
    metric(y, estimate, case_weights = weights)
  }
  list(p = p, y = y, w = w, values = c(
    brier = value(yardstick::brier_class_vec, NULL), brier_weighted = value(yardstick::brier_class_vec, w),
    log_loss = value(yardstick::mn_log_loss_vec, NULL), log_loss_weighted = value(yardstick::mn_log_loss_vec, w)))
})
saveRDS(list(sets = sets, version = as.character(packageVersion("yardstick"))), "tests/testthat/fixtures/yardstick.rds",
  version = 2)
