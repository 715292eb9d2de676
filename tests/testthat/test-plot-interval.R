data <- oracle_data(200, 5, seed = 61)
colnames(data$z) <- c("a", "b", "c", "d", "e")
labels <- factor(letters[data$y], levels = colnames(data$z))
fit <- calib_gp(data$z, labels)

test_that("points and ranges are those of predict()", {
  set.seed(1)
  plot <- plot_interval(fit, data$z[1:3, ], labels[1:3], level = .8, n_draws = 200)
  set.seed(1)
  want <- predict(fit, data$z[1:3, ], type = "interval", level = .8, n_draws = 200)
  for (i in 1:3) {
    rows <- plot$data[plot$data$row == paste("Row", i), ]
    expect_equal(nrow(rows), 4)
    best <- order(-want[i, , 1])[1:4]
    expect_identical(as.character(rows$class), colnames(data$z)[best])
    expect_equal(cbind(rows$estimate, rows$conf.low, rows$conf.high), unname(want[i, best, ]))
    expect_identical(rows$true, colnames(data$z)[best] == labels[i])
  }
  built <- ggplot2::ggplot_build(plot)
  expect_equal(nrow(built$layout$layout), 3)
  expect_equal(sort(built$data[[1]]$xmin), sort(plot$data$conf.low))
  expect_identical(sum(built$data[[2]]$shape == 17), sum(plot$data$true))
  # The most likely class stands on top of its panel, under its own name
  top <- built$layout$panel_params[[2]]$y$get_labels()
  expect_identical(unname(top[length(top)]), names(which.max(want[2, , 1])))
  expect_match(gsub("\n", " ", plot$labels$caption), "4 most likely of 5.*80% posterior.*true class")
  expect_s3_class(plot + ggplot2::theme_minimal() + ggplot2::labs(title = "Mine"), "ggplot")
})

test_that("two classes stand in one panel; rows and names are kept", {
  two <- oracle_data(100, 2, seed = 62)
  p <- oracle_softmax(two$z)[, 2]
  pair <- calib_gp(p, two$y)
  set.seed(2)
  plot <- plot_interval(pair, stats::setNames(p[1:30], paste0("day", 1:30)), n_draws = 100)
  expect_identical(levels(plot$data$row), paste0("day", 1:20))
  expect_match(plot$labels$caption, "first 20 of 30 rows")
  expect_true(all(is.na(plot$data$true)))
  expect_true(all(plot$data$class == "2"))
  shown <- ggplot2::ggplot_build(plot)$layout$panel_params[[1]]$y$get_labels()
  expect_identical(as.character(shown), paste0("day", 20:1))
  expect_equal(plot$data$estimate, unname(predict(pair, p[1:20])[, 2]))
})

test_that("wrong arguments are input errors", {
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(plot_interval(calib_none(data$z, labels), data$z[1:2, ]), "calib_gp")
  error(plot_interval(fit, data$z[1:2, ], labels[1:3]), "labels")
  error(plot_interval(fit, data$z[1:2, ], c("a", "x")), "labels")
  error(plot_interval(fit, data$z[0, ]), "newdata")
  error(plot_interval(fit, data$z[1:2, ], lvel = 1), "lvel")
  error(plot_interval(fit, data$z[1:2, ], rows = 0), "rows")
})

test_that("long names of classes stay readable: on several lines before they are shortened", {
  set.seed(2)
  names <- c("golden retriever", "Labrador retriever", "Chesapeake Bay retriever", "curly-coated retriever", "flat-coated retriever")
  y <- factor(names[sample(5, 100, TRUE)], levels = names)
  z <- matrix(stats::rnorm(500), 100, dimnames = list(NULL, names))
  z[cbind(1:100, as.integer(y))] <- z[cbind(1:100, as.integer(y))] + 2
  fit <- calib_temperature(z, y)
  labels <- function(plot) unname(plot$scales$get_scales("y")$labels)
  four <- labels(plot_interval(fit, z[1:4, ]))
  expect_true(all(gsub("\n", " ", four) %in% names))
  expect_true("Chesapeake Bay\nretriever" %in% four)
  nine <- plot_interval(fit, z[1:9, ], rows = 9)
  expect_no_match(labels(nine), "...", fixed = TRUE)
  expect_lt(as.numeric(nine$theme$axis.text.y$size), 1)
  # one word that is too long is cut as before
  names[1] <- strrep("x", 40)
  levels(y) <- colnames(z) <- names
  expect_match(labels(plot_interval(calib_temperature(z, y), z[1:9, ], rows = 9, classes = 5)), "xx...xx", fixed = TRUE, all = FALSE)
})

