/* gp_joint_block.c: see gp_joint_block.h. */
#include "gp_joint_block.h"
#include "class_powers.h"
#include "class_skew.h"
#include "gp_joint_row.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_BLOCK
#define STENCIL GPC_STENCIL
#define DENSE 0.4 /* share of the pairs: with more, all are made at once */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

static double *room(gpc_joint *joint, int which, size_t n) {
  return gpc_buffer_need(joint->memory, &joint->rooms[which], n);
}

/* at_mode: nothing is uncertain, and what is for covariances stays away. */
static void get_room(gpc_joint *joint, int at_mode, gpc_joint_block *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, e = joint->e;
  const size_t g = joint->nodes->g, packed = triangle(r), pairs = triangle(k);
  t->cross = at_mode ? NULL : room(joint, 1, r * m * k);
  t->pairs = at_mode ? NULL : room(joint, 2, packed * (pairs + k));
  t->own = at_mode ? NULL : t->pairs + packed * pairs;
  t->x = room(joint, 4, ROWS * (r + gpc_joint_long(r) + k));
  t->wide = t->x + ROWS * r;
  t->share = t->wide + ROWS * gpc_joint_long(r);
  t->packed = room(joint, 5, ROWS * packed);
  t->cee = at_mode ? NULL : room(joint, 6, ROWS * pairs);
  t->smx = at_mode ? NULL : room(joint, 7, ROWS * m * k);
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
  t->z = room(joint, 14, 5 * k + k * k + 4 * m * k + 2 * STENCIL * k);
  t->work = t->z + k;
  t->rho_row = t->work + k;
  t->f = t->rho_row + k;
  t->pi = t->f + k;
  t->c = t->pi + k;
  t->a = t->c + k * k;
  t->s = t->a + 2 * m * k;
  t->w12 = t->s + 2 * m * k;
  t->u12 = t->w12 + STENCIL * k;
  t->hpacked = room(joint, 15, pairs * packed);
  t->half = room(joint, 3, g * g + g * k * gpc_joint_long(r));
  t->level = t->half + g * g;
  t->effect = room(joint, 23, e + r * r);
  t->block = t->effect + e;
}

/* What S is to rows. turned [e x e] is S_ee without the rotation of class_skew.h. */
static void set_covariance(const gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, double *turned, gpc_joint_block *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, q = joint->q;
  const int skew = joint->features.count[GPC_SKEW] > 0;
  const size_t e = joint->e, stride = skew ? e : q;
  const double *s = point->cov, *see = skew ? turned : s + m + q * m;
  double *to = t->pairs, *own = t->own;
  for (size_t j = 0; j < e && skew; j++)
    memcpy(turned + e * j, s + m + q * (m + j), e * sizeof(double));
  if (skew)
    gpc_skew_apply_both(&joint->features, e, turned);
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      double *block = t->block;
      for (size_t j = 0; j < r; j++)
        memcpy(block + r * j, see + a * r + stride * (b * r + j), r * sizeof(double));
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
  gpc_skew_apply(&joint->features, m, 1, m, m * k, t->cross);
  for (size_t l = 0; l < k; l++)
    gpc_powers_apply(&joint->features, l, m, 1, m * k, t->cross + m * l);
}

void gpc_joint_block_begin(gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, const double *au, const double *rho,
                           double *work, gpc_joint_block *t) {
  const size_t k = joint->data->k, g = joint->nodes->g, m = joint->m;
  get_room(joint, point->at_mode, t);
  t->au = au;
  t->rho = rho;
  for (size_t j = 0; j < g; j++)
    t->sd[j] = sqrt(gpc_dot(m, au + m * j, au + m * j) + rho[j]);
  memcpy(t->effect, point->effect, joint->e * sizeof(double));
  gpc_skew_apply(&joint->features, 1, 0, joint->features.r, 1, t->effect);
  for (size_t j = 0; j < k; j++)
    gpc_powers_apply(&joint->features, j, 1, 1, 1, t->effect + joint->features.r * j);
  if (point->has_effects && !point->at_mode)
    set_covariance(joint, point, chol, work, t);
  memset(t->hpacked, 0, triangle(k) * triangle(joint->features.r) * sizeof(double));
  const size_t long_r = gpc_joint_long(joint->features.r);
  memset(t->half, 0, (g * g + g * k * long_r) * sizeof(double));
  memset(t->wide, 0, ROWS * long_r * sizeof(double));
}

