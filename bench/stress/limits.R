# Rscript bench/stress/limits.R: large data. Time and memory of every fit and prediction grow no faster than the
# scores, up to 50,000 x 1000; more than 2^31 scores in one matrix (where there is the memory) give the answer that
# a few of their rows give; and when the memory is not there, that is an error and the session goes on.
library(gpcalib)
given <- commandArgs(TRUE)
k <- 1000

status <- function(what, file = "/proc/self/status") {
  line <- grep(paste0("^", what, ":"), readLines(file), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024 # MB
}

# Seconds (short jobs `times` times, the least counts), and the most memory in MB beyond what was there before
measure <- function(job, times = 1) {
  gc(FALSE)
  writeLines("5", "/proc/self/clear_refs") # forget the peak
  before <- status("VmRSS")
  seconds <- system.time(value <- suppressWarnings(suppressMessages(job())))[["elapsed"]]
  mb <- status("VmHWM") - before
  for (again in seq_len(times - 1)) {
    if (seconds > 3) break
    seconds <- min(seconds, system.time(suppressWarnings(suppressMessages(job())))[["elapsed"]])
  }
  list(value = value, seconds = seconds, mb = mb)
}

methods <- list(none = calib_none, temperature = calib_temperature, gp = calib_gp, platt = calib_platt, beta = calib_beta,
  isotonic = calib_isotonic, histogram = calib_histogram, bbq = calib_bbq)

# Growth ------------------------------------------------------------------------------------

grow <- function() {
  sizes <- c(12500, 25000, 50000)
  rows <- list()
  fits <- list() # to the smallest data: maps of more rows have more points, which is another matter
  note <- function(n, what, job) {
    result <- measure(job, 3)
    rows[[length(rows) + 1]] <<- data.frame(n = n, what = what, seconds = result$seconds, mb = max(result$mb, 1))
    result$value
  }
  for (n in sizes) {
    set.seed(1)
    z <- matrix(rnorm(n * k, sd = 2), n)
    y <- integer(n) # drawn from the softmax of z / 1.3, a column at a time
    best <- rep(-Inf, n)
    for (j in seq_len(k)) {
      drawn <- z[, j] / 1.3 - log(-log(runif(n)))
      y[drawn > best] <- j
      best <- pmax(best, drawn)
    }
    for (name in names(methods)) {
      fit <- note(n, paste("fit", name), function() methods[[name]](z, y))
      if (n == sizes[1]) fits[[name]] <- fit
      note(n, paste("predict", name), function() predict(fits[[name]], z))
    }
    p <- predict(methods$none(z, y), z)
    rm(z)
    note(n, "calib_metrics", function() calib_metrics(p, y))
    note(n, "reliability_table", function() reliability_table(p, y))
    note(n, "ece, classwise", function() ece(p, y, type = "classwise"))
    rm(p)
  }
  table <- do.call(rbind, rows)
  bad <- 0
  scores <- max(sizes) * k * 8 / 2^20
  for (what in unique(table$what)) {
    part <- table[table$what == what, ]
    time <- coef(lm(log(seconds) ~ log(n), part))[[2]]
    # what is smaller than a tenth of the scores is not looked at for its growth
    memory <- if (max(part$mb) > scores / 10) coef(lm(log(mb) ~ log(n), part))[[2]] else NA
    wrong <- (time > 1.2 && max(part$seconds) > 0.5) || (!is.na(memory) && memory > 1.1)
    bad <- bad + wrong
    cat(sprintf("%-22s %6.2f s, %5.2f times the scores; slopes %.2f, %.2f%s\n", what, max(part$seconds),
      max(part$mb) / scores, time, memory, if (wrong) "  WRONG" else ""))
  }
  bad
}

# No memory ---------------------------------------------------------------------------------

# In a child whose memory is limited (ulimit -v), a prediction that does not fit is an error, and the session works.
refuse <- function() {
  out <- tempfile()
  code <- paste("library(gpcalib); set.seed(1); z <- matrix(rnorm(9e3), 3e3); y <- sample(3, 3e3, TRUE);",
    "fit <- calib_gp(z, y); before <- predict(fit, z); big <- matrix(rnorm(4.5e7), 1.5e7);",
    "wrong <- 0;",
    "for (job in list(function() predict(fit, big), function() predict(fit, big, type = 'draws'),",
    "  function() calib_platt(big, rep(1:3, 5e6)), function() ece(big, rep(1:3, 5e6)))) {",
    "  e <- tryCatch({ job(); NULL }, error = identity);",
    "  cat(if (is.null(e)) 'no error' else conditionMessage(e), '\\n');",
    "  wrong <- wrong + !(inherits(e, 'gpcalib_error') || (!is.null(e) && grepl('cannot allocate', conditionMessage(e))))",
    "}; rm(big); invisible(gc());",
    "if (!identical(before, predict(fit, z))) wrong <- wrong + 1; cat(wrong, 'wrong\\n'); quit(status = wrong)")
  status <- system2("bash", c("-c", shQuote(paste("ulimit -v 900000;", shQuote(file.path(R.home("bin"), "Rscript")), "-e",
    shQuote(code)))))
  cat("too little memory:", if (status == 0) "errors, and the session works" else "WRONG", "\n")
  status != 0
}

# More than 2^31 scores -----------------------------------------------------------------------

n_long <- 70000
wide <- 30680 # n_long * wide = 2^31 + 116,352
at <- n_long - 999:0 # rows that say something are the last, their largest scores in the last columns

room_for_long <- function() {
  need <- 1.15 * n_long * wide * 8 / 2^20
  enough <- status("MemAvailable", "/proc/meminfo") >= need
  cat("more than 2^31 scores:", if (!enough) paste("SKIPPED, needs", round(need / 1024), "GB"), "\n")
  enough
}

hold <- function(what, ok) {
  cat(sprintf("  %-60s %s\n", what, if (isTRUE(ok)) "holds" else "WRONG"))
  !isTRUE(ok)
}

last_columns <- function(n) wide - sample.int(20, n, TRUE) + 1L

long_labels <- function(top) {
  y <- rep_len(seq_len(wide), n_long)
  y[at] <- ifelse(runif(1000) < 0.8, top, last_columns(1000))
  y
}

long_logits <- function() {
  if (!room_for_long()) return(0)
  set.seed(1)
  top <- last_columns(1000)
  y <- long_labels(top)
  z <- matrix(0, n_long, wide)
  z[cbind(at, top)] <- 14
  fit <- measure(function() calib_temperature(z, y))
  # flat rows add a constant to the likelihood: the answer is that of the others
  small <- suppressWarnings(calib_temperature(z[at, ], y[at]))
  bad <- hold(sprintf("calib_temperature(), %.0f s, %.0f MB", fit$seconds, fit$mb),
    all.equal(coef(fit$value), coef(small), tolerance = 1e-6))
  some <- predict(fit$value, z[at, ])
  bad <- bad + hold("predict() of its last rows", all.equal(rowSums(some), rep(1, 1000)))
  gp <- measure(function() calib_gp(z, y, control = gp_control(max_passes = 3, tol = 0.1)))
  some <- predict(gp$value, z[at[1:10], ])
  bad + hold(sprintf("calib_gp() of three passes, %.0f s, %.0f MB", gp$seconds, gp$mb),
    is.finite(gp$value$elbo) && isTRUE(all.equal(rowSums(some), rep(1, 10))))
}

long_probs <- function() {
  if (!room_for_long()) return(0)
  set.seed(1)
  top <- last_columns(1000)
  y <- long_labels(top)
  z <- matrix(1 / wide, n_long, wide)
  z[at, ] <- 0.5 / (wide - 1)
  z[cbind(at, top)] <- 0.5
  right <- c(y[-at] == 1, y[at] == top)
  p <- c(rep(1 / wide, n_long - 1000), ifelse(y[at] == top, 0.5, 0.5 / (wide - 1)))
  off <- right - c(rep(1 / wide, n_long - 1000), rep(0.5, 1000))
  bad <- 0
  for (case in list(
    list("class_accuracy()", function() class_accuracy(z, y), mean(right)),
    list("log_loss()", function() log_loss(z, y), -mean(log(p))),
    list("ece()", function() ece(z, y, bins = 10), (abs(sum(off[-at])) + abs(sum(off[at]))) / n_long),
    list("reliability_table()", function() sum(reliability_table(z, y)$n), n_long))) {
    out <- measure(case[[2]])
    bad <- bad + hold(sprintf("%s, %.0f s, %.0f MB", case[[1]], out$seconds, out$mb),
      all.equal(out$value, case[[3]], tolerance = 1e-9))
  }
  bad
}

parts <- list(grow = grow, refuse = refuse, long_logits = long_logits, long_probs = long_probs)
if (length(given)) parts <- parts[given]
bad <- 0
for (part in parts) {
  bad <- bad + part()
  invisible(gc(FALSE)) # what is left of one is in the way of the next
}
cat(bad, "wrong\n")
quit(status = bad > 0)
