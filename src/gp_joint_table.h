/* gp_joint_table.h: what a fit with class effects knows of a single score, tabulated, so
 * that a prediction needs no exponentials for it. As in gp_lookup.h the table depends on
 * the fit alone. Cubics through four nodes, 32 to a lengthscale, are off by less than
 * 1e-7 of what they stand for; beyond the table the process is back at its prior. */
#ifndef GPC_GP_JOINT_TABLE_H
#define GPC_GP_JOINT_TABLE_H

#include "gp_joint_predict.h"

typedef struct {
  size_t m, x, columns; /* x = m + slopes; columns = x + 2 */
  size_t nodes;
  double low, inv_step;
  double *node;  /* [nodes][columns] U'a [x], a'm and rho, S_xx = U U' */
  double *slope; /* [x] the slope's row of U, 0 without one */
} gpc_joint_table;

/* root [x x x]: U, any root of S_xx; NULL: a finer table of the mean alone, x = 0, off by
 * less than 1e-9. */
void gpc_joint_table_make(const gpc_joint_fitted *fit, const double *root,
                          const gpc_memory *memory, gpc_joint_table *table);

/* out [columns] at score z: U'a with the slope's part, a'm and rho. */
void gpc_joint_table_at(const gpc_joint_table *table, const gpc_features *features,
                        double z, double *out);

/* a'm alone. */
double gpc_joint_table_mean(const gpc_joint_table *table, double z);

#endif
