# Hostile calls: hostile_call(seed) makes up one call of an exported function or method, runs it and
# says what is wrong with the answer. A valid answer, or an error of class gpcalib_error, is right;
# warnings must be of class gpcalib_warning. Used by test-hostile.R (some hundred calls) and by
# bench/stress/hostile.R (as many as one likes). The generator of arguments is in helper-hostile-args.R.

hostile_measures <- c("ece", "mce", "overconfidence", "underconfidence", "confidence_gap",
  "class_accuracy", "sharpness", "log_loss", "brier_score", "rps", "smooth_ece")
hostile_fits <- c("calib_gp", "calib_temperature", "calib_platt", "calib_isotonic", "calib_beta",
  "calib_bbq", "calib_histogram", "calib_vector", "calib_matrix", "calib_none")
hostile_methods <- c("predict", "predict", "predict", "print", "summary", "coef", "nobs", "tidy", "glance",
  "augment", "autoplot", "latent", "calib_map", "plot_map", "plot_latent", "plot_interval", "logLik",
  "vcov", "confint", "estimate_prior", "update", "update", "merge", "calib_query", "calib_switch")
hostile_others <- c("calib_metrics", "reliability_table", "plot_reliability", "plot_confidence",
  "gp_control", "table_methods", "calib_study", "study_methods", "calib_validate", "validate_methods")

# Run one call; NULL when nothing is wrong, otherwise a line of text
hostile_call <- function(seed, limit = 30) {
  set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  plan <- hostile_plan()
  strange <- character()
  classes <- character()
  setTimeLimit(cpu = limit, transient = TRUE)
  on.exit(setTimeLimit())
  utils::capture.output(value <- withCallingHandlers(
    tryCatch(hostile_run(plan), error = identity),
    warning = function(w) {
      if (inherits(w, "gpcalib_warning")) {
        classes <<- c(classes, class(w)[1])
      } else {
        strange <<- c(strange, paste0("warning: ", conditionMessage(w)))
      }
      invokeRestart("muffleWarning")
    },
    message = function(m) invokeRestart("muffleMessage")
  ))
  setTimeLimit()
  wrong <- if (inherits(value, "gpcalib_error")) {
    hostile_message(value)
  } else if (inherits(value, "error")) {
    paste0("error: ", conditionMessage(value))
  } else {
    hostile_wrong(plan, value, classes)
  }
  wrong <- c(strange, wrong)
  if (!length(wrong)) return(structure(list(), answered = !inherits(value, "error"), what = plan$what))
  paste0("seed ", seed, ", ", plan$what, "(", paste(names(plan$args), plan$said, sep = " = ", collapse = ", "),
    "): ", paste(substr(gsub("\n", " ", wrong), 1, 300), collapse = " | "))
}

