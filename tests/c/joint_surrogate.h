/* joint_surrogate.h: the surrogate of a pass (gp_joint_step.h, eq. (37)) without the
 * elimination of effects: an oracle. J = g'd - 1/2 scale d'H d - ..., and for Q (and S) H may
 * be averaged with that of another pass. */
#ifndef GPC_TEST_JOINT_SURROGATE_H
#define GPC_TEST_JOINT_SURROGATE_H

#include "gp_joint_step.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

typedef struct {
  gpc_joint *joint;
  const gpc_joint_pass *pass;
  const gpc_joint_point *from;
  gpc_joint_point *to;                 /* what is solved for: hyper, tau, m, slope, e */
  double mean_scale;                   /* of H in the quadratic term */
  const gpc_joint_pass *other;         /* NULL, or the pass to average with */
  double share;                        /* of `pass` in that average */
  struct gpc_joint_solution *solution; /* the last one */
} gpc_joint_surrogate;

/* The last solution: features, products and factors. n = m + e. */
typedef struct gpc_joint_solution {
  gpc_basis basis;
  gpc_basis_grad grad;
  double *a, *rho;   /* [g x m], [g] */
  double *ha, *hea;  /* [g x m] H_cc A; [m x e] A'H_ce: of the means */
  double *da, *dea;  /* the same of the averaged H */
  double *dcc, *dce; /* averaged H, if there is one */
  double *q, *inv;   /* [n x n] Q's factor; its inverse, for gradients and S alone */
  int inverted;      /* is inv that of q? */
  double *mean;      /* the factor for the means, where they have another matrix */
  double *rhs, *slope_rhs;       /* [n] */
  double *d, *hd, *target;       /* [g + e] each */
  double *ga, *grho, *row, *smm; /* [g x m], [g], [g], [n x m] */
} solution;

static struct gpc_joint_solution *gpc_joint_begin(const gpc_joint *joint) {
  const gpc_memory *memory = joint->memory;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->q;
  solution *s = memory->get(memory->self, sizeof *s);
  memset(s, 0, sizeof *s);
  s->basis.m = m;
  s->basis.chol = gpc_get_doubles(memory, m * m);
  s->grad.inducing = gpc_get_doubles(memory, m);
  s->grad.outer = gpc_get_doubles(memory, m * m);
  s->a = gpc_get_doubles(memory, g * m);
  s->rho = gpc_get_doubles(memory, g);
  s->ha = gpc_get_doubles(memory, g * m);
  s->hea = gpc_get_doubles(memory, m * e);
  s->da = gpc_get_doubles(memory, g * m);
  s->dea = gpc_get_doubles(memory, m * e);
  s->dcc = gpc_get_doubles(memory, g * g);
  s->dce = gpc_get_doubles(memory, g * e);
  s->q = gpc_get_doubles(memory, n * n);
  s->inv = gpc_get_doubles(memory, n * n);
  s->mean = gpc_get_doubles(memory, n * n);
  s->rhs = gpc_get_doubles(memory, n);
  s->slope_rhs = gpc_get_doubles(memory, n);
  s->d = gpc_get_doubles(memory, g + e);
  s->hd = gpc_get_doubles(memory, g + e);
  s->target = gpc_get_doubles(memory, g + e);
  s->ga = gpc_get_doubles(memory, g * m);
  s->grho = gpc_get_doubles(memory, g);
  s->row = gpc_get_doubles(memory, g);
  s->smm = gpc_get_doubles(memory, n * m);
  return s;
}

/* Prior precision of number j of (m, e). */
static double precision(const gpc_joint *joint, const gpc_joint_point *point, size_t j) {
  if (j < joint->m)
    return 1.0;
  const double tau = point->tau[gpc_features_block(&joint->features, j - joint->m)];
  return 1.0 / (tau * tau);
}

/* The lower triangle of [I + A'HA, .; (A'H_ce)', H_ee + T], the data's part times
 * `scale`. ha = H_cc A, hea = A'H_ce [m x e]. */
static void assemble(const gpc_joint *joint, const gpc_joint_point *point,
                     const double *a, const double *ha, const double *hea,
                     const double *hee, const double *hee_other, double share,
                     double scale, double *q) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->q;
  double *block = q; /* [m x m] first, then spread over columns of length n */
  gpc_gemm(1, 0, m, m, g, scale, a, ha, 0.0, block);
  for (size_t j = m; j-- > 0;)
    memmove(q + n * j, block + m * j, m * sizeof(double));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < e; i++)
      q[m + i + n * j] = scale * hea[j + m * i];
  for (size_t j = 0; j < e; j++)
    for (size_t i = j; i < e; i++) {
      double h = hee[i + e * j];
      if (hee_other)
        h = share * h + (1.0 - share) * hee_other[i + e * j];
      q[m + i + n * (m + j)] = scale * h;
    }
  for (size_t j = 0; j < n; j++)
    q[j + n * j] += precision(joint, point, j);
}

