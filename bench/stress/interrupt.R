# Rscript bench/stress/interrupt.R: SIGINT in the middle of long fits, predictions and resampling. The child
# process (this script with an argument) must catch the interrupt within LATEST seconds of computing and have a
# session that works: it then fits and predicts as before, and its memory is given back.
latest <- 2
jobs <- c("gp", "temperature", "platt", "isotonic", "beta", "bbq", "predict gp", "predict mc", "interval", "draws",
  "bootstrap", "null", "band", "study", "log odds")
given <- commandArgs(TRUE)

if (length(given) == 2) {
  suppressMessages(library(gpcalib))
  source("bench/stress/_calls.R")
  set.seed(1)
  wide <- function(n, k) list(z = matrix(rnorm(n * k, sd = 2), n), y = sample.int(k, n, TRUE))
  check <- small_data(50)
  before <- predict(calib_gp(check$z, check$y), check$z)
  job <- switch(given[1],
    gp = { d <- wide(3e5, 20); function() calib_gp(d$z, d$y) },
    temperature = { d <- wide(5e5, 20); function() for (i in 1:20) calib_temperature(d$z, d$y, tol = 1e-15) },
    platt = { d <- wide(5e4, 60); function() for (i in 1:20) calib_platt(d$z, d$y) },
    isotonic = { d <- wide(5e4, 60); function() for (i in 1:20) calib_isotonic(d$z, d$y) },
    beta = { d <- wide(5e4, 60); function() for (i in 1:20) calib_beta(d$z, d$y) },
    bbq = { d <- wide(5e4, 60); function() for (i in 1:20) calib_bbq(d$z, d$y) },
    "predict gp" = { d <- wide(1e5, 50); fit <- calib_gp(d$z[1:500, ], d$y[1:500]); function() for (i in 1:50) predict(fit, d$z) },
    "predict mc" = { d <- wide(1e5, 50); fit <- calib_gp(d$z[1:500, ], d$y[1:500]); function() predict(fit, d$z, approx = "mc", n_draws = 1000) },
    interval = { d <- wide(1e5, 50); fit <- calib_gp(d$z[1:500, ], d$y[1:500]); function() predict(fit, d$z, type = "interval") },
    draws = { d <- wide(1e4, 50); fit <- calib_gp(d$z[1:500, ], d$y[1:500]); function() for (i in 1:9) predict(fit, d$z, type = "draws", n_draws = 200) },
    bootstrap = { p <- runif(1e6); y <- runif(1e6) < p; function() calib_metrics(p, y, conf_level = 0.9, replicates = 1e5) },
    study = { d <- wide(2e4, 20); function() calib_study(d$z, d$y, splits = 1000) },
    "log odds" = { d <- wide(5e4, 500); fit <- suppressWarnings(calib_platt(d$z[1:2000, ], d$y[1:2000])); function() for (i in 1:50) predict(fit, d$z) },
    null = { d <- wide(1e5, 20); p <- exp(d$z); p <- p / rowSums(p); function() calib_metrics(p, d$y, type = "classwise", conf_level = 0.9, replicates = 1e4) },
    band = { p <- runif(1e6); y <- runif(1e6) < p; function() reliability_table(p, y, type = "event", method = "isotonic", replicates = 1e5) })
  cat(Sys.getpid(), "\n", file = given[2])
  at <- NULL
  result <- tryCatch({ suppressWarnings(job()); "finished" }, interrupt = function(i) { at <<- Sys.time(); "interrupted" })
  after <- predict(calib_gp(check$z, check$y), check$z)
  cat(result, identical(before, after), format(as.numeric(at), digits = 16), "\n", file = paste0(given[2], ".out"))
  quit()
}

bad <- 0
self <- sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))
wait_for <- function(file, seconds) {
  for (i in seq_len(20 * seconds)) {
    if (file.exists(file) && file.size(file) > 0) return(TRUE)
    Sys.sleep(0.05)
  }
  FALSE
}
for (job in if (length(given)) given else jobs) {
  file <- tempfile()
  system2("Rscript", c(shQuote(self), shQuote(job), file), wait = FALSE, stdout = FALSE, stderr = FALSE)
  if (!wait_for(file, 120)) stop("the child for ", job, " did not begin")
  Sys.sleep(1)
  pid <- scan(file, quiet = TRUE)
  sent <- as.numeric(Sys.time())
  tools::pskill(pid, tools::SIGINT)
  out <- if (wait_for(paste0(file, ".out"), 60)) scan(paste0(file, ".out"), "", quiet = TRUE)
  if (is.null(out)) tools::pskill(pid, tools::SIGKILL)
  took <- if (length(out) == 3) as.numeric(out[3]) - sent else NA
  good <- length(out) == 3 && out[1] == "interrupted" && out[2] == "TRUE" && took < latest
  bad <- bad + !good
  cat(sprintf("%-12s %s\n", job, if (length(out) == 3) {
    paste0(out[1], " after ", format(took, digits = 2), " s, session ", if (out[2] == "TRUE") "works" else "BROKEN",
      if (!good) "  WRONG")
  } else {
    paste("WRONG:", paste(out, collapse = " "))
  }))
}
cat(bad, "wrong\n")
quit(status = bad > 0)
