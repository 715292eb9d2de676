# Calibrators where the data live: as SQL, and as columns of a lazy table.

#' A calibrator as SQL
#'
#' Writes a fitted calibrator as a query that computes calibrated probabilities from columns of a table, in the dialect of a
#' database. `augment()` on a lazy table (see [augment.calibrator][calibrator]) does the same and returns a lazy table.
#'
#' # What is computed
#' The query is a chain of subqueries, one for each step of the method: scores are converted to double precision, and
#' probabilities are limited to \[0, 1\] and divided by their sum, as [`predict()`][predict.calibrator] does; then come
#' the steps of the method. Its size grows in proportion to the number of classes (times the number of inducing inputs
#' or steps of the maps; for [calib_matrix()] and effects of that kind to the square). Softmax functions subtract the
#' largest value of the row, logarithms are floored as in `predict()`, and maps with steps are nested `CASE` expressions
#' that compare with the stored edges, written with up to 17 digits, so that ties fall where they fall in R.
#'
#' Maps with many steps (more than 1000 in one map, 500 for SQL Server, or 20,000 in all) are joined instead: the steps are rows of a
#' small table, and the query no longer grows with them. `calib_sql()` returns the statements that make this table in `lookup$statements`, to be
#' run once before the query; `augment()` runs them itself and makes a temporary table, which ends with the connection.
#'
#' All calibrators agree with `predict()` up to rounding (about 1e-13), with one exception: for all fits of [calib_gp()]
#' the query computes the posterior mean, as `predict(approx = "mean")` does, while `predict()` integrates over the
#' posterior by default. The field `difference` says how much the two differ. With two classes it is the largest
#' difference for forecasts within the range of the calibration scores. With more classes it depends on the rows: it is
#' measured on `newdata`, and is `NA` without them. The terms of the process are summed in another order than in R,
#' which changes results by up to about 1e-9. The map of a fit with `monotone = TRUE` is written as straight lines
#' between the nodes of its table, which differ from `predict(approx = "mean")` by up to about 1e-5; the order of the
#' classes is kept up to rounding.
#'
#' # What is not computed
#' Rows with a NULL score get NULL. Logits of minus infinity are not supported. `augment()` looks for these, and for
#' scores that are not probabilities, by one query, and stops if there are any (`check = FALSE` omits this query).
#'
#' Names are quoted by the driver ([DBI::dbQuoteIdentifier()]), class names by [DBI::dbQuoteString()]; nothing else that a user passes
#' becomes part of the query. A simulated connection has no driver, and dbplyr quotes names for it in its own way, whatever the database: since its version
#' 2.3.0 by backticks, which PostgreSQL, for one, rejects. For a query that is to be run, give a real connection. The dialects known are those of SQLite (through RSQLite, whose `LOG()` is the natural logarithm), PostgreSQL,
#' DuckDB, Spark, BigQuery, Snowflake, SQL Server, MySQL and Oracle; others get standard SQL.
#'
#' @param object A calibrator.
#' @param columns Names of the score columns, one for each class in the order of `object$classes` or named by them; for
#'   two classes the column of the second is enough. `NULL`: the names of the classes, after `.pred_`.
#' @param con A connection ([DBI::dbConnect()]) or a simulated one such as [dbplyr::simulate_postgres()], to look at a query (see above on its quotes).
#' @param table The table: its name, a [DBI::Id()], or a query marked by [DBI::SQL()].
#' @param keep Names of other columns to keep in the result.
#' @param class Add `.pred_class`, the most likely class?
#' @param newdata For [calib_gp()]: scores on which to measure how far `approx = "mean"` is from `predict()`.
#' @param lookup For maps with steps: `NULL`, a table to join if there are many (see below), named `gpcalib_steps`; a name (or a
#'   [DBI::Id()]) to join a table of that name in any case; `FALSE` for `CASE` expressions in any case.
#' @return An object of class `calib_sql`, a list: `query` (the text, which [as.character()] gives, too), `steps` (a list of named
#'   expressions, each step computed from the columns of the one before), `columns`, `exact` (whether the formula is that of
#'   `predict()`), `difference` (0 if so, otherwise see above) and `lookup` (`NULL`, or a list of the table's `name`, its `rows` and the
#'   `statements` that make it).
#' @seealso [augment()][calibrator] for lazy tables, [write_calibrator()] for other languages, [calib_sums()] and
#'   [calib_counts()] for measures.
#' @examplesIf requireNamespace("dbplyr", quietly = TRUE)
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
#' calib_sql(fit, columns = "prob", con = dbplyr::simulate_postgres(), table = "forecasts",
#'   keep = "id")
#' @examplesIf requireNamespace("RSQLite", quietly = TRUE) && requireNamespace("dbplyr", quietly = TRUE)
#' con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
#' rain <- data.frame(id = seq_len(nrow(rain_nyc)), prob = rain_nyc$prob)
#' DBI::dbWriteTable(con, "forecasts", rain)
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
#' query <- calib_sql(fit, columns = "prob", con = con, table = "forecasts", keep = "id")
#' head(DBI::dbGetQuery(con, as.character(query)), 3)
#' head(predict(fit, rain$prob), 3)
#' DBI::dbDisconnect(con)
#' @export
calib_sql <- function(object, columns = NULL, con, table = "scores", keep = character(), class = TRUE, newdata = NULL,
                      lookup = NULL) {
  object <- check_object(object)
  if (missing(con)) {
    if (inherits(columns, "DBIConnection")) stop_input("columns", "is a connection", "Write calib_sql(fit, con = con).")
    stop_input("con", "is missing", "Write calib_sql(fit, con = con), with a connection or a simulated one of dbplyr.")
  }
  d <- sql_dialect(con)
  if (!inherits(con, "DBIConnection")) stop_input("con", "must be a connection of DBI", say_given(con))
  keep <- check_names_given(keep, "keep")
  class <- check_flag(class, "class")
  d$lookup <- sql_lookup(object, d, lookup)
  single <- sql_columns(object, columns, NULL)
  steps <- sql_program(object, d, single, class)
  check_sql_names(d, steps, keep)
  query <- sql_query(d, steps, sql_table(d, table), keep)
  structure(list(query = query, steps = lapply(steps, `[[`, "new"), columns = single$columns, method = object$method,
    exact = object$method != "gp", difference = sql_difference(object, newdata),
    lookup = if (!is.null(d$lookup)) list(name = d$lookup$name, rows = d$lookup$rows, statements = lookup_statements(d, d$lookup))),
    class = "calib_sql")
}

