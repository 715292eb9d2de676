/* gp_wide_predict.h: effects of many classes (gp_wide.h) on top of predictions of the
 * process. Given a row, the effects' sums of its classes are independent and normal, with
 * means and variances that are linear in those of the effects. Matrices are [n x k] by
 * columns. */
#ifndef GPC_GP_WIDE_PREDICT_H
#define GPC_GP_WIDE_PREDICT_H

#include "gp_wide_rows.h"

typedef struct {
  double steep;
  const double *mean, *var; /* [gpc_wide_size(k)] */
} gpc_wide_fitted;

/* Probabilities p of the process with the effects, in place: with the means alone or, if
 * `tilted`, with what is not known of them, by the softmax of eq. (35), which is that of
 * eq. (24) to second order. */
void gpc_wide_apply(const gpc_gp_data *data, const gpc_wide_fitted *fit, int tilted,
                    const gpc_memory *memory, gpc_poll poll, void *poll_data, double *p);

/* Means and variances of the sums of a row's effects. */
void gpc_wide_latent(const gpc_gp_data *data, const gpc_wide_fitted *fit,
                     const gpc_memory *memory, gpc_poll poll, void *poll_data,
                     double *mean, double *var);

/* Draws p [n x k x d] of the process with sums of effects drawn row by row: mean + sd e,
 * e [k x d] normal, the same for all rows. What is so drawn is right for each row, and not
 * for several together. In place. */
void gpc_wide_shift(size_t n, size_t k, size_t d, const double *mean, const double *sd,
                    const double *e, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *p);

/* The same with drawn effects mean + sd e and mean - sd e, e [size x pairs]: right for all
 * rows together. p [n x k x 2 pairs]. */
void gpc_wide_draws(const gpc_gp_data *data, const gpc_wide_fitted *fit, size_t pairs,
                    const double *e, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *p);

#endif
