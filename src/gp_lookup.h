/* gp_lookup.h: the posterior of a fitted process, tabulated along the line of scores, so
 * that a prediction costs little more than a softmax. The tables depend on the fit alone,
 * not on the scores: a row's answer does not depend on the rows beside it. Beyond them
 * the process is back at its prior.
 *
 * The uncertain part of the latent function, a(z)'(v - m) with v ~ N(m, S), is kept in
 * its principal directions: with S = U U' and R the leading eigenvectors of the features
 * U'a at the inducing inputs,
 *
 *   a(z)'(v - m) = b(z)'x,  x ~ N(0, I),  b(z) = R'U'a(z)  [rank]
 *
 * up to a variance of 1e-8 everywhere, so that eq. (9) reads C_jk = b(z_j)'b(z_k) +
 * [j = k] rho(z_k). */
#ifndef GPC_GP_LOOKUP_H
#define GPC_GP_LOOKUP_H

#include "gp_fitted.h"
#include "memory.h"

#define GPC_CELLS_PER_NODE 4

typedef struct {
  gpc_prior prior;
  size_t m, rank;
  /* cells, for functions that vary fast or enter an exponential: */
  size_t cells;
  double low, inv_step; /* z = low + (place on the table) / inv_step */
  double *cell;         /* [cells][4] a'm: a cubic in the cell's unit interval */
  double *cell_var;     /* [cells][4] c and rho: lines, value and rise of each */
  /* nodes, GPC_CELLS_PER_NODE cells apart, for the uncertain part: */
  size_t nodes;
  size_t bulk;      /* nodes between the outermost inducing inputs */
  double *node;     /* [nodes][rank] b */
  double *node_c;   /* [nodes] c */
  double *node_phi; /* [nodes] phi, if the mean function is smooth */
  int smooth_mean;
  double *node_step; /* [nodes] variance of g(this node) - g(the next), 0 for the last */
  double step_var;   /* the largest of them */
  double *turn;      /* [m x rank] R */
  /* the longest stretch on which rho is below 1e-5, in places on the table: */
  int residual_free; /* there is one */
  double residual_low, residual_high;
} gpc_gp_lookup;

/* GPC_NOT_PD if S is not positive definite, or has no eigenvectors. */
gpc_status gpc_gp_lookup_make(const gpc_gp_fitted *fit, const gpc_memory *memory,
                              gpc_gp_lookup *lookup);

/* The cells of phi alone, for predictions at the posterior mean: no variances, no nodes. */
void gpc_gp_lookup_mean(const gpc_gp_fitted *fit, const gpc_memory *memory,
                        gpc_gp_lookup *lookup);

/* Number of cells that a table for this fit will have. */
size_t gpc_gp_lookup_cells(const gpc_gp_fitted *fit);

/* The last place on the table, kept clear of its end so that no rounding (to float
 * either) leads beyond it. */
static inline double gpc_gp_last_place(const gpc_gp_lookup *lookup) {
  return (double)lookup->cells * (1.0 - 1e-6) - 0.01;
}

/* Place of a score on the table, held within it. NaN leads to its beginning. */
static inline double gpc_gp_place(const gpc_gp_lookup *lookup, double z) {
  const double x = (z - lookup->low) * lookup->inv_step;
  const double last = gpc_gp_last_place(lookup);
  return x > 0.0 ? (x > last ? last : x) : 0.0;
}

/* 1 if the residual rho matters at that place. */
static inline int gpc_gp_has_residual(const gpc_gp_lookup *lookup, double place) {
  return !lookup->residual_free || place < lookup->residual_low ||
         place > lookup->residual_high;
}

#endif
