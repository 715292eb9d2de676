# forget = "auto"

stream_of <- function(n, temperature, seed) {
  d <- oracle_stream(n, 3, seed, temperature)
  list(p = d$p, y = factor(d$y, levels = 1:3))
}

test_that("the value in use is the one whose forecasts of the batches were best, written out", {
  calm <- stream_of(600, 1.5, 81)
  wild <- stream_of(600, 0.4, 82)
  p <- rbind(calm$p, wild$p)
  y <- factor(c(as.character(calm$y), as.character(wild$y)), levels = 1:3)
  auto <- calib_temperature(p[1:100, ], y[1:100])
  fits <- rep(list(auto), 4)
  loss <- numeric(4)
  chosen <- NULL
  for (b in 1:11) {
    rows <- 100 * b + 1:100
    if (b > 1) loss <- 0.8 * loss + 100 * vapply(fits, function(fit) log_loss(predict(fit, p[rows, ]), y[rows]), 0)
    fits <- lapply(1:4, function(i) update(fits[[i]], p[rows, ], y[rows], forget = c(0, 0.05, 0.2, 0.5)[i]))
    auto <- update(auto, p[rows, ], y[rows], forget = "auto")
    chosen <- c(chosen, auto$auto$forget[auto$auto$chosen])
    expect_equal(auto$auto$loss, loss - min(loss))
    expect_equal(auto$temperature, fits[[which.min(loss)]]$temperature)
    expect_identical(nobs(auto), 100L * (b + 1L))
  }
  expect_lt(chosen[5], 0.2) # as long as nothing changes
  expect_gt(chosen[8], 0.1) # after the change
  expect_output(print(auto), "forget = \"auto\"")
})

test_that("logits will do, of every method that can be updated", {
  d <- with_seed(84, mixed_data(300, 3))
  for (make in list(calib_none, calib_temperature, calib_vector, calib_platt, calib_beta, calib_isotonic, calib_bbq, calib_histogram, calib_gp)) {
    fit <- suppressWarnings(make(d$scores[1:100, ], d$labels[1:100], "logits"))
    for (b in 1:2) fit <- suppressWarnings(update(fit, d$scores[100 * b + 1:100, ], d$labels[100 * b + 1:100], forget = "auto"))
    expect_identical(nobs(fit), 300L)
    expect_true(all(is.finite(fit$auto$loss)))
  }
})

test_that("it goes through files, a number ends it, and damage is recognised", {
  d <- stream_of(300, 1.5, 83)
  for (make in list(calib_temperature, calib_histogram, function(...) calib_gp(..., class_effects = "none"))) {
    fit <- suppressWarnings(make(d$p[1:100, ], d$y[1:100]))
    fit <- update(fit, d$p[101:200, ], d$y[101:200], forget = "auto")
    fit <- update(fit, d$p[201:250, ], d$y[201:250], forget = "auto")
    file <- tempfile()
    saveRDS(fit, file)
    expect_identical(update(readRDS(file), d$p[251:300, ], d$y[251:300], forget = "auto"),
      update(fit, d$p[251:300, ], d$y[251:300], forget = "auto"))
    suppressMessages(write_calibrator(fit, file))
    expect_identical(predict(read_calibrator(file), d$p), predict(fit, d$p)) # the one in use is written
    unlink(file)
    plain <- fit
    plain["auto"] <- NULL
    expect_identical(predict(update(fit, d$p[251:300, ], d$y[251:300], forget = 0.1), d$p),
      predict(update(plain, d$p[251:300, ], d$y[251:300], forget = 0.1), d$p))
    expect_null(update(fit, d$p[251:300, ], d$y[251:300])[["auto"]])
  }
  for (part in names(fit$auto)) for (value in list(NULL, "x", NA, list(1), c(2, 1))) {
    broken <- fit
    broken$auto[part] <- list(value)
    expect_error(predict(broken, d$p), class = "gpcalib_error_object")
  }
  broken <- fit
  broken$auto$fits[[setdiff(1:4, fit$auto$chosen)[1]]]$classes <- c("a", "b", "c")
  expect_error(predict(broken, d$p), class = "gpcalib_error_object")
  expect_error(update(fit, d$p, d$y, forget = "often"), "forget", class = "gpcalib_error_input")
  before <- fit
  expect_error(update(fit, replace(d$p, 3, NaN), d$y, forget = "auto"), class = "gpcalib_error_input")
  expect_identical(fit, before)
})
