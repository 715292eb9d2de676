# Looks and legends that all pictures share.

test_that("no two forecasts look the same", {
  looks <- function(n, values) paste(pick(ink, n, shift = FALSE), pick(values, n))
  for (values in list(strokes, marks)) {
    expect_identical(pick(values, 8), values)
    expect_length(unique(looks(64, values)), 64)
  }
})

test_that("legends fit: up to eight entries in two rows, at both sizes", {
  names <- c("Uncalibrated", "Temperature scaling", "Gaussian process", "Vector scaling", "Matrix scaling",
    "Isotonic regression", "Beta calibration", "Histogram binning")
  for (size in c(7, 9, 11)) {
    short <- legend_names(names, size)
    expect_lte(legend_rows(short, size), 2)
    expect_length(unique(short), 8)
    expect_true(legend_fits(short, legend_columns(short, size), size))
    twelve <- legend_names(c(names, paste("Power of", names[1:4])), size)
    expect_true(legend_fits(twelve, legend_columns(twelve, size), size))
  }
  expect_identical(legend_names(names[1:3], 9), names[1:3])
  expect_equal(legend_columns(names[1:3], 9), 3)
  expect_equal(legend_columns(c("one", "two"), 7), 2)
})
