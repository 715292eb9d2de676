# Rscript bench/database.R [ROWS] [FOLDER]: calibrators and measures in DuckDB, 50 million rows unless told otherwise, beside
# reading the rows into R. The queries are those of the package, written for a simulated connection; DuckDB is npm's
# @duckdb/node-api, installed into FOLDER (a temporary one if not given), where about 4 GB are needed.

library(gpcalib)
for (package in c("dbplyr", "jsonlite", "data.table")) stopifnot(requireNamespace(package, quietly = TRUE))
arguments <- commandArgs(TRUE)
rows <- if (length(arguments)) as.double(arguments[1]) else 5e7
folder <- if (length(arguments) > 1) arguments[2] else tempfile("duckdb")
dir.create(folder, showWarnings = FALSE)
if (!dir.exists(file.path(folder, "node_modules", "@duckdb"))) {
  stopifnot(system2("npm", c("install", "--silent", "--prefix", shQuote(folder), "@duckdb/node-api")) == 0)
}
registerS3method("sql_escape_ident", "duckdb_connection", function(con, x) dbplyr::sql_quote(x, "\""), asNamespace("dbplyr"))
con <- structure(list(), class = c("duckdb_connection", "TestConnection", "DBIConnection"))

# Fits to 20,000 rows of the same kind -------------------------------------------------------

set.seed(1)
z <- rnorm(20000, -1, 2)
p <- plogis(z)
y <- as.integer(runif(20000) < plogis(0.7 * z - 0.3))
fits <- list(temperature = calib_temperature(p, y), platt = calib_platt(p, y), beta = calib_beta(p, y),
  isotonic = calib_isotonic(p, y), `2000 bins, joined` = calib_histogram(p, y, bins = 2000, binning = "mass"), process = calib_gp(p, y),
  `process, monotone` = calib_gp(p, y, monotone = TRUE))
if (rows <= 1e6) fits[["2000 bins, CASE"]] <- fits[["2000 bins, joined"]] # slow

# Jobs ---------------------------------------------------------------------------------------

whole <- format(rows, scientific = FALSE)
draw <- paste0("CREATE TABLE forecasts AS SELECT id, p, CASE WHEN (hash(id) % 1000003) / 1000003.0 < 0.05 + 0.8 * p THEN 1 ELSE 0 END AS y ",
  "FROM (SELECT range AS id, ((range * 7919) % 100003 + 0.5) / 100003 AS p FROM range(", whole, "))")
jobs <- list(list(name = "(make the rows)", sql = draw))
add <- function(name, sql) jobs[[length(jobs) + 1]] <<- list(name = name, sql = sql)
for (name in names(fits)) {
  lookup <- if (name == "2000 bins, CASE") FALSE
  query <- calib_sql(fits[[name]], "p", con, "forecasts", "id", lookup = lookup)
  for (statement in query$lookup$statements) add("(table of steps)", statement)
  add(name, paste0("SELECT COUNT(*) AS n, AVG(\".pred_1\") AS mean FROM (\n", query$query, "\n) q"))
  some <- calib_sql(fits[[name]], "p", con, DBI::SQL("SELECT * FROM forecasts WHERE id < 1000"), c("id", "p"), lookup = lookup)$query
  add(paste("check", name), paste0("SELECT id, p, \".pred_1\" AS q FROM (\n", some, "\n) q ORDER BY id"))
}
tbl <- dbplyr::lazy_frame(id = 1, p = 0.5, y = 1, con = con, .name = "forecasts")
columns <- gpcalib:::lazy_columns(quote(f(truth = y, estimate = p)), tbl, environment())
columns$values <- 0:1
spec <- gpcalib:::ece_spec(columns$classes)
add("sums", gpcalib:::lazy_sum_queries(columns, spec, 0)[[1]])
add("counts", gpcalib:::lazy_count_query(columns, 2L, 2, "logit"))
csv <- file.path(folder, "rows.csv")
add("(write the rows as text)", paste0("COPY (SELECT p, y FROM forecasts) TO '", csv, "' (HEADER)"))
# In two runs, the slow jobs apart. GPCALIB_PREFIX: a command to put before each (nice, say)
unlink(file.path(folder, "bench.duckdb"))
run <- function(jobs) {
  jsonlite::write_json(jobs, file.path(folder, "jobs.json"), auto_unbox = TRUE)
  files <- shQuote(c(folder, file.path(folder, "jobs.json"), file.path(folder, "out.json")))
  stopifnot(system(paste(c(Sys.getenv("GPCALIB_PREFIX"), "node", "bench/duckdb.cjs", files), collapse = " ")) == 0)
  jsonlite::fromJSON(file.path(folder, "out.json"), simplifyDataFrame = FALSE)
}
slow <- grepl("^process$|bins|steps", vapply(jobs, `[[`, "", "name"))
done <- c(run(jobs[!slow]), run(jobs[slow]))
names(done) <- vapply(done, `[[`, "", "name")
frame_of <- function(name) {
  table <- do.call(rbind, lapply(done[[name]]$rows, function(row) as.data.frame(lapply(row, as.double))))
  as.data.frame(table)
}

