/* gp_joint_block.c: see gp_joint_block.h. */
#include "gp_joint_block.h"
#include "class_powers.h"
#include "linalg.h"
#include "simd.h"
#include "tilt.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_BLOCK
#define STENCIL GPC_STENCIL
#define RULED_OUT 23.0 /* nats */
#define DENSE 0.4      /* share of the pairs: with more, all are made at once */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

static double *room(gpc_joint *joint, int which, size_t n) {
  return gpc_buffer_need(joint->memory, &joint->rooms[which], n);
}

static void get_room(gpc_joint *joint, gpc_joint_block *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, e = joint->e;
  const size_t g = joint->nodes->g, packed = triangle(r), pairs = triangle(k);
  t->cross = room(joint, 1, r * m * k);
  t->pairs = room(joint, 2, packed * (pairs + k));
  t->own = t->pairs + packed * pairs;
  t->x = room(joint, 4, ROWS * r);
  t->packed = room(joint, 5, ROWS * packed);
  t->cee = room(joint, 6, ROWS * pairs);
  t->smx = room(joint, 7, ROWS * m * k);
  t->phi = room(joint, 8, 2 * ROWS * k);
  t->open = t->phi + ROWS * k;
  t->weighed = room(joint, 9, ROWS * pairs);
  t->y = room(joint, 10, ROWS * e);
  t->p = room(joint, 11, ROWS * g + g);
  t->sd = t->p + ROWS * g;
  t->wts = room(joint, 12, k * STENCIL * ROWS);
  t->first = (int *)(void *)room(joint, 13, (2 * k + 1) * ROWS);
  t->active = t->first + k * ROWS;
  t->count = t->active + k * ROWS;
  t->z = room(joint, 14, 5 * k + k * k + 2 * m * k + 2 * STENCIL * k);
  t->work = t->z + k;
  t->rho_row = t->work + k;
  t->f = t->rho_row + k;
  t->pi = t->f + k;
  t->c = t->pi + k;
  t->a = t->c + k * k;
  t->s = t->a + m * k;
  t->w12 = t->s + m * k;
  t->u12 = t->w12 + STENCIL * k;
  t->hpacked = room(joint, 15, pairs * packed);
  t->half = room(joint, 3, g * g + g * e);
  t->level = t->half + g * g;
  t->effect = room(joint, 23, e + r * r);
  t->block = t->effect + e;
}

/* What S is to rows. */
static void set_covariance(const gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, gpc_joint_block *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, q = joint->q;
  const double *s = point->cov;
  double *to = t->pairs, *own = t->own;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      double *block = t->block;
      for (size_t j = 0; j < r; j++)
        memcpy(block + r * j, s + m + a * r + q * (m + b * r + j), r * sizeof(double));
      gpc_powers_apply_block(&joint->features, a, b, r, block);
      for (size_t i = 0; i < r; i++) {
        for (size_t j = 0; j < i; j++)
          *to++ = block[i + r * j] + block[j + r * i];
        *to++ = block[i + r * i];
      }
      if (a == b) {
        memcpy(own, to - triangle(r), triangle(r) * sizeof(double));
        own += triangle(r);
      }
    }
  for (size_t l = 0; l < k; l++)
    for (size_t i = 0; i < r; i++) { /* S_m,(l,i), then U^-1 of it */
      double *v = t->cross + m * l + m * k * i;
      memcpy(v, s + q * (m + l * r + i), m * sizeof(double));
      gpc_solve_rows(1, m, chol, v);
    }
  for (size_t l = 0; l < k; l++)
    for (size_t i = 0; i < m; i++)
      gpc_powers_apply(&joint->features, l, m * k, t->cross + i + m * l);
}

