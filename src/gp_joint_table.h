/* gp_joint_table.h: what a fit with class effects knows of a single score, tabulated, so
 * that a prediction needs no exponentials for it. As in gp_lookup.h the table depends on
 * the fit alone. Cubics through four nodes, 32 to a lengthscale, are off by less than
 * 1e-7 of what they stand for; beyond the table the process is back at its prior.
 *
 * U is turned so that few directions of the process go with the effects (the first ones,
 * gpc_joint_shared()), and few of the others are more than nothing; what is not is left out. */
#ifndef GPC_GP_JOINT_TABLE_H
#define GPC_GP_JOINT_TABLE_H

#include "gp_joint_predict.h"

typedef struct {
  size_t x, columns; /* directions that are kept; columns: x + 2, rounded up */
  size_t nodes;
  double low, inv_step;
  double *node;  /* [nodes][columns] U'a [x], a'm and rho, S_xx = U U' */
  double *slope; /* [columns] the slope's row of U, 0 without one and behind it */
  double end;    /* scores beyond which the slope's part stays as it is */
  double *rows;  /* [4][columns] work */
} gpc_joint_table;

typedef struct {
  const double *root; /* [all x all] U, any root of S_xx, all = m + slopes; NULL: a finer
                         table of the mean alone, x = 0, off by less than 1e-9 */
  size_t fixed;       /* directions of U that stay as they are */
} gpc_joint_directions;

/* Variance of a latent value by directions that are left out, at the most: covariances of two
 * classes are off by so much. */
#define GPC_JOINT_LEAST_OWN 1e-5

/* root [all x all] := U, a root of S_xx that is given there, and w [all x e] := U^-1 S_xe,
 * which is given there, with as few rows as can be that are more than nothing: `shared`, the
 * first ones. k: classes. */
gpc_status gpc_joint_shared(size_t all, size_t k, size_t e, const gpc_memory *memory,
                            double *root, double *w, size_t *shared);

gpc_status gpc_joint_table_make(const gpc_joint_fitted *fit,
                                const gpc_joint_directions *directions,
                                const gpc_memory *memory, gpc_joint_table *table);

/* A row of scores z [k] into t [step x columns], step = gpc_joint_step(k): U'a with the slope's
 * part, then a'm, then rho, and what is beyond them; 0 beyond k. */
void gpc_joint_table_row(const gpc_joint_table *table, size_t k, const double *z,
                         double *t);

#endif
