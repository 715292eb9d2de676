/* gp_query.c: see gp_query.h. */
#include "gp_inform.h"

#include <string.h>

#define ROWS_BETWEEN_POLLS 64

gpc_status gpc_query_information(const gpc_query *query, const gpc_memory *memory,
                                 gpc_poll poll, void *poll_data, double *information) {
  gpc_inform q;
  gpc_inform_begin(query, memory, &q);
  gpc_status status = gpc_inform_ready(&q);
  if (status != GPC_OK)
    return status;
  for (size_t i = 0; i < query->data->n; i++) {
    if (i % ROWS_BETWEEN_POLLS == 0)
      gpc_call_poll(poll, poll_data);
    information[i] = gpc_inform_row(&q, i);
  }
  return GPC_OK;
}

/* A heap of rows, the one with the largest value (of equal ones the first) on top. */
static int above(const double *value, size_t a, size_t b) {
  return value[a] > value[b] || (value[a] == value[b] && a < b);
}

static void sift(const double *value, size_t n, size_t *heap, size_t at) {
  for (;;) {
    size_t best = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
      if (above(value, heap[child], heap[best]))
        best = child;
    if (best == at)
      return;
    const size_t row = heap[at];
    heap[at] = heap[best];
    heap[best] = row;
    at = best;
  }
}

gpc_status gpc_query_greedy(const gpc_query *query, size_t count,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            size_t *chosen, double *gain, double *cov) {
  gpc_inform q;
  size_t n = query->data->n;
  double *value = gpc_get_doubles(memory, n);
  size_t *heap = gpc_get_sizes(memory, n), *seen = gpc_get_sizes(memory, n);
  gpc_status status = gpc_query_information(query, memory, poll, poll_data, value);
  gpc_inform_begin(query, memory, &q);
  if (status == GPC_OK)
    status = gpc_inform_ready(&q);
  for (size_t i = 0; i < n; i++) {
    heap[i] = i;
    seen[i] = 0;
  }
  for (size_t i = n / 2 + 1; i-- > 0;)
    sift(value, n, heap, i);
  /* A row tells less once others are known, so that a value of before is an upper limit
   * and only rows that come to the top are looked at again (Minoux, 1978). */
  size_t looks = 0;
  for (size_t step = 0; step < count && status == GPC_OK; step++) {
    for (;;) {
      if (looks++ % ROWS_BETWEEN_POLLS == 0)
        gpc_call_poll(poll, poll_data);
      const size_t row = heap[0];
      const int settled = seen[row] == step;
      value[row] = gpc_inform_row(&q, row); /* also what gpc_inform_learn() needs */
      if (settled)
        break;
      seen[row] = step;
      sift(value, n, heap, 0);
    }
    chosen[step] = heap[0];
    gain[step] = value[heap[0]];
    heap[0] = heap[--n];
    sift(value, n, heap, 0);
    status = gpc_inform_learn(&q);
  }
  if (cov)
    memcpy(cov, q.s, q.size * q.size * sizeof(double));
  return status;
}
