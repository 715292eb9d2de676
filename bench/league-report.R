# The tables of the league, from the results that league.R kept: bench/results/league.md and league.csv, and three
# small files that vignettes/choosing.Rmd reads.
#
# An experiment is a set with a number of calibration rows; its loss is the mean over splits. As in CalArena
# (Holzmüller, Berta, Bach and Jordan 2026, arXiv 2605.30188) the win rate of a method is the share of the other
# methods whose loss is larger, averaged over experiments, and its interval is by bootstrap over sets. The excess
# is the loss less that of the best method of the experiment.

metrics_kept <- c("log_loss", "brier", "ece", "accuracy", "seconds")

# One row for every set, n, split and method; failures have NA.
league_cells <- function(cache) {
  files <- Filter(function(file) file.size(file) > 0, setdiff(list.files(cache, "\\.rds$", recursive = TRUE, full.names = TRUE), file.path(cache, "index.rds")))
  rows <- lapply(files, function(file) {
    cell <- readRDS(file)
    values <- if (is.null(cell$error)) cell$values[metrics_kept] else rep(NA_real_, length(metrics_kept))
    data.frame(cell[c("set", "k", "n", "split", "method")],
      as.list(stats::setNames(values, metrics_kept)))
  })
  do.call(rbind, rows)
}

# Means over splits, with the paired difference in log loss from the default and its standard error. Where a method was
# run on other splits than the default (fewer, because it takes long), its mean is that of the default over all of its
# splits plus the mean difference on those they share: an easy split favours nobody. Failures are NA.
league_means <- function(cells) {
  key <- interaction(cells$set, cells$n, cells$method, drop = TRUE)
  rows <- lapply(split(cells, key), function(d) {
    gp <- cells[cells$method == "gp" & cells$set == d$set[1] & cells$n == d$n[1], ]
    same <- match(d$split, gp$split)
    scores <- setdiff(metrics_kept, "seconds")
    values <- if (nrow(gp)) {
      colMeans(d[!is.na(same), scores] - gp[same[!is.na(same)], scores]) + colMeans(gp[scores])
    } else {
      colMeans(d[scores])
    }
    against <- (d$log_loss - gp$log_loss[same])[!is.na(same)]
    data.frame(d[1, c("set", "k", "n", "method")], splits = nrow(d), failed = sum(is.na(d$log_loss)),
      as.list(values), seconds = mean(d$seconds), from_gp = mean(against),
      se = if (length(against) > 1) stats::sd(against) / sqrt(length(against)) else NA_real_)
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
  out[cbind(key[keep], means$method[keep])] <- ifelse(means$failed[keep] > 0, Inf, means[[metric]][keep])
  out
}

# A method that failed (Inf) has lost against every other; two that failed are equal. Methods that do not take part
# (NA) are left out.
win_rates <- function(losses) {
  out <- vapply(seq_len(ncol(losses)), function(j) {
    rowMeans(losses[, -j, drop = FALSE] > losses[, j], na.rm = TRUE)
  }, numeric(nrow(losses)))
  out[is.na(losses)] <- NA
  matrix(out, nrow(losses), dimnames = dimnames(losses))
}

bootstrap_sets <- function(rates, sets, replicates = 2000) {
  sums <- rowsum(rates, sets, na.rm = TRUE)
  count <- rowsum(1 * !is.na(rates), sets)
  set.seed(1)
  draws <- replicate(replicates, {
    i <- sample(nrow(sums), replace = TRUE)
    colSums(sums[i, , drop = FALSE]) / colSums(count[i, , drop = FALSE])
  })
  apply(draws, 1, stats::quantile, c(0.025, 0.975), na.rm = TRUE)
}

# The table of one league, in numbers.
league_table <- function(means, methods) {
  loss <- wide(means, "log_loss", methods)
  n <- as.numeric(sub(".* ", "", rownames(loss)))
  wins <- win_rates(loss)
  interval <- bootstrap_sets(wins, sub(" .*", "", rownames(loss)))
  excess <- loss - apply(loss, 1, min, na.rm = TRUE)
  brier <- wide(means, "brier", methods)
  accuracy <- wide(means, "accuracy", methods)
  average <- function(x) apply(x, 2, function(v) mean(v[is.finite(v)])) # of the fits that succeeded
  at <- function(size) average(wins[n == size, , drop = FALSE])
  table <- data.frame(
    method = methods, win = average(wins), low = interval[1, ], high = interval[2, ],
    win200 = at(200), win1000 = at(1000), win5000 = at(5000), win_brier = average(win_rates(brier)),
    excess = average(excess), median = apply(excess, 2, function(v) stats::median(v[is.finite(v)])),
    largest = apply(excess, 2, function(v) if (any(is.finite(v))) max(v[is.finite(v)]) else NA), brier = average(brier - apply(brier, 1, min, na.rm = TRUE)),
    ece = average(wide(means, "ece", methods)), accuracy = average(accuracy - accuracy[, "none"])
  )
  table <- table[is.finite(table$win), ]
  table[order(-table$win), ]
}

# The same in words.
say_league <- function(table) {
  percent <- function(x) sprintf("%.0f", 100 * x)
  data.frame(method = table$method, `win rate, log loss` = sprintf("%s (%s to %s)", percent(table$win),
    percent(table$low), percent(table$high)), `n = 200` = percent(table$win200), `n = 1000` = percent(table$win1000),
    `n = 5000` = percent(table$win5000), `win rate, Brier` = percent(table$win_brier),
    `mean excess log loss` = sprintf("%.4f", table$excess), median = sprintf("%.4f", table$median),
    largest = sprintf("%.3f", table$largest), `mean excess Brier` = sprintf("%.4f", table$brier),
    `mean ECE` = sprintf("%.4f", table$ece), `accuracy gained` = sprintf("%+.4f", table$accuracy), check.names = FALSE)
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
      gp_monotone = f(loss[["gp_monotone"]]), `best rival` = if (nrow(best)) paste(best$method, f(best$log_loss)) else "",
      `best rival - gp` = if (nrow(best)) {
        paste0(sprintf("%+.4f", best$from_gp), if (is.finite(best$se)) sprintf(" (%.4f)", best$se))
      } else {
        ""
      },
      `best of all` = paste(top$method, f(top$log_loss)), check.names = FALSE)
  })
  do.call(rbind, rows)
}

