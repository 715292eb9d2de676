# Effects of the classes in pictures: offsets with their intervals, and what the matrix does to each class.

offsets_shown <- 30L # classes, the farthest ones

#' Offsets as points with their intervals, in their order
#' @noRd
plot_offsets <- function(object, ..., level = 0.95, base_size = 9) {
  check_dots_empty(...)
  object <- check_object(object)
  level <- check_level(level, "level")
  base_size <- check_number(base_size, "base_size", 1, 100)
  rows <- effect_offsets(object)
  if (is.null(rows)) {
    stop_input("object", "has no offsets of its classes", "Draw its map: autoplot(fit, what = \"map\").")
  }
  k <- nrow(rows)
  most <- if (base_size < 8) 12L else offsets_shown
  if (k > most) rows <- rows[order(-abs(rows$estimate))[seq_len(most)], ]
  rows <- rows[order(rows$estimate), ]
  half <- stats::qnorm((1 + level) / 2) * rows$sd
  rows$conf.low <- rows$estimate - half
  rows$conf.high <- rows$estimate + half
  rows$class <- factor(rows$class, levels = rows$class)
  pen <- base_size / 10
  ggplot(rows, aes(.data$estimate, .data$class)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey55", linewidth = 0.4 * pen) +
    ggplot2::geom_linerange(aes(xmin = .data$conf.low, xmax = .data$conf.high), colour = ink[1],
      linewidth = 0.6 * pen) +
    geom_point(colour = ink[1], size = 1.4 * pen) +
    scale_x_continuous(labels = say_plain) +
    ggplot2::scale_y_discrete(labels = function(x) shorten(x, 24)) +
    labs(title = "Offsets of the classes", x = "Offset of the latent value", y = NULL,
      caption = wrap_words(if (k > nrow(rows)) paste0("The ", nrow(rows), " offsets farthest from 0 (of ", k, "). "),
        if (k == 2 && !is.null(object$effects) && any(object$effects$count[feature_blocks != "offset"] > 0)) {
          "Map, asymmetry and shape (which is 0 where the temperature-scaled log-odds are 2 or -2) also change how likely a class is: see plot_map(). "
        } else if (is.null(effect_moves(object))) {
          "Right of 0 the class becomes more likely. "
        } else {
          "Added to the latent value of the class in every row. Map and matrix also change how likely a class is and can more than undo this: compare mean probabilities. "
        }, "Offsets sum to zero; ", say_level(level), " posterior intervals.", base_size = base_size)) +
    picture_theme(base_size) +
    theme(axis.text.y = element_text(size = rel(if (nrow(rows) > 24 && base_size < 8) 0.65 else if (nrow(rows) > 16 && base_size >= 8) 0.8 else if (nrow(rows) > 16) 0.65 else if (base_size < 8) 0.7 else 0.9)))
}

most_ticks <- 34L # names of classes on an axis of the matrix

#' The matrix as a heat map
#' @noRd
plot_moves <- function(object, ..., base_size = 9) {
  check_dots_empty(...)
  object <- check_object(object)
  base_size <- check_number(base_size, "base_size", 1, 100)
  moves <- effect_moves(object)
  if (is.null(moves)) {
    stop_input("object", if (object$class_effects == "none" && identical(object$effects_asked, "auto")) {
      "has no matrix between its classes: \"auto\" chose no class effects"
    } else {
      "has no matrix between its classes"
    }, if (length(object$classes) == 2) {
      "With two classes see plot_map()."
    } else {
      "Fit with class_effects = \"matrix\", or draw what = \"map\"."
    })
  }
  classes <- object$classes
  k <- length(classes)
  rows <- data.frame(class = factor(rep(classes, k), levels = rev(classes)),
    said = factor(rep(classes, each = k), levels = classes), estimate = as.vector(moves$estimate),
    sd = as.vector(moves$sd))
  clear <- effect_clear(object, moves)
  own <- effect_clear(object, moves, own = TRUE)
  place <- function(x) paste(x$class, x$said, sep = "\r")
  named <- rows[match(c(place(clear), place(own)), place(rows)), ]
  most <- max(abs(rows$estimate), if (!nrow(named)) pale_moves, 1e-12)
  numbers <- k <= 16 # in the cells; the caption has them always
  length_shown <- if (k > 12) (if (base_size < 8) 10 else 12) else if (base_size < 8) 12 else if (k > 8) 16 else 24 # of a name on an axis; the caption has the same
  axis <- stats::setNames(begin_names(classes, length_shown), classes)
  short <- function(x) unname(axis[as.character(x)])
  ticks <- classes[seq(1, k, by = ceiling(k / most_ticks))] # of many classes every second or third has its name
  # as many digits as the largest of them needs; those that they do not show are not named
  digits <- min(4, max(1, ceiling(-log10(max(abs(named$estimate), 1e-12))) + 1))
  shown <- abs(named$estimate) >= 0.5 * 10^-digits
  named <- named[shown | seq_along(shown) == 1, ]
  dashes <- rows[rows$estimate < -dash_share * max(abs(rows$estimate)) & !(numbers & place(rows) %in% place(named)), ]
  named$label <- if (nrow(named)) formatC(named$estimate, digits = digits, format = "f", flag = "+") else character()
  ggplot(rows, aes(.data$said, .data$class)) +
    ggplot2::geom_tile(aes(fill = .data$estimate)) +
    (if (nrow(named)) ggplot2::geom_tile(data = named, width = 1, height = 1, fill = NA, colour = "black", linewidth = base_size / 20)) +
    (if (numbers && nrow(named)) {
      geom_fit_text(aes(.data$said, .data$class, label = .data$label), data = named, width = 0.9 / k,
        height = 0.9 / k, size = text_size(base_size),
        colour = ifelse(abs(named$estimate) > 0.75 * most, "white", "black"))
    }) +
    # Without colour both ends are as dark: a stroke in every cell that is lowered tells them apart.
    (if (nrow(dashes)) {
      ggplot2::geom_segment(aes(x = as.numeric(.data$said) - 0.25, xend = as.numeric(.data$said) + 0.25, yend = .data$class),
        data = dashes, linewidth = base_size / 40, colour = "grey25")
    }) +
    ggplot2::scale_fill_gradient2(low = ink[2], mid = "grey97", high = ink[1], limits = c(-most, most),
      breaks = inner_breaks(c(-most, most), 4), labels = say_plain) +
    ggplot2::scale_x_discrete(breaks = ticks, labels = short, expand = c(0, 0)) +
    ggplot2::scale_y_discrete(breaks = ticks, labels = short, expand = c(0, 0)) +
    ggplot2::coord_fixed() +
    labs(title = "Pairwise class effects", x = if (base_size < 8) "Class with 90 %" else "Class with a probability of 90 %", y = if (base_size < 8) "Class changed" else "Class whose latent value changes",
      fill = if (base_size < 8) "Change" else "Change of the\nlatent value",
      caption = wrap_words("Drawn: the change in a row of data where temperature scaling gives 90 % to one class and shares the rest equally among the others. Blue: the class becomes more likely; orange: less likely. ",
        if (nrow(dashes)) paste0("A dash also marks orange cells, for readers without colour; ", if (any(named$estimate < 0) && numbers) "cells with a number and ", "changes below a tenth of the largest have none. "),
        say_moves(named, c(attr(clear, "count"), attr(own, "count")), max(12, length_shown)), " In every row and column of the picture the changes sum to zero.", base_size = base_size)) +
    picture_theme(base_size) +
    theme(panel.grid = element_blank(), legend.position = "right", legend.title = element_text(size = rel(0.75)), legend.key.height = unit(if (base_size < 8) 0.8 else 1.6, "lines"), legend.key.width = unit(0.6, "lines"),
      axis.text = element_text(size = rel(if (k > 12) (if (base_size < 8) 0.5 else 0.7) else 0.8)),
      axis.text.x = element_text(angle = if (max(nchar(short(classes))) > 3) 90 else 0, vjust = 0.5,
        hjust = if (max(nchar(short(classes))) > 3) 1 else 0.5))
}

pale_moves <- 0.5 # the scale reaches as far if no change is clear, so that noise has no strong colours
dash_share <- 0.1 # of the largest change: cells that are lowered by less have no dash

#' The framed moves in sentences
#' @param count how many exceed two standard deviations, off the diagonal and on it; @param most letters of a name.
#' @noRd
say_moves <- function(named, count, most = 12) {
  if (!nrow(named)) return("No cell is framed: no change exceeds two posterior standard deviations.")
  on <- as.character(named$class) == as.character(named$said)
  own <- named[on, ]
  named <- named[!on, ]
  part_of <- function(rows, count, where) if (nrow(rows) < count) paste0("the ", nrow(rows), " largest of ", count, where)
  each <- split(named, factor(as.character(named$said), levels = unique(as.character(named$said))))
  words <- vapply(each, function(moves) {
    paste0("when the scores say \"", shorten(moves$said[1], most), "\", ", paste0("\"", shorten(moves$class, most),
      ifelse(moves$estimate < 0, "\" is lowered by ", "\" is raised by "), sub("^[+-]", "", moves$label), collapse = ", "))
  }, "")
  words <- paste(words, collapse = "; ")
  some <- c(part_of(named, count[1], " between two classes"), part_of(own, count[2], " on the diagonal"))
  paste0("Framed: changes beyond two posterior standard deviations", if (length(some)) paste0(" (", paste(some, collapse = ", "), ")"), ".",
    if (nrow(named)) paste0(" ", toupper(substr(words, 1, 1)), substring(words, 2), "."),
    if (nrow(own)) paste0(if (nrow(named)) " On the diagonal: " else " There are some on the diagonal only: ", paste0("\"", shorten(own$class, most), "\" ", own$label, collapse = ", "), "."))
}

#' Names on an axis: their beginnings, which say more than both ends do; where these are the same, as shorten() has them
#' @noRd
begin_names <- function(x, most) {
  x <- as.character(x)
  short <- ifelse(nchar(x) > most, paste0(substr(x, 1, most - 1), "."), x)
  alike <- short %in% short[duplicated(short)]
  if (any(alike)) short[alike] <- shorten(x, most)[alike]
  if (length(unique(short)) == length(unique(x))) short else shorten(x, most)
}
