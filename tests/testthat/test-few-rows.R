few_of <- function(k, n, prior = rep(1 / k, k)) {
  say_few_rows(list(classes = letters[seq_len(k)], n = n, prior = prior))
}

test_that("few rows of the rarer of two classes, few rows, and few for each class are said", {
  expect_null(few_of(2, 200))
  expect_match(few_of(2, 198), "few calibration rows: 99 rows of class \"a\" \\(100 or more are advisable, see \\?calib_gp\\)")
  expect_match(few_of(2, 1000, c(0.95, 0.05)), "50 rows of class \"b\"")
  expect_null(few_of(2, 50, c(1, 0))) # which is said in other words
  expect_match(few_of(3, 199), "199 rows \\(200 or more")
  expect_null(few_of(3, 200))
  expect_match(few_of(26, 250), "9.6 rows per class on average \\(10 or more")
  expect_null(few_of(26, 260))
})

test_that("print() of calib_gp() says so", {
  d <- rain_nyc[1:150, ]
  expect_output(print(calib_gp(d$prob, d$rain)), "few calibration rows: [0-9]+ rows of class \"rain\"")
  expect_no_match(capture.output(print(calib_gp(rain_nyc$prob, rain_nyc$rain))), "few calibration rows")
})
