# Arguments for hostile calls: good ones, spoilt in one or a few ways. See helper-hostile.R.

pick_one <- function(x) x[[sample.int(length(x), 1)]]
chance <- function(p) stats::runif(1) < p

# Things that are never right
hostile_junk <- function() {
  pick_one(list(
    NULL, NA, NaN, Inf, -Inf, "", "a", character(), integer(), list(), list(1, "a"), TRUE, -1, 0, 0.5, 1e308,
    5e-324, 2^31, 1e18, -3L, NA_integer_, NA_character_, 1i, as.raw(1), quote(x), quote(f(x)), y ~ x, mean,
    globalenv(), as.Date("2020-01-01"), Sys.time(), factor("a"), data.frame(), data.frame(a = 1:3),
    matrix(list(1, 2), 1), matrix("a", 2, 2), array(0.5, c(2, 2, 2)), table(1:3), c(a = 1, b = 2),
    structure(1, class = "odd"), structure(list(), class = "calibrator"), letters, 1:3, c(TRUE, NA),
    "\xff\xfe", expression(a), as.POSIXlt("2020-01-01"), methods::getGenerics, numeric_version("1.0"),
    structure(list(1), class = "data.frame"), matrix(numeric(), 0, 3), matrix(numeric(), 3, 0)
  ))
}

hostile_values <- c(NA, NaN, Inf, -Inf, 1e308, -1e308, 5e-324, 1e-300, -1e-4, 0, 1, 2, -5, 1e5, 1 + 1e-4)

# Scores ----------------------------------------------------------------------------------

hostile_size <- function() {
  list(n = pick_one(c(2, 3, 5, 20, 60, 200)), k = pick_one(c(2, 2, 2, 3, 3, 4, 7, 30)))
}

# list(x, y): scores that belong to labels
hostile_data <- function(size = hostile_size()) {
  n <- size$n
  k <- size$k
  z <- matrix(stats::rnorm(n * k, sd = pick_one(c(0, 1e-8, 1, 1, 3, 3, 100, 1e6, 1e150))), n, k)
  if (chance(0.1)) z <- round(z)
  codes <- max.col(z + matrix(stats::rnorm(n * k), n, k) * pick_one(c(0, 1, 5)) * stats::sd(z))
  if (chance(0.1)) codes[] <- sample.int(k, 1)
  probs <- chance(0.5)
  x <- if (probs) {
    e <- exp(z - apply(z, 1, max))
    e / rowSums(e)
  } else {
    z
  }
  if (!probs && chance(0.1)) x <- x + stats::rnorm(n, sd = 1e6)
  names <- pick_one(list(letters, LETTERS, as.character(1:30), paste("class", 1:30)))[seq_len(min(k, 26))]
  if (length(names) < k) names <- paste0("k", seq_len(k))
  y <- pick_one(list(factor(names[codes], levels = names), factor(names[codes], levels = names), codes, codes - 1L,
    as.double(codes), ordered(names[codes], levels = names), names[codes]))
  if (k == 2 && chance(0.3)) {
    x <- if (probs) x[, 2] else x[, 2] - x[, 1]
    y <- pick_one(list(codes == 2, codes - 1L, factor(codes)))
  } else if (chance(0.3) && (is.factor(y) || is.character(y))) {
    colnames(x) <- pick_one(list(names, paste0(".pred_", names)))
    if (chance(0.5)) x <- x[, sample.int(k), drop = FALSE]
  }
  list(x = x, y = y, n = n, k = k)
}

hostile_scores <- function(x) {
  for (i in seq_len(pick_one(c(1, 1, 1, 2, 3)))) x <- spoil_scores(x)
  x
}