# In how many experiments the default has a lower log loss than each other method, or a higher one; and by more than two
# standard errors, where there are several splits.
duel_table <- function(means, methods) {
  rows <- lapply(setdiff(methods, "gp"), function(m) {
    d <- means[means$method == m, ]
    if (nrow(d) == 0) return(NULL)
    clear <- is.finite(d$se) & abs(d$from_gp) > 2 * d$se
    count <- function(x) paste0(sum(x, na.rm = TRUE), if (any(is.finite(d$se))) paste0(" (", sum(x & clear, na.rm = TRUE), ")"))
    data.frame(`calib_gp() against` = m, better = count(is.na(d$from_gp) | d$from_gp > 0), worse = count(d$from_gp < 0),
      `mean gain of calib_gp()` = sprintf("%+.4f", mean(d$from_gp, na.rm = TRUE)), check.names = FALSE)
  })
  do.call(rbind, rows)
}

# Fitted on _val, scored on _test, beside what was published.
check_rivals <- function(folder) {
  part <- lapply(c("val", "test"), function(p) readRDS(file.path(folder, paste0("cifar10_densenet40_", p, ".rds"))))
  published <- c(temperature = ".2251", svs = ".2222", sms = ".2206", ensemble = "", gp = "")
  ours <- vapply(names(published), function(m) {
    set.seed(1)
    map <- suppressWarnings(methods[[m]](part[[1]]$scores, part[[1]]$labels))
    log_loss(suppressWarnings(map(part[[2]]$scores)), part[[2]]$labels, eps = 1e-12)
  }, 0)
  table <- data.frame(method = names(published), published = published, here = sub("^0", "", sprintf("%.4f", ours)))
  table$same <- ifelse(published == "", "", ifelse(table$here == published, "yes", "NO"))
  table
}

