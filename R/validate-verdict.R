# What a validation says in words: which intervals exclude their ideal values, and how much that means.

# Measures that answer the same question are judged together: too high or low on average, too extreme, any departure of the curve.
validation_families <- list(
  mean = c("oe_ratio", "in_the_large", "intercept", "slope_intercept"), slope = "slope", curve = "ici"
)
# How often at least one interval of 95 % excludes the ideal although the probabilities are calibrated: in 0.14 and 0.13 of 300
# samples of 300 and of 1000 rows.
family_chance <- "for perfectly calibrated probabilities, an interval of mean, slope or curve excludes its ideal value in about 1 of 7 validations"

#' Which measures of one part have an interval that excludes the ideal: named flags, NA where there is none
#' @noRd
validation_outside <- function(x) {
  table <- as.data.frame(x)
  names <- unlist(validation_families, use.names = FALSE)
  table <- table[match(names, table$measure), ]
  ideal <- as.double(validation_ideal[names])
  stats::setNames(table$conf.low > ideal | table$conf.high < ideal, names)
}

#' The p-values by which the curves of the parts depart from the diagonal, adjusted by Holm's method for their number: of those validated, not of those chosen since
#' @noRd
validation_p <- function(x) {
  if (is.null(attr(x, "p.value")) || is.null(attr(x, "conf_level"))) return(NA_real_)
  if (!is.null(attr(x, "holm"))) attr(x, "holm") else stats::p.adjust(attr(x, "p.value"), "holm")
}

#' For how many tests they are adjusted
#' @noRd
validation_tests <- function(x) {
  if (!is.null(attr(x, "tests"))) attr(x, "tests") else sum(!is.na(attr(x, "p.value")))
}

outside_words <- c(oe_ratio = "O:E", in_the_large = "mean outcome - mean risk", intercept = "the calibration intercept", slope = "slope",
  slope_intercept = "the intercept fitted together with the slope", ici = "ICI")

#' Does a single family exclude the ideal, and by no more than one of so many may by chance? Its two-sided p-value, by the normal
#' distribution, is then above (1 - level) / 3.
#' @noRd
just_outside <- function(x, families) {
  if (length(families) != 1) return(FALSE)
  share <- (1 - attr(x, "conf_level")) / length(validation_families)
  if (families == "curve") return(isTRUE(attr(x, "p.value") > share))
  table <- as.data.frame(x)
  rows <- table[match(validation_families[[families]], table$measure), ]
  rows <- rows[validation_outside(x)[rows$measure] %in% TRUE, ]
  half <- stats::qnorm((1 + attr(x, "conf_level")) / 2)
  log_scale <- rows$measure == "oe_ratio"
  to <- function(v) {
    v[log_scale] <- log(v[log_scale])
    v
  }
  ideal <- to(as.double(validation_ideal[rows$measure]))
  error <- (to(rows$conf.high) - to(rows$conf.low)) / (2 * half)
  isTRUE(all(2 * stats::pnorm(-abs(to(rows$estimate) - ideal) / error) > share))
}

far_change <- 0.1 # of the slope, worth a line

#' The parts whose slope a few far scores decide
#' @noRd
far_moved <- function(x) {
  far <- attr(x, "far")
  table <- as.data.frame(x)
  slope <- table$estimate[table$measure == "slope"]
  if (is.null(far) || ncol(far) != length(slope)) return(integer())
  which(abs(far["slope", ] - slope) > far_change)
}

#' The slopes with limited odds, as text; without far scores it is the slope itself
#' @noRd
limited_slopes <- function(x, slope, digits) {
  far <- attr(x, "far")["slope", ]
  ifelse(is.infinite(far), "none", say_decimals(ifelse(is.na(far) & !is.nan(far), slope, far), digits))
}

