/* r_gp_rows.c: see r_gp_rows.h. */
#include "r_gp_rows.h"
#include "r_util.h"

gpc_rows *r_gp_compress(const gpc_gp_data *data, const gpc_line *line, size_t times,
                        double most) {
  gpc_rows *rows = (gpc_rows *)R_alloc(1, sizeof(gpc_rows));
  gpc_line fine = gpc_line_refine(line, times);
  double *work = r_work(gpc_rows_work(data->k, fine.g, data->threads));
  size_t values, pairs;
  rows->value_at = (size_t *)R_alloc(data->n, sizeof(size_t));
  rows->stretch_at = (size_t *)R_alloc(data->n, sizeof(size_t));
  gpc_rows_layout(data, line, times, work, rows, &values, &pairs);
  if ((double)values > most)
    return NULL;
  rows->value = r_work(values);
  rows->stretch = r_work_int(2 * pairs);
  rows->stretches = r_work_int(data->n);
  rows->spread = r_work(times * GPC_STENCIL);
  gpc_rows_fill(data, work, rows);
  return rows;
}
