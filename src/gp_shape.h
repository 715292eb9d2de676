/* gp_shape.h: the shape of a fitted map: is it increasing, and which rows change their
 * most likely class? */
#ifndef GPC_GP_SHAPE_H
#define GPC_GP_SHAPE_H

#include "gp_visit.h"

/* 1 if phi, eq. (7), is increasing between low and high, judged on evenly spaced points.
 */
int gpc_shape_increasing(const gpc_prior *prior, const gpc_params *at, double low,
                         double high, const gpc_memory *memory);

/* How many rows have their highest phi at another class than arg [n], interpolated on the
 * nodes of a visit. peak [g] is work space. */
size_t gpc_shape_changed(const gpc_gp_data *data, const gpc_prior *prior,
                         const gpc_visit *v, const int *arg, double *peak);

#endif
