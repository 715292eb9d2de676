/* gp_merge.c: see gp_merge.h. Agglomeration by nearest neighbours, which every row of the working set knows. Rows come
 * in by portions, so that the cost grows with n and not with its square. */
#include "gp_merge.h"
#include "simd.h"
#include "softmax.h"

#include <math.h>

#define HALF 0.5 /* of the latent values: early fits are too sure of themselves */
#define OWN                                                                              \
  0.05 /* of the weight goes to the label, whose score counts however low it is */

typedef struct {
  size_t k;
  double *f, *p;   /* [k x n] a row is a column here */
  double *weight;  /* [n] */
  const int *cell; /* [n] */
  size_t count;    /* rows in the working set ... */
  int *set;        /* ... [count] and which they are */
  int *near;       /* [n] the nearest of the same cell, or -1 */
  double *loss;    /* [n] of merging with it */
} merging;

/* eq. (O6) */
GPC_PART double pair_loss(const merging *m, size_t k, size_t a, size_t b) {
  const double *f = m->f + k * a, *h = m->f + k * b;
  const double *p = m->p + k * a, *q = m->p + k * b;
  double sum = 0.0, square = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double d = f[j] - h[j], s = 0.5 * (p[j] + q[j]) * d;
    sum += s;
    square += s * d;
  }
  const double u = m->weight[a], v = m->weight[b], less = square - sum * sum;
  return u * v / (u + v) * (less > 0.0 ? less : 0.0);
}

/* The nearest row of a among k classes; with `tell` also for those that a is the nearest of. */
GPC_PART void find_among(merging *m, size_t k, size_t a, int tell) {
  const int cell = m->cell[a];
  double least = INFINITY;
  int near = -1;
  for (size_t i = 0; i < m->count; i++) {
    const size_t b = (size_t)m->set[i];
    if (b == a || m->cell[b] != cell)
      continue;
    const double loss = pair_loss(m, k, a, b);
    if (loss < least) {
      least = loss;
      near = (int)b;
    }
    if (tell && loss < m->loss[b]) {
      m->loss[b] = loss;
      m->near[b] = (int)a;
    }
  }
  m->loss[a] = least;
  m->near[a] = near;
}

static void find_near(merging *m, size_t a, int tell) {
  if (m->k == 2) /* compiled for two, without a loop over the classes */
    find_among(m, 2, a, tell);
  else
    find_among(m, m->k, a, tell);
}

static void enter(merging *m, size_t a) {
  find_near(m, a, 1);
  m->set[m->count++] = (int)a;
}

static void leave(merging *m, size_t a) {
  size_t i = 0;
  while (m->set[i] != (int)a)
    i++;
  m->set[i] = m->set[--m->count];
}

/* a takes b in. */
static void join(merging *m, size_t a, size_t b, int *into) {
  const double share = m->weight[b] / (m->weight[a] + m->weight[b]);
  for (size_t j = 0; j < m->k; j++) {
    double *f = m->f + j, *p = m->p + j;
    f[m->k * a] += share * (f[m->k * b] - f[m->k * a]);
    p[m->k * a] += share * (p[m->k * b] - p[m->k * a]);
  }
  m->weight[a] += m->weight[b];
  into[b] = (int)a;
  leave(m, b);
  leave(m, a);
  for (size_t i = 0; i < m->count; i++) {
    const size_t c = (size_t)m->set[i];
    if (m->near[c] == (int)a || m->near[c] == (int)b)
      find_near(m, c, 0); /* a is not in the set now, it comes in next */
  }
  enter(m, a);
}

static void set_softmax(merging *m, size_t a, size_t label) {
  double *p = m->p + m->k * a;
  gpc_softmax_row(m->k, HALF, m->f + m->k * a, p);
  for (size_t j = 0; j < m->k; j++)
    p[j] *= 1.0 - OWN;
  p[label] += OWN;
}

size_t gpc_merge_rows(size_t n, size_t k, size_t most, double *f, const int *cell,
                      const int *label, double *weight, const gpc_memory *memory,
                      gpc_poll poll, void *data, int *group) {
  merging m = {.k = k,
               .f = f,
               .p = gpc_get_doubles(memory, k * n),
               .weight = weight,
               .cell = cell,
               .set = gpc_get_ints(memory, n),
               .near = gpc_get_ints(memory, n),
               .loss = gpc_get_doubles(memory, n)};
  int *into = gpc_get_ints(memory, n); /* the row that took it in, or -1 */
  size_t next = 0;
  while (next < n) {
    for (; next < n && m.count < 2 * most; next++) {
      into[next] = -1;
      set_softmax(&m, next, (size_t)label[next] - 1);
      enter(&m, next);
    }
    while (m.count > most) {
      size_t a = (size_t)m.set[0];
      for (size_t i = 1; i < m.count; i++)
        if (m.loss[m.set[i]] < m.loss[a])
          a = (size_t)m.set[i];
      if (m.near[a] < 0)
        break; /* a row for each cell */
      const size_t b = (size_t)m.near[a];
      if (a < b)
        join(&m, a, b, into);
      else
        join(&m, b, a, into);
      gpc_call_poll(poll, data);
    }
    if (m.count >= 2 * most)
      most = m.count; /* more cells than that */
  }
  size_t groups = 0;
  for (size_t i = 0; i < n; i++) /* the row that takes in is the earlier one */
    group[i] = into[i] < 0 ? (int)groups++ : group[into[i]];
  return groups;
}
