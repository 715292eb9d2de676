# That the database computes predict(approx = "mean") is said once, in the last test.
augment <- function(...) suppressMessages(generics::augment(...), classes = "gpcalib_message_posterior_mean")

expect_same_in_db <- function(con, fit, d, tol) {
  tbl <- dplyr::tbl(con, "rows")
  out <- as.data.frame(augment(fit, tbl))
  out <- out[order(out$id), ]
  p <- by_mean(fit, d$x)
  expect_lt(max(abs(as.matrix(out[paste0(".pred_", colnames(d$x))]) - p)), tol)
  expect_equal(out$.pred_class, colnames(p)[max.col(p, "first")])
}

test_that("every method gives in SQLite what predict() gives, with zeros, ones and ties at edges", {
  skip_without_sqlite()
  con <- memory_db()
  for (k in c(2, 3)) for (logits in c(FALSE, TRUE)) {
    d <- database_rows(k, logits)
    DBI::dbWriteTable(con, "rows", data.frame(id = seq_len(nrow(d$x)), d$x), overwrite = TRUE)
    for (fit in c(database_fits(d, logits), ordered_fits(d, logits))) expect_same_in_db(con, fit, d, mean_limit(fit))
  }
})

test_that("ten and a hundred classes, and effects of the classes", {
  skip_without_sqlite()
  con <- memory_db()
  for (logits in c(FALSE, TRUE)) {
    d <- database_rows(10, logits, 600)
    DBI::dbWriteTable(con, "rows", data.frame(id = seq_len(nrow(d$x)), d$x), overwrite = TRUE)
    bias <- rep(c(0, 1.5), 5)
    y <- apply(d$x, 1, function(row) sample(10, 1, prob = if (logits) exp(row / 1.5 + bias) else row * exp(bias)))
    d$y <- factor(colnames(d$x)[y], levels = colnames(d$x))
    fits <- suppressWarnings(list(
      offset = calib_gp(d$x, d$y, class_effects = "offset"), matrix = calib_gp(d$x, d$y, class_effects = "matrix")))
    expect_equal(vapply(fits, `[[`, "", "class_effects"), c(offset = "offset", matrix = "matrix"))
    for (fit in fits) expect_same_in_db(con, fit, d, 1e-8)
  }
  d <- database_rows(100, FALSE, 400)
  DBI::dbWriteTable(con, "rows", data.frame(id = seq_len(nrow(d$x)), d$x), overwrite = TRUE)
  fits <- suppressWarnings(list(calib_temperature(d$x, d$y), calib_platt(d$x, d$y), calib_isotonic(d$x, d$y)))
  for (fit in fits) expect_same_in_db(con, fit, d, 1e-12)
  gp <- suppressWarnings(calib_gp(d$x, d$y, class_effects = "offset"))
  expect_same_in_db(con, gp, d, 1e-8)
})

test_that("two classes with effects", {
  skip_without_sqlite()
  con <- memory_db()
  for (logits in c(FALSE, TRUE)) {
    d <- database_rows(2, logits, 800)
    set.seed(3)
    odds <- if (logits) d$x[, 2] - d$x[, 1] else stats::qlogis(pmin(pmax(d$x[, 2], 1e-3), 1 - 1e-3))
    d$y <- factor(ifelse(runif(800) < plogis(0.5 * odds - 1.5), "c2", "c1"), levels = c("c1", "c2"))
    DBI::dbWriteTable(con, "rows", data.frame(id = 1:800, d$x), overwrite = TRUE)
    fit <- suppressWarnings(calib_gp(d$x, d$y, class_effects = "matrix"))
    expect_equal(fit$class_effects, "matrix")
    expect_same_in_db(con, fit, d, 1e-8)
  }
})

test_that("one column stands for two classes, under either name", {
  skip_without_sqlite()
  con <- memory_db()
  fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
  p <- c(0, 0.2, 1, 0.7)
  DBI::dbWriteTable(con, "rows", data.frame(q = p, dry = 1 - p))
  tbl <- dplyr::tbl(con, "rows")
  expect_equal(as.data.frame(augment(fit, tbl, columns = "q"))$.pred_rain, unname(predict(fit, p)[, 2]), tolerance = 1e-14)
  expect_equal(as.data.frame(augment(fit, tbl, columns = "dry"))$.pred_rain, unname(predict(fit, p)[, 2]),
    tolerance = 1e-14)
  expect_equal(as.data.frame(augment(fit, tbl, columns = c(dry = "q")))$.pred_dry,
    unname(predict(fit, cbind(dry = p, rain = 1 - p))[, 1]), tolerance = 1e-14)
  expect_error(augment(fit, tbl), "`columns` is needed", class = "gpcalib_error_input")
  expect_error(augment(fit, tbl, columns = "nowhere"), "not there", class = "gpcalib_error_input")
  lo <- suppressWarnings(calib_platt(qlogis(pmin(pmax(rain_nyc$prob, .01), .99)), rain_nyc$rain, input = "logits"))
  DBI::dbWriteTable(con, "logits", data.frame(z = c(-3, 0, 5)))
  expect_equal(as.data.frame(augment(lo, dplyr::tbl(con, "logits"), columns = "z"))$.pred_rain,
    unname(predict(lo, c(-3, 0, 5))[, 2]), tolerance = 1e-14)
})

