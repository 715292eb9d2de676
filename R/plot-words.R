# Captions that use the width of the picture and explain what is drawn, and titles that fit their panels. A caption is
# wrapped for a usual picture when the plot is made, since only the device knows how wide it will be. When it is drawn, it
# is wrapped again for the width that is there. The plot stays a ggplot that users extend; what takes its table of grobs
# apart (patchwork, say) has the first wrapping.

#' Lines for the smallest print of the theme: they fit a picture four inches wide in its usual size, and
#' one of three inches in the size 7 that is meant for it
#'
#' The words are kept as an attribute, so that a caption a user writes is left as it is.
#'
#' @param numbers what the caption says at its end of the numbers in the panels: left out where these are, because the panels are too small.
#' @param instead what the caption says at its end where other words do not fit into a panel, and are left out there.
#' @noRd
wrap_words <- function(..., numbers = NULL, instead = NULL, base_size = 9, width = if (base_size < 8) 82 else 88) {
  without <- paste0(..., "") # nothing to say is an empty caption
  words <- paste0(without, numbers)
  structure(paste(strwrap(words, width), collapse = "\n"), words = words, without = without, instead = instead)
}

#' Added to a plot: wrap its caption when it is drawn
#' @noRd
wrap_when_drawn <- function() structure(list(), class = "gpcalib_wrap")

#' @importFrom ggplot2 ggplot_add ggplot_build ggplot_gtable
#' @export
ggplot_add.gpcalib_wrap <- function(object, plot, ...) {
  class(plot) <- unique(c("gpcalib_picture", class(plot)))
  plot
}

#' @export
ggplot_build.gpcalib_picture <- function(plot, ...) {
  built <- NextMethod()
  class(built) <- c("gpcalib_built", class(built))
  built
}

#' @export
ggplot_gtable.gpcalib_built <- function(data) {
  say_small(data$plot$theme$text$size)
  table <- NextMethod()
  caption <- data$plot$labels$caption
  words <- attr(caption, "words")
  theme <- data$plot$theme
  if (!is.null(words) && nzchar(words) && "caption" %in% table$layout$name) {
    table$gpcalib_caption <- list(words = words, without = attr(caption, "without"), instead = attr(caption, "instead"), style = ggplot2::calc_element("plot.caption", theme),
      margin = ggplot2::calc_element("plot.margin", theme))
  }
  class(table) <- c("gpcalib_table", class(table))
  table
}

small_picture <- 3.75 # inches: with the usual text, captions take half of a narrower picture, and legends do not fit

#' What to do about text that is too large for the device that is open
#' @noRd
say_small <- function(base_size) {
  if (grDevices::dev.cur() == 1 || !is.numeric(base_size) || base_size < 8) return(invisible())
  size <- grDevices::dev.size("in")
  if (size[1] >= small_picture) return(invisible())
  message(small_message(paste0("A picture of ", paste(format(size, digits = 2, trim = TRUE), collapse = " x "),
    " inches has little room for text of size ", base_size, ": give base_size = 7 to the function that draws it.\n"),
    class = "gpcalib_message_small"))
}

small_message <- function(text, class) structure(class = c(class, "gpcalib_message", "message", "condition"), list(message = text, call = NULL))

#' Grid calls this where the picture is about to be drawn: the width of the viewport is that of the picture
#'
#' The caption is wrapped, then the panels are as large as they will be. Numbers in their corners get one size, or, where
#' that would be too small to read, are left out together with the words that explain them. Other words in panels that cannot be
#' read are left out, and the caption says what they said. Titles of panels are made to fit.
#' @importFrom grid makeContext
#' @export
#' @noRd
makeContext.gpcalib_table <- function(x) {
  caption <- x$gpcalib_caption
  if (!is.null(caption)) x <- set_caption(x, caption, caption$words)
  cells <- cell_sizes(x)
  size <- corner_size(x, cells)
  if (!is.null(size)) {
    x <- set_corners(x, size)
    if (size == 0 && !is.null(caption) && !identical(caption$without, caption$words)) x <- set_caption(x, caption, caption$without)
  }
  if (!is.null(caption$instead) && any(panel_words(x, cells) == 0)) {
    x <- set_corners(x, 0, function(grob) inherits(grob, "fit_text") && !is_corner(grob))
    x <- set_caption(x, caption, paste0(caption$words, caption$instead))
  }
  x <- fit_strips(x, cells, "^strip-[tb]", 1)
  x <- fit_strips(x, cells, "^strip-r", 2)
  # Those at the left are titles of axes, each of another length, with nothing beside the gap between the panels.
  gap <- panel_gap(x)
  for (name in grep("^strip-l", x$layout$name, value = TRUE)) x <- fit_strips(x, cells, paste0("^", name, "$"), 2, gap)
  x <- centre_legend(x)
  class(x) <- setdiff(class(x), "gpcalib_table")
  grid::makeContext(x)
}