spoil_scores <- function(x) {
  if (!is.numeric(x) || !length(x)) return(x)
  is_matrix <- length(dim(x)) == 2
  n <- NROW(x)
  switch(sample.int(22, 1),
    { x[sample.int(length(x), 1)] <- pick_one(hostile_values); x },
    { x[sample.int(length(x), min(length(x), 5))] <- pick_one(hostile_values); x },
    { x[] <- pick_one(hostile_values); x },
    { if (is_matrix) x[sample.int(n, 1), ] <- pick_one(hostile_values); x },
    x * pick_one(c(1e-300, 1e-6, 1e6, 1e300, 0, -1, 100)),
    x + pick_one(c(1e-9, 1, 1e8, 1e300, -1e300)),
    if (is_matrix) x[0, , drop = FALSE] else x[0],
    if (is_matrix) x[1, , drop = FALSE] else x[1],
    if (is_matrix) x[, 1, drop = FALSE] else matrix(x),
    if (is_matrix) t(x) else t(matrix(x)),
    as.data.frame(unclass(x)),
    { x <- as.data.frame(unclass(x)); x$extra <- factor(rep_len(c("u", "v"), n)); x },
    { x <- as.data.frame(unclass(x)); x[[1]] <- as.list(x[[1]]); x },
    { if (is_matrix) colnames(x) <- rep("a", ncol(x)); x },
    { if (is_matrix) colnames(x) <- sample(c("a", "b", NA, "", ".pred_a"), ncol(x), TRUE); x },
    { suppressWarnings(storage.mode(x) <- pick_one(c("character", "complex", "integer", "logical"))); x },
    if (is_matrix) cbind(x, x) else c(x, x),
    array(x, c(dim(x), 1)[seq_len(if (is_matrix) 3 else 1)]),
    structure(x, class = "odd"),
    if (is_matrix) x[, rep(1, ncol(x)), drop = FALSE] else rep(x[1], length(x)),
    { rownames(x) <- if (is_matrix) rep("r", n); x },
    if (is_matrix) x[sample.int(n, n, TRUE), , drop = FALSE] else x[sample.int(n, n, TRUE)]
  )
}

# Labels and weights ----------------------------------------------------------------------

hostile_labels <- function(y) {
  n <- length(y)
  switch(sample.int(20, 1),
    { y[sample.int(n, 1)] <- NA; y },
    y[-1], c(y, y), y[0], rep(y[1], n), as.list(y), data.frame(y = y), matrix(y, n), matrix(as.character(y), 1),
    factor(y, levels = c(unique(as.character(y)), "never")), suppressWarnings(as.numeric(as.character(y)) + 0.5),
    as.integer(factor(y)) - 5L, as.integer(factor(y)) * 1e9,
    structure(rep(99L, n), levels = c("a", "b"), class = "factor"), rep(c("", NA, "a"), length.out = n),
    as.character(seq_len(n)), as.Date(seq_len(n), origin = "2020-01-01"), rep("\xff", n), rep(Inf, n),
    if (chance(0.1)) factor(sample.int(1e6, n), levels = seq_len(1e6)) else factor(y, levels = rev(levels(factor(y))))
  )
}

hostile_weights <- function(n) {
  switch(sample.int(16, 1),
    rep(1, n), stats::runif(n), rep(0, n), replace(rep(1, n), 1, -1), replace(rep(1, n), 1, NA),
    replace(rep(1, n), 1, Inf), rep(1e308, n), rep(5e-324, n), replace(rep(0, n), 1, 1), rep("a", n),
    as.list(rep(1, n)), rep(1, n + 1), 1, matrix(1, n, 2), factor(rep(1, n)), c(1e280, rep(1e-280, n - 1))
  )
}

# Other arguments -------------------------------------------------------------------------

