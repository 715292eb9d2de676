/* gp_fit.c: see gp_fit.h. Passes over the data alternate with maximising the surrogate
 * that the last accepted pass defines (gp_surrogate.h); a step that would lower the bound
 * is taken back and tried again with a smaller box and more damping. */
#include "gp_fit.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

/* All that belongs to one point at which a pass was made. */
typedef struct {
  gpc_surrogate_point at;
  gpc_gp_stats stats;
  double *psi, *b, *mass; /* [g] */
  double elbo;
} visit;

typedef struct {
  const gpc_gp_data *data;
  const gpc_gp_setup *setup;
  size_t g, m, fine;
  double *nodes, *fine_nodes;
  gpc_basis basis;
  double *a, *rho, *c, *zero, *as, *au, *chol;  /* on the nodes */
  double *fine_a, *fine_as, *fine_psi, *fine_r; /* on the fine nodes */
  double *w, *qa;                               /* [g x g], [g x m] */
  double *pass_work, *surrogate_work;
  visit here, there;
  double *extra,
      bend;     /* [g] curvature that W lacks: W + bend extra extra'; bend = 0: none */
  size_t times; /* what the rows would need, when too coarse */
} fit_work;

/* Carving the block: with base NULL it only counts. */
typedef struct {
  double *base;
  size_t used;
} arena;

static double *take(arena *from, size_t n) {
  double *at = from->base ? from->base + from->used : NULL;
  from->used += n;
  return at;
}

static void carve_visit(arena *from, size_t g, size_t m, visit *v) {
  v->at.inducing = take(from, m);
  v->at.q_mean = take(from, m);
  v->at.q_cov = take(from, m * m);
  v->psi = take(from, g);
  v->b = take(from, g);
  v->mass = take(from, g);
  double *block = take(from, gpc_gp_stats_size(g));
  if (block)
    gpc_gp_stats_carve(g, block, &v->stats);
}

static void carve(const gpc_gp_setup *setup, size_t n, size_t k, arena *from,
                  fit_work *t) {
  const size_t g = setup->line.g, m = setup->m,
               fine = setup->rows ? setup->rows->fine.g : 0;
  t->g = g;
  t->m = m;
  t->fine = fine;
  t->nodes = take(from, g);
  t->fine_nodes = take(from, fine);
  t->basis.m = m;
  t->basis.chol = take(from, m * m);
  t->a = take(from, g * m);
  t->rho = take(from, g);
  t->c = take(from, g);
  t->zero = take(from, g > fine ? g : fine);
  t->as = take(from, g * m);
  t->au = take(from, g * m);
  t->chol = take(from, m * m);
  t->fine_a = take(from, fine * m);
  t->fine_as = take(from, fine * m);
  t->fine_psi = take(from, fine);
  t->fine_r = take(from, fine);
  t->w = take(from, g * g);
  t->qa = take(from, g * m);
  t->extra = take(from, g);
  t->surrogate_work = take(from, gpc_surrogate_work(g, m));
  t->pass_work = take(from, setup->rows ? gpc_gp_pass_rows_work(setup->rows, g)
                                        : gpc_gp_pass_grid_work(n, k, g, m, 1));
  carve_visit(from, g, m, &t->here);
  carve_visit(from, g, m, &t->there);
}

size_t gpc_gp_fit_work(const gpc_gp_setup *setup, size_t n, size_t k) {
  arena count = {NULL, 0};
  fit_work t;
  carve(setup, n, k, &count, &t);
  return count.used;
}

/* psi = slope z + a m on n nodes. */
static void set_psi(const gpc_gp_setup *setup, const gpc_surrogate_point *at, size_t n,
                    const double *nodes, const double *a, double *psi) {
  for (size_t i = 0; i < n; i++)
    psi[i] = setup->mean == GPC_MEAN_LOG ? 0.0 : at->slope * nodes[i];
  gpc_gemm(0, 0, n, 1, setup->m, 1.0, a, at->q_mean, 1.0, psi);
}

