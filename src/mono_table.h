/* mono_table.h: a fitted process on the nodes of a table, for maps that keep the order of
 * the classes.
 *
 * Nodes are evenly spaced along the line of scores t: centred logits or
 * log-probabilities, and log z for the log mean. On a node stand the posterior mean phi,
 * eq. (7), and the uncertain part of the process as b'x with x ~ N(0, I). No score has a
 * residual of its own: where the inducing inputs leave more than a hundredth of the prior
 * variance unexplained, more inputs with their prior take over, so that a function drawn
 * is a function of the score alone and tied classes stay tied.
 *
 * What a score sees of a table is its cell and its place u in the cell, a multiple of
 * 2^-20 (gpc_mono_find). Beyond the table every function goes on as a line of one slope,
 * which is a factor of its exponential. */
#ifndef GPC_MONO_TABLE_H
#define GPC_MONO_TABLE_H

#include "gp_fitted.h"
#include "memory.h"

#include <string.h>

/* Where the scores of a fit lie. */
typedef struct {
  double lowest, highest; /* t of the scores seen */
  double from, to;        /* of the bulk, divided into */
  size_t bins;
  const double
      *mass; /* [bins + 2] sums of w s (1 - s); first and last: beyond the bulk */
} gpc_mono_seen;

typedef struct {
  size_t nodes;
  double low, high, step, inv_step; /* t = low + node * step */
  size_t first, last; /* nodes of the range seen; beyond it functions are lines */
  double slope;       /* of lines, alpha */
  double least;       /* the least slope within the range */
  double *t;          /* [nodes] */
  double *weight;     /* [nodes] of the projection */
  double *phi;        /* [nodes] posterior mean */
  size_t m;           /* inducing inputs, those added behind the others */
  double *b;          /* [nodes x m] */
  double *map;        /* [nodes] phi projected: mono_project.h */
  double *bend;       /* [nodes] of each cell, see gpc_mono_bent(); multiples of 2^-20 */
} gpc_mono_table;

/* The table of a fit. fit->basis is factored. GPC_NOT_PD if S or the covariance of all
 * inducing inputs is not positive definite. */
gpc_status gpc_mono_table_make(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                               const gpc_memory *memory, gpc_mono_table *table);

/* Inducing inputs that a table of this fit has, with those added. */
size_t gpc_mono_inputs(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                       const gpc_memory *memory);

/* A score on the table. */
typedef struct {
  int cell;   /* 0 .. nodes - 1; the last for scores at the end of the table or beyond */
  double u;   /* in [0, 1), a multiple of 2^-20 */
  double off; /* how far beyond the table, times its slope: < 0 below it, > 0 above */
} gpc_mono_place;

#define GPC_MONO_FINE 1048576.0 /* 2^20 */

/* Where t lies, u even in t. A higher t never has a lower place: (t - low) inv_step is a
 * rounded difference times a positive number, and cutting off digits keeps the order. */
static inline gpc_mono_place gpc_mono_find(const gpc_mono_table *table, double t) {
  const double last = (double)(table->nodes - 1);
  double x = (t - table->low) * table->inv_step;
  x = x > 0.0 ? x : 0.0; /* and for NaN */
  x = x < last ? x : last;
  gpc_mono_place at = {.cell = (int)x, .off = 0.0};
  const double rest = x - (double)at.cell; /* exact */
  at.u = (double)(int)(rest * GPC_MONO_FINE) * (1.0 / GPC_MONO_FINE);
  if (t < table->low)
    at.off = table->slope * (t - table->low);
  else if (t > table->high)
    at.off = table->slope * (t - table->high);
  return at;
}

/* u, bent so that a straight line between the exponentials of two nodes follows the
 * exponential of a straight line:
 *
 *   u (1 - c + c u),  c in [0, 1]: the bend of the cell,
 *
 * a product of two non-negative factors neither of which falls when u rises. c and u have 20
 * binary digits, so that 1 - c + c u is exact, with or without fused instructions.
 * The result is again a multiple of 2^-20 in [0, 1). */
static inline double gpc_mono_bent(const gpc_mono_table *table, gpc_mono_place at) {
  const double c = table->bend[at.cell];
  const double bent = at.u * ((1.0 - c) + c * at.u);
  return (double)(int)(bent * GPC_MONO_FINE) * (1.0 / GPC_MONO_FINE);
}

/* Step 3 of mono_predict.h: a straight line between the values of two nodes, exact up to
 * one rounding that keeps the order. */
static inline double gpc_mono_between(double below, double above, double u) {
  double d = above - below;
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  bits = (bits + UINT64_C(0x80000)) & ~UINT64_C(0xfffff); /* 53 - 20 digits stay */
  memcpy(&d, &bits, sizeof d);
  return below + u * d;
}

#endif
