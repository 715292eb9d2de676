/* gp_predict.c: see gp_predict.h. */
#include "gp_predict.h"
#include "gp_block.h"
#include "gp_delta.h"
#include "gp_integrate.h"
#include "gp_two.h"

#include <float.h>
#include <string.h>

#define ROWS GPC_GP_ROWS

/* Work space of one thread. */
typedef struct {
  gpc_gp_block block;
  gpc_gp_delta_work delta;
} thread_work;

/* p [n x k] := s. */
static void predict_mean(size_t n, gpc_gp_block *block, double *p) {
  const double smallest = DBL_MIN, *inv = block->inv;
  gpc_gp_block_sums(block);
  for (size_t j = 0; j < block->k; j++) {
    const double *e = block->e + j * ROWS;
    double *to = p + block->first + j * n;
#pragma omp simd
    for (size_t i = 0; i < block->rows; i++) {
      const double v = e[i] * inv[i];
      to[i] = v > smallest ? v : smallest;
    }
  }
}

static void predict_delta(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          thread_work *t, double *p, int *needs_integration) {
  gpc_gp_block *block = &t->block;
  const size_t first = block->first, rows = block->rows;
  size_t again[ROWS], count = 0;
  gpc_gp_delta(lookup, data->n, block, &t->delta, p, needs_integration);
  for (size_t i = 0; i < rows && !block->with_residual; i++)
    if (gpc_gp_has_residual(lookup, block->low[i]) ||
        gpc_gp_has_residual(lookup, block->high[i]))
      again[count++] = first + i;
  for (size_t i = 0; i < count; i++) { /* with their residual, one by one */
    gpc_gp_block_read(data, lookup, again[i], 1, 1, block);
    gpc_gp_delta(lookup, data->n, block, &t->delta, p, needs_integration);
  }
}

static void predict_blocks(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                           gpc_approx approx, gpc_poll poll, void *poll_data,
                           thread_work *work, double *p, int *needs_integration) {
  const size_t n = data->n, blocks = (n + ROWS - 1) / ROWS;
  const size_t some = gpc_poll_blocks(ROWS, data->k);
  const int threads = data->threads, delta = approx == GPC_APPROX_DELTA;
  for (size_t begin = 0; begin < blocks; begin += some) {
    const size_t now = blocks - begin < some ? blocks - begin : some;
    gpc_call_poll(poll, poll_data);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int part = 0; part < threads; part++) {
      const size_t from = begin + now * (size_t)part / (size_t)threads;
      const size_t to = begin + now * (size_t)(part + 1) / (size_t)threads;
      for (size_t b = from; b < to; b++) {
        const size_t first = b * ROWS, rows = n - first < ROWS ? n - first : ROWS;
        gpc_gp_block_read(data, lookup, first, rows, delta && !lookup->residual_free,
                          &work[part].block);
        if (delta)
          predict_delta(data, lookup, work + part, p, needs_integration);
        else
          predict_mean(n, &work[part].block, p);
      }
    }
  }
}

gpc_status gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                          gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                          void *poll_data, double *p) {
  if (approx == GPC_APPROX_DELTA && data->k == 2) {
    gpc_gp_predict_two(data, fit, memory, poll, poll_data, p);
    return GPC_OK;
  }
  gpc_gp_lookup lookup;
  gpc_status status = gpc_gp_lookup_make(fit, memory, &lookup);
  if (status != GPC_OK)
    return status;
  thread_work *work = memory->take(memory->data, (size_t)data->threads * sizeof *work);
  for (int part = 0; part < data->threads; part++) {
    gpc_gp_block_take(data->k, memory, &work[part].block);
    gpc_gp_delta_take(&lookup, data->k, memory, &work[part].delta);
  }
  int *needs_integration = gpc_take_int(memory, data->n);
  predict_blocks(data, &lookup, approx, poll, poll_data, work, p, needs_integration);
  if (approx == GPC_APPROX_DELTA)
    gpc_gp_integrate(data, &lookup, needs_integration, memory, poll, poll_data, p);
  return GPC_OK;
}
