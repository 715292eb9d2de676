# Rscript bench/validity/monitor.R [STREAMS]: the anytime-valid test of calib_monitor(): how often it rejects
# calibrated streams at any time, and after how many batches it finds miscalibration, beside tests made once
# but repeated after every batch. A few minutes with the default of 1000 streams. Results in
# bench/results/monitor.md. Run from the root of the repository.

library(gpcalib)
streams <- as.integer(c(commandArgs(TRUE), 1000)[1])
few <- ceiling(0.2 * streams)
batches <- 30
rows <- 100

softmax <- function(z) {
  e <- exp(z - do.call(pmax, as.data.frame(z)))
  e / rowSums(e)
}
draw <- function(p) max.col(log(p) - log(-log(matrix(runif(length(p)), nrow(p)))), "first")

# sharp: mean confidence about .9; vague: about .6 (K = 2), .35 (K = 10), .2 (K = 100)
logits <- function(n, k, kind) {
  z <- matrix(rnorm(n * k, sd = if (kind == "sharp") 1 else 0.7), n)
  top <- cbind(seq_len(n), sample.int(k, n, TRUE))
  z[top] <- z[top] + rgamma(n, 4) * (if (kind == "sharp") 1 else 0.3) + if (kind == "sharp") log(k) else 0
  z
}

# P-values after every batch of all rows so far
hosmer <- function(p, y) { # deciles of the event's, or the top class's, probability
  event <- if (ncol(p) == 2) p[, 2] else p[cbind(seq_along(y), max.col(p, "first"))]
  hit <- if (ncol(p) == 2) y == 2 else y == max.col(p, "first")
  cut <- cut(rank(event, ties.method = "first"), 10, labels = FALSE)
  n <- tabulate(cut, 10)
  e <- vapply(split(event, cut), sum, 0)
  o <- vapply(split(hit, cut), sum, 0)
  pchisq(sum((o - e)^2 / (e * (1 - e / n))), 10, lower.tail = FALSE)
}
spiegelhalter <- function(p, y) {
  square <- rowSums(p^2)
  value <- sum(square - p[cbind(seq_along(y), y)])
  2 * pnorm(-abs(value / sqrt(sum(rowSums(p^3) - square^2))))
}

# The first batch at which each test rejects (Inf: never)
run_stream <- function(k, kind, bend = identity, others = TRUE) {
  z <- logits(batches * rows, k, kind)
  p <- softmax(z)
  y <- draw(softmax(bend(z)))
  monitor <- calib_monitor(classes = seq_len(k))
  e <- matrix(0, batches, 4)
  tests <- matrix(1, batches, 2)
  for (b in seq_len(batches)) {
    now <- seq_len(rows) + rows * (b - 1)
    monitor <- update(monitor, p[now, ], y[now])
    if (others) {
      so_far <- seq_len(rows * b)
      tests[b, ] <- c(hosmer(p[so_far, ], y[so_far]), spiegelhalter(p[so_far, ], y[so_far]))
    }
  }
  first <- function(x) if (any(x)) which(x)[1] else Inf
  c(apply(monitor$path[, 4:7] >= log(20), 2, first), apply(tests < 0.05, 2, first))
}

names <- c("monitor (mean)", "temperature", "bins", "offset", "Hosmer-Lemeshow, repeated", "Spiegelhalter, repeated")
say <- function(...) cat(sprintf(...), "\n", sep = "")
out <- character()
add <- function(...) out <<- c(out, sprintf(...))

add("# The anytime-valid test of `calib_monitor()`")
add("")
add("%s, R %s; `Rscript bench/validity/monitor.R %d`. %d batches of %d rows.", Sys.Date(), getRversion(), streams, batches, rows)
add("")
add("## Calibrated streams rejected at any time (percent, at level 5 %%)")
add("")
add("| K | forecasts | streams | %s |", paste(names, collapse = " | "))
add("|%s", strrep("---|", length(names) + 3))
set.seed(17)
for (k in c(2, 10, 100)) for (kind in c("sharp", "vague")) {
  count <- if (k == 100) streams else streams
  found <- t(vapply(seq_len(count), function(i) run_stream(k, kind, others = k < 100 && i <= few), numeric(6)))
  share <- 100 * colMeans(is.finite(found))
  share[5:6] <- if (k < 100) 100 * colMeans(is.finite(found[seq_len(few), 5:6, drop = FALSE])) else NA
  add("| %d | %s | %d | %s |", k, kind, count, paste(ifelse(is.na(share), "-", sprintf("%.1f", share)), collapse = " | "))
  say("%s", tail(out, 1))
}

add("")
add("The repeated tests were run on the first %d streams of each row.", few)
add("")
add("## Batches until miscalibration is found")
add("")
add("Medians over %d streams, with the share found within %d batches.", few, batches)
add("")
add("| K | departure | %s |", paste(names[1:4], collapse = " | "))
add("|%s", strrep("---|", 6))
local_bend <- function(z) { # the top class is right less often where it is between 60 and 90 % sure
  p <- softmax(z)
  top <- cbind(seq_len(nrow(z)), max.col(z, "first"))
  hit <- p[top] > 0.6 & p[top] < 0.9
  z[top][hit] <- z[top][hit] - 0.8
  z
}
one_class <- function(by) function(z) {
  z[, 1] <- z[, 1] + by
  z
}
departures <- list("temperature 1.3" = function(z) z / 1.3, "temperature 1.15" = function(z) z / 1.15,
  "temperature 0.8" = function(z) z / 0.8, "local bend" = local_bend, "class 1 at half its odds" = one_class(-log(2)))
for (k in c(2, 10)) for (name in names(departures)) {
  found <- t(vapply(seq_len(few), function(i) run_stream(k, "sharp", departures[[name]], FALSE), numeric(6)))[, 1:4]
  cells <- sprintf("%s (%.0f %%)", format(apply(found, 2, median)), 100 * colMeans(is.finite(found)))
  add("| %d | %s | %s |", k, name, paste(cells, collapse = " | "))
  say("%s", tail(out, 1))
}
out <- c(out, "", paste("The comparison with the package epit, which tests forecasts by e-values too, was not made: on 2026-11-17 it is not among",
  "the packages of CRAN."))
writeLines(out, "bench/results/monitor.md")
