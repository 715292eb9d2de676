/* gp_visit.c: see gp_visit.h. */
#include "gp_visit.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

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

static void carve_visit(arena *from, size_t g, size_t m, gpc_visit *v) {
  v->at.inducing = take(from, m);
  v->at.q_mean = take(from, m);
  v->at.q_cov = take(from, m * m);
  v->psi = take(from, g);
  v->live_psi = take(from, g);
  v->live_v = take(from, g);
  v->b = take(from, g);
  v->mass = take(from, g);
  double *block = take(from, gpc_gp_stats_size(g));
  if (block)
    gpc_gp_stats_carve(g, block, &v->stats);
}

size_t gpc_visit_carve(const gpc_gp_data *data, const gpc_gp_setup *setup, double *work,
                       gpc_visit_work *t) {
  arena block = {work, 0}, *from = &block;
  const size_t g = setup->line.g, m = setup->m,
               fine = setup->rows ? setup->rows->fine.g : 0;
  memset(t, 0, sizeof *t);
  t->data = data;
  t->setup = setup;
  t->g = g;
  t->m = m;
  t->fine = fine;
  t->nodes = take(from, g);
  t->fine_nodes = take(from, fine);
  t->live_nodes = take(from, g);
  t->live_at = (size_t *)(void *)take(from, g);
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
  t->live_a = take(from, g * m);
  t->live_as = take(from, g * m);
  t->move = take(from, GPC_MOST_PAIRS * g);
  t->fall = take(from, GPC_MOST_PAIRS * g);
  t->extra = take(from, 2 * GPC_MOST_PAIRS * g);
  t->surrogate_work = take(from, gpc_surrogate_work(g, m));
  t->pass_work = take(from, setup->rows ? gpc_gp_pass_rows_work(setup->rows, g)
                                        : gpc_gp_pass_grid_work(data->n, data->k, g));
  carve_visit(from, g, m, &t->here);
  carve_visit(from, g, m, &t->there);
  return block.used;
}

void gpc_visit_begin(gpc_visit_work *t) {
  const gpc_gp_setup *setup = t->setup;
  for (size_t i = 0; i < t->g; i++)
    t->nodes[i] = gpc_line_node(&setup->line, i);
  for (size_t i = 0; i < t->fine; i++)
    t->fine_nodes[i] = gpc_line_node(&setup->rows->fine, i);
  memset(t->zero, 0, (t->g > t->fine ? t->g : t->fine) * sizeof(double));
  double *touched = t->rho; /* free until the first pass */
  if (setup->line.bent)
    gpc_gp_touched(t->data, &setup->line, touched);
  t->live = 0;
  for (size_t i = 0; i < t->g; i++)
    if (!setup->line.bent || touched[i] > 0.0) {
      t->live_at[t->live] = i;
      t->live_nodes[t->live++] = t->nodes[i];
    }
}

/* to [live x columns] := the live rows of from [g x columns]. */
static void gather(const gpc_visit_work *t, size_t columns, const double *from,
                   double *to) {
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < t->live; i++)
      to[i + t->live * j] = from[t->live_at[i] + t->g * j];
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

/* W = diag(p) - q; q has its lower triangle, and live_at ascends. */
static void set_curvature(const gpc_visit *v, gpc_visit_work *t) {
  const size_t g = t->g, n = t->live, *at = t->live_at;
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++)
      t->w[i + n * j] = -v->stats.q[at[i] + g * at[j]];
  gpc_symmetrise(n, t->w);
  for (size_t i = 0; i < n; i++)
    t->w[i + n * i] += v->stats.p[at[i]];
}

static double dot(size_t n, const double *a, const double *b) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

#define LEAST_LEFT 0.1 /* of the curvature along a move, at the least */

/* One pair (s, y): W := W - u u' / s'u + y y' / s'y with u = W s, where y is drawn
 * towards u when it would leave too little (Powell's damping). */
