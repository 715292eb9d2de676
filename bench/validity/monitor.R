# Rscript bench/validity/monitor.R [STREAMS]: the anytime-valid test of calib_monitor(): how often it rejects
# calibrated streams at any time, and after how many batches it finds miscalibration, beside tests made once
# but repeated after every batch. Half an hour with the default of 1000 streams. Results in
# bench/results/monitor.md; PARTS (some of size, power, process, rank, safe) says which parts to run, the others are kept.
# Run from the root of the repository.

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

# The report: one heading and what stands below it for each part
report <- "bench/results/monitor.md"
headings <- c(size = "## Calibrated streams rejected at any time (percent, at level 5 %)", power = "## Batches until miscalibration is found",
  process = "## With the alternative \"process\"", rank = "## Beside the e-value for rank histograms", safe = "## Beside the safe Hosmer-Lemeshow test")
parts <- strsplit(Sys.getenv("PARTS", paste(names(headings), collapse = ",")), ",")[[1]]
begin <- function(part) {
  out <<- c(headings[[part]], "", sprintf("%s, R %s, %d streams (or fewer where said) of %d batches of %d rows.", Sys.Date(), getRversion(),
    streams, batches, rows), "")
}
finish <- function(part) { # each part is kept as soon as it is through
  old <- if (file.exists(report)) readLines(report)
  section <- function(name) {
    from <- match(headings[[name]], old)
    if (name == part) return(c(out, ""))
    if (is.na(from)) return(NULL)
    to <- c(grep("^## ", old), length(old) + 1)
    old[from:(min(to[to > from]) - 1)]
  }
  lines <- c("# The anytime-valid test of `calib_monitor()`", "", sprintf("`Rscript bench/validity/monitor.R %d`.", streams), "",
    unlist(lapply(names(headings), section)))
  while (!nzchar(lines[length(lines)])) lines <- lines[-length(lines)]
  writeLines(lines, report)
}

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

if ("size" %in% parts) {
  begin("size")
  add("| K | forecasts | streams | %s |", paste(names, collapse = " | "))
  add("|%s", strrep("---|", length(names) + 3))
  set.seed(17)
  for (k in c(2, 10, 100)) for (kind in c("sharp", "vague")) {
    found <- t(vapply(seq_len(streams), function(i) run_stream(k, kind, others = i <= few), numeric(6)))
    share <- 100 * colMeans(is.finite(found))
    share[5:6] <- 100 * colMeans(is.finite(found[seq_len(few), 5:6, drop = FALSE]))
    add("| %d | %s | %d | %s |", k, kind, streams, paste(sprintf("%.1f", share), collapse = " | "))
    say("%s", tail(out, 1))
  }

  add("")
  add("The repeated tests were run on the first %d streams of each row.", few)
  finish("size")
}

if ("power" %in% parts) {
  begin("power")
  add("Medians over %d streams, with the share found within %d batches. The repeated tests mostly find more and sooner, but they do not hold their level: see above.", few, batches)
  add("")
  add("| K | departure | %s |", paste(names, collapse = " | "))
  add("|%s", strrep("---|", 8))
  set.seed(17)
  for (k in c(2, 10)) for (name in names(departures)) {
    found <- t(vapply(seq_len(few), function(i) run_stream(k, "sharp", departures[[name]]), numeric(6)))
    cells <- sprintf("%s (%.0f %%)", trimws(format(apply(found, 2, median))), 100 * colMeans(is.finite(found)))
    add("| %d | %s | %s |", k, name, paste(cells, collapse = " | "))
    say("%s", tail(out, 1))
  }
  finish("power")
}

if ("process" %in% parts) { # slower: fewer streams
  begin("process")
  slow <- ceiling(0.03 * streams)
  add("%d streams a row: the share rejected at any time, or the median of the batches until it is found (share found within %d batches). Mean: of all four.", slow, batches)
  add("")
  add("| K | labels | mean | process | mean of the other three |")
  add("|%s", strrep("---|", 5))
  run_process <- function(k, bend) {
    z <- logits(batches * rows, k, "sharp")
    p <- softmax(z)
    y <- draw(softmax(bend(z)))
    monitor <- calib_monitor(p, y, period = rep(seq_len(batches), each = rows), classes = seq_len(k),
      alternatives = c("temperature", "bins", "offset", "process"))
    e <- monitor$path[, 4:8]
    first <- function(x) if (any(x)) which(x)[1] else Inf
    three <- log(rowMeans(exp(pmin(e[, 2:4], 600))))
    c(first(e[, 1] >= log(20)), first(e[, 5] >= log(20)), first(three >= log(20)))
  }
  wave <- function(z) { # two bends of opposite sign, which bins of one kind of row see in part
    top <- cbind(seq_len(nrow(z)), max.col(z, "first"))
    z[top] <- z[top] + 0.6 * sin(2.5 * z[top])
    z
  }
  set.seed(18)
  for (k in c(2, 10)) for (name in c("calibrated", "temperature 1.3", "local bend", "wave")) {
    bend <- switch(name, calibrated = identity, wave = wave, departures[[name]])
    found <- t(vapply(seq_len(slow), function(i) run_process(k, bend), numeric(3)))
    cells <- if (name == "calibrated") sprintf("%.0f %%", 100 * colMeans(is.finite(found))) else
      sprintf("%s (%.0f %%)", trimws(format(apply(found, 2, median))), 100 * colMeans(is.finite(found)))
    add("| %d | %s | %s |", k, name, paste(cells, collapse = " | "))
    say("%s", tail(out, 1))
  }

  finish("process")
}

