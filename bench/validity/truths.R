# Truths for bench/validity/intervals.R: scores like a classifier's, and labels drawn from the softmax of known latent
# values.

softmax <- function(f) {
  e <- exp(f - apply(f, 1, max))
  e / rowSums(e)
}

draw_labels <- function(p) {
  gumbel <- -log(-log(matrix(stats::runif(length(p)), nrow(p))))
  factor(max.col(log(p) + gumbel, "first"), levels = seq_len(ncol(p)))
}

# Centred logits: noise, and one class a good deal above the rest; of two classes log-odds with standard deviation 2.5
draw_scores <- function(n, k) {
  if (k == 2) return(outer(stats::rnorm(n, sd = 1.25), c(1, -1)))
  z <- matrix(stats::rnorm(n * k), n)
  top <- cbind(seq_len(n), sample(k, n, TRUE))
  z[top] <- z[top] + stats::rgamma(n, 3, 3 / (1.5 + log(k)))
  z - rowMeans(z)
}

# A map from the prior of the process: standard deviation 1, lengthscale a fifth of the width of the scores
prior_map <- function(k) {
  width <- if (k == 2) 7.5 else 6 + log(k)
  at <- seq(-3 * width, 3 * width, length.out = 300)
  half <- chol(exp(-outer(at, at, "-")^2 / (2 * (width / 5)^2)) + diag(1e-8, length(at)))
  stats::splinefun(at, 0.8 * at + drop(stats::rnorm(length(at)) %*% half))
}

shape <- function(map) function(k) map
shapes <- list(
  line = shape(function(z) 0.7 * z),
  tanh = shape(function(z) 2 * tanh(z)),
  step = shape(function(z) 0.3 * z + 1.5 * tanh(4 * z)),
  power = shape(function(z) 0.6 * sign(z) * abs(z)^1.6),
  root = shape(function(z) 1.5 * sign(z) * sqrt(abs(z))),
  saturating = shape(function(z) ifelse(z < 1, 0.9 * z, 0.9 + 0.15 * (z - 1))),
  prior = prior_map,
  # not looked at before the final run:
  sine = shape(function(z) 0.8 * z + 0.6 * sin(2 * z)),
  cubic = shape(function(z) 0.5 * z + 0.04 * z^3),
  hinge = shape(function(z) 0.3 * z + 0.9 * log1p(exp(2 * (z - 0.5)))),
  "line 1.4" = shape(function(z) 1.4 * z)
)
# Two classes alone: true log-odds of the first by those of its scores, not odd as the differences of a shared map are
odds <- list(
  bump = function(d) 0.8 * d + exp(-d^2 / 1.5),
  # not looked at before the final run:
  "one side" = function(d) ifelse(d < 0, d, 0.4 * d)
)
held_out <- c("sine", "cubic", "hinge", "line 1.4", "cubic, shifted", "one side")
lines <- c("line", "line 1.4", "line, shifted")

# Latent values as a function of centred scores. "..., shifted": classes have offsets of their own (two classes: the
# log-odds are 1.5 off, as after training on rebalanced classes; more: standard deviation .5)
make_truth <- function(name, k) {
  map <- if (!name %in% names(odds)) shapes[[sub(", shifted", "", name)]](k)
  offset <- if (!grepl("shifted", name)) numeric(k) else if (k == 2) c(0.75, -0.75) else stats::rnorm(k, sd = 0.5)
  if (name %in% names(odds)) return(function(z) outer(odds[[name]](z[, 1] - z[, 2]), c(0.5, -0.5)))
  function(z) array(map(z), dim(z)) + rep(offset, each = nrow(z))
}