set_caption <- function(x, caption, words) {
  sides <- grid::convertWidth(caption$margin[c(2, 4)], "inches", valueOnly = TRUE)
  room <- grid::convertWidth(unit(1, "npc"), "inches", valueOnly = TRUE) - sum(sides)
  drawn <- ggplot2::element_grob(caption$style, label = wrap_to(words, room, caption$style),
    margin_x = TRUE, margin_y = TRUE)
  at <- which(x$layout$name == "caption")
  x$grobs[[at]] <- drawn
  x$heights[x$layout$t[at]] <- grid::convertHeight(grid::grobHeight(drawn), "inches")
  x
}

#' Width and height of the panels and their titles where the table is drawn, in points
#' @return matrix of two columns, a row for each grob of the table; NA for all others.
#' @noRd
cell_sizes <- function(x) {
  sizes <- matrix(NA_real_, nrow(x$layout), 2)
  layout <- grid::grid.layout(length(x$heights), length(x$widths), widths = x$widths, heights = x$heights, respect = x$respect)
  grid::pushViewport(grid::viewport(layout = layout), recording = FALSE)
  on.exit(grid::popViewport(recording = FALSE))
  for (i in grep("^(panel|strip)", x$layout$name)) {
    at <- x$layout[i, ]
    grid::pushViewport(grid::viewport(layout.pos.row = at$t:at$b, layout.pos.col = at$l:at$r), recording = FALSE)
    sizes[i, ] <- c(grid::convertWidth(unit(1, "npc"), "pt", valueOnly = TRUE), grid::convertHeight(unit(1, "npc"), "pt", valueOnly = TRUE))
    grid::popViewport(recording = FALSE)
  }
  sizes
}

is_corner <- function(grob) inherits(grob, "fit_text") && isTRUE(grob$corner)

#' Points of the numbers in the corners of all panels: as large as the longest allows; 0 if that cannot be read, NULL if there are none
#' @noRd
corner_size <- function(x, cells) {
  size <- panel_words(x, cells, is_corner)
  if (length(size)) min(size)
}

#' Points in which the words of panels fit, 0 where they could not be read
#' @noRd
panel_words <- function(x, cells, which = function(grob) inherits(grob, "fit_text") && !is_corner(grob)) {
  size <- unlist(lapply(grep("^panel", x$layout$name), function(i) {
    lapply(Filter(which, x$grobs[[i]]$children), function(grob) fitting_sizes(grob, cells[i, ]))
  }))
  size[!is.na(size)]
}

set_corners <- function(x, size, of = is_corner) {
  for (i in grep("^panel", x$layout$name)) {
    for (j in which(vapply(x$grobs[[i]]$children, of, NA))) x$grobs[[i]]$children[[j]]$fixed <- size
  }
  x
}

#' Points between two panels, one above the other; 0 if there is one row of them
#' @noRd
panel_gap <- function(x) {
  panels <- x$layout[grepl("^panel", x$layout$name), ]
  rows <- sort(unique(panels$t))
  if (length(rows) < 2) return(0)
  grid::convertHeight(sum(x$heights[seq(rows[1] + 1, rows[2] - 1)]), "pt", valueOnly = TRUE)
}

#' A legend that would be cut off if it stood above (or below) the middle of the panels stands in the middle of the picture
#' @noRd
centre_legend <- function(x) {
  inches <- function(widths) if (length(widths)) grid::convertWidth(sum(widths), "inches", valueOnly = TRUE) else 0
  panels <- x$layout[grepl("^panel", x$layout$name), ]
  for (i in grep("^guide-box", x$layout$name)) {
    at <- x$layout[i, ]
    if (!inherits(x$grobs[[i]], "gtable") || at$b >= min(panels$t) && at$t <= max(panels$b)) next
    beside <- inches(x$widths[seq_len(at$l - 1)]) - inches(x$widths[seq_len(length(x$widths) - at$r) + at$r])
    if (inches(x$grobs[[i]]$widths) <= inches(unit(1, "npc")) - abs(beside)) next
    x$layout$l[i] <- 1L
    x$layout$r[i] <- length(x$widths)
  }
  x
}