# The e-value for rank histograms of Arnold, Henzi and Ziegel (2023), in the package epit; its case of two ranks is
# a forecast of 1/2 for either class. By hand: the product of 2 (1 + earlier rows of this class) / (t + 1).
if ("rank" %in% parts) {
  begin("rank")
  some <- ceiling(streams / 4)
  add(paste("The package epit (Arnold, Henzi and Ziegel, 2023) is not among the packages that can be installed here, so that an e-value for rank histograms",
    "of its kind was worked out by hand, without its source at hand: with two equally likely ranks, which are two classes of probability 1/2, it is the product over the rows of",
    "2 (1 + number of earlier rows of the same class) / (t + 1). %d streams of %d rows, looked at after every %d."), some, batches * rows, rows)
  add("")
  add("| frequency of class 1 | rank histogram: found, median batches | monitor, offset | monitor, mean | largest difference of the log e-values, offset less rank histogram |")
  add("|%s", strrep("---|", 5))
  set.seed(19)
  for (share in c(0.5, 0.53, 0.55, 0.6)) {
    found <- t(vapply(seq_len(some), function(i) {
      y <- 1L + (runif(batches * rows) >= share)
      monitor <- calib_monitor(matrix(0.5, length(y), 2), y, period = rep(seq_len(batches), each = rows), classes = 1:2)
      n <- rows * seq_len(batches)
      k <- cumsum(y == 1)[n]
      rank <- n * log(2) + lgamma(k + 1) + lgamma(n - k + 1) - lgamma(n + 2)
      first <- function(x) if (any(x)) which(x)[1] else Inf
      e <- monitor$path[, c(7, 4)]
      c(first(rank >= log(20)), first(e[, 1] >= log(20)), first(e[, 2] >= log(20)), range(e[, 1] - rank))
    }, numeric(5)))
    cells <- sprintf("%.1f %%, %s", 100 * colMeans(is.finite(found[, 1:3])), trimws(format(apply(found[, 1:3], 2, median))))
    add("| %.2f | %s | %+.1f to %+.1f |", share, paste(cells, collapse = " | "), min(found[, 4]), max(found[, 5]))
    say("%s", tail(out, 1))
  }
  finish("rank")
}

# The e-value of Henzi, Puke, Dimitriadis and Ziegel (2023), by the formula, for two classes; not their code.
if ("safe" %in% parts) {
  source("tests/testthat/helper-oracle-online.R")
  begin("safe")
  some <- ceiling(streams / 20)
  add(paste("The safe Hosmer-Lemeshow test (Henzi, Puke, Dimitriadis and Ziegel, 2023) is another e-value for two classes that may be looked at after every batch: it bets on the isotonic",
    "regression of the labels of earlier batches. It was written from its formula (`oracle_safe_hl()` in the tests), with half of every stake kept, which is our choice; neither their code nor",
    "the package epit was at hand. %d streams of %d batches of %d rows, sharp forecasts: share found, and median of the batches until then."), some, batches, rows)
  add("")
  add("| departure | safe Hosmer-Lemeshow | monitor (mean) | log e-value at the end, medians: safe Hosmer-Lemeshow | monitor (mean) | of a forecast that is right |")
  add("|%s", strrep("---|", 6))
  set.seed(21)
  bends <- list(calibrated = identity, `temperature 1.3` = function(z) z / 1.3, `temperature 1.15` = function(z) z / 1.15, `temperature 0.8` = function(z) z / 0.8,
    `class 1 at half its odds` = function(z) cbind(z[, 1] - log(2), z[, 2]))
  for (name in names(bends)) {
    found <- t(vapply(seq_len(some), function(i) {
      z <- logits(batches * rows, 2, "sharp")
      p <- softmax(z)
      truth <- softmax(bends[[name]](z))
      y <- draw(truth)
      batch <- rep(seq_len(batches), each = rows)
      monitor <- calib_monitor(p, y, period = batch, classes = 1:2)$path[, 4]
      safe <- oracle_safe_hl(p[, 2], y - 1, batch)
      at <- cbind(seq_along(y), y)
      first <- function(x) if (any(x >= log(20))) which(x >= log(20))[1] else Inf
      c(first(safe), first(monitor), safe[batches], monitor[batches], sum(log(truth[at] / p[at])))
    }, numeric(5)))
    cells <- sprintf("%.1f %%, %s", 100 * colMeans(is.finite(found[, 1:2])), trimws(format(apply(found[, 1:2], 2, median))))
    add("| %s | %s | %s |", name, paste(cells, collapse = " | "), paste(sprintf("%.1f", apply(found[, 3:5], 2, median)), collapse = " | "))
    say("%s", tail(out, 1))
  }
  finish("safe")
}