void gpc_joint_block_begin(gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, const double *au, const double *rho,
                           gpc_joint_block *t) {
  const size_t k = joint->data->k, g = joint->nodes->g, m = joint->m;
  get_room(joint, t);
  t->au = au;
  t->rho = rho;
  for (size_t j = 0; j < g; j++)
    t->sd[j] = sqrt(gpc_dot(m, au + m * j, au + m * j) + rho[j]);
  memcpy(t->effect, point->effect, joint->e * sizeof(double));
  for (size_t j = 0; j < k; j++)
    gpc_powers_apply(&joint->features, j, 1, t->effect + joint->features.r * j);
  if (point->has_effects && !point->at_mode)
    set_covariance(joint, point, chol, t);
  memset(t->hpacked, 0, triangle(k) * triangle(joint->features.r) * sizeof(double));
  memset(t->half, 0, (g * g + g * joint->e) * sizeof(double));
}

/* Scores, stencils, features and phi of the rows first .. first + rows. */
static void read_rows(const gpc_joint *joint, size_t first, size_t rows,
                      const double *psi, gpc_joint_block *t) {
  const gpc_gp_data *data = joint->data;
  const size_t k = data->k, r = joint->features.r;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->z[j] = gpc_gp_score(data, first + i, j);
    double *x = t->x + r * i, *to = t->packed + triangle(r) * i;
    gpc_features_row(&joint->features, t->z, t->work, x);
    for (size_t a = 0; a < r; a++)
      for (size_t b = 0; b <= a; b++)
        *to++ = x[a] * x[b];
  }
  gpc_gemm_large(1, 0, k, rows, r, 1.0, t->effect, t->x, 0.0, t->phi);
  for (size_t j = 0; j < k; j++) {
    double tau[ROWS];
    int *at = t->first + j * ROWS;
    const double *wts = t->wts + j * STENCIL * ROWS;
    for (size_t i = 0; i < rows; i++)
      tau[i] = gpc_gp_score(data, first + i, j);
    gpc_line_coordinates(&joint->nodes->line, rows, tau, tau);
    gpc_line_weights(rows, tau, ROWS, at, t->wts + j * STENCIL * ROWS);
    for (size_t i = 0; i < rows; i++) {
      if (joint->nodes->slot)
        at[i] = joint->nodes->slot[at[i]];
      const double *from = psi + at[i];
      double sum = 0.0;
      for (size_t q = 0; q < STENCIL; q++)
        sum += wts[q * ROWS + i] * from[q];
      t->phi[j + k * i] += sum;
    }
  }
}

/* The classes of row i that count: by phi_k + D_k / 2 with D_k <= (sd_k + sd_top)^2, each
 * the sum of the process's and the effects'. The label's is always among them. */
static size_t find_active(const gpc_joint *joint, gpc_joint_block *t, size_t i,
                          size_t label, int effects) {
  const size_t k = joint->data->k;
  const double *phi = t->phi + k * i, *open = t->open + k * i;
  size_t top = 0, count = 0;
  for (size_t j = 0; j < k; j++) {
    const size_t node = (size_t)t->first[j * ROWS + i] + GPC_LEFT;
    t->work[j] =
        fmax(t->sd[node], t->sd[node + 1]) + (effects ? sqrt(fmax(open[j], 0.0)) : 0.0);
    top = phi[j] > phi[top] ? j : top;
  }
  for (size_t j = 0; j < k; j++) {
    const double sd = t->work[j] + t->work[top];
    if (j == top || j == label || !(phi[j] + 0.5 * sd * sd < phi[top] - RULED_OUT))
      t->active[k * i + count++] = (int)j;
  }
  return count;
}

/* U'a and rho of the active classes of row i, and their stencils' weights in one piece. */
GPC_FUSED static void interpolate(size_t m, const gpc_joint_block *t, size_t i,
                                  size_t count, const int *active) {
  memset(t->a, 0, m * count * sizeof(double));
  for (size_t b = 0; b < count; b++) {
    const size_t j = (size_t)active[b], first = (size_t)t->first[j * ROWS + i];
    const double *wts = t->wts + j * STENCIL * ROWS + i;
    double left = 0.0, *a = t->a + m * b, *w12 = t->w12 + STENCIL * b;
    for (size_t q = 0; q < STENCIL; q++) {
      const double w = w12[q] = wts[q * ROWS], *from = t->au + m * (first + q);
      left += w * t->rho[first + q];
#pragma omp simd
      for (size_t p = 0; p < m; p++)
        a[p] += w * from[p];
    }
    t->rho_row[b] = left > 0.0 ? left : 0.0;
  }
}

