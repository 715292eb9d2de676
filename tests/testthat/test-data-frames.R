# Columns of data frames in place of matrices and vectors.

frame_of <- function(n = 120, k = 3, seed = 1) {
  set.seed(seed)
  set <- random_forecast(n, k)
  classes <- c("a", "b", "c")[seq_len(k)]
  data <- as.data.frame(set$probs)
  names(data) <- paste0(".pred_", classes)
  data <- data[rev(seq_len(k))]
  data$.pred_class <- factor(classes[max.col(set$probs)], levels = classes)
  data$y <- factor(classes[set$labels], levels = classes)
  data$site <- rep(c("u", "v"), length.out = n)
  data$w <- runif(n)
  list(data = data, probs = set$probs, labels = data$y)
}

test_that("fits to columns are those to matrices", {
  d <- frame_of()
  for (method in c("temperature", "platt", "calib_isotonic")) {
    fit <- calib_fit(d$data, y, method = method)
    plain <- get(paste0("calib_", sub("calib_", "", method)))(d$probs, d$labels)
    expect_equal(predict(fit, d$data), predict(plain, d$probs), ignore_attr = TRUE)
    expect_identical(colnames(predict(fit, d$data)), c("a", "b", "c"))
  }
  expect_equal(coef(calib_fit(d$data, y, starts_with(".pred_"), "temperature", weights = w)),
    coef(calib_temperature(d$probs, d$labels, weights = d$data$w)))
  expect_equal(coef(calib_fit(d$data, "y", c(.pred_a, .pred_b, ".pred_c"), "temperature")),
    coef(calib_temperature(d$probs, d$labels)))
  two <- frame_of(k = 2)
  two$data$score <- two$probs[, 2]
  fit <- calib_fit(two$data, y, score, "platt")
  expect_identical(fit$columns, "score")
  other <- two$data[c("site", "score")]
  expect_equal(predict(fit, other), predict(calib_platt(two$probs[, 2], two$labels), two$probs[, 2]),
    ignore_attr = TRUE)
  expect_equal(nrow(augment(fit, other)), 120)
  expect_identical(check_object(unserialize(serialize(fit, NULL))), fit)
  expect_output(print(summary(fit)), "calib_fit")
})

test_that("predict() finds its own columns", {
  d <- frame_of()
  fit <- calib_temperature(d$probs, d$labels)
  named <- setNames(as.data.frame(d$probs), c("a", "b", "c"))
  want <- predict(fit, d$probs)
  expect_equal(predict(fit, d$data), want, ignore_attr = TRUE)
  expect_equal(predict(fit, cbind(site = d$data$site, named[3:1])), want, ignore_attr = TRUE)
  expect_error(predict(fit, d$data[c("site", "w")]), class = "gpcalib_error_input")
})

test_that("measures, tables and validation take columns", {
  d <- frame_of()
  expect_equal(calib_metrics(d$data, truth = y), calib_metrics(d$probs, d$labels))
  expect_equal(calib_metrics(d$data, truth = y, by = site, weights = w),
    calib_metrics(d$probs, d$labels, by = d$data$site, weights = d$data$w))
  expect_equal(as.data.frame(reliability_table(d$data, truth = y, estimate = starts_with(".pred"))),
    as.data.frame(reliability_table(d$probs, d$labels)))
  expect_equal(calib_validate(d$data, truth = y, event = "b", conf_level = NULL)$estimate,
    calib_validate(d$probs, d$labels, event = "b", conf_level = NULL)$estimate)
  inner <- function(frame) calib_metrics(frame, truth = "y", conf_level = NULL)
  expect_equal(inner(d$data), calib_metrics(d$probs, d$labels))
})

