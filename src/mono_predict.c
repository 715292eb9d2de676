/* mono_predict.c: see mono_predict.h. */
#include "mono_predict.h"
#include "mono_row.h"
#include "select.h"

#include <float.h>
#include <math.h>

#define ROWS GPC_MONO_ROWS
#define PAIRS 64        /* of the first set, half of them in either half */
#define MORE_PAIRS 512  /* of the second set */
#define MOST_APART 5e-4 /* between the halves */
#define COST 8          /* a score here, in units of one that costs little */

/* What is done with the rows, and where the answer goes. */
typedef struct {
  const gpc_gp_data *data;
  const gpc_mono_table *table;
  const gpc_mono_functions *f;
  double each;
  double *p;         /* averages are added here, or */
  const int *chosen; /* [n] rows to do, NULL: all */
  int *apart;        /* [n] rows whose halves differ, or NULL */
  double *draws;     /* every function, or */
  double *quantile, lower, upper;
  double *log_lik; /* [n x count] */
} job;

/* The rows of a block. */
typedef void (*row_task)(const job *todo, size_t i, gpc_mono_row *row);

static void blocks(const job *todo, row_task task, size_t begin, size_t end,
                   gpc_mono_row *work) {
  const size_t n = todo->data->n, count = end - begin;
  const int threads = todo->data->threads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    const size_t from = begin + count * (size_t)part / (size_t)threads;
    const size_t to = begin + count * (size_t)(part + 1) / (size_t)threads;
    gpc_mono_row *row = work + part;
    for (size_t b = from; b < to; b++) {
      const size_t first = b * ROWS, rows = n - first < ROWS ? n - first : ROWS;
      int any = !todo->chosen;
      for (size_t i = 0; i < rows && !any; i++)
        any = todo->chosen[first + i];
      if (!any)
        continue;
      gpc_mono_row_read(todo->data, todo->table, first, rows, row);
      for (size_t i = 0; i < rows; i++) {
        if (todo->chosen && !todo->chosen[first + i])
          continue;
        gpc_mono_row_sums(todo->f, i, row);
        task(todo, i, row);
        gpc_mono_row_end(row);
      }
    }
  }
}

static void all_rows(const job *todo, row_task task, const gpc_memory *memory,
                     gpc_poll poll, void *poll_data) {
  const gpc_gp_data *data = todo->data;
  const size_t count = (data->n + ROWS - 1) / ROWS;
  void *mark = memory->mark(memory->self);
  gpc_mono_row *work =
      memory->get(memory->self, (size_t)data->threads * sizeof(gpc_mono_row));
  for (int part = 0; part < data->threads; part++)
    gpc_mono_row_take(todo->table, data->k, todo->f->count, todo->f->wide, memory,
                      work + part);
  const size_t some =
      gpc_poll_blocks(ROWS, data->k) / COST + (size_t)data->threads; /* between polls */
  for (size_t begin = 0; begin < count; begin += some) {
    gpc_call_poll(poll, poll_data);
    blocks(todo, task, begin, count - begin < some ? count : begin + some, work);
  }
  memory->release(memory->self, mark);
}

/* Tasks ------------------------------------------------------------------------------ */

/* p += P at the scores. */
static void average_row(const job *todo, size_t i, gpc_mono_row *row) {
  const size_t k = row->k, n = todo->data->n, at = row->first + i;
  const double apart = gpc_mono_row_average(todo->f->count, todo->each, row);
  const int *cell = row->cell + i * k;
  const float *u = row->u + i * k;
  const double *table = row->p;
  double *to = todo->p + at;
  if (todo->apart)
    todo->apart[at] = apart > MOST_APART;
  if (!row->some_off[i]) {
    for (size_t j = 0; j < k; j++) {
      const double *here = table + cell[j];
      to[j * n] += gpc_mono_between(here[0], here[1], (double)u[j]); /* step 3 */
    }
    return;
  }
  for (size_t j = 0; j < k; j++) {
    const double *here = table + cell[j];
    to[j * n] += gpc_mono_row_factor(row, i, j) *
                 gpc_mono_between(here[0], here[1], (double)u[j]); /* step 4 */
  }
}

static void draw_row(const job *todo, size_t i, gpc_mono_row *row) {
  const size_t k = row->k, n = todo->data->n, count = todo->f->count;
  for (size_t j = 0; j < k; j++) {
    double *to = todo->draws + row->first + i + n * j;
    gpc_mono_row_draws(count, i, j, row);
    for (size_t q = 0; q < count; q++)
      to[n * k * q] = row->one[q];
  }
}

static void quantile_row(const job *todo, size_t i, gpc_mono_row *row) {
  const size_t k = row->k, n = todo->data->n, count = todo->f->count;
  for (size_t j = 0; j < k; j++) {
    double *to = todo->quantile + row->first + i + n * j;
    gpc_mono_row_draws(count, i, j, row);
    to[0] = gpc_quantile_ordered(count, row->one, todo->lower);
    to[n * k] = gpc_quantile_ordered(count, row->one, todo->upper);
  }
}

