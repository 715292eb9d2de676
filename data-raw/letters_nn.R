# Makes data/letters_nn.rda: held-out logits of an overconfident neural
# network on the letter recognition data.
#
# Run from the package root:  Rscript data-raw/letters_nn.R
# Needs: mlbench (the data), nnet (the network; a recommended package of R)

if (!dir.exists("data-raw"))
  stop("run this script from the package root")

library(nnet)
data("LetterRecognition", package = "mlbench")
stopifnot(nrow(LetterRecognition) == 20000L, ncol(LetterRecognition) == 17L)

# ---- the settings --------------------------------------------------------
# Few training rows, hardly any weight decay and many iterations: the network
# all but memorises its training rows, and is overconfident on others.

n_train <- 4000L
n_cal   <- 2000L
n_test  <- 2000L
hidden  <- 40L
decay   <- 0.001
maxit   <- 300L

# ---- the rows ------------------------------------------------------------

set.seed(20130, kind = "Mersenne-Twister", normal.kind = "Inversion",
         sample.kind = "Rejection")
x <- as.matrix(LetterRecognition[, -1])
y <- factor(as.character(LetterRecognition$lettr), levels = LETTERS)

rows <- sample(nrow(x), n_train + n_cal + n_test)   # without replacement
train <- rows[seq_len(n_train)]
cal   <- rows[n_train + seq_len(n_cal)]
test  <- rows[n_train + n_cal + seq_len(n_test)]
stopifnot(!anyDuplicated(rows))

# centre and scale with the training rows only
x <- scale(x, center = colMeans(x[train, ]), scale = apply(x[train, ], 2, sd))

# ---- the network ---------------------------------------------------------

started <- proc.time()[["elapsed"]]
fit <- nnet(x[train, ], class.ind(y[train]), size = hidden, softmax = TRUE,
            decay = decay, maxit = maxit, MaxNWts = 5000, trace = FALSE)
seconds <- proc.time()[["elapsed"]] - started

softmax <- function(z) {
  e <- exp(z - apply(z, 1, max))
  e / rowSums(e)
}

# nnet stores, unit by unit, the bias and then the weights of the incoming
# connections: first of the hidden units, then of the output units. Its
# logistic function is cut off: 0 below -15 and 1 above 15. We do as it does,
# or else the probabilities would differ from those of predict() by some 1e-6.
unit <- function(s) ifelse(s < -15, 0, ifelse(s > 15, 1, plogis(s)))

logits_of <- function(fit, x) {
  p <- fit$n[1]
  h <- fit$n[2]
  k <- fit$n[3]
  stopifnot(length(fit$wts) == (p + 1) * h + (h + 1) * k)
  w1 <- matrix(fit$wts[seq_len((p + 1) * h)], p + 1, h)
  w2 <- matrix(fit$wts[-seq_len((p + 1) * h)], h + 1, k)
  z <- cbind(1, unit(cbind(1, x) %*% w1)) %*% w2
  dimnames(z) <- list(NULL, LETTERS)
  z
}

exact <- list(cal = logits_of(fit, x[cal, ]), test = logits_of(fit, x[test, ]))
off <- max(abs(softmax(exact$cal) - predict(fit, x[cal, ], type = "raw")),
           abs(softmax(exact$test) - predict(fit, x[test, ], type = "raw")))
stopifnot(off < 1e-10)

# ---- the object ----------------------------------------------------------
# Two decimals: enough, as checked below, and a much smaller file. Adding 0
# turns a rounded -0 into 0.

letters_nn <- list(
  cal  = list(scores = round(exact$cal, 2) + 0,  labels = y[cal]),
  test = list(scores = round(exact$test, 2) + 0, labels = y[test])
)

stopifnot(
  identical(dim(letters_nn$cal$scores), c(n_cal, 26L)),
  identical(dim(letters_nn$test$scores), c(n_test, 26L)),
  identical(colnames(letters_nn$cal$scores), LETTERS),
  identical(levels(letters_nn$cal$labels), LETTERS),
  identical(levels(letters_nn$test$labels), LETTERS),
  all(table(letters_nn$cal$labels) > 0),
  all(table(letters_nn$test$labels) > 0),
  !anyNA(letters_nn, recursive = TRUE)
)

dir.create("data", showWarnings = FALSE)
save(letters_nn, file = "data/letters_nn.rda", compress = "xz", version = 2)

# ---- the facts -----------------------------------------------------------

log_loss <- function(z, y) {
  m <- apply(z, 1, max)
  mean(m + log(rowSums(exp(z - m))) - z[cbind(seq_along(y), as.integer(y))])
}

# expected calibration error of the top class, bins of equal width
ece <- function(conf, correct, bins = 15) {
  bin <- pmin(floor(conf * bins), bins - 1)
  sum(abs(tapply(correct - conf, bin, sum))) / length(conf)
}

facts <- function(z, y, temperature) {
  p <- softmax(z)
  top <- max.col(p, ties.method = "first")
  conf <- p[cbind(seq_along(y), top)]
  correct <- top == as.integer(y)
  q <- softmax(z / temperature)
  c(N = length(y), K = ncol(z), accuracy = mean(correct),
    confidence = mean(conf), ECE15 = ece(conf, correct),
    log_loss = log_loss(z, y),
    ECE15_tempered = ece(q[cbind(seq_along(y), top)], correct),
    log_loss_tempered = log_loss(z / temperature, y))
}

best_temperature <- function(z, y)
  exp(optimize(function(t) log_loss(z / exp(t), y), log(c(0.1, 20)),
               tol = 1e-8)$minimum)

temperature <- with(letters_nn$cal, best_temperature(scores, labels))
table_of_facts <- rbind(
  cal          = with(letters_nn$cal, facts(scores, labels, temperature)),
  test         = with(letters_nn$test, facts(scores, labels, temperature)),
  test_exact   = facts(exact$test, y[test], temperature)
)
# what the rounding does, in the row test_exact: nothing to speak of
stopifnot(max(abs(table_of_facts["test", ] -
                    table_of_facts["test_exact", ])) < 1e-3)

fit_train <- softmax(logits_of(fit, x[train, ]))
cat(sprintf("%s, nnet %s, mlbench %s\n", R.version.string,
            packageVersion("nnet"), packageVersion("mlbench")))
cat(sprintf("training: %d rows, accuracy %.4f, %.0f seconds\n", n_train,
            mean(max.col(fit_train) == as.integer(y[train])), seconds))
cat(sprintf("softmax(logits) against predict(): largest difference %.1e\n",
            off))
cat(sprintf("rounding: largest change of a probability %.4f\n",
            max(abs(softmax(letters_nn$test$scores) - softmax(exact$test)))))
cat(sprintf("logits from %.2f to %.2f\n", min(letters_nn$cal$scores),
            max(letters_nn$cal$scores)))
cat(sprintf("best temperature (fitted to cal): %.3f; (to test): %.3f\n",
            temperature,
            with(letters_nn$test, best_temperature(scores, labels))))
print(round(t(table_of_facts), 4))
cat(sprintf("data/letters_nn.rda: %d bytes\n",
            as.integer(file.size("data/letters_nn.rda"))))