/* Scores, stencils, features and phi of the rows first .. first + rows. */
static void read_rows(const gpc_joint *joint, size_t first, size_t rows,
                      const double *psi, gpc_joint_block *t) {
  const gpc_gp_data *data = joint->data;
  const size_t k = data->k, r = joint->features.r;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->z[j] = gpc_gp_score(data, first + i, j);
    double *x = t->x + r * i;
    gpc_features_row(&joint->features, t->z, t->work, x);
    memcpy(t->wide + gpc_joint_long(r) * i, x, r * sizeof(double));
    gpc_features_pack(r, x, t->packed + triangle(r) * i);
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

/* Class by class, so that what is added to stays in the cache. */
GPC_FUSED static void add_level(const gpc_joint *joint, size_t rows,
                                const gpc_joint_block *t) {
  const size_t g = joint->nodes->g, long_r = gpc_joint_long(joint->features.r);
  for (size_t j = 0; j < joint->data->k; j++)
    for (size_t i = 0; i < rows; i++) {
      const double share = t->share[j * ROWS + i];
      const double *x = t->wide + long_r * i;
      const double *wts = t->wts + j * STENCIL * ROWS + i;
      double *to = t->level + long_r * ((size_t)t->first[j * ROWS + i] + g * j);
      if (share > 0.0)
        gpc_joint_add_columns(long_r, share, x, wts, ROWS, to);
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
      t->count[i] = (int)gpc_joint_row_active(
          joint, t, i, (size_t)data->label[first + i] - 1, effects);
    total += triangle((size_t)t->count[i]);
  }
  const int dense = k > 2 && (double)total > DENSE * (double)(rows * pairs);
  if (effects && dense) {
    gpc_gemm_large(1, 0, pairs, rows, packed, 1.0, t->pairs, t->packed, 0.0, t->cee);
    gpc_gemm_large(0, 0, m * k, rows, r, 1.0, t->cross, t->x, 0.0, t->smx);
  }
  if (dense) {
    memset(t->p, 0, rows * g * sizeof(double));
    for (size_t i = 0; i < rows; i++)
      if ((size_t)t->count[i] < k) { /* others are written in full */
        memset(t->y + e * i, 0, e * sizeof(double));
        memset(t->weighed + pairs * i, 0, pairs * sizeof(double));
      }
    memset(t->share, 0, k * ROWS * sizeof(double));
  }
  for (size_t i = 0; i < rows; i++) {
    const size_t row = first + i, count = (size_t)t->count[i];
    const size_t label = (size_t)data->label[row] - 1;
    const double w = gpc_gp_weight(data, row);
    if (count == 0)
      continue;
    gpc_joint_row_weights(t, i, count, t->active + k * i);
    if (count > 1 && !point->at_mode)
      gpc_joint_row_covariance(joint, t, i, count, effects, dense);
    else
      t->c[0] = 0.0; /* what differs from itself? */
    const double bound =
        gpc_joint_row_tilt(joint, t, row, i, count, point->at_mode, pass->pi);
    pass->fit += w * (t->phi[label + k * i] - bound);
    if (count == 1) { /* the label's class, with all of the probability: H is 0, and the
                         diagonal that is added for the labels is not its own */
      const size_t node = (size_t)t->first[label * ROWS + i];
      for (size_t q = 0; q < STENCIL; q++)
        pass->hcc[(node + q) * (g + 1)] -= w * t->wts[(label * STENCIL + q) * ROWS + i];
      continue;
    }
    gpc_joint_row_gradients(joint, t, i, count, label, w, pass);
    if (dense)
      gpc_joint_row_prepare(joint, t, i, count, w);
    else if (k == 2)
      gpc_joint_row_two(joint, t, i, w);
    else
      gpc_joint_row_pairs(joint, t, i, count, w, pass);
  }
  if (!dense)
    return;
  add_level(joint, rows, t);
  /* H_ee by pairs of classes and of features; then what rows' means take off */
  gpc_gemm_large(0, 1, packed, pairs, rows, 1.0, t->packed, t->weighed, 1.0, t->hpacked);
  gpc_syrk_large(g, rows, -1.0, t->p, pass->hcc);
  gpc_gemm_large(0, 1, g, e, rows, -1.0, t->p, t->y, 1.0, pass->hce);
}

/* Of two classes what was summed up of the first: the second's is its negative. */
static void mirror(const gpc_joint *joint, const gpc_joint_block *t) {
  const size_t packed = triangle(joint->features.r);
  const size_t half = gpc_joint_long(joint->features.r) * joint->nodes->g;
  for (size_t i = 0; i < packed; i++) {
    t->hpacked[packed + i] = -t->hpacked[i];
    t->hpacked[2 * packed + i] = t->hpacked[i];
  }
  for (size_t i = 0; i < half; i++)
    t->level[half + i] = -t->level[i];
}

void gpc_joint_block_end(const gpc_joint *joint, const gpc_joint_block *t,
                         gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r, e = joint->e;
  const size_t g = joint->nodes->g, long_r = gpc_joint_long(r);
  const double *from = t->hpacked;
  const gpc_features *f = &joint->features;
  if (k == 2)
    mirror(joint, t);
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      double *block = pass->hee + a * r + e * b * r;
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++)
          block[i + e * j] = block[j + e * i] = *from++;
      gpc_powers_transpose_block(f, a, b, e, block); /* from e to c */
    }
  gpc_symmetrise(e, pass->hee);
  gpc_skew_transpose_both(f, e, pass->hee);
  for (size_t a = 0; a < k; a++)
    for (size_t j = 0; j < g; j++)
      for (size_t i = 0; i < r; i++)
        pass->hce[j + g * (a * r + i)] += t->level[i + long_r * (j + g * a)];
  for (size_t a = 0; a < k; a++) {
    gpc_powers_transpose(f, a, 1, 1, 1, pass->ge + a * r);
    gpc_powers_transpose(f, a, g, 1, g, pass->hce + g * a * r);
  }
  gpc_skew_transpose(f, 1, 0, r, 1, pass->ge);
  gpc_skew_transpose(f, g, 1, g * r, g, pass->hce);
  gpc_symmetrise(g, pass->hcc);
  for (size_t j = 0; j < g; j++)
    for (size_t i = 0; i <= j; i++) {
      const double both = t->half[i + g * j] + t->half[j + g * i];
      pass->hcc[i + g * j] -= both;
      if (i != j)
        pass->hcc[j + g * i] -= both;
    }
}
