# Captions that use the width of the picture. A caption is wrapped for a usual picture when the plot is made, since only
# the device knows how wide it will be. When it is drawn, it is wrapped again for the width that is there. The plot stays
# a ggplot that users extend; what takes its table of grobs apart (patchwork, say) has the first wrapping.

#' Lines for the smallest print of the theme: they fit a picture four inches wide in its usual size, and
#' one of three inches in the size 7 that is meant for it
#'
#' The words are kept as an attribute, so that a caption a user writes is left as it is.
#' @noRd
wrap_words <- function(..., base_size = 9, width = if (base_size < 8) 82 else 88) {
  words <- paste0(..., "") # nothing to say is an empty caption
  structure(paste(strwrap(words, width), collapse = "\n"), words = words)
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
  words <- attr(data$plot$labels$caption, "words")
  if (is.null(words) || !nzchar(words) || !"caption" %in% table$layout$name) return(table)
  theme <- data$plot$theme
  table$gpcalib_caption <- list(words = words, style = ggplot2::calc_element("plot.caption", theme),
    margin = ggplot2::calc_element("plot.margin", theme))
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
#' @importFrom grid makeContext
#' @export
#' @noRd
makeContext.gpcalib_table <- function(x) {
  caption <- x$gpcalib_caption
  sides <- grid::convertWidth(caption$margin[c(2, 4)], "inches", valueOnly = TRUE)
  room <- grid::convertWidth(unit(1, "npc"), "inches", valueOnly = TRUE) - sum(sides)
  drawn <- ggplot2::element_grob(caption$style, label = wrap_to(caption$words, room, caption$style),
    margin_x = TRUE, margin_y = TRUE)
  at <- which(x$layout$name == "caption")
  x$grobs[[at]] <- drawn
  x$heights[x$layout$t[at]] <- grid::convertHeight(grid::grobHeight(drawn), "inches")
  class(x) <- setdiff(class(x), "gpcalib_table")
  grid::makeContext(x)
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