test_that("NULL, text and what is no probability are errors, or NULL", {
  skip_without_sqlite()
  con <- memory_db()
  d <- database_rows(3, FALSE)
  rows <- data.frame(id = 1:300, d$x)
  rows$c2[c(5, 9)] <- NA
  DBI::dbWriteTable(con, "rows", rows)
  tbl <- dplyr::tbl(con, "rows")
  for (fit in database_fits(d, FALSE)) {
    expect_error(augment(fit, tbl), "NULL.* 2 of 300 rows", class = "gpcalib_error_input")
    out <- as.data.frame(augment(fit, tbl, check = FALSE))
    new <- grep("^.pred", names(out))
    # without calibration a probability is known where it was given
    if (fit$method != "none") expect_true(all(is.na(out[c(5, 9), new])))
    expect_false(anyNA(out[-c(5, 9), new]))
  }
  fit <- calib_temperature(d$x, d$y)
  rows$c2[c(5, 9)] <- 0.999
  DBI::dbWriteTable(con, "rows", rows, overwrite = TRUE)
  expect_error(augment(fit, dplyr::tbl(con, "rows")), "not probabilities in 2 of 300", class = "gpcalib_error_input")
  DBI::dbExecute(con, "CREATE TABLE words (c1 REAL, c2 REAL, c3)")
  DBI::dbExecute(con, "INSERT INTO words VALUES (0.2, 0.3, 'half')")
  expect_error(augment(fit, dplyr::tbl(con, "words")), "not numbers", class = "gpcalib_error_input")
  # rows are clamped and rescaled as predict() does it
  off <- rbind(c(.2002, .3, .5), c(-1e-4, .4, .6), c(.1, .2, .7))
  colnames(off) <- colnames(d$x)
  DBI::dbWriteTable(con, "rows", as.data.frame(off), overwrite = TRUE)
  out <- as.data.frame(augment(fit, dplyr::tbl(con, "rows")))
  expect_equal(unname(as.matrix(out[paste0(".pred_c", 1:3)])), unname(predict(fit, off)), tolerance = 1e-14)
  # logits beyond reach
  z <- database_rows(3, TRUE)
  lo <- calib_temperature(z$x, z$y)
  z$x[4, 2] <- -Inf
  DBI::dbWriteTable(con, "logits", as.data.frame(z$x))
  expect_error(augment(lo, dplyr::tbl(con, "logits")), "infinite logits in 1 of 300", class = "gpcalib_error_input")
})

hostile_names <- c("a\"; DROP TABLE rows; --", "back`tick", "it's \\' ok", "SELECT", "x y", "\u00e9t\u00e9", "?", "$1",
  "[b]", "%s", "NULL", "O'Brien\"`", "a", "--", "/*")

test_that("names and classes that look like SQL stay names", {
  skip_without_sqlite()
  con <- memory_db()
  k <- length(hostile_names)
  d <- database_rows(k, FALSE, 400)
  for (method in c("temperature", "platt", "isotonic", "gp")) {
    fit <- suppressWarnings(get(paste0("calib_", method))(d$x, d$y))
    fit <- rename_classes(fit, hostile_names)
    if (method == "gp" && !is.null(fit$effects)) colnames(fit$effects$effect) <- hostile_names
    x <- d$x
    colnames(x) <- hostile_names
    DBI::dbWriteTable(con, "rows", cbind(`Quoted "id"` = 1:400, as.data.frame(x, optional = TRUE)), overwrite = TRUE)
    out <- as.data.frame(augment(fit, dplyr::tbl(con, "rows")))
    p <- by_mean(fit, x)
    expect_equal(unname(as.matrix(out[paste0(".pred_", hostile_names)])), unname(p), tolerance = 1e-8)
    expect_equal(out$.pred_class, hostile_names[max.col(p, "first")])
  }
  expect_true(DBI::dbExistsTable(con, "rows"))
  table <- "t\"; DROP TABLE rows; --"
  DBI::dbWriteTable(con, table, as.data.frame(x, optional = TRUE))
  query <- calib_sql(fit, con = con, table = table, columns = hostile_names)
  expect_equal(nrow(DBI::dbGetQuery(con, as.character(query))), 400)
  expect_true(DBI::dbExistsTable(con, "rows"))
})

