# What the scripts in bench/ share: the units of unit.c, timing in turns, and the report (helper-report.R).

source("bench/helper-report.R")

# The units (unit.c, with R's usual flags) and our kernel (kernel.c, with the package's), compiled
# into .build/ or a temporary folder.
compile <- function(files, name, makevars = NULL) {
  build <- Sys.getenv("BUILD", "")
  dir <- file.path(if (nzchar(build)) build else tempdir(), "bench", name)
  unlink(dir, recursive = TRUE)
  dir.create(dir, recursive = TRUE)
  file.copy(files, dir)
  if (!is.null(makevars)) file.copy(makevars, file.path(dir, "Makevars"))
  old <- setwd(dir)
  on.exit(setwd(old))
  object <- paste0(name, .Platform$dynlib.ext)
  sources <- grep("\\.c$", basename(files), value = TRUE)
  out <- system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "-o", object, sources),
    stdout = TRUE, stderr = TRUE)
  if (!file.exists(object)) stop(paste(out, collapse = "\n"))
  dll <- dyn.load(object)
  function(symbol) getNativeSymbolInfo(symbol, dll)
}

load_units <- function() {
  unit <- compile("bench/unit.c", "unit")
  core <- c("src/softmax.c", "src/gpc.c", list.files("src", "\\.h$", full.names = TRUE))
  kernel <- compile(c("bench/kernel.c", core), "kernel", "src/Makevars")
  list(softmax = unit("unit_softmax"), row_max = unit("unit_row_max"),
    search = unit("unit_search"), clock = unit("unit_clock"), kernel = kernel("kernel_softmax"))
}

units <- load_units()
now <- function() .Call(units$clock)

# One softmax of z, and one pass for the row maxima of z, as functions to be timed.
one_softmax <- function(z) {
  top <- numeric(nrow(z))
  sum <- numeric(nrow(z))
  p <- z + 0
  function() .Call(units$softmax, z, top, sum, p)
}

# Our kernel on z.
our_softmax <- function(z, threads = 1L) {
  p <- z + 0
  function() .Call(units$kernel, z, threads, p)
}

one_row_max <- function(z) {
  top <- numeric(nrow(z))
  arg <- integer(nrow(z))
  function() .Call(units$row_max, z, top, arg)
}

# One search pass of z over the maps of a fit.
one_search <- function(z, fit) function() .Call(units$search, z, fit$x, fit$start)

# Seconds of each function in turn, `rounds` times: a matrix with a column per function. The
# machine may be busy with other things; what is timed in turns is disturbed alike.
time_in_turns <- function(jobs, rounds) {
  for (job in jobs) job()
  seconds <- matrix(NA_real_, rounds, length(jobs), dimnames = list(NULL, names(jobs)))
  for (round in seq_len(rounds)) {
    for (name in names(jobs)) {
      gc(FALSE)
      start <- now()
      jobs[[name]]()
      seconds[round, name] <- now() - start
    }
  }
  seconds
}

# Packages to compare with, which the package itself does not need: those that are installed, or can
# be installed from CRAN into .build/peers (or a temporary folder). Returns the names of those there
# are, and says which are not.
find_peers <- function(packages) {
  build <- Sys.getenv("BUILD", "")
  lib <- file.path(if (nzchar(build)) build else tempdir(), "peers")
  dir.create(lib, showWarnings = FALSE, recursive = TRUE)
  .libPaths(c(.libPaths(), lib))
  there <- function(names) vapply(names, requireNamespace, NA, quietly = TRUE)
  wanted <- packages[!there(packages)]
  if (length(wanted)) {
    cat("bench: installing", toString(wanted), "from CRAN\n")
    repos <- getOption("repos")
    if (is.null(repos) || !"CRAN" %in% names(repos) || repos[["CRAN"]] == "@CRAN@") {
      utils::chooseCRANmirror(ind = 1)
    }
    for (name in wanted) {
      try(suppressWarnings(utils::install.packages(name, lib = lib, quiet = TRUE)), silent = TRUE)
    }
  }
  found <- packages[there(packages)]
  for (name in setdiff(packages, found)) {
    cat("bench:", name, "cannot be installed and is left out\n")
  }
  found
}
