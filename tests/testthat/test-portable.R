# That other programs get predict(approx = "mean") is said once, in the last test.
write_calibrator <- function(...) suppressMessages(gpcalib::write_calibrator(...), classes = "gpcalib_message_posterior_mean")

plain <- function(fit) {
  fit$call <- NULL
  unclass(fit)[sort(names(fit))]
}

test_that("every method comes back as it was", {
  file <- tempfile(fileext = ".json")
  for (k in c(2, 3)) for (logits in c(FALSE, TRUE)) {
    d <- database_rows(k, logits)
    for (fit in database_fits(d, logits)) {
      expect_invisible(write_calibrator(fit, file))
      same <- read_calibrator(file)
      expect_identical(plain(same), plain(fit))
      expect_identical(class(same), class(fit))
      expect_identical(suppressWarnings(predict(same, d$x)), suppressWarnings(predict(fit, d$x)))
    }
  }
  effects <- suppressWarnings(calib_gp(d$x, d$y, class_effects = "matrix"))
  for (fit in c(list(effects), ordered_fits(d, TRUE))) {
    write_calibrator(fit, file)
    expect_identical(plain(read_calibrator(file)), plain(fit))
  }
})

test_that("classes of any name survive", {
  names <- c("a\"b", "tab\there", "back\\slash", "\u00e9t\u00e9", "new\nline", "\\u0041")
  d <- database_rows(6, FALSE)
  fit <- rename_classes(calib_beta(d$x, d$y), names)
  file <- tempfile()
  write_calibrator(fit, file)
  expect_identical(read_calibrator(file)$classes, names)
  skip_if_not_installed("jsonlite")
  expect_identical(jsonlite::fromJSON(file)$classes, names)
})

test_that("the formula has 17 digits and is what the page says", {
  skip_if_not_installed("jsonlite")
  file <- tempfile()
  d <- database_rows(3, FALSE)
  fit <- calib_temperature(d$x, d$y)
  write_calibrator(fit, file)
  got <- jsonlite::fromJSON(file)
  expect_equal(got[c("format", "version", "method", "input")],
    list(format = "gpcalib-calibrator", version = 1L, method = "temperature", input = "probs"))
  expect_equal(1 / got$formula$slope, fit$temperature, tolerance = 1e-15)
  l <- log(pmax(d$x, got$formula$floor)) * got$formula$slope
  expect_equal(exp(l) / rowSums(exp(l)), predict(fit, d$x), tolerance = 1e-14)
  expect_match(readLines(file), "[0-9]\\.[0-9]{15,}", all = FALSE)

  # the process with all of its effects, by plain R
  fit <- suppressWarnings(calib_gp(d$x, d$y, class_effects = "matrix"))
  write_calibrator(fit, file)
  f <- jsonlite::fromJSON(file)$formula
  soft <- function(h) exp(h - apply(h, 1, max)) / rowSums(exp(h - apply(h, 1, max)))
  x <- log(pmax(d$x, f$floor))
  x <- x - rowMeans(x)
  g <- f$slope * x
  for (j in seq_along(f$place)) g <- g + f$weight[j] * exp(-(x - f$place[j])^2 / (2 * f$lengthscale^2))
  v <- pmin(pmax(x, f$limits[1]), f$limits[2])
  h <- sweep(g, 2, f$offset, "+") + v %*% t(f$linear) + soft(f$steep * v) %*% t(f$softmax) +
    log(rowSums(exp(f$steep * v))) %*% t(f$level)
  expect_lt(max(abs(soft(h) - by_mean(fit, d$x))), 1e-8)
})

