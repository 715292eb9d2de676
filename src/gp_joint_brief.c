/* gp_joint_brief.c: see gp_joint_brief.h. */
#include "gp_joint_brief.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

void gpc_joint_pack(size_t size, const double *cov, double *packed) {
  for (size_t j = 0; j < size; j++) {
    memcpy(packed, cov + j + size * j, (size - j) * sizeof(double));
    packed += size - j;
  }
}

/* a [n x n], lower triangle, which is overwritten. */
static gpc_status firm(size_t n, double *a) {
  for (size_t i = 0; i < n; i++)
    a[i + n * i] *= 1.0 - GPC_JOINT_FIRM;
  return gpc_chol_large(n, a);
}

gpc_status gpc_joint_firm(size_t size, const double *packed, const gpc_memory *memory) {
  void *mark = memory->mark(memory->self);
  double *cov = gpc_get_doubles(memory, size * size);
  for (size_t j = 0; j < size; j++) {
    memcpy(cov + j + size * j, packed, (size - j) * sizeof(double));
    packed += size - j;
  }
  const gpc_status status = firm(size, cov);
  memory->release(memory->self, mark);
  return status;
}

/* E [e x e], lower triangle. */
static gpc_status rest(size_t x, size_t e, const double *packed, const gpc_memory *memory,
                       double *out) {
  const size_t size = x + e;
  void *mark = memory->mark(memory->self);
  double *root = gpc_get_doubles(memory, x * x), *w = gpc_get_doubles(memory, e * x);
  for (size_t j = 0; j < x; j++) { /* S, and C' [e x x] */
    memcpy(root + j + x * j, packed, (x - j) * sizeof(double));
    memcpy(w + e * j, packed + x - j, e * sizeof(double));
    packed += size - j;
  }
  const gpc_status status = gpc_chol(x, 0.0, root);
  if (status == GPC_OK) {
    gpc_solve_rows(e, x, root, w); /* C'U^-T */
    gpc_gemm(0, 1, e, e, x, -1.0, w, w, 0.0, out);
    for (size_t j = 0; j < e; j++)
      for (size_t i = j; i < e; i++)
        out[i + e * j] += *packed++;
  }
  memory->release(memory->self, mark);
  return status;
}

/* By how much the block E_ab [r x r], columns e apart, differs from the mean of all pairs:
 * a variance. work [r x r]. */
static double difference(const gpc_features *features, size_t a, size_t b, size_t e,
                         const double *block, const double *mean, const double *weight,
                         double *work) {
  const size_t r = features->r;
  double sum = 0.0;
  for (size_t j = 0; j < r; j++)
    for (size_t i = 0; i < r; i++)
      work[i + r * j] = block[i + e * j] - mean[i + r * j];
  gpc_powers_free_block(features, a, b, r, work);
  for (size_t i = 0; i < r; i++)
    sum += weight[i] * fabs(work[i + r * i]);
  return sum;
}

gpc_status gpc_joint_brief(size_t x, const gpc_features *features, const double *packed,
                           const double *weight, double alike, const gpc_memory *memory,
                           double *own, double *common) {
  const size_t k = features->k, r = features->r, e = k * r;
  void *mark = memory->mark(memory->self);
  double *all = gpc_get_doubles(memory, e * e),
         *mean = gpc_get_doubles(memory, 2 * r * r), *work = mean + r * r;
  gpc_status status = rest(x, e, packed, memory, all);
  memset(mean, 0, r * r * sizeof(double));
  for (size_t a = 0; a < k; a++) /* each pair once, both ways */
    for (size_t b = 0; b < a; b++)
      for (size_t j = 0; j < r; j++)
        for (size_t i = 0; i < r; i++)
          mean[i + r * j] += all[a * r + i + e * (b * r + j)];
  for (size_t j = 0; j < r; j++)
    for (size_t i = j; i < r; i++)
      mean[i + r * j] = mean[j + r * i] =
          (mean[i + r * j] + mean[j + r * i]) / (double)(k * (k - 1));
  for (size_t j = 0; j < r; j++)
    for (size_t i = j; i < r; i++)
      *common++ = mean[i + r * j];
  for (size_t a = 0; a < k && status == GPC_OK; a++)
    for (size_t b = 0; b < a; b++)
      if (!(difference(features, a, b, e, all + a * r + e * (b * r), mean, weight,
                       work) <= alike))
        status = GPC_NOT_CONVERGED;
  for (size_t a = 0; a < k; a++)
    for (size_t j = 0; j < r; j++)
      for (size_t i = j; i < r; i++)
        *own++ = all[a * r + i + e * (a * r + j)];
  if (status == GPC_OK) { /* Cov(e) given x is one with the pairs' mean, too? */
    for (size_t a = 0; a < k; a++)
      for (size_t b = 0; b < a; b++)
        for (size_t j = 0; j < r; j++)
          memcpy(all + a * r + e * (b * r + j), mean + r * j, r * sizeof(double));
    if (firm(e, all) != GPC_OK)
      status = GPC_NOT_CONVERGED;
  }
  memory->release(memory->self, mark);
  return status;
}
