/* quadrature.h: integrals over a normal distribution. */
#ifndef GPC_QUADRATURE_H
#define GPC_QUADRATURE_H

/* eq. (25): E[1 / (1 + exp(-d))] for d ~ N(mean, var), to about 1e-12, by the trapezoid
 * rule, which converges geometrically here; at most some 2500 terms, whatever the
 * variance. A variance below 0 (rounding) counts as 0. */
double gpc_logistic_normal(double mean, double var);

#endif
