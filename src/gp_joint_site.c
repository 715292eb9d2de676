/* gp_joint_site.c: see gp_joint_site.h. */
#include "gp_joint_site.h"
#include "class_powers.h"
#include "class_skew.h"
#include "gp_stream.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

double gpc_joint_site_add(const gpc_joint_site *site, size_t g, const double *effect,
                          gpc_joint_pass *pass) {
  const size_t p = site->p, e = site->e, q = p + e, first = g - p;
  double sum = site->loss;
  for (size_t i = 0; i < q; i++) {
    const double d =
        i < p ? pass->psi[first + i] - site->psi[i] : effect[i - p] - site->effect[i - p];
    const double *h = site->h + q * i;
    double bend = 0.0;
    for (size_t j = 0; j < p; j++)
      bend += h[j] * (pass->psi[first + j] - site->psi[j]);
    for (size_t j = 0; j < e; j++)
      bend += h[p + j] * (effect[j] - site->effect[j]);
    sum += d * (site->b[i] - 0.5 * bend); /* eq. (O4) */
    if (i < p) {
      pass->gc[first + i] += site->b[i] - bend;
      pass->spread[first + i] += site->spread[i];
      for (size_t j = 0; j < p; j++)
        pass->hcc[first + j + g * (first + i)] += h[j];
      for (size_t j = 0; j < e; j++)
        pass->hce[first + i + g * j] += h[p + j];
    } else {
      pass->ge[i - p] += site->b[i] - bend;
      for (size_t j = 0; j < e; j++)
        pass->hee[j + e * (i - p)] += h[p + j];
    }
  }
  return sum;
}

/* psi [p] of a point at the knots. */
static gpc_status knot_values(gpc_joint *joint, const gpc_joint_point *point, size_t p,
                              const double *z, double *psi) {
  const size_t m = joint->m;
  const gpc_prior prior = gpc_params_prior(&point->at, &joint->prior);
  double *a = gpc_get_doubles(joint->memory, p * m);
  gpc_basis basis = {.m = m,
                     .inducing = point->at.inducing,
                     .hyper = point->at.hyper,
                     .chol = gpc_get_doubles(joint->memory, m * m)};
  const gpc_status status = gpc_basis_factor(&basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&basis, p, z, a, gpc_get_doubles(joint->memory, p));
  gpc_gemm(0, 0, p, 1, m, 1.0, a, point->at.q_mean, 0.0, psi);
  gpc_prior_add_smooth(&prior, p, z, psi);
  return GPC_OK;
}

/* What rows and an earlier site add to H and v. */
typedef struct {
  size_t p, q, k, r;
  const double *z;          /* [p] knots */
  double *h, *v;            /* [q x q], [p] */
  double *row;              /* [p] sum_k pi_k t_k, t_k the hat functions of score k */
  size_t *knot;             /* [k] the knot before each score ... */
  double *share;            /* [k] ... and the share of the next */
  double *score, *x, *work; /* [k], [r], [k] */
} counting;

/* H += w sum_k pi_k u_k u_k' - w ubar ubar', u_k = (t_k, x in the place of class k): never
 * indefinite. (That of a pass will not do: on nodes it holds for smooth maps, and those with corners
 * at the knots are not smooth.) */
GPC_WIDE static void count_row(const counting *c, double w, const double *pi) {
  const size_t p = c->p, q = c->q, r = c->r;
  memset(c->row, 0, p * sizeof(double));
  for (size_t a = 0; a < c->k; a++) {
    const size_t low = c->knot[a];
    const double two[2] = {1.0 - c->share[a], c->share[a]};
    if (pi[a] == 0.0)
      continue;
    for (size_t s = 0; s < 2; s++) {
      c->row[low + s] += pi[a] * two[s];
      c->v[low + s] += w * pi[a] * (1.0 - pi[a]) * two[s];
      for (size_t t = 0; t < 2; t++)
        c->h[low + s + q * (low + t)] += w * pi[a] * two[s] * two[t];
      for (size_t f = 0; f < r; f++)
        c->h[low + s + q * (p + a * r + f)] += w * pi[a] * two[s] * c->x[f];
    }
  }
  size_t first = 0, end = p; /* beyond these the row is zero */
  while (first < end && c->row[first] == 0.0)
    first++;
  while (end > first && c->row[end - 1] == 0.0)
    end--;
  for (size_t j = first; j < end; j++) {
    double *h = c->h + q * j;
    const double y = w * c->row[j];
    if (y == 0.0)
      continue;
#pragma omp simd
    for (size_t i = first; i < end; i++)
      h[i] -= y * c->row[i];
  }
  for (size_t a = 0; a < c->k; a++)
    for (size_t f = 0; f < r && pi[a] != 0.0; f++) {
      double *h = c->h + q * (p + a * r + f);
      const double y = w * pi[a] * c->x[f];
#pragma omp simd
      for (size_t i = first; i < end; i++)
        h[i] -= y * c->row[i];
    }
}

