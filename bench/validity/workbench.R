# Rscript bench/validity/workbench.R: what the intervals, bands, p-values and stars of measures, validation and
# studies claim, and what they keep, in simulations with known truth. REPEATS says how often (400 by default; about
# twenty minutes), PARTS which of measures, tests, dependence, decisions, validation, events, isotonic and studies (all by default; distances is the part of validation that
# is about the smooth curve), SIZES how many rows. Results go to bench/results/workbench.csv, in which those of other parts and sizes stay, and from there to
# bench/results/workbench.md.

library(gpcalib)
repeats <- as.integer(Sys.getenv("REPEATS", "400"))
sizes <- as.integer(strsplit(Sys.getenv("SIZES", "100,500,2000"), ",")[[1]])
parts <- strsplit(Sys.getenv("PARTS", "measures,tests,dependence,decisions,validation,events,isotonic,studies"), ",")[[1]]
found <- list()
began <- proc.time()[["elapsed"]]

# One line of the report: how often something held that should hold with probability `claimed`.
note <- function(part, what, n, claimed, hits, given = NULL) {
  hits <- hits[!is.na(hits)]
  rate <- mean(hits)
  found[[length(found) + 1]] <<- data.frame(part = part, what = what, N = n, claimed = claimed,
    measured = if (length(hits)) sprintf("%.3f", rate) else "none given",
    error = if (length(hits)) sprintf("%.3f", sqrt(rate * (1 - rate) / length(hits))) else "",
    given = if (is.null(given)) "" else sprintf("%.2f", given), runs = length(hits))
  cat(part, what, n, if (length(hits)) round(rate, 3), "\n")
}
quietly <- function(code) suppressWarnings(code, classes = "gpcalib_warning")
covers <- function(low, high, truth) low <= truth & truth <= high

# Forecasts -------------------------------------------------------------------------------------------------------

softmax <- function(z) {
  e <- exp(z - apply(z, 1, max))
  e / rowSums(e)
}
# Logits z, a classifier that states softmax(z) where softmax(slope z) is true.
forecast <- function(n, k, spread, slope = 1) {
  z <- matrix(rnorm(n * k, 0, spread), n)
  truth <- softmax(slope * z)
  labels <- max.col(log(truth) - log(-log(matrix(runif(n * k), n))), "first")
  list(probs = softmax(z), labels = factor(labels, levels = seq_len(k)))
}
kinds <- list(
  "2 classes, slope 1" = function(n) forecast(n, 2, 1), "2 classes, slope 0.7" = function(n) forecast(n, 2, 1.5, 0.7),
  "10 classes, slope 1.3" = function(n) forecast(n, 10, 1.5, 1.3),
  "2 classes, 2 % errors" = function(n) forecast(n, 2, 12)
)

# Measures --------------------------------------------------------------------------------------------------------

