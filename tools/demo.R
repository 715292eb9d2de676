# Rscript tools/demo.R: called by `make demo` from the top folder, with the package just
# built in front of the library path. Calibrates two classifiers, compares before and after
# on rows that were not used for it, and draws reliability diagrams into demo-output/.

library(gpcalib)
dir.create("demo-output", showWarnings = FALSE)

# Two sets of scores: logits of a network for 26 letters, and forecasts of rain.
cal <- rain_nyc$part == "calibration"
sets <- list(
  letters = list(
    about = "letters_nn: logits of a neural network, 26 letters",
    cal = letters_nn$cal, test = letters_nn$test, type = "confidence"
  ),
  rain = list(
    about = "rain_nyc: forecasts of rain at the airports of New York",
    cal = list(scores = rain_nyc$prob[cal], labels = rain_nyc$rain[cal]),
    test = list(scores = rain_nyc$prob[!cal], labels = rain_nyc$rain[!cal]), type = "event"
  )
)

measure <- function(p, y, type) {
  c(
    accuracy = class_accuracy(p, y), log_loss = suppressWarnings(log_loss(p, y)),
    Brier = brier_score(p, y), ECE = ece(p, y, bins = 15, type = type),
    MCE = mce(p, y, bins = 15, type = type),
    over = overconfidence(p, y), under = underconfidence(p, y)
  )
}

rows <- list()
pictures <- character()
for (name in names(sets)) {
  set <- sets[[name]]
  cat("\n", set$about, "\n", sep = "")
  fits <- list(
    none = calib_none(set$cal$scores, set$cal$labels),
    temperature = calib_temperature(set$cal$scores, set$cal$labels),
    platt = calib_platt(set$cal$scores, set$cal$labels, scale = "logit"),
    isotonic = calib_isotonic(set$cal$scores, set$cal$labels),
    beta = calib_beta(set$cal$scores, set$cal$labels),
    bbq = calib_bbq(set$cal$scores, set$cal$labels),
    histogram = calib_histogram(set$cal$scores, set$cal$labels),
    gp = calib_gp(set$cal$scores, set$cal$labels)
  )
  for (fit in fits[-1]) print(fit)
  for (method in names(fits)) {
    p <- predict(fits[[method]], set$test$scores)
    rows[[paste(name, method)]] <- measure(p, set$test$labels, set$type)
    if (!method %in% c("none", "temperature", "isotonic", "gp")) next
    table <- reliability_table(p, set$test$labels, type = set$type)
    file <- file.path("demo-output", paste0(name, "-", method, ".png"))
    pictures <- c(pictures, file)
    ggplot2::ggsave(file, autoplot(table), width = 6, height = 4, dpi = 150)
  }
}

cat("\nOn the test rows, before (none) and after calibration:\n\n")
table <- data.frame(round(do.call(rbind, rows), 3), check.names = FALSE)
print(table)
cat("\nover: mean confidence when wrong; under: mean doubt when right. ECE and MCE with 15 bins:\n")
cat("letters: confidence in the most likely letter; rain: the probability of rain.\n")
if (any(is.infinite(table$log_loss))) {
  cat("An infinite log loss: what happened had a probability of exactly 0. Bins without a mistake, and\n")
  cat("the ends of isotonic maps, give it; so do some forecasts of rain themselves.\n")
}
cat("\nReliability diagrams:\n")
cat(paste0("  ", pictures, "\n"), sep = "")
