# Rscript tools/sync.R: copy the package (whatever .Rbuildignore leaves) to .build/pkg.
# Only files whose content changed are copied, so that the objects compiled there stay
# good. Exit status 0: .build/lib holds this very package already; 10: it has to be
# installed.

build <- Sys.getenv("BUILD")
to <- file.path(build, "pkg")
is_object <- function(f) grepl("^src/[^/]*\\.(o|so|dll|d)$", f)

# Every file below the tree that no pattern excludes, by itself or by a folder it is in.
patterns <- readLines(".Rbuildignore")
patterns <- patterns[nzchar(patterns)]
ignored <- function(f) {
  hit <- logical(length(f))
  for (p in patterns) hit <- hit | grepl(p, f, perl = TRUE, ignore.case = TRUE)
  hit
}
walk <- function(dir) {
  entries <- list.files(dir, all.files = TRUE, no.. = TRUE)
  if (dir != ".") entries <- file.path(dir, entries)
  entries <- entries[!ignored(entries)]
  is_dir <- dir.exists(entries)
  c(entries[!is_dir], unlist(lapply(entries[is_dir], walk)))
}
files <- sort(walk("."), method = "radix")
files <- files[!is_object(files)]

# Copy what differs, remove what is gone.
sums <- tools::md5sum(files)
copies <- tools::md5sum(file.path(to, files))
changed <- files[is.na(copies) | copies != sums]
there <- list.files(to, recursive = TRUE, all.files = TRUE, no.. = TRUE)
gone <- setdiff(there[!is_object(there)], files)
unlink(file.path(to, gone))
for (d in unique(dirname(file.path(to, files)))) {
  dir.create(d, recursive = TRUE, showWarnings = FALSE)
}
ok <- file.copy(changed, file.path(to, changed), overwrite = TRUE)
if (!all(ok)) stop("could not copy ", toString(changed[!ok]))

# Objects know their .c file only: a changed header, another R or other settings, or a
# file that went, and all are made anew.
settings_file <- file.path(build, "compiled-with")
settings <- c(R.version.string, R.version$platform,
              Sys.getenv(c("R_MAKEVARS_USER", "CFLAGS", "PKG_CFLAGS")))
same <- file.exists(settings_file) && identical(readLines(settings_file), unname(settings))
touched <- c(changed, gone)
if (!same || any(grepl("^src/.*(\\.h|Makevars[^/]*)$", touched)) ||
    any(grepl("^src/", gone))) {
  unlink(file.path(to, there[is_object(there)]))
  writeLines(settings, settings_file)
}

# The stamp: the sums of all that is installed, written by tools/build.sh afterwards.
installed <- grepl("^((R|src|data|inst|man)/|NAMESPACE$|DESCRIPTION$)", files)
stamp <- c(R.version.string, paste(sums[installed], files[installed]))
writeLines(stamp, file.path(build, "stamp.new"))
old <- file.path(build, "stamp")
current <- file.exists(old) && identical(readLines(old), stamp) &&
  file.exists(file.path(build, "lib", "gpcalib", "DESCRIPTION"))
quit(status = if (current) 0 else 10)
