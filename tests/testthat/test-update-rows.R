# New rows for fits of the process whose old rows are still there, as they are or merged: then an update is a fit of all of them.

rows_gp <- function(..., control = gp_control(buffer = 1000)) suppressWarnings(calib_gp(..., integrate = FALSE, control = control))
more <- function(...) suppressWarnings(update(...))

test_that("numbers in single precision, by hand", {
  expect_identical(to_single(c(1, -2, 0, -0, -Inf, -1e-60)), c(0x3f800000L, -0x40000000L, 0L, 0L, -0x800000L, 0L))
  x <- c(pi, -1e-30, 1e20, -Inf, 0)
  expect_equal(from_single(to_single(x)), x, tolerance = 1e-7)
  expect_false(anyNA(to_single(x)))
})

test_that("numbers of two bytes, by hand, and several to an integer", {
  expect_identical(to_short(c(0, -1, -0.5, -0.75, -Inf, -2^-30, -2^-41, -1e-20), 1), c(0L, 63488L, 61440L, 62464L, 65535L, 2048L, 1L, 0L))
  x <- c(-with_seed(1, rexp(5000, c(0.1, 10, 1e4))), 0, -Inf)
  for (top in 2^c(8, 20)) {
    code <- to_short(x, top)
    expect_false(any(code == 32768L)) # with a zero before it, NA
    back <- from_short(code, top)
    expect_true(all(abs(back - x)[x > -Inf] <= pmax(2^-12 * abs(x), top * 2^-42)[x > -Inf] + top * 2^-15 * 2^-11)) # 32768 goes to its neighbour
    expect_identical(back[x == -Inf], -Inf)
    expect_identical(to_short(back, top), code)
  }
  for (bytes in 1:2) for (n in 1:9) {
    code <- with_seed(n, sample(c(0L, 1L, 127L), n, TRUE))
    packed <- pack_codes(code, bytes)
    expect_length(packed, packed_length(n, bytes))
    expect_identical(unpack_codes(packed, bytes, n), code)
    expect_false(anyNA(packed))
  }
  expect_identical(pack_codes(c(1L, 2L, 3L), 1L), 0x030201L)
})

test_that("rows in an object come back: in single precision while they are few, else in two bytes", {
  rows <- with_seed(2, list(z = matrix(-rexp(60), 20), labels = rep(1:4, 5), weights = rep(1, 20), counts = rep(1, 20)))
  rows$z[3, 2] <- -Inf
  same <- unpack_rows(pack_rows(rows, FALSE), 3)
  expect_equal(same, rows, tolerance = 1e-7)
  many <- list(z = rows$z[rep(1:20, 101), ], labels = rep(rows$labels, 101), weights = rep(1:5, 404), counts = rep(1:5, 404))
  packed <- pack_rows(many, TRUE)
  expect_null(packed$weights)
  expect_lt(length(serialize(packed, NULL)), 2020 * (2 * 3 + 1 + 2) + 400)
  expect_equal(unpack_rows(packed, 3), many, tolerance = 2^-11)
  many$weights <- many$weights / 3
  expect_equal(unpack_rows(pack_rows(many, TRUE), 3)$weights, many$weights, tolerance = 1e-7)
  wide <- list(z = matrix(-rexp(400), 2), labels = c(200L, 130L), weights = c(1, 1), counts = c(1, 1))
  expect_identical(unpack_rows(pack_rows(wide, TRUE), 200)$labels, wide$labels)
})

test_that("scores of one byte, by hand, and compressed bytes come back", {
  expect_identical(to_coarse(cbind(c(0, -2 * expm1(0.04 * c(1, 10, 254)), -1e9, -Inf)), 2), as.raw(c(0, 1, 10, 254, 254, 255)))
  x <- c(-with_seed(3, rexp(5000, c(0.1, 1, 10))), 0, -Inf)
  for (unit in c(0.5, 2)) {
    byte <- to_coarse(cbind(x), unit)
    back <- from_coarse(byte, unit)
    expect_true(all(abs(back - x)[x > -Inf] <= 0.0204 * (unit - x)[x > -Inf]))
    expect_identical(back[x == -Inf], -Inf)
    expect_identical(to_coarse(cbind(back), unit), byte)
  }
  z <- cbind(c(0, -4, -Inf), c(-4, 0, 0), c(-6, -4, -4))
  expect_identical(coarse_unit(z, 1), 2)
  expect_identical(coarse_unit(z, 0.9), 2) # stays
  expect_identical(coarse_unit(z, 8), 0.25)
  expect_identical(coarse_unit(z, 1e-9), 4) # a batch without a slope does not make the scores one
  expect_identical(coarse_unit(0 * z[1:2, ], -1), 2^84)
  for (n in c(0, 1, 2, 3, 4, 5000)) {
    bytes <- with_seed(n, as.raw(sample(0:255, n, TRUE)))
    packed <- pack_bytes(bytes)
    expect_false(anyNA(packed$words))
    expect_false(bytes_wrong(packed))
    expect_identical(unpack_bytes(packed), bytes)
  }
  words <- function(bytes, mask) { # as NA would be written
    bytes <- xor(as.raw(bytes), as.raw(c(mask, 0, 0, 0)))
    list(size = length(bytes), mask = mask, words = readBin(bytes, "integer", length(bytes) %/% 4, endian = "little"))
  }
  expect_true(bytes_wrong(words(c(0, 0, 0, 128), 0L)))
  expect_false(bytes_wrong(words(c(0, 0, 0, 128), 1L)))
})

