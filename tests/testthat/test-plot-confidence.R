data <- oracle_data(300, 3, seed = 71)
p <- oracle_softmax(data$z)
sharp <- p^2 / rowSums(p^2)
y <- data$y

test_that("points are the measures, lines the odds of being correct", {
  plot <- plot_confidence(list(Plain = p, Sharp = sharp), y)
  expect_equal(plot$data$overconfidence, c(overconfidence(p, y), overconfidence(sharp, y)))
  expect_equal(plot$data$underconfidence, c(underconfidence(p, y), underconfidence(sharp, y)))
  built <- ggplot2::ggplot_build(plot)
  line <- built$data[[1]]
  accuracy <- class_accuracy(p, y)
  expect_equal(nrow(line), 2) # one for each, here the same
  expect_equal(line$yend / line$xend, rep(accuracy / (1 - accuracy), 2))
  points <- built$data[[2]]
  expect_identical(line$colour, points$colour) # a line belongs to its forecast
  expect_match(plot$scales$get_scales("colour")$labels[1], sprintf("(accuracy %.1f %%)", 100 * accuracy), fixed = TRUE)
  expect_equal(points$x, plot$data$underconfidence)
  expect_length(unique(points$shape), 2)
  expect_equal(built$layout$panel_params[[1]]$y.range[1], 0)
  # On the line the confidence equals the accuracy
  exact <- cbind(rep(.75, 4), .25)
  on <- plot_confidence(exact, c(1, 1, 1, 2))$data
  expect_equal(on$overconfidence / on$underconfidence, .75 / .25)
  expect_s3_class(plot + ggplot2::theme_dark() + ggplot2::labs(title = "Mine"), "ggplot")
})

test_that("labels may differ, intervals come from the bootstrap", {
  plot <- plot_confidence(list(p, sharp[1:100, ]), list(y, y[1:100]))
  expect_equal(plot$data$accuracy, c(class_accuracy(p, y), class_accuracy(sharp[1:100, ], y[1:100])))
  expect_equal(nrow(ggplot2::ggplot_build(plot)$data[[1]]), 2)
  set.seed(3)
  ranged <- plot_confidence(p, y, conf_level = .9, replicates = 50)
  set.seed(3)
  want <- calib_metrics(p, y, conf_level = .9, replicates = 50)
  expect_equal(ranged$data$over.low, want$conf.low[want$measure == "overconfidence"])
  expect_match(gsub("\n", " ", ranged$labels$caption), "90% bootstrap")
  w <- rep(c(1, 3), 150)
  expect_equal(plot_confidence(p, y, weights = w)$data$overconfidence, overconfidence(p, y, w))
})

test_that("what is undefined is named, not drawn", {
  expect_silent(plot <- plot_confidence(list(All = c(.9, .8, .1), Some = c(.9, .2, .1)), c(1, 1, 0)))
  expect_match(gsub("\n", " ", plot$labels$caption), "Not defined for All")
  points <- ggplot2::ggplot_build(plot)$data[[2]]
  expect_equal(nrow(points), 1)
  expect_silent(none <- plot_confidence(c(.9, .8, .1), c(1, 1, 0)))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(print(none))
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(plot_confidence(list(p, sharp), list(y)), "labels")
  error(plot_confidence(p, y, cnf = 1), "cnf")
  error(plot_confidence("a", y), "`x`")
})

test_that("names are not cut to make room for the accuracy", {
  p <- rbind(c(.7, .3), c(.6, .4), c(.2, .8), c(.45, .55))
  y <- c(1, 2, 2, 1)
  long <- paste("Calibrator number", 1:8)
  shown <- function(names) plot_confidence(stats::setNames(rep(list(p), length(names)), names), y)$scales$get_scales("colour")$labels
  expect_match(shown(c("raw", "scaled")), " \\(accuracy 50.0 %\\)$")
  expect_identical(shown(long), long)
})

