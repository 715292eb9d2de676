# Rscript bench/stress/coverage.R: lines of R/ that the R tests reach (covr), and lines of the C core and the .Call
# layer that they reach (gcov through covr). Prints what is not reached.
Sys.setenv(NOT_CRAN = "true", IN_PKGDOWN = "true")
copy <- file.path(tempfile("coverage"), "gpcalib") # covr compiles where the sources are
dir.create(copy, recursive = TRUE)
file.copy(c("DESCRIPTION", "NAMESPACE", "R", "src", "data", "LICENSE", "tests", "inst"), copy, recursive = TRUE)
unlink(file.path(copy, c("tests/c", "tests/fuzz")), recursive = TRUE)
cover <- covr::package_coverage(copy, type = "tests", quiet = TRUE, clean = TRUE)
table <- covr::tally_coverage(cover, by = "line")
kind <- ifelse(startsWith(table$filename, "R/"), "R", "C")
share <- tapply(table$value > 0, kind, mean)
print(round(100 * share, 2))
missed <- table[table$value == 0, ]
for (file in unique(missed$filename)) {
  cat(file, ":", paste(unique(missed$line[missed$filename == file]), collapse = " "), "\n")
}
quit(status = any(share < 0.95))
