# Rscript bench/gp-speed.R: the speed and memory of the latent Gaussian process against the
# targets, in units of unit.c's softmax, timed in turns in one run. GPCALIB_BENCH=quick leaves out
# what takes minutes (the largest sizes, most rounds). Targets are for class_effects = "none" without averaging; the
# default, which adds effects of the classes, is timed beside. With GPCALIB_DATA the real sets are timed
# as well (see bench/gp-data.R), beside mgcv::gam() where mgcv is installed.

library(gpcalib)
source("bench/helper.R")
set.seed(1)
quick <- Sys.getenv("GPCALIB_BENCH") == "quick"
rounds <- function(n) if (quick) 2 else n

# Logits that are too large by a factor of 1.7.
logits <- function(n, k) matrix(rnorm(n * k, sd = 3), n, k)
drawn <- function(z) { # labels from softmax(z / 1.7), block by block to spare memory
  unlist(lapply(split(seq_len(nrow(z)), (seq_len(nrow(z)) - 1) %/% 1000), function(rows) {
    part <- z[rows, , drop = FALSE] / 1.7
    max.col(part - log(-log(matrix(runif(length(part)), nrow(part)))))
  }), use.names = FALSE)
}
two <- 2
shared <- function(z, y, ...) calib_gp(z, y, class_effects = "none", integrate = FALSE, ...)
# A map with a bend: what is true stands far out.
bent <- function(n, k) {
  z <- matrix(rnorm(n * k, sd = 1.5), n)
  y <- sample.int(k, n, TRUE)
  z[cbind(seq_len(n), y)] <- z[cbind(seq_len(n), y)] + rgamma(n, 4, .4) * 1.3
  list(z = z, y = y)
}

# Fits ----------------------------------------------------------------------------------------

z <- logits(1000, 1000)
y <- drawn(z)
fit <- shared(z, y)
passes <- fit$passes
small <- time_in_turns(list(unit = one_softmax(z), fit = function() shared(z, y),
  fit2 = function() shared(z, y, threads = two), default = function() calib_gp(z, y)), rounds(25))

wide_z <- logits(1000, 8000)
wide_y <- drawn(wide_z)
wide_passes <- shared(wide_z, wide_y)$passes
wide <- time_in_turns(list(unit = one_softmax(wide_z), fit = function() shared(wide_z, wide_y),
  default = function() calib_gp(wide_z, wide_y)), rounds(9))
rm(wide_z)

# The same with a bent map.
d <- bent(1000, 1000)
bent_fit <- shared(d$z, d$y)
bent_small <- time_in_turns(list(unit = one_softmax(d$z), fit = function() shared(d$z, d$y),
  default = function() calib_gp(d$z, d$y)), rounds(25))
d <- bent(1000, 8000)
bent_wide <- time_in_turns(list(unit = one_softmax(d$z), fit = function() shared(d$z, d$y),
  default = function() calib_gp(d$z, d$y)), rounds(9))
d <- bent(1000, 10)
ten <- time_in_turns(list(temperature = function() calib_temperature(d$z, d$y),
  fit = function() shared(d$z, d$y), default = function() calib_gp(d$z, d$y)), rounds(25))
rm(d)

# 1000 rows of every set, in turns with a gam on 1000 rows of imdb.
data_dir <- Sys.getenv("GPCALIB_DATA", "../shared/data")
set_files <- setdiff(list.files(data_dir, "[.]rds$", full.names = TRUE),
  file.path(data_dir, "kitti_features.rds"))
set_times <- NULL
if (length(set_files) && requireNamespace("mgcv", quietly = TRUE)) {
  rows_of <- function(file) {
    set.seed(1)
    d <- readRDS(file)
    z <- as.matrix(d$scores)
    rows <- sample(nrow(z), min(1000, nrow(z) %/% 2))
    list(z = z[rows, , drop = FALSE], y = as.integer(d$labels)[rows])
  }
  imdb <- rows_of(file.path(data_dir, "imdb.rds"))
  gam_data <- data.frame(y = imdb$y - 1, x = stats::qlogis(pmin(pmax(imdb$z[, ncol(imdb$z)], 1e-8), 1 - 1e-8)))
  s <- mgcv::s
  gam <- function() mgcv::gam(y ~ s(x), stats::binomial, gam_data, method = "REML")
  set_times <- do.call(rbind, lapply(set_files, function(file) {
    d <- rows_of(file)
    y <- factor(d$y, levels = seq_len(max(2, ncol(d$z))))
    seconds <- time_in_turns(list(gam = gam,
      fit = function() suppressWarnings(shared(d$z, y)),
      default = function() suppressWarnings(calib_gp(d$z, y))), rounds(3))
    middle <- apply(seconds, 2, stats::median)
    data.frame(set = sub("[.]rds$", "", basename(file)), classes = ncol(d$z),
      fit = middle[["fit"]] / middle[["gam"]], default = middle[["default"]] / middle[["gam"]],
      ms = 1e3 * middle[["fit"]])
  }))
}

