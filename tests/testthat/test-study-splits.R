# How rows are divided.

labels <- factor(rep(c("a", "b", "c"), c(61, 30, 9)))
plan <- function(..., splits = 20) {
  utils::modifyList(list(splits = splits, n_cal = NA_real_, n_test = NA_real_, stratify = FALSE), list(...))
}
draw <- function(set = list(), ...) draw_splits(c(list(labels = labels), set), plan(...))

test_that("simple splits are disjoint, complete and different", {
  set.seed(1)
  rows <- draw(n_cal = 30)
  expect_length(rows, 20)
  for (split in rows) {
    expect_length(split$cal, 30)
    expect_identical(sort(c(split$cal, split$test)), 1:100)
  }
  expect_identical(anyDuplicated(rows), 0L)
  few <- draw(n_cal = 30, n_test = 20)
  for (split in few) {
    expect_length(split$test, 20)
    expect_length(intersect(split$cal, split$test), 0)
  }
})

test_that("stratified splits give each class its share, and each row the same chance", {
  set.seed(2)
  rows <- draw(n_cal = 35, n_test = 20, stratify = TRUE, splits = 2000)
  shares <- vapply(rows, function(split) as.double(table(labels[split$cal])), numeric(3))
  expect_true(all(colSums(shares) == 35))
  expected <- c(61, 30, 9) * 0.35
  expect_true(all(abs(shares - expected) < 1))
  expect_lt(max(abs(rowMeans(shares) - expected)), 5 * 0.5 / sqrt(2000))
  rest <- vapply(rows, function(split) as.double(table(labels[split$test])), numeric(3))
  expect_true(all(abs(rest - (c(61, 30, 9) - shares) * 20 / 65) < 1))
  chance <- tabulate(unlist(lapply(rows, `[[`, "cal")), 100) / 2000
  # five standard errors of a share of 0.35 among 2000
  expect_lt(max(abs(chance - 0.35)), 5 * sqrt(0.35 * 0.65 / 2000))
})

test_that("groups stay together and come near the number asked for", {
  set.seed(3)
  groups <- rep(letters[1:20], c(1:9, rep(5, 11)))
  rows <- draw(list(groups = groups), n_cal = 40, splits = 50)
  for (split in rows) {
    expect_length(intersect(groups[split$cal], groups[split$test]), 0)
    expect_identical(sort(c(split$cal, split$test)), 1:100)
    expect_lte(abs(length(split$cal) - 40), 4.5)
  }
  few <- draw(list(groups = groups), n_cal = 40, n_test = 10, splits = 50)
  for (split in few) {
    expect_length(intersect(groups[split$cal], groups[split$test]), 0)
    expect_lte(abs(length(split$test) - 10), 4.5)
  }
  # never all groups, even if that came nearest
  two <- draw(list(groups = rep(1:2, c(3, 97))), n_cal = 98, splits = 10)
  expect_true(all(lengths(lapply(two, `[[`, "test")) %in% c(3, 97)))
  expect_error(draw(list(groups = rep(1:2, c(1, 99)))), "fewer than two rows",
    class = "gpcalib_error_input")
})

test_that("with time the test rows follow the calibration rows", {
  set.seed(4)
  day <- sample(rep(1:25, each = 4)) # four rows a day, in any order
  rows <- draw(list(time = day), n_cal = 30, n_test = 20, splits = 50)
  begins <- vapply(rows, function(split) min(day[split$cal]), 0)
  for (split in rows) {
    past <- sort(unique(day[split$cal]))
    future <- sort(unique(day[split$test]))
    expect_identical(future[1], past[length(past)] + 1L)
    expect_identical(past, seq(past[1], length.out = 8L)) # 30 rows: eight whole days
    expect_identical(future, seq(future[1], length.out = 5L))
    expect_identical(split$cal, which(day %in% past))
  }
  expect_gt(length(unique(begins)), 5)
  expect_identical(min(begins), 1)
  half <- draw(list(time = 100:1), n_cal = 20)
  expect_identical(unique(lengths(lapply(half, `[[`, "test"))), 40L)
  dates <- as.Date("2026-01-01") + day
  set.seed(5)
  by_date <- draw(list(time = dates), n_cal = 30, n_test = 20)
  set.seed(5)
  expect_identical(by_date, draw(list(time = day), n_cal = 30, n_test = 20))
  expect_error(draw(list(time = rep(1, 100))), "no room", class = "gpcalib_error_input")
})

test_that("groups and time go through the whole study", {
  day <- rain_nyc$time[1:300]
  groups <- format(day, "%j")
  set.seed(6)
  study <- calib_study(rain_nyc$prob[1:300], rain_nyc$rain[1:300], "temperature", 100, 3, "brier_score",
    groups = groups)
  expect_true(all(study$n_cal + study$n_test == 300))
  set.seed(6)
  later <- calib_study(rain_nyc$prob[1:300], rain_nyc$rain[1:300], "temperature", 100, 3, "brier_score",
    time = as.POSIXlt(day), n_test = 50)
  expect_true(all(later$n_test >= 50 & later$n_test < 60))
  strat <- calib_study(list(one = rain_nyc$prob[1:300]), list(rain_nyc$rain[1:300]), "none", 100, 2,
    list(rain = function(p, y) sum(y == "rain")), stratify = TRUE)
  wet <- sum(rain_nyc$rain[1:300] == "rain")
  expect_true(all(abs(strat$value - wet * 2 / 3) < 1))
})
