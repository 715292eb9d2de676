# Rscript bench/gallery.R [FOLDER [KINDS]]: every kind of picture (or those whose names match KINDS, a regular expression)
# as PNG at 6 x 4, 3 x 2 and 6.5 x 9 inches (text of 11, 7 and 11 points), in colour and in grey, to be looked at. Nothing
# is measured; files go to .build/gallery, or to FOLDER.

library(gpcalib)
given <- commandArgs(TRUE)
folder <- if (length(given)) given[1] else file.path(Sys.getenv("BUILD", ".build"), "gallery")
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
several <- c(many, list(`Vector scaling` = calib_vector(cal$scores, cal$labels), `Matrix scaling` = calib_matrix(cal$scores, cal$labels),
  Isotonic = calib_isotonic(cal$scores, cal$labels), `Beta calibration` = calib_beta(cal$scores, cal$labels),
  `Histogram binning` = calib_histogram(cal$scores, cal$labels)))
probs <- lapply(several, predict, test$scores)
risks <- lapply(two, predict, later$prob)
study <- calib_study(cal$scores, cal$labels, n_cal = 1000, splits = 3)
comparison <- suppressWarnings(compare_forecasts(risks, later$rain, eps = 1e-4))
monitor <- calib_monitor(later$prob * 0.99 + 0.005, later$rain, period = format(later$time, "%Y-%m"))

month <- factor(format(later$time, "%B"), levels = month.name)
clinic <- factor(rep_len(paste("Clinic", c("A", "B", "C", "D")), nrow(test$scores)))
twelve <- c(risks, stats::setNames(lapply(risks[1:4], function(p) cbind(1 - p[, 2]^1.3, p[, 2]^1.3)), paste("Power of", names(risks)[1:4])))
twelve <- lapply(twelve, function(p) p[, 2])

# What goes wrong: a method that fails now and then, one that always fails, one whose votes give an infinite log loss.
sometimes <- function(scores, labels, ...) if (stats::runif(1) < 0.5) stop("no luck") else calib_temperature(scores, labels)
votes <- function(scores, labels, ...) function(newdata) {
  diag(ncol(newdata))[max.col(newdata), ] |> `dimnames<-`(dimnames(newdata))
}
never <- function(scores, labels, ...) stop("never works")
troubled <- suppressWarnings(calib_study(list(Letters = cal$scores, `Rain in New York City` = rain$prob), list(cal$labels, rain$rain),
  methods = list("none", "temperature", Sometimes = sometimes, `Hard votes` = votes, Never = never), splits = 4,
  metrics = c("log_loss", "ece", "class_accuracy"), n_cal = 400))
infinite <- calib_monitor(later$prob, later$rain, period = format(later$time, "%Y-%m"))
weekly <- calib_monitor(probs[[1]], test$labels, period = rep(paste("Week", 1:10), length.out = nrow(test$scores)))

