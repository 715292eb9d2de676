rows_of <- function(k, n = 400, seed = 1) {
  set.seed(seed)
  z <- matrix(rnorm(n * k), n)
  p <- exp(z) / rowSums(exp(z))
  colnames(p) <- letters[seq_len(k)]
  p <- round(p, 2) # ties at the edges of bins
  p <- p / rowSums(p)
  list(p = p, y = factor(letters[apply(p, 1, function(row) sample(k, 1, prob = row + 0.02))], levels = colnames(p)),
    w = sample(0:3, n, TRUE) + 0.5, g = sample(c("x", "y", "z"), n, TRUE))
}

same_metrics <- function(a, b, tol = 1e-12) {
  a <- a[a$measure != "calib_slope", ]
  b <- b[b$measure != "calib_slope", ]
  expect_equal(a$measure, b$measure)
  expect_equal(a$estimate, b$estimate, tolerance = tol)
}

types <- list("confidence", "classwise", "top_label", "event")

test_that("tables and measures of sums are those of rows", {
  d <- rows_of(3)
  for (type in types) for (w in list(NULL, d$w)) {
    event <- if (type == "event") "b"
    sums <- calib_sums(d$p, d$y, bins = 10, type = type, event = event, weights = w, eps = 1e-6)
    same_metrics(calib_metrics(sums), calib_metrics(d$p, d$y, bins = 10, type = type, event = event, weights = w, eps = 1e-6))
    expect_equal(calib_metrics(sums, norm = 2, debias = TRUE)$estimate[4],
      ece(d$p, d$y, bins = 10, type = type, event = event, weights = w, norm = 2, debias = TRUE))
    expect_equal(calib_metrics(sums, norm = 3, estimator = "unweighted")$estimate[4],
      ece(d$p, d$y, bins = 10, type = type, event = event, weights = w, norm = 3, estimator = "unweighted"))
    table <- reliability_table(sums, interval = "clopper-pearson")
    expect_equal(table, reliability_table(d$p, d$y, bins = 10, type = type, event = event, weights = w,
      interval = "clopper-pearson"), tolerance = 1e-12)
  }
  sums <- calib_sums(d$p, d$y, type = "classwise")
  expect_equal(reliability_table(sums, classes = 2), reliability_table(d$p, d$y, type = "classwise", classes = 2))
  expect_equal(reliability_table(sums, classes = "c"), reliability_table(d$p, d$y, type = "classwise", classes = "c"))
  by <- calib_sums(d$p, d$y, by = d$g)
  expect_equal(as.data.frame(reliability_table(by)), as.data.frame(reliability_table(d$p, d$y, by = d$g)), tolerance = 1e-12)
  same_metrics(calib_metrics(by), calib_metrics(d$p, d$y, by = d$g))
  expect_s3_class(ggplot2::autoplot(reliability_table(calib_sums(d$p, d$y))), "ggplot")
})

test_that("parts merge in any order and number: counts to the last bit, sums to 1e-12", {
  d <- rows_of(3, 1000)
  whole <- calib_sums(d$p, d$y, weights = d$w, by = d$g, type = "classwise")
  for (parts in c(2, 7, 100)) {
    owner <- sample(rep(seq_len(parts), length.out = 1000))
    pieces <- lapply(split(1:1000, owner), function(i) {
      calib_sums(d$p[i, ], d$y[i], weights = d$w[i], by = d$g[i], type = "classwise")
    })
    forwards <- Reduce(`+`, pieces)
    backwards <- Reduce(`+`, rev(pieces))
    for (name in names(whole$parts)) {
      for (other in list(forwards, backwards)) {
        expect_identical(other$parts[[name]]$bins[, "n"], whole$parts[[name]]$bins[, "n"])
        expect_equal(other$parts[[name]], whole$parts[[name]], tolerance = 1e-12)
      }
    }
    expect_identical(names(forwards$parts), names(backwards$parts))
  }
  plain <- Reduce(`+`, lapply(split(1:1000, rep(1:10, 100)), function(i) calib_sums(d$p[i, ], d$y[i])))
  expect_identical(plain$parts$all$bins[, c("n", "weight", "hits")],
    calib_sums(d$p, d$y)$parts$all$bins[, c("n", "weight", "hits")])
  file <- tempfile()
  saveRDS(plain, file)
  expect_identical(readRDS(file) + plain, plain + plain)
})

