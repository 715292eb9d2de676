# Rscript bench/stream-limits.R: what limits update() of calib_gp() beside the log loss (bench/stream.R): what the bytes of an object are, why the order
# of batches matters with 1000 classes, and what more bits for kept scores would give. Results in bench/results/stream-limits.md. Data as bench/gp-data.R.

library(gpcalib)
source("bench/helper-report.R")
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
n <- 2000

read_set <- function(name) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  set.seed(17) # the rows of bench/stream.R
  rows <- sample(nrow(d$scores))
  list(scores = d$scores, labels = factor(d$labels, levels = seq_len(ncol(d$scores))), rows = rows[seq_len(n)], test = utils::head(rows[-seq_len(n)], 4000))
}
fit_rows <- function(d, rows, ...) suppressWarnings(calib_gp(d$scores[rows, ], d$labels[rows], ...))
add_rows <- function(fit, d, rows) suppressWarnings(update(fit, d$scores[rows, ], d$labels[rows]))
forecast <- function(fit, d) suppressWarnings(predict(fit, d$scores[d$test, ]))
apart <- function(p, q) mean(rowSums(abs(p - q))) / 2 # mean change of a row's probabilities, as in stream.md
bytes <- function(x) length(serialize(x, NULL))
saved <- function(x) {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(x, file)
  file.size(file)
}
user_time <- function(code) system.time(code)[["user.self"]]

# Fits after every batch, the largest of which is looked at ------------------------------------

largest_parts <- function(fit) {
  sizes <- c(vapply(fit[setdiff(names(fit), c("stream", "effects", "offsets"))], bytes, 0),
    unlist(lapply(fit[intersect(names(fit), c("stream", "effects", "offsets"))], function(part) vapply(part, bytes, 0))))
  top <- utils::head(sort(sizes, decreasing = TRUE), 3)
  paste(names(top), top, collapse = ", ")
}
size_row <- function(name, integrate, size) {
  d <- read_set(name)
  fit <- most <- fit_rows(d, d$rows[seq_len(size)], integrate = integrate)
  for (b in 2:(n / size)) {
    fit <- add_rows(fit, d, d$rows[size * (b - 1) + seq_len(size)])
    if (bytes(fit) > bytes(most)) most <- fit
  }
  data.frame(data = name, classes = length(most$classes), integrate = integrate, `rows at the most` = most$n, serialised = bytes(most), saved = saved(most),
    `saved at the end` = saved(fit), `largest parts (serialised)` = largest_parts(most), check.names = FALSE)
}
sizes <- rbind(size_row("nba538", FALSE, 100), size_row("nba538", TRUE, 100), size_row("imdb", FALSE, 100), size_row("imdb", TRUE, 100),
  size_row("cifar10_resnet50_test", FALSE, 100), size_row("cifar100_resnet50_test", FALSE, 100), size_row("letter_qda", FALSE, 200))

# Orders of batches with 1000 classes -----------------------------------------------------------

