# Rscript bench/gallery.R [FOLDER]: every kind of picture as PNG at 6 x 4, 3 x 2 and 6.5 x 9 inches (text of 11, 7 and
# 11 points), in colour and in grey, to be looked at. Nothing is measured; files go to .build/gallery, or to FOLDER.

library(gpcalib)
folder <- commandArgs(TRUE)
folder <- if (length(folder)) folder[1] else file.path(Sys.getenv("BUILD", ".build"), "gallery")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
set.seed(1)

cal <- letters_nn$cal
test <- letters_nn$test
rain <- subset(rain_nyc, part == "calibration")
later <- subset(rain_nyc, part != "calibration")
many <- list(Uncalibrated = calib_none(cal$scores, cal$labels),
  `Temperature scaling` = calib_temperature(cal$scores, cal$labels), `Gaussian process` = calib_gp(cal$scores, cal$labels))
two <- list(GP = calib_gp(rain$prob, rain$rain), `GP, shared map` = calib_gp(rain$prob, rain$rain, class_effects = "none"),
  Temperature = calib_temperature(rain$prob, rain$rain), Platt = calib_platt(rain$prob, rain$rain),
  Beta = calib_beta(rain$prob, rain$rain), Isotonic = calib_isotonic(rain$prob, rain$rain),
  BBQ = calib_bbq(rain$prob, rain$rain), Histogram = calib_histogram(rain$prob, rain$rain))
probs <- lapply(many, predict, test$scores)
risks <- lapply(two, predict, later$prob)
study <- calib_study(cal$scores, cal$labels, n_cal = 1000, splits = 3)
comparison <- suppressWarnings(compare_forecasts(risks, later$rain, eps = 1e-4))
monitor <- calib_monitor(later$prob * 0.99 + 0.005, later$rain, period = format(later$time, "%Y-%m"))

# Each takes base_size.
kinds <- list(
  reliability = function(size) plot_reliability(probs, test$labels, base_size = size),
  reliability_one = function(size) plot_reliability(probs[[1]], test$labels, base_size = size),
  event = function(size) plot_reliability(risks[c("Temperature", "GP")], later$rain, base_size = size),
  classwise = function(size) plot_reliability(probs[[3]], test$labels, type = "classwise", base_size = size),
  isotonic = function(size) plot_reliability(risks["GP"], later$rain, method = "isotonic", base_size = size),
  smooth = function(size) plot_reliability(risks[c("Temperature", "GP")], later$rain, method = "smooth", base_size = size),
  latent = function(size) autoplot(many[[3]], base_size = size),
  offsets = function(size) autoplot(many[[3]], what = "offsets", base_size = size),
  matrix = function(size) autoplot(many[[3]], what = "matrix", base_size = size),
  map = function(size) plot_map(two, base_size = size),
  interval = function(size) plot_interval(many[[3]], test$scores, test$labels, base_size = size),
  interval_two = function(size) plot_interval(two[[1]], later$prob, later$rain, base_size = size),
  confidence = function(size) plot_confidence(probs, test$labels, base_size = size),
  study = function(size) autoplot(study, base_size = size),
  comparison = function(size) autoplot(comparison, base_size = size),
  mcbdsc = function(size) plot_mcbdsc(comparison, base_size = size),
  murphy = function(size) plot_murphy(risks, later$rain, base_size = size),
  validation = function(size) autoplot(calib_validate(risks$GP[, 2], later$rain), base_size = size),
  evidence = function(size) autoplot(monitor, type = "evidence", base_size = size),
  scores = function(size) autoplot(monitor, type = "scores", base_size = size),
  periods = function(size) autoplot(monitor, type = "reliability", base_size = size)
)
formats <- list(wide = c(6, 4, 11), small = c(3, 2, 7), page = c(6.5, 9, 11))

# Luminance of the colours, as a printer without colour has it.
grey <- function(from, to) {
  x <- png::readPNG(from)
  png::writePNG(x[, , 1] * 0.2126 + x[, , 2] * 0.7152 + x[, , 3] * 0.0722, to)
}

for (kind in names(kinds)) {
  for (format in names(formats)) {
    f <- formats[[format]]
    file <- file.path(folder, paste0(kind, "-", format, ".png"))
    ok <- tryCatch({
      suppressMessages(ggplot2::ggsave(file, kinds[[kind]](f[3]), width = f[1], height = f[2], dpi = 100))
      TRUE
    }, error = function(e) {
      cat("gallery:", kind, format, "failed:", conditionMessage(e), "\n")
      FALSE
    })
    if (ok && requireNamespace("png", quietly = TRUE)) grey(file, sub("\\.png$", "-grey.png", file))
  }
}
cat("gallery:", length(list.files(folder, "\\.png$")), "pictures in", folder, "\n")
