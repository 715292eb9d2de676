# What all pictures share: the theme, colours that can be told apart, a lower panel of another
# height, and words that fit.

# Colours of Okabe and Ito (2008), told apart by people who do not see all colours; ordered so that
# neighbours differ in lightness as well. Line types and shapes go with them. Grey is not among them: it is the
# colour of what forecasts are compared with.
ink <- c("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#56B4E9", "#E69F00", "#7A3B00")
strokes <- c("solid", "42", "22", "4313", "84", "2262", "1242", "93131313")
marks <- c(16, 17, 15, 18, 1, 2, 0, 5)

#' The first `n` of these. Beyond eight, colours go round while strokes and marks start one later in each round, so
#' that no two of 64 look the same.
#'
#' @param shift whether the values start later in every round.
#' @noRd
pick <- function(values, n, shift = TRUE) {
  size <- length(values)
  at <- seq_len(n) - 1L
  values[(at + if (shift) at %/% size else 0L) %% size + 1L]
}

#' @importFrom ggplot2 element_blank element_text margin rel theme theme_bw unit
picture_theme <- function(base_size) {
  looks <- theme_bw(base_size) +
    theme(
      panel.grid.minor = element_blank(),
      plot.title.position = "plot", plot.caption.position = "plot",
      plot.title = element_text(size = rel(1.05)),
      plot.subtitle = element_text(size = rel(0.85)),
      plot.caption = element_text(size = rel(0.7), hjust = 0.5), # legends and captions are centred in all pictures
      axis.title = element_text(size = rel(0.9)),
      legend.title = element_blank(), legend.background = element_blank(),
      legend.key = element_blank(), legend.text = element_text(size = rel(legend_text)),
      legend.key.height = unit(0.85, "lines"), legend.key.width = unit(if (base_size < 8) 1.4 else 2.1, "lines"),
      legend.spacing.y = unit(0, "pt"), legend.spacing.x = unit(2, "pt"),
      legend.margin = margin(0, 0, 0, 0), legend.box.spacing = unit(0.4, "lines"),
      strip.placement = "outside", strip.clip = "off", strip.background.y = element_blank(),
      strip.text.x = element_text(margin = margin(base_size / 5, 0, base_size / 5, 0)),
      panel.spacing.x = unit(0.8, "lines"), panel.spacing.y = unit(0.5, "lines"),
      plot.margin = margin(base_size / 2, base_size, base_size / 2, base_size / 2)
    )
  list(looks, wrap_when_drawn())
}

#' For square panels with the diagonal at 45 degrees
#' @noRd
square_theme <- function() theme(aspect.ratio = 1)

#' Size of text in a panel, in the unit of geoms, as a share of the theme's
#' @noRd
text_size <- function(base_size, share = 0.72) share * base_size / ggplot2::.pt

# Two panels, one above the other -----------------------------------------------------------

# Panels of a grid with free space are as high as their axes are long. What is drawn below is
# stretched to this share of the length of the upper axis, whatever its own unit, and its axis is
# labelled in that unit.
below_height <- 0.3

#' The axis of both panels
#'
#' @param limits of the upper axis; @param breaks of it; @param most what reaches the top of the
#'   lower panel, in its own unit; @param say how its values are written; @param share of the upper
#'   panel's height.
#' @noRd
two_panel_scale <- function(limits, breaks, most, say, share = below_height) {
  height <- share * diff(limits)
  own <- pretty(c(0, most), 2)
  own <- own[own <= most]
  # All that tells the panels apart is the length of the axis, a little longer once expanded; the
  # upper panel has a blank layer that reaches from limit to limit.
  lower <- function(x) diff(range(x)) < (1 + share) / 2 * diff(limits)
  ggplot2::scale_y_continuous(
    limits = function(x) if (lower(x)) c(0, height) else limits,
    breaks = function(x) if (lower(x)) height * own / most else breaks,
    labels = function(x) {
      # Breaks may be a subset (others NA) of the one set or the other.
      known <- x[!is.na(x)]
      below <- all(vapply(known, function(at) min(abs(at - height * own / most)) < 1e-9, NA))
      text <- if (below) say(x * most / height) else say_plain(x)
      ifelse(is.na(x), NA, text)
    },
    expand = c(0.02, 0.02)
  )
}

#' Nothing, from limit to limit of the upper panel
#' @noRd
upper_extent <- function(limits, x, names) {
  ends <- in_panel(data.frame(x = x, y = limits), 1, names)
  ggplot2::geom_blank(aes(.data$x, .data$y), data = ends)
}

#' Put rows into one of the panels, named by `names`
#' @noRd
in_panel <- function(rows, panel, names) {
  rows$panel <- factor(rep(names[panel], nrow(rows)), levels = names)
  rows
}

