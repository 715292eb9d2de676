/* gp_predict.c: see gp_predict.h. */
#include "gp_predict.h"
#include "gp_block.h"
#include "gp_delta.h"
#include "gp_integrate.h"
#include "gp_two.h"

#include <float.h>
#include <string.h>

#define ROWS GPC_GP_ROWS

/* What the threads share, and their work spaces, arrays [threads]. */
typedef struct {
  gpc_gp_lookup lookup;
  gpc_gp_functions functions; /* once a row has asked for them */
  int have_functions;
  int *needs_integration; /* [n] */
  gpc_gp_block *block;
  gpc_gp_delta_work *delta;
  gpc_gp_integrate_work *integrate;
} tools;

/* p [n x k] := s. */
static void predict_mean(size_t n, gpc_gp_block *block, double *p) {
  const double smallest = DBL_MIN, *inv = block->inv;
  gpc_gp_block_sums(block);
  for (size_t j = 0; j < block->k; j++) {
    const double *e = block->e + j * ROWS;
    double *to = p + block->row[0] + j * n;
#pragma omp simd
    for (size_t i = 0; i < block->rows; i++) {
      const double v = e[i] * inv[i];
      to[i] = v > smallest ? v : smallest;
    }
  }
}

static int row_has_residual(const gpc_gp_lookup *lookup, const gpc_gp_block *block,
                            size_t i) {
  return gpc_gp_has_residual(lookup, block->low[i]) ||
         gpc_gp_has_residual(lookup, block->high[i]);
}

/* Rows with a score whose residual matters are done with it, in a block of their own. Once
 * there are functions, rows that need integration are integrated while they are at hand,
 * if that is quick, and left marked if not. */
static void predict_delta(const gpc_gp_data *data, const tools *t, int part, double *p) {
  gpc_gp_block *block = t->block + part;
  const gpc_gp_lookup *lookup = &t->lookup;
  int *marked = t->needs_integration;
  const gpc_gp_functions *functions = t->have_functions ? &t->functions : NULL;
  size_t again[ROWS], count = 0;
  for (size_t i = 0; i < block->rows && !block->with_residual; i++)
    if (row_has_residual(lookup, block, i))
      again[count++] = block->row[i];
  if (count < block->rows)
    gpc_gp_delta(lookup, functions, data->n, block, t->delta + part, p, marked);
  for (size_t i = 0; i < block->rows && functions && functions->on_nodes; i++) {
    const size_t at = block->row[i];
    if (block->with_residual || row_has_residual(lookup, block, i) || !marked[at])
      continue;
    gpc_gp_integrate_row(lookup, functions, NULL, data->n, block, i, t->integrate + part,
                         p);
    marked[at] = 0;
  }
  if (count > 0) {
    gpc_gp_block_read_some(data, lookup, count, again, 1, block);
    gpc_gp_delta(lookup, functions, data->n, block, t->delta + part, p, marked);
  }
}

/* Blocks begin, ..., end - 1, shared out among the threads. */
static void predict_blocks(const gpc_gp_data *data, const tools *t, int delta,
                           size_t begin, size_t end, double *p) {
  const size_t n = data->n, count = end - begin;
  const int threads = data->threads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    const size_t from = begin + count * (size_t)part / (size_t)threads;
    const size_t to = begin + count * (size_t)(part + 1) / (size_t)threads;
    for (size_t b = from; b < to; b++) {
      const size_t first = b * ROWS, rows = n - first < ROWS ? n - first : ROWS;
      gpc_gp_block_read(data, &t->lookup, first, rows, delta && !t->lookup.residual_free,
                        t->block + part);
      if (delta)
        predict_delta(data, t, part, p);
      else
        predict_mean(n, t->block + part, p);
    }
  }
}

static int any(size_t n, const int *x) {
  for (size_t i = 0; i < n; i++)
    if (x[i])
      return 1;
  return 0;
}

static gpc_status take_tools(const gpc_gp_data *data, const gpc_gp_fitted *fit, int delta,
                             const gpc_memory *memory, tools *t) {
  const size_t threads = (size_t)data->threads;
  *t = (tools){.block = memory->get(memory->self, threads * sizeof *t->block)};
  for (size_t part = 0; part < threads; part++)
    gpc_gp_block_take(data->k, delta, memory, t->block + part);
  if (!delta) {
    gpc_gp_lookup_mean(fit, memory, &t->lookup);
    return GPC_OK;
  }
  const gpc_status status = gpc_gp_lookup_make(fit, memory, &t->lookup);
  if (status != GPC_OK)
    return status;
  t->needs_integration = gpc_get_ints(memory, data->n);
  t->delta = memory->get(memory->self, threads * sizeof *t->delta);
  t->integrate = memory->get(memory->self, threads * sizeof *t->integrate);
  for (size_t part = 0; part < threads; part++) {
    gpc_gp_delta_take(&t->lookup, data->k, memory, t->delta + part);
    t->integrate[part] = gpc_gp_integrate_take(&t->lookup, memory);
  }
  return GPC_OK;
}

gpc_status gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                          gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                          void *poll_data, double *p) {
  const size_t n = data->n, blocks = (n + ROWS - 1) / ROWS;
  const int delta = approx == GPC_APPROX_DELTA;
  if (delta && data->k == 2) {
    gpc_gp_predict_two(data, fit, memory, poll, poll_data, p);
    return GPC_OK;
  }
  tools t;
  const gpc_status status = take_tools(data, fit, delta, memory, &t);
  if (status != GPC_OK)
    return status;
  /* one block to each thread first: it tells whether the functions will be needed */
  size_t some = delta ? (size_t)data->threads : gpc_poll_blocks(ROWS, data->k);
  for (size_t begin = 0; begin < blocks; begin += some) {
    if (begin > 0)
      some = gpc_poll_blocks(ROWS, data->k);
    const size_t end = blocks - begin < some ? blocks : begin + some;
    gpc_call_poll(poll, poll_data);
    predict_blocks(data, &t, delta, begin, end, p);
    const size_t first = begin * ROWS, last = end * ROWS < n ? end * ROWS : n;
    if (delta && !t.have_functions && any(last - first, t.needs_integration + first)) {
      t.functions = gpc_gp_functions_make(&t.lookup, memory);
      t.have_functions = 1;
      predict_blocks(data, &t, delta, begin, end, p); /* again, with them */
    }
  }
  if (t.have_functions && any(n, t.needs_integration))
    gpc_gp_integrate(data, &t.lookup, &t.functions, t.needs_integration, memory, poll,
                     poll_data, t.block, t.integrate, p);
  return GPC_OK;
}
