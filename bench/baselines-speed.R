# Rscript bench/baselines-speed.R: the speed of the baselines against the packages people use, and of
# their predictions against a search per score, timed in turns in one run. Peers are installed from
# CRAN if they can be, otherwise their rows are left out. GPCALIB_BENCH=quick takes few rounds.

library(gpcalib)
source("bench/helper.R")
set.seed(1)
quick <- Sys.getenv("GPCALIB_BENCH") == "quick"
rounds <- function(n) if (quick) 3 else n
peers <- find_peers(c("monotone", "betacal", "probcal", "CalibratR"))
quiet <- function(expr) suppressMessages(suppressWarnings(utils::capture.output(expr)))

# Forecasts of two classes whose log-odds are too large, by a half.
pair <- function(n) {
  p <- stats::plogis(stats::rnorm(n, sd = 2))
  list(p = p, y = as.integer(stats::runif(n) < stats::plogis(0.3 + 0.67 * stats::qlogis(p))))
}
logits <- function(n, k) matrix(rnorm(n * k, sd = 3), n, k)
drawn <- function(z) max.col(z / 1.7 - log(-log(matrix(runif(length(z)), nrow(z)))))

# Two classes -------------------------------------------------------------------------------

times <- list()
agree <- character()

d <- pair(1e6)
jobs <- list(ours = function() calib_isotonic(d$p, d$y),
  step = function() calib_isotonic(d$p, d$y, interpolate = FALSE), sort = function() order(d$p))
if ("monotone" %in% peers) {
  jobs$peer <- function() {
    o <- order(d$p)
    monotone::monotone(as.double(d$y[o]))
  }
  o <- order(d$p)
  gap <- max(abs(predict(calib_isotonic(d$p, d$y), d$p[o])[, 2] - jobs$peer()))
  agree <- c(agree, sprintf("isotonic fit of 1e6 and `monotone::monotone()`: %.1g", gap))
}
times$isotonic <- time_in_turns(jobs, rounds(15))

d5 <- pair(1e5)
x <- cbind(1, stats::qlogis(d5$p))
times$platt <- time_in_turns(list(
  ours = function() calib_platt(d5$p, d5$y, targets = "raw", scale = "logit"),
  smoothed = function() calib_platt(d5$p, d5$y),
  peer = function() stats::glm.fit(x, d5$y, family = stats::binomial())
), rounds(25))
ref <- stats::glm.fit(x, d5$y, family = stats::binomial(), control = list(epsilon = 1e-14))
gap <- max(abs(rev(ref$coefficients) -
  coef(calib_platt(d5$p, d5$y, targets = "raw", scale = "logit"))))
agree <- c(agree, sprintf("raw Platt coefficients and `glm.fit()`: %.1g", gap))

if ("betacal" %in% peers) {
  theirs <- function() quiet(out <<- betacal::beta_calibration(d5$p, d5$y, "abm"))
  out <- NULL
  times$beta <- time_in_turns(list(ours = function() calib_beta(d5$p, d5$y), peer = theirs), rounds(11))
  gap <- max(abs(out$map[1:2] - coef(calib_beta(d5$p, d5$y))[c("a", "b")]))
  if (is.finite(gap)) {
    agree <- c(agree, sprintf("beta coefficients a and b and `betacal`: %.1g", gap))
  }
}

if ("CalibratR" %in% peers) {
  d4 <- pair(1e4)
  theirs <- function() quiet(out <<- CalibratR:::build_BBQ(d4$y, d4$p))
  out <- NULL
  times$bbq <- time_in_turns(list(ours = function() calib_bbq(d4$p, d4$y), peer = theirs), rounds(3))
}

# One against the rest ----------------------------------------------------------------------

z <- logits(10000, 100)
p <- unname(predict(calib_none(z[1:100, ], rep(1:100, 1), input = "logits"), z))
y <- drawn(z)
jobs <- list(ours = function() calib_isotonic(p, y),
  threads = function() calib_isotonic(p, y, threads = 2))
if ("probcal" %in% peers) {
  jobs$peer <- function() probcal::cal_ovr(p, y, method = "isotonic")
}
times$ova <- time_in_turns(jobs, rounds(7))
if ("probcal" %in% peers) {
  theirs <- tryCatch(as.matrix(stats::predict(jobs$peer(), p)), error = function(e) NULL)
  if (!is.null(theirs) && identical(dim(theirs), dim(p))) {
    ours <- predict(calib_isotonic(p, y), p)
    agree <- c(agree, sprintf("one-vs-all isotonic probabilities and `probcal`: %.1g",
      max(abs(ours - theirs))))
  }
}
rm(z)

# Predictions of 10,000 x 1000 --------------------------------------------------------------

z <- logits(10000, 1000)
cal <- 1:2000
y <- drawn(z[cal, ])
p <- unname(predict(calib_none(z[cal, ], y, input = "logits"), z))
large <- list()
methods <- list(isotonic = calib_isotonic, histogram = calib_histogram, bbq = calib_bbq,
  platt = calib_platt, beta = calib_beta)
