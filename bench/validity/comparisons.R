# Rscript bench/validity/comparisons.R [RUNS]: size of every test at 5 % and coverage of every interval at
# 95 % by simulation, for calib_test(), compare_forecasts() and the intervals of the simple calibrators. About
# twenty minutes with the default of 1000 runs (300 where labels are redrawn). Results
# in bench/results/comparisons.md. Run from the root of the repository.

library(gpcalib)
runs <- as.integer(c(commandArgs(TRUE), 1000)[1])
few <- ceiling(0.3 * runs)
sizes <- c(100, 500, 2000)
set.seed(14)
quiet <- function(expr) suppressWarnings(expr)

softmax <- function(z) {
  e <- exp(z - apply(z, 1, max))
  e / rowSums(e)
}
draw <- function(p) max.col(log(p) - log(-log(matrix(runif(length(p)), nrow(p)))), "first")
calibrated <- function(n, k) {
  p <- if (k == 2) {
    q <- plogis(rnorm(n, -0.5, 1.5))
    cbind(1 - q, q)
  } else {
    softmax(matrix(rnorm(n * k, sd = 1.5), n) + rep(seq(0.5, -0.5, length.out = k), each = n))
  }
  list(p = p, y = factor(draw(p), levels = seq_len(k)))
}

# A row of the report: shares of TRUE, with their standard error
rows <- list()
note <- function(what, setting, n, hits, nominal) {
  share <- mean(hits, na.rm = TRUE)
  se <- sqrt(share * (1 - share) / sum(!is.na(hits)))
  rows[[length(rows) + 1]] <<- data.frame(what = what, setting = setting, N = n, percent = 100 * share,
    se = 100 * se, nominal = nominal, runs = sum(!is.na(hits)), undefined = sum(is.na(hits)),
    off = if (abs(100 * share - nominal) > 2 + 2 * 100 * se) "more than 2" else "")
}

# Tests of calibration --------------------------------------------------------------------

tests <- list(
  "likelihood, chi-square" = list(cheap = TRUE, run = function(d) calib_test(d$p, d$y)),
  "likelihood, 199 redraws" = list(cheap = FALSE, run = function(d) calib_test(d$p, d$y, replicates = 199)),
  "spiegelhalter, normal" = list(cheap = TRUE, run = function(d) calib_test(d$p, d$y, "spiegelhalter")),
  "mcb, 199 redraws" = list(cheap = FALSE, run = function(d) calib_test(d$p, d$y, "mcb", replicates = 199)),
  "skce quadratic, 199 redraws" = list(cheap = FALSE, run = function(d) {
    calib_test(d$p, d$y, "skce", replicates = 199, estimator = "quadratic")
  }),
  "skce linear, normal" = list(cheap = TRUE, run = function(d) calib_test(d$p, d$y, "skce", estimator = "linear"))
)
for (name in names(tests)) {
  for (k in c(2, 4)) {
    for (n in sizes) {
      test <- tests[[name]]
      times <- if (test$cheap) runs else if (n < 2000) few else ceiling(few / 2)
      p <- vapply(seq_len(times), function(r) quiet(test$run(calibrated(n, k)))$p.value, 0)
      note(paste("size of calib_test:", name), paste(k, "classes"), n, p <= 0.05, 5)
    }
  }
}

# Calibrated row by row, but labels of a group go together: a Gaussian copula with correlation 1/2
together <- function(n, k, size = 10) {
  p <- calibrated(n, k)$p
  g <- rep(seq_len(n / size), each = size)
  u <- pnorm(sqrt(0.5) * rnorm(max(g))[g] + sqrt(0.5) * rnorm(n))
  y <- 1 + rowSums(u > t(apply(p, 1, cumsum))[, -k, drop = FALSE])
  list(p = p, y = factor(y, levels = seq_len(k)), g = g)
}
for (method in c("likelihood", "spiegelhalter")) {
  for (k in c(2, 4)) {
    for (n in sizes) {
      p <- replicate(runs, {
        d <- together(n, k)
        c(calib_test(d$p, d$y, method, groups = d$g)$p.value, calib_test(d$p, d$y, method)$p.value)
      })
      note(paste("size of calib_test:", method), paste(k, "classes, groups of 10"), n, p[1, ] <= 0.05, 5)
      note(paste("the same, groups ignored:", method), paste(k, "classes, groups of 10"), n, p[2, ] <= 0.05, 5)
    }
  }
}

for (method in c("mcb", "skce")) { # signs of groups; at 300 rows in 30 groups 5 and 7 % (150 runs)
  for (n in c(100, 500)) {
    p <- replicate(few, {
      d <- together(n, 2)
      calib_test(d$p, d$y, method, groups = d$g, replicates = 199)$p.value
    })
    note(paste("size of calib_test:", method), "2 classes, groups of 10", n, p <= 0.05, 5)
  }
}

# Comparisons -----------------------------------------------------------------------------