means <- c("class_accuracy", "log_loss", "brier_score", "overconfidence", "underconfidence", "confidence_gap", "calib_slope")
if ("measures" %in% parts) for (kind in names(kinds)) {
  set.seed(1)
  truth <- with(kinds[[kind]](4e5), calib_metrics(probs, labels))
  truth <- setNames(truth$estimate, truth$measure)
  for (n in sizes) {
    out <- replicate(repeats, {
      d <- kinds[[kind]](n)
      t <- quietly(calib_metrics(d$probs, d$labels, conf_level = 0.95, replicates = 300))
      covers(t$conf.low, t$conf.high, truth[t$measure])[match(means, t$measure)]
    })
    for (i in seq_along(means)) {
      # A gap of zero has intervals that begin at zero; a true one slightly above it is the same.
      note("calib_metrics()", paste0(means[i], ", ", kind), n, 0.95, out[i, ], given = mean(!is.na(out[i, ])))
    }
  }
}
if ("tests" %in% parts) for (n in sizes) {
  set.seed(2)
  for (slope in c(1, 1 / 1.25)) {
    p <- replicate(repeats, {
      d <- forecast(n, 2, 1, slope)
      t <- quietly(calib_metrics(d$probs, d$labels, conf_level = 0.95, replicates = 199))
      t$p.value[match(c("ece", "mce", "calib_slope"), t$measure)]
    })
    for (i in 1:3) {
      note(if (slope == 1) "size at 5 %" else "power at 5 %, slope 0.8", paste0("calib_metrics() ",
        c("ece", "mce", "calib_slope")[i], ", 2 classes"), n, if (slope == 1) 0.05 else NA, p[i, ] <= 0.05)
    }
  }
}
right <- with(forecast(4e5, 2, 1), class_accuracy(probs, labels))
if ("dependence" %in% parts) for (n in sizes) { # weights, and groups of five rows that share most of their luck
  set.seed(3)
  out <- replicate(repeats, {
    d <- forecast(n, 2, 1)
    w <- rexp(n)
    t <- quietly(calib_metrics(d$probs, d$labels, conf_level = 0.95, replicates = 300, weights = w))
    b <- reliability_table(d$probs, d$labels, bins = 4, weights = w)
    c(covers(t$conf.low[1], t$conf.high[1], right), mean(covers(b$conf.low, b$conf.high, b$confidence), na.rm = TRUE))
  })
  note("weights", "calib_metrics() class_accuracy", n, 0.95, out[1, ])
  note("weights", "reliability_table() bins, on average", n, 0.95, out[2, ])
  out <- replicate(repeats, {
    groups <- rep(seq_len(n / 5), each = 5)
    x <- rnorm(n / 5)[groups]
    y <- as.integer(pnorm(sqrt(0.7) * rnorm(n / 5)[groups] + sqrt(0.3) * rnorm(n)) < plogis(x))
    p <- plogis(x)
    y <- factor(y, levels = 0:1)
    one <- quietly(calib_metrics(p, y, conf_level = 0.95, replicates = 199, groups = groups))
    bare <- quietly(calib_metrics(p, y, conf_level = 0.95, replicates = 199))
    valid <- quietly(calib_validate(p, y, groups = groups))
    loose <- quietly(calib_validate(p, y))
    ok <- function(v, name, truth) covers(v$conf.low, v$conf.high, truth)[v$measure == name]
    c(one$p.value[c(4, 10)] <= 0.05, bare$p.value[c(4, 10)] <= 0.05, ok(valid, "slope", 1), ok(loose, "slope", 1),
      ok(valid, "oe_ratio", 1), ok(loose, "oe_ratio", 1))
  })
  words <- c("size of ece", "size of calib_slope", "size of ece, groups ignored", "size of calib_slope, groups ignored",
    "calib_validate() slope", "calib_validate() slope, groups ignored", "calib_validate() O:E",
    "calib_validate() O:E, groups ignored")
  for (i in 1:8) note("groups of 5", words[i], n, if (i <= 4) 0.05 else 0.95, out[i, ])
}

# Decision curves: a rare event and a common one, of forecasts that are too sure; the truth is that of many rows.
chosen <- c(0.02, 0.05, 0.1, 0.3, 0.5)
if ("decisions" %in% parts) for (middle in c(-3, -1)) {
  set.seed(8)
  draw <- function(n) {
    x <- rnorm(n, middle, 1.5)
    list(p = plogis(x), y = factor(as.integer(runif(n) < plogis(0.7 * x)), levels = 0:1))
  }
  pop <- with(draw(2e6), net_benefit(p, y, thresholds = chosen, conf_level = NULL))
  pop <- pop[pop$forecast == "forecast", ]
  for (n in sizes) {
    out <- replicate(repeats, {
      own <- with(draw(n), quietly(net_benefit(p, y, thresholds = chosen)))
      own <- own[own$forecast == "forecast", ]
      c(covers(own$conf.low, own$conf.high, pop$net_benefit), covers(own$gain.low, own$gain.high, pop$gain))
    })
    rate <- if (middle == -3) "8 % events" else "32 % events"
    for (i in seq_along(chosen)) {
      note("net_benefit()", paste0("at ", chosen[i], ", ", rate), n, 0.95, out[i, ])
      note("net_benefit()", paste0("gain over treating all or none at ", chosen[i], ", ", rate), n, 0.95, out[length(chosen) + i, ])
    }
  }
}

# Validation and curves -------------------------------------------------------------------------------------------