/* s of the active classes of row i. */
GPC_FUSED static void cross_row(size_t m, size_t k, size_t r, const gpc_joint_block *t,
                                size_t i, size_t count, const int *active) {
  const double *x = t->x + r * i;
  memset(t->s, 0, m * count * sizeof(double));
  for (size_t b = 0; b < count; b++)
    for (size_t f = 0; f < r; f++) {
      const double *from = t->cross + m * (size_t)active[b] + m * k * f, w = x[f];
      double *s = t->s + m * b;
#pragma omp simd
      for (size_t p = 0; p < m; p++)
        s[p] += w * from[p];
    }
}

/* eq. (34): C of the active classes of row i, by a_k'S a_l + a_k's_l + s_k'a_l = (a_k +
 * s_k)'(a_l + s_l) - s_k's_l in whitened coordinates. dense: the products are there. */
GPC_FUSED static void row_covariance(const gpc_joint *joint, const gpc_joint_block *t,
                                     size_t i, size_t count, int effects, int dense) {
  const size_t k = joint->data->k, m = joint->m, r = joint->features.r;
  const size_t packed = triangle(r);
  const int *active = t->active + k * i;
  interpolate(m, t, i, count, active);
  if (effects && dense)
    for (size_t b = 0; b < count; b++)
      memcpy(t->s + m * b, t->smx + m * k * i + m * (size_t)active[b],
             m * sizeof(double));
  else if (effects)
    cross_row(m, k, r, t, i, count, active);
  if (effects)
    for (size_t p = 0; p < m * count; p++)
      t->a[p] += t->s[p];
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = gpc_dot(m, t->a + m * a, t->a + m * b);
      if (effects) {
        const size_t j = (size_t)active[a], pair = triangle(j) + (size_t)active[b];
        sum -= gpc_dot(m, t->s + m * a, t->s + m * b);
        sum += a == b ? t->open[j + k * i]
               : dense
                   ? t->cee[pair + triangle(k) * i]
                   : gpc_dot(packed, t->packed + packed * i, t->pairs + packed * pair);
      }
      t->c[a + count * b] = t->c[b + count * a] = sum + (a == b ? t->rho_row[a] : 0.0);
    }
}

/* pi of row i and its bound, from where the last pass left pi [n x k]. */
static double tilt_row(const gpc_joint *joint, const gpc_joint_block *t, size_t row,
                       size_t i, size_t count, double *pi) {
  const size_t k = joint->data->k, n = joint->data->n;
  const int *active = t->active + k * i;
  double mass = 0.0;
  for (size_t a = 0; a < count; a++) {
    t->f[a] = t->phi[(size_t)active[a] + k * i];
    mass += t->pi[a] = pi[row + n * (size_t)active[a]];
  }
  for (size_t a = 0; a < count; a++)
    t->pi[a] = mass > 0.0 ? t->pi[a] / mass : 1.0 / (double)count;
  const double bound = gpc_tilt(count, t->f, t->c, t->work, t->pi);
  if (count < k)
    for (size_t j = 0; j < k; j++)
      pi[row + n * j] = 0.0;
  for (size_t a = 0; a < count; a++)
    pi[row + n * (size_t)active[a]] = t->pi[a];
  return bound;
}

/* Gradients that row i adds; label: among the active classes. */
GPC_FUSED static void add_gradients(const gpc_joint *joint, const gpc_joint_block *t,
                                    size_t i, size_t count, size_t label, double w,
                                    gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r;
  const int *active = t->active + k * i;
  const double *x = t->x + r * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], rest = w * ((j == label ? 1.0 : 0.0) - pi);
    const double spread = w * pi * (1.0 - pi), *w12 = t->w12 + STENCIL * a;
    double *ge = pass->ge + j * r;
    for (size_t q = 0; q < STENCIL; q++) {
      pass->gc[first + q] += rest * w12[q];
      pass->spread[first + q] += spread * w12[q];
    }
    for (size_t f = 0; f < r; f++)
      ge[f] += rest * x[f];
  }
}

