# Rscript bench/effects-many.R: effects beside offsets with 100 and 1000 classes, where calib_gp() has offsets alone. A
# prototype: nothing of it is in the package. The data are not part of the package; GPCALIB_DATA says where they are.
#
# With p0 the predictions of calib_gp(class_effects = "none") and p those of temperature scaling, latent values are
#
#   f_nk = log p0_nk + b_k + v_k q_nk + sum_j W_kj x_nj
#
#   offset   b alone: what calib_gp() has, in this prototype's terms
#   power    b and v, q = log p                    (eq. (33a) of the methods vignette)
#   own      b and v, q = z / rms(z): the diagonal of the matrix
#   softmax  b and W, x = p                        (the third block)
#   both     b, v with q = log p, and W
#
# each family normal about 0 with a standard deviation of its own, log-normal about a centre as in the package. Means by
# Newton's method with conjugate gradients; the posterior is diagonal, as that of the package's offsets is; standard
# deviations by the evidence with that diagonal. Predictions are tilted by the variances, eq. (35).

library(gpcalib)

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
sets <- c("cifar100_resnet50_test", "cifar100_wrn16_4", "nextword_k1000")
sizes <- c(200L, 1000L, 5000L)
splits <- eval(parse(text = Sys.getenv("SPLITS", "1:5")))
kept <- file.path(Sys.getenv("BUILD", ".build"), "effects-many")
centres <- c(b = 0.3, v = 0.05, w = 0.3) # of the standard deviations; that of the logarithm is 1
if (!file.exists(folder)) {
  cat("effects-many: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
dir.create(kept, recursive = TRUE, showWarnings = FALSE)
quietly <- function(expr) suppressMessages(suppressWarnings(expr))

soft <- function(f) {
  p <- exp(f - apply(f, 1, max))
  p / rowSums(p)
}

# The part of the latent values that coefficients c = list(b, v, w) give, and its transpose.
forward <- function(d, c) {
  f <- matrix(c$b, nrow(d$f0), ncol(d$f0), byrow = TRUE)
  if (!is.null(d$q)) f <- f + d$q * rep(c$v, each = nrow(f))
  if (!is.null(d$x)) f <- f + d$x %*% c$w
  f
}

backward <- function(d, g) {
  c(list(b = colSums(g)), if (!is.null(d$q)) list(v = colSums(g * d$q)), if (!is.null(d$x)) list(w = crossprod(d$x, g)))
}

# The same with squares: variances of latent values from those of coefficients, and curvatures.
squared <- function(d) list(f0 = d$f0, q = if (!is.null(d$q)) d$q^2, x = if (!is.null(d$x)) d$x^2)

each <- function(f, ...) Map(f, ...)
inner <- function(a, b) sum(mapply(function(x, y) sum(x * y), a, b))

# p of rows with latent means f and variances c (classes independent): eq. (35), two steps.
tilted <- function(f, c) {
  p <- soft(f)
  for (i in 1:2) p <- soft(f + 0.5 * (c * (1 - 2 * p)))
  p
}

# Newton's step by conjugate gradients, preconditioned by the diagonal.
newton <- function(d, p, at, g, diagonal, tau, steps = 10) {
  product <- function(u) {
    f <- forward(d, u)
    h <- p * f
    each(function(a, u, t) a + u / t^2, backward(d, h - p * rowSums(h)), u, tau)
  }
  r <- g
  x <- each(function(r) 0 * r, r)
  s <- each(`/`, r, diagonal)
  rz <- inner(r, s)
  first <- rz
  for (i in seq_len(steps)) {
    if (rz <= 1e-6 * first) break
    hs <- product(s)
    step <- rz / inner(s, hs)
    x <- each(function(x, s) x + step * s, x, s)
    r <- each(function(r, hs) r - step * hs, r, hs)
    z <- each(`/`, r, diagonal)
    now <- inner(r, z)
    s <- each(function(z, s) z + now / rz * s, z, s)
    rz <- now
  }
  x
}

# The best standard deviation given mean and posterior variance of its coefficients.
best_tau <- function(mean, h, centre, tau) {
  value <- function(l) { # the curvature h is held, the posterior variance is not
    t2 <- exp(2 * l)
    pull <- mean * (h + 1 / tau^2) # gradient with the quadratic's own mean
    -0.5 * sum(log1p(t2 * h)) + 0.5 * sum(pull^2 / (h + 1 / t2)) - 0.5 * (l - log(centre))^2
  }
  exp(optimize(value, log(centre) + c(-4, 4), maximum = TRUE)$maximum)
}

fit_effects <- function(d, y, steps = 15) {
  n <- nrow(d$f0)
  k <- ncol(d$f0)
  families <- c("b", if (!is.null(d$q)) "v", if (!is.null(d$x)) "w")
  at <- list(b = numeric(k), v = numeric(k), w = matrix(0, max(1, ncol(d$x)), k))[families]
  tau <- as.list(centres[families])
  d2 <- squared(d)
  hit <- matrix(0, n, k)
  hit[cbind(seq_len(n), y)] <- 1
  variances <- each(function(a, t) 0 * a + t^2 / 100, at, tau)
  for (i in seq_len(steps)) {
    p <- tilted(d$f0 + forward(d, at), forward(d2, variances))
    h <- backward(d2, p * (1 - p))
    g <- each(function(g, a, t) g - a / t^2, backward(d, hit - p), at, tau)
    move <- newton(d, p, at, g, each(function(h, t) h + 1 / t^2, h, tau), tau)
    at <- each(`+`, at, move)
    old <- unlist(tau)
    tau <- each(function(a, h, centre, t) best_tau(a, h, centre, t), at, h, as.list(centres[families]), tau)
    variances <- each(function(h, t) 1 / (h + 1 / t^2), h, tau)
    if (max(abs(log(unlist(tau) / old))) < 0.02 && inner(move, g) < 0.01) break
  }
  list(at = at, variances = variances, tau = unlist(tau))
}

predict_effects <- function(fit, d) {
  tilted(d$f0 + forward(d, fit$at), forward(squared(d), fit$variances))
}

# What a model is given of rows: log p0, and its features.
rows_of <- function(model, none, temperature, scores, rms) {
  f0 <- log(pmax(quietly(predict(none, scores)), 1e-300))
  p <- quietly(predict(temperature, scores))
  logp <- pmax(log(p), -30)
  list(f0 = unname(f0),
    q = switch(model, power = , both = unname(logp), own = unname(logp - rowMeans(logp)) / rms),
    x = if (model %in% c("softmax", "both")) unname(p))
}

models <- function(k) c("offset", "power", "own", if (k <= 100) c("softmax", "both"))

run_split <- function(data, n, seed) {
  set.seed(seed)
  rows <- sample(nrow(data$scores), n)
  x <- data$scores[rows, ]
  new <- data$scores[-rows, ]
  y <- data$labels[rows]
  truth <- data$labels[-rows]
  default <- quietly(calib_gp(x, y))
  none <- quietly(calib_gp(x, y, class_effects = "none"))
  temperature <- quietly(calib_temperature(x, y))
  loss <- function(p) mean(-log(pmax(p[cbind(seq_along(truth), truth)], 1e-12)))
  out <- data.frame(model = c("default", "none"), loss = c(loss(quietly(predict(default, new))), loss(quietly(predict(none, new)))),
    b = c(if (is.null(default$offsets)) NA else default$offsets$sd, NA), v = NA, w = NA)
  logp <- pmax(log(quietly(predict(temperature, x))), -30)
  rms <- sqrt(mean((logp - rowMeans(logp))^2))
  for (model in models(ncol(x))) {
    fit <- fit_effects(rows_of(model, none, temperature, x, rms), match(y, none$classes))
    p <- predict_effects(fit, rows_of(model, none, temperature, new, rms))
    out <- rbind(out, data.frame(model = model, loss = loss(p), b = fit$tau["b"], v = fit$tau["v"], w = fit$tau["w"]))
  }
  cbind(out, split = seed)
}

run_set <- function(name, n) {
  at <- file.path(kept, paste0(name, "-", n, "-", paste(range(splits), collapse = "-"), ".rds"))
  if (file.exists(at)) return(readRDS(at))
  data <- readRDS(file.path(folder, paste0(name, ".rds")))
  size <- nrow(data$scores)
  if (n > 1000 && size < 1.5 * n) return(NULL)
  out <- cbind(set = name, k = ncol(data$scores), n = n, do.call(rbind, lapply(splits, function(s) run_split(data, min(n, size %/% 2), s))))
  saveRDS(out, at)
  cat(name, n, "\n")
  out
}

# The table ------------------------------------------------------------------------------------

four <- function(x) ifelse(is.na(x), "", sub("^(-?)0\\.", "\\1.", sprintf("%.4f", x)))
line <- function(...) paste0("| ", paste(c(...), collapse = " | "), " |")
shown <- c("default", "none", "offset", "power", "own", "softmax", "both")

summarise <- function(part) {
  loss <- tapply(part$loss, list(part$split, part$model), mean)
  against <- function(model) {
    if (!model %in% colnames(loss)) return("")
    gap <- loss[, model] - loss[, "offset"]
    paste0(four(mean(gap)), " (", four(stats::sd(gap) / sqrt(length(gap))), ")")
  }
  sds <- function(model, what) four(mean(part[[what]][part$model == model]))
  line(part$set[1], part$n[1], four(colMeans(loss)[shown]), vapply(shown[4:7], against, ""), sds("power", "v"), sds("own", "v"),
    if (part$k[1] <= 100) sds("softmax", "w") else "")
}

results <- Filter(Negate(is.null), unlist(lapply(sizes, function(n) lapply(sets, run_set, n)), recursive = FALSE))
table <- c(line("data", "n", shown, paste(shown[4:7], "- offset (s.e.)"), "sd of power", "sd of own", "sd of softmax"),
  line(rep("---", 16)), vapply(results, summarise, ""))
if (identical(splits, 1:5)) {
  writeLines(c(
    "# Effects beside offsets with many classes: a prototype",
    "",
    paste0("`Rscript bench/effects-many.R`, which says what the columns are. Log loss (clipped at 1e-12), means over splits 1 to 5 ",
      "(`set.seed(s); sample(N, n)`), paired standard errors over the splits, against the prototype with offsets alone; `default` and ",
      "`none` are the package's. Standard deviations of the effects, means over the splits."),
    "", table), "bench/results/effects-many.md")
}
cat(table, sep = "\n")