curves <- list(
  "calibrated" = function(x) x, "shift and slope" = function(x) -0.5 + 0.8 * x,
  "bent" = function(x) x - 0.5 + 0.8 * sin(1.2 * x),
  "far scores" = function(x) x - 0.5 + 0.8 * sin(1.2 * x) # probabilities of 1e-20 among them
)
log_odds <- function(n, kind) if (kind == "far scores") 2 * rt(n, 2) else rnorm(n, -1, 1.3)
if ("validation" %in% parts) for (kind in names(curves)) {
  set.seed(4)
  x <- log_odds(4e5, kind)
  truth <- plogis(curves[[kind]](x))
  y <- as.integer(runif(4e5) < truth)
  pop <- calib_validate(plogis(x), y, conf_level = NULL)
  pop <- setNames(pop$estimate, pop$measure)
  pop["oe_ratio"] <- mean(truth) / mean(plogis(x))
  pop["in_the_large"] <- mean(truth) - mean(plogis(x))
  if (kind == "calibrated") pop[c("intercept", "slope_intercept", "slope")] <- c(0, 0, 1)
  for (n in sizes) {
    out <- replicate(repeats, {
      x <- log_odds(n, kind)
      f <- plogis(curves[[kind]](x))
      y <- factor(as.integer(runif(n) < f), levels = 0:1)
      valid <- quietly(calib_validate(plogis(x), y))
      apart <- abs(f - plogis(x))
      own <- pop
      inner <- rank(x) > 0.01 * n & rank(x) <= 0.99 * n # Emax is about these
      own[c("ici", "e50", "e90", "emax")] <- c(mean(apart), quantile(apart, c(0.5, 0.9), type = 1), max(apart[inner]))
      fit <- gpcalib:::smooth_fit(plogis(x), as.integer(y) - 1L)
      x <- gpcalib:::curve_log_odds(plogis(x), n)$x
      at <- gpcalib:::smooth_at(fit, x, qnorm(0.975))
      all <- gpcalib:::smooth_at(fit, x, gpcalib:::simultaneous_errors(fit, sort(x)[round(seq(1, n, length.out = 60))], 0.95))
      c(covers(valid$conf.low, valid$conf.high, own[valid$measure]), mean(covers(at$low, at$high, f)),
        mean(covers(all$low, all$high, f)) == 1)
    })
    for (i in 1:12) note("calib_validate()", paste0(names(pop)[i], ", ", kind), n, 0.95, out[i, ])
    note("smooth curve", paste0("pointwise, on average, ", kind), n, 0.95, out[13, ])
    note("smooth curve", paste0("simultaneous, ", kind), n, 0.95, out[14, ])
  }
}
if ("distances" %in% parts) for (kind in names(curves)) for (n in sizes) { # of the curve alone, which is quick
  set.seed(7)
  out <- replicate(repeats, {
    x <- log_odds(n, kind)
    f <- plogis(curves[[kind]](x))
    fit <- gpcalib:::smooth_fit(plogis(x), as.integer(runif(n) < f))
    got <- gpcalib:::smooth_summary(fit, 0.95)
    apart <- abs(f - plogis(x))
    inner <- rank(x) > 0.01 * n & rank(x) <= 0.99 * n
    covers(got[, 2], got[, 3], c(mean(apart), quantile(apart, c(0.5, 0.9), type = 1), max(apart[inner])))
  })
  for (i in 1:4) note("calib_validate()", paste0(gpcalib:::smooth_errors[i], ", ", kind), n, 0.95, out[i, ])
}
if ("events" %in% parts) for (kind in c("calibrated", "bent")) for (events in c(10, 30, 100)) { # few events among 1000 rows
  set.seed(9)
  curve <- curves[[kind]]
  shift <- uniroot(function(a) mean(plogis(curve(qnorm(ppoints(2000), a, 1.3)))) - events / 1000, c(-15, 5))$root
  hits <- replicate(repeats, {
    x <- rnorm(1000, shift, 1.3)
    f <- plogis(curve(x))
    y <- as.integer(runif(1000) < f)
    if (length(unique(y)) < 2) return(NA)
    fit <- gpcalib:::smooth_fit(plogis(x), y)
    at <- gpcalib:::smooth_at(fit, gpcalib:::curve_log_odds(plogis(x), 1000)$x, qnorm(0.975))
    mean(covers(at$low, at$high, f))
  })
  note("smooth curve", paste0("pointwise, on average, ", kind, ", about ", events, " events"), 1000, 0.95, hits)
}
if ("isotonic" %in% parts) for (n in sizes) {
  set.seed(5)
  out <- replicate(ceiling(repeats / 2), {
    x <- rnorm(n, 0, 1.5)
    p <- plogis(x)
    curve <- function(probs, truth, band) {
      y <- factor(as.integer(runif(n) < truth), levels = 0:1)
      reliability_table(probs, y, method = "isotonic", band = band, replicates = 300)
    }
    a <- curve(p, p, "consistency")
    whole <- function(t) { # the whole curve, not its blocks alone
      b <- attr(t, "band")
      own <- approx(c(rbind(t$lower, t$upper)), rep(t$observed, each = 2), b$score, ties = "ordered", rule = 2)$y
      all(covers(b$conf.low - 1e-9, b$conf.high + 1e-9, own))
    }
    around <- function(truth) {
      b <- attr(curve(p, plogis(truth(x)), "confidence"), "band")
      at <- findInterval(p, b$score, all.inside = TRUE)
      mean(covers(b$conf.low[at], b$conf.high[at], plogis(truth(qlogis(b$score[at])))))
    }
    c(sum(covers(a$conf.low, a$conf.high, a$observed) * a$n) / n, whole(a), whole(curve(p, p, "simultaneous")),
      around(curves[[1]]), around(curves[[3]]))
  })
  words <- c("consistency band, by rows", "consistency band, whole curve inside", "simultaneous band, whole curve inside",
    "confidence band, by rows, calibrated", "confidence band, by rows, bent")
  for (i in 1:5) note("isotonic curve", words[i], n, if (i == 2) NA else 0.95, out[i, ])
}