#' All steps: canonical scores, the method, the names that the user sees
#' @param single what sql_columns() returned.
#' @noRd
sql_program <- function(object, d, single, class = TRUE) {
  k <- length(object$classes)
  x <- quote_name(d, single$columns)
  p <- numbered("p", k)
  steps <- c(sql_canonical(object, d, x, single$flip), sql_steps(object, d, numbered("z", k)))
  final <- p
  if (class) {
    steps <- c(steps, list(sql_step(c(gpcalib_top = sql_top(d, p)), p)))
    winner <- sql_which(p, "gpcalib_top", quote_text(d, object$classes))
    # GREATEST() of PostgreSQL passes over NULL
    final <- c(p, paste0("CASE WHEN gpcalib_p1 IS NULL THEN NULL ELSE ", winner, " END"))
  }
  names(final) <- c(paste0(".pred_", object$classes), if (class) ".pred_class")
  c(steps, list(sql_step(final)))
}

#' The steps as one query: a chain of common table expressions, which parsers take at any length; in SQL Server,
#' which does not know them inside of queries, subqueries
#' @noRd
sql_query <- function(d, steps, from, keep) {
  kept <- quote_name(d, keep)
  chain <- d$name != "mssql"
  before <- character()
  for (i in seq_along(steps)) {
    step <- steps[[i]]
    last <- i == length(steps)
    own <- if (last) quote_name(d, names(step$new)) else names(step$new)
    query <- paste0("SELECT ", paste(c(kept, step$carry, paste0(step$new, " AS ", own)), collapse = ",\n  "),
      "\nFROM ", from, step$join, if (!last) d$fence)
    name <- paste0("gpcalib_q", i)
    from <- if (chain) name else paste0("(\n", query, "\n) ", name)
    if (!last) before <- c(before, paste0(name, " AS (\n", query, "\n)"))
  }
  if (chain && length(before)) paste0("WITH ", paste(before, collapse = ",\n"), "\n", query) else query
}

