# Rscript bench/mlr3.R: runs the mlr3 code of vignettes/tidymodels.Rmd. mlr3 is neither in Debian nor suggested by the package (with
# R 4.2 it needs CRAN's checkmate), so this is done by hand. mlr3calibration is not on CRAN: its class is run on a stand-in of the base
# class with the contract that its help documents (initialize(id, properties, packages, label), .train(), .predict(), .reset()).
library(gpcalib)
if (!requireNamespace("mlr3", quietly = TRUE)) {
  cat("mlr3: skipped, not installed\n")
  quit()
}
lines <- readLines(file.path(c("vignettes", "../vignettes")[dir.exists(c("vignettes", "../vignettes"))][1], "tidymodels.Rmd"))
section <- lines[grep("^## mlr3", lines):length(lines)]
open <- grep("^```\\{r", section)
close <- grep("^```$", section)
chunks <- Map(function(a, b) section[(a + 1):(b - 1)], open, close)
cat("mlr3", format(packageVersion("mlr3")), "\n")
for (e in parse(text = chunks[[1]])) value <- eval(e, globalenv())
print(value)

Calibrator <- R6::R6Class("Calibrator", public = list(
  initialize = function(id, properties, packages, label) stopifnot(is.character(c(id, properties, packages, label))),
  train = function(truth, prob, class_names) {
    private$.reset()
    private$.train(truth, prob, class_names)
    invisible(self)
  },
  predict = function(prob, class_names) private$.predict(prob, class_names)
))
class_code <- chunks[[2]][seq_len(grep("^\\)$", chunks[[2]])[1])]
eval(parse(text = sub("mlr3calibration::Calibrator", "Calibrator", class_code)), globalenv())
order <- rev(colnames(out_of_fold$prob))
for (method in c("gp", "platt", "beta", "isotonic", "histogram", "bbq", "temperature", "vector", "matrix")) {
  probs <- CalibratorGpcalib$new(method)$train(out_of_fold$truth, out_of_fold$prob, order)$predict(raw$prob, order)
  direct <- predict(getExportedValue("gpcalib", paste0("calib_", method))(out_of_fold$prob[, order],
    factor(out_of_fold$truth, order)), raw$prob)
  stopifnot(identical(probs, direct), identical(colnames(probs), order))
  cat(sprintf("  registry class, %-12s log loss %.4f\n", method, log_loss(probs, factor(raw$truth, order), eps = 1e-6)))
}
