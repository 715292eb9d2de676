test_that("pictures are compared up to a twentieth of a pixel, and their words exactly", {
  svg <- function(text) {
    file <- tempfile(fileext = ".svg")
    writeLines(text, file)
    file
  }
  old <- svg("<text x='10.00' y='3.50'>ECE 0.108</text>")
  expect_true(same_svg(old, svg("<text x='10.04' y='3.49'>ECE 0.108</text>")))
  expect_false(same_svg(old, svg("<text x='10.10' y='3.50'>ECE 0.108</text>")))
  expect_false(same_svg(old, svg("<text x='10.00' y='3.50'>ECE 0.109</text>")))
  expect_false(same_svg(old, svg("<text x='10.00' y='3.50'>ECE 0.108</text><line/>")))
})