strip_sizes <- c(1, 0.9, 0.8, 0.7, 0.65) # of the usual size of a title: smaller ones before words are left out

#' Titles of panels that are wider than these: wrapped again, then smaller, all alike, then shortened
#'
#' @param side 1: titles above panels, which have their width; 2: beside them, which have their height.
#' @param more points that they have beyond these.
#' @noRd
fit_strips <- function(x, cells, pattern, side, more = 0) {
  strips <- grep(pattern, x$layout$name)
  words <- lapply(x$grobs[strips], text_grobs)
  strips <- strips[lengths(words) == 1]
  words <- unlist(words[lengths(words) == 1], recursive = FALSE)
  labels <- vapply(words, function(word) paste(as.character(word$label), collapse = ""), "")
  room <- cells[strips, side] + more - 2
  wide <- function(labels, size) {
    mapply(function(label, word) {
      style <- list(size = size * word$gp$fontsize, family = word$gp$fontfamily, face = word$gp$font)
      max(0, 72 * text_inches(strsplit(label, "\n")[[1]], style))
    }, labels, words)
  }
  if (!length(strips) || all(wide(labels, 1) <= room)) return(x)
  most <- max(1, lengths(strsplit(labels, "\n"))) # the height of the titles stays as it is
  plain <- gsub("\n", " ", labels)
  wrapped <- function(labels, size) {
    mapply(function(label, word, room) {
      wrap_to(label, room / 72, list(size = size * word$gp$fontsize, family = word$gp$fontfamily, face = word$gp$font))
    }, labels, words, room)
  }
  fits <- function(labels, size) wide(labels, size) <= room & lengths(strsplit(labels, "\n")) <= most
  for (size in strip_sizes) if (all(fits(new <- wrapped(plain, size), size))) break
  letters <- max(nchar(plain))
  long <- !fits(new, size)
  while (!all(fits(new, size)) && letters > 6) {
    letters <- letters - 1
    new[long] <- wrapped(shorten_title(plain, letters), size)[long]
  }
  for (i in seq_along(strips)) {
    x$grobs[[strips[i]]] <- edit_text(x$grobs[[strips[i]]], function(text) {
      text$gp$fontsize <- size * text$gp$fontsize
      text$label <- new[[i]]
      text
    })
  }
  x
}

#' The texts within a grob
#' @noRd
text_grobs <- function(grob) {
  if (inherits(grob, "text")) return(list(grob))
  inside <- if (inherits(grob, "gtable")) grob$grobs else grob$children
  unlist(lapply(unname(as.list(inside)), text_grobs), recursive = FALSE)
}

edit_text <- function(grob, change) {
  if (inherits(grob, "text")) return(change(grob))
  if (inherits(grob, "gtable")) {
    grob$grobs <- lapply(grob$grobs, edit_text, change)
  } else {
    for (name in names(grob$children)) grob$children[[name]] <- edit_text(grob$children[[name]], change)
  }
  grob
}

#' Lines no longer than `room` inches, in the letters of a text element; a longer word has a line of its own
#' @noRd
wrap_to <- function(words, room, style) {
  words <- strsplit(words, " +")[[1]]
  wide <- text_inches(c(words, " "), style)
  space <- wide[length(wide)]
  line <- integer(length(words))
  used <- Inf
  row <- 0L
  for (i in seq_along(words)) {
    used <- used + space + wide[i]
    if (used > room) {
      row <- row + 1L
      used <- wide[i]
    }
    line[i] <- row
  }
  paste(tapply(words, line, paste, collapse = " "), collapse = "\n")
}

#' Widths of words on the device that is open
#' @noRd
text_inches <- function(words, style) {
  gp <- grid::gpar(fontsize = style$size, fontfamily = style$family, fontface = style$face)
  vapply(words, function(word) {
    grid::convertWidth(grid::grobWidth(grid::textGrob(word, gp = gp)), "inches", valueOnly = TRUE)
  }, 0, USE.NAMES = FALSE)
}