test_that("rows of many classes come back in one byte a score", {
  rows <- with_seed(4, list(z = -matrix(rexp(1800 * 30, 0.1), 1800), labels = rep(1:30, 60), weights = rep(c(1, 2), 900), counts = rep(1, 1800)))
  rows$z[cbind(1:1800, rows$labels)] <- 0
  rows$z[5, 7] <- -Inf
  packed <- pack_rows(rows, FALSE, 2)
  expect_identical(packed$top, -2)
  expect_null(rows_wrong(packed, 30))
  expect_lt(length(serialize(packed, NULL)), 1800 * (30 + 1 + 2) + 400)
  back <- unpack_rows(packed, 30)
  expect_identical(back[-1], rows[-1])
  expect_identical(back$z == -Inf, rows$z == -Inf)
  finite <- rows$z > -Inf
  expect_true(all(abs(back$z - rows$z)[finite] <= 0.0204 * (2 - rows$z)[finite]))
  expect_identical(pack_rows(back, FALSE, 2), packed)
  expect_identical(unpack_rows(unserialize(serialize(packed, NULL, ascii = TRUE)), 30), back)
  half <- packed # damage that is found where the rows are used
  half$scores$words[seq_along(half$scores$words) > 20] <- 1L
  expect_null(rows_wrong(half, 30))
  expect_error(unpack_rows(half, 30), "scores that are none", class = "gpcalib_error_object")
  expect_error(unpack_rows(packed, 29), "scores that are none", class = "gpcalib_error_object")
  first <- function(n) pack_rows(lapply(rows, function(x) if (is.matrix(x)) x[seq_len(n), ] else x[seq_len(n)]), FALSE, 2)$top
  expect_identical(first(200), 0) # few scores
  expect_gt(first(1600), 0)
})

test_that("zeros that were all merged stay at the floor that was chosen", {
  d <- with_seed(66, mixed_data(400, 3))
  p <- oracle_softmax(2 * d$scores)
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  zero <- rowSums(p == 0) > 0
  p <- p[order(!zero), ] # rows with zeros come first
  y <- d$labels[order(!zero)]
  n <- 100 * ((sum(zero) + 99) %/% 100)
  fit <- rows_gp(p[seq_len(n), ], y[seq_len(n)], control = gp_control(buffer = 80))
  kept <- unpack_rows(fit$stream$rows, 3)
  expect_false(is.null(fit$floor))
  lost <- fit # the rows that kept their zeros go
  stay <- rowSums(kept$z == -Inf) == 0
  lost$stream$rows <- pack_rows(list(z = kept$z[stay, ], labels = kept$labels[stay], weights = kept$weights[stay], counts = kept$counts[stay]), FALSE)
  new <- more(lost, p[(n + 1):400, ], y[(n + 1):400])
  expect_identical(new$floor, fit$floor)
  expect_false(new$stream$rows$given) # later zeros may still choose another
})

test_that("an update is the fit of all rows wherever the one before it ended", {
  # the map bends where the first rows do not reach: a fit that began from theirs would stay a line
  d <- with_seed(61, mixed_data(900, 3))
  d$scores <- 3 * sin(d$scores) + d$scores
  batch <- function(fit, rows) more(fit, d$scores[rows, ], d$labels[rows])
  whole <- rows_gp(d$scores[1:800, ], d$labels[1:800])
  first <- NULL
  for (from in list(1:100, 401:500)) {
    fit <- batch(rows_gp(d$scores[from, ], d$labels[from]), setdiff(1:400, from))
    fit <- batch(fit, setdiff(401:800, from))
    expect_lt(fit$passes, whole$passes) # by update_tol and update_enough
    expect_gt(fit$elbo, whole$elbo - 800 * update_enough)
    expect_lt(log_loss(predict(fit, d$scores), d$labels), log_loss(predict(whole, d$scores), d$labels) + 1e-3)
    if (is.null(first)) first <- fit
    expect_equal(fit$passes, first$passes)
    expect_equal(fit$elbo, first$elbo, tolerance = 1e-6)
    expect_equal(predict(fit, d$scores), predict(first, d$scores), tolerance = 1e-5)
  }
})

test_that("an update has no more passes than the fit of all rows, that of the batch alone as many, and that of two classes, too", {
  d <- with_seed(61, mixed_data(900, 3))
  d$scores <- 3 * sin(d$scores) + d$scores
  one <- rows_gp(d$scores[1:700, ], d$labels[1:700])
  whole <- rows_gp(d$scores, d$labels)
  new <- more(one, d$scores[701:900, ], d$labels[701:900])
  expect_lte(new$passes, whole$passes)
  expect_lt(log_loss(predict(new, d$scores), d$labels), log_loss(predict(whole, d$scores), d$labels) + 1e-3)
  alone <- rows_gp(d$scores[701:900, ], d$labels[701:900])
  new <- more(one, d$scores[701:900, ], d$labels[701:900], forget = 1)
  expect_identical(new$passes, alone$passes)
  expect_equal(predict(new, d$scores), predict(alone, d$scores), tolerance = 1e-6)
  d <- with_seed(62, mixed_data(400, 2))
  whole <- rows_gp(d$scores, d$labels)
  new <- more(rows_gp(d$scores[1:300, ], d$labels[1:300]), d$scores[301:400, ], d$labels[301:400])
  expect_identical(new$passes, whole$passes)
  expect_equal(new$elbo, whole$elbo, tolerance = 1e-6)
})