test_that("a thousand classes", {
  skip_without_sqlite()
  con <- memory_db()
  set.seed(1)
  k <- 1000
  d <- database_rows(k, TRUE, 30)
  x <- d$x
  fits <- suppressWarnings(list(calib_temperature(x, d$y), calib_gp(x, d$y, class_effects = "none")))
  DBI::dbWriteTable(con, "rows", data.frame(id = 1:30, x))
  tbl <- dplyr::tbl(con, "rows")
  expect_error(augment(fits[[1]], tbl), "2[0-9]{3} columns, but this database allows 2000", class = "gpcalib_error_input")
  for (fit in fits) {
    out <- as.data.frame(augment(fit, tbl, keep = "id"))
    expect_equal(unname(as.matrix(out[paste0(".pred_", colnames(x))])), unname(by_mean(fit, x)), tolerance = 1e-8)
  }
  small <- nchar(calib_sql(fits[[1]], con = con)$query)
  expect_lt(small, 600 * k)
  # maps of a thousand classes, as CASE and joined twenty at a time
  p <- exp(x) / rowSums(exp(x))
  DBI::dbWriteTable(con, "probs", data.frame(id = 1:30, p))
  fit <- suppressWarnings(calib_histogram(p, d$y))
  query <- calib_sql(fit, colnames(p), con, "probs", "id", lookup = "steps")
  for (statement in query$lookup$statements) DBI::dbExecute(con, statement)
  for (lookup in list(FALSE, "steps")) {
    out <- as.data.frame(augment(fit, dplyr::tbl(con, "probs"), keep = "id", lookup = lookup))
    expect_lt(max(abs(as.matrix(out[order(out$id), paste0(".pred_", colnames(p))]) - predict(fit, p))), 1e-14)
  }
})

test_that("names that a database confuses or cuts are refused", {
  skip_if_not_installed("dbplyr")
  d <- database_rows(2, FALSE)
  fit <- rename_classes(calib_temperature(d$x, d$y), c("a", "A"))
  expect_error(calib_sql(fit, con = dbplyr::simulate_sqlite()), "differ in case", class = "gpcalib_error_input")
  expect_silent(calib_sql(fit, con = dbplyr::simulate_postgres()))
  long <- rename_classes(fit, paste0(strrep("x", 70), 1:2))
  expect_error(calib_sql(long, con = dbplyr::simulate_postgres()), "63 bytes", class = "gpcalib_error_input")
  expect_error(calib_sql(fit, con = dbplyr::simulate_postgres(), keep = "gpcalib_z1"), "gpcalib_", class = "gpcalib_error_input")
  expect_error(calib_sql(fit), "`con` is missing", class = "gpcalib_error_input")
  expect_error(calib_sql(fit, con = 3), "connection of DBI", class = "gpcalib_error_input")
  expect_error(calib_sql(fit, con = dbplyr::simulate_postgres(), columns = c("a", "b", "c")), "3 columns",
    class = "gpcalib_error_input")
  expect_error(calib_sql(fit, con = dbplyr::simulate_postgres(), table = 3), "`table`", class = "gpcalib_error_input")
})

test_that("the difference between the posterior mean and predict() is told", {
  skip_if_not_installed("dbplyr")
  fit <- suppressWarnings(calib_gp(rain_nyc$prob[1:300], rain_nyc$rain[1:300]))
  query <- calib_sql(fit, con = dbplyr::simulate_postgres())
  expect_false(query$exact)
  p <- seq(min(rain_nyc$prob[1:300]), max(rain_nyc$prob[1:300]), length.out = 200)
  most <- max(abs(suppressWarnings(predict(fit, p)) - by_mean(fit, p)))
  expect_gt(query$difference, 0.95 * most)
  d <- database_rows(3, FALSE)
  three <- calib_gp(d$x, d$y)
  expect_identical(calib_sql(three, con = dbplyr::simulate_postgres())$difference, NA_real_)
  expect_equal(calib_sql(three, con = dbplyr::simulate_postgres(), newdata = d$x)$difference,
    max(abs(predict(three, d$x) - by_mean(three, d$x))))
  platt <- calib_platt(d$x, d$y)
  expect_true(calib_sql(platt, con = dbplyr::simulate_postgres())$exact)
  expect_error(calib_sql(platt, con = dbplyr::simulate_postgres(), newdata = d$x), "only for calib_gp",
    class = "gpcalib_error_input")
})

