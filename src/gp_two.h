/* gp_two.h: two classes: every row by quadrature over the difference of its two latent
 * values, g_2 - g_1 ~ N(phi_2 - phi_1, C_11 - 2 C_12 + C_22). */
#ifndef GPC_GP_TWO_H
#define GPC_GP_TWO_H

#include "gp_fitted.h"
#include "gp_model.h"
#include "memory.h"

/* p [n x 2] to about 1e-12. */
void gpc_gp_predict_two(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                        const gpc_memory *memory, gpc_poll poll, void *poll_data,
                        double *p);

#endif