/* Curvature by pairs of active classes of row i. */
GPC_FUSED static void add_pairs(const gpc_joint *joint, const gpc_joint_block *t,
                                size_t i, size_t count, double w, gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r, g = joint->nodes->g;
  const size_t packed = triangle(r);
  const int *active = t->active + k * i;
  const double *x = t->x + r * i, *xx = t->packed + packed * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], here = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], *w12 = t->w12 + STENCIL * a;
    for (size_t b = 0; b < count; b++) { /* of class j and the nodes of class b */
      const double *from = t->w12 + STENCIL * b;
      const double by = w * pi * ((a == b ? 1.0 : 0.0) - t->pi[b]);
      for (size_t q = 0; q < STENCIL; q++)
        t->u12[STENCIL * b + q] = by * from[q];
    }
    for (size_t f = 0; f < r; f++) {
      double *column = pass->hce + g * (j * r + f);
      for (size_t b = 0; b < count; b++) {
        double *to = column + t->first[(size_t)active[b] * ROWS + i];
        const double *u = t->u12 + STENCIL * b;
        for (size_t q = 0; q < STENCIL; q++)
          to[q] += x[f] * u[q];
      }
    }
    for (size_t b = 0; b <= a; b++) {
      const size_t there = (size_t)t->first[(size_t)active[b] * ROWS + i];
      const double both = w * pi * t->pi[b], *from = t->w12 + STENCIL * b;
      for (size_t q = 0; q < STENCIL; q++) {
        double *to = t->half + here + g * (there + q);
        const double by = (a == b ? 0.5 : 1.0) * both * from[q];
        for (size_t p = 0; p < STENCIL; p++)
          to[p] += by * w12[p];
      }
      double *to = t->hpacked + packed * (triangle(j) + (size_t)active[b]);
      const double by = a == b ? w * pi - both : -both;
#pragma omp simd
      for (size_t p = 0; p < packed; p++)
        to[p] += by * xx[p];
    }
  }
}

/* The same of row i, prepared for products of all rows of the block. */
GPC_FUSED static void prepare_products(const gpc_joint *joint, const gpc_joint_block *t,
                                       size_t i, size_t count, double w) {
  const size_t k = joint->data->k, r = joint->features.r, g = joint->nodes->g;
  const int *active = t->active + k * i;
  const double *x = t->x + r * i, root = sqrt(w);
  double *p = t->p + g * i, *weighed = t->weighed + triangle(k) * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], *w12 = t->w12 + STENCIL * a;
    double *y = t->y + joint->e * i + j * r;
    for (size_t q = 0; q < STENCIL; q++)
      p[first + q] += root * pi * w12[q];
    double *to = t->level + r * (first + g * j);
    for (size_t q = 0; q < STENCIL; q++, to += r) {
      const double weight = w * pi * w12[q];
#pragma omp simd
      for (size_t f = 0; f < r; f++)
        to[f] += weight * x[f];
    }
    for (size_t f = 0; f < r; f++)
      y[f] = root * pi * x[f];
    for (size_t b = 0; b <= a; b++)
      weighed[triangle(j) + (size_t)active[b]] =
          w * (a == b ? pi - pi * pi : -pi * t->pi[b]);
  }
}