test_that("a lazy table stays lazy, keeps its columns and can be augmented again", {
  skip_without_sqlite()
  con <- memory_db()
  d <- database_rows(3, FALSE)
  DBI::dbWriteTable(con, "rows", data.frame(id = 1:300, d$x, place = rep(c("x", "y"), 150)))
  one <- calib_temperature(d$x, d$y)
  tbl <- dplyr::filter(dplyr::tbl(con, "rows"), place == "y")
  first <- augment(one, tbl)
  expect_s3_class(first, "tbl_lazy")
  second <- dplyr::collect(augment(one, first, columns = paste0(".pred_c", 1:3), keep = "id"))
  expect_equal(unname(as.matrix(second[2:4])), unname(predict(one, predict(one, d$x[seq(2, 300, 2), ]))),
    tolerance = 1e-13)
  expect_equal(names(dplyr::collect(first)), c("id", "c1", "c2", "c3", "place", ".pred_c1", ".pred_c2", ".pred_c3", ".pred_class"))
  expect_error(augment(one, tbl, interval = TRUE), "lazy tables", class = "gpcalib_error_input")
  expect_error(predict(one, tbl), "is a lazy table", class = "gpcalib_error_input")
  expect_error(ece(tbl, 1:3), "is a lazy table.*calib_metrics", class = "gpcalib_error_input")
})

test_that("dialects: translations are what they were", {
  skip_if_not_installed("dbplyr")
  simulated <- function(name) getExportedValue("dbplyr", paste0("simulate_", name))()
  cons <- list(sqlite = simulated("sqlite"), postgres = simulated("postgres"), mssql = simulated("mssql"),
    snowflake = simulated("snowflake"), spark = simulated("hive"),
    bigquery = structure(list(), class = c("BigQueryConnection", "TestConnection", "DBIConnection")))
  d <- list(x = c(.2, .7, .4, .9, .3, .8, .1, .6, .55, .35), y = c(0, 1, 0, 1, 1, 1, 0, 1, 0, 0))
  gp <- suppressWarnings(calib_gp(d$x, d$y, inducing = c(-1, 1), class_effects = "none", hyper = c(variance = 1,
    lengthscale = 1, slope = 1)))
  gp$q_mean <- c(0.5, -0.25)
  fits <- list(rename_classes(calib_platt(d$x, d$y), c("no", "it's")), calib_histogram(d$x, d$y, bins = 3), gp)
  fits[[1]]$coefficients[] <- c(1.5, -0.25)
  for (name in names(cons)) {
    for (fit in fits) {
      expect_snapshot(cat(calib_sql(fit, c("p \"1\"", "p2"), cons[[name]], "my table", keep = "id")$query))
    }
  }
  expect_snapshot(print(calib_sql(fits[[1]], "p", cons$postgres), lines = 5))
})

test_that("literals come back as the same number", {
  set.seed(1)
  x <- c(0, 1, 1 / 3, 0.1, -0.07, 1e-300, .Machine$double.xmax, .Machine$double.xmin, runif(900), exp(rnorm(900, 0, 50)))
  text <- gpcalib:::literal(x)
  expect_equal(as.double(gsub("[()]", "", text)), x, tolerance = 0)
  expect_true(all(grepl("e", text, fixed = TRUE)))
  skip_without_sqlite()
  con <- memory_db()
  back <- DBI::dbGetQuery(con, paste("SELECT", paste(text, collapse = ", ")))
  expect_identical(unname(unlist(back)), x)
})

