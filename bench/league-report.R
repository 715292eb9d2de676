# The tables of the league, from the results that league.R kept: bench/results/league.md and league.csv.
#
# An experiment is a set with a number of calibration rows; its loss is the mean over splits. As in CalArena
# (Holzmüller, Berta, Bach and Jordan 2026, arXiv 2605.30188) the win rate of a method is the share of the other
# methods whose loss is larger, averaged over experiments, and its interval is by bootstrap over sets. The excess
# is the loss less that of the best method of the experiment.

metrics_kept <- c("log_loss", "brier", "ece", "accuracy", "seconds")

# One row for every set, n, split and method; failures have NA.
league_cells <- function(cache) {
  files <- setdiff(list.files(cache, "\\.rds$", recursive = TRUE, full.names = TRUE), file.path(cache, "index.rds"))
  rows <- lapply(files, function(file) {
    cell <- readRDS(file)
    values <- if (is.null(cell$error)) cell$values[metrics_kept] else rep(NA_real_, length(metrics_kept))
    data.frame(cell[c("set", "k", "n", "split", "method")],
      as.list(stats::setNames(values, metrics_kept)))
  })
  do.call(rbind, rows)
}

# Means over splits, with the standard error of the paired difference in log loss from the default.
league_means <- function(cells) {
  key <- interaction(cells$set, cells$n, cells$method, drop = TRUE)
  rows <- lapply(split(cells, key), function(d) {
    gp <- cells[cells$method == "gp" & cells$set == d$set[1] & cells$n == d$n[1], ]
    against <- d$log_loss - gp$log_loss[match(d$split, gp$split)]
    data.frame(d[1, c("set", "k", "n", "method")], splits = nrow(d), failed = sum(is.na(d$log_loss)),
      as.list(colMeans(d[metrics_kept])), from_gp = mean(against),
      se = if (nrow(d) > 1) stats::sd(against) / sqrt(nrow(d)) else NA_real_)
  })
  means <- do.call(rbind, rows)
  rownames(means) <- NULL
  means[order(means$k, means$set, means$n, means$method), ]
}

# Experiments in rows, methods in columns.
wide <- function(means, metric, methods) {
  key <- paste(means$set, means$n)
  out <- matrix(NA_real_, length(unique(key)), length(methods), dimnames = list(unique(key), methods))
  keep <- means$method %in% methods
  out[cbind(key[keep], means$method[keep])] <- means[[metric]][keep]
  out
}

# A method that failed has lost against every other; two that failed are equal.
win_rates <- function(losses) {
  losses[is.na(losses)] <- Inf
  out <- vapply(seq_len(ncol(losses)), function(j) {
    rowMeans(losses[, -j, drop = FALSE] > losses[, j])
  }, numeric(nrow(losses)))
  matrix(out, nrow(losses), dimnames = dimnames(losses))
}

bootstrap_sets <- function(rates, sets, replicates = 2000) {
  sums <- rowsum(rates, sets)
  count <- rowsum(rep(1, nrow(rates)), sets)[, 1]
  set.seed(1)
  draws <- replicate(replicates, {
    i <- sample(nrow(sums), replace = TRUE)
    colSums(sums[i, , drop = FALSE]) / sum(count[i])
  })
  apply(draws, 1, stats::quantile, c(0.025, 0.975))
}

# The table of one league.
league_table <- function(means, methods) {
  loss <- wide(means, "log_loss", methods)
  sets <- sub(" .*", "", rownames(loss))
  n <- as.numeric(sub(".* ", "", rownames(loss)))
  wins <- win_rates(loss)
  interval <- bootstrap_sets(wins, sets)
  excess <- loss - apply(loss, 1, min, na.rm = TRUE)
  brier <- wide(means, "brier", methods)
  brier_excess <- brier - apply(brier, 1, min, na.rm = TRUE)
  accuracy <- wide(means, "accuracy", methods)
  percent <- function(x) sprintf("%.0f", 100 * x)
  at <- function(size) percent(colMeans(wins[n == size, , drop = FALSE]))
  table <- data.frame(
    method = methods, `win rate, log loss` = sprintf("%s (%s to %s)", percent(colMeans(wins)),
      percent(interval[1, ]), percent(interval[2, ])),
    `n = 200` = at(200), `n = 1000` = at(1000), `n = 5000` = at(5000),
    `win rate, Brier` = percent(colMeans(win_rates(brier))),
    `mean excess log loss` = sprintf("%.4f", colMeans(excess, na.rm = TRUE)),
    `median` = sprintf("%.4f", apply(excess, 2, stats::median, na.rm = TRUE)),
    `largest` = sprintf("%.3f", apply(excess, 2, max, na.rm = TRUE)),
    `mean excess Brier` = sprintf("%.4f", colMeans(brier_excess, na.rm = TRUE)),
    `mean ECE` = sprintf("%.4f", colMeans(wide(means, "ece", methods), na.rm = TRUE)),
    `accuracy gained` = sprintf("%+.4f", colMeans(accuracy - accuracy[, "none"], na.rm = TRUE)),
    check.names = FALSE)
  table[order(-colMeans(wins)), ]
}

rival_names <- c("svs", "sms", "ensemble", "dirichlet", "quadratic", "gam")

