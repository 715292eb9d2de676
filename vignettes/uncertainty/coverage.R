# Rscript vignettes/uncertainty/coverage.R, from the top folder and with the package installed (about
# two minutes): how often do the 95% intervals of calib_gp() hold the probability they are meant for?
# The vignette "Probabilities with their uncertainty" reads the csv file that this leaves beside it.
#
# Scores are centred normal logits of four classes with standard deviation 3; labels are drawn from
# softmax(g(z)) for two maps g. Each replicate fits n rows and looks at the intervals of 200 others.

library(gpcalib)

replicates <- 200
truths <- list(line = function(z) 0.5 * z, bend = function(z) 0.4 * z + 1.5 * tanh(z))

softmax <- function(z) {
  p <- exp(z - apply(z, 1, max))
  p / rowSums(p)
}

one <- function(g, n, mean) {
  z <- matrix(rnorm((n + 200) * 4, sd = 3), ncol = 4)
  z <- z - rowMeans(z)
  p <- softmax(g(z))
  y <- factor(apply(p, 1, function(q) sample.int(4, 1, prob = q)), levels = 1:4)
  cal <- seq_len(n)
  fit <- calib_gp(z[cal, ], y[cal], input = "logits", mean = mean, integrate = FALSE)
  # A few of the 200 rows lie beyond the scores seen; that is part of the question.
  x <- withCallingHandlers(predict(fit, z[-cal, ], type = "interval", n_draws = 400),
    gpcalib_warning_extrapolation = function(w) invokeRestart("muffleWarning"))
  p <- p[-cal, ]
  c(coverage = mean(x[, , "lower"] <= p & p <= x[, , "upper"]),
    width = mean(x[, , "upper"] - x[, , "lower"]), error = sqrt(mean((x[, , "estimate"] - p)^2)))
}

cases <- expand.grid(mean = c("linear", "identity"), rows = c(200, 1000), map = names(truths),
  stringsAsFactors = FALSE)[, 3:1]
found <- lapply(seq_len(nrow(cases)), function(i) {
  set.seed(1) # the same rows for both means
  r <- t(replicate(replicates, one(truths[[cases$map[i]]], cases$rows[i], cases$mean[i])))
  data.frame(cases[i, ], coverage = mean(r[, 1]), std.error = sd(r[, 1]) / sqrt(replicates),
    width = mean(r[, 2]), error = mean(r[, 3]), row.names = NULL)
})
found <- do.call(rbind, found)
found[4:7] <- lapply(found[4:7], signif, 3)
utils::write.csv(found, "vignettes/uncertainty/coverage.csv", row.names = FALSE, quote = FALSE)
print(found)