test_that("many steps are joined: every map, ties, zeros, ten and a hundred classes", {
  skip_without_sqlite()
  con <- memory_db()
  set.seed(7)
  p <- sort(round(runif(4000), 4))
  y <- as.integer(runif(4000) < p)
  fits <- suppressWarnings(list(steps = calib_histogram(p, y, bins = 1500, binning = "mass"),
    width = calib_histogram(p, y, bins = 1100), lines = calib_isotonic(p, y), flat = calib_isotonic(p, y, interpolate = FALSE),
    venn = calib_isotonic(p, y, type = "venn-abers")))
  new <- c(p, fits$steps$x, 0, 1, runif(500))
  DBI::dbWriteTable(con, "rows", data.frame(id = seq_along(new), p = new))
  tbl <- dplyr::tbl(con, "rows")
  for (name in names(fits)) {
    fit <- fits[[name]]
    query <- calib_sql(fit, "p", con, "rows", "id", lookup = "my \"steps\"")
    for (statement in query$lookup$statements) DBI::dbExecute(con, statement)
    out <- DBI::dbGetQuery(con, as.character(query))
    expect_equal(out$.pred_1[order(out$id)], unname(predict(fit, new)[, 2]), tolerance = 1e-14, label = name)
    expect_lt(nchar(query$query), 20000) # it does not grow with the steps
    expect_equal(as.data.frame(augment(fit, tbl, columns = "p", lookup = "my \"steps\""))$.pred_1, out$.pred_1)
    DBI::dbRemoveTable(con, "my \"steps\"")
    # by itself where there are many, else CASE
    many <- nrow(query$lookup$rows) > 1000
    expect_equal(is.null(calib_sql(fit, "p", con)$lookup), !many)
    expect_null(calib_sql(fit, "p", con, lookup = FALSE)$lookup)
    expect_equal(as.data.frame(augment(fit, tbl, columns = "p"))$.pred_1, out$.pred_1, tolerance = 1e-14)
  }
  expect_output(print(calib_sql(fits$steps, "p", con)), "joins the table gpcalib_steps of 1[0-9]{3} rows")
  expect_setequal(DBI::dbListTables(con), c("rows", grep("^gpcalib_", DBI::dbListTables(con), value = TRUE)))
  for (k in c(3, 100)) {
    d <- database_rows(k, k == 3, 400)
    DBI::dbWriteTable(con, "rows", data.frame(id = 1:400, d$x), overwrite = TRUE)
    fits <- c(suppressWarnings(list(calib_isotonic(d$x, d$y), calib_histogram(d$x, d$y), calib_isotonic(d$x, d$y, type = "venn-abers"))),
      if (k == 3) ordered_fits(d, TRUE))
    for (fit in fits) {
      query <- calib_sql(fit, colnames(d$x), con, "rows", "id", lookup = "steps")
      for (statement in query$lookup$statements) DBI::dbExecute(con, statement)
      out <- as.data.frame(augment(fit, dplyr::tbl(con, "rows"), lookup = "steps"))
      out <- out[order(out$id), ]
      expect_lt(max(abs(as.matrix(out[paste0(".pred_", colnames(d$x))]) - by_mean(fit, d$x))), mean_limit(fit))
      DBI::dbRemoveTable(con, "steps")
    }
  }
  # NULL stays NULL
  DBI::dbWriteTable(con, "rows", data.frame(p = c(0.2, NA)), overwrite = TRUE)
  fit <- calib_histogram(p, y, bins = 1500, binning = "mass")
  expect_equal(is.na(as.data.frame(augment(fit, dplyr::tbl(con, "rows"), columns = "p", check = FALSE))$.pred_1), c(FALSE, TRUE))
  expect_error(calib_sql(calib_platt(p, y), "p", con, lookup = "steps"), "no steps to put there", class = "gpcalib_error_input")
  expect_error(calib_sql(fit, "p", con, lookup = 3), "`lookup`", class = "gpcalib_error_input")
  spark <- dbplyr::simulate_hive()
  expect_null(calib_sql(fit, "p", spark, lookup = FALSE)$lookup)
  expect_match(calib_sql(fit, "p", spark)$query, "LEFT JOIN `gpcalib_steps` gpcalib_m1 ON")
})

test_that("what cannot be written is refused", {
  skip_if_not_installed("dbplyr")
  steep <- suppressWarnings(calib_gp(c(-1e4, -9e3, 1, 2, 9e3, 1e4), c(0, 0, 1, 0, 1, 1), input = "logits", monotone = TRUE,
    hyper = c(slope = 1)))
  expect_error(calib_sql(steep, con = dbplyr::simulate_postgres()), "so steep", class = "gpcalib_error_input")
  expect_error(write_calibrator(steep, tempfile()), "so steep", class = "gpcalib_error_input")
})

test_that("a message says that the database computes predict(approx = \"mean\")", {
  skip_without_sqlite()
  con <- memory_db()
  d <- rain_nyc[1:200, ]
  DBI::dbWriteTable(con, "rows", data.frame(prob = d$prob))
  fit <- calib_gp(d$prob, d$rain)
  expect_message(generics::augment(fit, dplyr::tbl(con, "rows"), columns = "prob"), "The database computes predict\\(approx = \"mean\"\\)",
    class = "gpcalib_message_posterior_mean")
  expect_no_message(generics::augment(calib_platt(d$prob, d$rain), dplyr::tbl(con, "rows"), columns = "prob"))
})
