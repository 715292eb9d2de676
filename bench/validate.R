# Rscript bench/validate.R: calib_validate() beside rms::val.prob() and, if they are installed, pmcalibration and yardstick, on
# simulated and real forecasts; and how long a million rows take. rms is r-cran-rms in Debian.

library(gpcalib)
source("bench/helper.R")
if (!requireNamespace("rms", quietly = TRUE)) {
  cat("Validation: skipped, for lack of the package rms\n")
  quit(status = 0)
}

set.seed(1)
x <- rnorm(2000, -1, 1.3)
sets <- list(
  simulated = list(p = plogis(x), y = rbinom(2000, 1, plogis(-0.3 + 0.8 * x + 0.4 * sin(x)))),
  rain = with(subset(rain_nyc, prob > 0 & prob < 1), list(p = prob, y = as.integer(rain == "rain")))
)
if (requireNamespace("survival", quietly = TRUE)) {
  d <- survival::flchain
  d <- d[complete.cases(d[c("age", "kappa", "lambda", "creatinine")]), ]
  train <- sample(nrow(d), 2500)
  dead <- train[d$death[train] == 1]
  model <- glm(death ~ age + sex + kappa + lambda + creatinine, binomial,
    d[c(dead, sample(setdiff(train, dead), length(dead))), ])
  sets$flchain <- list(p = unname(predict(model, d[-train, ], type = "response")), y = d$death[-train])
}
rows <- list()
for (name in names(sets)) {
  set <- sets[[name]]
  set.seed(2)
  ours <- as.data.frame(calib_validate(set$p, set$y))
  theirs <- rms::val.prob(set$p, set$y, pl = FALSE)
  held <- glm(set$y ~ offset(qlogis(set$p)), family = binomial)
  other <- c(slope = theirs[["Slope"]], slope_intercept = theirs[["Intercept"]], c_index = theirs[["C (ROC)"]],
    brier_score = theirs[["Brier"]], ici = theirs[["Eavg"]], e90 = theirs[["E90"]], emax = theirs[["Emax"]],
    intercept = coef(held)[[1]])
  peers <- c(rep("rms::val.prob", 7), "glm with offset")
  if (requireNamespace("pmcalibration", quietly = TRUE)) {
    curve <- pmcalibration::pmcalibration(set$y, set$p, smooth = "gam", ci = "none", k = 10, transf = "logit", method = "REML")
    other <- c(other, ici = curve$metrics[["Eavg"]], e50 = curve$metrics[["E50"]], e90 = curve$metrics[["E90"]],
      emax = curve$metrics[["Emax"]])
    peers <- c(peers, rep("pmcalibration, gam", 4))
  }
  if (requireNamespace("yardstick", quietly = TRUE)) {
    y <- factor(set$y, levels = 0:1)
    other <- c(other, brier_score = yardstick::brier_class_vec(y, set$p, event_level = "second"),
      log_loss = yardstick::mn_log_loss_vec(y, set$p, event_level = "second"))
    peers <- c(peers, "yardstick", "yardstick")
    ours <- rbind(ours, data.frame(measure = "log_loss", estimate = log_loss(set$p, set$y), conf.low = NA, conf.high = NA))
  }
  mine <- ours$estimate[match(names(other), ours$measure)]
  rows[[name]] <- data.frame(data = name, measure = names(other), gpcalib = sprintf("%.6f", mine), other = sprintf("%.6f", other),
    from = peers, apart = sprintf("%.1e", abs(mine - other)))
}
seconds <- vapply(c(1e4, 1e5, 1e6), function(n) {
  x <- rnorm(n, -1, 1.5)
  y <- rbinom(n, 1, plogis(0.9 * x))
  p <- plogis(x)
  min(replicate(3, system.time(calib_validate(p, y))[["elapsed"]]))
}, 0)
write_report("validate", "Validation against other software", c(
  "rms and pmcalibration take curves of their own (lowess; a thin-plate spline), so that ICI to Emax agree in size only. rms counts",
  "pairs after rounding, hence the difference in the c-index.", "",
  markdown_table(do.call(rbind, rows)), "",
  sprintf("`calib_validate()` takes %.2f, %.2f and %.2f s for 1e4, 1e5 and 1e6 rows.", seconds[1], seconds[2], seconds[3])
))