test_that("the spread of the confidence keeps its digits when parts are added", {
  p <- rep(c(0.9, 0.9 + 1e-9), 500)
  y <- rep(0:1, each = 500)
  parts <- lapply(split(1:1000, rep(1:20, 50)), function(i) calib_sums(p[i], y[i]))
  both <- calib_metrics(Reduce(`+`, parts))
  expect_gt(sharpness(p, y), 0) # about 1e-18: sums of squares would not show it
  expect_equal(both$estimate[both$measure == "sharpness"] / sharpness(p, y), 1, tolerance = 1e-5)
  same <- calib_metrics(calib_sums(rep(0.9, 10), rep(0:1, 5)) + calib_sums(rep(0.9, 10), rep(0:1, 5)))
  expect_identical(same$estimate[9], 0)
  expect_error(calib_sums(p, y, weights = rep(1e150, 1000)), "squared", class = "gpcalib_error_input")
  w <- rep(c(1e150, 3e150), 500)
  expect_equal(reliability_table(p, y, weights = w)$conf.low, reliability_table(p, y, weights = w / 1e150)$conf.low)
})

test_that("sums that do not belong together, and damaged ones, are refused", {
  d <- rows_of(3)
  one <- calib_sums(d$p, d$y)
  expect_error(one + calib_sums(d$p, d$y, bins = 10), "differs from `e1` in `bins`", class = "gpcalib_error_input")
  expect_error(one + calib_sums(d$p, d$y, type = "classwise"), "`type`", class = "gpcalib_error_input")
  expect_error(one + 1, "made by calib_sums", class = "gpcalib_error_input")
  expect_error(one - one, "no `-`", class = "gpcalib_error_input")
  bad <- one
  bad$parts$all$bins[3, 2] <- NA
  expect_error(calib_metrics(bad), "damaged", class = "gpcalib_error_input")
  expect_error(calib_metrics(one, bins = 3), "cannot be applied to sums", class = "gpcalib_error_input")
  expect_error(calib_metrics(one, conf_level = 0.9), "need the rows", class = "gpcalib_error_input")
  expect_error(reliability_table(one, method = "isotonic"), "not for sums", class = "gpcalib_error_input")
  zero <- calib_sums(rbind(c(a = 0, b = 1), c(a = .5, b = .5)), c("a", "b"))
  expect_warning(expect_warning(got <- calib_metrics(zero), class = "gpcalib_warning_infinite"), class = "gpcalib_warning_undefined")
  expect_equal(got$estimate[2], Inf)
  expect_output(print(one), "400 rows, 3 classes, confidence, 15 bins")
})

# In the database ---------------------------------------------------------------------------

