# Rscript bench/stress/builds.R: the package built with -O0, -O2 and -O3 -march=native, and with OpenBLAS in
# place of the reference BLAS (preloaded from Debian's package, which is unpacked, not installed), gives the
# same answers within 1e-8, those of the fitted process within 2e-4. Builds go to $BUILD/stress.
suppressMessages(library(gpcalib))
build <- file.path(Sys.getenv("BUILD", ".build"), "stress")
dir.create(build, FALSE, TRUE)
build <- normalizePath(build)
if (length(out <- commandArgs(TRUE)) == 1) { # a child: compute and save
  source("bench/stress/_calls.R")
  saveRDS(list(answers = lapply(all_calls(), function(f) suppressWarnings(f())), blas = extSoftVersion()[["BLAS"]],
    from = normalizePath(getLoadedDLLs()[["gpcalib"]][["path"]])), out)
  quit()
}
run <- function(name, lib, env = character()) {
  file <- file.path(build, paste0(name, ".rds"))
  unlink(file)
  status <- system2("Rscript", c("bench/stress/builds.R", file), env = c(paste0("R_LIBS=", lib), env))
  if (status != 0) stop("the run of ", name, " failed")
  result <- readRDS(file)
  # that this is the build which was asked for
  stopifnot(startsWith(result$from, normalizePath(lib)))
  result
}
install <- function(flags) {
  name <- gsub("[^A-Za-z0-9]", "", flags)
  lib <- file.path(build, name)
  dir.create(lib, FALSE)
  makevars <- file.path(build, paste0(name, ".mk"))
  writeLines(paste("CFLAGS =", flags, "-g"), makevars)
  source <- file.path(build, paste0("src", name))
  unlink(source, recursive = TRUE)
  dir.create(source)
  file.copy(c("DESCRIPTION", "NAMESPACE", "R", "src", "data", "LICENSE"), source, recursive = TRUE)
  unlink(Sys.glob(file.path(source, "src", c("*.o", "*.so"))))
  log <- system2("R", c("CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", lib), source),
    env = paste0("R_MAKEVARS_USER=", makevars), stdout = TRUE, stderr = TRUE)
  if (!is.null(attr(log, "status"))) stop(paste(log, collapse = "\n"))
  run(name, lib)
}
numbers <- function(x) suppressWarnings(as.numeric(unlist(rapply(list(x), function(v) if (is.numeric(v)) as.vector(v) else NULL,
  how = "unlist"))))
bad <- 0
compare <- function(name, x, base) {
  off <- vapply(names(base$answers), function(at) {
    a <- numbers(x$answers[[at]])
    b <- numbers(base$answers[[at]])
    if (length(a) != length(b)) return(Inf)
    max(0, abs(a - b) / pmax(1, abs(b)), na.rm = TRUE)
  }, 0)
  # The process is found by an optimiser that stops within 1e-5 nats, wherever rounding leads it.
  process <- grepl("^(gp|picture)", names(off))
  bad <<- bad + sum(off > ifelse(process, 2e-4, 1e-8))
  say <- function(off) paste0(sprintf("%.1e", max(off)), " (", names(which.max(off)), ")")
  cat(sprintf("%-20s %d answers, furthest of the process %s, of the others %s\n", name, length(off), say(off[process]),
    say(off[!process])))
}
base <- install("-O2")
compare("-O0", install("-O0"), base)
compare("-O3 -march=native", install("-O3 -march=native"), base)
deb <- file.path(build, "blas")
openblas <- Sys.glob(file.path(deb, "usr/lib/*/openblas-serial/libopenblas*.so*"))
if (!length(openblas)) {
  dir.create(deb, FALSE)
  system(paste("cd", deb, "&& apt-get download -q libopenblas0-serial > /dev/null 2>&1 && dpkg -x libopenblas0-serial*.deb ."))
  openblas <- Sys.glob(file.path(deb, "usr/lib/*/openblas-serial/libopenblas*.so*"))
}
if (length(openblas)) {
  folder <- dirname(openblas[1])
  blas <- run("openblas", file.path(build, "O2"),
    paste0("LD_PRELOAD=", paste(file.path(folder, c("libblas.so.3", "liblapack.so.3")), collapse = ":")))
  cat("BLAS of the base run:", base$blas, "; of the other:", if (nzchar(blas$blas)) blas$blas else "preloaded", "\n")
  compare("OpenBLAS", blas, base)
} else {
  cat("OpenBLAS: cannot be had here, not compared\n")
}
cat(bad, "wrong\n")
quit(status = bad > 0)