# Good and odd values of an argument by its name
hostile_argument <- function(name) {
  good <- switch(name,
    input = c("auto", "probs", "logits"), mean = c("linear", "identity", "log", "auto"),
    class_effects = c("auto", "none", "offset", "matrix"), matrix_classes = list(2, 5, 26, 1, 1e9),
    softmax_classes = list(2, 5, 14, 1, 1e9), covariance = c("full", "diag"), center = c(TRUE, FALSE), floor = c(1e-3, 1e-8, 0.4, 0.6, 1e-300),
    inducing = list(2, 5, 16, 40, c(-1, 0, 1), c(0, 1e10), c(1, 1), 1001, c(1e300, -1e300)), optimize_inducing = c(TRUE, FALSE), integrate = c(TRUE, FALSE),
    hyper = list(c(variance = 1), c(lengthscale = 1), c(lengthscale = 1e-5), c(noise = 0), c(slope = 1), c(slope = -1),
      c(variance = 1e300), c(variance = 1e-300), c(lengthscale = 1e10), list(slope = 2, noise = 1), c(offset = 1), c(offset = 1e-300), c(matrix = 1e90), c(matrix = 0.1, softmax = 1), c(1, 2), c(a = 1),
      c(variance = NA), c(noise = 1e300), list(variance = "a"), list(variance = list(1)), c(slope = 1e300)),
    control = list(gp_control(max_passes = 3), gp_control(matrix_classes = 3), gp_control(softmax_classes = 2), list(tol = 1), list(tol = 1, max_passes = 2, trace = NA)),
    threads = list(1, 2, 64), tol = c(1e-10, 1e-3, 0.1), max_iter = c(1, 2, 100), max_passes = c(1, 50), trace = c(TRUE, FALSE),
    ridge = list(1, 0, Inf, 1e-300, 1e300, c(offset = 1, slope = 0.1), c(slope = 0, offset = Inf), c(1, 2), -1, NaN),
    targets = c("smoothed", "raw"), scale = c("score", "logit"), params = c("abm", "am", "ab"),
    clip = c(1e-300, 1e-10, 0.1), interpolate = c(TRUE, FALSE), bins = list(1, 2, 15, 100, 1e6, 1e6 + 1, 2.5),
    norm = list(1, 1.5, 2, 3, 700, Inf, 0.5, 1e308), binning = c("width", "mass"), estimator = c("mean", "midpoint", "unweighted"),
    event = list("a", 1, 2, TRUE, "TRUE", "zz", c("a", "b")), debias = c(TRUE, FALSE), eps = c(0, 1e-10, 1),
    conf_level = list(0.9, 0.5, 1 - 1e-12, 1e-12, 0, 1), replicates = list(20, 50, 19, 1e10), method = c("bins", "isotonic", "smooth"),
    level = list(0.9, 0.5, 0.9999, 1 - 1e-9, 1e-9, 0, 1), approx = c("delta", "mean", "mc"), n_draws = list(2, 3, 50, 1, 1e7),
    independent = c(TRUE, FALSE), p = list(c(0, 0.5, 1), numeric(), 0.3, c(0.1, NA), 1.2, c(5e-324, 1 - 1e-16), -1e-20),
    z = list(c(-1, 0, 1), numeric(), 1e300, -1e300, c(1e308, -1e308), 5e-324, NA, Inf, "a", 0, matrix(1, 2, 2)),
    interval = c("wilson", "exact", "clopper"), classes = list(1, 3, "a", c("a", "b"), c("a", "a"), 0, NULL, 1e10),
    histogram = c(TRUE, FALSE), base_size = list(9, 1, 100, 0, 1e9), points = list(2, 50, 1, 1e9), rows = list(1, 5, 0, 1e9),
    range = list(c(-1, 1), c(1, -1), c(0, 1e300), c(0.1, 0.5), c(NA, 1), 1, c(-1e-300, 1e-300)),
    compare = list("prior", "temperature", "identity", character(), "other"),
    type = c("prob", "class", "latent", "interval", "draws", "confidence", "classwise", "top_label", "event", "auto",
      "multiclass", "binary"),
    methods = list("none", c("none", "temperature"), "zzz", list("gp", mean = "log"), list(a = "none", a = "platt"),
      list("temperature", calib_beta), function(scores, labels) stop("no"), function(scores, labels) function(newdata) 1,
      list("platt", predict = 3), list(flat = list("gp", predict = list(approx = "mean"))), character()),
    n_cal = list(10, 0.5, 1, 0, 1e9, NULL, c(3, 4)), n_test = list(5, 0.2, 1, 0, 1e9),
    splits = list(1, 2, 3, 0, list(1:2), list(list(cal = 1:2, test = 2:3)), list(list(cal = 1, test = 1e9)), list(NULL)),
    metrics = list("ece", c("mce", "log_loss"), "zzz", function(probs, labels) NaN, function(probs, labels) "a",
      list("ece", list("ece", bins = 3)), list(a = function(probs, labels) stop("no")), "overconfidence", list()),
    by = list("a", 1:2, rep("a", 20), NA), band = list("consistency", "confidence", "simultaneous", "none"),
    event_level = list("first", "second", "third"), truth = list("y", quote(y), 1), estimate = list("p", quote(p)),
    stratify = c(TRUE, FALSE), vary_slope = c(TRUE, FALSE),
    groups = list(1:2, rep("a", 20), NA), time = list(rep(1, 20), Sys.time() + 1:200, NA),
    prior = list(0.3, c(0.5, 0.5), c(0.2, 0.3, 0.5), c(a = 0.1, c = 0.2, b = 0.7), c(1, 0), c(0, 0, 1), c(0.5, 0.6), 1e-300),
    parm = list(1, "slope", "temperature", 99, character()), bandwidth = list(0.1, 1e-4, 2, 0),
    kernel = c("laplace", "gaussian"), reference = list(NULL, 1, "one", "climatology", 5),
    weights = list(hostile_weights(5), NULL), forget = list(0, 0.2, 1, -1, 2),
    period = list("a", 1:20, NA, Sys.Date(), factor("b"), NULL), id = list(1:20, letters, NA, NULL),
    alternatives = list("bins", c("temperature", "offset"), "zzz", character(), c("bins", "bins")),
    n = list(1, 2, 2, 5, 20, 0, 1e9, 1.5), strategy = list("mixed", "information", "entropy", "random", "zzz"),
    random = list(0, 0.3, 1, 2, -1), threshold = list(0, 0.01, 1, -1, 1e9),
    scores = list(NULL, "log_loss", c("rps", "brier_score"), "auc"),
    list(NULL))
  if (chance(0.25)) hostile_junk() else pick_one(good)
}