d <- read_set("nextword_k1000")
whole <- fit_rows(d, d$rows, integrate = FALSE)
q <- forecast(whole, d)
time_whole <- user_time(fit_rows(d, d$rows, integrate = FALSE))
orders_row <- function(what, ...) {
  last <- NA
  fits <- lapply(1:5, function(o) {
    set.seed(o)
    order <- if (o == 1) d$rows else sample(d$rows)
    fit <- fit_rows(d, order[1:100], integrate = FALSE, ...)
    for (b in 2:(n / 100)) last <<- user_time(fit <- add_rows(fit, d, order[100 * (b - 1) + 1:100]))
    fit
  })
  p <- lapply(fits, forecast, d = d)
  loss <- vapply(p, log_loss, 0, labels = d$labels[d$test])
  data.frame(update = what, lengthscales = paste(sprintf("%.1f", vapply(fits, function(fit) fit$hyper[["lengthscale"]], 0)), collapse = " "),
    `log loss less that of the fit of all rows` = paste(sprintf("%+.4f", range(loss - log_loss(q, d$labels[d$test]))), collapse = " to "),
    `orders apart` = sprintf("%.4f", max(vapply(p[-1], apart, 0, q = p[[1]]))), `from the fit of all rows` = sprintf("%.4f", max(vapply(p, apart, 0, q = q))),
    `last update / fit` = sprintf("%.2f", last / time_whole), bytes = max(vapply(fits, bytes, 0)), check.names = FALSE)
}
process <- whole$hyper[c("variance", "lengthscale")]
none <- fit_rows(d, d$rows, integrate = FALSE, class_effects = "none")
profile <- data.frame(lengthscale = c(4, 6, 8, 10, 12, 14, 18))
profile$bound <- sprintf("%+.2f", vapply(profile$lengthscale, function(l) {
  fit_rows(d, d$rows, integrate = FALSE, class_effects = "none", hyper = c(lengthscale = l))$elbo - none$elbo
}, 0))
orders <- rbind(orders_row("default"), orders_row("without offsets", class_effects = "none"),
  orders_row("variance and lengthscale held at those of the fit of all rows", hyper = process),
  orders_row("the same without offsets", hyper = process, class_effects = "none"),
  orders_row("rows in the object: gp_control(buffer = 2000)", control = gp_control(buffer = 2000)))

# Bits of kept scores ---------------------------------------------------------------------------

# Scores as to_coarse() in R/pack-rows.R would have them, with steps of b and so many codes; compressed byte by byte of the codes
rounded <- function(z, unit, step, codes) {
  code <- pmin(round(log1p(-z / unit) / step), codes - 2)
  planes <- if (codes > 256) c(as.raw(t(code) %/% 256), as.raw(t(code) %% 256)) else as.raw(t(code))
  list(z = -unit * expm1(step * code), bytes = length(memCompress(planes, "bzip2")))
}
bits_rows <- function(name) {
  d <- read_set(name)
  logits <- if (all(d$scores >= 0)) log(pmax(d$scores, 1e-38)) else d$scores
  centred <- function(rows) logits[rows, ] - apply(logits[rows, ], 1, max)
  d$scores[d$test, ] <- centred(d$test)
  fit <- function(z) suppressWarnings(calib_gp(z, d$labels[d$rows], input = "logits", integrate = FALSE))
  z <- centred(d$rows)
  exact <- fit(z)
  p <- forecast(exact, d)
  unit <- 2^round(log2(2 / exact$hyper[["slope"]]))
  do.call(rbind, Map(function(step, codes) {
    coarse <- rounded(z, unit, step, codes)
    one <- fit(coarse$z)
    q <- forecast(one, d)
    data.frame(data = name, step = step, bits = log2(codes), bytes = coarse$bytes, bound = sprintf("%+.2f", one$elbo - exact$elbo),
      `log loss` = sprintf("%+.5f", log_loss(q, d$labels[d$test]) - log_loss(p, d$labels[d$test])), `change of probabilities` = sprintf("%.5f", apart(p, q)), check.names = FALSE)
  }, c(0.08, 0.04, 0.02, 0.0025, 0.00016), c(256, 256, 256, 4096, 65536)))
}
bits <- rbind(bits_rows("cifar100_resnet50_test"), bits_rows("cifar100_wrn16_4"))

write_report("stream-limits", "What limits update()", c(
  "`Rscript bench/stream-limits.R`. 2000 rows, as in bench/results/stream.md.", "", "## Bytes of an object", "",
  "Batches of 100 (letter_qda 200); the object with the most bytes serialised, `saved` by saveRDS(). The covariance of the effects does not become smaller without changing", "predictions.", "",
  markdown_table(sizes), "", "## nextword_k1000: orders of batches", "",
  "Changes of a row's probabilities as in stream.md, the largest of five orders. More than 200 classes: every batch is frozen at once. The fit of all rows has offsets.", "",
  markdown_table(orders), "", "The bound of the fit of all rows (without offsets) with the lengthscale held, less that with the best one:", "", markdown_table(profile), "",
  "## Bits of kept scores", "", "Fits of 2000 rows of rounded scores less those of the scores themselves. The package has steps of 0.04 in 8 bits.", "", markdown_table(bits)))