hostile_run <- function(plan) {
  what <- plan$what
  if (what == "table_methods") {
    table <- do.call(reliability_table, plan$args, quote = TRUE)
    print(table)
    part <- table[seq_len(min(2, nrow(table))), ]
    print(part)
    summary(part)
    hostile_draw(autoplot(table))
    return(summary(table))
  }
  if (what == "validate_methods") {
    valid <- do.call(calib_validate, plan$args, quote = TRUE)
    print(valid)
    print(valid[seq_len(min(3, nrow(valid))), ])
    hostile_draw(autoplot(valid))
    return(as.data.frame(valid))
  }
  if (what == "study_methods") {
    study <- do.call(calib_study, plan$args, quote = TRUE)
    print(study)
    print(study[seq_len(min(3, nrow(study))), ])
    hostile_draw(autoplot(study))
    hostile_draw(autoplot(study[study$split == 1, ]))
    print(summary(study))
    return(as.data.frame(study))
  }
  if (what == "compare_forecasts") {
    comparison <- do.call(compare_forecasts, plan$args, quote = TRUE)
    print(comparison)
    table <- tidy(comparison)
    if (any(is.finite(table$difference))) hostile_draw(autoplot(comparison))
    tryCatch(hostile_draw(plot_mcbdsc(comparison)), gpcalib_error_input = identity)
    return(comparison$scores)
  }
  if (what == "net_benefit") {
    curves <- do.call(net_benefit, plan$args, quote = TRUE)
    print(curves)
    print(curves[seq_len(min(3, nrow(curves))), ])
    if (length(unique(curves$threshold)) > 1) hostile_draw(autoplot(curves))
    return(curves)
  }
  if (what == "calib_monitor") {
    monitor <- do.call(calib_monitor, plan$args, quote = TRUE)
    print(summary(monitor))
    if (!is.null(plan$args$probs)) monitor <- tryCatch(update(monitor, plan$args$probs, plan$args$labels,
      restart = chance(0.5)), gpcalib_error = function(e) monitor)
    if (nrow(monitor$path)) for (type in c("evidence", "scores", "reliability")) hostile_draw(autoplot(monitor, type))
    print(suppressMessages(monitor + calib_monitor(classes = monitor$classes, alternatives = monitor$alternatives,
      level = monitor$level)))
    return(monitor)
  }
  fun <- switch(what, predict = stats::predict, confint = stats::confint, update = stats::update, merge = merge, coef = stats::coef, nobs = stats::nobs, logLik = stats::logLik,
    vcov = stats::vcov, print = print, summary = function(object, ...) print(summary(object, ...)),
    getExportedValue("gpcalib", what))
  value <- do.call(fun, plan$args, quote = TRUE)
  if (inherits(value, "ggplot")) hostile_draw(value)
  value
}

# All that drawing computes, without a device
hostile_draw <- function(plot) {
  ggplot2::ggplot_build(plot)
}

# Errors for people say which argument is meant
hostile_message <- function(error) {
  text <- conditionMessage(error)
  if (!nzchar(text) || grepl("character\\(0\\)|internal error", text)) {
    paste0("message: ", text)
  }
}

# What is wrong with an answer --------------------------------------------------------------

hostile_wrong <- function(plan, value, warned) {
  what <- plan$what
  told <- function(...) any(paste0("gpcalib_warning_", c(...)) %in% warned)
  if (what %in% hostile_measures) {
    if (!is.double(value) || length(value) != 1 && is.null(plan$args$by)) return("not one number")
    if (length(value) != 1) {
      if (!length(value) || is.null(names(value))) return("not one number for each group")
      if (told("undefined", "infinite")) return(NULL)
      value <- if (all(is.finite(value))) min(value) else NaN
    }
    if (is.nan(value) && told("undefined")) return(NULL)
    if (is.infinite(value) && told("infinite")) return(NULL)
    if (!is.finite(value)) return(paste("silently", value))
    if (value < -1e-12) return(paste("negative:", value))
    return(NULL)
  }
  if (what %in% hostile_fits) return(hostile_wrong_fit(value))
  switch(what,
    predict = hostile_wrong_prediction(plan, value, told),
    augment = {
      probs <- as.matrix(value[grep("^\\.pred_", setdiff(names(value), ".pred_class"), value = TRUE)])
      if (nrow(probs) && (anyNA(probs) || anyNA(value$.pred_class))) "missing probabilities"
    },
    coef = if (anyNA(value) && !inherits(plan$args$object, "calib_histogram")) "missing coefficients",
    nobs = if (!is.numeric(value) || length(value) != 1 || is.na(value)) "no number",
    latent = if (!is.data.frame(value) || any(!is.finite(as.matrix(value[c("mean", "sd")])[is.finite(value$z), ]))) {
      "not finite"
    },
    calib_map = if (anyNA(value$calibrated) || any(value$calibrated < 0 | value$calibrated > 1)) {
      "no probabilities"
    },
    calib_metrics = {
      bad <- value$measure[is.na(value$estimate) | is.infinite(value$estimate)]
      bad <- setdiff(bad, c(if (told("undefined")) c("overconfidence", "underconfidence", "ece", "sharpness", "calib_slope"),
        if (told("infinite")) c("log_loss", "calib_slope")))
      if (length(bad)) paste("silently not finite:", paste(bad, collapse = ", "))
    },
    reliability_table = {
      full <- value[value$n > 0, ]
      if (anyNA(value$n) || anyNA(full$confidence) || anyNA(full$observed) ||
        any(full$observed < 0 | full$observed > 1 + 1e-12)) "rows without numbers"
    },
    calib_test = if (!inherits(value, if ("by" %in% names(plan$args)) "data.frame" else "htest") || !all(is.finite(value$p.value)) ||
      any(value$p.value < 0 | value$p.value > 1)) {
      "no p-value"
    },
    update = , merge = hostile_wrong_fit(value),
    calib_monitor = if (anyNA(value$path) || !is.data.frame(tidy(value))) "no e-values",
    compare_forecasts = if (anyNA(value$score) || any(is.infinite(value$score)) && !told("infinite")) {
      "silently no score"
    },
    net_benefit = if (anyNA(value$net_benefit) || any(is.infinite(value$net_benefit))) "no net benefit",
    estimate_prior = hostile_wrong_probs(as.vector(value)) %or% (if (abs(sum(value) - 1) > 1e-8) "no frequencies"),
    calib_study = ,
    study_methods = {
      silent <- is.na(value$value) & is.na(value$error) & !value$metric %in% c("overconfidence", "underconfidence")
      if (!is.data.frame(value) || !nrow(value)) return("no rows")
      if (any(silent) && !told("failed", "undefined")) "values missing without an error"
    },
    NULL
  )
}

