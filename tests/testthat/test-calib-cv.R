# Out-of-fold calibration.

set <- with_seed(1, {
  x <- matrix(stats::rnorm(240 * 3), 240, dimnames = list(NULL, c("u", "v", "w")))
  y <- factor(ifelse(stats::runif(240) < stats::plogis(1.5 * x[, 1]), "yes", "no"))
  list(data = as.data.frame(x), y = y, g = sample(30, 240, TRUE))
})
# remembers which rows it was trained on
train <- function(data, labels) list(rows = rownames(data), fit = stats::glm.fit(cbind(1, as.matrix(data)), labels == "yes",
  family = stats::binomial()))
score <- function(model, newdata) drop(cbind(1, as.matrix(newdata)) %*% model$fit$coefficients)

test_that("scores are out-of-fold, and the calibrator is that of all of them", {
  set.seed(1)
  fit <- calib_cv(train, score, set$data, set$y, "platt", folds = 6)
  expect_s3_class(fit, "calib_cv")
  slow <- numeric(240)
  for (f in 1:6) {
    out <- fit$fold == f
    slow[out] <- score(train(set$data[!out, ], set$y[!out]), set$data[out, ])
  }
  expect_equal(as.vector(fit$scores), slow)
  expect_equal(fit$calibrator$coefficients, calib_platt(slow, set$y)$coefficients)
  expect_identical(fit$model$rows, rownames(set$data))
  new <- set$data[1:5, ]
  expect_equal(predict(fit, new), predict(fit$calibrator, score(train(set$data, set$y), new)))
  expect_s3_class(predict(fit, new, type = "class"), "factor")
  expect_identical(dim(predict(fit, new, type = "interval")), c(5L, 2L, 3L))
})

test_that("folds have equal shares of the classes; groups stay together", {
  set.seed(2)
  fold <- cv_folds(5, set$y, NULL, 240)
  expect_identical(sort(unique(fold)), 1:5)
  expect_lte(diff(range(table(fold, set$y)[, 1])), 1)
  fold <- cv_folds(5, set$y, set$g, 240)
  expect_true(all(tapply(fold, set$g, function(f) length(unique(f))) == 1))
  expect_lt(diff(range(table(fold))), 12)
  set.seed(3)
  fit <- calib_cv(train, score, set$data, set$y, "temperature", folds = 4, groups = set$g, assess = FALSE)
  expect_true(all(tapply(fit$fold, set$g, function(f) length(unique(f))) == 1))
  expect_true(all(is.na(tidy(fit)$log_loss_calibrated)))
  own <- rep(c("a", "b", "c"), 80)
  expect_identical(calib_cv(train, score, set$data, set$y, "none", folds = own)$fold, rep(1:3, 80))
})

test_that("the assessment calibrates each fold by the others", {
  own <- rep(1:3, 80)
  fit <- calib_cv(train, score, set$data, set$y, "temperature", folds = own)
  table <- tidy(fit)
  s <- as.vector(fit$scores)
  for (f in 1:3) {
    out <- own == f
    inner <- calib_temperature(s[!out], set$y[!out])
    expect_equal(table$log_loss_calibrated[f], log_loss(predict(inner, s[out]), set$y[out]), tolerance = 1e-10)
    expect_equal(table$log_loss[f], log_loss(stats::plogis(s[out]), set$y[out]), tolerance = 1e-10)
    expect_equal(table$brier_score[f], brier_score(stats::plogis(s[out]), set$y[out]), tolerance = 1e-10)
  }
  expect_output(print(fit), "out-of-fold scores of 3 folds")
  expect_output(print(fit), "after \\(cross-validated: calibrator fitted to the other folds\\)")
})

test_that("more classes, matrices, functions as methods", {
  d <- oracle_data(150, 3, seed = 2)
  y <- letters[d$y]
  means <- function(data, labels) stats::aggregate(as.data.frame(data), list(class = labels), mean)
  near <- function(model, newdata) {
    s <- -vapply(seq_len(nrow(model)), function(i) {
      rowSums((newdata - rep(unlist(model[i, -1]), each = nrow(newdata)))^2)
    }, numeric(nrow(newdata)))
    colnames(s) <- model$class
    s
  }
  set.seed(1)
  fit <- calib_cv(means, near, d$z, y, calib_temperature, folds = 3)
  expect_identical(colnames(predict(fit, d$z[1:4, ])), c("a", "b", "c"))
  expect_identical(fit$calibrator$method, "temperature")
  expect_lt(fit$assessment$log_loss_calibrated[1], fit$assessment$log_loss[1])
  expect_equal(calib_cv(means, near, d$z, y, "gp", folds = rep(1:3, 50), covariance = "diag", assess = FALSE)$calibrator$covariance,
    "diag")
})

test_that("bad input is named", {
  bad <- function(..., text) {
    args <- utils::modifyList(list(train = train, predict = score, data = set$data, labels = set$y, method = "none"), list(...))
    expect_error(do.call(calib_cv, args), text, class = "gpcalib_error_input")
  }
  bad(train = 3, text = "`train`")
  bad(predict = "x", text = "`predict`")
  bad(data = 1:240, text = "`data`")
  bad(labels = set$y[-1], text = "`labels`")
  bad(labels = replace(set$y, 3, NA), text = "row 3")
  bad(method = "zz", text = "`method`")
  bad(folds = 1, text = "`folds`")
  bad(folds = 1:3, text = "`folds`")
  bad(folds = rep(1:2, 120), groups = rep(1:120, each = 2), text = "divides a group")
  bad(folds = 40, groups = set$g, text = "only 30 groups")
  bad(groups = 1:3, text = "`groups`")
  bad(predict = function(model, newdata) 1:3, text = "`predict` returned 3 rows")
  bad(predict = function(model, newdata) letters, text = "`predict`")
  fit <- calib_cv(train, score, set$data, set$y, "none", folds = 2)
  expect_error(predict(fit), "`newdata`", class = "gpcalib_error_input")
})

test_that("functions of one argument are refused before they are called", {
  train <- function(data) stop("called")
  expect_error(calib_cv(train, function(model, newdata) 0.5, data.frame(x = 1:20), rep(0:1, 10)), "`train` takes one argument.*function\\(data, labels\\)",
    class = "gpcalib_error_input")
})