#' A legend above the panels that fits a picture three inches wide with text of size 7, and one of six inches with larger text
#'
#' @param names of its entries, as they stand there; @param aesthetics that share it.
#' @noRd
legend_above <- function(names, aesthetics, base_size = 9) {
  layout <- legend_layout(names, base_size)
  guide <- ggplot2::guide_legend(ncol = layout$columns, byrow = TRUE)
  list(
    do.call(ggplot2::guides, stats::setNames(rep(list(guide), length(aesthetics)), aesthetics)),
    # More than two rows are set closer, so that they leave the panels their height.
    if (ceiling(length(names) / layout$columns) > 2) theme(legend.key.height = unit(1.15 * base_size, "pt")),
    theme(legend.position = "top", legend.justification = "centre", legend.text = element_text(size = rel(legend_text * layout$scale)))
  )
}

# In letters: a key with what stands around it, and the width that is left of a picture beside its vertical axis.
# Keys are as wide whatever the size of the text: 23 points in small pictures, 33 in others. A letter of a wide font takes 0.6 of its size.
legend_key <- function(base_size) if (base_size < 8) 7.3 else 72 / base_size
legend_width <- function(base_size) if (base_size < 8) 64 else floor(98 * 9 / base_size)
legend_text <- 0.75 # of the theme's size
smaller <- c(1, 0.9, 0.8) # of the usual size of a text: names are made smaller before they are shortened

#' Whether entries fit in so many columns, filled by row, each as wide as its longest
#' @noRd
legend_fits <- function(names, columns, base_size, scale = min(smaller)) {
  widest <- tapply(nchar(names), (seq_along(names) - 1) %% columns, max)
  sum(scale * widest + legend_key(base_size)) <= legend_width(base_size)
}

#' Small pictures have a third row before names are shortened
#' @noRd
legend_most_rows <- function(n, base_size = 9) if (n > 8) 4L else if (base_size < 8 && n > 4) 3L else 2L

#' The largest text with which the entries fit into two rows (four from nine entries on), and as few rows as it allows; if they
#' do not, more rows where there may be
#' @return list: columns, scale.
#' @noRd
legend_layout <- function(names, base_size) {
  n <- length(names)
  usual <- seq_len(min(n, legend_most_rows(n)))
  for (rows in list(usual, setdiff(seq_len(min(n, legend_most_rows(n, base_size))), usual))) {
    for (scale in smaller) {
      for (columns in ceiling(n / rows)) {
        if (legend_fits(names, columns, base_size, scale)) return(list(columns = columns, scale = scale))
      }
    }
  }
  fits <- vapply(seq_len(n), function(columns) legend_fits(names, columns, base_size), NA)
  list(columns = max(1, which(fits)), scale = min(smaller))
}

legend_columns <- function(names, base_size) legend_layout(names, base_size)$columns
legend_rows <- function(names, base_size) ceiling(length(names) / legend_columns(names, base_size))

#' Names for a legend of two rows at most (of four from nine names on, of three in small pictures), shortened as far as they must be
#'
#' @param tail what stands after each name, uncut.
#' @noRd
legend_names <- function(names, base_size, tail = "") {
  if (length(names) < 2) return(paste0(names, tail))
  columns <- ceiling(length(names) / c(legend_most_rows(length(names)), legend_most_rows(length(names), base_size)))
  if (legend_fits(paste0(names, tail), columns[1], base_size)) return(paste0(names, tail))
  for (most in seq(max(nchar(names)), 6)) {
    short <- paste0(cut_end(names, most), tail)
    if (legend_fits(short, columns[2], base_size)) break
  }
  short
}

#' Long names cut at their end, which reads better than without their middle, unless that makes them the same
#' @noRd
cut_end <- function(x, most) {
  x <- as.character(x)
  long <- !is.na(x) & nchar(x) > most
  short <- x
  short[long] <- paste0(sub("[ ,.]+$", "", substr(x[long], 1, most - 3)), "...")
  if (length(unique(short)) == length(unique(x))) short else shorten(x, most)
}

# Words -----------------------------------------------------------------------------------

say_plain <- function(x) format(x, drop0trailing = TRUE, trim = TRUE)
#' The same without powers of ten, which are hard to compare, down to a hundred-thousandth
#' @noRd
say_decimal <- function(x) {
  if (!any(abs(x) >= 1e-5, na.rm = TRUE)) return(say_plain(x))
  format(x, drop0trailing = TRUE, trim = TRUE, scientific = FALSE)
}
say_three <- function(x) formatC(x, digits = 3, format = "f")
say_percent <- function(x) paste0(say_plain(signif(100 * x, 3)), "%")
say_level <- function(level) paste0(format(100 * level), "%")
say_number <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)

#' Names that lie on each other in a picture, those of each place as text
#' @param near are two of them on the same place?
#' @noRd
near_ones <- function(names, near) {
  places <- list()
  for (name in names) {
    # with any of a place: whichever comes first, the places are the same
    at <- vapply(places, function(place) any(vapply(place, near, NA, name)), NA)
    places <- c(places[!at], list(c(unlist(places[at]), name)))
  }
  places <- lapply(places, function(place) place[order(match(place, names))])
  places <- places[order(match(vapply(places, `[`, "", 1), names))]
  vapply(Filter(function(place) length(place) > 1, places), function(place) say_and(paste0("\"", shorten(place, 20), "\"")), "")
}

