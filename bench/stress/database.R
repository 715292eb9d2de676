# Calibrators, tables and measures in PostgreSQL against those in R. Run by tools/postgres.sh, which starts a server:
# make stress ATTACK=database, and with the argument `short`, fewer classes, by make test. Values are written with 17 digits, so
# that ties fall where they fall in R. Status 77: the driver is not installed.

short <- "short" %in% commandArgs(TRUE)
for (package in c("RPostgreSQL", "dbplyr", "dplyr")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    cat("the comparison with PostgreSQL needs the R package", package, "\n")
    quit(status = 77)
  }
}
library(gpcalib)
source("tests/testthat/helper-database.R")
con <- suppressWarnings(DBI::dbConnect(RPostgreSQL::PostgreSQL(), host = Sys.getenv("PGHOST"), user = Sys.getenv("PGUSER"),
  dbname = Sys.getenv("PGDATABASE")))
quiet <- DBI::dbExecute(con, "SET client_min_messages = warning")
passed <- failed <- 0

note <- function(what, apart, limit) {
  ok <- isTRUE(apart <= limit)
  if (ok) passed <<- passed + 1 else failed <<- failed + 1
  if (!ok || !short) cat(sprintf("%-40s %8.1e  %s\n", what, apart, if (ok) "ok" else "FAILED"))
}

quoted <- function(x) as.character(DBI::dbQuoteIdentifier(con, x))

write_rows <- function(name, frame) {
  suppressWarnings(DBI::dbExecute(con, paste("DROP TABLE IF EXISTS", quoted(name))))
  types <- ifelse(vapply(frame, is.numeric, NA), "DOUBLE PRECISION", "TEXT")
  DBI::dbExecute(con, paste0("CREATE TABLE ", quoted(name), " (", paste(quoted(names(frame)), types, collapse = ", "), ")"))
  cells <- lapply(frame, function(x) {
    ifelse(is.na(x), "NULL", if (is.numeric(x)) sprintf("%.17g", x) else as.character(DBI::dbQuoteString(con, as.character(x))))
  })
  rows <- do.call(paste, c(unname(cells), sep = ", "))
  invisible(DBI::dbExecute(con, paste0("INSERT INTO ", quoted(name), " VALUES ", paste0("(", rows, ")", collapse = ", "))))
}

for (k in if (short) c(2, 3) else c(2, 10, 100)) for (logits in c(FALSE, TRUE)) {
  d <- database_rows(k, logits)
  write_rows("rows", data.frame(id = seq_len(nrow(d$x)), d$x))
  fits <- if (k < 100) {
    c(database_fits(d, logits), ordered_fits(d, logits), list(effects = suppressWarnings(calib_gp(d$x, d$y, class_effects = "matrix"))))
  } else {
    suppressWarnings(list(temperature = calib_temperature(d$x, d$y), platt = calib_platt(d$x, d$y),
      isotonic = calib_isotonic(d$x, d$y), gp = calib_gp(d$x, d$y, class_effects = "offset")))
  }
  for (name in names(fits)) {
    out <- as.data.frame(suppressWarnings(augment(fits[[name]], dplyr::tbl(con, "rows"))))
    out <- out[order(out$id), ]
    apart <- max(abs(as.matrix(out[paste0(".pred_", colnames(d$x))]) - by_mean(fits[[name]], d$x)))
    note(paste(k, "classes,", if (logits) "logits," else "probabilities,", name), apart, mean_limit(fits[[name]]))
    if (is.null(gpcalib:::sql_pieces(fits[[name]]))) next
    query <- calib_sql(fits[[name]], colnames(d$x), con, "rows", "id", lookup = "my steps")
    for (statement in query$lookup$statements) DBI::dbExecute(con, statement)
    joined <- DBI::dbGetQuery(con, as.character(query))
    joined <- joined[order(joined$id), paste0(".pred_", colnames(d$x))]
    note(paste(k, "classes, joined,", name), max(abs(as.matrix(joined) - as.matrix(out[names(joined)]))), 1e-12)
    dropped <- DBI::dbExecute(con, "DROP TABLE \"my steps\"")
  }
}

for (k in if (short) c(2, 10) else c(2, 10, 100)) {
  d <- database_rows(k, FALSE)
  frame <- data.frame(truth = as.character(d$y), g = rep(c("x", "y"), 150), d$x)
  write_rows("rows", frame)
  tbl <- dplyr::tbl(con, "rows")
  for (type in c("confidence", "classwise", "top_label", "event")) {
    event <- if (type == "event") "c2"
    a <- calib_metrics(tbl, truth = truth, estimate = starts_with("c"), type = type, event = event, by = g, eps = 1e-6)
    b <- suppressWarnings(calib_metrics(d$x, d$y, type = type, event = event, by = frame$g, eps = 1e-6))
    note(paste(k, "classes, measures,", type), max(abs(a$estimate - b$estimate)[a$measure != "calib_slope"]), 1e-12)
    a <- reliability_table(tbl, truth = truth, estimate = starts_with("c"), type = type, event = event)
    b <- reliability_table(d$x, d$y, type = type, event = event)
    note(paste(k, "classes, table,", type), max(abs(a$n - b$n)), 0)
  }
}

p <- rep((0:100) / 100, 20)
write_rows("rows", data.frame(p = p, y = as.character(rep(0:1, length.out = length(p)))))
a <- calib_sums(dplyr::tbl(con, "rows"), truth = y, estimate = p, bins = 100)
b <- calib_sums(p, rep(0:1, length.out = length(p)), bins = 100)
note("two-digit forecasts, 100 bins", max(abs(a$parts$all$bins[, "n"] - b$parts$all$bins[, "n"])), 0)
v <- suppressWarnings(calib_validate(dplyr::tbl(con, "rows"), truth = y, estimate = p, conf_level = NULL))
w <- suppressWarnings(calib_validate(p, rep(0:1, length.out = length(p)), conf_level = NULL))
note("validation", max(abs(v$estimate - w$estimate)), 1e-6)

set.seed(1)
p <- round(runif(3000), 4)
fit <- suppressWarnings(calib_histogram(p, as.integer(runif(3000) < p), bins = 1500, binning = "mass"))
write_rows("rows", data.frame(id = seq_along(p), p = p))
out <- as.data.frame(augment(fit, dplyr::tbl(con, "rows"), columns = "p"))
note("more than a thousand steps", max(abs(out$.pred_1[order(out$id)] - predict(fit, p)[, 2])), 1e-15)

names <- c("a\"; DROP TABLE rows; --", "it's", "x y", "SELECT")
d <- database_rows(4, FALSE)
fit <- rename_classes(calib_temperature(d$x, d$y), names)
colnames(d$x) <- names
write_rows("rows", as.data.frame(d$x, optional = TRUE))
out <- as.data.frame(augment(fit, dplyr::tbl(con, "rows")))
note("names that look like SQL", max(abs(as.matrix(out[paste0(".pred_", names)]) - predict(fit, d$x))), 1e-12)
changed <- DBI::dbExecute(con, paste0("UPDATE rows SET ", quoted("x y"), " = NULL WHERE ", quoted("SELECT"), " > 0.5"))
caught <- inherits(try(augment(fit, dplyr::tbl(con, "rows")), silent = TRUE), "try-error")
note("NULL is an error", as.double(!caught), 0)
invisible(DBI::dbDisconnect(con))
cat("PostgreSQL: ", passed, " passed, ", failed, " failed\n", sep = "")
if (failed) quit(status = 1)
