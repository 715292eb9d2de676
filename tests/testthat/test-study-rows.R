# What a study keeps of single rows.

test_that("losses of rows have the metrics as their means", {
  set.seed(1)
  for (K in 2:3) {
    set <- random_forecast(60, K)
    labels <- factor(set$labels, levels = seq_len(K))
    for (spec in list("log_loss", list("log_loss", eps = .01), "brier_score",
      list("brier_score", type = "multiclass"), "class_accuracy")) {
      metric <- check_metrics(list(spec))[[1]]
      expect_equal(mean(losses_of(metric, set$probs, labels)),
        do.call(metric$fun, c(list(set$probs, labels), metric$args)))
    }
  }
  expect_null(losses_of(check_metrics("ece")[[1]], set$probs, labels))
})

test_that("the covariance is that of the rows' averages, written out", {
  set.seed(2)
  n <- 30
  scores <- plogis(rnorm(n))
  labels <- factor(rbinom(n, 1, scores), levels = 0:1)
  splits <- lapply(1:5, function(i) sort(sample(n, 15)))
  w <- rexp(n)
  groups <- rep(1:10, 3)
  square <- function(scores, labels, ...) function(newdata) cbind(1 - newdata[, 2]^2, newdata[, 2]^2)
  for (case in list(list(NULL, NULL), list(w, NULL), list(NULL, groups))) {
    study <- suppressWarnings(calib_study(scores, labels, list("none", square), splits = splits,
      metrics = "brier_score", weights = case[[1]], groups = case[[2]]))
    loss <- cbind((scores - (labels == 1))^2, (scores^2 - (labels == 1))^2)
    weight <- if (is.null(case[[1]])) rep(1, n) else case[[1]]
    tested <- which(vapply(seq_len(n), function(i) any(!vapply(splits, function(s) i %in% s, NA)), NA))
    weight <- weight[tested]
    apart <- loss[tested, 1] - loss[tested, 2]
    u <- weight * (apart - sum(weight * apart) / sum(weight))
    if (!is.null(case[[2]])) u <- rowsum(u, groups[tested])
    got <- attr(study, "rows")$data$brier_score
    expect_equal(got[1, 1] + got[2, 2] - 2 * got[1, 2], sum(u^2) / sum(weight)^2)
    table <- summary(study)
    values <- tapply(study$value, study$split, diff)
    expect_equal(table$diff.error[2], sqrt(sum(u^2) / sum(weight)^2 + var(values) / 5), ignore_attr = TRUE)
  }
  expect_lt(object.size(attr(study, "rows")), 5000)
})

test_that("by measures the rows of each value, with fits to all", {
  set.seed(3)
  study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "platt"), n_cal = 300, splits = 3,
    metrics = c("ece", "brier_score"), by = rain_nyc$origin)
  expect_identical(levels(study$data), levels(factor(rain_nyc$origin)))
  expect_identical(nrow(study), 3L * 3L * 2L * 2L)
  set.seed(3)
  whole <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "platt"), n_cal = 300, splits = 3,
    metrics = c("ece", "brier_score"))
  for (method in c("none", "platt")) {
    rows <- study[study$method == method & study$metric == "brier_score" & study$split == 1, ]
    expect_equal(sum(rows$value * rows$n_test) / sum(rows$n_test),
      whole$value[whole$method == method & whole$metric == "brier_score" & whole$split == 1])
  }
  expect_output(print(study), "EWR")
  two <- calib_study(list(a = rain_nyc$prob, b = rain_nyc$prob), list(rain_nyc$rain, rain_nyc$rain), "none",
    splits = 2, metrics = "brier_score", by = list(rain_nyc$origin, rep(1:2, length.out = nrow(rain_nyc))))
  expect_identical(levels(two$data), c(paste0("a: ", levels(factor(rain_nyc$origin))), "b: 1", "b: 2"))
  expect_error(calib_study(rain_nyc$prob, rain_nyc$rain, "none", by = 1:3), "`by`", class = "gpcalib_error_input")
  expect_error(calib_study(rain_nyc$prob, rain_nyc$rain, "none",
    metrics = list(list("ece", higher = TRUE, target = 1))), "`metrics`", class = "gpcalib_error_input")
})
