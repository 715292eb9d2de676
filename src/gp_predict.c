/* gp_predict.c: the mean and the second-order ("delta") approximation; see gp_predict.h.
 */
#include "fastexp.h"
#include "gp_predict.h"

#include <math.h>
#include <string.h>

#define ROWS 32 /* rows worked on together */

typedef struct {
  double *e;       /* [k][ROWS] phi, then exp(phi - top) */
  float *x;        /* [k][ROWS] place in units of cells */
  double *c, *rho; /* [k][ROWS] only where the residual matters */
  double *mass;    /* [ROWS][nodes] */
  double *alpha;   /* [ROWS][m] sum_k s_k U'a(z_k) */
  double *feature; /* [k][m] of one row */
  double *h;       /* [k] of one row */
} block_work;

/* Few scores: straight from their features. Many: by way of the nodes. */
static int few_scores(const gpc_gp_lookup *lookup, size_t k) {
  return k < lookup->nodes / 2;
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
  t->x = (float *)(void *)(t->rho + k * ROWS);
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

/* Scores of class j, floored and centred. */
static void read_scores(const gpc_gp_data *data, size_t first, size_t rows, size_t j,
                        double *z) {
  const double *from = data->z + first + j * data->n, floor = data->floor;
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

/* phi of the scores of class j and their places; c and rho where `apart`. top: running
 * maxima. */
static void look_up(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                    size_t rows, size_t j, int apart, double *top, block_work *t) {
  double z[ROWS], x[ROWS], *phi = t->e + j * ROWS;
  float *place = t->x + j * ROWS;
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
    place[i] = (float)x[i];
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
    top[i] = phi[i] > top[i] ? phi[i] : top[i];
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

/* Node and place between it and the next of a score at x cells. */
static inline size_t node_of(float x, double *u) {
  unsigned cell = (unsigned)x;
  size_t node = cell / GPC_CELLS_PER_NODE;
  *u = ((double)x - (double)(node * GPC_CELLS_PER_NODE)) / GPC_CELLS_PER_NODE;
  return node;
}

/* Many scores: the probabilities are spread over the nodes, alpha = U'abar follows from
 * them, and mass [ROWS][nodes] becomes h = c - 2 a'S abar (c left out where it is looked
 * up apart). hbar [rows] := sum_k s_k h_k. */
static void cross_by_nodes(const gpc_gp_lookup *lookup, size_t k, size_t rows, int apart,
                           const double *inv, double *hbar, block_work *t) {
  const size_t m = lookup->m, nodes = lookup->nodes;
  memset(t->mass, 0, rows * nodes * sizeof(double));
  memset(t->alpha, 0, rows * m * sizeof(double));
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double u, e = t->e[j * ROWS + i];
      double *to = t->mass + i * nodes + node_of(t->x[j * ROWS + i], &u);
      to[0] += e - e * u;
      to[1] += e * u;
    }
  for (size_t i = 0; i < rows; i++) {
    double *mass = t->mass + i * nodes, *alpha = t->alpha + i * m;
    for (size_t g = 0; g < nodes; g++) {
      const double *node = lookup->node + g * m;
      const double s = mass[g] * inv[i];
      if (s == 0.0)
        continue;
#pragma omp simd
      for (size_t q = 0; q < m; q++)
        alpha[q] += s * node[q];
    }
    for (size_t g = 0; g < nodes; g++) {
      const double *node = lookup->node + g * m;
      double sum[2] = {0.0, 0.0};
      for (size_t q = 0; q < m; q++)
        sum[q % 2] += alpha[q] * node[q];
      double h = (apart ? 0.0 : lookup->node_c[g]) - 2.0 * (sum[0] + sum[1]);
      hbar[i] += mass[g] * inv[i] * h;
      mass[g] = h;
    }
  }
}

/* Few scores: x [k][ROWS] becomes h, straight from the features. */
static void cross_direct(const gpc_gp_lookup *lookup, size_t k, size_t rows, int apart,
                         const double *inv, double *hbar, block_work *t) {
  const size_t m = lookup->m;
  memset(t->alpha, 0, rows * m * sizeof(double));
  for (size_t i = 0; i < rows; i++) {
    double *alpha = t->alpha + i * m;
    for (size_t j = 0; j < k; j++) {
      double u, s = t->e[j * ROWS + i] * inv[i];
      size_t g = node_of(t->x[j * ROWS + i], &u);
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
      t->x[j * ROWS + i] = h;
      hbar[i] += t->e[j * ROWS + i] * inv[i] * (double)h;
    }
  }
}

/* Where the next terms of the expansion may exceed this, the row is integrated instead.
 */
#define DELTA_ERROR 2e-4

/* eq. (24) for a block; hard [rows] where it is not good enough. */
static void delta_block(const gpc_gp_lookup *lookup, size_t k, size_t n, size_t rows,
                        int apart, const double *inv, block_work *t, double *p,
                        int *hard) {
  double quad[ROWS] = {0}, dbar[ROWS] = {0}, worst[ROWS] = {0}, h[ROWS];
  const int few = few_scores(lookup, k);
  if (few)
    cross_direct(lookup, k, rows, apart, inv, dbar, t);
  else
    cross_by_nodes(lookup, k, rows, apart, inv, dbar, t);
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
    const float *x = t->x + j * ROWS;
    double *to = p + j * n;
    for (size_t i = 0; i < rows; i++) {
      if (few) {
        h[i] = (double)x[i];
      } else {
        double u;
        const double *mass = t->mass + i * lookup->nodes + node_of(x[i], &u);
        h[i] = mass[0] + u * (mass[1] - mass[0]);
      }
    }
    if (apart)
      for (size_t i = 0; i < rows; i++)
        h[i] += t->c[j * ROWS + i] - 2.0 * e[i] * inv[i] * t->rho[j * ROWS + i];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double s = e[i] * inv[i], d = h[i] + quad[i], d2 = d * d;
      double error = s * d2 * (1.0 + 0.125 * d2);
      worst[i] = error > worst[i] ? error : worst[i];
      to[i] = s * (1.0 + 0.5 * (d - dbar[i]));
    }
  }
  for (size_t i = 0; i < rows; i++)
    hard[i] = worst[i] > 8.0 * DELTA_ERROR || dbar[i] > 0.5;
}

