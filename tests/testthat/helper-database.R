# Fits of every method and form for calib_sql(), write_calibrator() and the lazy tables.

skip_without_sqlite <- function() {
  for (p in c("DBI", "RSQLite", "dbplyr", "dplyr")) skip_if_not_installed(p)
}

memory_db <- function(env = parent.frame()) {
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  do.call(on.exit, list(substitute(DBI::dbDisconnect(con)), add = TRUE), envir = env)
  con
}

#' Scores with classes c1, ..., ck; probabilities with exact zeros and a certain row
database_rows <- function(k, logits, n = 300) {
  set.seed(100 * k + logits)
  z <- matrix(rnorm(n * k, 0, 2), n)
  y <- apply(z, 1, function(row) sample(k, 1, prob = exp(row / 1.7)))
  x <- if (logits) z else exp(z) / rowSums(exp(z))
  if (!logits) {
    x[1:10, 1] <- 0
    x <- x / rowSums(x)
    x[11, ] <- c(1, rep(0, k - 1))
  }
  colnames(x) <- paste0("c", seq_len(k))
  list(x = x, y = factor(colnames(x)[y], levels = colnames(x)))
}

database_fits <- function(d, logits) {
  suppressWarnings(c(list(
    none = calib_none(d$x, d$y), temperature = calib_temperature(d$x, d$y),
    vector = calib_vector(d$x, d$y), matrix = calib_matrix(d$x, d$y), floored = calib_temperature(d$x, d$y, floor = 1e-3), platt = calib_platt(d$x, d$y),
    platt_score = calib_platt(d$x, d$y, scale = "score"), beta = calib_beta(d$x, d$y),
    isotonic = calib_isotonic(d$x, d$y), steps = calib_isotonic(d$x, d$y, interpolate = FALSE),
    venn = calib_isotonic(d$x, d$y, type = "venn-abers"), width = calib_histogram(d$x, d$y),
    mass = calib_histogram(d$x, d$y, binning = "mass"), bbq = calib_bbq(d$x, d$y),
    gp = calib_gp(d$x, d$y, class_effects = "none"), averaged = calib_gp(d$x, d$y, integrate = TRUE), uncentred = calib_gp(d$x, d$y, center = FALSE)
  ), if (!logits) list(log = calib_gp(d$x, d$y, mean = "log"))))
}

#' Fits whose maps are tables
ordered_fits <- function(d, logits) {
  suppressWarnings(c(list(ordered = calib_gp(d$x, d$y, monotone = TRUE),
    ordered_offset = calib_gp(d$x, d$y, monotone = TRUE, class_effects = "offset"),
    ordered_uncentred = calib_gp(d$x, d$y, monotone = TRUE, center = FALSE)),
    if (!logits) list(ordered_log = calib_gp(d$x, d$y, monotone = TRUE, mean = "log"))))
}

#' How far from predict(approx = "mean") the help pages say that a formula may be
mean_limit <- function(fit) if (fit$method != "gp") 1e-12 else if (isTRUE(fit$monotone)) 1e-5 else 1e-8

by_mean <- function(fit, x) {
  suppressWarnings(if (fit$method == "gp") predict(fit, x, approx = "mean") else predict(fit, x))
}

rename_classes <- function(fit, names) {
  old <- fit$classes
  fit$classes <- names
  if (!is.null(fit$coefficients)) {
    now <- if (length(names) == 2) names[2] else names
    colnames(fit$coefficients) <- colnames(fit$std_error) <- now
  }
  if (!is.null(fit$fixed)) fit$fixed <- names[match(fit$fixed, old)]
  fit
}
