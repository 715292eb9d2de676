# Tables and pictures of a study, on values chosen by hand.

hand_study <- function(n_test = 300L) {
  value <- list(none = c(.50, .52, .54, .56), good = c(.40, .44, .42, .42), near = c(.42, .44, .42, .41),
    broken = c(.1, .1, NA, .1))
  table <- expand.grid(method = names(value), split = 1:4, metric = c("loss", "gain"), data = c("one", "two"),
    stringsAsFactors = TRUE)
  table$value <- mapply(function(method, split) value[[method]][split], as.character(table$method),
    table$split)
  table$value <- table$value + (table$data == "two") / 10
  study <- data.frame(data = table$data, split = table$split, method = table$method,
    metric = table$metric, value = unname(table$value), fit_time = .012, predict_time = 1.5, n_cal = 100L,
    n_test = n_test, error = ifelse(is.na(table$value), "sad", NA))
  structure(study, higher = c(loss = FALSE, gain = TRUE), class = c("calib_study", "data.frame"),
    conditions = data.frame(kind = c("error", "warning", "warning")))
}

test_that("means, spreads and paired differences are those worked by hand", {
  table <- summary(hand_study(), std_error = "splits")
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

test_that("those close to the best by their paired difference are marked, failures are not", {
  table <- summary(hand_study(), std_error = "splits")
  best <- function(metric) {
    as.character(table$method[table$best & table$metric == metric & table$data == "two"])
  }
  # .42 is best; .4225 is .0025 from it, with an s.e. of .0063; .53 is .11 away, with one of .013
  expect_identical(best("loss"), c("good", "near"))
  expect_identical(best("gain"), "none")
  one <- hand_study()
  one <- summary(one[one$split == 1, ])
  expect_identical(as.character(one$method[one$best & one$metric == "loss" & one$data == "one"]), "broken")
  expect_true(all(is.na(one$std.error)))
})

test_that("with rows, means have the error of the rows and of the splits, others the corrected one", {
  study <- hand_study()
  known <- matrix(c(4, 1, 1, 0, 1, 9, 8, 0, 1, 8, 9, 0, 0, 0, 0, 1), 4) * 1e-5
  dimnames(known) <- list(levels(study$method), levels(study$method))
  attr(study, "rows") <- list(one = list(loss = known))
  table <- summary(study, reference = "good")
  row <- function(method, metric = "loss", data = "one") {
    table[table$data == data & table$metric == metric & table$method == method, ]
  }
  expect_equal(row("good")$std.error, sqrt(9e-5 + var(c(.40, .44, .42, .42)) / 4))
  expect_equal(row("near")$diff.error, sqrt((9 + 9 - 16) * 1e-5 + var(c(.02, 0, 0, -.01)) / 4))
  expect_equal(row("near", "gain")$diff.error, sd(c(.02, 0, 0, -.01)) * sqrt(1 / 4 + 3))
  # One split: the rows still tell.
  one <- summary(study[study$split == 1, ])
  expect_equal(one$std.error[one$data == "one" & one$metric == "loss"], sqrt(diag(known)), ignore_attr = TRUE)
})

test_that("metrics can have a target, and the nearest is the best", {
  study <- hand_study(200L)
  attr(study, "target") <- c(loss = NA, gain = .53)
  attr(study, "higher") <- c(loss = FALSE, gain = FALSE)
  table <- summary(study, std_error = "splits")
  expect_identical(as.character(table$method[table$best & table$metric == "gain" & table$data == "one"]), "none")
  expect_output(print(study), "smaller is better,\\s+nearest to 0.53 for gain")
  expect_identical(say_directions(c(a = TRUE, b = TRUE)), "larger is better")
  expect_match(gsub("\\s+", " ", autoplot(study)$labels$caption), "nearest to 0.53")
})

test_that("infinite and undefined values are carried along", {
  study <- hand_study()
  study$value[study$method == "none"] <- Inf
  study$value[study$method == "near"] <- NaN
  table <- summary(study)
  expect_true(all(table$mean[table$method == "none"] == Inf))
  expect_identical(unique(as.character(table$method[table$best])), "good")
  expect_output(print(study), "Inf 4/4")
  study <- hand_study()
  study$value[study$method == "none" & study$split > 1] <- Inf
  expect_output(print(study), "Inf 3/4")
  expect_output(print(summary(study)), "Inf 3/4")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  labels <- ggplot2::ggplot_build(autoplot(study))$data[[4]]$label
  expect_identical(labels, rep(c("Inf 3/4", "failed 1/4"), 4))
})

test_that("studies print as tables", {
  study <- hand_study(200L)
  expect_snapshot(print(study))
  expect_snapshot(print(study[study$data == "one", ], digits = 3))
  expect_snapshot(print(summary(study[study$metric == "loss", ], reference = "good")))
  study <- hand_study()
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
  expect_equal(sort(layers[[2]]$x), sort(rows$value))
  table <- summary(study)
  table <- table[table$metric == "loss" & table$data == "one", ]
  expect_equal(layers[[1]]$xmin, table$mean - table$std.error)
  expect_equal(layers[[1]]$xmax, table$mean + table$std.error)
  expect_equal(layers[[3]]$x, table$mean)
  expect_equal(as.integer(layers[[3]]$y), c(2, 4, 3, 1)) # the best method on top
})

test_that("differences are drawn to their reference", {
  study <- hand_study()
  plot <- autoplot(study, reference = "good", metrics = "loss", data = "one")
  layers <- ggplot2::ggplot_build(plot)$data
  expect_identical(layers[[1]]$xintercept, 0)
  near <- layers[[3]]$x[layers[[3]]$y == 3]
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
  expect_match(gsub("\n", " ", autoplot(study)$labels$caption), "1 infinite or undefined value not drawn")
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

test_that("pictures of a study say which fits failed", {
  never <- function(scores, labels, ...) stop("never")
  study <- suppressWarnings(calib_study(rain_nyc$prob, rain_nyc$rain, list("platt", never = never), splits = 2, n_cal = 300,
    metrics = "brier_score"), classes = "gpcalib_warning")
  plot <- autoplot(study)
  labels <- unlist(lapply(plot$layers, function(layer) if (inherits(layer$geom, c("GeomText", "GeomLabel"))) layer$data$label))
  expect_equal(labels, "failed 2/2")
})

test_that("pictures show failures, and keep panels in which the reference has no value", {
  study <- hand_study()
  expect_match(gsub("\n", " ", autoplot(study)$labels$caption), "4 values missing because a fit failed")
  study$error[study$method == "good"] <- "sad"
  marks <- ggplot2::ggplot_build(autoplot(study, metrics = "loss", data = "one"))$data[[4]]
  expect_setequal(marks$label, c("failed 4/4", "failed 1/4"))
  # The reference fails on one set and is infinite in another
  study <- hand_study()
  study$error[study$method == "good" & study$data == "two"] <- "sad"
  plot <- autoplot(study, reference = "good", metrics = "loss")
  built <- ggplot2::ggplot_build(plot)
  expect_identical(as.character(built$layout$layout$data), c("one", "two"))
  words <- built$data[[length(built$data)]]
  expect_identical(words$label, "reference failed")
  expect_match(gsub("\n", " ", plot$labels$caption), "11 values without a finite value of good")
  expect_length(built$layout$panel_params[[2]]$x$get_labels(), 0)
  study <- hand_study()
  study$value[study$method == "good" & study$data == "two"] <- Inf
  built <- ggplot2::ggplot_build(autoplot(study, reference = "good", metrics = "loss"))
  expect_identical(built$data[[length(built$data)]]$label, "reference infinite")
  expect_match(gsub("\n", " ", autoplot(hand_study(), reference = "good")$labels$caption), "left of 0, for gain right")
})

test_that("titles of data set and metric stand on two lines where one is too short", {
  titles <- function(names) {
    study <- calib_study(stats::setNames(list(rain_nyc$prob, rain_nyc$prob), names), list(rain_nyc$rain, rain_nyc$rain), "none",
      splits = 2, metrics = c("ece", "brier_score", "class_accuracy"))
    built <- ggplot2::ggplot_build(autoplot(study, base_size = 11))
    study_titles <- built$layout$facet$params$labeller
    unlist(study_titles(data.frame(data = names, metric = "class_accuracy")))
  }
  expect_equal(titles(c("One", "Two")), c("One, class accuracy", "Two, class accuracy"))
  long <- titles(c("Rain in New York City", "Rain in another city"))
  expect_equal(long[1], "Rain in New York City,\nclass accuracy")
  expect_true(all(nchar(unlist(strsplit(long, "\n"))) <= 26))
})

test_that("a noisy method with a star and a worse mean than one without is explained", {
  study <- hand_study(200L)
  study <- study[study$data == "one" & study$metric == "loss" & study$method %in% c("none", "good", "near"), ]
  study$value <- c(none = 0, good = 0, near = 0)[as.character(study$method)]
  study$value[study$method == "good"] <- c(.40, .44, .42, .42)
  study$value[study$method == "near"] <- c(.50, .54, .52, .52) # always .1 worse
  study$value[study$method == "none"] <- c(.20, .94, .22, .88) # worse in the mean, but noisy
  table <- summary(study)
  expect_identical(table$best[match(c("none", "good", "near"), table$method)], c(TRUE, TRUE, FALSE))
  text <- paste(capture.output(print(study)), collapse = " ")
  expect_match(gsub(" +", " ", text), "For loss \"none\" has a star although the mean of \"near\", which has no star, is better: ")
  expect_output(print(table), "best, or less than two standard errors")
  expect_null(say_noisy(summary(hand_study())))
})

test_that("methods that failed or are infinite stand last, in the order of what they lack", {
  study <- hand_study()
  one <- study$data == "one" & study$metric == "loss"
  study$value[study$method == "good" & one] <- Inf # lacks four, broken one of every set
  study$error[study$method == "near" & one] <- "sad" # as many, and the better mean on the other set
  plot <- autoplot(study)
  expect_identical(rev(plot$scales$get_scales("y")$limits)[c(1, 2)], c("none", "broken"))
  study$value[study$method == "good" & study$data == "two" & study$metric == "loss"] <- 0.1
  expect_identical(methods_by_result(summary(study)), c("none", "broken", "good", "near"))
  study$value[study$method == "good" & study$data == "two" & study$metric == "loss"] <- 0.9
  expect_identical(methods_by_result(summary(study)), c("none", "broken", "near", "good"))
  expect_match(gsub("\\s+", " ", autoplot(study)$labels$caption), "Methods sorted by loss, those that failed or are infinite last.", fixed = TRUE)
})

test_that("captions say whose standard errors and how many points are drawn", {
  said <- function(...) gsub("\\s+", " ", autoplot(...)$labels$caption)
  study <- hand_study()
  fine <- study[study$method != "broken", ]
  attr(fine, "conditions") <- attr(fine, "conditions")[0, , drop = FALSE]
  expect_match(said(fine), "Points: 4 splits; tick: mean; bar: one standard error to either side (of the mean, not of differences).", fixed = TRUE)
  expect_match(said(fine), "Methods sorted by loss.", fixed = TRUE)
  expect_match(said(study), "Points: up to 4 splits;")
  less <- study
  less$error[less$method == "good" & less$split == 2] <- "sad"
  less <- said(less, reference = "good")
  expect_match(less, "Points: up to 3 of 4 splits; tick: mean; bar: one standard error of the mean difference to either side")
  expect_no_match(less, "not of differences")
})

test_that("marks of failures hide no points, and a panel without the reference says that alone", {
  study <- hand_study()
  study$value[study$method == "good" & study$data == "two"] <- Inf
  plot <- autoplot(study, reference = "good", metrics = "loss", base_size = 7)
  label <- Filter(function(layer) inherits(layer$geom, "GeomLabel"), plot$layers)
  marks <- label[[1]]$data
  expect_identical(as.character(marks$data), "one")
  zero <- Filter(function(layer) inherits(layer$geom, "GeomVline"), plot$layers)[[1]]
  expect_identical(as.character(zero$data$data), "one")
  built <- ggplot2::ggplot_build(plot)
  words <- built$data[[length(built$data)]]
  expect_identical(c(words$x, words$y), c(0, 1.5))
  expect_false(any(vapply(plot$layers, function(layer) inherits(layer$geom, "GeomText"), NA)))
})

test_that("small pictures of many methods have their panels side by side", {
  means <- expand.grid(data = factor("one"), metric = factor(c("a", "b", "c", "d")), method = factor(1:8))
  expect_identical(study_panel_columns(means, 7), 4L)
  expect_identical(study_panel_columns(means, 9), 2L)
  expect_identical(study_panel_columns(means[means$method %in% 1:6, ], 7), 2L)
})

test_that("pictures list the methods in the order of the table", {
  plot <- autoplot(hand_study())
  expect_identical(rev(plot$scales$get_scales("y")$limits), c("good", "near", "none", "broken"))
  expect_match(gsub("\\s+", " ", plot$labels$caption), "Methods sorted by loss, those that failed or are infinite last")
  expect_identical(rev(autoplot(hand_study(), reference = "near", metrics = "gain")$scales$get_scales("y")$limits), c("none", "good", "broken"))
})

test_that("every panel of a study has two ticks or more", {
  for (limits in list(c(0.16, 0.24), c(0.832, 0.879), c(0.801, 0.899), c(-0.049, 0.049), c(1e-5, 9e-5), c(3, 3.0001))) {
    at <- study_breaks(limits)
    expect_gte(length(at), 2)
    expect_true(all(at >= limits[1] - 1e-12 & at <= limits[2] + 1e-12))
    expect_lte(length(at), 9)
  }
  expect_equal(study_breaks(c(0.826, 0.864), 3), c(0.83, 0.85))
  expect_length(study_breaks(c(-1, 1) * nothing / 4), 0) # a panel of words
  built <- ggplot2::ggplot_build(autoplot(hand_study()))
  ticks <- vapply(built$layout$panel_params, function(panel) sum(!is.na(panel$x$breaks)), 0L)
  expect_gte(min(ticks), 2)
})

test_that("stars that every method would have are not printed", {
  study <- hand_study(200L)
  study <- study[study$data == "one" & study$method %in% c("good", "near"), ]
  table <- summary(study)
  expect_true(all(table$best[table$metric == "loss"]))
  expect_identical(starless(table), c("loss", "gain"))
  text <- function(x) gsub("\\s+", " ", paste(capture.output(print(x)), collapse = " "))
  for (x in list(text(study), text(table))) {
    expect_match(x, "No stars for loss and gain: their standard errors (by the correction of Nadeau and Bengio) are so large that every method would have one.", fixed = TRUE)
    expect_no_match(x, "0.4225*", fixed = TRUE)
    expect_no_match(x, "near *", fixed = TRUE)
    expect_no_match(x, "many more test rows")
  }
  # errors that come from the rows, or a method without a star
  expect_length(starless(summary(study, std_error = "splits")), 0)
  expect_length(starless(summary(hand_study(200L))), 0)
})

test_that("corrected standard errors have no stars where there are many test rows", {
  table <- summary(hand_study())
  expect_identical(starless(table), c("loss", "gain"))
  expect_true(any(table$best)) # the column stays
  for (x in list(hand_study(), table)) {
    said <- gsub("\\s+", " ", paste(capture.output(print(x)), collapse = " "))
    expect_match(said, "No stars for loss and gain: their standard errors (by the correction of Nadeau and Bengio) are too large when there are many more test rows", fixed = TRUE)
    expect_no_match(said, "*", fixed = TRUE)
  }
  expect_length(starless(summary(hand_study(), std_error = "splits")), 0)
})

test_that("one method far off has an arrow, and the others the axis", {
  study <- hand_study()
  study <- study[study$data == "one" & study$metric == "loss" & is.na(study$error), ]
  arrows <- function(study) Filter(function(layer) inherits(layer$geom, "GeomSegment"), autoplot(study)$layers)
  study$value[study$method == "broken"] <- 0.3 + study$split[study$method == "broken"] / 100
  expect_length(arrows(study), 0) # the range of the others is 0.26
  study$value[study$method == "none"] <- 0.47 + study$split[study$method == "none"] / 1000
  expect_length(arrows(study), 0)
  study$value[study$method == "none"] <- 0.9 # 0.44 above, more than twice 0.13
  expect_equal(as.character(arrows(study)[[1]]$data$method), "none")
})

test_that("only panels in which words at the right edge would hide something have room for them", {
  study <- hand_study()
  study <- study[study$data == "one" & study$method != "broken", ]
  ends <- function(study) lapply(ggplot2::ggplot_build(autoplot(study))$layout$panel_params, function(panel) panel$x.range)
  plain <- ends(study)
  study$value[study$metric == "loss" & study$method == "near" & study$split == 2] <- Inf # its points lie left of the words
  expect_equal(ends(study), plain)
  study$value[study$metric == "loss" & study$method == "none" & study$split == 2] <- Inf # it has the highest points
  marked <- ends(study)
  expect_gt(marked[[1]][2], plain[[1]][2] + 0.1 * diff(plain[[1]]))
  expect_equal(marked[[2]], plain[[2]])
})

test_that("methods with the same values in every split are named", {
  # mirrored rows: no offset to find, and of two classes a matrix is a vector
  set.seed(5)
  z <- rnorm(300)
  y <- runif(300) < plogis(z / 2)
  p <- plogis(c(z, -z))
  y <- c(y, !y)
  mirrored <- lapply(1:2, function(i) c(outer(sample(300, 200), c(0, 300), `+`)))
  said <- function(x) gsub("\\s+", " ", paste(utils::capture.output(print(x)), collapse = " "))
  study <- calib_study(p, y, c("temperature", "vector", "matrix", "none"), splits = mirrored)
  note <- "\"temperature\", \"vector\" and \"matrix\" have the same values in every split: the ridge penalty made vector and matrix scaling temperature scaling."
  expect_match(said(study), note, fixed = TRUE)
  expect_match(said(summary(study)), note, fixed = TRUE)
  expect_no_match(said(study[study$method %in% c("none", "temperature"), ]), "same values")
  # shifted: vector and matrix are one method, and not temperature scaling
  shifted <- said(calib_study(plogis(qlogis(p) + 2), y, c("temperature", "vector", "matrix"), splits = mirrored))
  expect_match(shifted, "\"vector\" and \"matrix\" have the same values in every split.", fixed = TRUE)
  # temperature scaling never changes the accuracy, which says nothing about the methods
  expect_no_match(said(calib_study(p, y, c("none", "temperature"), splits = mirrored, metrics = "class_accuracy")), "same values")
})