static void predict_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          gpc_approx approx, size_t first, size_t rows, block_work *t,
                          double *p, int *hard) {
  const size_t n = data->n, k = data->k;
  const int delta = approx == GPC_APPROX_DELTA, apart = delta && !lookup->quiet;
  double top[ROWS], inv[ROWS];
  for (size_t i = 0; i < rows; i++)
    top[i] = -INFINITY;
  for (size_t j = 0; j < k; j++)
    look_up(data, lookup, first, rows, j, apart, top, t);
  exponentials(k, rows, top, t->e, inv);
  if (delta) {
    delta_block(lookup, k, n, rows, apart, inv, t, p + first, hard + first);
    return;
  }
  for (size_t j = 0; j < k; j++) {
    double *to = p + first + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      to[i] = t->e[j * ROWS + i] * inv[i];
  }
}

void gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                    gpc_approx approx, double *work, double *p, int *hard) {
  const size_t n = data->n, blocks = (n + ROWS - 1) / ROWS;
  const size_t each = block_doubles(lookup, data->k);
  const int threads = data->threads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    block_work t;
    carve(lookup, data->k, work + (size_t)part * each, &t);
    size_t from = blocks * (size_t)part / (size_t)threads;
    size_t to = blocks * (size_t)(part + 1) / (size_t)threads;
    for (size_t b = from; b < to; b++) {
      size_t first = b * ROWS, rows = n - first < ROWS ? n - first : ROWS;
      predict_block(data, lookup, approx, first, rows, &t, p, hard);
    }
  }
}