# Each takes base_size.
kinds <- list(
  reliability = function(size) plot_reliability(probs[1:3], test$labels, base_size = size),
  reliability_5 = function(size) plot_reliability(probs[1:5], test$labels, base_size = size),
  reliability_8 = function(size) plot_reliability(probs, test$labels, base_size = size),
  reliability_mass = function(size) plot_reliability(probs[1:2], test$labels, binning = "mass", base_size = size),
  reliability_by = function(size) plot_reliability(risks[[1]], later$rain, by = month, base_size = size),
  reliability_40 = function(size) plot_reliability(probs[[1]][1:40, ], test$labels[1:40], base_size = size),
  two_confidence = function(size) plot_reliability(risks["GP"], later$rain, type = "confidence", base_size = size),
  event_of_many = function(size) plot_reliability(probs[[1]], test$labels, type = "event", event = "A", base_size = size),
  top_label = function(size) plot_reliability(probs[[1]], test$labels, type = "top_label", base_size = size),
  classwise_rarest = function(size) plot_reliability(probs[1:3], test$labels, type = "classwise", rarest = TRUE, base_size = size),
  classwise_8 = function(size) plot_reliability(probs, test$labels, type = "classwise", base_size = size),
  classwise_smooth = function(size) plot_reliability(probs[[1]], test$labels, type = "classwise", method = "smooth", base_size = size),
  smooth_8 = function(size) plot_reliability(risks, later$rain, method = "smooth", base_size = size),
  reliability_one = function(size) plot_reliability(probs[[1]], test$labels, base_size = size),
  event = function(size) plot_reliability(risks[c("Temperature", "GP")], later$rain, base_size = size),
  classwise = function(size) plot_reliability(probs[[3]], test$labels, type = "classwise", base_size = size),
  isotonic = function(size) plot_reliability(risks["GP"], later$rain, method = "isotonic", base_size = size),
  smooth = function(size) plot_reliability(risks[c("Temperature", "GP")], later$rain, method = "smooth", base_size = size),
  latent = function(size) autoplot(many[[3]], base_size = size),
  latent_several = function(size) plot_latent(many, base_size = size),
  latent_temperature = function(size) autoplot(many[[2]], base_size = size),
  offsets = function(size) autoplot(many[[3]], what = "offsets", base_size = size),
  matrix = function(size) autoplot(many[[3]], what = "matrix", base_size = size),
  map = function(size) plot_map(two, base_size = size),
  map_many = function(size) plot_map(several[6:8], base_size = size),
  interval = function(size) plot_interval(many[[3]], test$scores, test$labels, base_size = size),
  interval_two = function(size) plot_interval(two[[1]], later$prob, later$rain, base_size = size),
  interval_60 = function(size) plot_interval(two[[1]], later$prob, later$rain, rows = 60, base_size = size),
  confidence = function(size) plot_confidence(probs[1:3], test$labels, base_size = size),
  confidence_8 = function(size) plot_confidence(probs, test$labels, base_size = size),
  confidence_by = function(size) plot_confidence(probs[1:2], test$labels, by = clinic, base_size = size),
  study = function(size) autoplot(study, base_size = size),
  study_failures = function(size) autoplot(troubled, base_size = size),
  study_reference = function(size) autoplot(troubled, reference = "Sometimes", base_size = size),
  study_infinite = function(size) autoplot(troubled, reference = "Hard votes", base_size = size),
  comparison = function(size) autoplot(comparison, base_size = size),
  mcbdsc = function(size) plot_mcbdsc(comparison, base_size = size),
  murphy = function(size) plot_murphy(risks, later$rain, base_size = size),
  murphy_12 = function(size) plot_murphy(twelve, later$rain, base_size = size),
  murphy_by = function(size) plot_murphy(risks[1:3], later$rain, by = later$origin, base_size = size),
  mcbdsc_12 = function(size) plot_mcbdsc(suppressWarnings(compare_forecasts(twelve, later$rain, eps = 1e-4)), base_size = size),
  validation_by = function(size) autoplot(calib_validate(risks$GP[, 2], later$rain, by = later$origin), base_size = size),
  validation_many = function(size) autoplot(suppressWarnings(calib_validate(probs[[1]], test$labels)), base_size = size),
  validation = function(size) autoplot(calib_validate(risks$GP[, 2], later$rain), base_size = size),
  evidence = function(size) autoplot(monitor, type = "evidence", base_size = size),
  scores = function(size) autoplot(monitor, type = "scores", base_size = size),
  scores_infinite = function(size) autoplot(infinite, type = "scores", base_size = size),
  evidence_infinite = function(size) autoplot(infinite, type = "evidence", base_size = size),
  scores_many = function(size) autoplot(weekly, type = "scores", base_size = size),
  periods = function(size) autoplot(monitor, type = "reliability", base_size = size)
)
if (length(given) > 1) kinds <- kinds[grepl(given[2], names(kinds))]
formats <- list(wide = c(6, 4, 11), small = c(3, 2, 7), page = c(6.5, 9, 11))

# Luminance of the colours, as a printer without colour has it.
grey <- function(from, to) {
  x <- png::readPNG(from)
  png::writePNG(x[, , 1] * 0.2126 + x[, , 2] * 0.7152 + x[, , 3] * 0.0722, to)
}

in_grey <- requireNamespace("png", quietly = TRUE)
if (!in_grey) cat("gallery: the package png is not installed, so that there are no grey pictures\n")

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
    if (ok && in_grey) grey(file, sub("\\.png$", "-grey.png", file))
  }
}
cat("gallery:", length(list.files(folder, "\\.png$")), "pictures in", folder, "\n")
