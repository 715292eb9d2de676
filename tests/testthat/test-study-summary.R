# Tables and pictures of a study, on values chosen by hand.

hand_study <- function() {
  value <- list(none = c(.50, .52, .54, .56), good = c(.40, .44, .42, .42), near = c(.42, .44, .42, .41),
    broken = c(.1, .1, NA, .1))
  table <- expand.grid(method = names(value), split = 1:4, metric = c("loss", "gain"), data = c("one", "two"),
    stringsAsFactors = TRUE)
  table$value <- mapply(function(method, split) value[[method]][split], as.character(table$method),
    table$split)
  table$value <- table$value + (table$data == "two") / 10
  study <- data.frame(data = table$data, split = table$split, method = table$method,
    metric = table$metric, value = unname(table$value), fit_time = .012, predict_time = 1.5, n_cal = 100L,
    n_test = 300L, error = ifelse(is.na(table$value), "sad", NA))
  structure(study, higher = c(loss = FALSE, gain = TRUE), class = c("calib_study", "data.frame"),
    conditions = data.frame(kind = c("error", "warning", "warning")))
}

test_that("means, spreads and paired differences are those worked by hand", {
  table <- summary(hand_study())
  expect_identical(attr(table, "reference"), "none")
  expect_identical(nrow(table), 16L)
  row <- function(method) table[table$data == "one" & table$metric == "loss" & table$method == method, ]
  good <- row("good")
  expect_equal(good$mean, .42)
  expect_equal(good$sd, sqrt((.02^2 + .02^2) / 3))
  expect_equal(good$std.error, good$sd / 2)
  expect_equal(good$difference, -.11)
  expect_equal(good$diff.error, sd(c(-.10, -.08, -.12, -.14)) / 2)
  expect_identical(c(good$splits, good$failed), c(4L, 0L))
  broken <- row("broken")
  expect_identical(c(broken$splits, broken$failed), c(3L, 1L))
  expect_equal(broken$mean, .1)
  expect_equal(broken$difference, mean(c(-.40, -.42, -.46))) # the splits in which both went well
  expect_true(is.na(row("none")$difference))
  expect_equal(row("none")$fit_time, .012)
})

test_that("another reference, another standard error", {
  study <- hand_study()
  table <- summary(study, reference = "good", std_error = "corrected")
  near <- table[table$data == "one" & table$metric == "loss" & table$method == "near", ]
  expect_equal(near$difference, mean(c(.02, 0, 0, -.01)))
  expect_equal(near$diff.error, sd(c(.02, 0, 0, -.01)) * sqrt(1 / 4 + 3))
  expect_equal(near$std.error, sd(c(.42, .44, .42, .41)) * sqrt(1 / 4 + 3))
  expect_error(summary(study, reference = "gp"), class = "gpcalib_error_input")
  without <- study[study$method != "none", ]
  expect_identical(attr(summary(without), "reference"), "good")
})

test_that("the best within one standard error are marked, failures are not", {
  table <- summary(hand_study())
  best <- function(metric) {
    as.character(table$method[table$best & table$metric == metric & table$data == "two"])
  }
  # .42 is best; its s.e. is .0082, and .4225 lies within
  expect_identical(best("loss"), c("good", "near"))
  expect_identical(best("gain"), "none")
  one <- hand_study()
  one <- summary(one[one$split == 1, ])
  expect_identical(as.character(one$method[one$best & one$metric == "loss" & one$data == "one"]), "broken")
  expect_true(all(is.na(one$std.error)))
})

test_that("infinite and undefined values are carried along", {
  study <- hand_study()
  study$value[study$method == "none"] <- Inf
  study$value[study$method == "near"] <- NaN
  table <- summary(study)
  expect_true(all(table$mean[table$method == "none"] == Inf))
  expect_identical(unique(as.character(table$method[table$best])), "good")
  expect_output(print(study), "Inf")
})

test_that("studies print as tables", {
  study <- hand_study()
  expect_snapshot(print(study))
  expect_snapshot(print(study[study$data == "one", ], digits = 3))
  expect_snapshot(print(summary(study[study$metric == "loss", ], reference = "good")))
  fine <- study[study$method != "broken" & study$data == "one" & study$split == 1, ]
  attr(fine, "conditions") <- attr(fine, "conditions")[0, , drop = FALSE]
  expect_snapshot(print(fine))
  expect_snapshot(print(summary(fine, std_error = "corrected")))
})

# Pictures --------------------------------------------------------------------------------

test_that("points and bars are those of the tables", {
  study <- hand_study()
  layers <- ggplot2::ggplot_build(autoplot(study, metrics = "loss", data = "one"))$data
  rows <- study[study$metric == "loss" & study$data == "one" & is.na(study$error), ]
  expect_equal(sort(layers[[1]]$x), sort(rows$value))
  table <- summary(study)
  table <- table[table$metric == "loss" & table$data == "one", ]
  expect_equal(layers[[2]]$xmin, table$mean - table$std.error)
  expect_equal(layers[[2]]$xmax, table$mean + table$std.error)
  expect_equal(layers[[3]]$x, table$mean)
  expect_equal(as.integer(layers[[3]]$y), 4:1) # the first method on top
})

test_that("differences are drawn to their reference", {
  study <- hand_study()
  plot <- autoplot(study, reference = "good", metrics = "loss", data = "one")
  layers <- ggplot2::ggplot_build(plot)$data
  expect_identical(layers[[1]]$xintercept, 0)
  near <- layers[[2]]$x[layers[[2]]$y == 2]
  expect_equal(sort(near), sort(c(.02, 0, 0, -.01)))
  table <- summary(study, "good")
  table <- table[table$metric == "loss" & table$data == "one" & table$method != "good", ]
  expect_equal(layers[[4]]$x, table$difference)
  expect_match(plot$labels$title, "\"good\"")
})

test_that("every kind of study can be drawn", {
  study <- hand_study()
  study$value[1] <- Inf
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(drawn <- plot(study))
  expect_identical(drawn, study)
  expect_match(autoplot(study)$labels$caption, "1 infinite")
  expect_silent(print(autoplot(study, data = "two", std_error = "corrected")))
  expect_silent(print(autoplot(study, reference = "none", metrics = "gain")))
  expect_silent(print(autoplot(study[study$split == 1, ])))
  study$value <- NA_real_
  study$error <- "sad"
  expect_error(autoplot(study), "nothing to draw", class = "gpcalib_error_input")
  expect_error(autoplot(hand_study(), metrics = "x"), class = "gpcalib_error_input")
  # A method that always failed keeps its place
  bad <- hand_study()
  bad$error[bad$method == "good"] <- "sad"
  built <- ggplot2::ggplot_build(autoplot(bad, metrics = "loss"))
  expect_true("good" %in% built$layout$panel_scales_y[[1]]$get_limits())
})
