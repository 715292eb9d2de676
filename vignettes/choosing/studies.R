# Rscript choosing/studies.R, in vignettes/ and with the package installed: the three studies of choosing.Rmd, which shows this
# code and reads the results from choosing/studies.rds. They take as long as all the rest of that page.

library(gpcalib)

## ---- letters ----
scores <- rbind(letters_nn$cal$scores, letters_nn$test$scores)
labels <- c(letters_nn$cal$labels, letters_nn$test$labels)
set.seed(1)
study <- calib_study(scores, labels, n_cal = 1000, splits = 3,
  methods = list("none", "temperature", "gp", "vector", "platt", "beta", "isotonic", "histogram"),
  metrics = list("ece", log_loss = list("log_loss", eps = 1e-4),
    "brier_score", "class_accuracy"))

## ---- rain ----
new_year <- as.POSIXct("2013-01-01", tz = "UTC")
week <- as.integer(difftime(rain_nyc$time, new_year, units = "days")) %/% 7
set.seed(1)
rain <- calib_study(rain_nyc$prob, rain_nyc$rain, n_cal = 1000, splits = 5, groups = week,
  methods = list("none", "temperature", "gp", "platt", "beta",
    "isotonic", "bbq", "histogram"),
  metrics = list("ece", log_loss = list("log_loss", eps = 1e-4),
    "brier_score"))

## ---- weeks ----
weeks <- c(2, 4, 12)
sets <- stats::setNames(rep(list(rain_nyc$prob), 3), paste(weeks, "weeks"))
set.seed(1)
growing <- calib_study(sets, rep(list(rain_nyc$rain), 3), n_cal = 84 * weeks, splits = 10,
  groups = rep(list(week), 3),
  methods = list("none", "temperature", "platt", "beta", "isotonic",
    "histogram"),
  metrics = list(log_loss = list("log_loss", eps = 1e-4)))

## ---- keep ----
# Summaries of rows (attr "rows") and messages are not shown there.
saveRDS(list(study = study, rain = rain, growing = growing), "choosing/studies.rds", compress = "xz")
