# Snapshots of pictures. Their words and shapes must not change at all, their coordinates by no more than a twentieth of a
# pixel: the linear algebra rounds differently from machine to machine.

expect_picture <- function(title, plot) {
  name <- paste0(gsub(" ", "-", title), ".svg")
  announce_snapshot_file(name = name)
  file <- file.path(picture_dir(), name)
  vdiffr::write_svg(plot, file, title)
  expect_snapshot_file(file, name = name, compare = same_svg)
}

picture_dir <- function() {
  dir <- tempfile("picture")
  dir.create(dir)
  dir
}

same_svg <- function(old, new, within = 0.05) {
  read <- function(file) paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  # Coordinates have two decimals; other numbers are words.
  number <- "-?[0-9]+\\.[0-9]{2}(?![0-9])"
  parts <- function(text) {
    at <- gregexpr(number, text, perl = TRUE)
    list(words = gsub(number, "#", text, perl = TRUE), numbers = as.numeric(regmatches(text, at)[[1]]))
  }
  old <- parts(read(old))
  new <- parts(read(new))
  identical(old$words, new$words) && all(abs(old$numbers - new$numbers) <= within)
}
