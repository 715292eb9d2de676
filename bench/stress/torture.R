# Rscript bench/stress/torture.R [STEP [NAMES]]: a garbage collection at every STEP-th allocation (default 1: each)
# inside every .Call, on small data; the answers must be those without. NAMES, a regular expression, picks calls of
# _calls.R; entries that are not reached are then named, but no failure. An object that the C code
# forgets to protect is then overwritten or freed for sure. The package's functions are copied into
# an environment in which .Call() turns the torture on, so that R's own code runs undisturbed.
suppressMessages(library(gpcalib))
step <- as.integer(c(commandArgs(TRUE), 1)[1])
picked <- commandArgs(TRUE)[2]
space <- asNamespace("gpcalib")
copy <- new.env(parent = space)
for (name in ls(space, all.names = TRUE)) {
  object <- get(name, space)
  if (is.function(object) && identical(environment(object), space)) {
    environment(object) <- copy
    assign(name, object, copy)
  }
}
torture <- FALSE
entries <- character()
calls <- 0
copy$.Call <- function(.NAME, ...) {
  entries <<- union(entries, .NAME$name)
  calls <<- calls + 1
  args <- list(...)
  if (torture) {
    gctorture2(step)
    on.exit(gctorture2(0))
  }
  do.call(base::.Call, c(list(.NAME), args), quote = TRUE)
}
attach(mget(intersect(c(getNamespaceExports("gpcalib"), "gp_bound"), ls(copy)), copy), name = "copies",
  warn.conflicts = FALSE)
.Call <- copy$.Call
predict <- function(object, ...) {
  method <- if (inherits(object, "calib_gp")) copy$predict.calib_gp else copy$predict.calibrator
  method(object, ...)
}
update <- function(object, ...) copy$update.calibrator(object, ...)
autoplot <- function(object, ...) copy$plot_latent(object, ...)
source("bench/stress/_calls.R")
work <- all_calls()
if (!is.na(picked)) work <- work[grepl(picked, names(work))]
bad <- 0
for (name in names(work)) {
  torture <- FALSE
  plain <- work[[name]]()
  torture <- TRUE
  tortured <- work[[name]]()
  same <- identical(plain, tortured)
  if (!same) cat("differs under torture:", name, "\n")
  bad <- bad + !same
}
known <- getDLLRegisteredRoutines("gpcalib")$.Call
missed <- setdiff(vapply(known, `[[`, "", "name"), entries)
cat(calls, "calls of", length(entries), "of", length(known), ".Call entries under gctorture2(", step, "):", bad, "differ;",
  if (length(missed)) paste("not reached:", paste(missed, collapse = ", ")) else "all reached", "\n")
quit(status = bad > 0 || is.na(picked) && length(missed) > 0 || !length(work))
