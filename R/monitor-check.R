# What is fed to monitors, and monitors that come back from a file.

check_alternatives <- function(alternatives) {
  known <- monitor_alternatives
  if (!is.character(alternatives) || !length(alternatives) || !all(alternatives %in% known) ||
    anyDuplicated(alternatives)) {
    stop_input("alternatives", paste("must be some of", say_values(known)), say_given(alternatives))
  }
  alternatives
}

check_classes <- function(classes) {
  if (is.factor(classes)) classes <- levels(classes)
  if (!is.atomic(classes) || length(classes) < 2 || anyNA(classes) || anyDuplicated(as.character(classes)) ||
    is.object(classes)) {
    stop_input("classes", "must name two or more different classes", say_given(classes))
  }
  as.character(classes)
}

#' The classes of a first batch, as check_data() finds them
#' @noRd
find_classes <- function(probs, labels) {
  if (is.null(probs)) {
    stop_input("classes", "is missing", "A monitor that is fed later must know its classes: name them.")
  }
  if (is.null(labels)) stop_input("labels", "is missing", "Give labels, with NA where they are not known yet.")
  x <- as_score_matrix(probs, "probs")
  if (!is.atomic(labels) || length(labels) != nrow(x)) {
    return(check_labels(labels, nrow(x), max(2L, ncol(x)), NULL, "probs")$classes)
  }
  known <- labels[!is.na(labels)]
  if (!length(known) && !is.factor(labels)) {
    stop_input("classes", "is missing", "No label says which classes there are: name them.")
  }
  columns <- named_columns(x, if (is.factor(labels)) levels(labels) else unique(known))
  check_labels(known, length(known), max(2L, ncol(x)), columns, "probs")$classes
}

check_period <- function(period, n, batch) {
  if (is.null(period)) return(rep(paste("batch", batch), n))
  known <- is.factor(period) || is.character(period) || is.logical(period) || is.numeric(period) ||
    inherits(period, c("Date", "POSIXct"))
  if (!known || !length(period) %in% c(1L, n) || anyNA(period)) {
    stop_input("period", "must be one value, or one for each row, none of them missing", say_given(period))
  }
  rep_len(as.character(period), n)
}

check_ids <- function(id, n, monitor) {
  if (is.null(id)) return(format(monitor$fed + seq_len(n), scientific = FALSE, trim = TRUE))
  if (!is.atomic(id) || length(id) != n || anyNA(id) || anyDuplicated(as.character(id))) {
    stop_input("id", "must hold one value per row, all different", say_given(id))
  }
  id <- as.character(id)
  if (any(id %in% monitor$waiting$id)) {
    stop_input("id", paste0("has values of rows that wait for their label: ",
      say_values(id[id %in% monitor$waiting$id], 3)), "Give every row an id of its own.")
  }
  id
}

warn_fractions <- function(weights) {
  if (!is.null(weights) && any(weights > 1 & weights != floor(weights))) {
    warn_gpcalib("weights", paste0("Some weights exceed 1 and are not whole numbers: the level of the test does not ",
      "hold. Divide the weights by their maximum."))
  }
}

