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
