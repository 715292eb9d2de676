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
  shares <- layers[[7]]
  expect_equal(shares$ymax / sum(shares$ymax), full$n / sum(full$n))
  expect_identical(unique(as.integer(shares$PANEL)), 2L)
})

test_that("axes run from 0 to 1, and the lower panel shows percentages of rows", {
  table <- reliability_table(p, y, bins = 10)
  built <- ggplot2::ggplot_build(autoplot(table))
  scales <- built$layout$panel_scales_y
  expect_identical(scales[[1]]$get_limits(), c(0, 1))
  expect_identical(built$layout$panel_scales_x[[1]]$get_limits(), c(0, 1))
  # What is drawn is asked of the expanded axis.
  view <- built$layout$panel_params[[2]]$y
  at <- view$get_breaks()
  said <- view$get_labels()
  said <- said[!is.na(at)]
  at <- at[!is.na(at)]
  shares <- layers_of(autoplot(table))[[7]]$ymax
  expect_match(said, "%$")
  most <- max(table$n) / sum(table$n)
  expect_equal(as.numeric(sub("%", "", said)), 100 * at * most / max(shares), tolerance = 1e-2)
})

test_that("titles and captions follow the type", {
  words <- function(...) autoplot(reliability_table(...))$labels
  expect_match(words(p, y)$title, "predicted class")
  expect_match(words(p, y)$caption, "95%.intervals")
  expect_match(words(p, y, conf_level = .9)$caption, "90%.intervals")
  expect_false(grepl("intervals", words(p, y, conf_level = NULL)$caption))
  event <- words(p, y, type = "event", event = "b")
  expect_match(event$title, "\"b\"")
  expect_match(event$x, "\"b\"")
  isotonic <- words(p, y, type = "event", event = "b", method = "isotonic", replicates = 20)
  expect_match(gsub("\n", " ", isotonic$caption), "grey: pointwise 95% range of the curve")
  expect_match(words(p, y)$caption, "N = 400")
  expect_true(all(nchar(strsplit(isotonic$caption, "\n")[[1]]) < 89))
})

corner <- function(plot) layers_of(plot)[[which(vapply(plot$layers, function(layer) {
  inherits(layer$geom, "GeomText")
}, NA))]]

test_that("the corner holds the numbers, where less is drawn", {
  text <- corner(autoplot(reliability_table(p, y)))
  expect_identical(text$label, sprintf("ECE %.3f\nconf. - acc. %+.3f",
    ece(p, y, bins = 15), mean(apply(p, 1, max)) - class_accuracy(p, y)))
  expect_match(corner_numbers(reliability_table(p, y), few = TRUE)$label, "\nconf. - acc.\n", fixed = TRUE)
  expect_match(corner(plot_reliability(list(a = p, b = p), y, base_size = 7))$label, "^ECE [0-9.]+$") # small panels have no room for more
  event <- corner(autoplot(reliability_table(p, y, type = "event", event = "b")))
  expect_match(event$label, sprintf("frequency %.3f", mean(y == "b")))
  set.seed(1)
  curve <- reliability_table(p, y, type = "event", event = "b", method = "isotonic", replicates = 20)
  parts <- summary(curve)[1, ]
  expect_identical(corner(autoplot(curve))$label, sprintf("MCB %.3f\nDSC %.3f\nUNC %.3f",
    parts$miscalibration, parts$discrimination, parts$uncertainty))
  # Everything stated too low leaves the bottom right free, too high the top left.
  low <- reliability_table(rep(c(.1, .2, .3), 20), rep(1, 60) - (1:60 > 58), type = "event")
  high <- reliability_table(rep(c(.7, .8, .9), 20), rep(0, 60) + (1:60 > 58), type = "event")
  expect_identical(corner(autoplot(low))$x, .99)
  expect_identical(corner(autoplot(high))$x, .02)
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
  draw(rep(.93, 30), rep(0:1, c(5, 25))) # one bin
  draw(p, factor(rep("a", 400), levels = c("a", "b", "c")), type = "top_label") # one class
  many <- oracle_data(300, 8, seed = 32)
  draw(oracle_softmax(many$z), many$y, type = "classwise")
})

