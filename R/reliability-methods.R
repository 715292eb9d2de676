# What can be done with a reliability table.

#' @param object,x A reliability table.
#' @param digits,rows How many decimals and rows to print.
#' @param ... Passed on to [print.data.frame()]; `summary()` ignores it.
#' @rdname reliability_table
#' @order 2
#' @return `summary()` returns, for isotonic tables, a data frame with the columns `class`,
#'   `measure`, `score`, `miscalibration`, `discrimination`, `uncertainty`; for smooth ones, one with `class`, `ici`,
#'   `e50`, `e90`, `emax` and `edf` (effective degrees of freedom, 2 for a straight line); for bins, one with
#'   `class`, `n`, `confidence`, `observed`, `gap`, `ece` and `mce` (norms 1 and Inf).
#' @export
summary.reliability_table <- function(object, ...) {
  if (!is.null(attr(object, "parts"))) {
    return(bind_groups(lapply(attr(object, "parts"), summary), names(attr(object, "parts"))))
  }
  smooth <- attr(object, "smooth")
  if (!is.null(smooth)) return(smooth[smooth$class %in% object$class, , drop = FALSE])
  corp <- attr(object, "corp")
  if (!is.null(corp)) return(corp[corp$class %in% object$class, , drop = FALSE])
  table <- as.data.frame(object)
  code <- ifelse(is.na(table$class), 0L, as.integer(table$class))
  rows <- lapply(split(table, code), function(part) {
    full <- part[part$n > 0, ]
    total <- sum(full$n)
    average <- function(x) if (total > 0) sum(full$n * x) / total else NA_real_
    data.frame(
      class = part$class[1], n = total,
      confidence = average(full$confidence), observed = average(full$observed),
      gap = average(full$gap), ece = average(abs(full$gap)),
      mce = if (total > 0) max(abs(full$gap)) else NA_real_
    )
  })
  out <- do.call(rbind, rows)
  rownames(out) <- NULL
  out
}

#' @rdname reliability_table
#' @order 2
#' @export
print.reliability_table <- function(x, digits = 3, rows = 20, ...) {
  about <- function(name) attr(x, name)
  if (!is.null(about("type"))) {
    kind <- if (about("method") == "bins") {
      if (!is.null(about("binning"))) paste0("equal ", about("binning")) else "bins"
    } else {
      paste0(about("method"), if (!is.null(about("conf_level")) && !is.null(about("region"))) {
        paste0(", ", about("region"), " band")
      })
    }
    what <- c(
      if (is_whole(x) || !is.null(about("parts"))) {
        paste0(format(about("N"), scientific = FALSE), " rows, ", about("K"), " classes")
      },
      if (!is.null(about("smooth"))) {
        if (nrow(about("smooth")) == 1) paste("ICI", format(round(about("smooth")$ici, digits)))
      } else if (is.null(about("parts"))) {
        paste("ECE", format(round(table_ece(x), digits)))
      }
    )
    groups <- length(about("parts"))
    cat("Reliability table", if (groups) paste(" of", say_count(groups, "group")) else if (!is_whole(x)) {
      " (some of its rows)"
    }, ": ", about("type"), ", ", kind,
      "; ", paste(what, collapse = "; "), "\n", sep = "")
  }
  table <- as.data.frame(x)
  filled <- if (is.null(table$n)) table else table[table$n > 0, , drop = FALSE]
  if (!is.null(filled$class) && all(is.na(filled$class))) filled$class <- NULL
  numeric <- vapply(filled, is.double, NA)
  filled[numeric] <- lapply(filled[numeric], round, digits = digits)
  print(utils::head(filled, rows), row.names = FALSE, ...)
  hidden <- c(nrow(filled) - min(rows, nrow(filled)), nrow(table) - nrow(filled))
  said <- c(say_count(hidden[1], "more row"), say_count(hidden[2], "empty bin"))[hidden > 0]
  if (length(said)) cat("(", paste(said, collapse = ", "), ")\n", sep = "")
  invisible(x)
}

#' Has no row been taken out? Numbers of the whole forecast belong to a whole table only.
#' @noRd
is_whole <- function(x) {
  total <- attr(x, "total")
  !is.null(total) && !is.null(x$n) && isTRUE(all.equal(sum(x$n), total))
}

reliability_columns <- c("class", "bin", "lower", "upper", "n", "confidence", "observed", "gap",
  "conf.low", "conf.high")

#' @export
`[.reliability_table` <- function(x, ...) {
  out <- NextMethod()
  if (!inherits(out, "reliability_table")) return(out) # a single column
  if (!is.null(attr(x, "parts"))) return(as.data.frame.reliability_table(out))
  if (!all(reliability_columns %in% names(out))) return(as.data.frame(out))
  attr(out, "ece") <- table_ece(out)
  for (name in c("corp", "smooth", "band", "spread")) {
    part <- attr(x, name)
    if (!is.null(part)) attr(out, name) <- part[part$class %in% out$class, , drop = FALSE]
  }
  if (!is_whole(out)) attr(out, "overconfidence") <- attr(out, "underconfidence") <- NULL
  out
}

#' @export
as.data.frame.reliability_table <- function(x, ...) {
  plain <- c("names", "row.names")
  attributes(x) <- c(attributes(x)[plain], class = "data.frame")
  x
}
