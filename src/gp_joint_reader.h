/* gp_joint_reader.h: rows of new scores as predictions with class effects need them: means
 * of the latent values, their moves with the process, and quadratic forms of the features.
 * What is linear and quadratic in the features is done for blocks of rows (linalg_rows.h). */
#ifndef GPC_GP_JOINT_READER_H
#define GPC_GP_JOINT_READER_H

#include "gp_joint_predict.h"
#include "gp_joint_table.h"
#include "linalg_rows.h"

#define GPC_JOINT_READER_ROWS 64 /* at a time */

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, step, r, shared; /* step: gpc_joint_step(k) */
  gpc_joint_table table;
  gpc_row_matrix linear; /* x'e of every class, and the first `shared` directions of
                            U^-1 S_xe x: class after class, step numbers to each */
  gpc_row_matrix
      square; /* by packed(x x'), lower triangle by rows: for the caller; or ... */
  gpc_single_matrix single;                   /* ... in single precision */
  double *x, *packed, *line, *forms, *scores; /* of the rows; forms: W of `square` */
  float *packed_single, *x_single;            /* the second of a row */
  double *work;                               /* [2 k] */
  /* of a row: */
  double *
      t; /* [step x table.columns] moves with directions of the process; of its next columns
                are ... */
  double *f, *rho; /* [step] the means and the residual variances; ... */
  double *s;       /* [step] and the softmax of the means. All are 0 beyond k */
} gpc_joint_reader;

/* Room for rows, once there is a table (which says how many directions there are). shared:
 * directions that go with the effects; forms: rows of `square`; largest: not less than the
 * entries of the forms if single precision serves for them, otherwise INFINITY. (Measured, not a
 * bound: probabilities of seven classifier outputs and a simulated set, 3000 rows each,
 * changed by less than 8e-7, together with gpc_exp2f_both() in gp_joint_points.c; where two
 * classes are nearly as likely their order may change, and with it what is integrated how, by
 * up to 2e-3 in one of 72 odd problems of 3000 rows each.) The caller
 * fills the forms by gpc_joint_reader_form() and the part of `linear` by
 * gpc_joint_reader_shift(). */
void gpc_joint_reader_get(const gpc_memory *memory, size_t shared, size_t forms,
                          double largest, gpc_joint_reader *reader);

/* Entry of U^-1 S_xe: direction p, class j, feature q. */
static inline double *gpc_joint_reader_shift(const gpc_joint_reader *t, size_t p,
                                             size_t j, size_t q) {
  return gpc_row_matrix_at(&t->linear, t->step * (p + 1) + j, q);
}

/* x'B x becomes row `form`; B [r x r] at b, `size` from column to column. */
void gpc_joint_reader_form(const gpc_joint_reader *t, size_t form, const double *b,
                           size_t size);

/* Rows first .. first + rows, at most GPC_JOINT_READER_ROWS. */
void gpc_joint_reader_block(gpc_joint_reader *t, size_t first, size_t rows);

/* Row i of these, into f, s, rho and t; returns its quadratic forms. */
const double *gpc_joint_reader_row(gpc_joint_reader *t, size_t i);

#endif
