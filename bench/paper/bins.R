# bench/paper/bins.R: the calibration error against the number of bins (the paper's section S3.1),
# under both estimators, beside what a calibrated forecast would show with the same confidences.

source("bench/paper/_helper.R")

bins <- c(2, 5, 10, 15, 25, 50, 100, 200, 500, 1000)
sets <- read_sets(c("cifar100_wrn16_4", "mnist_adaboost", "mnist_randomforest", "kitti2_adaboost"))

# Labels drawn from the probabilities: the error that is left is the bias of the estimator.
null_error <- function(bins, draws = 20) {
  force(bins)
  function(probs, labels) {
    codes <- replicate(draws, max.col(log(probs) - log(-log(matrix(runif(length(probs)),
      nrow(probs)))), ties.method = "first"))
    mean(apply(codes, 2, function(code) ece(unname(probs), factor(code, seq_len(ncol(probs))), bins = bins, type = "confidence")))
  }
}
metrics <- c(
  lapply(bins, function(b) list("ece", bins = b, type = "confidence")),
  lapply(bins, function(b) list("ece", bins = b, type = "confidence", estimator = "midpoint")),
  lapply(bins, null_error)
)
kinds <- c("mean", "midpoint", "calibrated")
names(metrics) <- paste(rep(kinds, each = length(bins)), bins)

set.seed(1)
study <- calib_study(lapply(sets, `[[`, "scores"), lapply(sets, `[[`, "labels"), n_cal = 1000, splits = 5,
  methods = list(uncalibrated = "none", temperature = "temperature", GP = "gp"), metrics = metrics)
table <- as.data.frame(summary(study))
table$kind <- factor(sub(" .*", "", table$metric), levels = kinds)
table$bins <- as.integer(sub(".* ", "", table$metric))
keep_table(data.frame(table[c("data", "method", "kind", "bins")],
  ece = signif(table$mean, 4), sd = signif(table$sd, 3)), "bins")

labels <- c(mean = "mean confidence of a bin", midpoint = "midpoint of a bin",
  calibrated = "if the forecast were calibrated")
plot <- ggplot(table, aes(bins, mean, colour = method, linetype = kind)) +
  geom_line(linewidth = 0.6) +
  geom_vline(xintercept = 100, colour = "grey80", linewidth = 0.3) +
  facet_wrap(vars(data), scales = "free_y") +
  scale_x_log10(breaks = c(2, 5, 15, 50, 100, 200, 500, 1000)) + scale_y_log10() +
  scale_colour_manual(values = method_colours, name = NULL) +
  scale_linetype_manual(values = c("solid", "42", "12"), labels = labels, name = NULL) +
  labs(x = "number of bins", y = expression(ECE[1]), title = "The calibration error against the number of bins",
    caption = "Means over 5 splits with 1000 calibration rows. Grey line: the paper's 100 bins.") +
  plain_theme() + theme(legend.position = "bottom", legend.box = "vertical", legend.margin = margin(),
    panel.grid.minor = element_blank())
keep_picture(plot, "bins", 8, 6.4)

chosen <- table[table$bins %in% c(15, 100, 500), ]
wide <- unique(chosen[c("data", "method")])
for (b in c(15, 100, 500)) {
  cell <- function(kind) {
    rows <- chosen[chosen$bins == b & chosen$kind == kind, ]
    rows$mean[match(paste(wide$data, wide$method), paste(rows$data, rows$method))]
  }
  wide[[paste(b, "bins")]] <- sprintf("%.4f / %.4f (%.4f)", cell("mean"), cell("midpoint"), cell("calibrated"))
}
write_report("paper/bins", "The calibration error against the number of bins", c(
  "ECE_1 with the mean confidence of a bin / with its midpoint, and in parentheses what the mean",
  "estimator gives for a calibrated forecast with these probabilities (labels redrawn, 20 times): the",
  "estimate cannot be read without it once bins are many. Means over 5 splits, 1000 rows calibrate.",
  "Where the picture shows no line for temperature scaling, it lies under the GP's.", "",
  markdown_table(wide), "", "![](bins.png)"
))