fits <- lapply(methods, function(method) suppressWarnings(method(p[cal, ], y)))
for (name in names(fits)) {
  fit <- fits[[name]]
  # Platt and beta have no points to search: they are held against a softmax
  large[[name]] <- time_in_turns(list(
    unit = if (is.null(fit$x)) one_softmax(p) else one_search(p, fit),
    predict = function() predict(fit, p), predict2 = function() predict(fit, p, threads = 2)), rounds(7))
}
iso_logits <- suppressWarnings(calib_isotonic(z[cal, ], y))
large$logits <- time_in_turns(list(unit = one_search(p, iso_logits),
  predict = function() predict(iso_logits, z)), rounds(7))
sizes <- vapply(fits, function(fit) length(serialize(fit, NULL)) / 1024, 0)
rm(z, p)

# Growth --------------------------------------------------------------------------------------

grow <- function(method, sizes) {
  seconds <- vapply(sizes, function(n) {
    d <- pair(n)
    min(time_in_turns(list(fit = function() method(d$p, d$y)), rounds(5)))
  }, 0)
  stats::coef(stats::lm(log(seconds) ~ log(sizes)))[[2]]
}
growth <- vapply(methods, grow, 0, sizes = c(1e5, 3e5, 1e6, if (!quick) 3e6))

# The report --------------------------------------------------------------------------------

row <- function(what, seconds, job, per, unit, target = NA, at_least = FALSE) {
  if (is.null(seconds) || !all(c(job, per) %in% colnames(seconds))) return(NULL)
  ratio <- c(stats::median(seconds[, job]) / stats::median(seconds[, per]),
    min(seconds[, job]) / min(seconds[, per]))
  if (at_least) ratio <- 1 / ratio
  met <- if (at_least) ratio[1] >= target else ratio[1] <= target
  data.frame(what = what, unit = unit,
    target = if (is.na(target)) "" else paste(if (at_least) "at least" else "at most", target),
    median = signif(ratio[1], 3), minimum = signif(ratio[2], 3),
    met = if (is.na(target)) "" else if (met) "yes" else "NO")
}
table <- rbind(
  row("calib_isotonic, 1e6", times$isotonic, "ours", "peer", "`order()` + `monotone::monotone()`", 1),
  row("the same, interpolate = FALSE", times$isotonic, "step", "peer",
    "`order()` + `monotone::monotone()`", 1),
  row("calib_isotonic, 1e6", times$isotonic, "ours", "sort", "`order()` alone"),
  row("calib_platt, raw, 1e5", times$platt, "ours", "peer", "times faster than `glm.fit`", 5, TRUE),
  row("calib_platt, smoothed, 1e5", times$platt, "smoothed", "peer", "times faster than `glm.fit`", 5,
    TRUE),
  row("calib_beta, 1e5", times$beta, "ours", "peer", "times faster than `betacal`", 10, TRUE),
  row("calib_bbq, 1e4", times$bbq, "ours", "peer", "times faster than CalibratR's BBQ", 50, TRUE),
  row("calib_isotonic, 10,000 x 100", times$ova, "ours", "peer", "times faster than `probcal::cal_ovr`",
    50, TRUE),
  row("two threads, calib_isotonic, 10,000 x 100", times$ova, "threads", "ours", "times faster", NA,
    TRUE)
)
for (name in names(methods)) {
  table <- rbind(table,
    row(paste0("predict of calib_", name, ", 10,000 x 1000"), large[[name]], "predict", "unit",
      if (name %in% c("platt", "beta")) "softmaxes" else "search passes", 3),
    row(paste0("two threads, predict of calib_", name), large[[name]], "predict2", "predict",
      "times faster", NA, TRUE))
}
table <- rbind(table, row("predict of calib_isotonic on logits, 10,000 x 1000", large$logits, "predict",
  "unit", "search passes"))
left_out <- setdiff(c("monotone", "betacal", "probcal", "CalibratR"), peers)
load <- tryCatch(scan("/proc/loadavg", n = 1, quiet = TRUE), error = function(e) NA)
write_report("baselines-speed", "Speed of the baselines", c(
  "Ratios of times taken in turns in one run, by medians and by minima; targets refer to the",
  "medians. What is called from R includes checks, allocation of the result and everything else. One",
  "search pass reads every score and looks it up among the points of its class (`bench/unit.c`); Platt",
  "scaling and beta calibration have nothing to look up and are held against softmaxes of the matrix.", "",
  if (length(left_out)) c(paste0("Left out, since they could not be installed: ",
    toString(left_out), "."), ""),
  paste0("Load at the end ", load, " on ", parallel::detectCores(), " cores: ratios of threads mean ",
    "nothing unless it is about 1.5 or less."), "",
  markdown_table(table), "",
  "Largest differences of results:", "", paste0("* ", agree), "",
  paste0("Slopes of log-time on log-N, two classes, N from 1e5 to ", if (quick) "1e6" else "3e6",
    " (at most 1.1 wanted): ", paste(names(growth), sprintf("%.2f", growth), collapse = ", "), "."), "",
  paste0("Sizes of the objects fitted to 2000 x 1000 (15,625 KB of scores): ",
    paste(names(sizes), sprintf("%.0f KB", sizes), collapse = ", "), ".")
))
if (any(table$met == "NO")) quit(status = 1)
