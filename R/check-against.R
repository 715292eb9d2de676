# Scores that run against their labels: the first level taken for the event, columns in another
# order, labels counted from another number. Looked at once for every calibrator and measure.

against_limit <- -4 # standard errors below what scores that know nothing would show
against_rows <- 5L # fewer rows of a class say nothing

#' Warn when the scores of classes are low where they should be high
#'
#' @param data canonical scores, labels, classes, weights, input and scan; @param labels as the user
#'   gave them; @param arg the name of the scores' argument; @param named whether the columns were
#'   matched with the classes by name, so that their order cannot be the reason.
#' @noRd
warn_against <- function(data, labels, arg, named = FALSE) {
  if (length(data$classes) == 2) {
    against_two(data, arg, named)
  } else {
    against_many(data, labels, arg, named)
  }
}

against_named <- paste("The columns were matched with the classes by name, so either the names are wrong,",
  "or the rows are not those of the labels, or the classifier is often wrong.")

#' Two classes: the mean probability of the second class, in its rows and in the others
#' @noRd
against_two <- function(data, arg, named) {
  weights <- data$weights
  if (!is.null(weights)) weights <- weights / max(weights) # squares must not overflow
  part <- .Call(C_two_means, data$scores, data$labels, weights, data$input == "logits")
  if (min(part[1, ]) < against_rows) return()
  low <- part[2:3, 1]
  high <- part[2:3, 2]
  error <- sqrt(high[2] + low[2])
  if (!is.finite(error) || high[1] - low[1] >= against_limit * error - 1e-9) return() # rounding is none
  say <- function(x) format(x, digits = 2)
  event <- data$classes[2]
  warn_gpcalib("against", paste0("`", arg, "` contradict `labels`: the probability of the second class, \"",
    event, "\", is ", say(high[1]), " on average in its own rows and ", say(low[1]), " in the others. ",
    if (named) against_named else paste0("If the ",
      "scores are those of \"", data$classes[1], "\", give labels with the levels in the other order, ",
      "factor(labels, levels = c(\"", event, "\", \"", data$classes[1],
      "\")), or a matrix with the classes as column names.")))
}

#' More classes: how often a class is predicted in its own rows, against chance
#' @noRd
against_many <- function(data, labels, arg, named) {
  k <- length(data$classes)
  pred <- data$scan$arg
  truth <- data$labels
  if (!is.null(data$weights) && any(data$weights == 0)) {
    pred <- pred[data$weights > 0]
    truth <- truth[data$weights > 0]
  }
  n <- length(truth)
  own <- as.double(tabulate(truth, k))
  said <- as.double(tabulate(pred, k))
  both <- as.double(tabulate(truth[truth == pred], k))
  chance <- own * said / n
  spread <- sqrt(chance * (1 - own / n) * (1 - said / n))
  behind <- (both - chance) / spread
  low <- which(own >= against_rows & spread > 0 & behind < against_limit)
  agree <- sum(both)
  all_behind <- agree - sum(chance) < against_limit * sqrt(sum(chance))
  match <- matched_rows(truth, pred, k)
  # Two classes that are hard to tell apart may change places by chance.
  other <- if (match$total - agree > -against_limit * sqrt(match$moved)) match$total else 0
  if (named && other < 2 * agree) other <- 0 # a classifier that takes one class for another
  if (!length(low) && !all_behind && !other) return()
  shift <- if (!named) shifted_labels(pred, truth, agree, k, labels)
  seen <- if (length(low)) {
    worst <- low[which.min(behind[low])]
    paste0("class \"", data$classes[worst], "\" is the most likely one in ", both[worst], " of its ", own[worst],
      " rows, less often than in the others", if (length(low) > 1) {
        paste0(" (and so are ", length(low) - 1, " more classes)")
      })
  } else {
    paste0("the most likely class is the label in ", agree, " of ", n, " rows, ", if (other) {
      paste0("but would be in ", other, " with the columns in another order")
    } else {
      "less often than by chance"
    })
  }
  warn_gpcalib("against", paste0("`", arg, "` contradict `labels`: ", seen, ". ", if (named) {
    against_named
  } else if (is.null(shift)) {
    paste0("The columns may be in another order than the classes (", say_values(data$classes),
      "): name them, and they are matched by name.")
  } else {
    shift
  }))
}

#' How many rows would be right if each class had the column that goes with it best
#' @return list: `total`, and how many of these lie off the diagonal, `moved`.
#' @noRd
matched_rows <- function(truth, pred, k) {
  none <- list(total = 0, moved = 0)
  if (k > 1000L) return(none)
  cell <- truth + k * (pred - 1L) # of the table of truth by prediction, of which most cells are empty
  filled <- sort(unique(cell))
  count <- tabulate(match(cell, filled), length(filled))
  row <- (filled - 1L) %% k + 1L
  column <- (filled - 1L) %/% k + 1L
  most <- own <- integer(k)
  most[row[order(count)]] <- sort(count) # the last one written is the largest
  own[row[row == column]] <- count[row == column]
  if (all(own == most)) return(none) # no other order does better
  kept <- which(count > 1L)
  kept <- kept[order(-count[kept])]
  count <- count[kept]
  row <- row[kept]
  column <- column[kept]
  rows_used <- columns_used <- logical(k)
  total <- moved <- 0
  for (i in seq_along(count)) {
    if (rows_used[row[i]] || columns_used[column[i]]) next
    rows_used[row[i]] <- columns_used[column[i]] <- TRUE
    total <- total + count[i]
    if (row[i] != column[i]) moved <- moved + count[i]
  }
  list(total = total, moved = moved)
}

#' Whole numbers that fit the columns better when they count from another number
#' @noRd
shifted_labels <- function(pred, truth, agree, k, labels) {
  if (!is.numeric(labels)) return(NULL)
  by <- c(-1L, 1L)
  hits <- vapply(by, function(s) sum(pred == truth + s), 0)
  best <- which.max(hits)
  if (hits[best] < 2 * agree) return(NULL)
  first <- if (min(labels) == 0) 0L else 1L
  from <- first - by[best]
  paste0("Counted from ", from, " instead of ", first, ", the labels would agree with ", hits[best],
    " of ", length(truth), " rows instead of ", agree, ": if so, give factor(labels, levels = ", from, ":",
    from + k - 1, ").")
}
