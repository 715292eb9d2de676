/* gp_joint_rows.h: rows of scores as a fit with class effects sees them (gp_joint.h): their
 * features, latent means and covariances, exactly and in full. Predictions by expansion
 * go another way (gp_joint_predict.c), which leaves out what does not matter. */
#ifndef GPC_GP_JOINT_ROWS_H
#define GPC_GP_JOINT_ROWS_H

#include "gp_joint_predict.h"

#define GPC_JOINT_ROWS 32 /* rows worked on together */

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, r, m, x, size; /* x = m + slopes */
  double *root;            /* [x x x] U, S_xx = U U' */
  double *cross;           /* [r x (x k)] U^-1 S_xe */
  double *pairs;           /* [packed x pairs] S_ee */
  double *effects;         /* [r x k] */
  /* of ROWS rows: */
  double *z, *a,
      *rho;         /* [rows k], [rows k x x], [rows k]: row i, class j at i + rows j */
  double *au;       /* [rows k x x] */
  double *features; /* [rows x r] */
  double *packed, *cee, *smx; /* [rows x packed], [rows x pairs], [rows x (x k)] */
  double *phi;                /* [rows x k] */
  double *row, *work, *one;   /* [k], [k], [r] */
  double *c, *chol;           /* [k x k] of one row */
} gpc_joint_rows;

/* Room, and what depends on the fit alone. GPC_NOT_PD if S is not. */
gpc_status gpc_joint_rows_begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                                const gpc_memory *memory, gpc_joint_rows *t);

/* Scores, features and phi of the rows first .. first + rows. */
void gpc_joint_rows_read(gpc_joint_rows *t, size_t first, size_t rows);

/* What the covariances of these rows need. */
void gpc_joint_rows_spread(gpc_joint_rows *t, size_t rows);

/* eq. (34): t->c becomes C of row i of these. */
void gpc_joint_rows_covariance(const gpc_joint_rows *t, size_t i, size_t rows);

#endif
