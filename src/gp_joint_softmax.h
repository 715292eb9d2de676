/* gp_joint_softmax.h: the average of softmax(f) over f ~ N(phi, C) in a row.
 *
 * Only differences of f count: g = f - s'f, s = softmax(phi), or that of the classes alone
 * that have a part in the denominator, the heavy ones. With D_k = Var(g_k), G_kj =
 * Cov(g_k, g_j) and Z = sum_j s_j exp(g_j)
 *
 *   E softmax_k = s_k E[exp(g_k) / Z] = s_k exp(D_k / 2) E_k[1 / Z],
 *
 * E_k with the mean of g moved by G_.k. The expansion of eq. (24) is taken where that is good
 * enough. Otherwise the moments of Z are those of sums of log-normal numbers,
 *
 *   a_j = s_j exp(D_j / 2 + G_jk),   M = sum_j a_j,   V = sum_ij a_i a_j (exp(G_ij) - 1),
 *
 * and 1 / Z has the mean (1 + V / M^2) / M if Z is log-normal, too, eq. (24a). How far the
 * sum over the classes is from one tells how good that is. Where it is not, the heavy classes
 * are averaged over a fixed set of normal points, two of them by quadrature, and the
 * others, which have no part in the denominator, have E min(1, exp(x)) with x normal, its
 * variance D_k and its mean log s_k - log sum_j s_j exp(G_jk) - sum_j s_j D_j / 2. */
#ifndef GPC_GP_JOINT_SOFTMAX_H
#define GPC_GP_JOINT_SOFTMAX_H

#include "gp_joint_points.h"
#include "gpc.h"
#include "memory.h"

/* Rows lie in vectors whose length is a multiple of four: those of k classes have so many
 * numbers, and those beyond k are 0. */
static inline size_t gpc_joint_step(size_t k) { return (k + 3) / 4 * 4; }

typedef struct {
  gpc_joint_points points;
  double *powers;        /* [step x k] */
  double *work;          /* [2 k + 3 step] */
  float *single;         /* of gp_joint_moments.h */
  size_t *order, *class; /* [k] */
} gpc_joint_softmax;

/* A row. */
typedef struct {
  size_t k, step, heavy;
  const size_t *which;   /* [heavy] the heavy classes */
  const double *phi, *s; /* [step] */
  const double *d;       /* [step] */
  const double *g;       /* [step x heavy], and room for four more */
  double mean;           /* sum_j s_j D_j */
  size_t top;            /* place of the most likely class in `which`; need not be set */
} gpc_joint_row;

/* For at most k classes. */
gpc_joint_softmax gpc_joint_softmax_get(size_t k, const gpc_memory *memory);

/* The classes of a row that are heavy, into which: those that what is open of them, D or an
 * upper limit of it, could bring above what is light. mean: as in the row, or NAN. Returns
 * how many, at least one. */
size_t gpc_joint_softmax_heavy(size_t k, const double *s, const double *d, double mean,
                               size_t *which);

/* eq. (24) into out [step] if that is good enough: 1, otherwise 0. */
int gpc_joint_softmax_narrow(size_t step, const double *s, const double *d, double mean,
                             double *out);

/* out [step], sum one. */
void gpc_joint_softmax_average(const gpc_joint_softmax *self, gpc_joint_row *row,
                               double *out);

#endif
