/* softmax.c: see softmax.h. */
#include "softmax.h"
#include "simd.h"
#include "fastexp.h"

#include <math.h>

static inline double above(double v, double floor) { return v < floor ? floor : v; }

/* top [rows] = row maxima over the k columns of a block. */
static void block_max(size_t rows, size_t n, size_t k, const double *z, double floor,
                      double *top) {
  for (size_t i = 0; i < rows; i++)
    top[i] = above(z[i], floor);
  for (size_t j = 1; j < k; j++) {
    const double *col = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      top[i] = col[i] > top[i] ? col[i] : top[i];
  }
}

void gpc_softmax_rows(size_t rows, size_t ld_z, size_t k, const double *z, double beta,
                      double floor, size_t ld_p, double *p) {
  double top[GPC_BLOCK_MAX], sum[GPC_BLOCK_MAX];
  block_max(rows, ld_z, k, z, floor, top);
  for (size_t i = 0; i < rows; i++)
    sum[i] = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double *from = z + j * ld_z;
    double *to = p + j * ld_p;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double e = gpc_exp_nonpos(beta * (above(from[i], floor) - top[i]));
      to[i] = e;
      sum[i] += e;
    }
  }
  for (size_t i = 0; i < rows; i++)
    sum[i] = 1.0 / sum[i];
  for (size_t j = 0; j < k; j++) {
    double *to = p + j * ld_p;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      to[i] *= sum[i];
  }
}

void gpc_softmax(size_t n, size_t k, const double *z, double beta, double floor,
                 int threads, double *p) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    gpc_softmax_rows(rows, n, k, z + first, beta, floor, n, p + first);
  }
}

static void log_softmax_block(size_t rows, size_t n, size_t k, const double *z,
                              double *out) {
  double top[GPC_BLOCK_MAX], sum[GPC_BLOCK_MAX];
  block_max(rows, n, k, z, -INFINITY, top);
  for (size_t i = 0; i < rows; i++)
    sum[i] = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double *from = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      sum[i] += gpc_exp_nonpos(from[i] - top[i]);
  }
  for (size_t i = 0; i < rows; i++)
    sum[i] = log(sum[i]);
  for (size_t j = 0; j < k; j++) {
    const double *from = z + j * n;
    double *to = out + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      to[i] = (from[i] - top[i]) - sum[i];
  }
}

void gpc_log_softmax(size_t n, size_t k, const double *z, int threads, double *out) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    log_softmax_block(rows, n, k, z + first, out + first);
  }
}

GPC_WIDE static void max_mean_block(size_t rows, size_t n, size_t k, const double *z,
                                    double floor, double *top, double *mean) {
  for (size_t i = 0; i < rows; i++)
    top[i] = mean[i] = above(z[i], floor);
  for (size_t j = 1; j < k; j++) {
    const double *col = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = above(col[i], floor);
      top[i] = v > top[i] ? v : top[i];
      mean[i] += v;
    }
  }
  for (size_t i = 0; i < rows; i++)
    mean[i] /= (double)k;
}

void gpc_row_max_mean(size_t n, size_t k, const double *z, double floor, int threads,
                      double *top, double *mean) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    max_mean_block(rows, n, k, z + first, floor, top + first, mean + first);
  }
}

static void below_block(size_t rows, size_t n, size_t k, const double *z, double floor,
                        const double *top, double *below) {
  for (size_t i = 0; i < rows; i++)
    below[i] = -INFINITY;
  for (size_t j = 0; j < k; j++) {
    const double *col = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = above(col[i], floor), lower = v < top[i] ? v : below[i];
      below[i] = lower > below[i] ? lower : below[i];
    }
  }
}

void gpc_row_below(size_t n, size_t k, const double *z, double floor, int threads,
                   const double *top, double *below) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    below_block(rows, n, k, z + first, floor, top + first, below + first);
  }
}

GPC_WIDE void gpc_softmax_moments(size_t rows, size_t n, size_t k, const double *z,
                                  double floor, double beta, const double *top,
                                  double *s0, double *s1, double *s2, double *s3) {
  for (size_t i = 0; i < rows; i++)
    s0[i] = s1[i] = s2[i] = s3[i] = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double *col = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double d = above(col[i], floor) - top[i];
      double e = gpc_exp_nonpos(beta * d);
      double ed = e * d, edd = ed * d;
      s0[i] += e;
      s1[i] += ed;
      s2[i] += edd;
      s3[i] += edd * d;
    }
  }
}

void gpc_softmax_row(size_t k, double beta, const double *z, double *p) {
  double top = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < k; j++)
    top = fmax(top, beta * z[j]);
  for (size_t j = 0; j < k; j++)
    sum += p[j] = exp(beta * z[j] - top);
  for (size_t j = 0; j < k; j++)
    p[j] /= sum;
}
