# Captions are wrapped for the width at which they are drawn.

probs <- c(0.2, 0.4, 0.6, 0.8)[rep(1:4, 50)]
happened <- rep(c(0, 1, 0, 1, 1), 40)

# What stands below a picture so many inches wide.
lines_at <- function(plot, width) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, width = width, height = 4)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  table <- suppressMessages(ggplot2::ggplotGrob(plot), classes = "gpcalib_message_small") # narrow on purpose
  drawn <- grid::makeContext(table)
  caption <- drawn$grobs[[which(drawn$layout$name == "caption")]]
  list(text = strsplit(label_in(caption), "\n")[[1]], room = width - 1.5 * 9 / 72, # the margins of picture_theme(9)
    wide = grid::convertWidth(grid::grobWidth(text_in(caption)), "inches", valueOnly = TRUE),
    height = grid::convertHeight(drawn$heights[drawn$layout$t[drawn$layout$name == "caption"]], "inches", valueOnly = TRUE))
}
text_in <- function(grob) if (inherits(grob, "text")) grob else text_in(grob$children[[1]])
label_in <- function(grob) as.character(text_in(grob)$label)

test_that("captions use the width that is there, and no more", {
  plot <- plot_reliability(probs, happened, base_size = 9)
  sizes <- lapply(c(2, 3, 4, 6, 9), function(width) lines_at(plot, width))
  for (size in sizes) expect_lte(size$wide, size$room + 1e-6)
  counts <- lengths(lapply(sizes, `[[`, "text"))
  expect_true(all(diff(counts) <= 0))
  expect_gt(counts[1], counts[5] + 1)
  for (size in sizes) expect_equal(paste(size$text, collapse = " "), paste(sizes[[1]]$text, collapse = " "))
  expect_true(all(diff(vapply(sizes, `[[`, 0, "height")) <= 0))
  # Every line but the last would not hold one word more.
  four <- sizes[[3]]
  expect_gt(four$wide, 0.8 * four$room)
})

test_that("larger letters take more lines, a user's caption stays as it is, an absent one does no harm", {
  plot <- plot_reliability(probs, happened, base_size = 9)
  large <- plot + ggplot2::theme(plot.caption = ggplot2::element_text(size = 14))
  expect_gt(length(lines_at(large, 6)$text), length(lines_at(plot, 6)$text))
  expect_lte(lines_at(large, 6)$wide, 6 - 1.5 * 9 / 72 + 1e-6)
  own <- plot + ggplot2::labs(caption = "one\ntwo three")
  expect_equal(lines_at(own, 6)$text, c("one", "two three"))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(print(plot + ggplot2::theme(plot.caption = ggplot2::element_blank())))
  expect_silent(print(plot + ggplot2::theme_minimal()))
  expect_silent(print(plot_latent(calib_none(probs, happened), compare = character()))) # has nothing to say
})

test_that("a word longer than the picture has a line of its own", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  style <- ggplot2::calc_element("plot.caption", ggplot2::theme_bw())
  long <- strrep("m", 200)
  expect_equal(wrap_to(paste("a b", long, "c"), 2, style), paste("a b", long, "c", sep = "\n"))
  expect_equal(wrap_to("one", 2, style), "one")
})

test_that("axes of studies have decimals, not powers of ten", {
  expect_identical(say_decimal(c(-5e-4, 0, 5e-4)), c("-0.0005", "0", "0.0005"))
  expect_identical(say_decimal(c(NA, 0.25, 0.3)), c("NA", "0.25", "0.3"))
  expect_identical(say_decimal(c(-1e-7, 1e-7)), c("-1e-07", "1e-07"))
  set.seed(1)
  study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature"), n_cal = 300, splits = 2, metrics = "class_accuracy")
  expect_identical(autoplot(study)$scales$get_scales("x")$labels(c(-5e-4, 0)), c("-0.0005", "0"))
})

test_that("pictures are chosen by `what`, and `type` is the same", {
  m <- calib_monitor(c(0.2, 0.6, 0.3, 0.7), c(0, 1, 1, 0), period = c("a", "a", "b", "b"))
  same <- function(a, b) expect_identical(list(a$data, a$labels), list(b$data, b$labels))
  for (which in c("evidence", "scores", "reliability")) {
    same(autoplot(m, which), autoplot(m, what = which))
    same(autoplot(m, which), autoplot(m, type = which))
  }
  expect_error(autoplot(m, type = "odd"), "must be one of", class = "gpcalib_error_input")
  set.seed(1)
  y <- rep(1:3, 20)
  fit <- calib_gp(stats::rnorm(180) + 2 * diag(3)[y, ], y, class_effects = "offset")
  same(autoplot(fit, what = "offsets"), autoplot(fit, type = "offsets"))
  same(autoplot(fit), autoplot(fit, type = "map"))
})

