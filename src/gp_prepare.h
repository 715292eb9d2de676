/* gp_prepare.h: what the fit needs to know of the scores before it begins. */
#ifndef GPC_GP_PREPARE_H
#define GPC_GP_PREPARE_H

#include "gp_model.h"
#include "memory.h"

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

/* The data with one floor, and what must be known of them to begin. */
typedef struct {
  gpc_gp_data data;
  double *shift; /* [n] row means, or NULL without centring */
  gpc_gp_range range;
  double farthest;    /* the largest of |score| and |row mean| */
  int flat;           /* the scores of every row are equal */
  double slope_limit; /* of separated data; NAN: none */
} gpc_prepared;

/* Scores of at least `floor`, shifted if p->shift has room: sets everything of p but
 * slope_limit. GPC_OK; GPC_TOO_FAR for scores that cannot be squared; GPC_TOO_CLOSE for
 * scores that differ by less than a billionth of their size. */
gpc_status gpc_gp_prepare(const gpc_gp_data *data, double floor, const gpc_memory *memory,
                          gpc_prepared *p);

#endif
