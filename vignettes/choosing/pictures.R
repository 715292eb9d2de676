# Afterwards, to keep the package small: pngquant --force --quality 80-100 --ext .png 256 FILES
# Rscript choosing/pictures.R, in vignettes/, after choosing/studies.R: the pictures of choosing.Rmd, which shows this code and
# the files choosing/*.png.

library(gpcalib)
list2env(readRDS("choosing/studies.rds"), environment())
draw <- function(plot, name) {
  suppressMessages(ggplot2::ggsave(file.path("choosing", paste0(name, ".png")), plot, width = 6.5, height = 4, dpi = 96))
}

## ---- study-picture ----
autoplot(study)

## ---- keep-study ----
draw(autoplot(study), "study")

## ---- maps ----
cal <- subset(rain_nyc, part == "calibration")
set.seed(1)
maps <- plot_map(list(
  GP = calib_gp(cal$prob, cal$rain),
  Temperature = calib_temperature(cal$prob, cal$rain),
  Platt = calib_platt(cal$prob, cal$rain),
  Beta = calib_beta(cal$prob, cal$rain),
  Isotonic = calib_isotonic(cal$prob, cal$rain)
))
maps

## ---- keep-maps ----
draw(maps, "maps")
