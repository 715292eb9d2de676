# As much of JSON as write_calibrator() and read_calibrator() need.

#' A list as JSON: named lists are objects, other lists and what I() marks arrays, single values themselves
#' @noRd
to_json <- function(x, indent = 0) {
  pad <- strrep(" ", indent)
  if (is.list(x) && !is.null(names(x))) {
    if (!length(x)) return("{}")
    parts <- vapply(x, to_json, "", indent = indent + 1)
    return(paste0("{\n", paste0(pad, " ", json_text(names(x)), ": ", parts, collapse = ",\n"), "\n", pad, "}"))
  }
  if (is.list(x)) {
    if (!length(x)) return("[]")
    parts <- vapply(x, to_json, "", indent = indent + 1)
    return(paste0("[\n", paste0(pad, " ", parts, collapse = ",\n"), "\n", pad, "]"))
  }
  if (is.matrix(x)) return(to_json(lapply(seq_len(nrow(x)), function(i) I(x[i, ])), indent))
  array <- inherits(x, "AsIs")
  x <- as.vector(unclass(x))
  if (!length(x)) return("[]")
  values <- if (is.character(x)) {
    json_text(x)
  } else if (is.logical(x)) {
    ifelse(is.na(x), "null", ifelse(x, "true", "false"))
  } else if (is.integer(x)) {
    ifelse(is.na(x), "null", as.character(x))
  } else {
    ifelse(is.finite(x), sprintf("%.17g", x), "null")
  }
  if (array) paste0("[", paste(values, collapse = ", "), "]") else values
}

json_text <- function(x) {
  x <- gsub("\"", "\\\"", gsub("\\", "\\\\", enc2utf8(x), fixed = TRUE), fixed = TRUE)
  for (code in which(vapply(1:31, function(i) any(grepl(intToUtf8(i), x, fixed = TRUE)), NA))) {
    x <- gsub(intToUtf8(code), sprintf("\\u%04x", code), x, fixed = TRUE)
  }
  paste0("\"", x, "\"")
}

# A string, a number, a word, or one of []{}:,
json_token <- "\"(?:[^\"\\\\]|\\\\.)*+\"|-?[0-9][-+.eE0-9]*|true|false|null|[]\\[{}:,]"

#' JSON as lists: objects are named lists, arrays lists, null NULL
#' @noRd
from_json <- function(text) {
  text <- enc2utf8(text)
  wrong <- function() stop_input("file", "is not JSON", "It is damaged, or not a file of write_calibrator().")
  found <- gregexpr(json_token, text, perl = TRUE)
  tokens <- regmatches(text, found)[[1]]
  if (!length(tokens) || nzchar(trimws(paste(regmatches(text, found, invert = TRUE)[[1]], collapse = "")))) wrong()
  at <- 0L
  take <- function() {
    at <<- at + 1L
    if (at > length(tokens)) wrong()
    tokens[at]
  }
  value <- function(token, depth = 0) {
    if (depth > 50) wrong()
    first <- substr(token, 1, 1)
    if (token == "{") return(object(depth))
    if (token == "[") return(array(depth))
    if (first == "\"") return(json_string(token))
    switch(token, true = TRUE, false = FALSE, null = NULL, {
      number <- suppressWarnings(as.double(token))
      if (is.na(number)) wrong() else number
    })
  }
  array <- function(depth) {
    out <- list()
    token <- take()
    while (token != "]") {
      out[length(out) + 1L] <- list(value(token, depth + 1))
      token <- take()
      if (token == ",") token <- take() else if (token != "]") wrong()
    }
    out
  }
  object <- function(depth) {
    out <- list()
    token <- take()
    while (token != "}") {
      if (substr(token, 1, 1) != "\"" || take() != ":") wrong()
      out[json_string(token)] <- list(value(take(), depth + 1))
      token <- take()
      if (token == ",") token <- take() else if (token != "}") wrong()
    }
    out
  }
  out <- value(take())
  if (at < length(tokens)) wrong()
  out
}

json_string <- function(token) {
  x <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", x, fixed = TRUE)) return(x)
  marks <- gregexpr("\\\\(?:u[0-9a-fA-F]{4}|.)", x, perl = TRUE)
  regmatches(x, marks) <- lapply(regmatches(x, marks), function(codes) {
    vapply(codes, function(code) {
      switch(substr(code, 2, 2), n = "\n", t = "\t", r = "\r", b = "\b", f = "\f",
        u = intToUtf8(strtoi(substr(code, 3, 6), 16L)), substr(code, 2, 2))
    }, "")
  })
  x
}