#' Labels of a later batch as codes of classes that are known, NA where they are missing
#'
#' @param columns column names of the scores, or NULL: unnamed columns are in the order of the classes, which
#'   the levels of a factor must not contradict.
#' @noRd
batch_labels <- function(labels, classes, n, columns, missing_ok = FALSE) {
  if (is.data.frame(labels) && length(labels) == 1) labels <- labels[[1]]
  known <- is.factor(labels) || is.character(labels) || is.logical(labels) || is.numeric(labels)
  if (!known || (is.object(labels) && !is.factor(labels)) || length(dim(labels)) > 1) {
    stop_input("labels", "must be a factor, character, logical or whole numbers",
      paste(say_given(labels), "Give one label per row."))
  }
  if (length(labels) != n) {
    stop_input("labels", paste0("has ", say_count(length(labels), "value"), " but there are ", say_count(n, "row")),
      "Give one label per row.")
  }
  if (is.factor(labels) && !all(as.integer(labels) %in% c(NA, seq_along(levels(labels))))) {
    stop_input("labels", "is not a valid factor: it has codes without a level", "Create it again with factor().")
  }
  gone <- is.na(labels)
  if (any(gone) && !missing_ok) {
    stop_input("labels", paste0("has missing values (", say_rows(which(gone), sum(gone)), ")"), "Remove those rows.")
  }
  if (is.factor(labels) && is.null(columns) && setequal(levels(labels), classes) &&
    !identical(levels(labels), classes)) {
    stop_input("labels", "has its levels in another order than before, and the columns have no names",
      "Name the columns, or make the factor with the levels of the first batch.")
  }
  if (is.numeric(labels) && !is.factor(labels)) check_whole(labels[!gone])
  text <- if (is.numeric(labels) && !is.factor(labels)) sprintf("%.0f", as.double(labels)) else as.character(labels)
  codes <- match(text, classes)
  bad <- which(is.na(codes) & !gone)
  if (length(bad)) {
    stop_input("labels", paste0("has values that are not among the classes: ", say_values(unique(text[bad]), 3), " (",
      say_rows(bad, length(bad)), ")"), paste0("The classes are ", say_values(classes), "."))
  }
  codes[gone] <- NA_integer_
  codes
}

# Objects -----------------------------------------------------------------------------------

check_monitor <- function(object, arg = "object") {
  if (!inherits(object, "calib_monitor")) {
    stop_input(arg, "must be a monitor", "Give the result of calib_monitor().")
  }
  if (!is.list(object)) stop_object(arg, "is no list")
  names <- names(object)
  if (is.null(names) || anyNA(names) || anyDuplicated(names)) {
    stop_object(arg, "has fields without a name, or a name twice")
  }
  if (!identical(object$format, 1L)) stop_object(arg, "is of another format than this version writes")
  periods <- length(object$period)
  looks <- NROW(object$path)
  check_fields(object, list(
    classes = field("text", NULL), alternatives = field("text", NULL, among = monitor_alternatives),
    level = field("number", low = 1e-12, high = 0.5), fed = field("number", low = 0), run = field("integer", low = 1),
    batches = field("integer", low = 0), period = field("text", NA), period_run = field("integer", periods, low = 1),
    impossible = field("number", low = 0)
  ), arg)
  k <- length(object$classes)
  check_fields(object, list(evidence = field("number", monitor_evidence_size(k)),
    sums = field("number", periods * monitor_columns(k))), arg)
  path <- object$path
  waiting <- object$waiting
  sound <- !anyDuplicated(object$classes) && !anyDuplicated(object$alternatives) &&
    all(object$period_run <= object$run) &&
    identical(dim(object$sums), c(periods, monitor_columns(k))) && all(object$sums[, 1] >= 0) &&
    is.double(path) && identical(dim(path), c(looks, 4L + length(object$alternatives))) && !anyNA(path) &&
    all(is.finite(path[, 1:3])) && all(path[, 2] %in% seq_len(periods)) && all(path[, 1] %in% seq_len(object$run))
  if (!isTRUE(sound)) stop_object(arg, "has sums, classes or a path that do not belong together")
  if (!is.list(waiting)) stop_object(arg, "has rows waiting for labels that are not rows")
  waits <- length(waiting$id)
  sound <- is.double(waiting$probs) && identical(dim(waiting$probs), c(waits, k)) &&
    is.character(waiting$id) && is.integer(waiting$period) && is.double(waiting$weight) &&
    length(waiting$period) == waits && length(waiting$weight) == waits && !anyNA(waiting$id) &&
    !anyDuplicated(waiting$id) && all(is.finite(waiting$probs) & waiting$probs >= 0 & waiting$probs <= 1) &&
    all(waiting$period %in% seq_len(periods)) && all(is.finite(waiting$weight) & waiting$weight >= 0)
  if (!isTRUE(sound)) stop_object(arg, "has rows waiting for labels that are not rows")
  if ("process" %in% object$alternatives) process_sound(object$process, object$classes, arg)
  object
}
