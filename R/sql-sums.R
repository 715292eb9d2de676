# Sums over lazy tables: one grouped query, two for classwise tables of many classes.

#' Which columns of a lazy table are meant
#'
#' @param call the user's call; @param frame where it was made.
#' @return list: `d`, `tbl`, `truth`, `single` (what sql_columns() returns), `weights`, `by` (names), `classes` and
#'   `values` (the labels as the database has them, in the order of the classes).
#' @noRd
lazy_columns <- function(call, tbl, frame) {
  need_dbplyr()
  d <- sql_dialect(dbplyr::remote_con(tbl))
  if (is.null(call$truth)) stop_input("truth", "is missing", "Name the column with the true classes.")
  for (name in intersect(c("labels", "groups"), names(call))) {
    stop_input(name, "is not for lazy tables", if (name == "labels") "Name the column by `truth`." else "Collect the rows.")
  }
  names <- colnames(tbl)
  frame_of <- as.data.frame(stats::setNames(rep(list(numeric()), length(names)), names), optional = TRUE)
  choose <- function(expr, arg, one = TRUE) {
    found <- select_columns(expr, frame_of, frame, arg)
    if (one && length(found) != 1) stop_input(arg, paste("must name one column, but names", length(found)))
    found
  }
  truth <- choose(call$truth, "truth")
  estimate <- if (is.null(call$estimate)) quote(starts_with(".pred_")) else call$estimate
  scores <- setdiff(choose(estimate, "estimate", FALSE), c(truth, ".pred_class"))
  if (!length(scores)) {
    stop_input("estimate", "names no score column", paste0("The columns are ", say_values(names, 10), "."))
  }
  known <- lazy_labels(d, tbl, truth, scores)
  single <- sql_columns(list(classes = known$classes), scores, names)
  c(list(d = d, tbl = tbl, truth = truth, single = single,
    weights = if (!is.null(call$weights)) choose(call$weights, "weights"),
    by = if (!is.null(call$by)) choose(call$by, "by", FALSE)), known)
}

most_labels <- 10000

#' Classes of a lazy table: the names of its score columns, or for a single one the two labels that occur
#' @noRd
lazy_labels <- function(d, tbl, truth, scores) {
  bare <- sub("^\\.pred_", "", scores)
  if (is_simulated(d$con)) {
    classes <- if (length(scores) == 1) c("0", "1") else bare
    return(list(classes = classes, values = classes))
  }
  few <- if (length(scores) > 1) " LIMIT 1" else ""
  if (d$name %in% c("mssql", "oracle")) few <- ""
  name <- quote_name(d, truth)
  found <- DBI::dbGetQuery(d$con, paste0("SELECT ", if (few == "") "DISTINCT ", name, " FROM ", lazy_from(tbl), " WHERE ",
    name, " IS NOT NULL", few))[[1]]
  if (!length(found)) stop_input("truth", "has no values", "There must be labelled rows.")
  if (is.factor(found)) found <- as.character(found)
  if (length(scores) == 1) {
    found <- sort(unique(found), method = "radix")
    if (length(found) != 2) {
      stop_input("truth", paste0("has ", say_count(length(found), "different value"), ", but there is one score column"),
        "Two classes are needed, or a column for each class.")
    }
    classes <- label_text(found)
    if (bare == classes[1] && bare != scores) { # .pred_<first>: it is the event
      return(list(classes = classes, values = found))
    }
    return(list(classes = classes, values = found))
  }
  values <- bare
  if (is.numeric(found)) values <- suppressWarnings(as.double(bare))
  if (is.logical(found)) values <- as.logical(bare)
  if (anyNA(values)) {
    stop_input("truth", paste0("holds values like ", label_text(found[1]), ", but the score columns are named ",
      say_values(bare)), "Name the score columns after the classes, with or without .pred_.")
  }
  list(classes = bare, values = values)
}

label_text <- function(x) if (is.numeric(x)) sprintf("%.0f", as.double(x)) else as.character(x)

label_literal <- function(d, values) {
  if (is.character(values)) return(quote_text(d, values))
  if (is.logical(values)) return(if (d$name %in% c("sqlite", "mssql")) as.character(as.integer(values)) else {
    ifelse(values, "TRUE", "FALSE")
  })
  sprintf("%.0f", as.double(values))
}