# Objects ---------------------------------------------------------------------------------

hostile_cache <- new.env()

# Fits of every method for two and three classes, logits and probabilities, made once
hostile_objects <- function() {
  if (is.null(hostile_cache$fits)) {
    old <- get0(".Random.seed", globalenv(), inherits = FALSE)
    d <- oracle_data(90, 3, seed = 8)
    p <- oracle_softmax(d$z)
    fits <- list()
    for (name in hostile_fits) {
      make <- getExportedValue("gpcalib", name)
      fits <- suppressWarnings(c(fits, list(make(d$z, d$y), make(p, factor(letters[d$y])), make(p[, 2], d$y == 2),
        make(d$z[, 2], d$y == 2, input = "logits"))))
    }
    effects <- lapply(c("none", "offset", "matrix"), function(e) suppressWarnings(calib_gp(d$z, d$y, class_effects = e)))
    many <- oracle_data(90, 30, seed = 9)
    offsets <- lapply(c("offset", "matrix"), function(e) suppressWarnings(calib_gp(many$z, factor(many$y, levels = 1:30), class_effects = e)))
    hostile_cache$fits <- suppressWarnings(c(fits, effects, offsets, list(calib_gp(p, d$y, mean = "log"),
      calib_gp(d$z, d$y, monotone = TRUE), calib_gp(p, d$y, mean = "log", monotone = TRUE),
      calib_gp(d$z, d$y, center = FALSE, covariance = "diag", inducing = 10))))
    assign(".Random.seed", old, envir = globalenv())
  }
  hostile_cache$fits
}

hostile_object <- function(spoil) {
  fit <- pick_one(hostile_objects())
  if (spoil) fit <- spoil_object(fit)
  fit
}

