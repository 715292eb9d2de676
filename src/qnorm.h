/* qnorm.h: quantiles of the standard normal distribution. */
#ifndef GPC_QNORM_H
#define GPC_QNORM_H

/* x with Phi(x) = p, 0 < p < 1, to a relative error of about 1e-14. */
double gpc_qnorm(double p);

#endif
