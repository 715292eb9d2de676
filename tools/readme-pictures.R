# Rscript tools/readme-pictures.R, from the top folder and with the package installed: draws the two
# pictures of README.md into man/figures/.

library(gpcalib)
dir.create("man/figures", showWarnings = FALSE, recursive = TRUE)
cal <- letters_nn$cal
test <- letters_nn$test
fits <- list(
  Uncalibrated = calib_none(cal$scores, cal$labels),
  Temperature = calib_temperature(cal$scores, cal$labels),
  GP = calib_gp(cal$scores, cal$labels)
)
save_picture <- function(name, picture) {
  ggplot2::ggsave(file.path("man/figures", name), picture, width = 6, height = 3.2, dpi = 110)
}
save_picture("reliability.png", plot_reliability(lapply(fits, predict, test$scores), test$labels))
save_picture("latent.png", autoplot(fits$GP))