/* to [n] := X'v, v [g + e]: (A'v_c, v_e). */
static void project(const gpc_joint *joint, const double *a, const double *v,
                    double *to) {
  const size_t g = joint->nodes->g, m = joint->m;
  gpc_gemm(1, 0, m, 1, g, 1.0, a, v, 0.0, to);
  memcpy(to + m, v + g, joint->e * sizeof(double));
}

/* x := (L L')^-1 x. */
static void solve(size_t n, const double *chol, double *x) {
  for (size_t j = 0; j < n; j++) {
    const double *column = chol + n * j, y = x[j] /= column[j];
#pragma omp simd
    for (size_t i = j + 1; i < n; i++)
      x[i] -= y * column[i];
  }
  for (size_t j = n; j-- > 0;) {
    const double *column = chol + n * j;
    x[j] = (x[j] - gpc_dot(n - j - 1, column + j + 1, x + j + 1)) / column[j];
  }
}

/* m, e and the slope: the maximum of the quadratic part. */
static void solve_means(gpc_joint_surrogate *sur, const double *chol) {
  const gpc_joint *joint = sur->joint;
  const gpc_joint_pass *pass = sur->pass;
  solution *s = sur->solution;
  const size_t g = joint->nodes->g, e = joint->e, n = joint->q;
  const double scale = sur->mean_scale;
  gpc_joint_point *to = sur->to;
  /* target = g + scale H (psi0, e0) */
  memcpy(s->d, pass->psi, g * sizeof(double));
  memcpy(s->d + g, sur->from->effect, e * sizeof(double));
  gpc_joint_product(joint, pass, s->d, s->target);
  for (size_t i = 0; i < g + e; i++)
    s->target[i] = scale * s->target[i] + (i < g ? pass->gc[i] : pass->ge[i - g]);
  project(joint, s->a, s->target, s->rhs);
  /* what a unit of the slope adds: scale H (z, 0) */
  memcpy(s->d, joint->nodes->z, g * sizeof(double));
  memset(s->d + g, 0, e * sizeof(double));
  gpc_joint_product(joint, pass, s->d, s->hd);
  for (size_t i = 0; i < g + e; i++)
    s->hd[i] *= scale;
  project(joint, s->a, s->hd, s->slope_rhs);
  const double own = gpc_dot(g, joint->nodes->z, s->hd);
  const double pull = gpc_dot(g, joint->nodes->z, s->target);
  solve(n, chol, s->rhs); /* solutions, from here on */
  if (gpc_prior_has_slope(&joint->prior)) {
    double *cross = s->smm; /* free until the gradient */
    memcpy(cross, s->slope_rhs, n * sizeof(double));
    solve(n, chol, s->slope_rhs);
    if (joint->slope_free) { /* Schur complement of the slope */
      const double above = pull - gpc_dot(n, cross, s->rhs);
      const double below = own - gpc_dot(n, cross, s->slope_rhs);
      if (below > 1e-12 * own)
        to->at.slope = fmin(fmax(above / below, joint->slope_low), joint->slope_high);
    }
    for (size_t i = 0; i < n; i++)
      s->rhs[i] -= to->at.slope * s->slope_rhs[i];
  }
  memcpy(to->at.q_mean, s->rhs, joint->m * sizeof(double));
  memcpy(to->effect, s->rhs + joint->m, e * sizeof(double));
}

/* Features at the point, and the products of H with them. */
static gpc_status set_features(gpc_joint_surrogate *sur) {
  const gpc_joint *joint = sur->joint;
  const gpc_joint_pass *pass = sur->pass, *other = sur->other;
  solution *s = sur->solution;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  s->basis.inducing = sur->to->at.inducing;
  s->basis.hyper = sur->to->at.hyper;
  gpc_status status = gpc_basis_factor(&s->basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&s->basis, g, joint->nodes->z, s->a, s->rho);
  gpc_symm(g, m, pass->hcc, s->a, s->ha);
  gpc_gemm(1, 0, m, e, g, 1.0, s->a, pass->hce, 0.0, s->hea);
  if (other) {
    for (size_t i = 0; i < g * g; i++)
      s->dcc[i] = sur->share * pass->hcc[i] + (1.0 - sur->share) * other->hcc[i];
    for (size_t i = 0; i < g * e; i++)
      s->dce[i] = sur->share * pass->hce[i] + (1.0 - sur->share) * other->hce[i];
    gpc_symm(g, m, s->dcc, s->a, s->da);
    gpc_gemm(1, 0, m, e, g, 1.0, s->a, s->dce, 0.0, s->dea);
  }
  return GPC_OK;
}

