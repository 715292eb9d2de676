/* gp_predict.c: the mean and the second-order ("delta") approximation; see gp_predict.h.
 */
#include "fastexp.h"
#include "gp_predict.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 64 /* rows worked on together */
#define AHEAD 8 /* columns to ask for in advance */

typedef struct {
  double *e;       /* [k][ROWS] phi, then exp(phi - top) */
  int *at;         /* [k][ROWS] the node below a score */
  float *u;        /* [k][ROWS] its place between that node and the next; later h */
  double *c, *rho; /* [k][ROWS] only where the residual matters */
  double *mass;    /* [ROWS][nodes] */
  double *alpha;   /* [ROWS][m] sum_k s_k U'a(z_k) */
  double *feature; /* [k][m] of one row */
  double *h;       /* [k] of one row */
} block_work;

/* Few scores: straight from their features. Many: by way of the nodes. */
static int few_scores(const gpc_gp_lookup *lookup, size_t k) {
  return k < lookup->bulk / 2;
}

static size_t block_doubles(const gpc_gp_lookup *lookup, size_t k) {
  return 4 * k * ROWS + ROWS * (lookup->nodes + lookup->m) + k * (lookup->m + 1);
}

size_t gpc_gp_predict_work(const gpc_gp_lookup *lookup, size_t k, int threads) {
  return (size_t)threads * block_doubles(lookup, k);
}

static void carve(const gpc_gp_lookup *lookup, size_t k, double *block, block_work *t) {
  t->e = block;
  t->c = t->e + k * ROWS;
  t->rho = t->c + k * ROWS;
  t->at =
      (int *)(void *)(t->rho + k * ROWS); /* ints and floats share a stretch of doubles */
  t->u = (float *)(void *)(t->at + k * ROWS);
  t->mass = t->rho + 2 * k * ROWS;
  t->alpha = t->mass + ROWS * lookup->nodes;
  t->feature = t->alpha + ROWS * lookup->m;
  t->h = t->feature + k * lookup->m;
}

/* The last place on the table, kept clear of its end so that it is not rounded up to it.
 */
static double last_place(const gpc_gp_lookup *lookup) {
  return (double)lookup->cells * (1.0 - 1e-6) - 0.01;
}

/* Columns are far apart in memory: ask for a later one while this one is worked on. */
static inline void fetch_ahead(const gpc_gp_data *data, size_t first, size_t rows,
                               size_t j) {
#ifdef __GNUC__
  if (j + AHEAD < data->k)
    for (size_t i = 0; i < rows; i += 8)
      __builtin_prefetch(data->z + first + i + (j + AHEAD) * data->n);
#else
  (void)data, (void)first, (void)rows, (void)j;
#endif
}

/* Scores of class j, floored and centred. */
static void read_scores(const gpc_gp_data *data, size_t first, size_t rows, size_t j,
                        double *z) {
  const double *from = data->z + first + j * data->n, floor = data->floor;
  fetch_ahead(data, first, rows, j);
#pragma omp simd
  for (size_t i = 0; i < rows; i++)
    z[i] = from[i] < floor ? floor : from[i];
  if (data->shift) {
    const double *shift = data->shift + first;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      z[i] -= shift[i];
  }
}

/* Of each row: the highest phi, and the lowest and highest place on the table. */
typedef struct {
  double top[ROWS], low[ROWS], high[ROWS];
} block_sums;

/* phi of the scores of class j and their places; c and rho where `apart`. */
static void look_up(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                    size_t rows, size_t j, int apart, block_sums *sums, block_work *t) {
  double z[ROWS], x[ROWS], *phi = t->e + j * ROWS;
  float *place = t->u + j * ROWS;
  int *node = t->at + j * ROWS;
  const double low = lookup->low, inv = lookup->inv_step, most = last_place(lookup);
  read_scores(data, first, rows, j, z);
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    double v = (z[i] - low) * inv;
    x[i] = v < 0.0 ? 0.0 : v;
  }
