# What differs between databases, and the small words that every expression is made of. Expressions are texts;
# names and strings get into them only through quote_name() and quote_text(), numbers only through literal().

#' What is known of a connection
#'
#' @return list: `con`, `name`, `ln` (the natural logarithm), `double` (the type), `fence` (what keeps a
#'   subquery from being copied into the one around it), `underflow` (whether exp(-800) is an error), `columns` (the most
#'   a query may have), `bytes` (the most a name may have), `fold` (whether names that differ in case are the same).
#' @noRd
sql_dialect <- function(con) {
  need_dbplyr()
  is <- function(...) inherits(con, c(...))
  own <- if (is("SQLiteConnection")) {
    list(name = "sqlite", ln = "LOG", double = "REAL", fence = " LIMIT -1 OFFSET 0", columns = 2000, fold = TRUE)
  } else if (is("PqConnection", "PostgreSQLConnection", "PostgreSQL", "RedshiftConnection", "Redshift")) {
    # OFFSET 0 is PostgreSQL's customary fence.
    list(name = "postgres", fence = " OFFSET 0", underflow = TRUE, columns = 1664, bytes = 63)
  } else if (is("Microsoft SQL Server")) {
    list(name = "mssql", ln = "LOG", double = "FLOAT", columns = 4096, fold = TRUE)
  } else if (is("spark_connection", "Spark SQL", "Hive", "Impala")) {
    list(name = "spark", double = "DOUBLE", fold = TRUE)
  } else if (is("BigQueryConnection")) {
    list(name = "bigquery", double = "FLOAT64", columns = 10000, fold = TRUE)
  } else if (is("Snowflake")) {
    list(name = "snowflake", double = "DOUBLE")
  } else if (is("MySQLConnection", "MariaDBConnection", "MySQL")) {
    list(name = "mysql", double = "DOUBLE", columns = 4096, bytes = 64, fold = TRUE)
  } else if (is("duckdb_connection")) {
    list(name = "duckdb", double = "DOUBLE", fold = TRUE)
  } else if (is("Oracle", "OraConnection")) {
    list(name = "oracle", double = "BINARY_DOUBLE", columns = 1000)
  } else {
    list(name = "other")
  }
  utils::modifyList(list(con = con, ln = "LN", double = "DOUBLE PRECISION", fence = "", underflow = FALSE,
    columns = Inf, bytes = Inf, fold = FALSE), own)
}

need_dbplyr <- function() {
  missing <- Filter(function(p) !requireNamespace(p, quietly = TRUE), c("DBI", "dbplyr", "dplyr"))
  if (length(missing)) {
    stop_input("con", paste0("cannot be used: the package ", missing[1], " is not installed"),
      paste0("Install it with install.packages(\"", missing[1], "\")."))
  }
}

#' A simulated connection of dbplyr: it translates, but there is nothing behind it
#' @noRd
is_simulated <- function(con) inherits(con, "TestConnection")

quote_name <- function(d, x) {
  if (is_simulated(d$con)) return(as.character(dbplyr::escape(dbplyr::ident(x), parens = FALSE, collapse = NULL, con = d$con)))
  as.character(DBI::dbQuoteIdentifier(d$con, as.character(x)))
}

quote_text <- function(d, x) {
  if (is_simulated(d$con)) return(as.character(dbplyr::escape(as.character(x), parens = FALSE, collapse = NULL, con = d$con)))
  as.character(DBI::dbQuoteString(d$con, as.character(x)))
}

#' Numbers that come back as the same double: 15, 16 or 17 digits, always with an exponent, which marks a
#' binary floating-point number in most dialects (without it some read a decimal one)
#' @noRd
literal <- function(x) {
  out <- sprintf("%.14e", x)
  for (digits in c("%.15e", "%.16e")) {
    short <- as.double(out) != x
    out[short] <- sprintf(digits, x[short])
  }
  out <- sub("([.][0-9]+?)0+e", "\\1e", out, perl = TRUE)
  ifelse(x < 0, paste0("(", out, ")"), out)
}

# Expressions -----------------------------------------------------------------------------

#' Terms added (or joined by OR) in pairs of pairs: a chain of a thousand would be too deep for some parsers, and its rounding error
#' larger
#' @noRd
sql_sum <- function(terms, operator = " + ") {
  while (length(terms) > 1) {
    odd <- length(terms) %% 2 == 1
    last <- terms[length(terms)]
    pairs <- matrix(if (odd) terms[-length(terms)] else terms, 2)
    terms <- paste0("(", pairs[1, ], operator, pairs[2, ], ")")
    if (odd) terms <- c(terms, last)
  }
  terms
}

most_arguments <- 100 # of a function, in SQLite

#' The largest of columns
#' @noRd
sql_top <- function(d, terms) {
  if (length(terms) == 1) return(terms)
  if (d$name == "mssql") { # GREATEST() came with version 16
    return(paste0("(SELECT MAX(v) FROM (VALUES ", paste0("(", terms, ")", collapse = ", "), ") AS gpcalib_v(v))"))
  }
  greatest <- if (d$name == "sqlite") "MAX" else "GREATEST"
  while (length(terms) > 1) {
    groups <- split(terms, (seq_along(terms) - 1) %/% most_arguments)
    terms <- vapply(groups, function(part) {
      if (length(part) == 1) part else paste0(greatest, "(", paste(part, collapse = ", "), ")")
    }, "", USE.NAMES = FALSE)
  }
  terms
}

#' x, but not below (above) a number; NULL stays NULL
#' @noRd
sql_least <- function(x, low) paste0("CASE WHEN ", x, " < ", literal(low), " THEN ", literal(low), " ELSE ", x, " END")
sql_clamp <- function(x, low, high) {
  paste0("CASE WHEN ", x, " < ", literal(low), " THEN ", literal(low), " WHEN ", x, " > ", literal(high), " THEN ",
    literal(high), " ELSE ", x, " END")
}

#' exp() of what is not positive; in PostgreSQL the result must not vanish
#' @noRd
sql_exp <- function(d, x) {
  if (d$underflow) x <- sql_least(x, -700)
  paste0("EXP(", x, ")")
}

#' 1 / (1 + exp(-t))
#' @noRd
sql_expit <- function(t) paste0("1.0e+00 / (1.0e+00 + EXP(", sql_clamp(paste0("-(", t, ")"), -700, 700), "))")

sql_ln <- function(d, x) paste0(d$ln, "(", x, ")")

sql_double <- function(d, x) {
  # SQLite has no types to cast from, and would make 0 of a text.
  if (d$name == "sqlite") x else paste0("CAST(", x, " AS ", d$double, ")")
}