panels_of <- function(plot) ggplot2::ggplot_build(plot)$layout$layout

test_that("the largest classes come first, up to a limit", {
  many <- oracle_data(300, 8, seed = 32)
  q <- oracle_softmax(many$z)
  labels <- factor(letters[many$y], levels = letters[1:8])
  table <- reliability_table(q, labels, type = "classwise", bins = 5)
  sizes <- sort(base::table(labels), decreasing = TRUE)
  shown <- panels_of(autoplot(table))
  expect_equal(as.vector(base::table(labels)[as.character(shown$class)]), as.vector(sizes[1:6]))
  expect_match(autoplot(table)$labels$caption, "6 of 8 classes")
  expect_equal(nrow(panels_of(autoplot(table, classes = 8))), 8)
  expect_equal(nrow(panels_of(autoplot(table, classes = 2))), 4) # with the lower panels
  expect_equal(nrow(panels_of(autoplot(table, classes = 2, histogram = FALSE))), 2)
  named <- autoplot(table, classes = c("c", "a"))
  expect_identical(levels(named$data$class), c("c", "a"))
  expect_error(autoplot(table, classes = "x"), "classes", class = "gpcalib_error_input")
  expect_error(autoplot(table, histogram = NA), class = "gpcalib_error_input")
  expect_error(autoplot(table, clases = 3), class = "gpcalib_error_input")
  # A class that is never predicted has no bins of equal mass.
  flat <- plot_reliability(list(matrix(.5, 10, 2), matrix(.5, 10, 2)), rep(1:2, 5),
    type = "top_label", binning = "mass")
  expect_identical(levels(flat$data$class), "1")
  # By rows predicted for "top_label"
  guess <- letters[max.col(q, "first")]
  top <- reliability_table(q, labels, type = "top_label", classes = 3)
  expect_identical(as.character(unique(top$class)),
    names(sort(base::table(factor(guess, levels = letters[1:8])), decreasing = TRUE))[1:3])
})

test_that("several forecasts stand side by side, each with its own table", {
  sharp <- p^2 / rowSums(p^2)
  plot <- plot_reliability(list(First = p, Second = sharp), y, bins = 10)
  expect_s3_class(plot, "ggplot")
  expect_identical(levels(plot$data$forecast), c("First", "Second"))
  expect_equal(nrow(panels_of(plot)), 4)
  want <- as.data.frame(reliability_table(sharp, y, bins = 10))
  got <- plot$data[plot$data$forecast == "Second", ]
  expect_equal(got$observed, want$observed[want$n > 0])
  expect_identical(plot_reliability(p, y, bins = 10)$data, autoplot(reliability_table(p, y, 10))$data)
  both <- plot_reliability(list(p, sharp), y, type = "classwise")
  expect_equal(nrow(panels_of(both)), 6)
  expect_identical(levels(both$data$forecast), c("1", "2"))
  expect_s3_class(plot_reliability(data.frame(a = p[, 1], b = p[, 2], c = p[, 3]), y) + ggplot2::theme_minimal() +
    ggplot2::labs(title = "Mine") + ggplot2::scale_x_reverse(), "ggplot")
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(plot_reliability(list(p, "a"), y), "x\\[\\[2\\]\\]")
  error(plot_reliability(list(a = p, a = p), y), "twice")
  error(plot_reliability("a", y), "`x`")
  error(plot_reliability(p, y, bin = 3), "reliability_table")
  error(plot_reliability(p), "labels")
  error(plot_reliability(list(p, p), y, type = "classwise", histogram = TRUE), "histogram")
})

test_that("weights reach the tables, and the classes chosen for several forecasts", {
  w <- ifelse(y == "c", 10, 1)
  plot <- plot_reliability(list(A = p, B = p), y, type = "classwise", classes = 1, weights = w)
  expect_identical(as.character(unique(plot$data$class)), "c")
  expect_equal(plot_reliability(p, y, weights = w)$data$n,
    with(reliability_table(p, y, weights = w), n[n > 0]))
})

