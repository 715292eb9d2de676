# Rscript bench/corp.R: isotonic reliability curves and their score decompositions beside those of
# the package reliabilitydiag (Dimitriadis, Gneiting and Jordan, 2021), which has to be installed, on
# its own example: daily forecasts of rain at Niamey. GPCALIB_DATA says where the data are.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
files <- file.path(folder, paste0("rain_niamey_", c("ens", "logistic"), ".rds"))
if (!all(file.exists(files)) || !requireNamespace("reliabilitydiag", quietly = TRUE)) {
  cat("CORP: skipped, for lack of the package reliabilitydiag or of", files[1], "(set GPCALIB_DATA)\n")
  quit(status = 0)
}

# Their decomposition for any score is a mean over rows, given the recalibrated values of the object.
log_score <- function(y, x) ifelse(y == 1, -log(x), -log1p(-x))
rows <- list()
worst <- c(score = 0, miscalibration = 0, discrimination = 0, uncertainty = 0, curve = 0)
inside <- list()
for (file in files) {
  set <- readRDS(file)
  x <- set$scores[, 2] # alone: rows of single precision do not quite sum to one
  y <- as.integer(set$labels == 2)
  theirs <- suppressMessages(reliabilitydiag::reliabilitydiag(x = x, y = y, region.level = NA))
  set.seed(1)
  table <- reliability_table(x, y, type = "event", method = "isotonic")
  # Values of the curve at every row, by both
  cases <- theirs$x$cases
  block <- vapply(cases$x, function(v) which(v >= table$lower & v <= table$upper)[1], 0L)
  worst["curve"] <- max(worst["curve"], abs(table$observed[block] - cases$CEP_pav))
  for (measure in c("brier_score", "log_loss")) {
    score <- if (measure == "brier_score") "brier" else log_score
    want <- suppressMessages(summary(theirs, score = score))
    got <- summary(table)
    got <- got[got$measure == measure, ]
    want <- c(score = want$mean_score, miscalibration = want$miscalibration,
      discrimination = want$discrimination, uncertainty = want$uncertainty)
    mine <- unlist(got[names(want)])
    apart <- ifelse(mine == want, 0, abs(mine - want))
    worst[names(want)] <- pmax(worst[names(want)], apart)
    say <- function(v) ifelse(is.finite(v), sprintf("%.9f", v), as.character(v))
    rows[[length(rows) + 1]] <- data.frame(
      forecast = sub("rain_niamey_(.*)[.]rds", "\\1", basename(file)), score = measure,
      part = names(want), gpcalib = say(mine), reliabilitydiag = say(want),
      same = ifelse(apart < 1e-12, "yes", "NO")
    )
  }
  # The band is random in both: compare its ends.
  set.seed(1)
  regions <- suppressMessages(reliabilitydiag::reliabilitydiag(x = x, y = y, n.boot = 2000,
    region.method = "resampling", region.position = "diagonal", region.level = 0.9))$x$regions
  ours <- attr(reliability_table(x, y, type = "event", method = "isotonic",
    conf_level = 0.9, replicates = 2000), "band")
  at <- regions$x[regions$x >= min(x) & regions$x <= max(x)]
  ends <- function(column) stats::approx(ours$score, ours[[column]], at)$y
  apart <- abs(c(ends("conf.low") - regions$lower[match(at, regions$x)],
    ends("conf.high") - regions$upper[match(at, regions$x)]))
  inside[[basename(file)]] <- c(mean(apart), max(apart))
}
table <- do.call(rbind, rows)
write_report("corp", "Isotonic reliability curves against reliabilitydiag", c(
  paste0("Rain at Niamey, 92 days, two forecasts; reliabilitydiag ",
    utils::packageVersion("reliabilitydiag"), ". Agreement is asked for to 1e-12."), "",
  markdown_table(table), "",
  paste0("Largest difference of the curves at the forecast values: ", format(worst[["curve"]],
    digits = 2), "."), "",
  paste0("90% consistency bands (2000 replicates, random numbers of their own), differences of the ends at ",
    "the places of reliabilitydiag, mean and largest: ", paste(vapply(inside, function(d) {
      sprintf("%.3f, %.3f", d[1], d[2])
    }, ""), collapse = "; "), ".")
))
if (any(table$same != "yes") || worst[["curve"]] > 1e-12) quit(status = 1)
