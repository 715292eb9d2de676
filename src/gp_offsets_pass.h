/* gp_offsets_pass.h: a pass over the rows for offsets of many classes (gp_offsets.h):
 * latent values phi of the process, the tilted softmax pi of phi + b, and the sums that
 * the fit of b and its variances needs. */
#ifndef GPC_GP_OFFSETS_PASS_H
#define GPC_GP_OFFSETS_PASS_H

#include "gp_offsets.h"

#define GPC_OFFSETS_ROWS 32 /* rows worked on together */

typedef struct {
  const gpc_gp_data *data;
  const gpc_visit *from; /* the process */
  const gpc_offsets_site *site;
  size_t n, k;
  int kept;             /* phi and pi of all rows are kept; otherwise of the last few */
  float *phi;           /* [GPC_OFFSETS_ROWS x k] of every block, or of the last, less the
                           highest of the row */
  double *pi;           /* the same of the last pass */
  double *b, *var;      /* [k] offsets and their variances */
  double *g, *h, *mass; /* [k] gradient; sum w pi (1 - pi); sum w pi */
  double *
      cross; /* [k] sum_n w_n pi_nk (phi_nk - pi_n'phi_n), the loss of g by a relative rise of phi; NULL: not asked for */
  double fit; /* sum_n w_n (f_y - bound) */
} gpc_offsets_pass;

/* Room for a pass that keeps nothing of its rows, at b = 0 and without variances. */
gpc_offsets_pass gpc_offsets_pass_get(gpc_visitor *visitor, const gpc_visit *from,
                                      const gpc_offsets_site *site);

/* Numbers of phi, and of pi, of all rows. */
static inline size_t gpc_offsets_pass_room(size_t n, size_t k) {
  return (n + GPC_OFFSETS_ROWS - 1) / GPC_OFFSETS_ROWS * GPC_OFFSETS_ROWS * k;
}

/* Rows are kept from now on: phi is read, and pi has room. */
void gpc_offsets_pass_keep(const gpc_memory *memory, gpc_offsets_pass *o);

/* One pass: pi, fit, g, h and mass at b and var. tilted: with the variances, from the pi
 * of the last pass if it was kept. */
void gpc_offsets_visit(gpc_offsets_pass *o, int tilted);

/* out [k] := H v = diag(mass) v - sum_n w_n pi_n (pi_n'v), with the pi that were kept. */
void gpc_offsets_product(const gpc_offsets_pass *o, const double *v, double *out);

#endif