static gpc_status gpc_joint_value(void *self, const double *h, double *value) {
  gpc_joint_surrogate *sur = self;
  const gpc_joint *joint = sur->joint;
  const gpc_joint_pass *pass = sur->pass;
  solution *s = sur->solution;
  gpc_joint_point *to = sur->to;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->q;
  gpc_joint_set_h(joint, h, to);
  gpc_status status = set_features(sur);
  if (status != GPC_OK)
    return status;
  assemble(joint, to, s->a, sur->other ? s->da : s->ha, sur->other ? s->dea : s->hea,
           pass->hee, sur->other ? sur->other->hee : NULL, sur->share, 1.0, s->q);
  if ((status = gpc_chol_large(n, s->q)) != GPC_OK)
    return status;
  s->inverted = 0;
  const double *chol = s->q;
  if (sur->other || sur->mean_scale != 1.0) {
    assemble(joint, to, s->a, s->ha, s->hea, pass->hee, NULL, 1.0, sur->mean_scale,
             s->mean);
    if ((status = gpc_chol_large(n, s->mean)) != GPC_OK)
      return status;
    chol = s->mean;
  }
  to->at.slope = sur->from->at.slope;
  solve_means(sur, chol);
  /* d, and J */
  const gpc_prior prior = gpc_params_prior(&to->at, &joint->prior);
  gpc_gemm(0, 0, g, 1, m, 1.0, s->a, to->at.q_mean, 0.0, s->d);
  gpc_prior_add_smooth(&prior, g, joint->nodes->z, s->d);
  for (size_t i = 0; i < g; i++)
    s->d[i] -= pass->psi[i];
  for (size_t i = 0; i < e; i++)
    s->d[g + i] = to->effect[i] - sur->from->effect[i];
  gpc_joint_product(joint, pass, s->d, s->hd);
  double sum = gpc_dot(g, pass->gc, s->d) + gpc_dot(e, pass->ge, s->d + g) -
               0.5 * sur->mean_scale * gpc_dot(g + e, s->d, s->hd);
  for (size_t j = 0; j < n; j++) {
    const double p = precision(joint, to, j);
    const double x = j < m ? to->at.q_mean[j] : to->effect[j - m];
    sum += -0.5 * p * x * x - log(s->q[j + n * j]) + 0.5 * log(p); /* eq. (37) */
  }
  *value = sum - 0.5 * gpc_dot(g, s->rho, pass->spread) +
           gpc_joint_hyperprior(joint, to->tau, NULL);
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}

static void invert(const gpc_joint *joint, solution *s) {
  if (!s->inverted)
    gpc_lower_inverse(joint->q, s->q, s->inv);
  s->inverted = 1;
}

/* Column norms of L^-1: the diagonal of S. */
static double variance(const solution *s, size_t n, size_t j) {
  return gpc_dot(n - j, s->inv + j + n * j, s->inv + j + n * j);
}

static void gpc_joint_gradient(void *self, double *gradient) {
  gpc_joint_surrogate *sur = self;
  const gpc_joint *joint = sur->joint;
  const gpc_joint_pass *pass = sur->pass;
  solution *s = sur->solution;
  gpc_joint_point *to = sur->to;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->q;
  double own[GPC_BLOCKS], per_block[GPC_BLOCKS] = {0};
  invert(joint, s);
  /* S's first m columns [n x m]: L^-T (L^-1)_m */
  gpc_gemm(1, 0, n, m, n, 1.0, s->inv, s->inv, 0.0, s->smm);
  /* dJ/dA = (g - scale H d)_c m' - (D_cc A S_mm + D_ce S_em) */
  const double *da = sur->other ? s->da : s->ha;
  const double *dce = sur->other ? s->dce : pass->hce;
  for (size_t j = 0; j < m; j++) {
    double *to_ga = s->ga + g * j;
    const double *column = s->smm + n * j;
    gpc_gemm(0, 0, g, 1, m, -1.0, da, column, 0.0, to_ga);
    gpc_gemm(0, 0, g, 1, e, -1.0, dce, column + m, 1.0, to_ga);
    for (size_t i = 0; i < g; i++)
      to_ga[i] += (pass->gc[i] - sur->mean_scale * s->hd[i]) * to->at.q_mean[j];
  }
  for (size_t i = 0; i < g; i++)
    s->grho[i] = -0.5 * pass->spread[i];
  gpc_basis_grad_zero(m, &s->grad);
  gpc_basis_grad_add(&s->basis, g, joint->nodes->z, s->a, s->ga, s->grho, s->row,
                     &s->grad);
  gpc_basis_grad_finish(&s->basis, &s->grad);
  gradient[0] = s->grad.s2 * to->at.hyper.s2;
  gradient[1] = s->grad.l * to->at.hyper.l;
  gpc_joint_hyperprior(joint, to->tau, own);
  for (size_t j = 0; j < e; j++) {
    const gpc_block b = gpc_features_block(&joint->features, j);
    const double p = 1.0 / (to->tau[b] * to->tau[b]);
    per_block[b] += p * (to->effect[j] * to->effect[j] + variance(s, n, m + j)) - 1.0;
  }
  size_t at = 2;
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (joint->features.count[b])
      gradient[at++] = per_block[b] + own[b];
}

static void gpc_joint_cov(gpc_joint_surrogate *sur) {
  invert(sur->joint, sur->solution);
  gpc_inverse_from_lower(sur->joint->q, sur->solution->inv, sur->to->cov);
  sur->to->has_effects = sur->joint->e > 0;
  sur->to->logdet = -gpc_chol_logdet(sur->joint->q, sur->solution->q);
}

#endif
