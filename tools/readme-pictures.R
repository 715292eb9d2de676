# Afterwards, to keep the package small: pngquant --force --quality 80-100 --ext .png 256 FILES
# Rscript tools/readme-pictures.R, from the top folder and with the package installed: draws the two
# pictures of README.md into man/figures/, and writes what its example prints.

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

# What the example prints: the lines that begin with #> are written anew.
lines <- readLines("README.md")
from <- grep("^```r$", lines)[1]
to <- from + grep("^```$", lines[-seq_len(from)])[1]
code <- lines[(from + 1):(to - 1)]
code <- code[!startsWith(code, "#>")]
parsed <- parse(text = code, keep.source = TRUE)
place <- vapply(attr(parsed, "srcref"), function(ref) ref[3], 0L) # its last line
printed <- vector("list", length(code))
for (i in seq_along(parsed)) {
  seen <- withVisible(eval(parsed[[i]], globalenv()))
  if (seen$visible && !inherits(seen$value, "ggplot")) printed[[place[i]]] <- paste("#>", capture.output(print(seen$value)))
}
writeLines(c(lines[seq_len(from)], unlist(Map(c, code, printed), use.names = FALSE), lines[to:length(lines)]), "README.md")
