/* gp_prepare.h: what the fit needs to know of the scores before it begins. */
#ifndef GPC_GP_PREPARE_H
#define GPC_GP_PREPARE_H

#include "gp_model.h"

typedef struct {
  double lowest, highest;     /* of all scores, floored and shifted */
  double bulk_low, bulk_high; /* without rows that lie far outside the rest */
} gpc_gp_range;

/* Lowest and highest of max(z, floor) in every row, low and high [n], less the row mean
 * when `shift` [n] is given: it then receives the means. data->shift is not looked at. */
void gpc_gp_row_range(const gpc_gp_data *data, double *shift, double *low, double *high);

/* 1 if the scores of every row are equal, up to what rounding leaves of their mean
 * (shift [n], or NULL): low and high as above. */
int gpc_gp_is_flat(size_t n, const double *shift, const double *low, const double *high);

/* The range of all rows; low and high [n] of gpc_gp_row_range() are overwritten (sorted).
 */
void gpc_gp_find_range(size_t n, double *low, double *high, gpc_gp_range *range);

#endif