test_that("with all rows at hand an update ends where the fit of all rows does, whatever becomes of the process", {
  d <- with_seed(335, {
    z <- 10 * matrix(rnorm(400), 100)
    u <- z - rowMeans(z)
    list(z = z, y = max.col(0.3 * u + sin(u) - log(-log(matrix(runif(400), 100)))))
  })
  p <- oracle_softmax(d$z)
  p[p < 1e-5] <- 0
  p <- p / rowSums(p)
  fit <- function(rows, ...) rows_gp(p[rows, ], d$y[rows], "probs", class_effects = "none", ...)
  whole <- fit(1:100)
  new <- more(fit(1:60), p[61:100, ], d$y[61:100])
  expect_equal(new$elbo, whole$elbo, tolerance = 1e-4)
  expect_gt(fit(1:100, floor = new$floor)$elbo, new$elbo + 0.5) # here another start finds a process
  # forgetting all is a fit of the batch, no more
  expect_identical(more(fit(1:60), p, d$y, forget = 1)$elbo, whole$elbo)
})

test_that("objects with the last optimum of the process, which are no longer made, are updated", {
  d <- with_seed(61, mixed_data(300, 3))
  fit <- rows_gp(d$scores[1:200, ], d$labels[1:200])
  old <- fit
  old$stream$begin <- list(hyper = unname(fit$hyper), inducing = fit$inducing, q_mean = fit$q_mean, rows = c(200, 0))
  new <- more(old, d$scores[201:300, ], d$labels[201:300])
  expect_null(new$stream$begin)
  expect_identical(predict(new, d$scores), predict(more(fit, d$scores[201:300, ], d$labels[201:300]), d$scores))
})

test_that("merged rows say of every floor what all rows say", {
  rain <- rain_nyc[with_seed(1, sample(nrow(rain_nyc), 1700)), ]
  fit <- rows_gp(rain$prob[1:1600], rain$rain[1:1600], control = gp_control(buffer = 800))
  kept <- unpack_rows(fit$stream$rows, 2)
  expect_lte(nrow(kept$z), 800)
  bound <- function(scores, labels, weights, floor) {
    rows_gp(scores, labels, "probs", weights, floor = floor, class_effects = "none")$elbo
  }
  p <- exp(kept$z) / rowSums(exp(kept$z))
  all <- cbind(1 - rain$prob, rain$prob)[1:1600, ]
  for (floor in c(0.01, 1e-3, 1e-5)) {
    expect_equal(bound(p, kept$labels, kept$weights, floor), bound(all, as.integer(rain$rain[1:1600]), NULL, floor), tolerance = 1e-4)
  }
  new <- more(fit, rain$prob[1601:1700], rain$rain[1601:1700])
  expect_identical(new$floor, rows_gp(rain$prob, rain$rain)$floor)
})

test_that("where zeros have too many patterns rows with and without them are merged", {
  zero <- matrix(FALSE, 6, 3)
  zero[1:2, 3] <- zero[3, 2] <- TRUE
  cell <- c(1L, 1L, 1L, 1L, 2L, 2L)
  expect_identical(zero_cells(cell, zero, 100), c(1L, 1L, 2L, 3L, 4L, 4L))
  expect_identical(zero_cells(cell, zero, 8), cell)
  expect_identical(zero_cells(cell, zero & FALSE, 100), cell)
})

test_that("as long as the rows are kept, batch by batch is the fit of all rows", {
  for (k in c(2, 3)) for (input in c("probs", "logits")) {
    d <- with_seed(60 + k, mixed_data(300, k))
    scores <- if (input == "probs") oracle_softmax(d$scores) else d$scores
    fit <- rows_gp(scores[1:50, ], d$labels[1:50], input)
    for (b in 1:5) fit <- more(fit, scores[50 * b + 1:50, ], d$labels[50 * b + 1:50])
    whole <- rows_gp(scores, d$labels, input)
    expect_equal(predict(fit, scores), predict(whole, scores), tolerance = 1e-4) # class effects are fitted to 0.01 nats
    expect_equal(fit$elbo, whole$elbo, tolerance = 1e-5)
    expect_identical(fit$class_effects, whole$class_effects)
    expect_equal(fit$scores_seen, whole$scores_seen, tolerance = 1e-5)
    expect_equal(fit$changed, whole$changed)
    expect_equal(fit$prior, whole$prior)
    expect_null(fit$stream$knots)
    expect_identical(fit$stream$rows$n, 300L)
  }
})

test_that("weights and forgetting are weights of the kept rows", {
  d <- with_seed(64, mixed_data(300, 3))
  w <- with_seed(65, runif(300, 0.5, 2))
  one <- rows_gp(d$scores[1:100, ], d$labels[1:100], weights = w[1:100])
  two <- more(one, d$scores[101:200, ], d$labels[101:200], w[101:200], forget = 0.5)
  new <- more(two, d$scores[201:300, ], d$labels[201:300], w[201:300], forget = 0.2)
  whole <- rows_gp(d$scores, d$labels, weights = w * rep(c(0.4, 0.8, 1), each = 100))
  expect_equal(predict(new, d$scores), predict(whole, d$scores), tolerance = 1e-4)
  expect_equal(new$prior, whole$prior)
  # the rows of a fit without weights have none, and forgotten rows go
  expect_null(rows_gp(d$scores, d$labels)$stream$rows$weights)
  expect_equal(more(two, d$scores[201:300, ], d$labels[201:300], forget = 1)$stream$rows$n, 100)
})