#' A table's name, quoted; a query in parentheses
#' @noRd
sql_table <- function(d, table) {
  if (inherits(table, "SQL") || inherits(table, "sql")) return(paste0("(\n", as.character(table), "\n) gpcalib_q0"))
  if (inherits(table, "Id")) return(as.character(DBI::dbQuoteIdentifier(d$con, table)))
  if (!is.character(table) || length(table) != 1 || is.na(table) || !nzchar(table)) {
    stop_input("table", "must be the name of a table, a DBI::Id() or a query marked by DBI::SQL()", say_given(table))
  }
  quote_name(d, table)
}

check_names_given <- function(x, arg) {
  if (!is.character(x) || anyNA(x) || any(!nzchar(x)) || anyDuplicated(x)) {
    stop_input(arg, "must be names of columns, each once", say_given(x))
  }
  x
}

#' Which columns hold the scores
#'
#' @param names the columns of the table, or NULL if not known.
#' @return list: `columns`, one per class or one alone, and `flip`, whether that one is of the first class.
#' @noRd
sql_columns <- function(object, columns, names) {
  classes <- object$classes
  if (is.null(columns)) {
    columns <- if (is.null(names)) {
      if (is.null(object$columns)) paste0(".pred_", classes) else object$columns
    } else if (!is.null(object$columns) && all(object$columns %in% names)) {
      object$columns
    } else {
      names[find_score_columns(names, classes)]
    }
    if (!length(columns)) {
      stop_input("columns", "is needed: the table has no columns named after the classes",
        paste0("Name the score columns of ", say_values(classes), "."))
    }
  }
  own <- names(columns)
  columns <- check_names_given(unname(columns), "columns")
  if (!is.null(own)) {
    if (length(columns) > 1 && !setequal(own, classes) || length(columns) == 1 && !own %in% classes) {
      stop_input("columns", "has names that are not the classes", paste0("The classes are ", say_values(classes), "."))
    }
    if (length(columns) > 1) columns <- columns[match(classes, own)]
  } else if (length(columns) == length(classes)) {
    order <- match_columns(columns, classes)
    if (!is.null(order)) columns <- columns[order]
  }
  if (length(columns) != length(classes) && !(length(columns) == 1 && length(classes) == 2)) {
    stop_input("columns", paste0("names ", say_count(length(columns), "column"), " but the calibrator has ",
      length(classes), " classes"), "Name one column for each class.")
  }
  lost <- setdiff(columns, if (is.null(names)) columns else names)
  if (length(lost)) {
    stop_input("columns", paste0("names columns that are not there (", say_values(lost), ")"),
      paste0("The columns are ", say_values(names, 10), "."))
  }
  first <- c(classes[1], paste0(".pred_", classes[1]))
  flip <- length(columns) == 1 && (if (is.null(own)) columns %in% first && columns != classes[2] else own == classes[1])
  list(columns = columns, flip = flip)
}