/* c = rho + a'S a on n nodes. */
static void set_c(size_t n, size_t m, const double *a, const double *q_cov,
                  const double *rho, double *as, double *c) {
  gpc_gemm(0, 0, n, m, m, 1.0, a, q_cov, 0.0, as);
  memcpy(c, rho, n * sizeof(double));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < n; i++)
      c[i] += a[i + n * j] * as[i + n * j];
}

/* W = diag(p) - q into t->w. */
static void set_curvature(const visit *v, fit_work *t) {
  const size_t g = t->g;
  memcpy(t->w, v->stats.q, g * g * sizeof(double));
  gpc_symmetrise(g, t->w);
  for (size_t i = 0; i < g * g; i++)
    t->w[i] = -t->w[i];
  for (size_t i = 0; i < g; i++)
    t->w[i + g * i] += v->stats.p[i];
}

static gpc_surrogate surrogate_of(const visit *v, const fit_work *t, double damping) {
  const gpc_gp_setup *setup = t->setup;
  gpc_surrogate sur = {t->g,
                       t->m,
                       setup->mean,
                       setup->cov,
                       t->nodes,
                       v->b,
                       t->w,
                       v->stats.v,
                       v->psi,
                       v->mass,
                       damping,
                       t->bend != 0.0 ? t->extra : NULL,
                       t->bend,
                       setup->slope_free,
                       setup->slope_low,
                       setup->slope_high};
  return sur;
}

/* One pass at v->at. With `plain` the uncertainty is left out of the gradient (there is
 * none yet). Sets v->stats, psi, b, elbo and the S that belongs to them. */
static gpc_status visit_point(fit_work *t, int plain, visit *v) {
  const gpc_gp_setup *setup = t->setup;
  const size_t g = t->g, m = t->m;
  const int full = setup->cov == GPC_COV_FULL;
  t->basis.w = v->at.inducing;
  t->basis.hyper = v->at.hyper;
  gpc_status status = gpc_basis_factor(&t->basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&t->basis, g, t->nodes, t->a, t->rho);
  set_psi(setup, &v->at, g, t->nodes, t->a, v->psi);
  if (setup->rows && (t->times = gpc_rows_times(g, v->psi)) != 0 &&
      t->times > setup->rows->times)
    return GPC_TOO_COARSE;
  if (setup->rows && t->times == 0)
    return GPC_TOO_COARSE;
  const double *c = t->zero, *au = NULL;
  if (!plain) {
    set_c(g, m, t->a, v->at.q_cov, t->rho, t->as, t->c);
    c = t->c;
    if (full) {
      memcpy(t->chol, v->at.q_cov, m * m * sizeof(double));
      if ((status = gpc_chol(m, 0.0, t->chol)) != GPC_OK)
        return status;
      gpc_gemm(1, 1, m, g, m, 1.0, t->chol, t->a, 0.0, t->au);
      au = t->au;
    }
  }
  const double *r = plain ? t->zero : full ? t->rho : t->c;
  gpc_gp_tables tables = {g, m, v->psi, c, r, au};
  if (setup->rows) {
    double labels = setup->logs;
    for (size_t i = 0; i < g; i++)
      labels += setup->y[i] * v->psi[i];
    gpc_basis_eval(&t->basis, t->fine, t->fine_nodes, t->fine_a, t->fine_r);
    set_psi(setup, &v->at, t->fine, t->fine_nodes, t->fine_a, t->fine_psi);
    if (!full && !plain)
      set_c(t->fine, m, t->fine_a, v->at.q_cov, t->fine_r, t->fine_as, t->fine_r);
    gpc_gp_pass_rows(t->data, setup->mean, setup->rows, &tables, t->fine_psi,
                     plain ? t->zero : t->fine_r, t->fine_nodes, labels, t->pass_work,
                     &v->stats);
  } else {
    gpc_gp_pass_grid(t->data, setup->mean, &setup->line, &tables, t->pass_work,
                     &v->stats);
  }
  /* b = dF/dpsi with S as used in the pass: gp_stats.c */
  for (size_t i = 0; i < g; i++)
    v->mass[i] = fmax(setup->y[i], 0.0) + fmax(v->stats.p[i], 0.0);
  for (size_t i = 0; i < g; i++)
    v->b[i] = setup->y[i] - v->stats.p[i] - v->stats.u[i] - 0.5 * c[i] * v->stats.p[i] +
              r[i] * (v->stats.p[i] - v->stats.v[i]);
  set_curvature(v, t);
  if (au) { /* + (q A S) . A; q = diag(p) - W */
    gpc_gemm(0, 0, g, m, g, -1.0, t->w, t->a, 0.0, t->qa);
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < g; i++)
        v->b[i] +=
            (t->qa[i + g * j] + v->stats.p[i] * t->a[i + g * j]) * t->as[i + g * j];
  }
  gpc_surrogate sur = surrogate_of(v, t, 0.0);
  status = gpc_surrogate_here(&sur, t->surrogate_work, &v->at);
  v->elbo = v->stats.loss + v->at.value;
  return status == GPC_OK && !isfinite(v->elbo) ? GPC_NOT_FINITE : status;
}