# The table of a plot as it is drawn on a page of that size: caption, titles of panels, whether numbers stand in the corners.
drawn_at <- function(plot, width, height) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, width = width, height = height)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  drawn <- grid::makeContext(suppressMessages(ggplot2::ggplotGrob(plot), classes = "gpcalib_message_small"))
  strips <- grep("^strip-t", drawn$layout$name)
  titles <- lapply(drawn$grobs[strips], function(grob) text_grobs(grob)[[1]])
  corners <- unlist(lapply(drawn$grobs[grep("^panel", drawn$layout$name)], function(panel) {
    lapply(Filter(is_corner, panel$children), `[[`, "fixed")
  }))
  list(caption = gsub("\n", " ", label_in(drawn$grobs[[which(drawn$layout$name == "caption")]])), corners = unname(corners),
    titles = vapply(titles, function(title) as.character(title$label), ""), room = cell_sizes(drawn)[strips, 1],
    takes = vapply(titles, function(title) grid::convertWidth(grid::grobWidth(title), "pt", valueOnly = TRUE), 0))
}

test_that("numbers in corners have one size, and the caption explains them only where they are drawn", {
  plot <- plot_reliability(list(a = probs, b = probs^2, c = sqrt(probs)), happened, method = "smooth")
  large <- drawn_at(plot, 6, 4)
  expect_match(large$caption, "ICI: mean distance", fixed = TRUE)
  expect_length(unique(large$corners), 1)
  expect_gt(large$corners[1], 0)
  small <- drawn_at(plot, 2, 2)
  expect_no_match(small$caption, "ICI")
  expect_match(small$caption, "^N = 200")
  expect_true(all(small$corners == 0))
  confident <- plot_reliability(list(a = cbind(1 - probs, probs), b = cbind(1 - probs, probs)), happened, type = "confidence")
  expect_match(drawn_at(confident, 6, 4)$caption, "Conf. - acc.: mean confidence less accuracy", fixed = TRUE)
  expect_no_match(drawn_at(confident, 2, 2)$caption, "accuracy")
})

test_that("the caption says what the lower panel of a latent map has no room for", {
  set.seed(2)
  y <- rep(1:3, 40)
  fit <- calib_gp(stats::rnorm(360) + 2 * diag(3)[y, ], y)
  said <- "Below: scores of the true class (blue outline) and of the other classes (grey)."
  words <- function(plot) sum(vapply(plot$layers, function(layer) inherits(layer$geom, "GeomText"), NA))
  expect_no_match(drawn_at(autoplot(fit, base_size = 11), 6, 4)$caption, "Below")
  expect_match(drawn_at(autoplot(fit, base_size = 11), 3, 2)$caption, said, fixed = TRUE)
  expect_identical(c(words(autoplot(fit, base_size = 11)), words(autoplot(fit, base_size = 7))), 1:0)
  expect_match(drawn_at(autoplot(fit, base_size = 7), 3, 2)$caption, said, fixed = TRUE)
  expect_no_match(drawn_at(autoplot(fit, base_size = 7, histogram = FALSE), 3, 2)$caption, "Below")
})

test_that("titles of panels stay within them, with the number of cases", {
  set.seed(3)
  y <- sample(6, 300, TRUE)
  names <- paste("Category with a long name, number", 1:6)
  p <- diag(6)[y, ] + 0.5
  p <- p / rowSums(p)
  colnames(p) <- names
  for (size in list(c(6, 4, 9), c(3, 2, 7))) {
    drawn <- drawn_at(plot_reliability(p, factor(names[y], names), type = "classwise", base_size = size[3]), size[1], size[2])
    expect_true(all(drawn$takes <= drawn$room))
    expect_match(drawn$titles, "[(][0-9]+\u00a0cases[)]$")
    expect_length(unique(sub("[(].*", "", drawn$titles)), 6)
  }
  expect_identical(shorten_title("Category number three (n\u00a0=\u00a01,300)", 9), "Cat...ree (n\u00a0=\u00a01,300)")
  expect_identical(shorten_title("Category number (three)", 9), "Cat...ee)")
})

test_that("of titles that are too long only these are shortened", {
  plot <- plot_latent(list(GP = { # the title of the lower panel fits neither
    set.seed(2)
    y <- rep(1:3, 40)
    calib_gp(stats::rnorm(360) + 2 * diag(3)[y, ], y)
  }), base_size = 7)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, width = 3, height = 1.6)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  drawn <- grid::makeContext(ggplot2::ggplotGrob(plot))
  titles <- vapply(drawn$grobs[grep("^strip-l", drawn$layout$name)], function(grob) as.character(text_grobs(grob)[[1]]$label), "")
  expect_identical(titles[1], "Latent g")
  sizes <- vapply(drawn$grobs[grep("^strip-l", drawn$layout$name)], function(grob) text_grobs(grob)[[1]]$gp$fontsize, 0)
  expect_lt(sizes[2], sizes[1]) # and only these are smaller
  expect_equal(title_letters(3), 20) # "Temperature scaling" on one line
})