#' Slopes that a few far scores decide: a sentence, or NULL
#' @noRd
say_far <- function(x) {
  moved <- far_moved(x)
  if (!length(moved)) return(NULL)
  far <- attr(x, "far")
  none <- is.infinite(far["slope", moved])
  level <- attr(x, "conf_level")
  limit <- say_most_odds(attr(x, "n"))
  names <- validation_names(x)
  if (is.null(names)) {
    number <- function(x) formatC(x, digits = 2, format = "f")
    rows <- say_number(far[["rows", moved]])
    return(paste0("The slope in the table depends on ", rows, if (rows == "1") " row" else " rows", " with odds beyond ", limit, ". ", if (none) {
      paste0("Do not report it: if odds are limited to ", limit, ", they separate the events from the other rows, and there is no slope.")
    } else {
      paste0("Report instead the slope with odds limited to ", limit, ": ", number(far["slope", moved]),
        if (!is.null(level)) paste0(" (", number(far["low", moved]), " to ", number(far["high", moved]), ")"), ".")
    }))
  }
  paste0("limited: the slope if odds are limited to ", limit, ". Where the two differ, report the limited slope: rows with more extreme odds decide the other one.",
    if (!is.null(level)) " (Intervals of the limited slope: attr(x, \"far\").)", if (any(none)) " none: limited odds separate the events from the other rows, so that no slope can be given.")
}

#' The most extreme odds that slopes take as they are: of the largest part, in words
#' @noRd
say_most_odds <- function(n) {
  n <- pmax(n, least_odds)
  if (max(n) == min(n)) paste(say_number(far_odds * n[1]), "to 1") else "10 N to 1 (N: the number of rows of its group, at least 1000)"
}

#' What can be done about it
#' @noRd
say_recalibrate <- function(several) {
  paste0("Not calibrated on this population yet? Use ", if (several) "calib_gp(), or see vignette(\"choosing\", package = \"gpcalib\")" else shifting_methods(2, "or"),
    ". Already calibrated? Then the rest may be due to the limited number of calibration rows, which these intervals ignore, or to a difference between those rows and these: calibrate again only with more rows.")
}

#' Two digits, more where these would say little of the difference from 1
#' @noRd
say_ratio <- function(x) {
  digits <- 2
  while (abs(as.numeric(format(x, digits = digits)) - x) > 0.2 * abs(x - 1) && digits < 6) digits <- digits + 1
  format(x, digits = digits)
}

#' What is wrong with one part, in sentences
#' @noRd
say_outside <- function(x, outside) {
  row <- function(name) as.list(as.data.frame(x)[x$measure == name, ])
  ratio <- row("oe_ratio")
  slope <- row("slope")
  is_out <- function(name) isTRUE(outside[[name]])
  others <- setdiff(names(which(outside)), c("oe_ratio", "slope", "ici"))
  if (is_out("oe_ratio")) others <- setdiff(others, c("in_the_large", "intercept")) # the same on other scales
  if (is_out("slope")) others <- setdiff(others, "slope_intercept") # said with the slope
  number <- function(v) formatC(v, digits = 2, format = "f")
  weak <- is_out("slope") && length(which(outside)) > 1 && just_outside(x, "slope")
  c(
    if (is_out("oe_ratio")) {
      paste0("The probabilities are too ", if (ratio$estimate < 1) "high" else "low", " on average: ",
        say_ratio(ratio$estimate), " events were observed for each one expected.")
    },
    if (weak) {
      paste0(if (is_out("oe_ratio")) "They" else "The probabilities", " may also be too ", if (slope$estimate < 1) "extreme" else "cautious", ", but a recalibration slope of ",
        number(slope$estimate), " (", number(slope$conf.low), " to ", number(slope$conf.high), ") is weak evidence.")
    } else if (is_out("slope")) {
      paste0(if (is_out("oe_ratio")) "They" else "The probabilities", " are too ", if (slope$estimate < 1) "extreme" else "cautious", ": the recalibration slope is ",
        if (slope$estimate < 1) "below" else "above", " 1.")
    },
    if (is_out("slope") && is_out("slope_intercept")) {
      paste0("Its intercept (", number(row("slope_intercept")$estimate), ") differs from 0", if (!weak) ", too", ".")
    },
    if (is_out("ici")) {
      paste0(if (is_out("oe_ratio") || is_out("slope")) "The" else "No miscalibration of mean or slope was found, but the",
        " calibration curve departs from the diagonal, by ", format(row("ici")$estimate, digits = 2), " on average (ICI): see autoplot().")
    },
    if (length(others)) {
      paste0("The interval", if (length(others) > 1) "s", " of ", say_and(outside_words[others]),
        if (length(others) > 1) " exclude the ideal value 0." else " excludes the ideal value 0.")
    }
  )
}

