# Rscript tools/demo.R: called by `make demo` from the top folder, with the package just
# built in front of the library path. Calibrates two classifiers, one with two classes and one with
# many, compares before and after on rows that were not used for it, says what is to be seen, and draws
# reliability diagrams, latent maps and a calibration map into demo-output/.

library(gpcalib)
set.seed(1) # bands of isotonic curves and of maps are random
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

# What the reader sees, in numbers of this run: what was claimed, what happened, and the log loss of the default beside
# the others.
say <- function(...) cat("", strwrap(paste0(...), 100), sep = "\n")
say_seen <- function(probs, y, name) {
  percent <- function(x) sprintf("%.0f %%", 100 * x)
  if (ncol(probs$none) == 2) {
    claimed <- vapply(probs, function(p) mean(p[, 2]), 0)
    happened <- mean(y == colnames(probs$none)[2])
    more <- claimed[["temperature"]] > claimed[["none"]]
    say("What you see: the mean forecast of rain is ", percent(claimed[["none"]]), ", and it rains in ", percent(happened), " of the cases. ",
      "Temperature scaling treats rain and dry alike; its mean forecast is ", percent(claimed[["temperature"]]), if (more) ", more than before", ". ",
      "That of calib_gp() is ", percent(claimed[["gp"]]), ", because it can shift the probability of rain. In ", name,
      "-reliability.png its points are nearer to the diagonal: their mean distance (ECE) is ", sprintf("%.3f", ece(probs$gp, y)), ", before it was ",
      sprintf("%.3f", ece(probs$none, y)), ". Where intervals miss the diagonal an error may be left, but about one in twenty misses it by chance. In ", name, "-map.png calib_gp() lowers a forecast of one half; ",
      "without class effects (GP, shared map) it cannot.")
  } else {
    claimed <- vapply(probs, function(p) mean(apply(p, 1, max)), 0)
    right <- vapply(probs, class_accuracy, 0, y)
    say("What you see: the mean confidence of the network is ", percent(claimed[["none"]]), " and its accuracy ", percent(right[["none"]]),
      ". After calib_gp() the mean confidence is ", percent(claimed[["gp"]]), " and the accuracy ", percent(right[["gp"]]), ". In ", name,
      "-reliability.png the coloured boxes (the gaps) shrink from left to right.")
  }
  loss <- sort(vapply(probs, function(p) suppressWarnings(log_loss(p, y)), 0))
  say("Log loss, lowest first: ", paste(names(loss), format(loss, digits = 3, trim = TRUE), collapse = ", "))
  for (other in names(loss)[loss < loss[["gp"]]]) {
    apart <- tidy(compare_forecasts(probs[c(other, "gp")], y, reference = "gp", scores = "log_loss"))
    three <- function(x) sprintf("%.3f", x)
    say("The log loss of ", other, " is lower than that of gp by ", three(-apart$difference), " (95 % interval ",
      three(-apart$conf.high), " to ", three(-apart$conf.low), "). ", if (apart$conf.high > 0) "The interval includes 0: this may be chance." else "The interval excludes 0.")
  }
}

rows <- list()
pictures <- character()
draw <- function(file, picture, height = 4) {
  file <- file.path("demo-output", file)
  ggplot2::ggsave(file, picture, width = 6, height = height, dpi = 150)
  pictures <<- c(pictures, file)
}
for (name in names(sets)) {
  set <- sets[[name]]
  cat("\n", set$about, "\n", sep = "")
  fits <- list(
    none = calib_none(set$cal$scores, set$cal$labels),
    temperature = calib_temperature(set$cal$scores, set$cal$labels),
    platt = calib_platt(set$cal$scores, set$cal$labels),
    isotonic = calib_isotonic(set$cal$scores, set$cal$labels),
    beta = calib_beta(set$cal$scores, set$cal$labels),
    bbq = calib_bbq(set$cal$scores, set$cal$labels),
    histogram = calib_histogram(set$cal$scores, set$cal$labels),
    gp = calib_gp(set$cal$scores, set$cal$labels)
  )
  print(fits$gp)
  probs <- lapply(fits, predict, set$test$scores)
  for (method in names(fits)) {
    rows[[paste(name, method)]] <- measure(probs[[method]], set$test$labels, set$type)
  }
  say_seen(probs, set$test$labels, name)
  shown <- c(Uncalibrated = "none", Temperature = "temperature", GP = "gp")
  draw(paste0(name, "-reliability.png"), plot_reliability(stats::setNames(probs[shown],
    names(shown)), set$test$labels, type = set$type))
  draw(paste0(name, "-latent.png"), autoplot(fits$gp))
  if (length(fits$gp$classes) == 2) {
    draw(paste0(name, "-map.png"), plot_map(list(GP = fits$gp, "GP, shared map" = calib_gp(set$cal$scores,
      set$cal$labels, class_effects = "none"), Isotonic = fits$isotonic, Beta = fits$beta)))
  } else if (fits$gp$class_effects == "matrix") {
    draw(paste0(name, "-matrix.png"), autoplot(fits$gp, what = "matrix"), height = 6)
  }
}
draw("rain-isotonic.png", plot_reliability(rain_nyc$prob[!cal], rain_nyc$rain[!cal], type = "event",
  method = "isotonic") + ggplot2::labs(title = "The rain forecast before calibration"))

cat("\nOn the test rows, before (none) and after calibration:\n\n")
table <- data.frame(round(do.call(rbind, rows), 3), check.names = FALSE)
print(table)
cat("\nover: mean confidence when wrong; under: mean doubt when right. ECE and MCE with 15 bins:\n")
cat("letters: confidence in the most likely letter; rain: the probability of rain.\n")
if (any(is.infinite(table$log_loss))) {
  cat("The log loss is infinite where a true class had a probability of exactly 0. Histogram binning and\n")
  cat("isotonic calibration can give such probabilities, and some of the rain forecasts are exactly 0 or 1.\n")
}
cat("\nReliability diagrams, latent maps and a calibration map:\n")
cat(paste0("  ", pictures, "\n"), sep = "")