test_that("lazy tables give what rows give: 2, 10 and 100 classes, ties at edges, weights, groups", {
  skip_without_sqlite()
  con <- memory_db()
  for (k in c(2, 10)) {
    d <- rows_of(k)
    frame <- data.frame(truth = as.character(d$y), w = d$w, g = d$g)
    frame[paste0(".pred_", colnames(d$p))] <- as.data.frame(d$p)
    DBI::dbWriteTable(con, "rows", frame, overwrite = TRUE)
    tbl <- dplyr::tbl(con, "rows")
    for (type in types) {
      event <- if (type == "event") "b"
      expect_equal(reliability_table(tbl, truth = truth, type = type, event = event, bins = 20),
        reliability_table(d$p, d$y, type = type, event = event, bins = 20), tolerance = 1e-12)
      same_metrics(calib_metrics(tbl, truth = truth, type = type, event = event, weights = w, by = g, eps = 1e-3),
        calib_metrics(d$p, d$y, type = type, event = event, weights = d$w, by = d$g, eps = 1e-3))
    }
  }
  d <- rows_of(26, 300)
  wide <- cbind(d$p, matrix(0, 300, 74, dimnames = list(NULL, paste0("q", 1:74))))
  y <- factor(as.character(d$y), levels = colnames(wide))
  DBI::dbWriteTable(con, "wide", data.frame(truth = as.character(y), wide))
  tbl <- dplyr::tbl(con, "wide")
  same_metrics(calib_metrics(tbl, truth = truth, estimate = -truth, type = "classwise", eps = 1e-3),
    calib_metrics(wide, y, type = "classwise", eps = 1e-3))
  # two columns as groups
  DBI::dbWriteTable(con, "more", data.frame(p = rain_nyc$prob, rain = as.character(rain_nyc$rain),
    origin = as.character(rain_nyc$origin), half = seq_len(nrow(rain_nyc)) %% 2))
  got <- reliability_table(dplyr::tbl(con, "more"), truth = rain, estimate = p, by = c(origin, half))
  expect_equal(levels(got$by)[1:2], c("EWR, 0", "EWR, 1"))
})

test_that("two-digit forecasts fall into the bins they fall into in R", {
  skip_without_sqlite()
  con <- memory_db()
  p <- rep((0:100) / 100, 5)
  y <- rep(0:1, length.out = length(p))
  DBI::dbWriteTable(con, "rows", data.frame(p = p, y = y))
  for (bins in c(10, 15, 100)) {
    expect_identical(calib_sums(dplyr::tbl(con, "rows"), truth = y, estimate = p, bins = bins)$parts$all$bins[, c("n", "hits")],
      calib_sums(p, y, bins = bins)$parts$all$bins[, c("n", "hits")])
  }
})

test_that("NULL, unknown labels and bad weights are errors that count", {
  skip_without_sqlite()
  con <- memory_db()
  frame <- data.frame(a = c(.2, .3, .4), b = c(.8, .7, .6), y = c("a", "b", "b"), w = 1:3, g = "x")
  try_with <- function(change, what) {
    frame <- change(frame)
    DBI::dbWriteTable(con, "rows", frame, overwrite = TRUE)
    tbl <- dplyr::tbl(con, "rows")
    expect_error(calib_sums(tbl, truth = y, estimate = c(a, b), weights = w, by = g), what, class = "gpcalib_error_input")
  }
  try_with(function(x) { x$a[2] <- NA; x }, "1 of 3 rows")
  try_with(function(x) { x$y[2:3] <- NA; x }, "2 of 3 rows")
  try_with(function(x) { x$y[1] <- "z"; x }, "1 of 3 rows")
  try_with(function(x) { x$w[1] <- -1; x }, "1 of 3 rows")
  try_with(function(x) { x$g[3] <- NA; x }, "1 of 3 rows")
  try_with(function(x) { x$a[3] <- .9; x }, "1 of 3 rows that are not probabilities")
  DBI::dbWriteTable(con, "rows", frame, overwrite = TRUE)
  tbl <- dplyr::tbl(con, "rows")
  expect_error(calib_sums(tbl, estimate = c(a, b)), "`truth` is missing", class = "gpcalib_error_input")
  expect_error(calib_metrics(tbl, truth = y, estimate = c(a, b), conf_level = .9), "need the rows", class = "gpcalib_error_input")
  expect_error(calib_sums(tbl, truth = nowhere, estimate = c(a, b)), "truth", class = "gpcalib_error_input")
  expect_error(calib_sums(tbl, truth = y, estimate = w), class = "gpcalib_error_input")
  expect_error(calib_sums(dplyr::filter(tbl, w > 5), truth = y, estimate = c(a, b)), "no values", class = "gpcalib_error_input")
})