test_that("the isotonic band reaches from the lowest to the highest score", {
  set.seed(2)
  table <- reliability_table(p, y, type = "event", event = "b", method = "isotonic", replicates = 50)
  band <- attr(table, "band")
  expect_equal(range(band$score), range(p[, 2]))
  expect_true(all(diff(band$score) > 0))
  at <- match(table$confidence, band$score)
  expect_identical(band$conf.low[at], table$conf.low)
  drawn <- layers_of(autoplot(table))[[1]]
  expect_equal(drawn$ymax, band$conf.high)
  curve <- layers_of(autoplot(table))[[3]]
  expect_equal(range(curve$x), range(p[, 2]))
  spread <- attr(table, "spread")
  expect_equal(sum(spread$n), 400)
  expect_equal(spread$n, as.vector(base::table(cut(p[, 2], 0:20 / 20, include.lowest = TRUE))))
})

test_that("rows taken out leave numbers of the rest", {
  table <- reliability_table(p, y, type = "classwise", bins = 5)
  part <- table[table$class == "b", ]
  expect_equal(attr(part, "ece"), ece(p, y, 5, type = "event", event = "b"))
  expect_equal(corner(autoplot(part))$label, sprintf("ECE %.3f", attr(part, "ece")))
  expect_output(print(part), sprintf("some of its rows.*ECE %s", format(round(attr(part, "ece"), 3))))
  one <- reliability_table(p, y, bins = 5)
  expect_false(grepl("accuracy", corner(autoplot(one[one$bin > 3, ]))$label))
  expect_s3_class(table[, 1:3], "data.frame", exact = TRUE)
  expect_identical(table$n, table[["n"]])
  set.seed(3)
  curve <- reliability_table(p, y, type = "classwise", method = "isotonic", replicates = 20)
  expect_equal(nrow(summary(curve[curve$class == "a", ])), 2)
  # Also when other packages slice the rows without our method
  slice <- part
  attributes(slice)[c("ece", "total")] <- attributes(table)[c("ece", "total")]
  expect_output(print(slice), sprintf("ECE %s", format(round(attr(part, "ece"), 3))))
  bare <- structure(as.data.frame(table), class = c("reliability_table", "data.frame"))
  expect_error(autoplot(bare), class = "gpcalib_error_input")
})

test_that("long names are cut so that they can be told apart", {
  expect_identical(shorten(c("short", "abcdefghijklmnop"), 9), c("short", "abc...nop"))
  long <- paste0("a_very_long_name_", 1:3, "_of_the_set")
  expect_identical(shorten(long, 10), c("...1...", "...2...", "...3..."))
  expect_identical(length(unique(shorten(c("aaaaaaaaaaaa", "aaaaaaabaaaaa"), 6))), 2L)
})

test_that("diagrams look as they did", {
  skip_if_not_installed("vdiffr")
  skip_if(utils::packageVersion("ggplot2") >= "3.5.0", "drawn with ggplot2 3.4")
  set.seed(4)
  expect_picture("confidence of two", plot_reliability(list(A = p, B = p^2 /
    rowSums(p^2)), y))
  expect_picture("isotonic event", plot_reliability(p, y, type = "event", event = "b",
    method = "isotonic", replicates = 100))
  expect_picture("smooth by group", plot_reliability(p, y, event = "b", method = "smooth",
    by = rep(1:2, length.out = nrow(p))))
  expect_picture("validation", autoplot(calib_validate(p, y, event = "b", conf_level = 0.9)))
})

test_that("a unit is as long on both axes, with the lower panel and without", {
  p <- rain_nyc$prob
  for (histogram in c(TRUE, FALSE)) {
    grob <- ggplot2::ggplotGrob(plot_reliability(p, rain_nyc$rain, histogram = histogram))
    expect_true(grob$respect)
    at <- grob$layout[grepl("^panel", grob$layout$name), ][1, ]
    expect_equal(as.numeric(grob$widths[at$l]), as.numeric(grob$heights[at$t]))
  }
})