# In R: read, then the same -------------------------------------------------------------------

invisible(gc(reset = TRUE))
timed <- function(job) system.time(value <<- job())[["elapsed"]]
in_r <- c(read = timed(function() data.table::fread(csv, showProgress = FALSE, nThread = 2)))
frame <- value
in_r["sums"] <- timed(function() calib_sums(frame$p, frame$y))
sums <- value
for (name in setdiff(names(fits), if (rows > 1e6) "process")) { # which takes minutes
  fit <- fits[[name]]
  in_r[name] <- timed(function() if (fit$method == "gp") predict(fit, frame$p, approx = "mean") else predict(fit, frame$p))
}
memory <- sum(gc()[, 6])
found <- gpcalib:::lazy_parts(columns, spec, 0, list(frame_of("sums")))

# Report --------------------------------------------------------------------------------------

apart <- vapply(names(fits), function(name) {
  got <- frame_of(paste("check", name))
  fit <- fits[[name]]
  max(abs(got$q - if (fit$method == "gp") predict(fit, got$p, approx = "mean")[, 2] else predict(fit, got$p)[, 2]))
}, 0)
sums_apart <- max(abs(found$parts$all$bins / sums$parts$all$bins - 1), na.rm = TRUE)
stopifnot(identical(found$parts$all$bins[, c("n", "hits")], sums$parts$all$bins[, c("n", "hits")]), sums_apart < 1e-10,
  sum(frame_of("counts")$gpcalib_rows) == rows)
table <- data.frame(task = c(names(fits), "sums for table and measures", "counts of rounded log-odds"),
  duckdb = vapply(done[c(names(fits), "sums", "counts")], `[[`, 0, "seconds"), r = c(in_r[names(fits)], in_r[["sums"]], NA),
  apart = c(apart, sums_apart, NA))
lines <- c("# Calibration in the database: DuckDB beside R", "",
  paste0("`Rscript bench/database.R`, ", format(Sys.Date()), ": ", format(rows, big.mark = ",", scientific = FALSE),
    " rows of a probability and an outcome. Seconds of one run on two cores shared with other work; DuckDB (npm's @duckdb/node-api) used both, R one."), "",
  "| task | in DuckDB | in R, once the rows are there | largest difference |", "|---|---|---|---|",
  sprintf("| %s | %.1f | %s | %s |", table$task, table$duckdb, ifelse(is.na(table$r), "", sprintf("%.1f", table$r)),
    ifelse(is.na(table$apart), "", sprintf("%.1e", table$apart))), "",
  sprintf("Getting the rows into R comes before: written as text %.1f s, read by `data.table::fread()` with two threads %.1f s; R then held up to %.1f GB.",
    done[["(write the rows as text)"]]$seconds, in_r[["read"]], memory / 1024), "",
  "Counts and hits of the bins are equal to the last one. Differences of calibrators are those of 1000 rows, from `predict()`, or of",
  "`calib_gp()` from `predict(approx = \"mean\")`; those of the sums are relative.")
writeLines(lines)
writeLines(lines, "bench/results/database.md")