test_that("labels of any kind, and names that look like SQL", {
  skip_without_sqlite()
  con <- memory_db()
  p <- c(.1, .9, .3, .8, .6)
  y <- c(0L, 1L, 0L, 1L, 0L)
  expected <- calib_sums(p, y)$parts$all
  DBI::dbWriteTable(con, "rows", data.frame(p = p, int = y, num = as.double(y), text = c("no", "it's")[y + 1], flag = y == 1))
  tbl <- dplyr::tbl(con, "rows")
  expect_equal(calib_sums(tbl, truth = int, estimate = p)$parts$all, expected)
  expect_equal(calib_sums(tbl, truth = num, estimate = p)$parts$all, expected)
  expect_equal(calib_sums(tbl, truth = flag, estimate = p)$parts$all, expected)
  text <- calib_sums(tbl, truth = text, estimate = p, event = "no")
  expect_equal(text$classes, c("it's", "no"))
  names <- c("it's; DROP TABLE rows; --", "b\"`'")
  wide <- stats::setNames(data.frame(1 - p, p), paste0(".pred_", names))
  wide[["truth \" ' `"]] <- names[y + 1]
  wide[["g;--"]] <- "x'y"
  DBI::dbWriteTable(con, "t'; --", wide)
  got <- calib_sums(dplyr::tbl(con, "t'; --"), truth = `truth " ' \``, by = `g;--`)
  expect_equal(got$parts$`x'y`, expected)
  expect_equal(got$classes, names)
  expect_true(DBI::dbExistsTable(con, "rows"))
})

# Counts ------------------------------------------------------------------------------------

test_that("counts are those of rows, in R and in the database", {
  d <- rows_of(2, 2000)
  p <- d$p[, 2]
  p[1:3] <- c(0, 1, 0)
  y <- d$y
  for (scale in c("logit", "prob")) {
    counts <- calib_counts(p, y, digits = 1, scale = scale)
    expect_equal(sum(counts$n), 2000)
    expect_equal(sum(counts$n[counts$label == "b"]), sum(y == "b"))
    if (scale == "prob") expect_equal(sum(counts$n * counts$prob), sum(p))
    expect_equal(range(counts$prob), c(0, 1))
    # equal scores keep their exact value
    exact <- calib_counts(p, y, digits = 12, scale = "prob")
    expect_setequal(exact$prob, p)
    skip_without_sqlite()
    con <- memory_db()
    DBI::dbWriteTable(con, "rows", data.frame(p = p, y = as.character(y), g = rep(c("u", "v"), 1000)))
    tbl <- dplyr::tbl(con, "rows")
    expect_equal(calib_counts(tbl, truth = y, estimate = p, digits = 1, scale = scale), counts, tolerance = 1e-12)
    expect_equal(calib_counts(tbl, truth = y, estimate = p, by = g), calib_counts(p, y, by = rep(c("u", "v"), 1000)),
      tolerance = 1e-12)
  }
})