test_that("the confidence in one of two classes begins at a half, or where the lowest frequency is", {
  p <- c(0.1, 0.2, 0.3, 0.7, 0.8, 0.9)
  low <- function(y) lowest_drawn(list(reliability_table(p, y, type = "confidence", bins = 5)), "confidence")
  expect_equal(low(c(0, 0, 0, 1, 1, 1)), 0.5)
  expect_equal(low(c(0, 1, 1, 0, 0, 1)), 0)
  expect_equal(lowest_drawn(list(reliability_table(p, c(0, 0, 0, 1, 1, 1))), "event"), 0)
})

test_that("gaps of bins with few rows are fainter", {
  shade <- gap_shade(c(1, 10, 100, 1e4))
  expect_true(all(diff(shade) > 0))
  expect_lt(shade[1], 0.1)
})

test_that("the rarest classes are drawn when asked for, and the caption says so", {
  set.seed(1)
  y <- factor(rep(c("a", "b", "c", "d"), c(50, 5, 30, 2)), levels = c("a", "b", "c", "d"))
  p <- matrix(rgamma(4 * 87, 1), 87, dimnames = list(NULL, levels(y)))
  p <- p / rowSums(p)
  shown <- function(...) levels(droplevels(plot_reliability(p, y, type = "classwise", classes = 2, ...)$data$class))
  expect_setequal(shown(), c("a", "c"))
  expect_setequal(shown(rarest = TRUE), c("b", "d"))
  expect_match(plot_reliability(p, y, type = "classwise", classes = 2, rarest = TRUE)$labels$caption, "fewest cases")
  table <- reliability_table(p, y, type = "classwise")
  expect_setequal(levels(droplevels(autoplot(table, classes = 2, rarest = TRUE)$data$class)), c("b", "d"))
  expect_error(plot_reliability(p, y, rarest = 2), class = "gpcalib_error_input")
})

test_that("titles of panels are put on lines before they are shortened", {
  expect_equal(unname(wrap_title("Logistic regression", 13)), "Logistic\nregression")
  expect_equal(unname(wrap_title("Unbreakablelongword", 9)), "Unb...ord")
})

test_that("titles at the side have two lines before they are shortened", {
  set.seed(4)
  p <- matrix(rgamma(3 * 60, 1), 60)
  p <- p / rowSums(p)
  y <- factor(rep(letters[1:3], 20))
  plot <- plot_reliability(list("Temperature scaling" = p, "Gaussian process" = p, Raw = p), y, type = "classwise", base_size = 11)
  labels <- plot$facet$params$labeller(data.frame(forecast = c("Temperature scaling", "Gaussian process")) |> structure(type = "rows", facet = "grid"))
  expect_equal(unname(unlist(labels)), c("Temperature\nscaling", "Gaussian\nprocess"))
})

test_that("smooth curves draw the classes with the most, or the fewest, true rows, in that order", {
  set.seed(3)
  p <- matrix(rgamma(5 * 400, 0.5), 400)
  p <- p / rowSums(p)
  y <- factor(c(rep(1:5, c(120, 60, 70, 65, 85))), labels = letters[1:5])
  order_of <- function(...) levels(plot_reliability(p, y, type = "classwise", classes = 3, ...)$data$class)
  expect_equal(order_of(method = "smooth"), c("a", "e", "c"))
  expect_equal(order_of(method = "smooth", rarest = TRUE), c("b", "d", "c"))
  expect_equal(order_of(), order_of(method = "smooth"))
})

test_that("smooth curves stand in the order of the true numbers of rows", {
  set.seed(2)
  y <- factor(rep(c("a", "b", "c", "d"), c(60, 70, 100, 80)))
  p <- matrix(rgamma(4 * 310, 1), 310, dimnames = list(NULL, levels(y)))
  p[cbind(1:310, y)] <- p[cbind(1:310, y)] + 0.7
  p <- p / rowSums(p)
  shown <- function(...) levels(plot_reliability(p, y, type = "classwise", method = "smooth", ...)$data$class)
  expect_identical(shown(), c("a", "b", "c", "d")) # none is left out
  expect_identical(shown(classes = 3), c("c", "d", "b"))
  expect_identical(shown(rarest = TRUE), c("a", "b", "d", "c"))
  table <- reliability_table(p, y, type = "classwise", method = "smooth")
  expect_equal(class_sizes(table, "classwise")[c("a", "b", "c", "d")], c(a = 60, b = 70, c = 100, d = 80))
})

