/* gp_joint.c: points of the joint model, and a pass over the data; see gp_joint.h. */
#include "gp_joint.h"
#include "gp_joint_site.h"
#include "linalg.h"
#include "tilt.h"

#include <math.h>
#include <string.h>

#define ROWS 64 /* rows worked on together */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

void gpc_joint_point_get(const gpc_joint *joint, gpc_joint_point *point) {
  memset(point, 0, sizeof *point);
  point->at = gpc_params_get(joint->memory, joint->m);
  point->effect = gpc_get_doubles(joint->memory, joint->e);
  point->cov = gpc_get_doubles(joint->memory, joint->q * joint->q);
  memset(point->effect, 0, joint->e * sizeof(double));
  memset(point->cov, 0, joint->q * joint->q * sizeof(double));
}

void gpc_joint_point_copy(const gpc_joint *joint, const gpc_joint_point *from,
                          gpc_joint_point *to) {
  gpc_params_copy(&from->at, &to->at);
  memcpy(to->tau, from->tau, sizeof to->tau);
  memcpy(to->effect, from->effect, joint->e * sizeof(double));
  memcpy(to->cov, from->cov, joint->q * joint->q * sizeof(double));
  to->has_effects = from->has_effects;
  to->elbo = from->elbo;
  to->kl = from->kl;
  to->hyperprior = from->hyperprior;
}

void gpc_joint_pass_get(const gpc_joint *joint, gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, e = joint->e;
  const gpc_memory *memory = joint->memory;
  memset(pass, 0, sizeof *pass);
  pass->psi = gpc_get_doubles(memory, g);
  pass->gc = gpc_get_doubles(memory, g);
  pass->ge = gpc_get_doubles(memory, e);
  pass->hcc = gpc_get_doubles(memory, g * g);
  pass->hce = gpc_get_doubles(memory, g * e);
  pass->hee = gpc_get_doubles(memory, e * e);
  pass->v = gpc_get_doubles(memory, g);
}

double gpc_joint_hyperprior(const gpc_joint *joint, const double *tau, double *gradient) {
  double sum = 0.0;
  for (int b = 0; b < GPC_BLOCKS; b++) {
    if (gradient)
      gradient[b] = 0.0;
    if (!joint->features.count[b] || !joint->tau_free[b])
      continue;
    const double u = log(tau[b] / joint->tau_centre[b]) / joint->tau_sd;
    sum -= 0.5 * u * u;
    if (gradient)
      gradient[b] = -u / joint->tau_sd;
  }
  return sum;
}

/* tau of effect j. */
static double tau_of(const gpc_joint *joint, const gpc_joint_point *point, size_t j) {
  return point->tau[gpc_features_block(&joint->features, j % joint->features.r)];
}

gpc_status gpc_joint_divergence(gpc_joint *joint, gpc_joint_point *point) {
  const size_t m = joint->m, q = joint->q, n = point->has_effects ? q : m;
  double *chol = gpc_buffer_need(joint->memory, &joint->rooms[0], q * q);
  double trace = 0.0, square = 0.0, logs = 0.0;
  for (size_t j = 0; j < n; j++)
    memcpy(chol + n * j, point->cov + q * j, n * sizeof(double));
  gpc_status status = gpc_chol_large(n, chol);
  if (status != GPC_OK)
    return status;
  for (size_t j = 0; j < n; j++) {
    const double tau = j < m ? 1.0 : tau_of(joint, point, j - m);
    const double mean = j < m ? point->at.q_mean[j] : point->effect[j - m];
    trace += point->cov[j + q * j] / (tau * tau);
    square += mean * mean / (tau * tau);
    logs += 2.0 * log(tau) - 2.0 * log(chol[j + n * j]);
  }
  point->kl = 0.5 * (trace + square - (double)n + logs);
  point->hyperprior =
      point->has_effects ? gpc_joint_hyperprior(joint, point->tau, NULL) : 0.0;
  return GPC_OK;
}

