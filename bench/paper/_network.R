# A network with one hidden layer of rectified units and a softmax output, trained by plain
# stochastic gradient descent: small, but a real one.

# Cases are columns: they lie together in memory, and all large products run along columns.

new_network <- function(inputs, hidden, classes) {
  list(
    w1 = matrix(rnorm(hidden * inputs, sd = sqrt(2 / inputs)), hidden, inputs), b1 = numeric(hidden),
    w2 = matrix(rnorm(classes * hidden, sd = sqrt(2 / hidden)), classes, hidden), b2 = numeric(classes)
  )
}

# Logits with cases in rows, as everywhere else; `x` [inputs x cases].
network_logits <- function(net, x) {
  h <- net$w1 %*% x + net$b1
  h[h < 0] <- 0
  t(net$w2 %*% h + net$b2)
}

# One pass over all cases in random order; `y` are codes from 1.
train_epoch <- function(net, x, y, rate, batch) {
  order <- sample.int(ncol(x))
  for (first in seq(1, ncol(x), by = batch)) {
    cases <- order[first:min(first + batch - 1, ncol(x))]
    xb <- x[, cases, drop = FALSE]
    h <- net$w1 %*% xb + net$b1
    on <- h > 0
    h <- h * on
    # d loss / d logits = p - [the true class], averaged over the batch
    d <- exp(net$w2 %*% h + net$b2)
    d <- d / rep(colSums(d), each = nrow(d))
    at <- cbind(y[cases], seq_along(cases))
    d[at] <- d[at] - 1
    d <- d * (rate / length(cases))
    back <- crossprod(net$w2, d) * on
    net$w2 <- net$w2 - tcrossprod(d, h)
    net$b2 <- net$b2 - rowSums(d)
    net$w1 <- net$w1 - tcrossprod(back, xb)
    net$b1 <- net$b1 - rowSums(back)
  }
  net
}

# The files of MNIST: a header of big-endian integers, then bytes.
read_idx <- function(file) {
  con <- file(file, "rb")
  on.exit(close(con))
  dims <- readBin(con, "integer", 1, endian = "big") %% 256
  size <- readBin(con, "integer", dims, endian = "big")
  bytes <- as.integer(readBin(con, "raw", prod(size)))
  if (dims == 1) return(bytes)
  matrix(bytes / 255, prod(size[-1]), size[1]) # pixels x cases
}

read_mnist <- function(folder) {
  files <- file.path(folder, paste0(rep(c("train", "t10k"), each = 2),
    c("-images-idx3-ubyte", "-labels-idx1-ubyte")))
  need(files)
  list(train_x = read_idx(files[1]), train_y = read_idx(files[2]) + 1L,
    test_x = read_idx(files[3]), test_y = read_idx(files[4]) + 1L)
}