test_that("intervals that the axis cuts have an arrow, and boxes begin where scores can be", {
  p <- c(rep(0.55, 10), rep(0.8, 50), rep(0.95, 200))
  y <- c(rep(0:1, c(7, 3)), rep(0:1, c(10, 40)), rep(0:1, c(10, 190)))
  table <- reliability_table(p, y, type = "confidence")
  plot <- autoplot(table)
  layers <- ggplot2::ggplot_build(plot)$data
  low <- lowest_drawn(list(table), "confidence")
  cut <- sum(table$conf.low[table$n > 0] < low)
  expect_equal(cut, 1)
  arrows <- Filter(function(layer) all(c("xend", "yend") %in% names(layer)), layers)
  expect_equal(nrow(arrows[[1]]), cut)
  expect_equal(arrows[[1]]$yend, low)
  expect_match(gsub("\n", " ", plot$labels$caption), "arrows where they go on")
  expect_gte(min(layers[[1]]$xmin), 0.5)
  expect_no_match(autoplot(reliability_table(p, y))$labels$caption, "arrows")
})

test_that("points and intervals of bins with few rows fade with their boxes", {
  p <- c(0.1, rep(0.9, 400))
  y <- c(1, rep(0:1, c(40, 360)))
  layers <- ggplot2::ggplot_build(plot_reliability(p, y))$data
  for (layer in layers[c(3, 4)]) expect_lt(layer$alpha[which.min(layer$x)], 0.5 * max(layer$alpha))
})

test_that("bins of equal mass have a histogram of the scores below", {
  set.seed(3)
  p <- c(runif(20, 0, 0.5), runif(180, 0.9, 1))
  y <- rbinom(200, 1, p)
  table <- reliability_table(p, y, bins = 10, binning = "mass")
  spread <- attr(table, "spread")
  expect_equal(sum(spread$n), 200)
  expect_equal(spread$n[spread$lower >= 0.899] |> sum(), 180)
  built <- ggplot2::ggplot_build(autoplot(table))
  bars <- built$data[[length(built$data)]]
  expect_equal(max(bars$ymax) / min(bars$ymax), max(spread$n) / min(spread$n[spread$n > 0]))
})

test_that("many panels are wider than high, and forecasts stand beside each other if they are more than classes", {
  p <- oracle_softmax(oracle_data(60, 3, seed = 5)$z)
  y <- oracle_data(60, 3, seed = 5)$y
  layout <- function(n, ...) {
    forecasts <- stats::setNames(rep(list(p), n), paste("Forecast", seq_len(n)))
    ggplot2::ggplot_build(plot_reliability(forecasts, y, ...))$layout$layout
  }
  expect_equal(max(layout(8)$COL), 4)
  expect_equal(c(max(layout(5, type = "classwise")$COL), max(layout(5, type = "classwise")$ROW)), c(5, 3))
  expect_equal(c(max(layout(2, type = "classwise")$COL), max(layout(2, type = "classwise")$ROW)), c(3, 2))
})

test_that("a smooth curve is thin where there are no scores", {
  set.seed(4)
  p <- c(runif(100, 0, 0.2), runif(100, 0.6, 0.9))
  plot <- plot_reliability(p, rbinom(200, 1, p), method = "smooth")
  thick <- Filter(function(layer) "linewidth" %in% names(layer) && "group" %in% names(layer), ggplot2::ggplot_build(plot)$data)
  seen <- Filter(function(layer) length(unique(layer$group)) == 2, thick)[[1]]
  expect_false(any(seen$x > 0.26 & seen$x < 0.54))
})