/* One pass --------------------------------------------------------------------------- */

/* Tables of the point, and what a block of rows needs. */
typedef struct {
  const double *au;  /* [m x g] U'a on the nodes, S_mm = U U' */
  const double *rho; /* [g] */
  double *cross;     /* [(m k) x r] U^-1 S_me: class l, inducing direction i at i + m l */
  double *pairs;     /* [pairs x packed] S_ee, so that C_kl = row of it times packed(x x') */
  double *effects;   /* [k x r] e */
  /* of ROWS rows: */
  double *x;       /* [r x ROWS] */
  double *packed;  /* [packed x ROWS] x_i x_j */
  double *cee;     /* [pairs x ROWS] */
  double *smx;     /* [(m k) x ROWS] */
  double *own;     /* [k x ROWS] x'e_k */
  double *weighed; /* [pairs x ROWS] w (diag pi - pi pi') */
  double *y;       /* [e x ROWS] sqrt(w) pi_l x_i */
  double *p;       /* [g x ROWS] sqrt(w) times the spread softmax */
  double *wts;     /* [k][12][ROWS] */
  int *first;      /* [k][ROWS] */
  double *z, *phi, *pi, *c, *work, *auk; /* of one row: [k], [k], [k], [k x k], [k], [m x
                                            k] */
  double *hpacked; /* [pairs x packed] sums for H_ee */
} tables;

static double *room(gpc_joint *joint, int which, size_t n) {
  return gpc_buffer_need(joint->memory, &joint->rooms[which], n);
}

static void get_tables(gpc_joint *joint, tables *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, e = joint->e;
  const size_t g = joint->nodes->g, packed = triangle(r), pairs = triangle(k);
  t->cross = room(joint, 1, r * m * k);
  t->pairs = room(joint, 2, packed * pairs);
  t->effects = room(joint, 3, r * k);
  t->x = room(joint, 4, ROWS * r);
  t->packed = room(joint, 5, ROWS * packed);
  t->cee = room(joint, 6, ROWS * pairs);
  t->smx = room(joint, 7, ROWS * m * k);
  t->own = room(joint, 8, ROWS * k);
  t->weighed = room(joint, 9, ROWS * pairs);
  t->y = room(joint, 10, ROWS * e);
  t->p = room(joint, 11, ROWS * g);
  t->wts = room(joint, 12, k * GPC_STENCIL * ROWS);
  t->first = (int *)(void *)room(joint, 13, k * ROWS);
  t->z = room(joint, 14, 5 * k + k * k + m * k);
  t->phi = t->z + k;
  t->pi = t->phi + k;
  t->work = t->pi + k;
  t->c = t->work + 2 * k;
  t->auk = t->c + k * k;
  t->hpacked = room(joint, 15, pairs * packed);
}

/* What S is to rows: `pairs` and `cross`. chol: the factor U of S_mm. */
static void set_covariance(const gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, tables *t) {
  const size_t k = joint->data->k, r = joint->features.r, m = joint->m, q = joint->q;
  const double *s = point->cov;
  size_t pair = 0;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      double *to = t->pairs + pair;
      const size_t row = m + a * r, column = m + b * r, step = triangle(k);
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++, to += step)
          *to = i == j ? s[row + i + q * (column + i)]
                       : s[row + i + q * (column + j)] + s[row + j + q * (column + i)];
    }
  for (size_t l = 0; l < k; l++)
    for (size_t i = 0; i < r; i++) { /* S_m,(l,i), then U^-1 of it */
      double *v = t->auk;
      memcpy(v, s + q * (m + l * r + i), m * sizeof(double));
      gpc_solve_rows(1, m, chol, v);
      for (size_t p = 0; p < m; p++)
        t->cross[p + m * l + m * k * i] = v[p];
    }
}