#' What the numbers of one part say in words
#' @noRd
validation_verdict <- function(x) {
  slope <- as.list(as.data.frame(x)[x$measure == "slope", ])
  if (isTRUE(slope$conf.high < 0)) {
    return(paste("The probabilities contradict the event: the higher they are, the rarer it is (the slope is below 0).",
      "Check which class is the event (`event`, `event_level`)."))
  }
  outside <- validation_outside(x)
  if (all(is.na(outside))) return(NULL)
  said <- say_outside(x, outside)
  families <- names(which(vapply(validation_families, function(names) any(outside[names], na.rm = TRUE), NA)))
  if (just_outside(x, families)) {
    return(paste0(paste(said, collapse = " "), " Only the ", families, " is off, and barely: ",
      if (isTRUE(all.equal(attr(x, "conf_level"), 0.95))) family_chance else "this may be due to chance",
      ". This is weak evidence; validate on more rows before recalibrating. calib_test() may find more: its methods see different errors."))
  }
  if (length(said)) return(paste(c(said, say_recalibrate(FALSE)), collapse = " "))
  known <- intersect(c("oe_ratio", "slope", "ici"), names(which(!outside)))
  if (!all(c("slope", "ici") %in% known)) return(say_undefined(x, known))
  counts <- c(events = attr(x, "events"), "non-events" = attr(x, "n") - attr(x, "events"))
  rarer <- counts[which.min(counts)]
  paste0("No miscalibration found: the intervals of ", say_and(outside_words[known]), " contain their ideal values.",
    if (isTRUE(rarer < few_events)) {
      " With so few events or non-events only large errors could be found."
    } else if (isTRUE(rarer < few_for_bends)) {
      paste0(" But ", rarer, " ", names(rarer), " leave much open", if (isTRUE(is.finite(slope$conf.low))) {
        paste0(" (slopes from ", formatC(slope$conf.low, digits = 2, format = "f"), " to ", formatC(slope$conf.high, digits = 2, format = "f"), " are possible)")
      }, ", and a bent curve may look straight.")
    } else {
      " There is no reason to calibrate these probabilities (again)."
    })
}

#' Where some of the mean, the slope and the curve cannot be judged: no events, say
#' @noRd
say_undefined <- function(x, known) {
  n <- attr(x, "n")
  events <- attr(x, "events")
  gone <- setdiff(c("slope", "ici"), known)
  paste0(if (events == 0) "There are no events: " else if (events == n) "There are only events: ",
    if (length(known)) paste0("the interval", if (length(known) > 1) "s", " of ", say_and(outside_words[known]), if (length(known) > 1) " contain their ideal values" else " contains its ideal value") else "nothing can be judged",
    ", but ", say_and(c(slope = "the slope", ici = "the curve")[gone]), if (length(gone) > 1) " are" else " is", " undefined, so that only ",
    if (events == 0) "a mean that is far too high" else if (events == n) "a mean that is far too low" else "some errors", " could be found.")
}

