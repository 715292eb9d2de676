# augment() on a lazy table, and the look at its scores before.

#' A lazy table of dbplyr
#' @noRd
is_lazy <- function(x) inherits(x, "tbl_lazy")

#' A lazy table with calibrated columns
#' @noRd
augment_lazy <- function(object, tbl, columns = NULL, keep = NULL, check = TRUE, lookup = NULL) {
  need_dbplyr()
  con <- dbplyr::remote_con(tbl)
  d <- sql_dialect(con)
  names <- colnames(tbl)
  single <- sql_columns(object, columns, names)
  d$lookup <- lazy_lookup(object, d, lookup)
  steps <- sql_program(object, d, single)
  new <- names(steps[[length(steps)]]$new)
  if (!is.null(keep)) {
    keep <- check_names_given(keep, "keep")
    lost <- setdiff(keep, names)
    if (length(lost)) stop_input("keep", paste0("names columns that are not there (", say_values(lost), ")"))
  }
  keep <- setdiff(if (is.null(keep)) names else keep, new)
  check_sql_names(d, steps, keep)
  if (check_flag(check, "check") && !is_simulated(con)) check_lazy_scores(object, d, tbl, single)
  if (isTRUE(d$lookup$temporary)) {
    for (statement in lookup_statements(d, d$lookup, temporary = TRUE)) DBI::dbExecute(con, statement)
  }
  query <- sql_query(d, steps, lazy_from(tbl), keep)
  say_posterior_mean(object, "The database computes")
  if (is_simulated(con)) return(structure(query, class = c("sql", "character")))
  dplyr::tbl(con, dbplyr::sql(query))
}

# Databases in which CREATE TEMPORARY TABLE makes one that ends with the connection
have_temporary <- c("sqlite", "postgres", "duckdb", "mysql", "snowflake")

#' The table of steps that augment() joins: one of its own, which ends with the connection, or one that is there
#' @noRd
lazy_lookup <- function(object, d, lookup) {
  out <- sql_lookup(object, d, lookup, basename(tempfile("gpcalib_"))) # a name of its own, without random numbers of the session
  if (is.null(out)) return(NULL)
  out$temporary <- is.null(lookup) && !is_simulated(d$con)
  if (out$temporary && !d$name %in% have_temporary) {
    stop_input("lookup", paste0("is needed: there are ", nrow(out$rows), " steps, and no temporary table can be made for them here"),
      "Make a table by calib_sql(lookup = ), and name it; or pass lookup = FALSE.")
  }
  out
}

#' A lazy table as what stands after FROM
#' @noRd
lazy_from <- function(tbl) paste0("(\n", as.character(dbplyr::sql_render(dplyr::ungroup(tbl))), "\n) gpcalib_q0")

#' One row from the database
#' @noRd
one_row <- function(con, query) lapply(DBI::dbGetQuery(con, query), as.double)

#' What predict() would complain of, counted by one query
#' @noRd
check_lazy_scores <- function(object, d, tbl, single) {
  x <- quote_name(d, single$columns)
  odd <- sql_sum(sql_missing(d, x), " OR ")
  y <- sql_double(d, x)
  probs <- object$input == "probs"
  bad <- if (probs) {
    outside <- paste0(y, " < ", literal(-probs_slack), " OR ", y, " > ", literal(1 + probs_slack))
    if (length(x) > 1) outside <- c(outside, paste0("ABS(", sql_sum(y), " - 1.0e+00) > ", literal(probs_slack)))
    outside
  } else {
    paste0("ABS(", y, ") > 1.0e+300")
  }
  count <- function(condition) paste0("SUM(CASE WHEN ", condition, " THEN 1 ELSE 0 END)")
  found <- one_row(d$con, paste0("SELECT COUNT(*) AS n, ", count(odd), " AS odd, ", count(sql_sum(bad, " OR ")),
    " AS bad FROM ", lazy_from(tbl)))
  if (found$n == 0) return()
  if (found$odd > 0) {
    stop_input("newdata", paste0("has NULL or values that are not numbers in the score columns (", say_values(single$columns), ") of ", found$odd,
      " of ", found$n, " rows"), "Name other columns by `columns`, filter these rows out, or pass check = FALSE, which gives them NULL.")
  }
  if (found$bad > 0) {
    stop_input("newdata", paste0("has ", if (probs) {
      "scores that are not probabilities"
    } else {
      "infinite logits"
    }, " in ", found$bad, " of ", found$n, " rows"), if (probs) {
      "Values must lie in [0, 1] and rows sum to 1: divide rows by their sum."
    } else {
      "Filter these rows out, and use predict() for them."
    })
  }
}

#' Conditions for what cannot be computed with
#' @noRd
sql_missing <- function(d, x) {
  switch(d$name,
    sqlite = paste0("typeof(", x, ") NOT IN ('real', 'integer')"),
    postgres = paste0(x, " IS NULL OR ", sql_double(d, x), " = 'NaN'"),
    duckdb = paste0(x, " IS NULL OR isnan(", sql_double(d, x), ")"),
    paste0(x, " IS NULL")
  )
}
