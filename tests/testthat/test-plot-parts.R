# Looks and legends that all pictures share.

test_that("no two forecasts look the same", {
  looks <- function(n, values) paste(pick(ink, n, shift = FALSE), pick(values, n))
  for (values in list(strokes, marks)) {
    expect_identical(pick(values, 8), values)
    expect_length(unique(looks(64, values)), 64)
  }
})

test_that("no stroke is so thin that its line disappears: about half of it is drawn", {
  drawn <- vapply(setdiff(strokes, "solid"), function(stroke) {
    length <- as.integer(strsplit(stroke, "")[[1]])
    sum(length[c(TRUE, FALSE)]) / sum(length)
  }, 0)
  expect_gte(min(drawn), 0.45)
})

test_that("legends fit: up to eight entries in two rows, of small pictures in three", {
  names <- c("Uncalibrated", "Temperature scaling", "Gaussian process", "Vector scaling", "Matrix scaling",
    "Isotonic regression", "Beta calibration", "Histogram binning")
  for (size in c(7, 9, 11)) {
    short <- legend_names(names, size)
    expect_lte(legend_rows(short, size), if (size < 8) 3 else 2)
    expect_length(unique(short), 8)
    expect_true(legend_fits(short, legend_columns(short, size), size))
    twelve <- legend_names(c(names, paste("Power of", names[1:4])), size)
    expect_true(legend_fits(twelve, legend_columns(twelve, size), size))
  }
  expect_identical(legend_names(names[1:3], 9), names[1:3])
  expect_equal(legend_columns(names[1:3], 9), 3)
  expect_equal(legend_columns(c("one", "two"), 7), 2)
})

test_that("names in a legend are made smaller before they are shortened", {
  names <- c("Uncalibrated", "Temperature scaling", "Gaussian process", "Vector scaling", "Matrix scaling",
    "Isotonic", "Beta calibration", "Histogram binning")
  expect_identical(legend_names(names, 11), names)
  expect_identical(legend_layout(names, 11), list(columns = 4, scale = 0.8))
  expect_identical(legend_layout(names[1:3], 11), list(columns = 3, scale = 1))
  # Small pictures have a third row before that.
  expect_identical(legend_names(names, 7), names)
  expect_identical(legend_layout(names, 7), list(columns = 3, scale = 0.8))
  expect_equal(legend_rows(substr(names, 1, 6), 7), 2)
})

test_that("names in a legend lose their ends, or their middle where that tells them apart", {
  expect_identical(cut_end(c("Temperature scaling", "Platt"), 16), c("Temperature s...", "Platt"))
  expect_identical(cut_end("Temperature scaling", 13), "Temperatur...")
  expect_identical(cut_end(c("Forecast of model A", "Forecast of model B"), 12), shorten(c("Forecast of model A", "Forecast of model B"), 12))
})

test_that("titles of panels are made smaller before they are shortened", {
  expect_equal(title_scale(c("Temperature scaling", "Platt"), 16), 1) # on two lines
  expect_equal(title_scale("Uncalibrated", 8), 0.65)
  expect_equal(title_scale("Unbreakablelongword", 8), 0.65)
  expect_equal(title_scale("New York", 8, lines = 1), 1)
  expect_equal(title_scale("New York C", 8, lines = 1), 0.8)
})

test_that("names that differ stay apart when they are short", {
  names <- c("Gradient boosting tuned on the training years", "Forest", "Gradient boosting tuned on the calibration years")
  for (most in 6:40) {
    short <- shorten(names[c(1, 3, 2, 1)], most)
    expect_length(unique(short), 3)
    expect_identical(short[1], short[4])
  }
  p <- list(a = c(0.2, 0.6, 0.7, 0.4, 0.1), b = c(0.3, 0.5, 0.8, 0.4, 0.2), c = c(0.1, 0.7, 0.6, 0.3, 0.2))
  names(p) <- names
  expect_length(levels(ggplot2::autoplot(suppressWarnings(compare_forecasts(p, c(0, 1, 1, 0, 0))))$data$pair), 3)
})

test_that("a legend of twelve entries fits beside the axis, in two rows if names are short, and three or four rows are set closer", {
  names <- c("Uncalibrated", "Temperature", "Platt", "Isotonic", "Beta", "GP", "Histogram", "BBQ", "Vector", "Venn-Abers", "Ensemble", "Climatology")
  expect_equal(legend_layout(names, 9)$columns, 4) # six would be wider than the picture
  expect_equal(legend_layout(paste("model", LETTERS[1:12]), 9)$columns, 6)
  height <- function(names) {
    parts <- Filter(function(part) inherits(part, "theme"), legend_above(names, "colour", 7))
    unlist(lapply(parts, function(part) if (length(part$legend.key.height)) as.numeric(part$legend.key.height)))
  }
  expect_equal(height(names), 1.15 * 7)
  expect_null(height(names[1:4]))
  # what such a legend measures, in points
  grDevices::pdf(NULL, 6, 4)
  on.exit(grDevices::dev.off())
  p <- seq(0.05, 0.95, length.out = 60)
  plot <- plot_murphy(stats::setNames(lapply(1:12, function(i) p^(i / 6)), names), rep(0:1, 30))
  grob <- ggplot2::ggplotGrob(plot)
  box <- grob$grobs[[grep("guide-box", grob$layout$name)[1]]]
  expect_lt(grid::convertWidth(sum(box$widths), "pt", valueOnly = TRUE), 396)
  expect_lt(grid::convertHeight(sum(box$heights), "pt", valueOnly = TRUE), 40)
})

test_that("a legend that would be cut off above the panels stands above the whole picture", {
  grDevices::pdf(NULL, 3, 2)
  on.exit(grDevices::dev.off())
  columns <- function(names, size = 7) {
    p <- seq(0.05, 0.95, length.out = 60)
    drawn <- grid::makeContext(ggplot2::ggplotGrob(plot_murphy(stats::setNames(lapply(seq_along(names), function(i) p^i), names), rep(0:1, 30), base_size = size)))
    at <- drawn$layout[grep("guide-box", drawn$layout$name)[1], ]
    c(at$l, at$r, length(drawn$widths))
  }
  narrow <- columns(c("one", "two"))
  expect_gt(narrow[1], 1)
  expect_lt(narrow[2], narrow[3])
  wide <- columns(paste0(strrep("M", 7), 1:8)) # wider than other letters
  expect_identical(wide[1:2], c(1L, wide[3]))
})