test_that("the floor for zeros is chosen again, and one that was given stays", {
  d <- with_seed(66, mixed_data(400, 3))
  p <- oracle_softmax(2 * d$scores)
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  late <- order(rowSums(p == 0) > 0) # rows without zeros come first
  p <- p[late, ]
  y <- d$labels[late]
  fit <- rows_gp(p[1:100, ], y[1:100])
  expect_null(fit$floor)
  for (b in 1:3) fit <- more(fit, p[100 * b + 1:100, ], y[100 * b + 1:100])
  whole <- rows_gp(p, y)
  expect_equal(fit$floor, whole$floor, tolerance = 1e-6)
  expect_equal(predict(fit, p), predict(whole, p), tolerance = 1e-4)
  given <- rows_gp(p[1:100, ], y[1:100], floor = 1e-5)
  expect_equal(more(given, p[101:400, ], y[101:400])$floor, 1e-5)
})

test_that("of the floors the neighbours of the last one are tried, unless the batch is a large share of the rows", {
  floors <- try_floors(2e-5, 3) # 2e-5, .01, .001, ..., 1e-8
  expect_equal(near_floors(floors), 1:8)
  expect_equal(floors[near_floors(floors, 1e-3)], c(2e-5, 1e-2, 1e-3, 1e-4))
  expect_equal(floors[near_floors(floors, 1e-8)], c(2e-5, 1e-7, 1e-8))
  expect_equal(floors[near_floors(floors, 3e-5)], c(2e-5, 1e-4, 1e-5)) # the first was another before
  d <- with_seed(66, mixed_data(600, 3))
  p <- oracle_softmax(2 * d$scores)
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  fit <- rows_gp(p[1:500, ], d$labels[1:500])
  passes <- function(rows) more(fit, p[rows, ], d$labels[rows])$passes_floor
  expect_gt(passes(501:600), 0)
  far <- fit
  far$floor <- 1e-7 # as if it had been that
  few <- more(far, p[501:600, ], d$labels[501:600])
  expect_lt(min(abs(few$floor / c(1e-6, 1e-7, 1e-8, min(p[p > 0]) / 2) - 1)), 1e-5)
  many <- more(far, p[301:500, ], d$labels[301:500])
  expect_equal(many$floor, more(fit, p[301:500, ], d$labels[301:500])$floor)
})

test_that("rows are merged to a limit, and when they are many frozen, with new ones beside the quadratic", {
  d <- with_seed(67, mixed_data(2600, 3))
  few <- gp_control(buffer = 400)
  fit <- rows_gp(d$scores[1:200, ], d$labels[1:200], control = few)
  kept <- 200
  for (b in 1:11) {
    fit <- more(fit, d$scores[200 * b + 1:200, ], d$labels[200 * b + 1:200])
    kept <- if (b == 10) 0 else if (b == 11) 200 else min(kept + 200, 400)
    expect_equal(if (is.null(fit$stream$rows)) 0 else fit$stream$rows$n, kept)
    expect_identical(is.null(fit$stream$knots), b < 10)
    if (b %in% 2:9) expect_equal(sum(unpack_rows(fit$stream$rows, 3)$counts), 200 * (b + 1))
    if (b == 8) merged <- fit
  }
  expect_identical(nobs(fit), 2400L)
  expect_equal(fit$stream$rest[2], 2200) # frozen
  expect_equal(fit$scores_seen$rows, 2400)
  expect_equal(sum(fit$scores_seen$true) / (1 - fit$scores_seen$beyond[["true"]]), 2400, tolerance = 1e-6)
  whole <- rows_gp(d$scores[1:2400, ], d$labels[1:2400])
  expect_identical(fit$changed, NA_integer_)
  expect_lt(mean(abs(predict(fit, d$scores) - predict(whole, d$scores))), 0.01)
  # what merged rows say
  whole <- rows_gp(d$scores[1:1800, ], d$labels[1:1800])
  expect_equal(merged$scores_seen$rows, 1800)
  expect_identical(merged$changed, NA_integer_)
  expect_lt(mean(abs(predict(merged, d$scores) - predict(whole, d$scores))), 0.005)
  # and the same through a file of either kind
  file <- tempfile()
  on.exit(unlink(file))
  for (fit in list(fit, merged)) {
    expected <- predict(more(fit, d$scores[2401:2600, ], d$labels[2401:2600]), d$scores)
    saveRDS(fit, file)
    expect_identical(predict(more(readRDS(file), d$scores[2401:2600, ], d$labels[2401:2600]), d$scores), expected)
    suppressMessages(write_calibrator(fit, file))
    expect_identical(predict(more(read_calibrator(file), d$scores[2401:2600, ], d$labels[2401:2600]), d$scores), expected)
  }
})

test_that("merged rows: sums stay, labels and highest scores too, zeros go to the floor", {
  d <- with_seed(73, mixed_data(500, 4))
  p <- oracle_softmax(2 * d$scores)
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  w <- with_seed(74, runif(500, 0.5, 2))
  fit <- rows_gp(p, d$labels, weights = w, control = gp_control(buffer = 120))
  rows <- unpack_rows(fit$stream$rows, 4)
  weight <- rows$weights
  z <- rows$z
  expect_length(rows$labels, 120)
  expect_equal(as.vector(rowsum(weight, rows$labels)), as.vector(rowsum(w, as.integer(d$labels))), tolerance = 1e-6)
  expect_equal(sum(rows$counts), 500)
  sums <- function(z, w, labels) unname(rowsum(w * pmax(z, log(fit$floor)), labels))
  expect_equal(sums(z, weight, rows$labels), sums(log(p), w, as.integer(d$labels)), tolerance = 1e-5)
  cells <- function(z, w, labels) tapply(w, list(factor(labels, 1:4), factor(max.col(z, "first"), 1:4)), sum)
  expect_equal(cells(z, weight, rows$labels), cells(p, w, as.integer(d$labels)), tolerance = 1e-6)
  single <- rows$counts == 1
  expect_true(any(z[single, ] == -Inf) && any(z[!single, ] == -Inf) && any(is.finite(z[!single, ])))
  # logits with -Inf: the same rows, the same summary
  same <- rows_gp(log(p), d$labels, weights = w, control = gp_control(buffer = 120))
  same <- unpack_rows(same$stream$rows, 4)
  expect_equal(same$weights, weight, tolerance = 1e-6)
  centred <- function(z) z - apply(z, 1, max)
  expect_equal(centred(same$z), centred(z), tolerance = 1e-4)
})

