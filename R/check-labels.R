# Labels: from what users pass in to integer codes, and the columns that go with them.

#' The names to match with the classes; NULL when columns are to be taken in order
#'
#' cbind(1 - p, p) names its second column only: names with gaps are no names, unless one of
#' them is a class.
#' @noRd
named_columns <- function(x, classes) {
  columns <- colnames(x)
  if (ncol(x) == 1 || is.null(columns)) return(NULL)
  if (!any(is_gap(columns))) return(columns)
  meant <- columns %in% classes | sub("^\\.pred_", "", columns) %in% classes
  if (any(meant)) columns
}

is_gap <- function(name) is.na(name) | name == ""

#' Which column holds which class
#'
#' @param columns column names; @param classes the classes in their order.
#' @return integer: `columns[result]` are the classes; NULL when the names do not match.
#' @noRd
match_columns <- function(columns, classes) {
  bare <- sub("^\\.pred_", "", columns)
  for (names in list(columns, bare)) {
    if (length(names) == length(classes) && !anyDuplicated(names) && setequal(names, classes)) {
      return(match(classes, names))
    }
  }
  NULL
}

stop_names <- function(arg, columns, classes) {
  stop_input(arg, paste0("has column names (", say_values(columns),
    ") that do not match the classes (", say_values(classes), ")"),
    "Rename the columns, or drop the names with unname() to take them in order.")
}

#' The number of classes in the labels is not that of the scores
#' @param kind what was counted: "level", "different value"
#' @noRd
stop_class_count <- function(found, k, arg, kind) {
  found <- paste0(found, " ", kind, if (found != 1) "s")
  stop_input("labels", paste0("has ", found, " but `", arg, "` has ",
    if (k == 2) "two classes" else paste(k, "columns")),
    if (k == 2) {
      paste0("A vector stands for the second of two classes. Give a matrix with one column for each class, or a factor ",
        "with two levels.")
    } else {
      "Give a factor whose levels are the classes, one for each column."
    })
}

#' Labels as integer codes, and the order of the columns that goes with them
#'
#' @return list: `codes`, `classes`, `order` (NULL: columns as they are).
#' @noRd
check_labels <- function(labels, n, k, columns, arg) {
  if (is.data.frame(labels) && length(labels) == 1) labels <- labels[[1]]
  known <- is.factor(labels) || is.character(labels) || is.logical(labels) || is.numeric(labels)
  if (!known || (is.object(labels) && !is.factor(labels)) || length(dim(labels)) > 1) {
    stop_input("labels", "must be a factor, character, logical or whole numbers",
      paste(say_given(labels), "Give one label per row."))
  }
  if (length(labels) != n) {
    stop_input("labels", paste0("has ", say_count(length(labels), "value"), " but `", arg, "` has ",
      say_count(n, "row")), if (length(labels) == k && k > n) {
      paste0("Rows are cases and columns are classes; t(", arg, ") exchanges them.")
    } else {
      "Give one label per row."
    })
  }
  if (anyNA(labels)) {
    bad <- which(is.na(labels))
    stop_input("labels", paste0("has missing values (", say_rows(bad, length(bad)), ")"),
      "Remove those rows, or fill them in.")
  }
  if (is.factor(labels)) {
    classes <- levels(labels)
    check_extra_columns(columns, classes, arg)
    check_lacking_columns(columns, classes, table(labels), arg)
    if (length(classes) != k) stop_class_count(length(classes), k, arg, "level")
    codes <- as.integer(labels)
    if (length(codes) && (min(codes) < 1L || max(codes) > k)) {
      stop_input("labels", "is not a valid factor: it has codes without a level",
        "Create it again with factor().")
    }
    return(place_columns(codes, classes, columns, arg))
  }
  if (is.logical(labels)) {
    if (k != 2) {
      stop_input("labels", paste0("is logical, which means two classes, but `", arg, "` has ", k,
        " columns"), "Give a factor whose levels are the classes, one for each column.")
    }
    return(place_columns(labels + 1L, c("FALSE", "TRUE"), columns, arg))
  }
  if (is.numeric(labels)) {
    check_whole(labels)
    if (is.null(columns)) return(code_whole(labels, k))
    labels <- if (is.integer(labels)) labels else as.double(labels)
    values <- unique(labels)
    return(name_labels(labels, values, sprintf("%.0f", as.double(values)), columns, arg))
  }
  if (is.null(columns)) {
    classes <- levels(factor(labels))
    if (length(classes) != k) stop_class_count(length(classes), k, arg, "different value")
    return(list(codes = match(labels, classes), classes = classes, order = NULL))
  }
  values <- unique(labels)
  name_labels(labels, values, values, columns, arg)
}