# Predictions ---------------------------------------------------------------------------------

z <- logits(10000, 1000)
large <- time_in_turns(list(unit = one_softmax(z), delta = function() predict(fit, z),
  delta2 = function() predict(fit, z, threads = 2)), rounds(9))
mc <- time_in_turns(list(unit = one_softmax(z),
  mc = function() predict(fit, z, approx = "mc", n_draws = 100),
  mc2 = function() predict(fit, z, approx = "mc", n_draws = 100, threads = 2)), rounds(3))
z <- bent(10000, 1000)$z
bent_large <- time_in_turns(list(unit = one_softmax(z), delta = function() predict(bent_fit, z)), rounds(9))
same <- identical(predict(fit, z[1:2000, ]), predict(fit, z[1:2000, ], threads = 2)) &&
  identical(shared(z[1:1000, ], y)[c("elbo", "q_mean", "q_cov")],
    shared(z[1:1000, ], y, threads = two)[c("elbo", "q_mean", "q_cov")])
rm(z)

# Growth --------------------------------------------------------------------------------------

# Seconds of a fit as N grows, the smallest of a few, with the passes taken.
grow <- function(sizes, k) {
  do.call(rbind, lapply(sizes, function(n) {
    z <- logits(n, k)
    y <- drawn(z)
    times <- if (n * k > 1e7) 2 else 4
    seconds <- vapply(seq_len(times), function(i) {
      gc(FALSE)
      start <- now()
      passes <<- shared(z, y)$passes
      now() - start
    }, 0)
    out <- data.frame(n = n, k = k, seconds = min(seconds), passes = passes)
    cat(n, "x", k, ":", format(out$seconds, digits = 3), "s,", passes, "passes\n")
    out
  }))
}
fit_passes <- passes
tall <- grow(c(2000, 6000, 20000, 60000, if (!quick) 200000), 10)
broad <- grow(c(1000, 3000, 10000, if (!quick) c(20000, 50000)), 1000)
slope <- function(growth) stats::coef(stats::lm(log(seconds) ~ log(n), growth))[[2]]

# Memory --------------------------------------------------------------------------------------

# Peak memory of a fit beyond what is there before it, in units of the scores, in a process of
# its own (Linux: VmHWM, set back just before the fit).
peak <- function(n, k) {
  z <- logits(n, k)
  data <- tempfile(fileext = ".rds")
  saveRDS(list(z = z, y = drawn(z)), data, compress = FALSE)
  script <- tempfile(fileext = ".R")
  writeLines(c(
    "library(gpcalib)",
    sprintf("data <- readRDS(%s)", deparse(data)),
    "warm <- calib_gp(data$z[1:50, ], rep_len(seq_len(ncol(data$z)), 50))",
    "status <- function(field) {",
    "  line <- grep(field, readLines('/proc/self/status'), value = TRUE)",
    "  1024 * as.numeric(gsub('[^0-9]', '', line))",
    "}",
    "invisible(gc())",
    "writeLines('5', '/proc/self/clear_refs')",
    "before <- status('VmRSS')",
    "fit <- calib_gp(data$z, data$y, class_effects = 'none', integrate = FALSE)",
    "cat((status('VmHWM') - before) / (8 * length(data$z)))"
  ), script)
  on.exit(unlink(c(data, script)))
  out <- tryCatch(system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE,
    stderr = FALSE), error = function(e) "", warning = function(w) "")
  suppressWarnings(as.numeric(utils::tail(out, 1)))
}
memory <- rbind(data.frame(n = 20000, k = 200, target = 2), data.frame(n = 200000, k = 2, target = 2),
  data.frame(n = 20000, k = 2, target = NA))
memory$ratio <- mapply(function(n, k) c(peak(n, k), NA)[1], memory$n, memory$k)

# The report ----------------------------------------------------------------------------------