test_that("rows of two classes are merged by their scores, not by a map that bends back", {
  d <- with_seed(77, {
    z <- stats::runif(600, -4, 4)
    list(z = cbind(-z / 2, z / 2), y = 1 + (stats::runif(600) < stats::plogis(3 * sin(2 * z))))
  })
  fit <- rows_gp(d$z, d$y, "logits", control = gp_control(buffer = 120))
  expect_false(fit$increasing)
  kept <- unpack_rows(fit$stream$rows, 2)
  score <- kept$z[, 2] - kept$z[, 1]
  # both labels are at the same places, half as many as rows are kept
  expect_lte(length(unique(score)), 60)
  expect_true(all(table(score) <= 2))
  both <- intersect(score[kept$labels == 1], score[kept$labels == 2])
  expect_gt(length(both), 20)
  for (label in 1:2) { # the distribution of the scores stays
    all <- (d$z[, 2] - d$z[, 1])[d$y == label]
    own <- kept$labels == label
    far <- vapply(seq(-3.5, 3.5, by = 0.25), function(x) mean(all <= x) - sum(kept$weights[own & score <= x]) / sum(kept$weights[own]), 0)
    expect_lt(max(abs(far)), 0.04)
  }
})

test_that("a long chain of updates keeps its size, does not drift, and forgotten rows go", {
  d <- with_seed(75, mixed_data(900, 3))
  chain <- function(buffer, forget = 0) {
    fit <- rows_gp(d$scores[1:100, ], d$labels[1:100], control = gp_control(buffer = buffer))
    sizes <- NULL
    for (b in 1:40) {
      fit <- more(fit, d$scores[100 + 20 * (b - 1) + 1:20, ], d$labels[100 + 20 * (b - 1) + 1:20], forget = forget)
      sizes <- c(sizes, as.numeric(object.size(fit$stream)))
    }
    list(fit = fit, sizes = sizes)
  }
  whole <- rows_gp(d$scores, d$labels)
  apart <- function(fit) mean(abs(suppressWarnings(predict(fit, d$scores)) - predict(whole, d$scores)))
  kept <- chain(200)
  expect_length(unique(kept$sizes[-(1:6)]), 1)
  expect_lt(apart(kept$fit), 0.005)
  expect_equal(kept$fit$range, whole$range, tolerance = 1e-5)
  expect_lt(apart(chain(80)$fit), 0.02) # frozen before means of means run away
  lost <- chain(80, 0.6)
  expect_null(lost$fit$stream$knots)
  expect_gt(min(unpack_rows(lost$fit$stream$rows, 3)$weights), 1e-9)
  expect_lte(max(lost$sizes), max(kept$sizes))
})

test_that("by default: one batch is its fit, orders agree, refused batches change nothing, a fresh session goes on", {
  d <- with_seed(76, mixed_data(1200, 3))
  default <- function(r) suppressWarnings(calib_gp(d$scores[r, ], d$labels[r], integrate = FALSE))
  chain <- function(order) {
    fit <- default(order[1:100])
    for (b in 1:9) fit <- more(fit, d$scores[order[100 * b + 1:100], ], d$labels[order[100 * b + 1:100]])
    fit
  }
  new <- d$scores[1001:1200, ]
  fit <- chain(1:1000)
  expect_equal(fit$stream$rows$n, 1000)
  alone <- more(fit, new, d$labels[1001:1200], forget = 1)
  expect_equal(predict(alone, d$scores), predict(default(1001:1200), d$scores), tolerance = 1e-6)
  other <- chain(1000:1)
  expect_lt(abs(log_loss(predict(fit, new), d$labels[1001:1200]) - log_loss(predict(other, new), d$labels[1001:1200])), 0.002)
  expect_lt(mean(abs(predict(fit, new) - predict(other, new))), 0.005)
  before <- serialize(fit, NULL)
  expect_error(update(fit, replace(new, 5, NaN), d$labels[1001:1200]), class = "gpcalib_error_input")
  expect_error(update(fit, new, c("other", as.character(d$labels[1002:1200]))), class = "gpcalib_error_input")
  expect_identical(serialize(fit, NULL), before)
  files <- c(tempfile(), tempfile())
  on.exit(unlink(files))
  saveRDS(list(fit = fit, scores = new, labels = d$labels[1001:1200]), files[1])
  code <- c(sprintf(".libPaths(%s)", deparse(.libPaths(), 500)), "library(gpcalib)", sprintf("x <- readRDS(\"%s\")", files[1]),
    sprintf("saveRDS(predict(suppressWarnings(update(x$fit, x$scores, x$labels)), x$scores), \"%s\")", files[2]))
  expect_identical(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(paste(code, collapse = "; "))), stderr = FALSE), 0L)
  expect_identical(readRDS(files[2]), predict(more(fit, new, d$labels[1001:1200]), new))
})