spoil_object <- function(fit) {
  kind <- class(fit)
  fields <- unclass(fit)
  at <- sample.int(length(fields), 1)
  value <- fields[[at]]
  inner <- intersect(c("effects", "offsets"), names(fields))
  if (length(inner) && is.list(fields[[inner[1]]]) && chance(0.3)) { # of the effects' own fields
    part <- fields[[inner[1]]]
    one <- sample.int(length(part), 1)
    part[one] <- list(switch(sample.int(3, 1), hostile_junk(),
      if (is.numeric(part[[one]])) flip_bits(part[[one]]), part[[one]][-1]))
    fields[[inner[1]]] <- part
    return(structure(fields, class = kind))
  }
  switch(sample.int(9, 1),
    fields[at] <- list(hostile_junk()),
    fields <- fields[-at],
    fields <- fields[seq_len(at)],
    if (is.numeric(value) && length(value)) {
      fields[[at]][sample.int(length(value), 1)] <- pick_one(hostile_values)
    },
    if (is.numeric(value)) fields[[at]] <- flip_bits(value),
    if (is.atomic(value) && length(value)) fields[[at]] <- value[-1],
    fields$format <- pick_one(list(0L, 1L, 2L, 3L, 1000L, NA, "2")),
    kind <- pick_one(list(c("calib_gp", "calibrator"), c("calib_platt", "calibrator"), "calibrator", c("odd", "calibrator"))),
    names(fields)[at] <- pick_one(c("", "odd", NA, "method"))
  )
  structure(fields, class = kind)
}

# A random bit of a random double or integer
flip_bits <- function(x) {
  bytes <- writeBin(as.vector(x), raw())
  if (!length(bytes)) return(x)
  at <- sample.int(length(bytes), 1)
  bytes[at] <- xor(bytes[at], as.raw(2^sample(0:7, 1)))
  x[] <- readBin(bytes, typeof(x), length(x))
  x
}

# Plans -----------------------------------------------------------------------------------

hostile_plan <- function() {
  group <- pick_one(c("fit", "fit", "measure", "method", "method", "other"))
  what <- pick_one(switch(group, fit = hostile_fits, measure = hostile_measures, method = hostile_methods,
    other = hostile_others))
  args <- switch(group, fit = , measure = hostile_pair_args(what), method = hostile_method_args(what),
    other = if (what == "gp_control") hostile_extra(list(), names(formals(gp_control)), 0.7) else hostile_pair_args(what))
  list(what = what, args = args, said = vapply(args, hostile_say, ""))
}

hostile_extra <- function(args, names, p) {
  for (name in names) if (chance(p)) args[name] <- list(hostile_argument(name))
  args
}

hostile_pair_args <- function(what) {
  study <- what %in% c("calib_study", "study_methods") # whatever is spoilt, it stops: seldom, then
  data <- if (study) hostile_data(list(n = pick_one(c(5, 20, 60, 200)), k = pick_one(2:4))) else hostile_data()
  args <- list(data$x, data$y)
  if (chance(if (study) 0.3 else 0.6)) args[[1]] <- hostile_scores(args[[1]])
  if (chance(if (study) 0.1 else 0.25)) args[2] <- list(hostile_labels(args[[2]]))
  if (chance(0.03)) args[1] <- list(hostile_junk())
  if (chance(0.03)) args[2] <- list(hostile_junk())
  fun <- switch(what, table_methods = reliability_table, study_methods = calib_study, validate_methods = calib_validate,
    getExportedValue("gpcalib", what))
  names(args) <- names(formals(fun))[1:2]
  if (what %in% c("plot_reliability", "plot_confidence") && chance(0.3)) {
    args$x <- list(one = args$x, two = args$x)[seq_len(sample.int(2, 1))]
  }
  if (what %in% c("plot_murphy", "compare_forecasts", "net_benefit") && chance(0.7)) {
    args[[1]] <- list(one = args[[1]], two = data$x)
  }
  if (what == "calib_test" && chance(0.8)) {
    args["method"] <- pick_one(c("likelihood", "spiegelhalter", "mcb", "skce"))
    args["replicates"] <- 19
  }
  if (what != "calib_test" && chance(if (study) 0.1 else 0.3)) args["weights"] <- list(hostile_weights(data$n))
  if (what == "plot_reliability") fun <- reliability_table
  extra <- setdiff(names(formals(fun)), c(names(formals(fun))[1:2], "weights", "..."))
  if (what == "calib_metrics") extra <- c(extra, setdiff(names(formals(ece)), c("probs", "labels", "weights")))
  args <- hostile_extra(args, extra, if (study) 0.07 else 0.15)
  if (what %in% c("calib_metrics", "plot_confidence", "reliability_table", "plot_reliability", "table_methods") &&
    is.null(args$replicates) && "replicates" %in% extra) args$replicates <- 25
  if (!study) for (name in intersect(c("by", "groups"), extra)) {
    if (chance(0.15)) args[[name]] <- sample(letters[seq_len(pick_one(c(1, 2, 5, 26)))], data$n, TRUE)
  }
  if (study) { # all methods ten times would take too long
    if (chance(0.1)) args$groups <- sample.int(data$n, data$n, TRUE)
    if (chance(0.1)) args$time <- stats::rnorm(data$n)
    if (is.null(args$methods)) args$methods <- pick_one(list("temperature", c("none", "histogram")))
    if (is.null(args$splits)) args$splits <- 2
  }
  if (chance(0.03)) args <- args[-1]
  args
}

