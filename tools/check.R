# Rscript tools/check.R DIR STATUS: the verdict on the R CMD check that ran in DIR and
# ended with STATUS. Errors, warnings and notes fail, except notes that speak of this
# machine rather than of the package.

args <- commandArgs(TRUE)
log <- file.path(args[1], "gpcalib.Rcheck", "00check.log")
fail <- function(...) {
  cat("* check: FAILED: ", ..., "\n", sep = "")
  quit(status = 1)
}
if (!file.exists(log)) {
  writeLines(readLines(file.path(args[1], "check.out")))
  fail("there is no check log")
}

# Chunks of the log: `* checking ... NOTE` and the lines below it. Results also stand on
# lines of their own, indented, below the check they belong to.
lines <- readLines(log, encoding = "UTF-8")
chunks <- split(lines, cumsum(grepl("^\\* ", lines)))
result <- function(chunk) {
  words <- c("ERROR", "WARNING", "NOTE")
  hit <- vapply(words, function(w) {
    any(grepl(paste0("(\\.\\.\\. ?(\\[[^]]*\\] ?)?|^ *)", w, "S?$"), chunk))
  }, NA)
  c(words[hit], "OK")[1]
}
results <- vapply(chunks, result, "")

# Flags that come with R's own settings are not ours.
r_config <- function(what) {
  system2(file.path(R.home("bin"), "R"), c("CMD", "config", what), stdout = TRUE)
}
r_flags <- NULL

# Is a note about the machine?
harmless <- function(chunk) {
  head <- chunk[1]
  body <- trimws(chunk[-1])
  body <- body[nzchar(body)]
  only <- function(...) all(grepl(paste(c(...), collapse = "|"), body))
  if (grepl("checking CRAN incoming feasibility", head)) {
    only("^Maintainer:", "^New submission$",
         "^Found the following \\(possibly\\) invalid URLs:$", "^URL: ", "^From: ",
         "^Status: Error$",
         "^Message: .*(resolve host|connect|timed? ?out|network|SSL|certificate)",
         "^(libcurl|Could not resolve|Failed to connect|Connection )")
  } else if (grepl("checking package dependencies", head)) {
    only("^Packages? suggested but not available for checking:")
  } else if (grepl("checking Rd cross-references", head)) {
    only("^Packages? unavailable to check Rd xrefs:")
  } else if (grepl("checking for future file timestamps", head)) {
    TRUE
  } else if (grepl("checking HTML version of manual", head)) {
    only("^Skipping checking (HTML validation|math rendering)")
  } else if (grepl("checking compilation flags used", head)) {
    flags <- unlist(regmatches(body, gregexpr("-[^\u2018\u2019'\" ]+", body)))
    if (is.null(r_flags)) {
      all <- unlist(lapply(c("CPPFLAGS", "CFLAGS", "LDFLAGS", "FFLAGS"), r_config))
      r_flags <<- unlist(strsplit(all, " +"))
    }
    flags <- flags[grepl("^-[A-Za-z]", flags) & flags != "-portable"]
    length(flags) > 0 && all(flags %in% r_flags)
  } else {
    FALSE
  }
}

bad <- results %in% c("ERROR", "WARNING")
notes <- which(results == "NOTE")
excused <- vapply(chunks[notes], harmless, NA)
bad[notes[!excused]] <- TRUE

for (i in which(bad)) writeLines(chunks[[i]])
for (i in notes[excused]) {
  what <- sub("^\\* (checking )?", "", sub(" *\\.\\.\\..*$", "", chunks[[i]][1]))
  cat("* check: a note about this machine, let pass: ", what, "\n", sep = "")
}

# The log's own summary has to agree with what was found in it.
status <- sub("^Status: ", "", grep("^Status: ", lines, value = TRUE))
if (length(status) != 1) {
  writeLines(utils::tail(lines, 30))
  fail("the check did not come to its end")
}
said <- vapply(c("ERROR", "WARNING", "NOTE"), function(w) {
  n <- regmatches(status, regexpr(paste0("[0-9]+(?= ", w, ")"), status, perl = TRUE))
  if (length(n)) as.integer(n) else 0L
}, 0L)
cat("* check: status ", status, "\n", sep = "")
if (any(bad)) {
  outputs <- list.files(file.path(args[1], "gpcalib.Rcheck"), "\\.(fail|Rout\\.fail)$",
                        recursive = TRUE, full.names = TRUE)
  install <- file.path(args[1], "gpcalib.Rcheck", "00install.out")
  if (any(results == "ERROR") && file.exists(install) && !length(outputs) &&
      any(grepl("can be installed", unlist(chunks[bad])))) outputs <- install
  for (f in outputs) writeLines(c(paste0("---- ", basename(f)), utils::tail(readLines(f), 60)))
  fail(sum(bad), " of its checks ", if (sum(bad) == 1) "needs" else "need", " attention")
}
if (sum(said) > length(notes) || said[["ERROR"]] + said[["WARNING"]] > 0) {
  fail("its log lists more than could be found there")
}
if (args[2] != "0") fail("R CMD check ended with status ", args[2])
cat("* check: passed\n")