test_that("classes of which none is left out stand in their own order, for one forecast as for two", {
  six <- oracle_data(300, 6, seed = 8)
  q <- oracle_softmax(six$z)
  own <- levels(plot_reliability(q, six$y, type = "classwise", bins = 5)$data$class)
  expect_identical(own, as.character(1:6))
  expect_identical(levels(plot_reliability(list(a = q, b = q), six$y, type = "classwise", bins = 5)$data$class), own)
  expect_identical(levels(plot_reliability(q, six$y, type = "classwise", bins = 5, classes = c("3", "1"))$data$class), c("3", "1"))
  expect_identical(levels(plot_reliability(q, six$y, type = "classwise", bins = 5, classes = 2)$data$class),
    names(sort(-table(six$y)))[1:2])
})

test_that("all panels are square, and points of small ones smaller", {
  six <- oracle_data(100, 6, seed = 8)
  q <- oracle_softmax(six$z)
  ratio <- function(...) plot_reliability(..., labels = six$y, type = "classwise", bins = 5)$theme$aspect.ratio
  expect_equal(ratio(list(a = q, b = q)), 1)
  expect_equal(ratio(list(a = q, b = q), classes = 3), 1)
  expect_equal(ratio(q), 1)
  largest <- function(...) {
    layers <- ggplot2::ggplot_build(plot_reliability(q, six$y, type = "classwise", bins = 5, ...))$data
    max(Filter(function(layer) all(c("size", "shape") %in% names(layer)), layers)[[1]]$size)
  }
  expect_equal(largest(base_size = 11), 2.75)
  expect_lt(largest(base_size = 7), 0.8 * 2.75 * 7 / 11)
})

test_that("the numbers stand where nothing is behind them", {
  bins <- function(confidence, observed, low, high) {
    data.frame(lower = confidence - 0.03, upper = confidence + 0.03, confidence = confidence, observed = observed, conf.low = low, conf.high = high)
  }
  # High bars that end below the words at the top do not count; one that ends among those at the bottom does.
  rows <- bins(c(0.1, 0.2, 0.3, 0.8), c(0.5, 0.6, 0.6, 0.5), c(0.2, 0.2, 0.2, 0.05), c(0.8, 0.8, 0.8, 0.9))
  expect_identical(free_corner(rows, 0), "above")
  rows$conf.high[1:3] <- 0.95
  rows$conf.low[4] <- 0.2
  expect_identical(free_corner(rows, 0), "below")
  # Three lines of words need more room.
  rows <- bins(c(0.2, 0.3, 0.8), c(0.3, 0.3, 0.5), c(0.2, 0.2, 0.1), c(0.75, 0.75, 0.7))
  expect_identical(free_corner(rows, 0, c(0.45, 0.1)), "above")
  rows$conf.low[3] <- 0.4
  expect_identical(free_corner(rows, 0, c(0.45, 0.3)), "below")
  # They are left out where something lies behind them in both corners: a box, a point or an interval.
  rows$conf.low[3] <- 0.05
  expect_identical(free_corner(rows, 0, c(0.45, 0.3)), "neither")
  expect_identical(free_corner(rows, 0, c(0.45, 0.3), strict = FALSE), "below")
  expect_false(free_corner(rows, 0, c(0.1, 0.3)) == "neither") # words beside the intervals
  expect_identical(corner_box("ECE 0.007", 20) < corner_box("ECE 0.007\nfrequency 0.037", 20), c(TRUE, TRUE))
  taken <- reliability_table(c(.05, .25, .05, .75, .95, .75, .25, .95), c(1, 1, 1, 0, 0, 0, 1, 0), type = "event", bins = 10)
  built <- autoplot(taken)
  expect_identical(corner(built)$label, "")
  # No ground over the data.
  words <- Filter(function(layer) inherits(layer$geom, "GeomText"), built$layers)[[1]]
  expect_false(words$geom_params$ground)
  # As drawn: a bin with few rows keeps a point that can be seen.
  points <- ggplot2::ggplot_build(plot_reliability(p, y, type = "classwise", bins = 20, histogram = FALSE))$data
  sizes <- Filter(function(layer) "size" %in% names(layer) && "shape" %in% names(layer), points)[[1]]$size
  expect_gte(min(sizes) / max(sizes), 0.35)
})

