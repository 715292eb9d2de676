# Rscript bench/published.R: published results on real data, reproduced. DenseNet-40 on
# CIFAR-10 (Kull et al., 2019, NN_calibration): fitted on 5000 rows, scored on 10,000. The data
# are not part of the package; GPCALIB_DATA says where they are.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
files <- file.path(folder, paste0("cifar10_densenet40_", c("val", "test"), ".rds"))
if (!all(file.exists(files))) {
  cat("published results: skipped, there is no", files[!file.exists(files)][1],
    "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
val <- readRDS(files[1])
test <- readRDS(files[2])

none <- calib_none(val$scores, val$labels)
fit <- calib_temperature(val$scores, val$labels)
before <- predict(none, test$scores)
after <- predict(fit, test$scores)
table <- data.frame(
  what = c("ECE, 15 bins, uncalibrated", "log loss, uncalibrated", "temperature",
    "ECE, 15 bins, temperature scaling", "log loss, temperature scaling"),
  published = c("0.0550", "0.428207", "2.8826", "0.00946", "0.225086"),
  ours = c(
    sprintf("%.4f", ece(before, test$labels, bins = 15)),
    sprintf("%.6f", log_loss(before, test$labels, eps = 1e-15)),
    sprintf("%.4f", coef(fit)),
    sprintf("%.5f", ece(after, test$labels, bins = 15)),
    sprintf("%.6f", log_loss(after, test$labels, eps = 1e-15))
  )
)
table$same <- ifelse(table$published == table$ours, "yes", "NO")
write_report("published", "Published results", c(
  "DenseNet-40 on CIFAR-10, fitted on the validation rows, scored on the test rows; probabilities",
  "clipped at 1e-15 in the log loss. Agreement is asked for in every digit that was published.", "",
  markdown_table(table)
))
if (any(table$same != "yes")) quit(status = 1)
