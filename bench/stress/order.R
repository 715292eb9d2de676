# Rscript bench/stress/order.R [ROWS]: calib_gp(monotone = TRUE) keeps the order of the scores, to the last bit, on
# ROWS rows (1e7) that are made to be hard: scores units in the last place apart, at the nodes of the table and beside
# them, tied, far outside, zero, subnormal, -Inf. Every pair of classes is looked at, in every mode.
suppressMessages(library(gpcalib))
source("tests/testthat/helper-oracle-gp.R")
source("tests/testthat/helper-order.R")
given <- commandArgs(TRUE)
wanted <- if (length(given)) as.numeric(given[1]) else 1e7
cat("library:", dirname(getLoadedDLLs()[["gpcalib"]][["path"]]), "\n")
set.seed(1) # of the fits
quiet <- function(x) suppressWarnings(suppressMessages(x))
table_of <- function(fit) .Call(gpcalib:::C_mono_table, fit)

# Fits whose posterior mean falls in places.
wavy <- function(n, k) bent_data(n, k, bend = function(z) z + 3 * sin(1.5 * z))
probs <- function(z) exp(z) / rowSums(exp(z))
d3 <- wavy(500, 3)
d5 <- wavy(300, 5)
few <- wavy(60, 3)
cut_off <- probs(d5$scores)
cut_off[cut_off < 0.02] <- 0
cut_off <- cut_off / rowSums(cut_off)
fit <- function(...) quiet(calib_gp(..., monotone = TRUE))
fits <- list(
  centred = fit(d3$scores, d3$labels), plain = fit(d3$scores, d3$labels, center = FALSE),
  `few rows` = fit(few$scores, few$labels, center = FALSE), five = fit(d5$scores, d5$labels, center = FALSE),
  wide = fit(d3$scores * 1000, d3$labels, hyper = c(slope = 1)), probs = fit(probs(d3$scores), d3$labels),
  zeros = fit(cut_off, d5$labels), log = fit(probs(d3$scores), d3$labels, mean = "log"))

# hard_logits() for many rows at once: the same kinds, column by column.
many_logits <- function(nodes, k, n) {
  width <- diff(range(nodes))
  step <- diff(nodes[1:2])
  anywhere <- function(m) stats::runif(m, nodes[1] - width, nodes[length(nodes)] + width)
  kind <- sample(8, n, TRUE)
  start <- ifelse(kind %% 2 == 0, anywhere(n), sample(nodes, n, TRUE))
  other <- anywhere(n)
  rows <- vapply(seq_len(k), function(j) {
    x <- anywhere(n)
    x[kind == 1] <- ulps(sample(nodes, sum(kind == 1), TRUE), sample(-3:3, sum(kind == 1), TRUE))
    x[kind == 2 | kind == 3] <- ulps(start, sample(-5:5, n, TRUE))[kind == 2 | kind == 3]
    x[kind == 4] <- ifelse(stats::runif(n) < 0.5, start, other)[kind == 4]
    x[kind == 5] <- (start + step * (sample(0:8, n, TRUE) / 8 + 2^-20 * sample(-4:4, n, TRUE)))[kind == 5]
    x[kind == 6] <- (sample(c(-1e4, 1e4, 1), n, TRUE) * width * stats::runif(n))[kind == 6]
    x[kind == 7] <- sample(c(0, -0, 5e-324, -5e-324, 1e-310, -1e-310, 2^-1022, -Inf), n, TRUE)[kind == 7]
    x
  }, numeric(n))
  rows[rowSums(rows > -Inf) == 0, 1] <- 0
  rows
}
many_rows <- function(fit, n) {
  k <- length(fit$classes)
  if (fit$input == "probs") hard_probs(k, n) else many_logits(table_of(fit)$t, k, n)
}

set.seed(as.integer(Sys.getenv("SEED", "1"))) # of the rows
bad <- 0
seen <- 0
looked <- c(mean = 0, delta = 0, mc = 0, interval = 0, draws = 0, class = 0, latent = 0)
count <- function(mode, rows, p) {
  wrong <- out_of_order(rows, p)
  looked[[mode]] <<- looked[[mode]] + nrow(rows)
  if (!is.finite(wrong) || wrong > 0) cat("OUT OF ORDER:", name, mode, wrong, "\n")
  bad <<- bad + if (is.finite(wrong)) wrong else 1
}
size <- min(1e5, ceiling(wanted / length(fits)))
while (seen < wanted) {
  for (name in names(fits)) {
    fit <- fits[[name]]
    rows <- many_rows(fit, size)
    count("mean", rows, quiet(predict(fit, rows, approx = "mean")))
    some <- rows[sample(size, size %/% 20), ]
    count("delta", some, quiet(predict(fit, some)))
    count("mc", some, quiet(predict(fit, some, approx = "mc", n_draws = 10)))
    count("latent", some, quiet(predict(fit, some, type = "latent"))$mean)
    few <- rows[sample(size, size %/% 100), ]
    ends <- quiet(predict(fit, few, type = "interval", n_draws = 20))
    for (end in 2:3) count("interval", few, ends[, , end])
    draws <- quiet(predict(fit, few, type = "draws", n_draws = 10, vary_slope = TRUE))
    for (d in 1:10) count("draws", few, draws[, , d])
    looked[["class"]] <- looked[["class"]] + nrow(few)
    wrong <- sum(as.integer(quiet(predict(fit, few, type = "class"))) != max.col(few, "first"))
    if (wrong) cat("ANOTHER CLASS:", name, wrong, "\n")
    bad <- bad + wrong
    seen <- seen + size
  }
}
# That the checker sees a map that falls: the same fit without the promise.
free <- fits$plain
free$monotone <- FALSE
caught <- out_of_order(d3$scores, quiet(predict(free, d3$scores)))
cat(sprintf("%.0f rows; looked at by mode: %s; out of order: %.0f (without the promise, of %d rows: %.0f)\n", seen,
  paste(names(looked), format(looked, big.mark = ",", trim = TRUE, scientific = FALSE), collapse = ", "), bad,
  nrow(d3$scores), caught))
if (bad > 0 || caught == 0) stop("the order was not kept, or the checker is blind")
