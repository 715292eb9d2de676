/* r_gp_rows.h: compressed rows (gp_rows.h) in R's transient memory. */
#ifndef GPC_R_GP_ROWS_H
#define GPC_R_GP_ROWS_H

#include "gp_rows.h"

/* The rows of data on a line refined `times` times; NULL where their values would be more
 * than `most`. */
gpc_rows *r_gp_compress(const gpc_gp_data *data, const gpc_line *line, size_t times,
                        double most);

#endif