test_that("several forecasts have a panel for each value of `by`, one forecast a point", {
  by <- rep(c("A", "B", "C"), 100)
  plot <- plot_confidence(list(Plain = p, Sharp = sharp), y, by = by)
  expect_identical(levels(plot$data$forecast), c("Plain", "Sharp"))
  expect_identical(levels(plot$data$group), c("A", "B", "C"))
  row <- plot$data[plot$data$forecast == "Sharp" & plot$data$group == "B", ]
  expect_equal(row$overconfidence, overconfidence(sharp[by == "B", ], y[by == "B"]))
  built <- ggplot2::ggplot_build(plot)
  expect_equal(nrow(built$layout$layout), 3)
  line <- built$data[[1]]
  odds <- function(group) class_accuracy(p[by == group, ], y[by == group]) / (1 - class_accuracy(p[by == group, ], y[by == group]))
  own <- line[line$PANEL == 3 & line$colour == ink[1], ]
  expect_equal(own$yend / own$xend, odds("C"))
  one <- plot_confidence(p, y, by = by)
  expect_identical(levels(one$data$forecast), c("A", "B", "C"))
  expect_equal(nrow(ggplot2::ggplot_build(one)$layout$layout), 1)
})

test_that("no line is dropped for a rounding error at the limits", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  top <- c(u = 0.3, o = 0.77)
  accuracy <- c(seq(0.7, 0.99, length.out = 500), 0.5) # of many accuracies some give odds * (top / odds) > top
  odds <- accuracy / (1 - accuracy)
  expect_true(any(odds * (top[["o"]] / odds) > top[["o"]]))
  placed <- data.frame(forecast = factor(seq_along(accuracy)), accuracy = accuracy, underconfidence = 0.1, overconfidence = 0.4)
  lines <- balance_lines(placed, top)
  expect_true(all(lines$u <= top[["u"]] & lines$o <= top[["o"]]))
  expect_equal(lines$o / lines$u, odds)
  # Also not what lies a little outside
  plot <- plot_confidence(list(Plain = p, Sharp = sharp), y)
  plot$layers[[1]]$data$o <- plot$scales$get_scales("y")$limits[2] * (1 + 1e-12)
  expect_no_warning(built <- ggplot2::ggplot_build(plot))
  expect_false(anyNA(built$data[[1]]$yend))
  expect_no_warning(print(plot))
})

test_that("a stem leads from each point to its own line, inside the picture", {
  flat <- sqrt(p) / rowSums(sqrt(p))
  plot <- plot_confidence(list(Plain = p, Sharp = sharp, Flat = flat), y)
  built <- ggplot2::ggplot_build(plot)
  stems <- built$data[[3]]
  odds <- plot$data$accuracy / (1 - plot$data$accuracy)
  expect_equal(stems$yend / stems$xend, odds)
  expect_equal(stems$x, plot$data$underconfidence)
  expect_equal(stems$y, plot$data$overconfidence)
  expect_identical(stems$colour, built$data[[2]]$colour)
  expect_true(all(stems$x == stems$xend | stems$y == stems$yend))
  limit <- built$layout$panel_params[[1]]
  expect_true(all(stems$xend <= limit$x.range[2] & stems$yend <= limit$y.range[2]))
  expect_length(unique(built$data[[1]]$linetype), 3)
  expect_match(gsub("\n", " ", plot$labels$caption), "thin stems join points and lines")
  # Beside bars a stem would look like one.
  ranged <- plot_confidence(list(Plain = p, Sharp = sharp), y, conf_level = 0.9, replicates = 20)
  expect_no_match(gsub("\n", " ", ranged$labels$caption), "stem")
  expect_length(Filter(function(layer) inherits(layer$geom, "GeomSegment"), ranged$layers), 3) # lines, bars of both directions
  expect_match(gsub("\n", " ", plot$labels$caption), "lies on the line of its colour.*Points above their line are too confident")
})

test_that("eight forecasts have their accuracies in the legend", {
  names <- c("gp", "matrix", "temperature", "none", "beta", "isotonic", "vector", "histogram")
  plot <- plot_confidence(stats::setNames(rep(list(p), 8), names), y)
  expect_identical(plot$scales$get_scales("colour")$labels, sprintf("%s (%.1f %%)", names, 100 * class_accuracy(p, y)))
  expect_match(gsub("\n", " ", plot$labels$caption), "In brackets: accuracy", fixed = TRUE)
  expect_no_match(plot_confidence(list(a = p, b = p), y)$labels$caption, "In brackets")
})

test_that("the caption says where lines of like accuracies coincide", {
  y <- rep(1:0, c(70, 30))
  caption <- function(...) gsub("\n", " ", plot_confidence(list(...), y)$labels$caption)
  expect_match(caption(A = rep(.9, 100), B = rep(.8, 100)), "the lines of nearly equal accuracies coincide or nearly so", fixed = TRUE)
  expect_no_match(caption(A = rep(.9, 100), B = rep(c(.8, .3), c(90, 10))), "coincide", fixed = TRUE)
})