# Studies ---------------------------------------------------------------------------------------------------------

# Two methods that are equally good: they shift the log-odds by noise that is fixed for each row, or they are fitted to
# different halves of the calibration rows.
jitter_by <- function(wave) function(scores, labels, ...) {
  function(newdata) {
    x <- qlogis(newdata[, 2]) + 0.5 * wave(1e4 * newdata[, 2])
    cbind(1 - plogis(x), plogis(x))
  }
}
half <- function(which) function(scores, labels, ...) {
  rows <- seq_along(labels) %% 2 == which
  fit <- suppressWarnings(calib_platt(scores[rows, ], labels[rows]))
  function(newdata) unname(predict(fit, newdata))
}
pairs <- list("noise of the rows" = list(a = jitter_by(sin), b = jitter_by(cos)),
  "halves of the calibration rows" = list(a = half(0), b = half(1)))
if ("studies" %in% parts) for (pair in names(pairs)) for (splits in c(10, 40)) {
  set.seed(6)
  out <- replicate(ceiling(repeats / 2), {
    p <- plogis(rnorm(400, 0, 1.5))
    y <- factor(rbinom(400, 1, p), levels = 0:1)
    study <- quietly(calib_study(p, y, pairs[[pair]], n_cal = 200, splits = splits,
      metrics = c("log_loss", "brier_score", "class_accuracy", "ece")))
    c(tapply(summary(study, reference = "a")$best, rep(1:4, each = 2), all),
      tapply(summary(study, reference = "a", std_error = "splits")$best, rep(1:4, each = 2), all))
  })
  for (i in 1:4) {
    metric <- c("log_loss", "brier_score", "class_accuracy", "ece")[i]
    note("stars: equal methods told apart", paste0(metric, ", ", pair, ", ", splits, " splits"), 400, 0.05, !out[i, ])
    note("the same by s/sqrt(J)", paste0(metric, ", ", pair, ", ", splits, " splits"), 400, 0.05, !out[4 + i, ])
  }
}

# Report ----------------------------------------------------------------------------------------------------------

table <- do.call(rbind, found)
target <- Sys.getenv("REPORT", "bench/results/workbench.md")
kept <- sub("[.]md$", ".csv", target)
if (file.exists(kept)) { # what was measured before and not now
  old <- read.csv(kept, colClasses = c(measured = "character", error = "character", given = "character"))
  old[is.na(old)] <- ""
  old$claimed <- suppressWarnings(as.double(old$claimed))
  key <- function(t) paste(t$part, t$what, t$N)
  table <- rbind(old[!key(old) %in% key(table), ], table)
}
dir.create(dirname(target), showWarnings = FALSE, recursive = TRUE)
write.csv(table, kept, row.names = FALSE)
rate <- suppressWarnings(as.double(table$measured))
error <- suppressWarnings(as.double(table$error))
# Two points, and twice what the simulation itself may be off by
off <- !is.na(rate) & !is.na(table$claimed) & abs(rate - table$claimed) > 0.02 + 2 * error
lines <- c("# What intervals, bands, p-values and stars claim and keep", "",
  paste0(Sys.Date(), ", gpcalib ", packageVersion("gpcalib"), ", ", R.version.string, ". `Rscript bench/validity/workbench.R`."),
  "", paste("`error` is that of the simulation, `given` the share of samples for which there was an interval at all, `off`",
    "marks what differs from what is claimed by more than two points and twice the error."), "",
  "| part | what | N | claimed | measured | error | runs | given | off |", "|---|---|---|---|---|---|---|---|---|",
  paste0("| ", table$part, " | ", table$what, " | ", table$N, " | ", ifelse(is.na(table$claimed), "", table$claimed),
    " | ", table$measured, " | ", table$error, " | ", table$runs, " | ", table$given, " | ", ifelse(off, "off", ""), " |"))
writeLines(lines, target)
cat("seconds:", round(proc.time()[["elapsed"]] - began), "\n")