test_that("fits to counts are within the stated distance of fits to rows", {
  set.seed(4)
  z <- rnorm(20000, -1, 2)
  sets <- list(list(p = plogis(z), y = as.integer(runif(20000) < plogis(0.7 * z - 0.3))),
    list(p = rain_nyc$prob, y = as.integer(rain_nyc$rain == "rain")))
  for (d in sets) {
    counts <- calib_counts(d$p, d$y)
    apart <- function(fit, ...) {
      abs(suppressWarnings(predict(fit(counts$prob, counts$label, weights = counts$n, ...), d$p) -
        predict(fit(d$p, d$y, ...), d$p)))
    }
    smooth <- list(calib_none, calib_temperature, calib_platt, calib_beta, calib_vector, calib_matrix)
    for (fit in smooth) expect_lt(max(apart(fit)), 1e-5)
    expect_lt(max(apart(calib_gp)), 1e-3)
    if (length(d$p) < 5000) {
      for (more in list(list(class_effects = "matrix"), list(monotone = TRUE), list(integrate = TRUE))) {
        expect_lt(max(do.call(apart, c(list(calib_gp), more))), 1e-3)
      }
    }
    venn <- function(...) calib_isotonic(..., type = "venn-abers")
    stepped <- list(calib_isotonic, venn, calib_histogram, function(...) calib_histogram(..., binning = "mass"))
    if (length(d$p) < 5000) stepped <- c(stepped, calib_bbq)
    for (fit in stepped) {
      gap <- apart(fit)
      expect_lt(max(gap), if (identical(fit, calib_isotonic) || identical(fit, venn)) 0.05 else if (identical(fit, calib_bbq)) 0.5 else 0.2)
      expect_lt(mean(gap), 2.5e-3)
    }
    counts <- calib_counts(d$p, d$y, digits = 4)
    expect_lt(mean(apart(calib_isotonic)), 1e-4)
    for (fit in c(smooth, calib_gp)) expect_lt(max(apart(fit)), 1e-6)
  }
})

test_that("validation, curves and bins of equal mass of lazy tables", {
  skip_without_sqlite()
  con <- memory_db()
  set.seed(5)
  z <- rnorm(5000, -1, 1.5)
  p <- plogis(z)
  y <- as.integer(runif(5000) < plogis(0.8 * z + 0.2))
  g <- rep(c("u", "v"), 2500)
  DBI::dbWriteTable(con, "rows", data.frame(p = p, y = y, g = g))
  tbl <- dplyr::tbl(con, "rows")
  for (by in list(NULL, g)) {
    lazy <- if (is.null(by)) calib_validate(tbl, truth = y, estimate = p) else calib_validate(tbl, truth = y, estimate = p, by = g)
    rows <- calib_validate(p, y, by = by)
    expect_equal(as.double(attr(lazy, "n")), as.double(attr(rows, "n")))
    curve <- rows$measure %in% c("ici", "e50", "e90", "emax")
    expect_equal(as.data.frame(lazy)[!curve, ], as.data.frame(rows)[!curve, ], tolerance = 1e-4)
    expect_lt(max(abs(lazy$estimate - rows$estimate)[curve]), 2e-3)
    expect_s3_class(ggplot2::autoplot(lazy), "ggplot")
  }
  expect_equal(as.data.frame(reliability_table(tbl, truth = y, estimate = p, binning = "mass")),
    as.data.frame(reliability_table(p, y, binning = "mass")), tolerance = 1e-5)
  lazy <- reliability_table(tbl, truth = y, estimate = p, method = "isotonic", conf_level = NULL)
  rows <- reliability_table(p, y, method = "isotonic", conf_level = NULL)
  expect_equal(summary(lazy)$miscalibration, summary(rows)$miscalibration, tolerance = 1e-3)
  expect_error(reliability_table(tbl, truth = y, estimate = p, groups = g), "lazy", class = "gpcalib_error_input")
})

test_that("queries of sums in other dialects are what they were", {
  skip_if_not_installed("dbplyr")
  cons <- list(postgres = dbplyr::simulate_postgres(), mssql = dbplyr::simulate_mssql(), spark = dbplyr::simulate_hive(),
    snowflake = dbplyr::simulate_snowflake(),
    bigquery = structure(list(), class = c("BigQueryConnection", "TestConnection", "DBIConnection")))
  for (con in cons) {
    tbl <- dbplyr::lazy_frame(.pred_a = 1, .pred_b = 0, y = "a", `g"` = "x", con = con)
    columns <- gpcalib:::lazy_columns(quote(f(truth = y, by = `g"`)), tbl, environment())
    spec <- gpcalib:::ece_spec(columns$classes, bins = 3)
    expect_snapshot(cat(gpcalib:::lazy_sum_queries(columns, spec, 0)[[1]]))
    expect_snapshot(cat(gpcalib:::lazy_count_query(columns, 2L, 2, "logit")))
  }
})
