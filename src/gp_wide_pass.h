/* gp_wide_pass.h: a pass over the rows for the effects of many classes (gp_wide.h): the
 * tilted softmax pi of phi + effects, and the sums that the fit of the effects needs. */
#ifndef GPC_GP_WIDE_PASS_H
#define GPC_GP_WIDE_PASS_H

#include "gp_wide.h"

typedef struct {
  const gpc_gp_data *data;
  gpc_wide_row *rows;        /* [n] */
  const gpc_wide_site *site; /* or NULL */
  size_t n, k, size;         /* size: of e */
  int has[GPC_WIDE_PARTS];   /* which parts there are; effects of the others are 0 */
  const float *phi;          /* [k x n] row by row: the process */
  double *pi;                /* the same, of the last pass */
  double *e, *var;           /* [size] means and variances */
  double *g, *h;             /* [size] gradient, and the diagonal of the curvature */
  double fit;                /* sum_n w_n (f_y - bound), and the site's part */
  double *work;              /* [3 k] */
  gpc_poll poll;             /* called within passes too: of many rows they take long */
  void *poll_data;
} gpc_wide_pass;

/* One pass at e and var: pi, fit, g and h. The tilt starts from the pi of the last pass. */
void gpc_wide_visit(gpc_wide_pass *o);

/* out [size] := H v, H = sum_n w_n X_n'(diag pi_n - pi_n pi_n') X_n and the site's, with
 * the pi of the last pass. */
void gpc_wide_product(const gpc_wide_pass *o, const double *v, double *out);

#endif