#pragma omp simd
  for (size_t i = 0; i < rows; i++)
    x[i] = x[i] > most ? most : x[i];
  for (size_t i = 0; i < rows; i++) {
    int at = (int)x[i];
    double u = x[i] - (double)at;
    const double *cell = lookup->cell + 8 * at;
    phi[i] = cell[0] + u * (cell[1] + u * (cell[2] + u * cell[3]));
    node[i] = at / GPC_CELLS_PER_NODE;
    place[i] =
        (float)((double)(at % GPC_CELLS_PER_NODE) + u) * (1.0F / GPC_CELLS_PER_NODE);
    if (apart) {
      t->c[j * ROWS + i] = cell[4] + u * cell[5];
      t->rho[j * ROWS + i] = cell[6] + u * cell[7];
    }
  }
  if (lookup->mean == GPC_MEAN_LOG)
    for (size_t i = 0; i < rows; i++)
      phi[i] += log(z[i]);
  else
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      phi[i] += lookup->slope * z[i];
#pragma omp simd
  for (size_t i = 0; i < rows; i++)
    sums->top[i] = phi[i] > sums->top[i] ? phi[i] : sums->top[i];
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    sums->low[i] = x[i] < sums->low[i] ? x[i] : sums->low[i];
    sums->high[i] = x[i] > sums->high[i] ? x[i] : sums->high[i];
  }
}

/* e := exp(phi - top); inv := 1 / row sums. */
static void exponentials(size_t k, size_t rows, const double *top, double *e,
                         double *inv) {
  double sum[ROWS] = {0};
  for (size_t j = 0; j < k; j++) {
    double *col = e + j * ROWS;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = gpc_exp_nonpos(col[i] - top[i]);
      col[i] = v;
      sum[i] += v;
    }
  }
  for (size_t i = 0; i < rows; i++)
    inv[i] = 1.0 / sum[i];
}

/* The nodes between which the scores of row i lie, `from` up to but without `to`. */
static inline void nodes_of(const block_sums *sums, size_t i, size_t *from, size_t *to) {
  *from = (size_t)sums->low[i] / GPC_CELLS_PER_NODE;
  *to = (size_t)sums->high[i] / GPC_CELLS_PER_NODE + 2;
}

/* Where the next terms of the expansion may exceed this, the row is integrated instead.
 */
#define DELTA_ERROR 1e-4

/* Eight times the size of those terms for a class of probability s. */
static inline double next_terms(double s, double d) {
  return s * d * d * (1.0 + 0.125 * d * d);
}

#define SLACK 0.5 /* phi of a score beside a node may be higher than at the node */

/* Many scores: the probabilities are spread over the nodes, alpha = U'abar follows from
 * them, and mass [ROWS][nodes] becomes h = c - 2 a'S abar (c left out where it is looked
 * up apart). hbar [rows] := sum_k s_k h_k. With `worst` [rows]: the largest next_terms()
 * of a row's classes, judged on the nodes: none there is likelier than a score at the
 * node would be, nor than twice what lies on it. */
static void cross_by_nodes(const gpc_gp_lookup *lookup, size_t k, size_t rows, int apart,
                           const block_sums *sums, const double *inv, double *hbar,
                           double *worst, block_work *t) {
  const size_t m = lookup->m, nodes = lookup->nodes;
  size_t from, end;
  for (size_t i = 0; i < rows; i++) {
    nodes_of(sums, i, &from, &end);
    memset(t->mass + i * nodes + from, 0, (end - from) * sizeof(double));
  }
  memset(t->alpha, 0, rows * m * sizeof(double));
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double e = t->e[j * ROWS + i], part = e * (double)t->u[j * ROWS + i];
      double *to = t->mass + i * nodes + t->at[j * ROWS + i];
      to[0] += e - part;
      to[1] += part;
    }
  for (size_t i = 0; i < rows; i++) {
    double *mass = t->mass + i * nodes, *alpha = t->alpha + i * m;
    nodes_of(sums, i, &from, &end);
    for (size_t g = from; g < end; g++) {
      const double *node = lookup->node + g * m;
      const double s = mass[g] * inv[i];
      if (s == 0.0)
        continue;
#pragma omp simd
      for (size_t q = 0; q < m; q++)
        alpha[q] += s * node[q];
    }
    double quad = 0.0;
    for (size_t q = 0; q < m && worst; q++)
      quad += alpha[q] * alpha[q];
    for (size_t g = from; g < end; g++) {
      const double *node = lookup->node + g * m;
      double sum[2] = {0.0, 0.0};
      for (size_t q = 0; q < m; q++)
        sum[q % 2] += alpha[q] * node[q];
      double h = (apart ? 0.0 : lookup->node_c[g]) - 2.0 * (sum[0] + sum[1]);
      const double here = mass[g] * inv[i];
      hbar[i] += here * h;
      if (worst && here > 0.0) {
        double phi = lookup->node_phi[g] + SLACK - sums->top[i];
        double s = gpc_exp_nonpos(phi < 0.0 ? phi : 0.0) * inv[i];
        double size = next_terms(s < 2.0 * here ? s : 2.0 * here, h + quad);
        worst[i] = size > worst[i] ? size : worst[i];
      }
      mass[g] = h;
    }
  }
}