static void add_pair(size_t pair, gpc_visit_work *t) {
  const size_t n = t->live;
  const double *s = t->move + n * pair, *fall = t->fall + n * pair;
  double *u = t->extra + n * t->extras, *y = u + n;
  gpc_symm(n, 1, t->w, s, u);
  for (size_t e = 0; e < t->extras; e++) {
    const double *extra = t->extra + n * e;
    const double along = t->bend[e] * dot(n, extra, s);
    for (size_t i = 0; i < n; i++)
      u[i] += along * extra[i];
  }
  double su = dot(n, s, u), sy = dot(n, s, fall), keep = 1.0;
  if (!(su > 0.0) || !isfinite(sy))
    return;
  if (sy < LEAST_LEFT * su)
    keep = (1.0 - LEAST_LEFT) * su / (su - sy);
  for (size_t i = 0; i < n; i++)
    y[i] = keep * fall[i] + (1.0 - keep) * u[i];
  t->bend[t->extras++] = -1.0 / su;
  t->bend[t->extras++] = 1.0 / (keep * sy + (1.0 - keep) * su);
}

void gpc_visit_curvature(const gpc_visit *v, gpc_visit_work *t) {
  set_curvature(v, t);
  t->extras = 0;
  for (size_t pair = 0; pair < t->pairs; pair++)
    add_pair(pair, t);
}

void gpc_visit_learn(const gpc_visit *here, const gpc_visit *there, gpc_visit_work *t) {
  const size_t n = t->live;
  if (t->pairs == GPC_MOST_PAIRS) { /* forget the oldest */
    t->pairs--;
    memmove(t->move, t->move + n, t->pairs * n * sizeof(double));
    memmove(t->fall, t->fall + n, t->pairs * n * sizeof(double));
  }
  double *move = t->move + n * t->pairs, *fall = t->fall + n * t->pairs;
  for (size_t i = 0; i < n; i++) {
    move[i] = there->live_psi[i] - here->live_psi[i];
    fall[i] = here->b[i] - there->b[i];
  }
  t->pairs++;
}

void gpc_visit_forget(gpc_visit_work *t) { t->pairs = t->extras = 0; }

gpc_surrogate gpc_visit_surrogate(const gpc_visit *v, const gpc_visit_work *t,
                                  size_t extras, double damping) {
  const gpc_gp_setup *setup = t->setup;
  gpc_surrogate sur = {
      t->live,  t->m,      setup->mean,       setup->cov,       t->live_nodes,    v->b,
      t->w,     v->live_v, v->live_psi,       v->mass,          damping,          extras,
      t->extra, t->bend,   setup->slope_free, setup->slope_low, setup->slope_high};
  return sur;
}

static gpc_status set_features(gpc_visit_work *t, const gpc_visit *v) {
  t->basis.w = v->at.inducing;
  t->basis.hyper = v->at.hyper;
  return gpc_basis_factor(&t->basis);
}

gpc_status gpc_visit_point(gpc_visit_work *t, int plain, gpc_visit *v) {
  const gpc_gp_setup *setup = t->setup;
  const size_t g = t->g, m = t->m, live = t->live;
  const int full = setup->cov == GPC_COV_FULL;
  gpc_status status = set_features(t, v);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&t->basis, g, t->nodes, t->a, t->rho);
  set_psi(setup, &v->at, g, t->nodes, t->a, v->psi);
  if (setup->rows) {
    t->times = gpc_rows_times(g, v->psi);
    if (t->times == 0 || t->times > setup->rows->times)
      return GPC_TOO_COARSE;
  }
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
  gather(t, 1, v->psi, v->live_psi);
  gather(t, 1, v->stats.v, v->live_v);
  /* b = dF/dpsi with S as used in the pass: gp_stats.c */
  for (size_t j = 0; j < live; j++) {
    const size_t i = t->live_at[j];
    const double p = v->stats.p[i];
    v->mass[j] = fmax(setup->y[i], 0.0) + fmax(p, 0.0);
    v->b[j] =
        setup->y[i] - p - v->stats.u[i] - 0.5 * c[i] * p + r[i] * (p - v->stats.v[i]);
  }
  set_curvature(v, t);
  if (au) { /* + (q A S) . A; q = diag(p) - W */
    gather(t, m, t->a, t->live_a);
    gather(t, m, t->as, t->live_as);
    gpc_gemm(0, 0, live, m, live, -1.0, t->w, t->live_a, 0.0, t->qa);
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < live; i++) {
        const size_t at = i + live * j;
        v->b[i] +=
            (t->qa[at] + v->stats.p[t->live_at[i]] * t->live_a[at]) * t->live_as[at];
      }
  }
  gpc_surrogate sur = gpc_visit_surrogate(v, t, 0, 0.0);
  status = gpc_surrogate_here(&sur, t->surrogate_work, &v->at);
  v->elbo = v->stats.loss + v->at.value;
  return status == GPC_OK && !isfinite(v->elbo) ? GPC_NOT_FINITE : status;
}