test_that("the caption explains triangles only where there are some", {
  caption <- function(plot) gsub("\n", " ", plot$labels$caption)
  p <- c(0.1, 0.2, 0.7, 0.9)[rep(1:4, 25)]
  pair <- calib_platt(p, rep(c(0, 0, 1, 1, 1), 20))
  expect_match(caption(plot_interval(pair, p[1:3], c(0, 0, 1))), "Triangles: rows of \"1\".", fixed = TRUE)
  none <- caption(plot_interval(pair, p[1:3], c(0, 0, 0)))
  expect_match(none, "None of these rows is of \"1\".", fixed = TRUE)
  expect_no_match(none, "Triangles")
  expect_no_match(caption(plot_interval(pair, p[1:3])), "Triangles|None")
  z <- diag(3)[rep(1:3, 30), ] + 0.1 * (1:90 %% 7)
  many <- calib_temperature(z, rep(c(1:3, 1:3, 2, 3, 1), 10), input = "logits")
  expect_match(caption(plot_interval(many, z[1:3, ], 1:3)), "Triangles: the true class.")
  expect_match(caption(plot_interval(many, z[1:3, ], c(2, 3, 1), classes = 1)), "The true classes are not among those drawn.")
})

test_that("raw probabilities are hollow circles, or stand in brackets", {
  set.seed(3)
  plot <- plot_interval(fit, data$z[1:3, ], n_draws = 50)
  raw <- oracle_softmax(data$z[1:3, ])
  expect_equal(plot$data$raw, raw[cbind(as.integer(plot$data$row), match(plot$data$class, colnames(data$z)))])
  hollow <- ggplot2::ggplot_build(plot)$data[[3]]
  expect_equal(sort(hollow$x), sort(plot$data$raw))
  expect_match(attr(plot$labels$caption, "words"), "Hollow circles: raw probabilities.", fixed = TRUE)
  p <- c(0.1, 0.2, 0.7, 0.9)[rep(1:4, 25)]
  pair <- calib_platt(p, rep(c(0, 0, 1, 1, 1), 20))
  plain <- plot_interval(pair, p[1:3])
  expect_length(plain$layers, 2)
  expect_match(attr(plain$labels$caption, "words"), "In brackets: raw probabilities.", fixed = TRUE)
  named <- plot_interval(pair, c(a = 0.1, b = 0.2))
  expect_equal(ggplot2::ggplot_build(named)$data[[3]]$x, c(0.1, 0.2))
})

test_that("raw probabilities in brackets are 0 and 1 only where they are, and points of many rows smaller", {
  expect_identical(say_raw(c(0, 3e-6, 1e-4, 0.01642, 0.7059, 0.9962, 0.999999, 1)), c("0", "<.0001", "0.0001", "0.016", "0.71", "0.996", ">.9999", "1"))
  fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
  size <- function(rows) {
    layers <- plot_interval(fit, rain_nyc$prob, rain_nyc$rain, rows = rows, base_size = 11)$layers
    Filter(function(layer) inherits(layer$geom, "GeomPoint"), layers)[[1]]$aes_params$size
  }
  expect_lt(size(60), 0.7 * size(20))
})

test_that("a fifth and a sixth row are drawn, too, and of more the first four", {
  fit <- suppressWarnings(calib_gp(unname(letters_nn$cal$scores[1:300, 1:5]), max.col(letters_nn$cal$scores[1:300, 1:5]), integrate = FALSE))
  drawn <- function(n, ...) {
    plot <- suppressWarnings(plot_interval(fit, unname(letters_nn$test$scores[seq_len(n), 1:5]), n_draws = 20, ...))
    nrow(unique(ggplot2::ggplot_build(plot)$layout$layout["PANEL"]))
  }
  expect_identical(vapply(c(3, 5, 6, 7), drawn, 0L), c(3L, 5L, 6L, 4L))
  expect_identical(drawn(6, base_size = 7), 4L)
  expect_identical(drawn(6, rows = 2), 2L)
})