#' Columns beside those of the classes
#' @noRd
check_extra_columns <- function(columns, classes, arg) {
  bare <- sub("^\\.pred_", "", columns)
  extra <- columns[!columns %in% classes & !bare %in% classes]
  if (length(extra) && all(classes %in% c(columns, bare))) {
    names <- paste0("colnames(", arg, ")")
    if (!all(classes %in% columns)) names <- paste0("sub(\"^.pred_\", \"\", ", names, ")")
    stop_input(arg, paste0("has columns that match no class (", say_values(extra), ")"),
      paste0("If these are scores of classes without a row, make them levels: labels <- factor(labels, levels = ", names, "). ",
        "If they are no scores, leave them out; the score columns are then ", say_values(classes), "."))
  }
}

#' Classes without a column, where others have one of their name
#' @param rows how many rows each class has
#' @noRd
check_lacking_columns <- function(columns, classes, rows, arg) {
  bare <- sub("^\\.pred_", "", columns)
  lacking <- !classes %in% c(columns, bare)
  # Columns of other names may be those of these classes: stop_names() shows both.
  if (!length(columns) || !any(lacking) || !all(columns %in% classes | bare %in% classes)) return()
  used <- lacking & rows > 0
  stop_input("labels", paste0("has ", if (sum(lacking) == 1) "a class" else "classes", " without a column in `", arg, "`: ",
    say_values(classes[lacking])),
    if (any(used)) {
      paste0("A calibrator cannot predict a class that has no scores. Add the column, or leave out ", if (sum(rows[used]) == 1) "the row" else
        paste0("the ", sum(rows[used]), " rows"), " of ", say_values(classes[used]), " and then call droplevels().")
    } else {
      "No row has such a label: droplevels(labels) leaves these levels out."
    })
}

place_columns <- function(codes, classes, columns, arg) {
  order <- NULL
  if (!is.null(columns)) {
    order <- match_columns(columns, classes)
    if (is.null(order)) stop_names(arg, columns, classes)
    if (identical(order, seq_along(order))) order <- NULL
  }
  list(codes = codes, classes = classes, order = order)
}

#' Labels without levels of their own: the columns' names are the classes, in their order
#'
#' @param values the labels' distinct values, `text` the same as character.
#' @noRd
name_labels <- function(labels, values, text, columns, arg) {
  if (any(is_gap(columns))) {
    stop_input(arg, "has names for some columns but not for all", paste0("Name every column by its ",
      "class, or drop the names with unname() to take them in order."))
  }
  bare <- sub("^\\.pred_", "", columns)
  for (classes in list(columns, bare)) {
    if (!anyDuplicated(classes) && all(text %in% classes)) {
      codes <- match(text, classes)[match(labels, values)]
      return(list(codes = codes, classes = classes, order = NULL))
    }
  }
  classes <- if (any(text %in% columns)) columns else bare
  if (!any(text %in% classes)) stop_names(arg, columns, sort(text))
  bad <- which(labels %in% values[!text %in% classes])
  stop_input("labels", paste0("has values that are not among the classes: ",
    say_values(text[!text %in% classes], 3), " (", say_rows(bad, length(bad)), ")"),
    paste0("The classes are the column names of `", arg, "`: ", say_values(classes), "."))
}

check_whole <- function(labels) {
  if (is.integer(labels)) return()
  bad <- which(labels != floor(labels) | is.infinite(labels))
  if (length(bad)) {
    stop_input("labels", paste0("has numbers that are not whole (",
      say_rows(bad, length(bad)), ")"), "Labels are classes: whole numbers, or a factor.")
  }
}

code_whole <- function(labels, k) {
  if (!length(labels)) return(list(codes = integer(), classes = as.character(seq_len(k)), order = NULL))
  lowest <- min(labels)
  highest <- max(labels)
  first <- if (lowest == 0) 0L else 1L
  if (lowest < 0 || highest > first + k - 1) {
    bad <- which(labels < 0 | labels > first + k - 1)
    stop_input("labels", paste0("has values outside ", first, " to ", first + k - 1, " (", labels[bad[1]], " in ",
      say_rows(bad, length(bad)), ")"),
      "Whole numbers are column numbers, starting at 1 (at 0 if any label is 0). Use factor(labels) for other codes, such as -1 and 1.")
  }
  codes <- as.integer(labels)
  if (k == 2 && first == 1L && highest == 1) {
    warn_gpcalib("labels", paste0("`labels` are all 1 and count the classes from 1: every row ",
      "belongs to the first of two classes. If they are meant as 0/1, give a factor with both ",
      "levels."))
  }
  list(codes = if (first == 0L) codes + 1L else codes,
    classes = as.character(seq(first, length.out = k)), order = NULL)
}

#' A single column that carries the name of the first class: turned into the second's
#'
#' Other names say nothing (`data.frame(p = p)`), except that `.pred_` asks for a class.
#' @noRd
orient_column <- function(x, classes, arg) {
  name <- colnames(x)
  if (ncol(x) != 1 || is.null(name) || is_gap(name)) return(list(x = x, flip = FALSE))
  bare <- sub("^\\.pred_", "", name)
  known <- c(name, bare) %in% classes
  if (!any(known) && bare != name) stop_names(arg, name, classes)
  list(x = unname_columns(x), flip = any(c(name, bare) == classes[1]) && name != classes[2])
}

unname_columns <- function(x) {
  colnames(x) <- NULL
  x
}