#' Long names with their middle left out, or, if that makes them the same, what they have in common
#' @noRd
shorten <- function(x, most) {
  x <- as.character(x)
  short <- cut_middle(x, most)
  if (length(unique(short)) == length(unique(x))) return(short)
  short <- cut_middle(cut_common(x), max(most, 9)) # the dots of both ends, and something between
  if (length(unique(short)) == length(unique(x))) short else number_names(x, short)
}

#' Short names of which some are the same, though the long ones differ: with numbers
#' @noRd
number_names <- function(x, short) {
  each <- !duplicated(x)
  same <- short[each] %in% short[each][duplicated(short[each])]
  number <- stats::ave(seq_along(short[each]), short[each], FUN = seq_along)
  tagged <- ifelse(same, paste0(sub(".{2}$", "", short[each]), " ", number), short[each])
  tagged[match(x, x[each])]
}

cut_middle <- function(x, most) {
  long <- !is.na(x) & nchar(x) > most
  head <- ceiling((most - 3) / 2)
  tail <- most - 3 - head
  size <- nchar(x[long])
  x[long] <- paste0(substr(x[long], 1, head), "...", substr(x[long], size - tail + 1, size))
  x
}

#' Names of which some look alike when short: without the start and the end that all share
#' @noRd
cut_common <- function(x) {
  letters_of <- strsplit(unique(x), "")
  shared <- function(words) {
    least <- min(lengths(words))
    same <- vapply(seq_len(least), function(i) length(unique(vapply(words, `[`, "", i))) == 1, NA)
    if (all(same)) least else which(!same)[1] - 1
  }
  size <- nchar(x)
  start <- shared(letters_of)
  end <- min(shared(lapply(letters_of, rev)), min(size) - start)
  paste0(if (start > 0) "...", substr(x, start + 1, size - end), if (end > 0) "...")
}

#' Panel titles that fit when `columns` panels stand side by side: on up to three lines, then shortened
#' @noRd
short_labels <- function(columns) {
  most <- title_letters(columns)
  ggplot2::as_labeller(function(x) wrap_title(x, most))
}

title_letters <- function(columns) max(8, floor(60 / columns))

#' The largest share of the usual size with which titles need not be shortened; the smallest if none is small enough
#'
#' @param most letters of a line at the usual size; @param lines of a title; @param shares to choose from.
#' @noRd
title_scale <- function(x, most, lines = 3, shares = c(smaller, 0.7, 0.65)) {
  fits <- vapply(shares, function(share) all(title_fits(wrap_lines(x, floor(most / share)), floor(most / share), lines)), NA)
  if (any(fits)) shares[which(fits)[1]] else min(shares)
}

wrap_lines <- function(x, most) vapply(as.character(x), function(title) paste(strwrap(title, most + 1), collapse = "\n"), "")

title_fits <- function(wrapped, most, lines) {
  vapply(strsplit(wrapped, "\n"), function(line) length(line) <= lines && all(nchar(line) <= most), NA)
}

wrap_title <- function(x, most, lines = 3) {
  wrapped <- wrap_lines(x, most)
  if (all(fits <- title_fits(wrapped, most, lines))) return(wrapped)
  ifelse(fits, wrapped, wrap_lines(shorten_title(x, most), most))
}

#' Shortened titles, in which the count that a title may have at its end stays: a bracket with a space that does not break
#' @noRd
shorten_title <- function(x, most) {
  x <- as.character(x)
  count <- sub("^.* [(]", " (", x)
  count[!(startsWith(count, " (") & endsWith(count, ")") & grepl("\u00a0", count, fixed = TRUE))] <- ""
  paste0(shorten(substr(x, 1, nchar(x) - nchar(count)), most), count)
}

# Lists of things to draw -----------------------------------------------------------------

#' One thing, or a list of them, as a list with a name for each
#'
#' @param is_one tells a thing from a list of them; @param arg the argument's name.
#' @noRd
as_named_list <- function(x, is_one, arg, what) {
  if (is_one(x)) return(list(x))
  if (!is.list(x) || is.object(x) || !length(x)) {
    stop_input(arg, paste0("must be ", what, ", or a named list of them"), say_given(x))
  }
  bad <- which(!vapply(x, is_one, NA))
  if (length(bad)) {
    stop_input(paste0(arg, "[[", bad[1], "]]"), paste("must be", what), say_given(x[[bad[1]]]))
  }
  given <- names(x)
  if (is.null(given)) given <- rep("", length(x))
  given[is.na(given)] <- ""
  given <- ifelse(given == "", as.character(seq_along(x)), given)
  if (anyDuplicated(given)) {
    stop_input(arg, paste0("has a name twice (", say_values(unique(given[duplicated(given)])), ")"),
      "Give each a name of its own.")
  }
  stats::setNames(x, given)
}

is_forecast <- function(x) is.numeric(x) || is.data.frame(x)