# A row per experiment: the default beside the best rival.
experiment_table <- function(means) {
  rows <- lapply(split(means, factor(paste(means$set, means$n), unique(paste(means$set, means$n)))), function(d) {
    loss <- stats::setNames(d$log_loss, d$method)
    rivals <- d[d$method %in% rival_names & !is.na(d$log_loss), ]
    best <- rivals[which.min(rivals$log_loss), ]
    top <- d[which.min(d$log_loss), ]
    f <- function(x) sprintf("%.4f", x)
    data.frame(set = d$set[1], K = d$k[1], n = d$n[1], none = f(loss[["none"]]),
      temperature = f(loss[["temperature"]]), gp = f(loss[["gp"]]), gp_none = f(loss[["gp_none"]]),
      gp_monotone = f(loss[["gp_monotone"]]), `best rival` = paste(best$method, f(best$log_loss)),
      `best rival - gp` = sprintf("%+.4f (%.4f)", best$from_gp, best$se),
      `best of all` = paste(top$method, f(top$log_loss)), check.names = FALSE)
  })
  do.call(rbind, rows)
}

# How often the default is ahead of each other method, behind it, or neither beyond two standard errors.
duel_table <- function(means, methods) {
  rows <- lapply(setdiff(methods, "gp"), function(m) {
    d <- means[means$method == m, ]
    z <- d$from_gp / d$se
    lost <- is.na(d$from_gp)
    data.frame(`calib_gp() against` = m, ahead = sum(z > 2, na.rm = TRUE) + sum(lost), `no difference` = sum(abs(z) <= 2, na.rm = TRUE),
      behind = sum(z < -2, na.rm = TRUE), `mean gain of calib_gp()` = sprintf("%+.4f", mean(d$from_gp, na.rm = TRUE)),
      check.names = FALSE)
  })
  do.call(rbind, rows)
}

# Fitted on _val, scored on _test, beside what was published.
check_rivals <- function(folder) {
  part <- lapply(c("val", "test"), function(p) readRDS(file.path(folder, paste0("cifar10_densenet40_", p, ".rds"))))
  published <- c(temperature = ".2251", svs = ".2222", sms = ".2206", dirichlet = "", ensemble = "", gp = "")
  ours <- vapply(names(published), function(m) {
    set.seed(1)
    map <- suppressWarnings(methods[[m]](part[[1]]$scores, part[[1]]$labels))
    log_loss(suppressWarnings(map(part[[2]]$scores)), part[[2]]$labels, eps = 1e-12)
  }, 0)
  table <- data.frame(method = names(published), published = published, here = sub("^0", "", sprintf("%.4f", ours)))
  table$same <- ifelse(published == "", "", ifelse(table$here == published, "yes", "NO"))
  table
}

league_report <- function(cache, folder) {
  means <- league_means(league_cells(cache))
  everyone <- names(methods)
  two <- means[means$k == 2, ]
  many <- means[means$k > 2 & means$k <= 100, ]
  not_two <- setdiff(everyone, c("quadratic", "gam"))
  commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
    error = function(e) "unknown")
  check <- check_rivals(folder)
  write_report("league", "The league of calibrators", c(
    paste0("`make league` at commit ", commit, ". ", length(unique(means$set)), " sets, ",
      length(unique(paste(means$set, means$n))), " experiments, ", max(means$splits), " splits (`set.seed(s); sample(N, n)`). Log loss ",
      "with probabilities clipped at 1e-12; ECE with 15 bins of equal width. `gp` is `calib_gp()` as it comes, ",
      "`gp_none` has `class_effects = \"none\"`, `gp_monotone` has `monotone = TRUE`; svs, sms, ensemble, ",
      "dirichlet, quadratic and gam are the rivals of `bench/rivals.R` and `bench/rivals-more.R`. Standard errors are of ",
      "paired differences over the splits, whose test rows overlap: they say how much the choice of calibration rows ",
      "matters, and little about other test rows. How many nodes, which priors and which penalties `calib_gp()` uses was decided on ",
      "some of these sets (other splits), so the comparison favours it somewhat."), "",
    "An experiment is a set and a number of calibration rows. Win rate: the share (in percent) of the other methods ",
    "with a larger loss, mean over experiments, with a 95 % bootstrap interval over sets. Excess: loss less that of the best ",
    "method of the experiment. Methods in order of the win rate.", "",
    "## Check of the rivals", "", "Log loss on `cifar10_densenet40`, fitted on the validation rows, scored on the test rows.", "",
    markdown_table(check), "",
    "## Two classes", "", markdown_table(league_table(two, everyone)), "", markdown_table(duel_table(two, everyone)), "",
    "## Three to a hundred classes", "", markdown_table(league_table(many, not_two)), "", markdown_table(duel_table(many, not_two)), "",
    "*Ahead* and *behind*: by more than two standard errors.", "",
    "## Every experiment: log loss", "", markdown_table(experiment_table(means)), "",
    paste("Failures:", sum(means$failed), "of", sum(means$splits), "fits.")
  ))
  round_to <- function(x) if (is.double(x)) signif(x, 5) else x
  utils::write.csv(as.data.frame(lapply(means, round_to)), "bench/results/league.csv", row.names = FALSE, quote = FALSE)
  if (any(check$same == "NO")) quit(status = 1)
}