#' Steps to the quantities of every row: z, y (code of the label), w, odd and bad
#' @noRd
lazy_rows <- function(columns) {
  d <- columns$d
  k <- length(columns$classes)
  x <- quote_name(d, columns$single$columns)
  truth <- quote_name(d, columns$truth)
  label <- paste0("CASE ", paste0("WHEN ", truth, " = ", label_literal(d, columns$values), " THEN ", seq_len(k),
    collapse = " "), " ELSE NULL END")
  w <- if (is.null(columns$weights)) "1.0e+00" else sql_double(d, quote_name(d, columns$weights))
  y <- sql_double(d, x)
  wrong <- c(paste0(y, " < ", literal(-probs_slack), " OR ", y, " > ", literal(1 + probs_slack)),
    if (length(x) > 1) paste0("ABS(", sql_sum(y), " - 1.0e+00) > ", literal(probs_slack)),
    if (!is.null(columns$weights)) paste0(w, " < 0.0e+00 OR ", w, " > 1.0e+290"))
  odd <- c(paste0("(", label, ") IS NULL"), sql_missing(d, x),
    if (!is.null(columns$weights)) sql_missing(d, quote_name(d, columns$weights)),
    if (length(columns$by)) paste0(quote_name(d, columns$by), " IS NULL"))
  flag <- function(condition) paste0("CASE WHEN ", sql_sum(condition, " OR "), " THEN 1 ELSE 0 END")
  groups <- if (length(columns$by)) stats::setNames(quote_name(d, columns$by), paste0("gpcalib_by", seq_along(columns$by)))
  extra <- c(groups, gpcalib_y = label, gpcalib_w = w, gpcalib_odd = flag(odd), gpcalib_bad = flag(wrong))
  steps <- sql_canonical(list(classes = columns$classes, input = "probs"), d, x, columns$single$flip)
  steps[[1]]$new <- c(extra, steps[[1]]$new)
  for (i in seq_along(steps)[-1]) steps[[i]]$carry <- c(names(extra), steps[[i]]$carry)
  list(steps = steps, extra = names(extra), by = names(groups))
}

#' The sums of a lazy table
#' @param args arguments of ece_spec().
#' @noRd
lazy_sums <- function(call, tbl, frame, args, eps) {
  columns <- lazy_columns(call, tbl, frame)
  spec <- do.call(ece_spec, c(list(classes = columns$classes), args))
  queries <- lazy_sum_queries(columns, spec, eps)
  found <- lapply(queries, function(query) DBI::dbGetQuery(columns$d$con, query))
  check_lazy_found(found[[1]])
  lazy_parts(columns, spec, eps, found)
}