entry <- function(what, unit, target, value, minimum = NA, at_least = FALSE) {
  met <- if (at_least) value >= target else value <= target
  data.frame(what = what, unit = unit,
    target = if (is.na(target)) "" else paste(if (at_least) "at least" else "at most", target),
    median = sprintf("%.2f", value), minimum = if (is.na(minimum)) "" else sprintf("%.2f", minimum),
    met = if (is.na(target)) "" else if (is.na(met)) "not measured" else if (met) "yes" else "NO")
}
timing <- function(what, seconds, job, unit, target, at_least = FALSE, per = "unit") {
  ratio <- c(stats::median(seconds[, job]) / stats::median(seconds[, per]),
    min(seconds[, job]) / min(seconds[, per]))
  if (at_least) ratio <- 1 / ratio
  entry(what, unit, target, ratio[1], ratio[2], at_least)
}
table <- rbind(
  timing("calib_gp, 1000 x 1000", small, "fit", "softmaxes", 15),
  timing("calib_gp, 1000 x 8000", wide, "fit", "softmaxes", 6),
  timing("predict, delta, 10,000 x 1000", large, "delta", "softmaxes", 3),
  timing("predict, mc with 100 draws, 10,000 x 1000", mc, "mc", "softmaxes", 120),
  timing("calib_gp, default, 1000 x 1000", small, "default", "softmaxes", NA),
  timing("calib_gp, default, 1000 x 8000", wide, "default", "softmaxes", NA),
  timing("calib_gp, bent, 1000 x 1000", bent_small, "fit", "softmaxes", 8),
  timing("calib_gp, default, bent, 1000 x 1000", bent_small, "default", "softmaxes", NA),
  timing("calib_gp, bent, 1000 x 8000", bent_wide, "fit", "softmaxes", 4),
  timing("calib_gp, default, bent, 1000 x 8000", bent_wide, "default", "softmaxes", NA),
  timing("predict, delta, bent, 10,000 x 1000", bent_large, "delta", "softmaxes", 2.5),
  timing("calib_gp, bent, 1000 x 10", ten, "fit", "temperature fits", 60, per = "temperature"),
  timing("calib_gp, default, bent, 1000 x 10", ten, "default", "temperature fits", NA, per = "temperature"),
  if (!is.null(set_times)) rbind(
    entry("calib_gp, 1000 rows of every set, median", "gams", .2, stats::median(set_times$fit)),
    entry("calib_gp, 1000 rows of every set, largest", "gams", 1.5, max(set_times$fit)),
    entry("calib_gp, default, every set, median", "gams", NA, stats::median(set_times$default)),
    entry("calib_gp, default, every set, largest", "gams", NA, max(set_times$default))),
  timing("two threads, calib_gp, 1000 x 1000", small, "fit2", "times faster", 1.4, TRUE, "fit"),
  timing("two threads, delta, 10,000 x 1000", large, "delta2", "times faster", 1.6, TRUE, "delta"),
  timing("two threads, mc, 10,000 x 1000", mc, "mc2", "times faster", 1.6, TRUE, "mc"),
  entry(sprintf("growth, %d to %d rows x 10", min(tall$n), max(tall$n)), "slope of log time on log N",
    1.1, slope(tall)),
  entry(sprintf("growth, %d to %d rows x 1000", min(broad$n), max(broad$n)),
    "slope of log time on log N", 1.1, slope(broad)),
  do.call(rbind, lapply(seq_len(nrow(memory)), function(i) {
    entry(sprintf("peak memory of a fit, %d x %d", memory$n[i], memory$k[i]),
      "times the scores, beyond them", memory$target[i], memory$ratio[i])
  }))
)
if (!is.null(set_times)) {
  set_table <- data.frame(set = set_times$set, classes = as.character(set_times$classes),
    gams = sprintf("%.3f", set_times$fit), `gams, default` = sprintf("%.3f", set_times$default),
    ms = sprintf("%.1f", set_times$ms), check.names = FALSE)
}
growth <- rbind(tall, broad)
growth <- data.frame(rows = sprintf("%d x %d", growth$n, growth$k),
  `ns per score` = sprintf("%.1f", 1e9 * growth$seconds / (growth$n * growth$k)),
  `ns per score and pass` = sprintf("%.1f", 1e9 * growth$seconds / (growth$n * growth$k * growth$passes)),
  passes = as.character(growth$passes), check.names = FALSE)
per_score <- function(seconds, scores) format(1e9 * stats::median(seconds) / scores, digits = 2)
load <- tryCatch(scan("/proc/loadavg", n = 1, quiet = TRUE), error = function(e) NA)
write_report("gp-speed", "Speed and memory of the latent Gaussian process", c(
  "Ratios of times taken in turns in one run, by medians and by minima; targets refer to the",
  "medians. `bench/unit.c` defines the softmax. Everything called from R includes checks and",
  "allocation. Logits are normal with standard deviation 3, labels drawn from softmax(z / 1.7); bent",
  "ones as in the script. Targets are those of `class_effects = \"none\"` with `integrate = FALSE`; *default*, with both, stands beside.",
  "", paste0("One softmax took ", per_score(small[, "unit"], 1e6), " ns per score at 1000 x 1000, ",
    per_score(wide[, "unit"], 8e6), " at 1000 x 8000 and ", per_score(large[, "unit"], 1e7),
    " at 10,000 x 1000. The fits took ", fit_passes, " passes at 1000 x 1000 and ", wide_passes,
    " at 1000 x 8000. Answers with one and two threads are ", if (same) "identical" else "DIFFERENT",
    ". Load at the end ", load, " on ", parallel::detectCores(),
    " cores: ratios of threads mean nothing unless it is about 1.5 or less."), "",
  markdown_table(table), "", "Growth, one fit each (the smallest of a few times):", "",
  markdown_table(growth), "",
  if (!is.null(set_times)) c("1000 rows of every set (half where there are fewer than 2000):", "",
    markdown_table(set_table), ""),
  "The peak of 20,000 x 2 has no target: its scores are smaller than the tables of the grid."
))
if (any(table$met == "NO") || !same) quit(status = 1)
