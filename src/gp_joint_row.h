/* gp_joint_row.h: what one row of a block needs and adds (gp_joint_block.h). Row i of the
 * block; `count` of its classes are active, t->active has them, ascending. */
#ifndef GPC_GP_JOINT_ROW_H
#define GPC_GP_JOINT_ROW_H

#include "gp_joint_block.h"

/* The classes of row i that count: by phi_k + D_k / 2 with D_k <= (sd_k + sd_top)^2, each
 * the sum of the process's and the effects'. The label's is always among them. Returns how
 * many they are. */
size_t gpc_joint_row_active(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                            size_t label, int effects);

/* The weights of the active classes' stencils in one piece. */
void gpc_joint_row_weights(const gpc_joint_block *t, size_t i, size_t count,
                           const int *active);

/* eq. (34): C of the active classes. dense: the products of the block are there. */
void gpc_joint_row_covariance(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                              size_t count, int effects, int dense);

/* t->pi and the bound of the row, number `row` of the data, from where the last pass left
 * pi [n x k], which is renewed; certain: the softmax of phi and its log sum of exp, by no
 * covariance. */
double gpc_joint_row_tilt(const gpc_joint *joint, const gpc_joint_block *t, size_t row,
                          size_t i, size_t count, int certain, double *pi);

/* Gradients that the row adds; label: among the active classes. */
void gpc_joint_row_gradients(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                             size_t count, size_t label, double w, gpc_joint_pass *pass);

/* Curvature of a row of two classes, both active: with p = pi_1 t_1 + pi_2 t_2 all but p p' is
 * w pi_1 pi_2 times (t_1 - t_2) or x of the first class, which alone is summed up. */
void gpc_joint_row_two(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                       double w);

/* Curvature by pairs of active classes; and the same prepared for products of all rows of
 * the block. */
void gpc_joint_row_pairs(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                         size_t count, double w, gpc_joint_pass *pass);
void gpc_joint_row_prepare(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                           size_t count, double w);

#endif