test_that("what is no such file is said to be none", {
  file <- tempfile()
  bad <- c("", "{", "[1, 2", "{\"format\": \"other\"}", "nonsense", "{\"format\" \"gpcalib-calibrator\"}",
    strrep("[", 1000), "{\"format\": \"gpcalib-calibrator\", \"version\": 1}",
    "{\"format\": \"gpcalib-calibrator\", \"version\": 2}",
    "{\"format\": \"gpcalib-calibrator\", \"version\": 1, \"method\": \"gp\", \"object\": {\"type\": \"list\", \"value\": []}}")
  for (text in bad) {
    writeLines(text, file)
    expect_error(read_calibrator(file), class = "gpcalib_error_input")
  }
  expect_error(read_calibrator(tempfile()), "does not exist", class = "gpcalib_error_input")
  expect_error(read_calibrator(3), class = "gpcalib_error_input")
  expect_error(write_calibrator(3, file), class = "gpcalib_error_input")
  expect_error(write_calibrator(calib_none(c(.2, .8), 0:1)), "`file` is missing", class = "gpcalib_error_input")
  expect_error(write_calibrator(calib_none(c(.2, .8), 0:1), file.path(tempdir(), "no", "such", "folder")),
    "cannot be opened", class = "gpcalib_error_input")
  d <- database_rows(2, FALSE)
  write_calibrator(calib_platt(d$x, d$y), file)
  text <- sub("0x1", "0x1.8p+9", readLines(file))
  text[grep("\"slope\"", text)] <- ""
  writeLines(sub("\"platt\"", "\"beta\"", text), file)
  expect_error(read_calibrator(file), class = "gpcalib_error_input")
})

test_that("the reader in Python reproduces predict(), and is short", {
  python <- Sys.which("python3")
  skip_if(python == "", "there is no python3")
  reader <- system.file("python", "calibrator.py", package = "gpcalib")
  expect_lt(length(readLines(reader)), 40)
  dir <- tempfile()
  dir.create(dir)
  write_row <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ", "), "]")
  expected <- limits <- list()
  for (k in c(2, 3)) for (logits in c(FALSE, TRUE)) {
    d <- database_rows(k, logits)
    fits <- c(database_fits(d, logits), ordered_fits(d, logits),
      list(effects = suppressWarnings(calib_gp(d$x, d$y, class_effects = "matrix"))))
    d$x[20:30, ] <- d$x[20:30, ] * if (logits) 3 else 1.0004 # beyond the range, or rescaled
    for (fit in fits) {
      i <- length(expected) + 1
      expected[[i]] <- by_mean(fit, d$x)
      limits[[i]] <- mean_limit(fit)
      write_calibrator(fit, file.path(dir, paste0(i, ".json")))
      writeLines(paste0("[", paste(apply(d$x, 1, write_row), collapse = ",\n"), "]"), file.path(dir, paste0(i, ".rows")))
    }
  }
  script <- file.path(dir, "run.py")
  writeLines(c(readLines(reader), "import json, sys", "for i in range(1, int(sys.argv[2]) + 1):",
    "    fit = json.load(open(f'{sys.argv[1]}/{i}.json'))", "    rows = json.load(open(f'{sys.argv[1]}/{i}.rows'))",
    "    out = open(f'{sys.argv[1]}/{i}.out', 'w')",
    "    for row in rows: print(*[repr(v) for v in predict(fit, row)], file = out)", "    out.close()"), script)
  status <- system2(python, c(shQuote(script), shQuote(dir), length(expected)))
  expect_equal(status, 0)
  for (i in seq_along(expected)) {
    got <- as.matrix(utils::read.table(file.path(dir, paste0(i, ".out"))))
    expect_lt(max(abs(got - expected[[i]])), limits[[i]])
  }
})

test_that("a message says that other programs get predict(approx = \"mean\"), where that matters", {
  file <- tempfile()
  d <- rain_nyc[1:200, ]
  fit <- calib_gp(d$prob, d$rain)
  apart <- max(abs(predict(fit, d$prob) - predict(fit, d$prob, approx = "mean")))
  expect_gt(apart, 1e-3)
  expect_message(gpcalib::write_calibrator(fit, file), "gives predict\\(approx = \"mean\"\\).*differs from it by up to 0\\.[0-9]+", class = "gpcalib_message_posterior_mean")
  expect_silent(gpcalib::write_calibrator(calib_platt(d$prob, d$rain), file))
  expect_silent(gpcalib::write_calibrator(calib_gp(d$prob, d$rain, hyper = c(variance = 1e-12), class_effects = "none"), file))
})