test_that("what cannot be read is named", {
  d <- frame_of()
  error <- function(code, about) expect_error(code, paste0("^`", about), class = "gpcalib_error_input")
  error(calib_fit(d$data, nobody, method = "platt"), "truth")
  error(calib_fit(d$data, c(y, site), method = "platt"), "truth")
  error(calib_fit(d$data, y, nobody, "platt"), "estimate")
  error(calib_fit(d$data, y, starts_with("x"), "platt"), "estimate")
  error(calib_fit(d$data, y, y, "platt"), "estimate")
  error(calib_fit(d$data, y, method = "logistic"), "method")
  error(calib_fit(d$probs, y), "data")
  error(calib_fit(d$data), "truth")
  error(calib_metrics(d$probs, truth = y), "probs")
  error(calib_metrics(d$data, d$labels, truth = y), "labels")
  error(augment(calib_isotonic(d$probs, d$labels), d$data, interval = TRUE), "interval")
  error(augment(calib_isotonic(d$probs, d$labels), d$data, interval = NA), "interval")
})

test_that("without tidyselect names, strings, c() and starts_with() do", {
  names <- c("y", "p1", "p2", "q")
  at <- environment()
  pick <- "p2"
  expect_identical(plain_select(quote(y), names, at), "y")
  expect_identical(plain_select("y", names, at), "y")
  expect_identical(plain_select(quote(c(p1, "q")), names, at), c("p1", "q"))
  expect_identical(plain_select(quote(starts_with("p")), names, at), c("p1", "p2"))
  expect_identical(plain_select(quote(pick), names, at), "p2")
  expect_identical(plain_select(quote(2:3), names, at), c("p1", "p2"))
})

test_that("intervals are added where a method has them", {
  fit <- calib_gp(rain_nyc$prob[1:300], rain_nyc$rain[1:300])
  data <- data.frame(id = 1:3, rain = rain_nyc$prob[c(1, 50, 200)])
  set.seed(1)
  out <- augment(fit, data, interval = TRUE, level = .8)
  set.seed(1)
  ends <- predict(fit, data$rain, type = "interval", level = .8)
  expect_equal(out$.pred_lower_rain, unname(ends[, 2, 2]))
  expect_equal(out$.pred_upper_dry, unname(ends[, 1, 3]))
})

test_that("measures become yardstick's", {
  skip_if_not_installed("yardstick")
  d <- frame_of(k = 3)
  metric <- as_yardstick(ece, bins = 10)
  got <- metric(d$data, y, .pred_a, .pred_b, .pred_c)
  expect_equal(got$.estimate, ece(d$probs, d$labels, bins = 10))
  expect_identical(got$.metric, "ece")
  weighted <- as_yardstick("log_loss")(d$data, y, .pred_a, .pred_b, .pred_c, case_weights = w)
  expect_equal(weighted$.estimate, log_loss(d$probs, d$labels, weights = d$data$w))
  two <- frame_of(k = 2)
  mine <- as_yardstick(brier_score, name = "mine")
  set <- yardstick::metric_set(mine, yardstick::brier_class, yardstick::mn_log_loss)
  out <- set(two$data, truth = y, .pred_a)
  expect_equal(out$.estimate[out$.metric == "mine"], out$.estimate[out$.metric == "brier_class"])
  expect_equal(out$.estimate[out$.metric == "mn_log_loss"], log_loss(two$probs, two$labels))
  second <- as_yardstick(ece)(two$data, y, .pred_b, event_level = "second")
  expect_equal(second$.estimate, ece(two$probs, two$labels))
  first <- as_yardstick(ece)(two$data, y, .pred_a)
  expect_equal(first$.estimate, ece(two$probs, two$labels, event_level = "first"))
  # Ours is twice theirs for more than two classes.
  expect_equal(brier_score(d$probs, d$labels),
    2 * yardstick::brier_class(d$data, y, .pred_a, .pred_b, .pred_c)$.estimate)
  expect_identical(attr(as_yardstick(class_accuracy), "direction"), "maximize")
  expect_error(as_yardstick("nothing"), class = "gpcalib_error_input")
})
