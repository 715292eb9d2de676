# Small calls that between them pass every .Call entry; `all_calls(size)` is a list of functions
# without arguments. Used by torture.R, valgrind.R, numbers.R and builds.R.
small_data <- function(n = 40, k = 3, seed = 1) {
  set.seed(seed)
  z <- matrix(rnorm(n * k, sd = 2), n)
  y <- max.col(z + matrix(rnorm(n * k, sd = 2), n))
  y[seq_len(k)] <- seq_len(k)
  e <- exp(z - apply(z, 1, max))
  list(z = z, p = e / rowSums(e), y = y)
}

fitters <- list(gp = calib_gp, temperature = calib_temperature, platt = calib_platt,
  isotonic = calib_isotonic, beta = calib_beta, bbq = calib_bbq, histogram = calib_histogram, vector = calib_vector, matrix = calib_matrix, none = calib_none)

all_calls <- function(n = 40, threads = 1) {
  d <- small_data(n)
  two <- small_data(n, 2, 2)
  wide <- small_data(n, 30, 3)
  w <- rep(c(1, 2, 0.5), length.out = n)
  new <- d$z[1:7, ] * 1.5
  calls <- list()
  for (name in setdiff(names(fitters), "none")) local({
    f <- fitters[[name]]
    extra <- list(threads = threads)
    fit <- function(...) do.call(f, c(list(...), extra))
    calls[[paste(name, "logits")]] <<- function() suppressWarnings(predict(fit(d$z, d$y), new, threads = threads))
    calls[[paste(name, "probs")]] <<- function() predict(fit(d$p, d$y, weights = w), d$p[1:7, ], threads = threads)
    calls[[paste(name, "pair")]] <<- function() predict(fit(two$p[, 2], two$y == 2), two$p[1:7, 2], threads = threads)
    calls[[paste(name, "map")]] <<- function() {
      set.seed(5)
      calib_map(fit(two$p[, 2], two$y == 2), c(0.1, 0.5, 0.9))
    }
  })
  bound <- get0("gp_bound", mode = "function", ifnotfound = asNamespace("gpcalib")$gp_bound)
  gp <- calib_gp(d$z, d$y)
  plain <- calib_gp(d$z, d$y, class_effects = "none")
  c(calls, list(
    none = function() predict(calib_none(d$z, d$y), new),
    "gp wide" = function() predict(calib_gp(wide$z, wide$y, threads = threads), wide$z[1:5, ]),
    "gp wide matrix" = function() { # features of many classes, fitted after the process
      many <- small_data(120, 40, 4)
      fit <- suppressWarnings(calib_gp(many$z, many$y, class_effects = "matrix", threads = threads))
      at <- many$z[1:5, ]
      set.seed(1)
      list(predict(fit, at), predict(fit, at, type = "draws", n_draws = 10), predict(fit, at, type = "interval", n_draws = 20),
        predict(fit, at, type = "latent"))
    },
    "gp effects, single precision" = function() { # so many that their covariance takes four bytes a number
      seven <- small_data(200, 7, 6)
      predict(suppressWarnings(calib_gp(seven$z, seven$y, class_effects = "matrix", threads = threads)), seven$z[1:5, ])
    },
    "gp rows merged" = function() {
      rows <- small_data(200)
      predict(calib_gp(rows$z, rows$y, control = gp_control(buffer = 50)), new)
    },
    "gp bent" = function() { # a map that is no line: the optimiser has a way to go
      bent <- small_data(600, 4, 11)
      bent$z <- sign(bent$z) * abs(bent$z)^1.8
      predict(calib_gp(bent$z, bent$y, threads = threads), bent$z)
    },
    "gp log, diag" = function() predict(calib_gp(d$p, d$y, mean = "log", covariance = "diag"), d$p[1:5, ]),
    "gp moved" = function() predict(calib_gp(d$z, d$y, inducing = 6, optimize_inducing = TRUE), new),
    "gp monotone" = function() {
      set.seed(1)
      ordered <- calib_gp(d$z, d$y, monotone = TRUE, threads = threads)
      logs <- calib_gp(d$p, d$y, mean = "log", monotone = TRUE)
      list(predict(ordered, new, threads = threads), predict(ordered, new, type = "draws", n_draws = 10),
        predict(ordered, new, type = "interval", n_draws = 20), predict(ordered, new, type = "latent"),
        predict(logs, d$p[1:5, ]))
    },
    "gp mc" = function() { set.seed(1); predict(gp, new, approx = "mc", n_draws = 10, threads = threads) },
    "gp independent" = function() { set.seed(1); predict(plain, new, approx = "mc", n_draws = 10, independent = TRUE) },
    "gp draws" = function() { set.seed(1); predict(gp, new, type = "draws", n_draws = 10) },
    "gp interval" = function() { set.seed(1); predict(gp, new, type = "interval", n_draws = 20) },
    "gp latent" = function() list(predict(gp, new, type = "latent"), latent(gp, c(-1, 0, 1))),
    "gp far" = function() suppressWarnings(predict(gp, new * 1e3)),
    "gp bound" = function() lapply(c("direct", "grid", "rows"), function(route) {
      bound(d$z, d$y, c(-4, 0, 4), c(0.1, 0, 0.2), diag(0.5, 3), c(variance = 1, lengthscale = 3),
        route = route)
    }),
    picture = function() autoplot(gp)$data,
    zeros = function() predict(calib_temperature(rbind(c(0, 0.4, 0.6), d$p), c(2, d$y)), d$p[1:5, ]),
    measures = function() suppressWarnings(list(calib_metrics(d$p, d$y, bins = 5, weights = w),
      ece(d$p, d$y, binning = "mass", type = "classwise"), mce(d$p, d$y, type = "top_label"))),
    resampled = function() { set.seed(2); calib_metrics(d$p, d$y, bins = 5, conf_level = 0.9, replicates = 30) },
    tables = function() {
      set.seed(3)
      list(reliability_table(d$p, d$y, bins = 5), reliability_table(two$p[, 2], two$y == 2, method = "isotonic",
        type = "event", conf_level = 0.9, replicates = 20))
    },
    ruled_out = function() {
      z <- rbind(c(-Inf, 1, 0), d$z)
      predict(calib_temperature(z, c(2, d$y)), z[1:3, ])
    },
    comparison = function() {
      compare_forecasts(list(d$p, (d$p + 0.1) / 1.3), ordered(d$y), groups = rep(1:8, length.out = n))
    },
    "tests of calibration" = function() lapply(c("likelihood", "spiegelhalter", "mcb", "skce"), function(method) {
      set.seed(4)
      calib_test(d$p, d$y, method, replicates = 19)$p.value
    }),
    "asymptotic tests" = function() list(calib_test(d$p, d$y)$p.value, calib_test(d$p, d$y, "skce", estimator = "linear")$p.value),
    smooth = function() smooth_ece(d$p, d$y),
    murphy = function() plot_murphy(two$p[, 2], two$y == 2)$data,
    "venn-abers" = function() predict(calib_isotonic(d$p, d$y, type = "venn-abers"), d$p[1:7, ], type = "interval"),
    shift = function() {
      fit <- calib_none(d$p, d$y)
      list(estimate_prior(fit, d$p), predict(fit, d$p[1:5, ], prior = c(0.2, 0.3, 0.5)))
    },
    intervals = function() predict(calib_beta(two$p[, 2], two$y == 2), c(0.1, 0.7), type = "interval"),
    "gp without effects" = function() {
      set.seed(1)
      list(predict(plain, new), predict(plain, new, type = "interval", n_draws = 20), predict(plain, new, type = "latent"),
        predict(plain, new, type = "draws", n_draws = 10))
    },
    "gp short" = function() {
      many <- small_data(60, 9, 12)
      predict(calib_gp(many$z, many$y, class_effects = "matrix", integrate = FALSE, threads = threads), many$z[1:5, ])
    },
    "gp short again" = function() { # the short form made of the full one, as tests do
      many <- small_data(60, 9, 12)
      fit <- calib_gp(many$z, many$y, class_effects = "matrix", integrate = FALSE, threads = threads)
      effects <- gpcalib:::gp_full_effects(fit)$effects
      .Call(gpcalib:::C_effects_short, effects, 9L, as.integer(length(fit$inducing) + effects$slopes), gpcalib:::alike_pairs)
    },
    "gp offsets" = function() {
      set.seed(1)
      fit <- calib_gp(wide$z, wide$y, class_effects = "offset", threads = threads)
      list(predict(fit, wide$z[1:5, ]), predict(fit, wide$z[1:5, ], type = "interval", n_draws = 20),
        predict(fit, wide$z[1:5, ], approx = "mc", n_draws = 10))
    },
    "gp low floor" = function() {
      p <- exp(6 * (d$z - apply(d$z, 1, max)))
      predict(calib_gp(p / rowSums(p), d$y, integrate = FALSE), d$p[1:5, ])
    },
    queries = function() lapply(c("mixed", "information", "entropy"), function(strategy) {
      set.seed(6)
      as.data.frame(calib_query(gp, d$z, 3, strategy = strategy))
    }),
    switch = function() calib_switch(gp, d$z)$gain,
    file = function() {
      at <- tempfile()
      on.exit(unlink(at))
      write_calibrator(calib_gp(d$z, d$y, monotone = TRUE), at)
      readLines(at)
    },
    "grouped tests" = function() lapply(c("mcb", "skce"), function(method) {
      set.seed(4)
      calib_test(d$p, d$y, method, replicates = 19, groups = rep(1:12, length.out = n))$p.value
    }),
    validation = function() {
      set.seed(7)
      calib_validate(two$p[, 2], two$y == 2, groups = rep(1:12, length.out = n))
    },
    monitor = function() calib_monitor(two$p[, 2], two$y == 2, period = rep(1:2, length.out = n)),
    updates = function() lapply(list(calib_temperature, calib_platt, calib_beta, calib_vector, calib_matrix, calib_gp), function(f) {
      predict(suppressWarnings(update(f(d$p, d$y), d$p[1:9, ], d$y[1:9])), d$p[1:5, ])
    }),
    "packed scores" = function() {
      below <- -abs(d$z)
      below[1] <- -Inf
      list(.Call(gpcalib:::C_short_scores, below, 6), .Call(gpcalib:::C_coarse_scores, below, 1, 0.04), .Call(gpcalib:::C_median_below, below))
    },
    "updates of 205 classes" = function() { # batches are frozen about a loosened map
      many <- small_data(220, 205, 13)
      first <- suppressWarnings(calib_gp(many$z[1:210, ], factor(many$y[1:210], levels = 1:205), integrate = FALSE))
      predict(suppressWarnings(update(first, many$z[211:220, ], many$y[211:220])), many$z[1:3, ])
    },
    "interval of a pair" = function() {
      set.seed(8)
      predict(calib_gp(two$p[, 2], two$y == 2), c(0.01, 0.4, 0.9), type = "interval", n_draws = 40)
    },
    "maps of classes" = function() calib_map(calib_isotonic(d$p, d$y), c(0.1, 0.5)),
    odd = function() predict(calib_none(d$p * (1 + 1e-4), d$y), d$p[1:3, ] * (1 - 1e-4))
  ))
}