# Methods that were not run everywhere where they could have been.
say_absent <- function(means) {
  experiments <- unique(means[c("set", "k", "n")])
  lost <- vapply(names(methods), function(m) {
    sum(vapply(experiments$k, function(k) takes_part(m, k), NA)) - sum(means$method == m)
  }, 0)
  lost <- lost[lost > 0]
  if (length(lost)) paste0("Not run because it takes too long: ", paste0(names(lost), " in ", lost, collapse = ", "), " of the experiments.")
}

# Methods with fewer splits than the others of the same experiment.
say_fewer <- function(means) {
  most <- stats::ave(means$splits, means$set, means$n, FUN = max)
  fewer <- means[means$splits < most, ]
  if (!nrow(fewer)) return(NULL)
  count <- vapply(split(fewer$splits, fewer$method), function(x) {
    paste0(length(x), " experiments (", if (min(x) < max(x)) paste(min(x), "to "), max(x), ")")
  }, "")
  paste0("Fewer splits: ", paste(names(count), "in", count, collapse = ", "), "; their means are those of `gp` plus the paired ",
    "difference on the splits they share. ")
}

league_report <- function(cache, folder) {
  means <- league_means(league_cells(cache))
  everyone <- names(methods)
  two <- means[means$k == 2, ]
  many <- means[means$k > 2 & means$k <= 100, ]
  not_two <- setdiff(everyone, c("quadratic", "gam"))
  commit <- tryCatch(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE, stderr = FALSE),
    error = function(e) "unknown")
  leagues <- list(two = league_table(two, everyone), many = league_table(many, not_two))
  check <- check_rivals(folder)
  write_report("league", "The league of calibrators", c(
    paste0("`make league` at commit ", commit, ". ", length(unique(means$set)), " sets, ",
      length(unique(paste(means$set, means$n))), " experiments, ", max(means$splits),
      if (max(means$splits) > 1) " splits" else " split", " each (`set.seed(s); sample(N, n)`). ", say_fewer(means), "Log loss ",
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
    "## Two classes", "", markdown_table(say_league(leagues$two)), "", markdown_table(duel_table(two, everyone)), "",
    "## Three to a hundred classes", "", markdown_table(say_league(leagues$many)), "", markdown_table(duel_table(many, not_two)), "",
    "*Better* and *worse*: number of experiments; in brackets those with more than two standard errors, where there are several splits.", "",
    "## Every experiment: log loss", "", markdown_table(experiment_table(means)), "",
    paste("Failures:", sum(means$failed), "of", sum(means$splits), "fits.", say_absent(means))
  ))
  round_to <- function(x) if (is.double(x)) signif(x, 5) else x
  utils::write.csv(as.data.frame(lapply(means, round_to)), "bench/results/league.csv", row.names = FALSE, quote = FALSE)
  vignette <- "vignettes/choosing"
  dir.create(vignette, showWarnings = FALSE)
  small <- rbind(data.frame(league = "two", leagues$two), data.frame(league = "many", leagues$many))
  utils::write.csv(as.data.frame(lapply(small, round_to)), file.path(vignette, "league.csv"), row.names = FALSE, quote = FALSE)
  utils::write.csv(experiment_table(means), file.path(vignette, "experiments.csv"), row.names = FALSE, quote = FALSE)
  duels <- rbind(data.frame(league = "two", duel_table(two, everyone), check.names = FALSE),
    data.frame(league = "many", duel_table(many, not_two), check.names = FALSE))
  utils::write.csv(duels, file.path(vignette, "duels.csv"), row.names = FALSE, quote = FALSE)
  if (any(check$same == "NO")) quit(status = 1)
}
