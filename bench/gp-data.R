# Rscript bench/gp-data.R: the latent Gaussian process on real classifier outputs, beside
# temperature scaling, the paper's configuration and the reference table of the data's README.
# The data are not part of the package; GPCALIB_DATA says where they are.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
files <- list.files(folder, "\\.rds$", full.names = TRUE)
files <- files[basename(files) != "kitti_features.rds"] # features, not scores
if (length(files) == 0) {
  cat("gp-data: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
splits <- 1:5

# The prototype's results: log loss, its standard error over the splits, the bound of split 1.
reference <- utils::read.table(header = TRUE, row.names = 1, text = "
  data                    loss   se     elbo
  cifar100_wrn16_4        0.9021 0.0011  -945.15
  cifar10_wrn16_4         0.2709 0.0013  -306.78
  cifar100_resnet50_test  0.9196 0.0009  -948.03
  cifar10_resnet50_test   0.1738 0.0013  -185.34
  cifar10_densenet40_test 0.2238 0.0018  -261.21
  cifar10_vgg16           0.1941 0.0008  -221.57
  newsgroups20            0.2979 0.0011  -293.85
  imdb                    0.2626 0.0005  -260.09
  hpc_cv                  0.7477 0.0051  -708.03
  soccer538               1.0024 0.0004  -986.62
  nba538                  0.6150 0.0009  -632.08
  rain_niamey_ens         0.6386 0.0067   -30.03
  rain_niamey_logistic    0.6200 0.0243   -25.93
  imagenet_resnet34_top1  0.4214 0.0012  -385.96
  nextword_k1000          3.7553 0.0088 -3779.73
  kitti7_randomforest     0.2481 0.0042  -288.27
  kitti7_nn               0.2705 0.0054  -300.59
  kitti2_adaboost         0.1446 0.0010  -142.18
  kitti2_xgboost          0.1069 0.0013  -112.24
  mnist_adaboost          0.7632 0.0041  -748.30
  mnist_randomforest      0.1036 0.0006   -93.15
")

# One split ---------------------------------------------------------------------------------

pick <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]

score <- function(probs, labels) {
  c(loss = log_loss(probs, labels, eps = 1e-12), ece = ece(probs, labels, bins = 100, type = "confidence"))
}

timed <- function(fit) {
  start <- now()
  value <- suppressWarnings(fit())
  list(fit = value, seconds = now() - start)
}

paper <- function(scores, labels) {
  mean <- if (calib_none(scores, labels)$input == "probs") "log" else "identity"
  suppressWarnings(calib_gp(scores, labels, mean = mean, center = FALSE, covariance = "diag",
    inducing = 10, optimize_inducing = TRUE, class_effects = "none"))
}

run_split <- function(data, seed) {
  size <- NROW(data$scores)
  n <- if (size < 2000) size %/% 2 else 1000
  set.seed(seed)
  rows <- sample(size, n)
  x <- pick(data$scores, rows)
  y <- data$labels[rows]
  new <- pick(data$scores, -rows)
  truth <- data$labels[-rows]
  temperature <- timed(function() calib_temperature(x, y))
  gp <- timed(function() calib_gp(x, y, class_effects = "none"))
  theirs <- paper(x, y)
  predicted <- function(fit, ...) suppressWarnings(predict(fit, new, ...))
  set.seed(seed)
  list(
    n = c(n, size - n), k = length(gp$fit$classes),
    score = rbind(
      none = score(predicted(suppressWarnings(calib_none(x, y))), truth),
      temperature = score(predicted(temperature$fit), truth),
      gp = score(predicted(gp$fit), truth),
      mean = score(predicted(gp$fit, approx = "mean"), truth),
      paper = score(predicted(theirs, approx = "mc", n_draws = 100), truth)
    ),
    elbo = gp$fit$elbo, passes = gp$fit$passes, passes_floor = gp$fit$passes_floor,
    status = gp$fit$status, inducing = length(gp$fit$inducing),
    paper_elbo = theirs$elbo, paper_passes = theirs$passes, paper_status = theirs$status,
    seconds = c(gp$seconds, temperature$seconds)
  )
}

# One data set ------------------------------------------------------------------------------

standard_error <- function(x) stats::sd(x) / sqrt(length(x))

run_set <- function(file) {
  name <- sub("\\.rds$", "", basename(file))
  cat(name, "")
  data <- readRDS(file)
  runs <- lapply(splits, function(seed) run_split(data, seed))
  cat("\n")
  get <- function(field) vapply(runs, function(run) as.numeric(run[[field]]), 0)
  scores <- vapply(runs, function(run) run$score, runs[[1]]$score)
  means <- apply(scores, 1:2, mean)
  apart <- scores["gp", "loss", ] - scores["temperature", "loss", ]
  many <- runs[[1]]$n[2] >= 2000
  known <- reference[name, ]
  # rounding of the printed references: half a unit of their last digit
  allowed <- if (many) 0.002 else max(2 * known$se, 5e-5)
  list(
    name = name, n = runs[[1]]$n, k = runs[[1]]$k, means = means,
    apart = mean(apart), apart_se = standard_error(apart),
    from_temperature = mean(apart) <= if (many) 0.002 else 2 * standard_error(apart),
    from_reference = means["gp", "loss"] - known$loss,
    near_reference = is.na(known$loss) || means["gp", "loss"] - known$loss <= allowed,
    elbo = runs[[1]]$elbo, known_elbo = known$elbo, paper_elbo = runs[[1]]$paper_elbo,
    passes = get("passes"), passes_floor = get("passes_floor"), inducing = get("inducing"),
    ok = vapply(runs, function(run) run$status == "ok", NA),
    paper_passes = get("paper_passes"),
    paper_ok = vapply(runs, function(run) run$paper_status == "ok", NA),
    seconds = vapply(runs, function(run) run$seconds[1], 0),
    ratio = stats::median(vapply(runs, function(run) run$seconds[1] / run$seconds[2], 0))
  )
}

begin <- now()
sets <- lapply(files, run_set)
minutes <- (now() - begin) / 60

# The report --------------------------------------------------------------------------------

pair <- function(set, method) {
  sprintf("%.4f / %.4f", set$means[method, "loss"], set$means[method, "ece"])
}
spread <- function(x) {
  sprintf("%s (%s)", format(stats::median(x), digits = 3), format(max(x), digits = 3))
}
set_row <- function(set) {
  quick <- max(set$passes) <= 40
  failed <- c(temperature = !set$from_temperature, reference = !set$near_reference,
    passes = !quick)
  data.frame(
    data = set$name, `rows, test` = sprintf("%d, %d", set$n[1], set$n[2]), K = set$k,
    uncalibrated = pair(set, "none"), temperature = pair(set, "temperature"),
    `GP` = pair(set, "gp"), `GP, mean` = pair(set, "mean"), `paper's` = pair(set, "paper"),
    `GP - temperature (s.e.)` = sprintf("%+.4f (%.4f)", set$apart, set$apart_se),
    `GP - reference` = if (is.na(set$from_reference)) "" else sprintf("%+.4f", set$from_reference),
    `bound, reference` = paste0(sprintf("%.2f", set$elbo),
      if (is.na(set$known_elbo)) "" else sprintf(", %.2f", set$known_elbo)),
    `paper's bound` = sprintf("%.2f", set$paper_elbo),
    passes = spread(set$passes), `for floors` = if (any(set$passes_floor > 0)) {
      spread(set$passes_floor)
    } else {
      ""
    },
    `paper's passes` = spread(set$paper_passes),
    `fit time` = sprintf("%.1f (%.0f ms)", set$ratio, 1000 * stats::median(set$seconds)),
    met = if (any(failed)) paste("NO:", paste(names(failed)[failed], collapse = ", ")) else "yes",
    check.names = FALSE
  )
}
table <- do.call(rbind, lapply(sets, set_row))
table$K <- as.character(table$K)

passes <- unlist(lapply(sets, `[[`, "passes"))
all_passes <- unlist(lapply(sets, function(set) set$passes + set$passes_floor))
met <- function(ok) if (ok) "yes" else "NO"
field <- function(name) vapply(sets, function(set) set[[name]], sets[[1]][[name]])
gained <- field("elbo") - field("known_elbo")
better <- vapply(sets, function(set) set$means["gp", "loss"] - set$means["paper", "loss"], 0)
summary_table <- data.frame(
  what = c("log loss against temperature scaling, all sets",
    "log loss against the reference, all sets with one", "passes, largest",
    "passes, median over all fits", "all fits converged"),
  target = c("+0.002 (2 s.e. under 2000 test rows)", "+0.002 (2 s.e. under 2000 test rows)",
    "at most 40", "at most 12", ""),
  found = c(
    sprintf("%+.4f at most", max(field("apart"))),
    sprintf("%+.4f at most", max(field("from_reference"), na.rm = TRUE)),
    max(passes), stats::median(passes),
    sprintf("%d of %d", sum(unlist(lapply(sets, `[[`, "ok"))), length(passes))
  ),
  met = c(met(all(field("from_temperature"))), met(all(field("near_reference"))),
    met(max(passes) <= 40), met(stats::median(passes) <= 12),
    met(all(unlist(lapply(sets, `[[`, "ok")))))
)
write_report("gp-data", "The latent Gaussian process on real data", c(
  "Splits `set.seed(s); sample(N, n)`, s = 1..5; those rows calibrate, the others test. Log loss",
  "(probabilities clipped at 1e-12) / ECE with 100 bins, means over the splits. *GP* is `calib_gp()`",
  "without effects of the classes (`class_effects = \"none\"`; with them: effects-data.md)",
  "and `predict()` with their defaults (delta), *GP, mean* the same fit with `approx = \"mean\"`,",
  "*paper's* `mean = \"identity\"` (logits) or `\"log\"` (probabilities), `center = FALSE`,",
  "`covariance = \"diag\"`, `inducing = 10`, `optimize_inducing = TRUE`, `approx = \"mc\"` with 100",
  "draws. The standard error is that of the paired difference. Bounds are those of split 1; the",
  "reference is the prototype of the data's README (the paper's bound belongs to another",
  "approximation and cannot be compared with them). Passes over the data and fit times: median",
  "(largest) over the splits, the time in units of a fit of `calib_temperature()`.", "",
  markdown_table(table), "", "## Summary", "", markdown_table(summary_table), "",
  paste0("Bounds minus reference: from ", sprintf("%+.2f", min(gained, na.rm = TRUE)), " to ",
    sprintf("%+.2f", max(gained, na.rm = TRUE)), " nats. Passes including those for floors: median ",
    stats::median(all_passes), ", largest ", max(all_passes), ". Inducing inputs: ",
    paste(names(table(unlist(lapply(sets, `[[`, "inducing")))),
      table(unlist(lapply(sets, `[[`, "inducing"))), sep = " in ", collapse = ", "), " fits."),
  paste0("The default has the lower log loss than the paper's configuration on ", sum(better < 0),
    " of ", length(sets), " sets (differences ", sprintf("%+.4f", min(better)), " to ",
    sprintf("%+.4f", max(better)), "); the latter converged in ",
    sum(unlist(lapply(sets, `[[`, "paper_ok"))), " of ", length(passes), " fits. The whole took ",
    format(minutes, digits = 2), " minutes.")
))
if (any(summary_table$met == "NO")) quit(status = 1)