test_that("how many rows are kept is known, and can be none", {
  d <- with_seed(68, mixed_data(300, 3))
  expect_null(rows_gp(d$scores, d$labels, control = gp_control(buffer = 0))$stream$rows)
  expect_equal(rows_gp(d$scores, d$labels, control = gp_control(buffer = 299))$stream$rows$n, 299)
  all <- rows_gp(d$scores, d$labels, control = gp_control(buffer = 300))$stream$rows
  expect_identical(all$n, 300L)
  expect_null(all$counts)
  expect_identical(vapply(c(2, 3, 20, 21, 26, 27, 100, 200, 201), buffer_rows, 0L, buffer = NULL, tried = TRUE),
    c(300L, 1400L, 1400L, 2000L, 2000L, 2000L, 2000L, 1000L, 0L))
  expect_identical(buffer_rows(NULL, 3, FALSE), 0L)
  expect_equal(summed_rows(300, 4, 2), 2000)
  expect_equal(summed_rows(1400, 190, 10), 2000)
  expect_equal(summed_rows(1400, 676, 26), 7000)
  expect_equal(summed_rows(80, 27, 3), 400)
  expect_equal(summed_rows(400, 0, 100), 400) # not merged
  expect_error(gp_control(buffer = -1), "buffer", class = "gpcalib_error_input")
  # logits that single precision cannot hold are frozen at once
  far <- rows_gp(cbind(c(1e35, 0, 1e35, 0), 0), c(1, 2, 1, 1), center = FALSE, class_effects = "none")
  expect_null(far$stream$rows)
  # the effective number of rows decides what is frozen
  data <- list(scores = matrix(0, 4, 2), weights = c(1, 1, 2, 4), counts = c(1, 1, 2, 4))
  expect_equal(effective_count(data), 8)
  expect_equal(effective_count(list(scores = matrix(0, 3, 2), weights = c(1, 1, 2))), 16 / 6)
})

test_that("rows of many classes are kept as they are, and frozen when there are more", {
  d <- with_seed(77, mixed_data(2400, 30))
  fit <- rows_gp(d$scores[1:1700, ], d$labels[1:1700], control = gp_control())
  expect_identical(fit$stream$rows$n, 1700L)
  expect_lt(fit$stream$rows$top, 0)
  fit <- more(fit, d$scores[1701:1900, ], d$labels[1701:1900])
  expect_null(fit$stream$rows$counts)
  expect_null(fit$stream$knots)
  whole <- rows_gp(d$scores[1:1900, ], d$labels[1:1900])
  half_sum <- function(p, q) sum(abs(p - q)) / nrow(p) / 2
  expect_lt(half_sum(predict(fit, d$scores), predict(whole, d$scores)), 0.002)
  fit <- more(fit, d$scores[1901:2100, ], d$labels[1901:2100]) # more than 2000
  expect_null(fit$stream$rows)
  expect_false(is.null(fit$stream$knots))
  fit <- more(fit, d$scores[2101:2400, ], d$labels[2101:2400])
  expect_identical(fit$stream$rows$n, 300L)
  whole <- rows_gp(d$scores, d$labels)
  expect_lt(half_sum(predict(fit, d$scores), predict(whole, d$scores)), 0.005)
})

test_that("the order of batches of many classes hardly matters", {
  for (classes in c(21, 60)) {
    d <- with_seed(78, mixed_data(1000, classes))
    run <- function(order) {
      fit <- rows_gp(d$scores[order[1:250], ], d$labels[order[1:250]], control = gp_control())
      for (b in 1:3) fit <- more(fit, d$scores[order[250 * b + 1:250], ], d$labels[order[250 * b + 1:250]])
      fit
    }
    fits <- list(run(1:1000), run(1000:1))
    p <- lapply(fits, predict, d$scores)
    expect_lt(sum(abs(p[[1]] - p[[2]])) / 2000, 0.005)
  }
})

test_that("rows of more than 200 classes are stored where `buffer` says so: the order of batches then matters less to a map that bends", {
  for (seed in c(5, 6, 81)) { # where the truth is a line the quadratics serve as well, and stored rows are rounded
    d <- with_seed(seed, {
      z <- matrix(stats::rnorm(400 * 210, sd = 1.5), 400)
      list(scores = z, labels = factor(oracle_draw(oracle_softmax(4 * tanh(z / 2) + 0.2 * z)), levels = 1:210))
    })
    apart <- function(buffer) {
      fits <- lapply(list(1:400, 400:1), function(order) {
        fit <- rows_gp(d$scores[order[1:100], ], d$labels[order[1:100]], control = gp_control(buffer = buffer))
        for (b in 1:3) fit <- more(fit, d$scores[order[100 * b + 1:100], ], d$labels[order[100 * b + 1:100]])
        fit
      })
      expect_identical(fits[[1]]$stream$rows$n, if (!is.null(buffer)) 400L)
      p <- lapply(fits, predict, d$scores)
      sum(abs(p[[1]] - p[[2]])) / 800
    }
    stored <- apart(400)
    expect_lt(stored, 0.0025)
    expect_lt(stored, apart(NULL))
  }
})

test_that("the file of a two-class fit has about 10 kB, however many updates there were", {
  d <- with_seed(82, mixed_data(900, 2))
  file <- tempfile()
  on.exit(unlink(file))
  fit <- suppressWarnings(calib_gp(d$scores[1:100, ], d$labels[1:100], class_effects = "matrix", integrate = FALSE))
  for (b in 1:8) {
    fit <- more(fit, d$scores[100 * b + 1:100, ], d$labels[100 * b + 1:100])
    saveRDS(fit, file)
    expect_lt(file.size(file), 11000)
  }
})