static void count_rows(gpc_joint *joint, const double *pi, const counting *c) {
  const gpc_gp_data *data = joint->data;
  double *own = c->work + c->k; /* pi of a row */
  for (size_t i = 0; i < data->n; i++) {
    const double w = gpc_gp_weight(data, i);
    if (w == 0.0)
      continue;
    for (size_t a = 0; a < c->k; a++) {
      c->score[a] = gpc_gp_score(data, i, a);
      c->knot[a] = gpc_site_find(c->p, c->z, c->score[a], &c->share[a]);
      c->share[a] = fmin(fmax(c->share[a], 0.0), 1.0);
      own[a] = pi[i + data->n * a];
    }
    gpc_features_row(&joint->features, c->score, c->work, c->x);
    count_row(c, w, own);
  }
}

/* An earlier site, whose knots are the last nodes: P'H P with P the hat functions of the
 * new knots there. */
static void carry(const gpc_joint *joint, const gpc_joint_site *old, const counting *c) {
  const size_t first = joint->nodes->g - old->p, p = c->p, q = c->q, e = old->e;
  const size_t oq = old->p + e;
  for (size_t j = 0; j < old->p; j++) {
    double own[2], other[2];
    const size_t to = gpc_site_find(p, c->z, joint->nodes->z[first + j], &own[1]);
    own[0] = 1.0 - own[1];
    for (size_t b = 0; b < 2; b++) {
      c->v[to + b] += own[b] * old->spread[j];
      for (size_t f = 0; f < e; f++)
        c->h[to + b + q * (p + f)] += own[b] * old->h[j + oq * (old->p + f)];
    }
    for (size_t i = 0; i < old->p; i++) {
      const size_t at = gpc_site_find(p, c->z, joint->nodes->z[first + i], &other[1]);
      other[0] = 1.0 - other[1];
      for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 2; b++)
          c->h[at + a + q * (to + b)] += other[a] * own[b] * old->h[i + oq * j];
    }
  }
}

gpc_status gpc_joint_site_freeze(gpc_joint *joint, const gpc_joint_point *point,
                                 const gpc_joint_pass *pass, size_t p, const double *z,
                                 gpc_joint_site *site) {
  const size_t g = joint->nodes->g, e = joint->e, q = p + e, k = joint->data->k;
  const gpc_memory *memory = joint->memory;
  double *psi = gpc_get_doubles(memory, p), *effect = gpc_get_doubles(memory, e);
  double *b = gpc_get_doubles(memory, q), *v = gpc_get_doubles(memory, p);
  double *h = gpc_get_doubles(memory, q * q);
  const counting c = {.p = p,
                      .q = q,
                      .k = k,
                      .r = joint->features.r,
                      .z = z,
                      .h = h,
                      .v = v,
                      .row = gpc_get_doubles(memory, p),
                      .knot = gpc_get_sizes(memory, k),
                      .share = gpc_get_doubles(memory, k),
                      .score = gpc_get_doubles(memory, k),
                      .x = gpc_get_doubles(memory, joint->features.r),
                      .work = gpc_get_doubles(memory, 2 * k)};
  memset(b, 0, p * sizeof(double));
  memset(v, 0, p * sizeof(double));
  memset(h, 0, q * q * sizeof(double));
  for (size_t i = 0; i < g; i++) { /* new rows and old knots */
    double share;
    const size_t low = gpc_site_find(p, z, joint->nodes->z[i], &share);
    b[low] += (1.0 - share) * pass->gc[i];
    b[low + 1] += share * pass->gc[i];
  }
  memcpy(b + p, pass->ge, e * sizeof(double));
  count_rows(joint, pass->pi, &c);
  for (size_t a = 0; a < k; a++)
    gpc_powers_transpose(&joint->features, a, p, 1, q, h + q * (p + a * c.r));
  gpc_skew_transpose(&joint->features, p, 1, q * c.r, q, h + q * p);
  if (joint->site)
    carry(joint, joint->site, &c);
  for (size_t j = 0; j < e; j++) /* both in the pass already */
    for (size_t i = 0; i < q; i++)
      h[i + q * (p + j)] = i < p ? h[i + q * (p + j)] : pass->hee[i - p + e * j];
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < e; i++)
      h[p + i + q * j] = h[j + q * (p + i)];
  memcpy(effect, point->effect, e * sizeof(double));
  *site = (gpc_joint_site){.p = p,
                           .e = e,
                           .rms = joint->features.rms,
                           .slope = joint->features.slope,
                           .low = joint->features.low,
                           .high = joint->features.high,
                           .loss = gpc_joint_constant(pass),
                           .psi = psi,
                           .effect = effect,
                           .b = b,
                           .spread = v,
                           .h = h};
  return knot_values(joint, point, p, z, psi);
}