#' The same of several parts: which exclude the ideal, for what, and which do so beyond what their number explains
#' @noRd
validations_verdict <- function(x) {
  table <- as.data.frame(x)
  each <- length(validation_measures)
  parts <- split(table, rep(seq_len(nrow(table) / each), each = each))
  shown <- c("oe_ratio", "slope", "ici") # as in the table
  outside <- vapply(parts, function(part) validation_outside(part)[shown], logical(3))
  rownames(outside) <- outside_words[shown]
  # with the side on which the measure lies
  way <- vapply(parts, function(part) {
    value <- part$estimate[match(shown, part$measure)]
    paste0(outside_words[shown], c(ifelse(value[1:2] > 1, " > 1", " < 1"), ""))
  }, character(3))
  if (all(is.na(outside))) return(NULL)
  what <- paste(c("groups", "classes")[c("by", "class") %in% names(table)], collapse = " and ")
  hit <- which(colSums(outside, na.rm = TRUE) > 0)
  p <- validation_p(x)
  undefined <- sum(is.na(outside["slope", ]) & is.na(outside["ICI", ]))
  if (!length(hit)) {
    return(paste0("No miscalibration found: all intervals of O:E, slope and ICI contain their ideal values. ",
      if (undefined) paste0(undefined, " of the ", ncol(outside), " ", what, " have no slope and no curve: only a mean that is far off could be found there. "), say_holm(what)))
  }
  names <- paste0("\"", validation_names(x), "\"")
  level <- attr(x, "conf_level")
  clear <- which(p < 1 - level)
  named <- function(at) { # with the measures whose intervals exclude the ideal
    some <- utils::head(at[order(p[at])], 8) # the clearest first
    why <- vapply(some, function(i) paste(way[outside[, i] %in% TRUE, i], collapse = ", "), "")
    paste0(paste0(names[some], ifelse(nzchar(why), paste0(" (", why, ")"), ""), collapse = "; "), if (length(at) > 8) paste0("; and ", length(at) - 8, " more"))
  }
  alone <- hit[is.na(p[hit]) & !all(is.na(p))] # without events there is no p-value, but the mean may be far off
  single <- setdiff(hit, c(clear, alone))
  rest <- outside[, setdiff(seq_len(ncol(outside)), c(clear, alone)), drop = FALSE] # whether their intervals are chance is not for the others to tell
  tests <- validation_tests(x)
  limit <- paste0(format(1 - level, digits = 2), if (tests > 1) paste0(" after adjustment for ", if (tests > sum(!is.na(p))) "all ", tests, " ", what, if (anyNA(p)) " with events and non-events"))
  parts <- c(
    if (length(clear)) paste0("Miscalibrated (p below ", limit, "): ", named(clear), "."),
    if (!length(clear) && !all(is.na(p))) {
      paste0(if (length(single) && !may_be_chance(rest, level)) "Signs of miscalibration, but none that is clear" else "No clear miscalibration", ": no p is below ", limit, ".")
    },
    if (length(alone)) paste0("Without a p-value, for want of events or of non-events, but with an interval that excludes the ideal value: ", named(alone), "."),
    if (length(single)) {
      paste0("Single intervals ", if (length(clear)) "also ", "exclude the ideal value for ", named(single), ". ", say_excluded(rest, level, what, length(c(clear, alone)) > 0))
    },
    say_ways(way[outside %in% TRUE]),
    if (length(c(clear, alone)) || all(is.na(p))) say_recalibrate("class" %in% names(table)) else if (length(single) && !may_be_chance(rest, level)) {
      "Do not calibrate (again) on these rows. If these probabilities come from a calibrator, its limited number of calibration rows may be the cause. Validate on more rows."
    } else {
      "This is no reason to calibrate (again); validate on more rows first."
    },
    if (!all(is.na(p))) say_holm(what, length(clear) < length(p))
  )
  paste(parts, collapse = " ")
}

#' Are there no more intervals that exclude the ideal than so many of calibrated probabilities may have? They are nearly independent.
#' @param outside flags, a row for each measure, a column for each part.
#' @noRd
may_be_chance <- function(outside, level) sum(outside, na.rm = TRUE) <= stats::qbinom(0.975, sum(!is.na(outside)), 1 - level)

#' How many do, how many would by chance, and what follows
#' @param others whether there are parts that were named before.
#' @noRd
say_excluded <- function(outside, level, what, others) {
  observed <- sum(outside, na.rm = TRUE)
  count <- sum(!is.na(outside))
  expected <- (1 - level) * count
  paste0(observed, " of the ", count, " intervals", if (others) paste(" of the", what, "not called miscalibrated"), if (observed == 1) " excludes it" else " exclude it",
    "; about ", format(signif(expected, if (expected < 1) 1 else 2)), " would by chance. ", if (may_be_chance(outside, level)) {
      "This may be chance."
    } else {
      paste0("This is more than chance explains: ", if (NCOL(outside) == 1) "it is" else paste("some of these", what, "are"), " likely to be off somewhat", if (others) ", too", ".")
    })
}

#' What the sides mean that were named: a sentence
#' @noRd
say_ways <- function(named) {
  means <- c("O:E > 1" = "O:E > 1: probabilities too low on average", "O:E < 1" = "O:E < 1: too high on average", "slope > 1" = "slope > 1: too cautious",
    "slope < 1" = "slope < 1: too extreme")
  said <- means[names(means) %in% named]
  if (length(said)) paste0(paste(said, collapse = "; "), ".")
}

#' @param more is there anything left to find?
#' @noRd
say_holm <- function(what, more = TRUE) {
  paste0("p (Holm) tests whether the calibration curve is the diagonal, adjusted for the number of ", what, ".",
    if (more) " calib_test() tests all rows together and may find more: its methods see different errors.")
}