/* SR1: between the passes here and there (whose W is in t->w) psi moved by s and the
 * gradient fell by y; what W s does not explain of y becomes a rank-one correction. */
static void learn_curvature(const visit *here, const visit *there, fit_work *t) {
  const size_t g = t->g;
  double *s = t->qa, *ws = t->as; /* free between passes: [g x m] each */
  double along = 0.0, explained = 0.0;
  for (size_t i = 0; i < g; i++)
    s[i] = there->psi[i] - here->psi[i];
  gpc_symm(g, 1, t->w, s, ws);
  for (size_t i = 0; i < g; i++) {
    t->extra[i] = here->b[i] - there->b[i] - ws[i];
    along += t->extra[i] * s[i];
    explained += ws[i] * s[i];
  }
  /* less curvature is believed only as far as what is left stays clearly positive */
  int keep = along > 1e-8 * explained || (along < 0.0 && along > -0.5 * explained);
  t->bend = keep ? 1.0 / along : 0.0;
}

static void copy_point(size_t m, const gpc_surrogate_point *from,
                       gpc_surrogate_point *to) {
  to->value = from->value;
  to->slope = from->slope;
  to->hyper = from->hyper;
  memcpy(to->inducing, from->inducing, m * sizeof(double));
  memcpy(to->q_mean, from->q_mean, m * sizeof(double));
  memcpy(to->q_cov, from->q_cov, m * m * sizeof(double));
}

/* The surrogate's maximum from every start (the first time) or from here. */
static gpc_status next_point(fit_work *t, const gpc_surrogate_box *box, double damping,
                             int first, gpc_surrogate_point *spare,
                             gpc_surrogate_point *best) {
  const gpc_gp_setup *setup = t->setup;
  gpc_surrogate sur = surrogate_of(&t->here, t, damping);
  const size_t starts = first ? setup->starts : 1;
  gpc_status status = GPC_NOT_PD;
  best->value = -INFINITY;
  for (size_t s = 0; s < starts; s++) {
    copy_point(t->m, &t->here.at, spare);
    if (first)
      spare->hyper.l = setup->start_l[s];
    gpc_status one = gpc_surrogate_maximise(&sur, box, t->surrogate_work, spare);
    if (one == GPC_OK && spare->value > best->value) {
      copy_point(t->m, spare, best);
      status = GPC_OK;
    }
  }
  return status;
}

static void report(const visit *v, size_t m, gpc_gp_state *state) {
  copy_point(m, &v->at, &state->point);
  state->elbo = v->elbo;
}

