# Maps with many pieces: a small table in the database to join with, so that the query does not grow with them.

most_pieces <- 1000 # of one map as CASE expressions,
most_pieces_mssql <- 500 # whose SQL Server nests ten at most,
most_pieces_all <- 20000 # and of all maps
bucket_size <- 8
most_buckets <- 256
most_joins <- 20 # of one step: SQLite joins up to 64 tables

lookup_columns <- c("gpcalib_map", "gpcalib_bucket", "gpcalib_low", "gpcalib_high", "gpcalib_base", "gpcalib_at",
  "gpcalib_slope")

#' Whether to join, and with what
#'
#' @param lookup NULL: if there are many pieces; FALSE: never; or the name of the table.
#' @return NULL, or list of `name` (as given), `table` (quoted) and `rows`.
#' @noRd
sql_lookup <- function(object, d, lookup, name = "gpcalib_steps") {
  if (identical(lookup, FALSE)) return(NULL)
  if (!is.null(lookup) && !inherits(lookup, "Id")) {
    if (!is.character(lookup) || length(lookup) != 1 || is.na(lookup) || !nzchar(lookup)) {
      stop_input("lookup", "must be the name of a table, FALSE or NULL", say_given(lookup))
    }
  }
  maps <- sql_pieces(object)
  if (is.null(maps)) {
    if (!is.null(lookup)) {
      stop_input("lookup", paste0("names a table, but calib_", object$method, "() has no steps to put there"), "Leave it out.")
    }
    return(NULL)
  }
  sizes <- vapply(maps, function(map) length(map$base), 0L)
  most <- if (d$name == "mssql") most_pieces_mssql else most_pieces
  if (is.null(lookup)) {
    if (max(sizes) <= most && sum(sizes) <= most_pieces_all) return(NULL)
    lookup <- name
  }
  table <- if (inherits(lookup, "Id")) as.character(DBI::dbQuoteIdentifier(d$con, lookup)) else quote_name(d, lookup)
  list(name = lookup, table = table, rows = lookup_rows(maps))
}

#' Which pieces begin a bucket, by which the rows of the table are found: an equality, which a database can hash. About
#' 8 pieces each, 256 buckets at most
#' @noRd
bucket_starts <- function(pieces) {
  count <- min(most_buckets, ceiling(pieces / bucket_size))
  unique(floor(seq(0, pieces, length.out = count + 1L)))[seq_len(count)] + 1
}

#' One row for each piece of each map. Scores are finite, so that the outer pieces can end where doubles end
#' @noRd
lookup_rows <- function(maps) {
  parts <- lapply(seq_along(maps), function(j) {
    map <- maps[[j]]
    pieces <- length(map$base)
    far <- .Machine$double.xmax
    data.frame(gpcalib_map = j, gpcalib_bucket = findInterval(seq_len(pieces), bucket_starts(pieces)),
      gpcalib_low = c(-far, map$edges), gpcalib_high = c(map$edges, far), gpcalib_base = map$base, gpcalib_at = map$at,
      gpcalib_slope = map$slope)
  })
  do.call(rbind, parts)
}

#' The statements that make the table, numbers with up to 17 digits (drivers may write fewer)
#' @noRd
lookup_statements <- function(d, lookup, temporary = FALSE) {
  whole <- if (d$name == "bigquery") "INT64" else if (d$name == "oracle") "NUMBER(9)" else "INTEGER"
  types <- rep(c(whole, d$double), c(2, 5))
  rows <- lookup$rows
  cells <- c(lapply(rows[1:2], function(x) as.character(as.integer(x))), lapply(rows[3:7], literal))
  values <- paste0("(", do.call(paste, c(unname(cells), sep = ", ")), ")")
  parts <- split(values, (seq_along(values) - 1) %/% 500)
  c(paste0("CREATE ", if (temporary) "TEMPORARY ", "TABLE ", lookup$table, " (", paste(lookup_columns, types, collapse = ", "), ")"),
    vapply(parts, function(part) paste0("INSERT INTO ", lookup$table, " VALUES ", paste(part, collapse = ", ")), "",
      USE.NAMES = FALSE))
}

#' Columns v of maps at the columns s: joins, some in each step
#' @noRd
sql_join <- function(d, s, maps, v, carry, which) {
  parts <- split(seq_along(v), (seq_along(v) - 1) %/% most_joins)
  lapply(unname(parts), function(now) {
    done <- v[seq_along(v) < now[1]]
    later <- unique(s[seq_along(v) > now[length(now)]])
    sql_step(stats::setNames(join_values(now, s[now], maps[which[now]]), v[now]), unique(c(carry, done, later)),
      paste(vapply(now, function(i) join_on(d, i, s[i], which[i], maps[[which[i]]]), ""), collapse = ""))
  })
}

join_values <- function(i, s, maps) {
  column <- function(name) paste0("gpcalib_m", i, ".gpcalib_", name)
  value <- paste0(column("base"), " + (", s, " - ", column("at"), ") * ", column("slope"))
  cap <- vapply(maps, `[[`, NA, "cap")
  ifelse(cap, paste0("CASE WHEN ", value, " > 1.0e+00 THEN 1.0e+00 ELSE ", value, " END"), value)
}

#' The row of a map in which a score lies
#' @param i number of the join, @param id of the map.
#' @noRd
join_on <- function(d, i, s, id, map) {
  alias <- paste0("gpcalib_m", i)
  starts <- bucket_starts(length(map$base))
  bucket <- sql_search(s, map$edges[starts[-1] - 1], as.character(seq_along(starts)), map$closed)
  paste0("\nLEFT JOIN ", d$lookup$table, " ", alias, " ON ", alias, ".gpcalib_map = ", id, " AND ", alias,
    ".gpcalib_bucket = ", bucket, " AND ", s, if (map$closed) " > " else " >= ", alias, ".gpcalib_low AND ", s,
    if (map$closed) " <= " else " < ", alias, ".gpcalib_high")
}
