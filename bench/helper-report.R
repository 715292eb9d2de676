# The report of a script in bench/: tables as markdown, printed and kept.

markdown_table <- function(table) {
  cells <- vapply(table, function(x) if (is.numeric(x)) format(x) else as.character(x),
    character(nrow(table)))
  cells <- matrix(cells, nrow(table))
  c(paste0("| ", paste(names(table), collapse = " | "), " |"),
    paste0("|", strrep("---|", ncol(table))),
    apply(cells, 1, function(row) paste0("| ", paste(trimws(row), collapse = " | "), " |")))
}

# Print the lines and keep them, with the date, in bench/results/<name>.md.
write_report <- function(name, title, lines) {
  processor <- tryCatch(
    sub(".*: ", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1]),
    error = function(e) Sys.info()[["machine"]], warning = function(w) Sys.info()[["machine"]])
  head <- c(paste("#", title), "", paste0(format(Sys.Date()), ", gpcalib ",
    utils::packageVersion("gpcalib"), ", ", R.version.string, ", ", processor, "."), "")
  dir.create("bench/results", showWarnings = FALSE, recursive = TRUE)
  file <- file.path("bench/results", paste0(name, ".md"))
  writeLines(c(head, lines), file)
  writeLines(c(lines, "", paste("Kept in", file)))
}