test_that("scores that fill few bins are said to", {
  set.seed(4)
  p <- runif(1000, 0.08, 0.16)
  said <- function(...) gsub("\n", " ", plot_reliability(...)$labels$caption)
  expect_match(said(p, rbinom(1000, 1, p)), "Where most scores are in few of the bins, these hide how they differ within them: see method = \"smooth\".", fixed = TRUE)
  q <- runif(1000)
  expect_no_match(said(q, rbinom(1000, 1, q)), "fill few")
  expect_no_match(said(p, rbinom(1000, 1, p), bins = 5), "fill few")
})

test_that("classes without cases are left out unless they are named, and the caption says so", {
  set.seed(4)
  y <- sample(c(1, 2, 3, 5), 200, TRUE)
  p <- matrix(stats::rgamma(1000, 1), 200, dimnames = list(NULL, letters[1:5])) + 2 * diag(5)[y, ]
  p <- p / rowSums(p)
  truth <- factor(letters[y], letters[1:5])
  shown <- function(plot) levels(droplevels(plot$data$class))
  caption <- function(plot) gsub("\n", " ", plot$labels$caption)
  plots <- list(plot_reliability(p, truth, type = "classwise"), autoplot(reliability_table(p, truth, type = "classwise")),
    plot_reliability(list(x = p, y = p), truth, type = "classwise"))
  for (plot in plots) {
    expect_setequal(shown(plot), c("a", "b", "c", "e"))
    expect_match(caption(plot), "4 of 5 classes, the others have no cases.", fixed = TRUE)
  }
  rare <- plot_reliability(p, truth, type = "classwise", classes = 1, rarest = TRUE)
  expect_identical(shown(rare), names(which.min(table(truth)[-4])))
  expect_match(caption(rare), "1 of 5 classes, those with the fewest cases (of those that have any).", fixed = TRUE)
  expect_identical(shown(plot_reliability(p, truth, type = "classwise", classes = c("a", "d"))), c("a", "d"))
  expect_identical(most_classes(2, 7), 6L)
  cut <- reliability_table(p, truth, type = "classwise")
  cut <- cut[cut$class %in% c("a", "b"), ] # of the others nothing is known
  expect_match(caption(autoplot(cut, classes = 6)), "2 of 5 classes. ", fixed = TRUE)
})

test_that("the caption explains the colours of the boxes that are drawn", {
  caption <- function(p, y) gsub("\n", " ", plot_reliability(p, y)$labels$caption)
  y <- rep(1:0, c(60, 40))
  expect_match(caption(rep(.9, 100), y), "frequency (orange: probability too high), faint", fixed = TRUE)
  expect_match(caption(rep(.2, 100), y), "frequency (blue: probability too low), faint", fixed = TRUE)
  expect_match(caption(rep(c(.9, .2), 50), y), "(orange: probability too high, blue: too low)", fixed = TRUE)
})

test_that("captions say that bins of equal mass hold about as many rows", {
  said <- function(...) gsub("\\s+", " ", plot_reliability(p, y, bins = 5, ...)$labels$caption)
  expect_match(said(binning = "mass"), "Boxes (each of about as many rows): difference", fixed = TRUE)
  expect_match(said(), "Boxes: difference", fixed = TRUE)
})

test_that("ten to twelve classes stand in two rows, whose squares are larger than those of three", {
  columns <- function(k) {
    p <- matrix(1 / k, 2 * k, k, dimnames = list(NULL, letters[1:k]))
    plot <- plot_reliability(p, rep(letters[1:k], 2), type = "classwise", classes = k)
    max(ggplot2::ggplot_build(plot)$layout$layout$COL)
  }
  expect_equal(vapply(c(4, 6, 8, 9, 10, 12, 15), columns, 0), c(2, 3, 4, 5, 5, 6, 5))
})