#' @return list of queries: the first has the totals, and the bins unless the type is classwise; the others bins.
#' @noRd
lazy_sum_queries <- function(columns, spec, eps) {
  d <- columns$d
  k <- length(columns$classes)
  type <- ece_types[spec$type + 1]
  rows <- lazy_rows(columns)
  z <- numbered("z", k)
  bin <- function(score) sql_search(score, seq_len(spec$bins - 1) / spec$bins, as.character(seq_len(spec$bins)))
  own <- paste0("CASE gpcalib_y ", paste0("WHEN ", seq_len(k), " THEN ", z, collapse = " "), " ELSE NULL END")
  brier <- if (k == 2) {
    "(gpcalib_z2 - CASE WHEN gpcalib_y = 2 THEN 1.0e+00 ELSE 0.0e+00 END)"
  } else {
    paste0("(", sql_sum(paste0(z, " * ", z)), " - 2.0e+00 * (", own, ") + 1.0e+00)")
  }
  if (k == 2) brier <- paste0(brier, " * ", brier)
  score <- switch(type, event = z[spec$event], "gpcalib_top")
  hit <- switch(type, event = paste0("gpcalib_y = ", spec$event), "gpcalib_pred = gpcalib_y")
  group <- c(rows$by, if (type != "classwise") "gpcalib_bin", if (type == "top_label") "gpcalib_pred")
  steps <- c(rows$steps, list(
    sql_step(c(gpcalib_top = sql_top(d, z)), c(rows$extra, z)),
    sql_step(c(gpcalib_pred = sql_which(z, "gpcalib_top", seq_len(k)), gpcalib_own = own, gpcalib_brier = brier),
      c(rows$extra, "gpcalib_top", unique(c(if (type == "event") score)))),
    sql_step(c(gpcalib_bin = if (type == "classwise") "0" else bin(score), gpcalib_score = score,
      gpcalib_hit = paste0("CASE WHEN ", hit, " THEN 1.0e+00 ELSE 0.0e+00 END"),
      gpcalib_right = "CASE WHEN gpcalib_pred = gpcalib_y THEN 1.0e+00 ELSE 0.0e+00 END",
      gpcalib_loss = paste0("CASE WHEN gpcalib_own > ", literal(max(eps, 0)), " THEN -", sql_ln(d, paste0("CASE WHEN gpcalib_own > ",
        literal(eps), " THEN gpcalib_own ELSE 1.0e+00 END")), " ELSE ", if (eps > 0) literal(-log(eps)) else "0.0e+00", " END"),
      gpcalib_zero = if (eps > 0) "0.0e+00" else "CASE WHEN gpcalib_own <= 0.0e+00 THEN 1.0e+00 ELSE 0.0e+00 END"),
      c(rows$extra, "gpcalib_top", "gpcalib_pred", "gpcalib_brier"))
  ))
  sums <- c(n = "CASE WHEN gpcalib_w > 0.0e+00 THEN 1.0e+00 ELSE 0.0e+00 END", weight = "gpcalib_w",
    square = "gpcalib_w * gpcalib_w", score = "gpcalib_w * gpcalib_score", hits = "gpcalib_w * gpcalib_hit",
    right = "gpcalib_w * gpcalib_right", wrong = "gpcalib_w * (1.0e+00 - gpcalib_right)",
    over = "gpcalib_w * (1.0e+00 - gpcalib_right) * gpcalib_top", under = "gpcalib_w * gpcalib_right * (1.0e+00 - gpcalib_top)",
    log = "gpcalib_w * gpcalib_loss", impossible = "gpcalib_w * gpcalib_zero", brier = "gpcalib_w * (gpcalib_brier)",
    conf = "gpcalib_w * gpcalib_top", spread = "gpcalib_w * (gpcalib_top - 5.0e-01) * (gpcalib_top - 5.0e-01)")
  all <- c(group, paste0("COUNT(*) AS gpcalib_rows"), "SUM(gpcalib_odd) AS gpcalib_odd", "SUM(gpcalib_bad) AS gpcalib_bad",
    paste0("SUM(", sums, ") AS gpcalib_s", seq_along(sums)))
  first <- sql_group(d, steps, lazy_from(columns$tbl), all, group)
  if (type != "classwise") return(list(first))
  c(list(first), lapply(split(seq_len(k), (seq_len(k) - 1) %/% 50), function(codes) {
    classwise_query(columns, rows, codes, bin)
  }))
}

#' Steps, and a grouped query of the last
#' @noRd
sql_group <- function(d, steps, from, select, group) {
  ctes <- character()
  for (i in seq_along(steps)) {
    step <- steps[[i]]
    name <- paste0("gpcalib_q", i)
    ctes <- c(ctes, paste0(name, " AS (\nSELECT ", paste(c(step$carry, paste0(step$new, " AS ", names(step$new))),
      collapse = ",\n  "), "\nFROM ", from, d$fence, "\n)"))
    from <- name
  }
  paste0("WITH ", paste(ctes, collapse = ",\n"), "\nSELECT ", paste(select, collapse = ",\n  "), "\nFROM ", from,
    if (length(group)) paste0("\nGROUP BY ", paste(group, collapse = ", ")))
}

