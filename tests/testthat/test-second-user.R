# What a reader of the README stumbled over: calls that other packages teach, and prints that left a question open.

rain <- rain_nyc[1:600, ]
few <- suppressWarnings(calib_platt(rain$prob, rain$rain))

test_that("words of other packages get a hint", {
  fit <- calib_temperature(rain$prob, rain$rain)
  gp <- suppressWarnings(calib_gp(rain$prob, rain$rain))
  for (object in list(fit, gp)) {
    expect_error(predict(object, 0.3, interval = "confidence"), "type = \"interval\"", class = "gpcalib_error_input")
    expect_error(predict(object, 0.3, se.fit = TRUE), "type = \"interval\"", class = "gpcalib_error_input")
    expect_error(predict(object, 0.3, type = "response"), "type = \"prob\"", class = "gpcalib_error_input")
  }
  expect_error(augment(fit, rain, rain$prob), "exchanged", class = "gpcalib_error_input")
  expect_error(ece(list(rain$prob, rain$prob), rain$rain), "These take several: calib_metrics()", fixed = TRUE, class = "gpcalib_error_input")
  expect_error(calib_monitor(rain$prob, rain$rain, time = rain$time), "given by `period`", class = "gpcalib_error_input")
  patients <- data.frame(age = c(40, 50), size = c(170, 180), weight = c(60, 70))
  expect_error(predict(fit, patients), "predictions of the classifier, not its predictors", class = "gpcalib_error_input")
  cal <- letters_nn$cal
  temperature <- calib_temperature(cal$scores, cal$labels)
  expect_error(plot_map(list(iso = calib_histogram(cal$scores, cal$labels), temp = temperature)), "x\\[\\[\"temp\"\\]\\].*plot_latent",
    class = "gpcalib_error_input")
})

test_that("probabilities are refused by a fit of logits that is updated", {
  cal <- letters_nn$cal
  fit <- calib_temperature(cal$scores, cal$labels)
  p <- exp(cal$scores[1:50, ]) / rowSums(exp(cal$scores[1:50, ]))
  expect_error(suppressWarnings(update(fit, p, cal$labels[1:50])), "looks like probabilities", class = "gpcalib_error_input")
})

test_that("pictures take the singular, and one period draws without a message", {
  m <- calib_monitor(pmax(rain$prob, 0.005), rain$rain, period = "all")
  for (type in c("evidence", "score", "reliability")) {
    expect_no_message(expect_no_warning(ggplot2::ggplotGrob(autoplot(m, type))))
  }
  gp <- suppressWarnings(calib_gp(rain$prob, rain$rain, class_effects = "offset"))
  expect_s3_class(autoplot(gp, "offset"), "ggplot")
})

test_that("print() says what an update leaves unknown, and scores outside get a remedy", {
  more <- update(few, rain$prob[1:50], rain$rain[1:50])
  expect_output(print(more), "are not computed after update")
  expect_no_match(capture.output(print(few)), "are not computed after update")
  gp <- suppressWarnings(calib_gp(runif(200, 0.4, 0.6), rep(0:1, 100)))
  expect_warning(predict(gp, c(0, 0.5, 1)), "exactly 0 or 1.*calibrate with rows that cover this range", class = "gpcalib_warning_extrapolation")
})

test_that("a study explains its infinities, its warnings and few rows", {
  set.seed(1)
  study <- suppressWarnings(calib_study(rain$prob, rain$rain, c("none", "isotonic", "gp"), splits = 3, n_cal = 60,
    metrics = "log_loss"))
  said <- paste(capture.output(print(study)), collapse = "\n")
  expect_match(said, "few rows: with fewer than 100")
  if (any(summary(study)$infinite > 0)) expect_match(said, "infinite in . of 3 splits, where a class of probability 0 occurred")
  if (any(attr(study, "conditions")$kind == "warning")) expect_match(said, "  from [a-z]+ \\([0-9]\\).*: \"[A-Z]")
})

test_that("intervals of rare events use the picture, and its end is said", {
  rare <- calib_temperature(rain$prob, rain$rain)
  plot <- plot_interval(rare, c(0.01, 0.05))
  ends <- plot$scales$get_scales("x")$limits
  expect_true(ends[1] == 0 && ends[2] < 1 && ends[2] >= max(plot$data$conf.high))
  expect_match(plot$labels$caption, "confidence intervals")
  expect_match(gsub("\n", " ", plot$labels$caption), paste0("axis shows 0 to ", say_plain(ends[2]), " only"))
  expect_identical(plot_interval(rare, c(0.01, 0.9))$scales$get_scales("x")$limits, c(0, 1))
})

test_that("one method far off does not press the others together: an arrow stands for it, and the caption says so", {
  study <- expand.grid(data = factor("one"), split = 1:4, method = factor(c("a", "b", "c", "bad")), metric = factor("loss"))
  study$value <- c(a = 0.5, b = 0.52, c = 0.51, bad = 9)[as.character(study$method)] + study$split / 100
  study[c("fit_time", "predict_time", "n_cal", "n_test", "error")] <- list(0.01, 0.01, 200L, 200L, NA_character_)
  study <- structure(study, higher = c(loss = FALSE), target = c(loss = NA_real_),
    conditions = data.frame(kind = character()), class = c("calib_study", "data.frame"))
  plot <- autoplot(study, std_error = "splits")
  expect_lt(max(plot$data$value), 1)
  expect_match(gsub("\n", " ", plot$labels$caption), "Arrows: beyond the panel")
  drawn <- ggplot2::ggplot_build(plot)$data
  expect_true(any(vapply(drawn, function(layer) any(layer$label %in% "9.02"), NA)))
  study$value[study$method == "bad"] <- 0.55
  near <- autoplot(study, std_error = "splits")
  expect_equal(nrow(near$data), 16)
  expect_no_match(near$labels$caption, "Arrows")
})