/* Scores, stencils and features of the rows first .. first + rows. */
static void read_rows(const gpc_joint *joint, size_t first, size_t rows, tables *t) {
  const gpc_gp_data *data = joint->data;
  const size_t k = data->k, r = joint->features.r;
  for (size_t j = 0; j < k; j++) {
    double tau[ROWS];
    int *at = t->first + j * ROWS;
    for (size_t i = 0; i < rows; i++)
      tau[i] = gpc_gp_score(data, first + i, j);
    gpc_line_coordinates(&joint->nodes->line, rows, tau, tau);
    gpc_line_weights(rows, tau, ROWS, at, t->wts + j * GPC_STENCIL * ROWS);
    for (size_t i = 0; i < rows && joint->nodes->slot; i++)
      at[i] = joint->nodes->slot[at[i]];
  }
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->z[j] = gpc_gp_score(data, first + i, j);
    double *x = t->x + r * i, *to = t->packed + triangle(r) * i;
    gpc_features_row(&joint->features, t->z, t->work, x);
    for (size_t a = 0; a < r; a++)
      for (size_t b = 0; b <= a; b++)
        *to++ = x[a] * x[b];
  }
}

/* psi, U'a and rho of row i and class j from the nodes. */
static double interpolate(const gpc_joint *joint, const double *psi, const tables *t,
                          size_t i, size_t j, double *rho) {
  const double *wts = t->wts + j * GPC_STENCIL * ROWS + i;
  const size_t first = (size_t)t->first[j * ROWS + i], m = joint->m;
  double sum = 0.0, left = 0.0, *au = t->auk + m * j;
  memset(au, 0, m * sizeof(double));
  for (size_t q = 0; q < GPC_STENCIL; q++) {
    const double w = wts[q * ROWS], *from = t->au + m * (first + q);
    sum += w * psi[first + q];
    left += w * t->rho[first + q];
#pragma omp simd
    for (size_t p = 0; p < m; p++)
      au[p] += w * from[p];
  }
  *rho = left > 0.0 ? left : 0.0;
  return sum;
}

/* eq. (34): C of row i, by a_k'S a_l + a_k's_l + s_k'a_l = (a_k + s_k)'(a_l + s_l) -
 * s_k's_l in whitened coordinates, s = U^-1 S_me x. */
static void row_covariance(const gpc_joint *joint, const tables *t, size_t i,
                           int has_effects, const double *rho) {
  const size_t k = joint->data->k, m = joint->m;
  double *smx = t->smx + m * k * i;
  const double *cee = t->cee + triangle(k) * i;
  if (has_effects)
    for (size_t p = 0; p < m * k; p++)
      t->auk[p] += smx[p];
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = gpc_dot(m, t->auk + m * a, t->auk + m * b);
      if (has_effects)
        sum += *cee++ - gpc_dot(m, smx + m * a, smx + m * b);
      t->c[a + k * b] = t->c[b + k * a] = sum + (a == b ? rho[a] : 0.0);
    }
}

/* The sums that a row adds, apart from what is done for all rows of a block at once. */
static void add_row(const gpc_joint *joint, size_t row, size_t i, double w, tables *t,
                    gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r, g = joint->nodes->g;
  const size_t label = (size_t)joint->data->label[row] - 1;
  const double *x = t->x + r * i, root = sqrt(w);
  double *p = t->p + g * i, *weighed = t->weighed + triangle(k) * i;
  for (size_t a = 0; a < k; a++) {
    const double pi = t->pi[a], rest = w * ((a == label ? 1.0 : 0.0) - pi);
    const double spread = w * pi * (1.0 - pi);
    const size_t first = (size_t)t->first[a * ROWS + i];
    double wts[GPC_STENCIL], *y = t->y + joint->e * i + a * r;
    for (size_t q = 0; q < GPC_STENCIL; q++) {
      wts[q] = t->wts[(a * GPC_STENCIL + q) * ROWS + i];
      pass->gc[first + q] += rest * wts[q];
      pass->v[first + q] += spread * wts[q];
      p[first + q] += root * pi * wts[q];
    }
    for (size_t f = 0; f < r; f++) {
      const double weight = w * pi * x[f];
      double *to = pass->hce + first + g * (a * r + f);
      pass->ge[a * r + f] += rest * x[f];
      y[f] = root * pi * x[f];
      for (size_t q = 0; q < GPC_STENCIL; q++)
        to[q] += weight * wts[q];
    }
    for (size_t b = 0; b <= a; b++)
      *weighed++ = w * (a == b ? pi - pi * pi : -pi * t->pi[b]);
  }
}