# Two forecasts that each know one of two exchangeable causes: equal expected scores. With `size` rows per
# group that share half of their causes and a shock that neither forecast knows.
rivals <- function(n, size) {
  g <- rep(seq_len(ceiling(n / size)), each = size)[seq_len(n)]
  cause <- function() sqrt(0.5) * rnorm(n) + sqrt(0.5) * rnorm(max(g))[g]
  x1 <- cause()
  x2 <- cause()
  shock <- if (size > 1) rnorm(max(g))[g] else rnorm(n)
  list(a = plogis(x1), b = plogis(x2), y = as.integer(runif(n) < plogis(1.2 * x1 + 1.2 * x2 + shock)), g = g)
}
truth <- local({
  d <- rivals(2e6, 1)
  s <- (d$a - d$y)^2
  list(brier = mean(s), skill = 1 - mean(s) / (mean(d$y) * (1 - mean(d$y))), log = log_loss(d$a, d$y))
})
for (size in c(1, 10)) {
  for (n in sizes) {
    setting <- if (size == 1) "independent rows" else "groups of 10"
    out <- vapply(seq_len(runs), function(r) {
      d <- rivals(n, size)
      got <- compare_forecasts(list(a = d$a, b = d$b), d$y, groups = if (size > 1) d$g)
      s <- got$scores
      c(got$differences$p.value <= 0.05, s$conf.low[1] <= truth$log && s$conf.high[1] >= truth$log,
        s$conf.low[3] <= truth$brier && s$conf.high[3] >= truth$brier,
        s$skill.low[3] <= truth$skill && s$skill.high[3] >= truth$skill)
    }, logical(5))
    note("size of compare_forecasts: log loss difference", setting, n, out[1, ], 5)
    note("size of compare_forecasts: Brier difference", setting, n, out[2, ], 5)
    note("coverage of compare_forecasts: log loss", setting, n, out[3, ], 95)
    note("coverage of compare_forecasts: Brier score", setting, n, out[4, ], 95)
    note("coverage of compare_forecasts: skill", setting, n, out[5, ], 95)
  }
}

# Simple calibrators ----------------------------------------------------------------------

at <- c(0.05, 0.3, 0.5, 0.9)
target <- plogis(0.7 * qlogis(at) + 0.3)
covers <- function(low, high, value) low <= value & high >= value
maps <- list(
  "Platt, raw" = list(fit = function(p, y) calib_platt(p, y, scale = "logit", targets = "raw"), coef = c(0.7, 0.3)),
  "Platt, smoothed" = list(fit = function(p, y) calib_platt(p, y, scale = "logit"), coef = c(0.7, 0.3)),
  "beta, am" = list(fit = function(p, y) calib_beta(p, y, params = "am"), coef = c(0.7, 0.7, 0.3)),
  "beta, abm" = list(fit = function(p, y) calib_beta(p, y), coef = c(0.7, 0.7, 0.3))
)
for (name in names(maps)) {
  for (n in sizes) {
    out <- lapply(seq_len(runs), function(r) {
      p <- plogis(rnorm(n, 0, 2))
      fit <- quiet(maps[[name]]$fit(p, as.integer(runif(n) < plogis(0.7 * qlogis(p) + 0.3))))
      ends <- confint(fit)
      band <- quiet(predict(fit, at, type = "interval"))[, 2, ]
      list(covers(ends[, 1], ends[, 2], maps[[name]]$coef), covers(band[, 2], band[, 3], target))
    })
    note("coverage of confint", name, n, unlist(lapply(out, `[[`, 1)), 95)
    note("coverage of predict interval", name, n, unlist(lapply(out, `[[`, 2)), 95)
  }
}
new <- matrix(c(0, 1, -1, 2, 0, 0, -2, 3, 1, 0, 0, 0), 4)
for (n in sizes) {
  out <- lapply(seq_len(runs), function(r) {
    z <- matrix(rnorm(3 * n, sd = 3), n)
    fit <- quiet(calib_temperature(z, factor(draw(softmax(z / 2)), levels = 1:3)))
    ends <- confint(fit)
    band <- quiet(predict(fit, new, type = "interval"))
    inside <- covers(band[, , 2], band[, , 3], softmax(new / 2))
    list(covers(ends[1], ends[2], 2), inside[new != 0]) # the last row is uniform whatever T is
  })
  note("coverage of confint", "temperature, 3 classes", n, unlist(lapply(out, `[[`, 1)), 95)
  note("coverage of predict interval", "temperature, 3 classes", n, unlist(lapply(out, `[[`, 2)), 95)
}

# Report ----------------------------------------------------------------------------------

table <- do.call(rbind, rows)
say <- table
say$percent <- sprintf("%.1f", table$percent)
say$se <- sprintf("%.1f", table$se)
lines <- c("# Size of tests and coverage of intervals", "",
  paste0(format(Sys.Date()), ", gpcalib ", utils::packageVersion("gpcalib"), ", ", R.version.string, "; `Rscript ",
    "bench/validity/comparisons.R ", runs, "`."), "",
  paste0("Shares in percent with their standard errors (those of predict intervals and several coefficients ",
    "count every place as a run of its own). `off` marks what differs from the nominal share by more than 2 ",
    "points and twice the standard error. `undefined`: fits without standard errors."), "",
  paste0("| ", paste(names(say), collapse = " | "), " |"), paste0("|", strrep("---|", ncol(say))),
  apply(as.matrix(say), 1, function(row) paste0("| ", paste(trimws(row), collapse = " | "), " |")))
dir.create("bench/results", showWarnings = FALSE, recursive = TRUE)
writeLines(lines, "bench/results/comparisons.md")
writeLines(lines)
