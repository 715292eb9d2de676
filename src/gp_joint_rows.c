/* gp_joint_rows.c: see gp_joint_rows.h. */
#include "gp_joint_rows.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_ROWS

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

/* U, and S in the form that rows need. */
static gpc_status set_covariance(gpc_joint_rows *t) {
  const double *s = t->fit->cov;
  const size_t x = t->x, r = t->r, size = t->size;
  for (size_t j = 0; j < x; j++)
    memcpy(t->root + x * j, s + size * j, x * sizeof(double));
  gpc_status status = gpc_chol(x, 0.0, t->root);
  if (status != GPC_OK)
    return status;
  double *v = t->a; /* free until rows are read */
  for (size_t l = 0; l < t->k; l++)
    for (size_t i = 0; i < r; i++) {
      memcpy(v, s + size * (x + l * r + i), x * sizeof(double));
      gpc_solve_rows(1, x, t->root, v);
      for (size_t p = 0; p < x; p++)
        t->cross[i + r * (p + x * l)] = v[p];
    }
  size_t pair = 0;
  for (size_t a = 0; a < t->k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      double *to = t->pairs + triangle(r) * pair;
      const size_t row = x + a * r, column = x + b * r;
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++)
          *to++ = i == j ? s[row + i + size * (column + i)]
                         : s[row + i + size * (column + j)] +
                               s[row + j + size * (column + i)];
    }
  return GPC_OK;
}

gpc_status gpc_joint_rows_begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                                const gpc_memory *memory, gpc_joint_rows *t) {
  const size_t k = data->k, r = fit->features.r, m = fit->process.basis.m;
  const size_t x = m + fit->slopes;
  *t = (gpc_joint_rows){.data = data,
                        .fit = fit,
                        .k = k,
                        .r = r,
                        .m = m,
                        .x = x,
                        .size = x + k * r,
                        .root = gpc_get_doubles(memory, x * x),
                        .cross = gpc_get_doubles(memory, r * x * k),
                        .pairs = gpc_get_doubles(memory, triangle(r) * triangle(k)),
                        .effects = gpc_get_doubles(memory, r * k),
                        .z = gpc_get_doubles(memory, ROWS * k),
                        .a = gpc_get_doubles(memory, ROWS * k * (x + 1)),
                        .rho = gpc_get_doubles(memory, ROWS * k),
                        .au = gpc_get_doubles(memory, ROWS * k * x),
                        .features = gpc_get_doubles(memory, ROWS * r),
                        .packed = gpc_get_doubles(memory, ROWS * triangle(r)),
                        .cee = gpc_get_doubles(memory, ROWS * triangle(k)),
                        .smx = gpc_get_doubles(memory, ROWS * x * k),
                        .phi = gpc_get_doubles(memory, ROWS * k),
                        .row = gpc_get_doubles(memory, k),
                        .work = gpc_get_doubles(memory, k),
                        .one = gpc_get_doubles(memory, r),
                        .c = gpc_get_doubles(memory, k * k),
                        .chol = gpc_get_doubles(memory, k * k)};
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < r; i++)
      t->effects[i + r * j] = fit->effect[j * r + i];
  return set_covariance(t);
}

static void slope_column(const gpc_features *f, size_t count, const double *z,
                         double *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = gpc_joint_held_slope(f, z[i]);
}

void gpc_joint_rows_read(gpc_joint_rows *t, size_t first, size_t rows) {
  const gpc_gp_fitted *process = &t->fit->process;
  const size_t k = t->k, count = rows * k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      t->z[i + rows * j] = gpc_gp_score(t->data, first + i, j);
  gpc_basis_eval(&process->basis, count, t->z, t->a, t->rho);
  if (t->fit->slopes)
    slope_column(&t->fit->features, count, t->z, t->a + count * t->m);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->row[j] = t->z[i + rows * j];
    gpc_features_row(&t->fit->features, t->row, t->work, t->one);
    for (size_t q = 0; q < t->r; q++)
      t->features[i + rows * q] = t->one[q];
  }
  gpc_gemm(0, 0, rows, k, t->r, 1.0, t->features, t->effects, 0.0, t->phi);
  gpc_gemm(0, 0, count, 1, t->m, 1.0, t->a, process->q_mean, 1.0, t->phi);
  gpc_prior_add_mu(&process->prior, count, t->z, t->phi);
}

void gpc_joint_rows_spread(gpc_joint_rows *t, size_t rows) {
  size_t column = 0;
  for (size_t a = 0; a < t->r; a++)
    for (size_t b = 0; b <= a; b++, column++)
      for (size_t i = 0; i < rows; i++)
        t->packed[i + rows * column] =
            t->features[i + rows * a] * t->features[i + rows * b];
  gpc_gemm(0, 0, rows, triangle(t->k), triangle(t->r), 1.0, t->packed, t->pairs, 0.0,
           t->cee);
  gpc_gemm(0, 0, rows, t->x * t->k, t->r, 1.0, t->features, t->cross, 0.0, t->smx);
  gpc_gemm(0, 0, rows * t->k, t->x, t->x, 1.0, t->a, t->root, 0.0, t->au);
}

/* eq. (34): C of row i. */
void gpc_joint_rows_covariance(const gpc_joint_rows *t, size_t i, size_t rows) {
  const size_t k = t->k, x = t->x, step = rows * k;
  size_t pair = 0;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      const double *ua = t->au + i + rows * a, *ub = t->au + i + rows * b;
      const double *sa = t->smx + i + rows * x * a, *sb = t->smx + i + rows * x * b;
      double sum = t->cee[i + rows * pair] + (a == b ? t->rho[i + rows * a] : 0.0);
      for (size_t p = 0; p < x; p++)
        sum += ua[step * p] * (ub[step * p] + sb[rows * p]) + ub[step * p] * sa[rows * p];
      t->c[a + k * b] = t->c[b + k * a] = sum;
    }
}
