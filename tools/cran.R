# Rscript tools/cran.R PACKAGE...: install packages from CRAN, into the first library that
# root may write to, or into the user's own.

packages <- commandArgs(TRUE)

repos <- getOption("repos")
if (is.null(repos) || !"CRAN" %in% names(repos) || repos[["CRAN"]] == "@CRAN@") {
  utils::chooseCRANmirror(ind = 1)
}

system_lib <- Filter(function(d) file.access(d, 2) == 0, .libPaths())
build_lib <- normalizePath(file.path(Sys.getenv("BUILD"), "lib"), mustWork = FALSE)
system_lib <- setdiff(normalizePath(system_lib), build_lib)
user_lib <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE)[[1]]
user_lib <- path.expand(c(user_lib[nzchar(user_lib)], "~/R/library")[1])
is_root <- identical(Sys.info()[["effective_user"]], "root")
lib <- if (is_root && length(system_lib)) system_lib[1] else user_lib
dir.create(lib, showWarnings = FALSE, recursive = TRUE)
.libPaths(c(lib, .libPaths()))

cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
cat("* installing from CRAN into ", lib, ": ", toString(packages), "\n", sep = "")
options(timeout = max(600, getOption("timeout")))
# fs, below testthat, then does without a system library if there is cmake.
Sys.setenv(USE_BUNDLED_LIBUV = "1")
utils::install.packages(packages, lib = lib, Ncpus = cores, quiet = TRUE,
                        dependencies = NA)

missing <- packages[!vapply(packages, requireNamespace, NA, quietly = TRUE)]
if (length(missing)) {
  cat("* could not be installed from CRAN: ", toString(missing), "\n", sep = "")
  quit(status = 1)
}