/* H_ee from the packed sums. */
static void unpack_hee(const gpc_joint *joint, const tables *t, double *hee) {
  const size_t k = joint->data->k, r = joint->features.r, e = joint->e;
  const size_t pairs = triangle(k);
  size_t pair = 0;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      size_t at = 0;
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++, at++) {
          const double h = t->hpacked[pair + pairs * at];
          hee[a * r + i + e * (b * r + j)] = hee[a * r + j + e * (b * r + i)] = h;
          hee[b * r + i + e * (a * r + j)] = hee[b * r + j + e * (a * r + i)] = h;
        }
    }
}

/* One block of rows. */
static void pass_block(const gpc_joint *joint, const gpc_joint_point *point, size_t first,
                       size_t rows, tables *t, gpc_joint_pass *pass) {
  const gpc_gp_data *data = joint->data;
  const size_t k = data->k, r = joint->features.r, m = joint->m, g = joint->nodes->g;
  const size_t packed = triangle(r), pairs = triangle(k), e = joint->e;
  const int effects = point->has_effects;
  read_rows(joint, first, rows, t);
  gpc_gemm(0, 0, k, rows, r, 1.0, t->effects, t->x, 0.0, t->own);
  if (effects) {
    gpc_gemm(0, 0, pairs, rows, packed, 1.0, t->pairs, t->packed, 0.0, t->cee);
    gpc_gemm(0, 0, m * k, rows, r, 1.0, t->cross, t->x, 0.0, t->smx);
  }
  memset(t->p, 0, rows * g * sizeof(double));
  memset(t->y, 0, rows * e * sizeof(double));
  memset(t->weighed, 0, rows * pairs * sizeof(double));
  for (size_t i = 0; i < rows; i++) {
    const size_t row = first + i;
    const double w = gpc_gp_weight(data, row);
    double *rho = t->work + k;
    if (w == 0.0)
      continue;
    for (size_t j = 0; j < k; j++) {
      t->phi[j] = interpolate(joint, pass->psi, t, i, j, rho + j) + t->own[j + k * i];
      t->pi[j] = pass->pi[row + data->n * j];
    }
    row_covariance(joint, t, i, effects, rho);
    const double bound = gpc_tilt(k, t->phi, t->c, t->work, t->pi);
    for (size_t j = 0; j < k; j++)
      pass->pi[row + data->n * j] = t->pi[j];
    pass->fit += w * (t->phi[data->label[row] - 1] - bound);
    add_row(joint, row, i, w, t, pass);
  }
  /* H_ee by pairs of classes and of features; then what rows' means take off */
  gpc_gemm(0, 1, pairs, packed, rows, 1.0, t->weighed, t->packed, 1.0, t->hpacked);
  gpc_gemm(0, 1, g, g, rows, -1.0, t->p, t->p, 1.0, pass->hcc);
  gpc_gemm(0, 1, g, e, rows, -1.0, t->p, t->y, 1.0, pass->hce);
}