hostile_method_args <- function(what) {
  object <- hostile_object(spoil = chance(0.5))
  k <- if (is.character(object$classes)) max(2, length(object$classes)) else 3
  data <- hostile_data(list(n = pick_one(c(2, 5, 20)), k = min(k, 10)))
  new <- if (chance(0.5)) hostile_scores(data$x) else data$x
  if (chance(0.03)) new <- hostile_junk()
  args <- switch(what,
    predict = , augment = , plot_interval = , estimate_prior = list(object, newdata = new),
    latent = list(object, z = hostile_argument("z")),
    update = list(object, scores = new, labels = hostile_update_labels(object, data$y)),
    merge = list(object, y = hostile_object(spoil = chance(0.3))), calib_query = list(object, scores = new, n = hostile_argument("n")),
    calib_switch = list(object, scores = new), list(object))
  names(args)[1] <- switch(what, predict = , summary = , coef = , nobs = , autoplot = , latent = , calib_map = ,
    plot_interval = , update = , logLik = , vcov = , confint = , estimate_prior = "object",
    calib_query = , calib_switch = "fit", "x")
  extra <- switch(what, predict = c("type", "threads", "level", if (inherits(object, "calib_gp")) {
    c("approx", "n_draws", "independent", "vary_slope")
  } else {
    "prior"
  }), confint = c("parm", "level"), update = c("weights", "forget"),
    calib_query = c("strategy", "random", "threads"), calib_switch = "threshold", estimate_prior = c("tol", "max_iter"), calib_map = c("p", "level"), plot_map = c("level", "classes", "points", "base_size"),
    plot_latent = c("compare", "level", "range", "histogram", "inducing", "base_size"),
    plot_interval = c("labels", "level", "classes", "rows", "n_draws", "base_size"))
  if (what %in% c("plot_map", "plot_latent") && chance(0.3)) args$x <- list(one = args$x, two = hostile_object(FALSE))
  args <- hostile_extra(args, extra, 0.3)
  if ("newdata" %in% names(args) && chance(0.03)) args$newdata <- NULL
  args
}

# Labels of an object's own classes, or others
hostile_update_labels <- function(object, y) {
  if (chance(0.7) && is.character(object$classes)) y <- object$classes[as.integer(factor(y)) %% length(object$classes) + 1]
  if (chance(0.2)) hostile_labels(y) else y
}

hostile_say <- function(x) {
  if (is.function(x)) return("<function>")
  if (is.atomic(x) && length(x) <= 3 && is.null(attributes(x))) {
    return(paste(iconv(deparse(x), sub = "byte"), collapse = ""))
  }
  paste0("<", class(x)[1], " ", paste(if (is.null(dim(x))) length(x) else dim(x), collapse = "x"), ">")
}