static void log_lik_row(const job *todo, size_t i, gpc_mono_row *row) {
  const size_t n = todo->data->n, count = todo->f->count, at = row->first + i;
  gpc_mono_row_draws(count, i, (size_t)todo->data->label[at] - 1, row);
  for (size_t q = 0; q < count; q++)
    todo->log_lik[at + n * q] = gpc_gp_weight(todo->data, at) * log(row->one[q]);
}

/* ------------------------------------------------------------------------------------ */

void gpc_mono_average(const gpc_gp_data *data, const gpc_mono_table *table,
                      const gpc_mono_functions *f, double each, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, double *p) {
  const job todo = {.data = data, .table = table, .f = f, .each = each, .p = p};
  all_rows(&todo, average_row, memory, poll, poll_data);
}

void gpc_mono_floor(size_t n, double *p) {
  for (size_t i = 0; i < n; i++) /* step 5 */
    p[i] = gpc_mono_at_least(p[i]);
}

/* The fixed set of `pairs` pairs, in `parts` parts with the right covariance each. */
static gpc_status fixed_functions(const gpc_mono_table *table, size_t pairs, size_t parts,
                                  const gpc_memory *memory, gpc_mono_functions *f) {
  const size_t m = table->m, each = pairs / parts;
  *f = gpc_mono_functions_take(table, 2 * pairs, memory);
  double *x = gpc_get_doubles(memory, m * pairs);
  for (size_t part = 0; part < parts; part++) {
    const gpc_status status =
        gpc_mono_design(table, each, part * each, memory, x + part * each * m);
    if (status != GPC_OK)
      return status;
  }
  gpc_mono_functions_set(table, pairs, x, NULL, memory, f);
  return GPC_OK;
}

static gpc_status integrate(const gpc_gp_data *data, const gpc_mono_table *table,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            double *p) {
  const size_t n = data->n, k = data->k;
  gpc_mono_functions f;
  int *apart = gpc_get_ints(memory, n), some = 0;
  gpc_status status = fixed_functions(table, PAIRS, 2, memory, &f);
  if (status != GPC_OK)
    return status;
  job todo = {
      .data = data, .table = table, .f = &f, .each = 0.5 / PAIRS, .p = p, .apart = apart};
  all_rows(&todo, average_row, memory, poll, poll_data);
  for (size_t i = 0; i < n; i++) {
    some |= apart[i];
    for (size_t j = 0; j < k && apart[i]; j++)
      p[i + n * j] = 0.0;
  }
  if (!some)
    return GPC_OK;
  status = fixed_functions(table, MORE_PAIRS, 1, memory, &f);
  todo.each = 0.5 / MORE_PAIRS;
  todo.chosen = apart;
  todo.apart = NULL;
  if (status == GPC_OK)
    all_rows(&todo, average_row, memory, poll, poll_data);
  return status;
}

gpc_status gpc_mono_predict(const gpc_gp_data *data, const gpc_mono_table *table,
                            gpc_mono_approx approx, const gpc_memory *memory,
                            gpc_poll poll, void *poll_data, double *p) {
  gpc_status status = GPC_OK;
  memset(p, 0, data->n * data->k * sizeof(double));
  if (approx == GPC_MONO_INTEGRATED) {
    status = integrate(data, table, memory, poll, poll_data, p);
  } else {
    gpc_mono_functions f = gpc_mono_functions_take(table, 1, memory);
    gpc_mono_functions_from(table, table->map, &f);
    gpc_mono_average(data, table, &f, 1.0, memory, poll, poll_data, p);
  }
  gpc_mono_floor(data->n * data->k, p);
  return status;
}

void gpc_mono_draws(const gpc_gp_data *data, const gpc_mono_table *table,
                    const gpc_mono_functions *f, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *all) {
  const job todo = {.data = data, .table = table, .f = f, .draws = all};
  all_rows(&todo, draw_row, memory, poll, poll_data);
}

void gpc_mono_interval(const gpc_gp_data *data, const gpc_mono_table *table,
                       const gpc_mono_functions *f, double lower, double upper,
                       const gpc_memory *memory, gpc_poll poll, void *poll_data,
                       double *out) {
  const job todo = {.data = data,
                    .table = table,
                    .f = f,
                    .quantile = out,
                    .lower = lower,
                    .upper = upper};
  all_rows(&todo, quantile_row, memory, poll, poll_data);
}

void gpc_mono_log_lik(const gpc_gp_data *data, const gpc_mono_table *table,
                      const gpc_mono_functions *f, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, double *sums) {
  const size_t n = data->n, count = f->count;
  void *mark = memory->mark(memory->self);
  const job todo = {.data = data,
                    .table = table,
                    .f = f,
                    .log_lik = gpc_get_doubles(memory, n * count)};
  all_rows(&todo, log_lik_row, memory, poll, poll_data);
  for (size_t q = 0; q < count; q++) {
    sums[q] = 0.0;
    for (size_t i = 0; i < n; i++)
      sums[q] += todo.log_lik[i + n * q];
  }
  memory->release(memory->self, mark);
}
