# Coefficients of the polynomial behind gpc_log() in src/fastlog.h.
#
# With s = (m - 1)/(m + 1), log m = 2 s + 2 s^3 t(s^2) and t(z) = 1/3 + z/5 + z^2/7 + ... on
# 0 <= z <= (3 - 2 sqrt 2)^2. The series of t, cut far beyond double precision, is rewritten in
# Chebyshev polynomials of z's interval, its terms above degree 6 are dropped, and it is written in
# powers again. Run with `Rscript data-raw/log-coefficients.R`; it prints the lines of the header and
# the largest error of the real (unrounded) polynomial.

h <- (3 - 2 * sqrt(2))^2 * (1 + 1e-3) # a little wider: s is rounded
top <- 20
keep <- 6

# powers of u in -1..1, z = h (1 + u) / 2
powers <- numeric(top + 1)
shifted <- 1
for (i in 0:top) {
  powers[seq_along(shifted)] <- powers[seq_along(shifted)] + shifted * (h / 2)^i / (2 * i + 3)
  shifted <- c(shifted, 0) + c(0, shifted)
}

# cheb[i, ]: powers of T_{i-1}
cheb <- matrix(0, top + 1, top + 1)
cheb[1, 1] <- 1
cheb[2, 2] <- 1
for (i in 3:(top + 1)) cheb[i, ] <- c(0, 2 * cheb[i - 1, -(top + 1)]) - cheb[i - 2, ]
for (i in (top + 1):(keep + 2)) { # remove the leading term through T_{i-1}
  powers <- powers - powers[i] / cheb[i, i] * cheb[i, ]
}

# and back, u = 2 z / h - 1
coefs <- numeric(keep + 1)
shifted <- 1
for (i in 0:keep) {
  coefs[seq_along(shifted)] <- coefs[seq_along(shifted)] + powers[i + 1] * shifted
  shifted <- c(-shifted, 0) + c(0, shifted) * (2 / h)
}

cat(sprintf("#define GPC_LOG_C%-2d %a /* near 1/%d */\n", 2 * 0:keep + 3, coefs, 2 * 0:keep + 3), sep = "")
z <- seq(0, (3 - 2 * sqrt(2))^2, length.out = 1e5)
t <- 0
for (i in (keep + 1):1) t <- t * z + coefs[i]
exact <- 0
for (i in top:0) exact <- exact * z + 1 / (2 * i + 3)
cat(sprintf("largest relative error of the polynomial: %.2e\n", max(abs(z * (t - exact)))))