/* tr(H S): with the features A of the point, over m and e. */
static double trace_hs(gpc_joint *joint, const gpc_joint_point *point, const double *a,
                       const gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, q = joint->q;
  double *ha = room(joint, 18, g * m), *hm = room(joint, 19, m * m), sum = 0.0;
  gpc_symm(g, m, pass->hcc, a, ha);
  gpc_gemm(1, 0, m, m, g, 1.0, a, ha, 0.0, hm);
  for (size_t j = 0; j < m; j++)
    sum += gpc_dot(m, hm + m * j, point->cov + q * j);
  if (!point->has_effects)
    return sum;
  double *ae = room(joint, 20, m * e);
  gpc_gemm(1, 0, m, e, g, 1.0, a, pass->hce, 0.0, ae);
  for (size_t j = 0; j < e; j++)
    sum += 2.0 * gpc_dot(m, ae + m * j, point->cov + q * (m + j)) +
           gpc_dot(e, pass->hee + e * j, point->cov + m + q * (m + j));
  return sum;
}

gpc_status gpc_joint_visit(gpc_joint *joint, gpc_joint_point *point,
                           gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->data->n;
  const size_t k = joint->data->k, r = joint->features.r;
  const gpc_prior prior = gpc_params_prior(&point->at, &joint->prior);
  double *a = room(joint, 16, g * m), *rho = room(joint, 17, g), *au = room(joint, 21, g * m);
  double *chol = room(joint, 22, 2 * m * m);
  tables t;
  gpc_basis basis = {.m = m,
                     .w = point->at.inducing,
                     .hyper = point->at.hyper,
                     .chol = chol + m * m};
  gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK)
    status = gpc_joint_divergence(joint, point);
  for (size_t j = 0; j < m; j++)
    memcpy(chol + m * j, point->cov + joint->q * j, m * sizeof(double));
  if (status == GPC_OK)
    status = gpc_chol(m, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&basis, g, joint->nodes->z, a, rho);
  gpc_gemm(0, 0, g, 1, m, 1.0, a, point->at.q_mean, 0.0, pass->psi);
  gpc_prior_add_smooth(&prior, g, joint->nodes->z, pass->psi);
  gpc_gemm(1, 1, m, g, m, 1.0, chol, a, 0.0, au);
  get_tables(joint, &t);
  t.au = au;
  t.rho = rho;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < r; i++)
      t.effects[j + k * i] = point->effect[j * r + i];
  if (point->has_effects)
    set_covariance(joint, point, chol, &t);
  pass->fit = 0.0;
  memset(pass->gc, 0, g * sizeof(double));
  memset(pass->ge, 0, e * sizeof(double));
  memset(pass->v, 0, g * sizeof(double));
  memset(pass->hcc, 0, g * g * sizeof(double));
  memset(pass->hce, 0, g * e * sizeof(double));
  memset(t.hpacked, 0, triangle(k) * triangle(r) * sizeof(double));
  for (size_t first = 0; first < n; first += ROWS)
    pass_block(joint, point, first, n - first < ROWS ? n - first : ROWS, &t, pass);
  /* diag(sum_n w p_n): every row's omega sums to one, so that the sum of p over rows is
   * y - gc */
  for (size_t j = 0; j < g; j++)
    pass->hcc[j + g * j] += joint->nodes->y[j] - pass->gc[j];
  unpack_hee(joint, &t, pass->hee);
  pass->trace = trace_hs(joint, point, a, pass);
  pass->rho_v = gpc_dot(g, rho, pass->v);
  if (joint->site) { /* eq. (O4): its traces are what it adds to those of the rows */
    const double own = pass->trace + pass->rho_v;
    pass->fit += gpc_joint_site_add(joint->site, g, point->effect, pass);
    pass->trace = trace_hs(joint, point, a, pass);
    pass->rho_v = gpc_dot(g, rho, pass->v);
    pass->fit -= 0.5 * (pass->trace + pass->rho_v - own);
  }
  point->elbo = pass->fit - point->kl + point->hyperprior;
  return isfinite(point->elbo) ? GPC_OK : GPC_NOT_FINITE;
}