double gpc_visit_slope(gpc_visit_work *t, const gpc_visit *v, double *cross) {
  const size_t n = t->live, m = t->m;
  double *b = t->c, *wz = t->live_as; /* free between passes: [g], [live x m] */
  memset(cross, 0, m * sizeof(double));
  if (set_features(t, v) != GPC_OK)
    return 0.0;
  gpc_basis_eval(&t->basis, n, t->live_nodes, t->live_a, t->rho);
  set_curvature(v, t);
  gpc_symm(n, m, t->w, t->live_a, t->qa);
  gpc_symm(n, 1, t->w, t->live_nodes, wz);
  gpc_gemm(1, 0, m, m, n, 1.0, t->live_a, t->qa, 0.0, t->chol);
  for (size_t i = 0; i < m; i++)
    t->chol[i + m * i] += 1.0;
  if (gpc_chol(m, 0.0, t->chol) != GPC_OK)
    return 0.0;
  gpc_gemm(1, 0, m, 1, n, 1.0, t->live_a, wz, 0.0, b);
  const double own = dot(n, t->live_nodes, wz);
  memcpy(cross, b, m * sizeof(double));
  gpc_chol_solve(m, t->chol, cross);
  const double left = own - dot(m, b, cross);
  const int known = left > 1e-10 * own;
  for (size_t i = 0; i < m; i++)
    cross[i] = known ? -cross[i] : 0.0;
  return known ? 1.0 / left : 0.0;
}

double gpc_visit_line_error(gpc_visit_work *t, const gpc_visit *v) {
  const gpc_gp_setup *setup = t->setup;
  const size_t g = t->g, m = t->m, half = GPC_STENCIL / 2;
  if (set_features(t, v) != GPC_OK)
    return 0.0;
  gpc_basis_eval(&t->basis, g, t->nodes, t->a, t->rho);
  set_c(g, m, t->a, v->at.q_cov, t->rho, t->as, t->c);
  /* middles of the cells in the same order: z, then psi and c there */
  double *z = t->live_nodes, *psi = t->there.psi, *c = t->there.live_psi, *r = t->zero;
  gpc_line middle = setup->line;
  middle.origin += 0.5 * middle.step;
  for (size_t i = 0; i < g; i++)
    z[i] = gpc_line_node(&middle, i);
  gpc_basis_eval(&t->basis, g, z, t->live_a, r);
  set_psi(setup, &v->at, g, z, t->live_a, psi);
  set_c(g, m, t->live_a, v->at.q_cov, r, t->as, c);
  double wts[GPC_STENCIL], at = GPC_LEFT + 0.5, lost = 0.0;
  int first;
  gpc_line_weights(1, &at, 1, &first, wts);
  for (size_t i = half; i + half + 1 < g; i++) {
    double psi_there = 0.0, c_there = 0.0;
    for (size_t q = 0; q < GPC_STENCIL; q++) {
      psi_there += wts[q] * v->psi[i + 1 + q - half];
      c_there += wts[q] * t->c[i + 1 + q - half];
    }
    double mass = fmax(fabs(setup->y[i]) + fabs(v->stats.p[i]),
                       fabs(setup->y[i + 1]) + fabs(v->stats.p[i + 1]));
    double spread = fmax(fabs(v->stats.v[i]), fabs(v->stats.v[i + 1]));
    lost += mass * fabs(psi[i] - psi_there) + 0.5 * spread * fabs(c[i] - c_there);
  }
  memset(t->zero, 0, g * sizeof(double));
  return lost;
}