#' The bins of some classes, each a grouped query of its own
#' @noRd
classwise_query <- function(columns, rows, codes, bin) {
  d <- columns$d
  z <- numbered("z", length(columns$classes))
  weights <- "CASE WHEN gpcalib_w > 0.0e+00 THEN 1.0e+00 ELSE 0.0e+00 END"
  group <- c(rows$by, "gpcalib_bin")
  branch <- vapply(codes, function(j) {
    hit <- paste0("CASE WHEN gpcalib_y = ", j, " THEN gpcalib_w ELSE 0.0e+00 END")
    paste0("SELECT ", j, " AS gpcalib_class, ", paste(group, collapse = ", "), ", SUM(", weights, ") AS gpcalib_s1, SUM(gpcalib_w) AS gpcalib_s2, ",
      "SUM(gpcalib_w * gpcalib_w) AS gpcalib_s3, SUM(gpcalib_w * gpcalib_z) AS gpcalib_s4, SUM(", hit, ") AS gpcalib_s5 FROM (SELECT ",
      paste(c(rows$by, "gpcalib_w", "gpcalib_y"), collapse = ", "), ", ", z[j], " AS gpcalib_z, ", bin(z[j]), " AS gpcalib_bin FROM gpcalib_base",
      ") gpcalib_b GROUP BY ", paste(group, collapse = ", "))
  }, "")
  last <- length(rows$steps)
  base <- sql_group(d, rows$steps, lazy_from(columns$tbl), "*", NULL)
  paste0("WITH gpcalib_base AS (\n", base, "\n)\n", paste(branch, collapse = "\nUNION ALL\n"))
}

check_lazy_found <- function(found) {
  rows <- sum(as.double(found$gpcalib_rows))
  if (rows == 0) stop_input("probs", "has no rows")
  odd <- sum(as.double(found$gpcalib_odd))
  if (odd > 0) {
    stop_input("probs", paste0("has NULL in scores, labels, weights or groups, or labels that match no class, in ", odd, " of ", rows,
      " rows"), "Filter these rows out.")
  }
  bad <- sum(as.double(found$gpcalib_bad))
  if (bad > 0) {
    stop_input("probs", paste0("has ", bad, " of ", rows, " rows that are not probabilities, or with invalid weights"),
      "Values must lie in [0, 1] and rows sum to 1; weights must not be negative.")
  }
}

#' Rows of the grouped queries as sums
#' @noRd
lazy_parts <- function(columns, spec, eps, found) {
  first <- found[[1]]
  by <- paste0("gpcalib_by", seq_along(columns$by))
  owner <- function(rows) {
    if (!length(columns$by)) return(rep("all", nrow(rows)))
    do.call(paste, c(unname(lapply(rows[by], as.character)), sep = ", "))
  }
  names <- unique(owner(first))
  names <- names[order(names, method = "radix")]
  type <- ece_types[spec$type + 1]
  problems <- if (type %in% c("classwise", "top_label")) length(columns$classes) else 1
  rows <- if (type == "classwise") do.call(rbind, found[-1]) else first
  problem <- switch(type, classwise = as.integer(rows$gpcalib_class), top_label = as.integer(rows$gpcalib_pred), rep(1L, nrow(rows)))
  at <- (problem - 1) * spec$bins + as.integer(rows$gpcalib_bin)
  own <- owner(rows)
  numbers <- function(table, s) vapply(table[paste0("gpcalib_s", s)], function(x) as.double(x), numeric(nrow(table)))
  parts <- lapply(stats::setNames(names, names), function(name) {
    bins <- matrix(0, problems * spec$bins, 5, dimnames = list(NULL, sum_bins))
    mine <- own == name
    bins[at[mine], ] <- matrix(numbers(rows, 1:5), nrow(rows))[mine, ]
    totals <- colSums(matrix(numbers(first, 1:14), nrow(first))[owner(first) == name, , drop = FALSE])
    totals <- stats::setNames(totals[c(1:3, 6:14)], sum_totals)
    # squares about 1/2, which is near enough to the mean for most digits to stay, become squares about the mean
    off <- totals[["conf"]] - totals[["weight"]] / 2
    if (totals[["weight"]] > 0) totals[["spread"]] <- max(0, totals[["spread"]] - off * (off / totals[["weight"]]))
    list(bins = bins, totals = totals)
  })
  new_sums(spec, columns$classes, eps, length(columns$by) > 0, parts)
}