#define LONGEST_RADIUS 3.0
#define ROUGHLY 0.2 /* nats: close enough to tell how long the lengthscale will be */
#define NEAR 0.05   /* nats gained by a step that ends close to the optimum */

gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_gp_setup *setup, gpc_poll poll,
                      void *poll_data, double *work, gpc_gp_state *state, size_t *times) {
  fit_work t;
  arena from = {work, 0};
  memset(&t, 0, sizeof t);
  carve(setup, data->n, data->k, &from, &t);
  t.data = data;
  t.setup = setup;
  const size_t m = t.m;
  for (size_t i = 0; i < t.g; i++)
    t.nodes[i] = gpc_line_node(&setup->line, i);
  for (size_t i = 0; i < t.fine; i++)
    t.fine_nodes[i] = gpc_line_node(&setup->rows->fine, i);
  memset(t.zero, 0, (t.g > t.fine ? t.g : t.fine) * sizeof(double));
  copy_point(m, &state->point, &t.here.at);
  if (!state->warm)
    memset(t.here.at.q_mean, 0, m * sizeof(double));
  gpc_status status = visit_point(&t, !state->warm, &t.here);
  *times = t.times;
  if (status != GPC_OK)
    return status;
  state->passes++;
  report(&t.here, m, state);
  gpc_surrogate_box box = setup->box;
  double damping = 0.0;
  int first = state->steps == 0;
  /* room for one more point, at the end of the surrogate's own */
  gpc_surrogate_point spare = state->point;
  while (state->passes < setup->max_passes) {
    gpc_call_poll(poll, poll_data);
    set_curvature(&t.here, &t);
    status = next_point(&t, &box, damping, first, &spare, &t.there.at);
    if (status != GPC_OK && t.bend != 0.0) { /* the learnt curvature may be to blame */
      t.bend = 0.0;
      continue;
    }
    if (status != GPC_OK) { /* no way forward from here: look closer by */
      box.radius *= 0.25;
      damping = fmax(4.0 * damping, 0.05);
      report(&t.here, m, state);
      if (box.radius < 1e-5)
        break;
      continue;
    }
    state->promise = t.there.at.value - t.here.at.value;
    report(&t.here, m, state);
    if (state->promise < ROUGHLY && t.here.at.hyper.l < setup->short_l &&
        t.there.at.hyper.l < setup->short_l)
      return GPC_TOO_FEW;
    if (state->promise < setup->tol) {
      if (t.bend == 0.0)
        return GPC_OK;
      t.bend = 0.0; /* ask once more without the learnt curvature */
      continue;
    }
    status = visit_point(&t, 0, &t.there);
    if (status == GPC_TOO_COARSE) {
      *times = t.times;
      state->warm = 1; /* begin again from the last point that was accepted */
      return status;
    }
    state->passes++;
    double gain = status == GPC_OK ? t.there.elbo - t.here.elbo : -INFINITY;
    if (gain >= -1e-10 * fabs(t.here.elbo)) {
      t.bend = 0.0;
      if (gain < NEAR) /* a long step says little of the curvature here */
        learn_curvature(&t.here, &t.there, &t);
      visit swap = t.here;
      t.here = t.there;
      t.there = swap;
      state->steps++;
      first = 0;
      report(&t.here, m, state);
      double ratio = gain / state->promise;
      if (ratio > 0.6)
        box.radius = fmin(2.0 * box.radius, LONGEST_RADIUS);
      else if (ratio < 0.25)
        box.radius *= 0.5;
      damping = ratio > 0.6 ? damping / 4.0 : damping;
      damping = damping < 0.01 ? 0.0 : damping;
    } else {
      box.radius *= 0.25;
      damping = fmax(4.0 * damping, 0.05);
      if (box.radius < 1e-5 && damping > 1e6)
        break;
    }
  }
  report(&t.here, m, state);
  return GPC_NOT_CONVERGED;
}