#' Names that a database would cut, confuse or have too many of
#' @noRd
check_sql_names <- function(d, steps, keep) {
  if (any(grepl("^gpcalib_", keep, ignore.case = TRUE))) {
    stop_input("keep", "has names that begin with gpcalib_, which the query uses itself", "Rename these columns.")
  }
  new <- names(steps[[length(steps)]]$new)
  most <- max(vapply(steps, function(step) length(step$new) + length(step$carry), 0L)) + length(keep)
  if (most > d$columns) {
    stop_input("keep", paste0("and the steps of the query make ", most, " columns, but this database allows ", d$columns),
      "Keep fewer columns, those that identify a row, say.")
  }
  long <- nchar(c(new, keep), "bytes") > d$bytes
  if (any(long)) {
    stop_input("object", paste0("makes columns with names of more than ", d$bytes, " bytes, which this database cuts (",
      say_values(substr(c(new, keep)[long], 1, 70), 2), ")"), "Use shorter names for the classes.")
  }
  if (d$fold && anyDuplicated(tolower(c(new, keep)))) {
    twice <- unique(c(new, keep)[duplicated(tolower(c(new, keep)))])
    stop_input("object", paste0("makes columns whose names differ in case alone (", say_values(twice),
      "), which this database does not tell apart"), "Rename the classes or columns.")
  }
}

#' How far the query is from predict()
#' @noRd
sql_difference <- function(object, newdata) {
  if (object$method != "gp") {
    if (!is.null(newdata)) stop_input("newdata", "is only for calib_gp()", "Other methods are written as they are.")
    return(0)
  }
  if (is.null(newdata)) {
    if (length(object$classes) > 2 || object$mean == "log") return(NA_real_)
    half <- seq(object$range[1], object$range[2], length.out = 401)
    newdata <- cbind(-half, half)
    if (object$input == "probs") newdata <- stats::plogis(2 * newdata)
  }
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(max(abs(predict(object, newdata) - predict(object, newdata, approx = "mean"))),
    gpcalib_warning_extrapolation = muffle, gpcalib_warning_input = muffle)
}

#' A message that what is computed outside of R is not what predict() gives by default, and how far off it is
#' @noRd
say_posterior_mean <- function(object, who) {
  if (object$method != "gp") return(invisible())
  apart <- sql_difference(object, NULL)
  if (isTRUE(apart < 1e-4)) return(invisible()) # the accuracy that predict() aims at
  message(small_message(paste0(who, " predict(approx = \"mean\"), the softmax of the posterior mean. predict() integrates over the posterior and ",
    if (is.na(apart)) "differs from it: see ?calib_sql.\n" else {
      paste0("differs from it by up to ", format(apart, digits = 2), " within the range of the calibration scores.\n")
    }), class = "gpcalib_message_posterior_mean"))
}

say_difference <- function(x) {
  if (x$exact) return("the formula of predict(), up to rounding")
  paste0("the posterior mean, predict(approx = \"mean\"); predict() itself ", if (is.na(x$difference)) {
    "differs from it: give `newdata` to measure by how much"
  } else {
    paste("differs by at most", format(x$difference, digits = 2))
  })
}

#' @param x A calibrator as SQL.
#' @param lines How many lines of the query to print.
#' @param ... Not used.
#' @rdname calib_sql
#' @export
print.calib_sql <- function(x, lines = 30, ...) {
  cat("<calib_sql> calib_", x$method, "(): ", say_difference(x), "\n", sep = "")
  if (!is.null(x$lookup)) {
    cat("-- joins the table ", format(x$lookup$name), " of ", nrow(x$lookup$rows), " rows: run the statements in `lookup$statements` first\n",
      sep = "")
  }
  text <- strsplit(x$query, "\n", fixed = TRUE)[[1]]
  long <- nchar(text) > 200
  shown <- utils::head(ifelse(long, paste0(substr(text, 1, 197), "..."), text), lines)
  cat(shown, sep = "\n")
  if (length(text) > lines) cat("... and ", length(text) - lines, " more lines\n", sep = "")
  invisible(x)
}

#' @rdname calib_sql
#' @export
as.character.calib_sql <- function(x, ...) x$query
