# What errors and warnings look like, and the words they are made of.

#' Raise an input error: "`arg` what. remedy"
#' @noRd
stop_input <- function(arg, what, remedy = NULL) {
  message <- paste0("`", arg, "` ", what, ".", if (!is.null(remedy)) paste0(" ", remedy))
  stop(errorCondition(message, class = c("gpcalib_error_input", "gpcalib_error"), call = NULL))
}

#' Warn with class gpcalib_warning_<class>
#' @noRd
warn_gpcalib <- function(class, message) {
  warning(warningCondition(message,
    class = c(paste0("gpcalib_warning_", class), "gpcalib_warning"), call = NULL
  ))
}

#' "row 4", "rows 4 and 9", "rows 4, 9, 11, 12, 15 and 30 more"
#' @noRd
say_rows <- function(rows, count = length(rows)) {
  rows <- as.character(utils::head(rows, 5))
  if (count == 1) return(paste("row", rows))
  if (count > length(rows)) {
    return(paste0("rows ", paste(rows, collapse = ", "), " and ", count - length(rows), " more"))
  }
  last <- length(rows)
  paste0("rows ", paste(rows[-last], collapse = ", "), " and ", rows[last])
}

#' "0.000" for "-0.000"
#' @noRd
no_minus_zero <- function(text) sub("^-(0[.]?0*)$", "\\1", text)

say_count <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

say_values <- function(x, most = 6) {
  shown <- paste0("\"", utils::head(x, most), "\"", collapse = ", ")
  if (length(x) > most) paste0(shown, ", ...") else shown
}