/* Few scores: u [k][ROWS] becomes h, straight from the features. */
static void cross_direct(const gpc_gp_lookup *lookup, size_t k, size_t rows, int apart,
                         const double *inv, double *hbar, block_work *t) {
  const size_t m = lookup->m;
  memset(t->alpha, 0, rows * m * sizeof(double));
  for (size_t i = 0; i < rows; i++) {
    double *alpha = t->alpha + i * m;
    for (size_t j = 0; j < k; j++) {
      double s = t->e[j * ROWS + i] * inv[i], u = (double)t->u[j * ROWS + i];
      size_t g = (size_t)t->at[j * ROWS + i];
      const double *node = lookup->node + g * m;
      double *feature = t->feature + j * m;
#pragma omp simd
      for (size_t q = 0; q < m; q++) {
        feature[q] = node[q] + u * (node[q + m] - node[q]);
        alpha[q] += s * feature[q];
      }
      t->h[j] = apart
                    ? 0.0
                    : lookup->node_c[g] + u * (lookup->node_c[g + 1] - lookup->node_c[g]);
    }
    for (size_t j = 0; j < k; j++) {
      double sum = 0.0;
      for (size_t q = 0; q < m; q++)
        sum += t->feature[j * m + q] * alpha[q];
      float h = (float)(t->h[j] - 2.0 * sum);
      t->u[j * ROWS + i] = h;
      hbar[i] += t->e[j * ROWS + i] * inv[i] * (double)h;
    }
  }
}

static int too_large(double worst, double dbar) {
  return worst > 8.0 * DELTA_ERROR || dbar > 0.5;
}

/* Many scores and no residual to speak of: in a row, probability and correction are
 * functions of the score, so that mass [nodes] of each row, h, can become the whole
 * factor inv (1 + (d - dbar) / 2), and the error be judged on the nodes in use. */
static void delta_many(const gpc_gp_lookup *lookup, size_t k, size_t n, size_t rows,
                       const block_sums *sums, const double *inv, block_work *t,
                       double *p, int *hard) {
  const size_t nodes = lookup->nodes, m = lookup->m;
  const double smallest = DBL_MIN; /* no probability is exactly 0 */
  double hbar[ROWS] = {0}, worst[ROWS] = {0};
  cross_by_nodes(lookup, k, rows, 0, sums, inv, hbar, worst, t);
  for (size_t i = 0; i < rows; i++) {
    size_t from, end;
    nodes_of(sums, i, &from, &end);
    double *factor = t->mass + i * nodes, quad = 0.0;
    for (size_t q = 0; q < m; q++)
      quad += t->alpha[i * m + q] * t->alpha[i * m + q];
    const double dbar = hbar[i] + quad;
    for (size_t g = from; g < end; g++)
      factor[g] = inv[i] * (1.0 + 0.5 * (factor[g] + quad - dbar));
    hard[i] = too_large(worst[i], dbar);
  }
  for (size_t j = 0; j < k; j++) {
    const double *e = t->e + j * ROWS;
    const float *u = t->u + j * ROWS;
    const int *at = t->at + j * ROWS;
    double *to = p + j * n;
    for (size_t i = 0; i < rows; i++) {
      const double *factor = t->mass + i * nodes + at[i];
      double v = e[i] * (factor[0] + (double)u[i] * (factor[1] - factor[0]));
      to[i] = v > smallest ? v : smallest;
    }
  }
}

