# Text in a panel that shrinks with it: the size of a picture is known only when it is drawn.

#' As geom_text(), but no label takes more than `width` and `height` (shares) of the panel
#'
#' Labels that would have to be smaller than can be read are left out: the numbers are in the table
#' that is drawn.
#'
#' @param corner are they numbers in a corner, which have one size in all panels? @param ground whether a pale ground keeps lines
#'   that are drawn before the words from crossing them.
#' @noRd
geom_fit_text <- function(mapping, data, width, height, ..., corner = FALSE, ground = FALSE) {
  ggplot2::layer(geom = GeomFitText, mapping = mapping, data = data, stat = "identity",
    position = "identity", show.legend = FALSE, inherit.aes = FALSE,
    params = list(width = width, height = height, corner = corner, ground = ground, ...))
}

#' @importFrom ggplot2 ggproto ggproto_parent GeomText
GeomFitText <- ggproto("GeomFitText", GeomText,
  # No dots: ggplot2 would not look here for the parameters then.
  draw_panel = function(data, panel_params, coord, na.rm = FALSE, width = 1, height = 1, corner = FALSE, ground = FALSE) {
    data <- coord$transform(data, panel_params)
    grid::gTree(words = data, share = c(width, height), corner = corner, ground = ground, cl = "fit_text")
  }
)

least_size <- 3.5 # points
least_share <- 0.55 # of the size that the text would have in a large panel

fit_text_grob <- function(words, i, size) {
  grid::textGrob(words$label[i], words$x[i], words$y[i], default.units = "native",
    hjust = words$hjust[i], vjust = words$vjust[i],
    gp = grid::gpar(col = words$colour[i], fontsize = size, lineheight = words$lineheight[i]))
}

#' Points in which each label fits a panel of that width and height in points; 0 where they could not be read, NA of an empty one
#' @noRd
fitting_sizes <- function(grob, panel) {
  words <- grob$words
  full <- words$size * ggplot2::.pt
  room <- grob$share * panel
  vapply(seq_len(nrow(words)), function(i) {
    if (!nzchar(words$label[i])) return(NA_real_)
    natural <- fit_text_grob(words, i, full[i])
    takes <- c(grid::convertWidth(grid::grobWidth(natural), "pt", valueOnly = TRUE),
      grid::convertHeight(grid::grobHeight(natural), "pt", valueOnly = TRUE))
    size <- full[i] * min(1, room / takes)
    if (size < max(least_size, least_share * full[i])) 0 else size
  }, 0)
}

#' @exportS3Method grid::makeContent
makeContent.fit_text <- function(x) {
  words <- x$words
  whole <- grid::unit(1, "npc")
  sizes <- if (!is.null(x$fixed)) rep(x$fixed, nrow(words)) else {
    fitting_sizes(x, c(grid::convertWidth(whole, "pt", valueOnly = TRUE), grid::convertHeight(whole, "pt", valueOnly = TRUE)))
  }
  parts <- lapply(seq_len(nrow(words)), function(i) {
    size <- sizes[i]
    if (is.na(size) || size == 0 || !nzchar(words$label[i])) return(NULL)
    text <- fit_text_grob(words, i, size)
    if (!isTRUE(x$ground)) return(text)
    edge <- grid::unit(size / 4, "pt")
    ground <- grid::rectGrob(words$x[i], words$y[i], grid::grobWidth(text) + edge, grid::grobHeight(text) + edge, hjust = words$hjust[i],
      vjust = words$vjust[i], default.units = "native", gp = grid::gpar(fill = "#FFFFFFE6", col = NA))
    grid::grobTree(ground, text)
  })
  parts <- parts[!vapply(parts, is.null, NA)]
  grid::setChildren(x, do.call(grid::gList, parts))
}