void gpc_joint_block_add(const gpc_joint *joint, const gpc_joint_point *point,
                         size_t first, size_t rows, gpc_joint_block *t,
                         gpc_joint_pass *pass) {
  const gpc_gp_data *data = joint->data;
  const size_t k = data->k, r = joint->features.r, m = joint->m, g = joint->nodes->g;
  const size_t packed = triangle(r), pairs = triangle(k), e = joint->e;
  const int effects = point->has_effects && !point->at_mode;
  size_t total = 0;
  read_rows(joint, first, rows, pass->psi, t);
  if (effects)
    gpc_gemm_large(1, 0, k, rows, packed, 1.0, t->own, t->packed, 0.0, t->open);
  for (size_t i = 0; i < rows; i++) {
    t->count[i] = 0;
    if (gpc_gp_weight(data, first + i) > 0.0)
      t->count[i] =
          (int)find_active(joint, t, i, (size_t)data->label[first + i] - 1, effects);
    total += triangle((size_t)t->count[i]);
  }
  const int dense = (double)total > DENSE * (double)(rows * pairs);
  if (effects && dense) {
    gpc_gemm_large(1, 0, pairs, rows, packed, 1.0, t->pairs, t->packed, 0.0, t->cee);
    gpc_gemm_large(0, 0, m * k, rows, r, 1.0, t->cross, t->x, 0.0, t->smx);
  }
  if (dense) {
    memset(t->p, 0, rows * g * sizeof(double));
    memset(t->y, 0, rows * e * sizeof(double));
    memset(t->weighed, 0, rows * pairs * sizeof(double));
  }
  for (size_t i = 0; i < rows; i++) {
    const size_t row = first + i, count = (size_t)t->count[i];
    const size_t label = (size_t)data->label[row] - 1;
    const double w = gpc_gp_weight(data, row);
    if (count == 0)
      continue;
    if (point->at_mode) {
      interpolate(m, t, i, count, t->active + k * i);
      memset(t->c, 0, count * count * sizeof(double));
    } else if (count > 1) {
      row_covariance(joint, t, i, count, effects, dense);
    } else {
      t->c[0] = 0.0; /* what differs from itself? */
    }
    const double bound = tilt_row(joint, t, row, i, count, pass->pi);
    pass->fit += w * (t->phi[label + k * i] - bound);
    if (count == 1) { /* the label's class, with all of the probability: H is 0, and the
                         diagonal that is added for the labels is not its own */
      const size_t node = (size_t)t->first[label * ROWS + i];
      for (size_t q = 0; q < STENCIL; q++)
        pass->hcc[(node + q) * (g + 1)] -= w * t->wts[(label * STENCIL + q) * ROWS + i];
      continue;
    }
    add_gradients(joint, t, i, count, label, w, pass);
    if (dense)
      prepare_products(joint, t, i, count, w);
    else
      add_pairs(joint, t, i, count, w, pass);
  }
  if (!dense)
    return;
  /* H_ee by pairs of classes and of features; then what rows' means take off */
  gpc_gemm_large(0, 1, packed, pairs, rows, 1.0, t->packed, t->weighed, 1.0, t->hpacked);
  gpc_gemm_large(0, 1, g, g, rows, -1.0, t->p, t->p, 1.0, pass->hcc);
  gpc_gemm_large(0, 1, g, e, rows, -1.0, t->p, t->y, 1.0, pass->hce);
}

void gpc_joint_block_end(const gpc_joint *joint, const gpc_joint_block *t,
                         gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r, e = joint->e;
  const size_t g = joint->nodes->g;
  const double *from = t->hpacked;
  const gpc_features *f = &joint->features;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++)
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++) {
          const double h = *from++;
          pass->hee[a * r + i + e * (b * r + j)] = h;
          pass->hee[a * r + j + e * (b * r + i)] = h;
          pass->hee[b * r + i + e * (a * r + j)] = h;
          pass->hee[b * r + j + e * (a * r + i)] = h;
        }
  for (size_t a = 0; a < k; a++)
    for (size_t j = 0; j < g; j++)
      for (size_t i = 0; i < r; i++)
        pass->hce[j + g * (a * r + i)] += t->level[i + r * (j + g * a)];
  for (size_t a = 0; a < k; a++) { /* from e to c */
    gpc_powers_transpose(f, a, 1, pass->ge + a * r);
    for (size_t i = 0; i < g; i++)
      gpc_powers_transpose(f, a, g, pass->hce + i + g * a * r);
    for (size_t b = 0; b < k; b++)
      gpc_powers_transpose_block(f, a, b, e, pass->hee + a * r + e * b * r);
  }
  for (size_t j = 0; j < g; j++)
    for (size_t i = 0; i <= j; i++) {
      const double both = t->half[i + g * j] + t->half[j + g * i];
      pass->hcc[i + g * j] -= both;
      if (i != j)
        pass->hcc[j + g * i] -= both;
    }
}
