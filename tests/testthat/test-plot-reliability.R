# The diagram draws what the table holds; looks are judged by eye.

forecast <- oracle_data(400, 3, seed = 31)
p <- oracle_softmax(forecast$z)
y <- factor(c("a", "b", "c")[forecast$y])

layers_of <- function(plot) ggplot2::ggplot_build(plot)$data

test_that("points, intervals, gaps and shares are those of the table", {
  table <- reliability_table(p, y, bins = 10)
  full <- as.data.frame(table)[table$n > 0, ]
  layers <- layers_of(autoplot(table))
  boxes <- layers[[1]]
  expect_equal(boxes$xmin, full$lower)
  expect_equal(abs(boxes$ymax - boxes$ymin), abs(full$gap))
  expect_identical(boxes$fill == "#D55E00", full$gap > 0)
  lines <- layers[[3]]
  expect_equal(cbind(lines$ymin, lines$ymax), cbind(full$conf.low, full$conf.high))
  points <- layers[[4]]
  expect_equal(cbind(points$x, points$y), cbind(full$confidence, full$observed))
  shares <- layers[[5]]
  expect_equal(shares$ymax / sum(shares$ymax), full$n / sum(full$n))
  expect_identical(unique(as.integer(shares$PANEL)), 2L)
})

test_that("axes run from 0 to 1, and the lower panel shows percentages of rows", {
  table <- reliability_table(p, y, bins = 10)
  built <- ggplot2::ggplot_build(autoplot(table))
  scales <- built$layout$panel_scales_y
  expect_identical(scales[[1]]$get_limits(), c(0, 1))
  expect_identical(built$layout$panel_scales_x[[1]]$get_limits(), c(0, 1))
  at <- scales[[2]]$get_breaks()
  said <- scales[[2]]$get_labels(at)
  shares <- layers_of(autoplot(table))[[5]]$ymax
  expect_match(said, "%$")
  most <- max(table$n) / sum(table$n)
  expect_equal(as.numeric(sub("%", "", said)), 100 * at * most / max(shares), tolerance = 1e-2)
})

test_that("titles and captions follow the type", {
  words <- function(...) autoplot(reliability_table(...))$labels
  expect_match(words(p, y)$title, "predicted class")
  expect_match(words(p, y)$caption, "95 % intervals")
  expect_match(words(p, y, conf_level = .9)$caption, "90 % intervals")
  expect_false(grepl("intervals", words(p, y, conf_level = NULL)$caption))
  event <- words(p, y, type = "event", event = "b")
  expect_match(event$title, "\"b\"")
  expect_match(event$x, "\"b\"")
  isotonic <- words(p, y, type = "event", event = "b", method = "isotonic", replicates = 20)
  expect_match(isotonic$caption, "^Band: .*95 %")
  expect_match(isotonic$subtitle, "miscalibration")
  expect_match(words(p, y)$subtitle, sprintf("ECE %.3f", ece(p, y, bins = 15)))
  expect_match(words(p, y)$subtitle, sprintf("accuracy %.3f", class_accuracy(p, y)))
})

test_that("every kind of table can be drawn", {
  draw <- function(...) {
    table <- reliability_table(..., replicates = 20)
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    expect_s3_class(autoplot(table), "ggplot")
    expect_silent(drawn <- plot(table))
    expect_identical(drawn, table)
  }
  for (type in c("confidence", "classwise", "top_label")) {
    draw(p, y, type = type)
    draw(p, y, type = type, binning = "mass")
  }
  draw(p, y, type = "event", event = "a", conf_level = NULL)
  draw(p, y, type = "event", event = "a", method = "isotonic")
  draw(p, y, type = "event", event = "a", method = "isotonic", conf_level = NULL)
  draw(p, y, type = "classwise", method = "isotonic")
  draw(c(0, 1, 1, 0), c(0, 1, 1, 1))
  many <- oracle_data(300, 8, seed = 32)
  draw(oracle_softmax(many$z), many$y, type = "classwise")
})

test_that("beyond six classes there is no lower panel", {
  many <- oracle_data(300, 8, seed = 32)
  table <- reliability_table(oracle_softmax(many$z), many$y, type = "classwise", bins = 5)
  panels <- function(...) nrow(ggplot2::ggplot_build(autoplot(table, ...))$layout$layout)
  expect_identical(panels(), 8L)
  expect_identical(panels(histogram = TRUE), 16L)
  expect_error(autoplot(table, histogram = NA), class = "gpcalib_error_input")
})
