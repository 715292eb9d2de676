# How calib_study() divides the rows of a data set into rows to calibrate on and rows to test on.

#' All splits of one data set, drawn with R's generator
#'
#' @param set list: `name`, `labels` (factor), `groups`, `time` (NULL or one value per row).
#' @param plan list: `splits` (a number, or the splits themselves), `n_cal`, `n_test`, `stratify`.
#' @return list of list(cal, test): row numbers, sorted.
#' @noRd
draw_splits <- function(set, plan) {
  n <- length(set$labels)
  if (is.list(plan$splits)) return(lapply(plan$splits, check_split, n = n, set = set))
  size <- split_sizes(plan, n, set)
  lapply(seq_len(plan$splits), function(i) {
    rows <- if (!is.null(set$groups)) {
      split_groups(set$groups, size)
    } else if (!is.null(set$time)) {
      split_time(set$time, size, set)
    } else {
      split_rows(n, size, if (plan$stratify) set$labels)
    }
    if (length(rows$cal) < 2 || length(rows$test) < 2) {
      stop_input(if (is.null(set$groups)) "time" else "groups", paste0("leave fewer than two rows ",
        "to calibrate on or to test on", in_set(set)), "Form smaller ones, or change `n_cal`.")
    }
    lapply(rows, sort)
  })
}

in_set <- function(set) if (is.null(set$name)) "" else paste0(" in the data set \"", set$name, "\"")

#' @return c(cal, test): numbers of rows; `test` NA for all that are left.
#' @noRd
split_sizes <- function(plan, n, set) {
  cal <- plan$n_cal
  if (is.na(cal)) cal <- min(1000, n %/% 2)
  if (cal < 1) cal <- round(cal * n)
  if (cal < 2 || cal > n - 2) {
    stop_input("n_cal", paste0("asks for ", format(cal), " of ", n, " rows", in_set(set)),
      "At least two rows must be left on each side.")
  }
  test <- plan$n_test
  if (!is.na(test) && test < 1) test <- max(2, round(test * n))
  if (!is.na(test) && (test < 2 || cal + test > n)) {
    stop_input("n_test", paste0("asks for ", format(test), " rows beside the ", cal,
      " to calibrate on", in_set(set), ", which has ", n), "Ask for fewer, at least two.")
  }
  # Windows in time need room to move: half of what is left.
  if (is.na(test) && !is.null(set$time)) test <- max(2, (n - cal) %/% 2)
  c(cal = cal, test = test)
}

#' At random, on request with the classes in proportion on both sides
#' @noRd
split_rows <- function(n, size, strata = NULL) {
  pick <- function(from, count) {
    if (is.null(strata)) return(from[sample.int(length(from), count)])
    # Every (length / count)-th row after a random start, the rows in random order within classes:
    # each class gets its share, rounded up or down, and each row has the same chance.
    from <- from[order(as.integer(strata)[from], sample.int(length(from)))]
    from[floor((seq_len(count) - 1 + stats::runif(1)) * length(from) / count) + 1]
  }
  cal <- pick(seq_len(n), size[["cal"]])
  rest <- setdiff(seq_len(n), cal)
  list(cal = cal, test = if (is.na(size[["test"]])) rest else pick(rest, size[["test"]]))
}

#' Whole groups, in random order, until their rows come nearest to the number asked for
#' @noRd
split_groups <- function(groups, size) {
  code <- match(groups, unique(groups))
  count <- max(code)
  order <- sample.int(count)
  total <- cumsum(tabulate(code, count)[order])
  last <- which.min(abs(total - size[["cal"]])[-count])
  end <- count
  if (!is.na(size[["test"]])) {
    later <- (last + 1):count
    end <- later[which.min(abs(total[later] - total[last] - size[["test"]]))]
  }
  list(cal = which(code %in% order[seq_len(last)]), test = which(code %in% order[(last + 1):end]))
}

#' A window of rows that follow each other in time, and the rows that come next
#'
#' Rows of the same time stay together: the window and the test rows begin and end between times.
#' @noRd
split_time <- function(time, size, set) {
  order <- order(time)
  code <- cumsum(!duplicated(time[order])) # 1, 2, ... along the sorted rows
  n <- length(code)
  last_of <- cumsum(tabulate(code)) # the last row of each time
  starts <- which(!duplicated(code))
  ends <- last_of[code[pmin(starts + size[["cal"]] - 1, n)]]
  fits <- starts + size[["cal"]] + size[["test"]] - 1 <= n & n - ends >= 2
  if (!any(fits)) {
    stop_input("time", paste0("leaves no room for ", size[["cal"]], " rows and ", size[["test"]],
      " later ones", in_set(set)), "Ask for fewer rows by `n_cal` and `n_test`.")
  }
  at <- which(fits)[sample.int(sum(fits), 1)]
  until <- last_of[code[min(ends[at] + size[["test"]], n)]]
  list(cal = order[starts[at]:ends[at]], test = order[(ends[at] + 1):until])
}

#' One split that the user gave: rows to calibrate on, or list(cal, test)
#' @noRd
check_split <- function(split, n, set) {
  if (is.list(split) && setequal(names(split), c("cal", "test"))) {
    rows <- split[c("cal", "test")]
  } else {
    rows <- list(cal = split)
  }
  whole <- vapply(rows, function(x) is.numeric(x) && !anyNA(x) && all(x == floor(x)), NA)
  all_rows <- unlist(rows)
  if (!all(whole) || !all(all_rows >= 1 & all_rows <= n) || anyDuplicated(all_rows)) {
    stop_input("splits", paste0("must hold row numbers from 1 to ", n, ", each at most once",
      in_set(set)), paste0("Give for each split the rows to calibrate on, or list(cal = , test = ) ",
      "without rows in common."))
  }
  rows <- lapply(rows, as.integer)
  if (is.null(rows$test)) rows$test <- setdiff(seq_len(n), rows$cal)
  if (length(rows$cal) < 2 || length(rows$test) < 2) {
    stop_input("splits", paste0("leaves fewer than two rows on a side", in_set(set)),
      "Each split needs rows to calibrate on and rows to test on.")
  }
  lapply(rows, sort)
}