test_that("rows of many classes as objects had them before, in two bytes, go on", {
  d <- with_seed(79, mixed_data(1100, 60))
  fit <- rows_gp(d$scores[1:900, ], d$labels[1:900], control = gp_control())
  old <- fit
  rows <- list(z = stored_scores(list(scores = d$scores[1:900, ], input = "logits"), TRUE), labels = as.integer(d$labels[1:900]), weights = rep(1, 900),
    counts = rep(1, 900))
  old$stream$rows <- pack_rows(rows, FALSE)
  expect_gt(old$stream$rows$top, 0)
  new <- more(old, d$scores[901:1100, ], d$labels[901:1100])
  expect_identical(new$stream$rows$n, 1100L)
  expect_lt(new$stream$rows$top, 0)
  other <- more(fit, d$scores[901:1100, ], d$labels[901:1100])
  expect_lt(sum(abs(predict(new, d$scores) - predict(other, d$scores))) / 2200, 0.005)
})

test_that("quadratics of older versions, which had no rows beside them, go on", {
  d <- with_seed(69, mixed_data(400, 3))
  fit <- rows_gp(d$scores[1:200, ], d$labels[1:200], control = gp_control(buffer = 0))
  old <- fit
  old$stream$control <- NULL
  old$stream$effects$held <- old$stream$held[effect_blocks]
  old$stream$held <- old$stream$held[1:4]
  expect_identical(predict(more(old, d$scores[201:400, ], d$labels[201:400]), d$scores),
    predict(more(fit, d$scores[201:400, ], d$labels[201:400]), d$scores))
  expect_null(more(old, d$scores[201:400, ], d$labels[201:400])$stream$rows) # nor are there any later
})

test_that("more effects than a quadratic can hold: rows are merged, without them it says what to do", {
  d <- with_seed(70, mixed_data(300, 21))
  many <- function(n, buffer = NULL) {
    rows_gp(d$scores[seq_len(n), ], d$labels[seq_len(n)], class_effects = "matrix", hyper = c(variance = 0.1, lengthscale = 2, offset = 0.1,
      matrix = 0.01), control = gp_control(buffer = buffer, max_passes = 6))
  }
  fit <- many(100)
  new <- more(fit, d$scores[101:150, ], d$labels[101:150])
  expect_equal(new$stream$rows$n, 150)
  expect_error(update(many(100, 0), d$scores[101:150, ], d$labels[101:150]), "contains no rows", class = "gpcalib_error_input")
  last <- more(many(100, 120), d$scores[101:150, ], d$labels[101:150]) # still the fit of all rows
  expect_equal(predict(last, d$scores), predict(new, d$scores), tolerance = 1e-6)
  expect_equal(last$stream$rows$n, 120)
})

test_that("damaged rows are recognised", {
  d <- with_seed(71, mixed_data(60, 3))
  fit <- rows_gp(d$scores, d$labels, weights = rep(2, 60), control = gp_control(buffer = 40))
  expect_length(fit$stream$rows, 8)
  for (part in names(fit$stream$rows)) for (value in list(NULL, "x", NA, integer(), 2:1, rep(0x7f800000L, 40), rep(NA_integer_, 120))) {
    broken <- fit
    broken$stream$rows[part] <- list(value)
    if (part %in% c("weights", "counts") && is.null(value)) next # all 1
    expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  }
  broken <- fit
  broken$stream$rows$counts[1] <- 0L
  expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  broken <- fit
  broken$stream$rows <- NULL
  expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
})

test_that("damaged rows of one byte a score are recognised", {
  d <- with_seed(80, mixed_data(260, 198))
  fit <- rows_gp(d$scores, d$labels, class_effects = "offset", control = gp_control())
  expect_lt(fit$stream$rows$top, 0)
  refused <- function(rows) {
    broken <- fit
    broken$stream$rows <- rows
    expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  }
  rows <- fit$stream$rows
  for (part in names(rows$scores)) for (value in list(NULL, "x", NA, integer(), 2:1, 0L, -1L, .Machine$integer.max, NA_integer_)) {
    broken <- rows
    broken$scores[part] <- list(value)
    if (!identical(broken, rows)) refused(broken)
  }
  with_scores <- function(...) utils::modifyList(rows, list(...))
  refused(with_scores(scores = 1:10))
  refused(with_scores(n = 259L))
  refused(with_scores(n = .Machine$integer.max))
  refused(with_scores(top = 2))
  refused(with_scores(top = -1e30))
  refused(with_scores(labels = rows$labels[-1]))
  refused(c(rows, list(more = 1L)))
  refused(with_scores(scores = list(size = rows$scores$size - 40L, words = utils::head(rows$scores$words, -10)))) # ends too early
  refused(with_scores(scores = list(words = replace(rows$scores$words, 100, 5L))))
  refused(with_scores(scores = pack_bytes(raw(260 * 198 - 1))))
  expect_error(update(fit, d$scores, d$labels), NA)
})

test_that("months of rain, whose zeros have a floor, stay with the fit of all rows", {
  # Labels merged apart could be told apart by a map that bends often, and scores merged below the floor had another one chosen
  rain <- rain_nyc[order(rain_nyc$time), ]
  month <- as.integer(format(rain$time, "%m"))
  fit <- suppressWarnings(calib_gp(rain$prob[month <= 3], rain$rain[month <= 3]))
  for (now in 4:8) fit <- more(fit, rain$prob[month == now], rain$rain[month == now])
  whole <- suppressWarnings(calib_gp(rain$prob[month <= 8], rain$rain[month <= 8]))
  expect_identical(fit$floor, whole$floor)
  expect_identical(length(fit$inducing), length(whole$inducing))
  loss <- function(fit) log_loss(suppressWarnings(predict(fit, rain$prob)), rain$rain)
  expect_lt(loss(fit), loss(whole) + 0.002)
})

