/* tilt.h: the tilted bound of a row (Knowles and Minka, 2011), eq. (35).
 *
 * For f ~ N(phi, C) and any a on the simplex
 *
 *   E log sum_k exp f_k <= log sum_k exp(phi_k + D_k(a) / 2),
 *   D_k(a) = Var(f_k - a'f) = C_kk - 2 (C a)_k + a'C a.
 *
 * The right side is convex in a. With p = softmax(phi + D(a) / 2) its gradient is
 * C (a - p) and its Hessian C + C (diag p - p p') C, so that a step (p - a) / (1 + v / 2),
 * v = sum_k a_k D_k, does not overshoot by much; at the minimum a = p. */
#ifndef GPC_TILT_H
#define GPC_TILT_H

#include "gpc.h"

/* Minimises over a from where it is: pi [k] in and out, on the simplex. phi [k],
 * c [k x k] symmetric. work [k]. Returns the least bound. */
double gpc_tilt(size_t k, const double *phi, const double *c, double *work, double *pi);

#endif
