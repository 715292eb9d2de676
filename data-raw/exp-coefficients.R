# Coefficients of the polynomial behind gpc_exp() in src/fastexp.h.
#
# On |r| <= log(2)/2, exp(r) = 1 + r + r^2 q(r). The Taylor series of q, cut far beyond
# double precision, is rewritten in Chebyshev polynomials of r/h, its terms above degree 9
# are dropped (each is smaller than the rounding of a double), and it is written in powers
# again. Run with `Rscript data-raw/exp-coefficients.R`; it prints the lines of the header
# and the largest error of the real (unrounded) polynomial.

h <- log(2) / 2 * (1 + 1e-3) # a little wider: the reduction rounds
top <- 20
keep <- 9
taylor <- 1 / factorial(2 + 0:top) * h^(0:top) # in powers of u = r / h

# cheb[i, ]: powers of T_{i-1}
cheb <- matrix(0, top + 1, top + 1)
cheb[1, 1] <- 1
cheb[2, 2] <- 1
for (i in 3:(top + 1)) cheb[i, ] <- c(0, 2 * cheb[i - 1, -(top + 1)]) - cheb[i - 2, ]

powers <- taylor
for (i in (top + 1):(keep + 2)) { # remove the leading term through T_{i-1}
  powers <- powers - powers[i] / cheb[i, i] * cheb[i, ]
}
coefs <- powers[1:(keep + 1)] / h^(0:keep)

cat(sprintf("#define GPC_EXP_C%-2d %a /* near 1/%d! */\n", 2 + 0:keep, coefs, 2 + 0:keep),
  sep = ""
)
r <- seq(-log(2) / 2, log(2) / 2, length.out = 1e5)
q <- 0
for (i in (keep + 1):1) q <- q * r + coefs[i]
exact <- 0
for (i in top:0) exact <- exact * r + 1 / factorial(2 + i)
cat(sprintf("largest relative error of the polynomial: %.2e\n", max(abs(r^2 * (q - exact)) / exp(r))))