test_that("an update adds a chunk to coarse scores, which read as if all had been packed at once", {
  set.seed(3)
  z <- -matrix(rexp(400), 40)
  first <- list(n = 30L, top = -2, scores = pack_chunks(z[1:30, ], 2, NULL))
  expect_named(first$scores, c("size", "mask", "words"))
  both <- pack_chunks(z, 2, first)
  expect_length(both, 2)
  expect_identical(both[[1]], first$scores)
  expect_identical(unpack_chunks(both), to_coarse(z, 2))
  expect_identical(pack_chunks(z[1:30, ], 2, first), first$scores) # no row more
  expect_named(pack_chunks(z, 4, first), c("size", "mask", "words")) # another unit: all anew
  for (n in 31:40) first <- list(n = n, top = -2, scores = pack_chunks(z[seq_len(n), ], 2, first))
  expect_length(first$scores, 11)
  expect_identical(unpack_chunks(first$scores), to_coarse(z, 2))
  for (i in 1:14) first <- list(n = 40L, top = -2, scores = c(first$scores, first$scores[11]))
  expect_named(pack_chunks(rbind(z, z[1, ]), 2, first), c("size", "mask", "words")) # as many as there may be
})

test_that("an updated object with many classes is that of all its rows, and a damaged chunk is refused", {
  set.seed(4)
  k <- 60
  scores <- matrix(rnorm(1000 * k, sd = 2), 1000)
  labels <- factor(apply(scores + rnorm(1000 * k), 1, which.max), seq_len(k))
  fit <- suppressWarnings(calib_gp(scores[1:900, ], labels[1:900], integrate = FALSE))
  more <- suppressWarnings(update(fit, scores[901:1000, ], labels[901:1000]))
  rows <- more$stream$rows
  expect_length(rows$scores, 2)
  once <- stored_scores(list(scores = scores, input = "logits"), TRUE)
  expect_identical(unpack_chunks(rows$scores), to_coarse(once, -rows$top))
  expect_identical(rows$n, 1000L)
  expect_null(rows_wrong(rows, k))
  rows$scores <- rows$scores[1]
  expect_error(unpack_rows(rows, k), "scores that are none", class = "gpcalib_error")
  more$stream$rows$scores[[2]]$words <- rev(more$stream$rows$scores[[2]]$words)
  expect_error(update(more, scores[1:10, ], labels[1:10]), class = "gpcalib_error")
})

test_that("how many rows change their most likely class is counted anew while all rows are there, and unknown afterwards", {
  d <- with_seed(67, mixed_data(700, 3))
  part <- function(fit, rows, ...) more(fit, d$scores[rows, ], d$labels[rows], ...)
  few <- gp_control(buffer = 400)
  fit <- part(rows_gp(d$scores[1:200, ], d$labels[1:200], control = few), 201:400)
  now <- max.col(predict(fit, d$scores[1:400, ], approx = "mean"), "first")
  expect_gt(fit$changed, 0)
  expect_equal(fit$changed, sum(now != max.col(d$scores[1:400, ], "first")))
  expect_output(print(fit), "change their most likely class")
  merged <- part(fit, 401:500)
  expect_false(is.na(merged$changed)) # they are merged after the fit
  for (gone in list(part(merged, 501:600), part(fit, 401:500, forget = 1))) {
    expect_identical(gone$changed, NA_integer_)
    expect_output(print(gone), "changed classes of the calibration rows are not computed")
    expect_output(print(summary(gone)), "not known after updates")
    expect_identical(part(gone, 601:650)$changed, NA_integer_)
    file <- tempfile()
    saveRDS(gone, file)
    expect_equal(predict(readRDS(file), d$scores[1:5, ]), predict(gone, d$scores[1:5, ]))
    unlink(file)
  }
  # an increasing map without effects changes none, whatever became of the rows
  none <- rows_gp(d$scores[1:200, ], d$labels[1:200], class_effects = "none", monotone = TRUE)
  expect_identical(part(none, 201:400)$changed, 0L)
  # a number of an object made before is taken
  old <- part(merged, 501:600)
  old$changed <- 63
  expect_output(print(old), "63 of 600 calibration rows")
})

test_that("update() says when it begins to change the most likely class", {
  d <- with_seed(68, mixed_data(600, 3))
  d$scores[, 1] <- d$scores[, 1] + 1.5
  fit <- rows_gp(d$scores[1:40, ], d$labels[1:40])
  fit$changed <- 0L
  fit["effects"] <- list(NULL)
  fit$class_effects <- "none"
  fit$increasing <- TRUE
  expect_message(new <- more(fit, d$scores[41:600, ], d$labels[41:600]), "has class effects: it can change the most likely class of a row. Before this update the fit could not",
    class = "gpcalib_message_order")
  expect_no_message(more(new, d$scores[1:10, ], d$labels[1:10]))
  expect_no_message(more(rows_gp(d$scores[1:40, ], d$labels[1:40], class_effects = "none", monotone = TRUE), d$scores[41:600, ], d$labels[41:600]))
  expect_length(testthat::capture_messages(more(fit, d$scores[41:600, ], d$labels[41:600], forget = "auto")), 1)
})