/* eq. (24) for a block; hard [rows] where it is not good enough. */
static void delta_block(const gpc_gp_lookup *lookup, size_t k, size_t n, size_t rows,
                        int apart, const block_sums *sums, const double *inv,
                        block_work *t, double *p, int *hard) {
  const int few = few_scores(lookup, k);
  if (!few && !apart && lookup->mean == GPC_MEAN_LINEAR) {
    delta_many(lookup, k, n, rows, sums, inv, t, p, hard);
    return;
  }
  double quad[ROWS] = {0}, dbar[ROWS] = {0}, worst[ROWS] = {0}, h[ROWS];
  const double smallest = DBL_MIN;
  if (few)
    cross_direct(lookup, k, rows, apart, inv, dbar, t);
  else
    cross_by_nodes(lookup, k, rows, apart, sums, inv, dbar, NULL, t);
  for (size_t i = 0; i < rows; i++)
    for (size_t q = 0; q < lookup->m; q++)
      quad[i] += t->alpha[i * lookup->m + q] * t->alpha[i * lookup->m + q];
  for (size_t j = 0; j < k && apart; j++)
    for (size_t i = 0; i < rows; i++) {
      double s = t->e[j * ROWS + i] * inv[i];
      quad[i] += s * s * t->rho[j * ROWS + i];
      dbar[i] += s * (t->c[j * ROWS + i] - 2.0 * s * t->rho[j * ROWS + i]);
    }
  for (size_t i = 0; i < rows; i++)
    dbar[i] += quad[i];
  for (size_t j = 0; j < k; j++) {
    const double *e = t->e + j * ROWS;
    const float *u = t->u + j * ROWS;
    const int *at = t->at + j * ROWS;
    double *to = p + j * n;
    if (few)
      for (size_t i = 0; i < rows; i++)
        h[i] = (double)u[i];
    else
      for (size_t i = 0; i < rows; i++) {
        const double *mass = t->mass + i * lookup->nodes + at[i];
        h[i] = mass[0] + (double)u[i] * (mass[1] - mass[0]);
      }
    if (apart)
      for (size_t i = 0; i < rows; i++)
        h[i] += t->c[j * ROWS + i] - 2.0 * e[i] * inv[i] * t->rho[j * ROWS + i];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double s = e[i] * inv[i], d = h[i] + quad[i], size = next_terms(s, d);
      double v = s * (1.0 + 0.5 * (d - dbar[i]));
      worst[i] = size > worst[i] ? size : worst[i];
      to[i] = v > smallest ? v : smallest;
    }
  }
  for (size_t i = 0; i < rows; i++)
    hard[i] = too_large(worst[i], dbar[i]);
}

static void predict_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          gpc_approx approx, int apart, size_t first, size_t rows,
                          block_work *t, double *p, int *hard) {
  const size_t n = data->n, k = data->k;
  block_sums sums;
  double inv[ROWS];
  for (size_t i = 0; i < rows; i++) {
    sums.top[i] = sums.high[i] = -INFINITY;
    sums.low[i] = INFINITY;
  }
  for (size_t j = 0; j < k; j++)
    look_up(data, lookup, first, rows, j, apart, &sums, t);
  exponentials(k, rows, sums.top, t->e, inv);
  if (approx == GPC_APPROX_DELTA) {
    delta_block(lookup, k, n, rows, apart, &sums, inv, t, p + first, hard + first);
    if (!apart) /* rows with a score where the residual matters: once more, alone */
      for (size_t i = 0; i < rows; i++)
        if (sums.low[i] < lookup->quiet_low || sums.high[i] > lookup->quiet_high)
          predict_block(data, lookup, approx, 1, first + i, 1, t, p, hard);
    return;
  }
  const double smallest = DBL_MIN;
  for (size_t j = 0; j < k; j++) {
    double *to = p + first + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = t->e[j * ROWS + i] * inv[i];
      to[i] = v > smallest ? v : smallest;
    }
  }
}

void gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                    gpc_approx approx, gpc_poll poll, void *poll_data, double *work,
                    double *p, int *hard) {
  const size_t n = data->n, blocks = (n + ROWS - 1) / ROWS;
  const size_t each = block_doubles(lookup, data->k);
  const int apart = approx == GPC_APPROX_DELTA && !lookup->quiet;
  const int threads = data->threads;
  const size_t some = gpc_poll_blocks(ROWS, data->k);
  for (size_t begin = 0; begin < blocks; begin += some) {
    const size_t now = blocks - begin < some ? blocks - begin : some;
    gpc_call_poll(poll, poll_data);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int part = 0; part < threads; part++) {
      block_work t;
      carve(lookup, data->k, work + (size_t)part * each, &t);
      size_t from = begin + now * (size_t)part / (size_t)threads;
      size_t to = begin + now * (size_t)(part + 1) / (size_t)threads;
      for (size_t b = from; b < to; b++) {
        size_t first = b * ROWS, rows = n - first < ROWS ? n - first : ROWS;
        predict_block(data, lookup, approx, apart, first, rows, &t, p, hard);
      }
    }
  }
}