hostile_wrong_probs <- function(p) {
  if (!is.double(p)) return("not numbers")
  if (any(!is.finite(p))) return("probabilities that are not finite")
  if (any(p < 0 | p > 1)) return("probabilities outside [0, 1]")
}

hostile_wrong_rows <- function(p) {
  wrong <- hostile_wrong_probs(p)
  if (is.null(wrong) && nrow(p) && any(abs(rowSums(p) - 1) > 1e-8)) "rows that do not sum to 1" else wrong
}

hostile_wrong_prediction <- function(plan, value, told = function(...) FALSE) {
  type <- plan$args$type
  if (is.null(type) || length(type) != 1) type <- "prob"
  switch(type,
    class = if (!is.factor(value) || anyNA(value)) "missing classes",
    latent = if (any(!is.finite(value$mean)) || any(!is.finite(value$var)) || any(value$var < 0)) {
      "latent values that are not finite"
    },
    interval = if (!told("undefined")) hostile_wrong_probs(value) %or% (if (any(value[, , 2] > value[, , 3])) "intervals upside down"),
    draws = hostile_wrong_probs(value),
    hostile_wrong_rows(value)
  )
}

`%or%` <- function(x, y) if (is.null(x)) y else x

# A fit must pass its own check and predict from friendly and from extreme scores
hostile_wrong_fit <- function(fit) {
  if (!inherits(fit, "calibrator")) return("no calibrator")
  said <- tryCatch(utils::capture.output(print(summary(fit))), error = identity)
  if (inherits(said, "error")) return(paste("a fit that cannot be printed:", conditionMessage(said)))
  k <- length(fit$classes)
  new <- if (fit$input == "probs") {
    x <- rbind(rep(1 / k, k), c(1, rep(0, k - 1)), c(rep(0, k - 1), 1), seq_len(k) / sum(seq_len(k)))
  } else {
    rbind(rep(0, k), c(5, rep(-5, k - 1)), c(rep(0, k - 1), -1e5), c(rep(-Inf, k - 1), 3), seq_len(k))
  }
  probs <- withCallingHandlers(tryCatch(predict(fit, new), error = identity),
    gpcalib_warning = function(w) invokeRestart("muffleWarning"))
  if (inherits(probs, "error")) return(paste("a fit that cannot predict:", conditionMessage(probs)))
  wrong <- hostile_wrong_rows(probs)
  if (!is.null(wrong)) paste("a fit that predicts", wrong)
}

hostile_others <- c(hostile_others, "calib_test", "compare_forecasts", "plot_murphy", "net_benefit", "calib_monitor")
