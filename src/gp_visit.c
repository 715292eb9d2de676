/* gp_visit.c: see gp_visit.h. */
#include "gp_visit.h"
#include "gp_inner.h"
#include "gp_stream.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

/* The functions of one point on the nodes, in room that visits share. */
typedef struct {
  gpc_basis basis;
  double *a, *as, *au, *va; /* [g x m] A, A S; [m x g] U'A', S = U U'; V A */
  double *rho, *c;          /* [g] */
  double *chol, *h, *pull;  /* [m x m], [m x m], [m] */
} fields;

static fields get_fields(gpc_visitor *visitor, size_t g, const gpc_params *at) {
  const gpc_memory *memory = visitor->memory;
  const size_t m = at->m;
  gpc_buffer *room = visitor->features, *small = visitor->small;
  fields f = {.a = gpc_buffer_need(memory, &room[0], g * m),
              .as = gpc_buffer_need(memory, &room[1], g * m),
              .au = gpc_buffer_need(memory, &room[2], g * m),
              .va = gpc_buffer_need(memory, &room[3], g * m),
              .rho = gpc_buffer_need(memory, &room[4], g),
              .c = gpc_buffer_need(memory, &room[5], g),
              .chol = gpc_buffer_need(memory, &small[0], 2 * m * m),
              .h = gpc_buffer_need(memory, &small[1], m * m),
              .pull = gpc_buffer_need(memory, &small[2], m)};
  f.basis = (gpc_basis){
      .m = m, .inducing = at->inducing, .hyper = at->hyper, .chol = f.chol + m * m};
  return f;
}

static void get_rooms(gpc_visitor *visitor, gpc_visit *v) {
  const gpc_memory *memory = visitor->memory;
  const size_t g = v->nodes->g;
  v->psi = gpc_buffer_need(memory, &v->rooms[0], g);
  v->b = gpc_buffer_need(memory, &v->rooms[1], g);
  v->mass = gpc_buffer_need(memory, &v->rooms[2], g);
  v->curvature = gpc_buffer_need(memory, &v->w_room, g * g);
}

/* v->stats := sums, and v->curvature, of which their q is nothing more than a part. */
static void set_stats(const gpc_memory *memory, const gpc_gp_stats *sums, gpc_visit *v) {
  const size_t g = v->nodes->g;
  double *room = gpc_buffer_need(memory, &v->stats_room, 3 * g);
  v->stats = (gpc_gp_stats){.loss = sums->loss,
                            .extra = sums->extra,
                            .p = room,
                            .spread = room + g,
                            .excess = room + 2 * g};
  memcpy(v->stats.p, sums->p, g * sizeof(double));
  memcpy(v->stats.spread, sums->spread, g * sizeof(double));
  memcpy(v->stats.excess, sums->excess, g * sizeof(double));
  gpc_gp_curvature(g, sums, v->curvature);
}

/* eq. (7), less log factor: smooth(z) + A m on n points. */
static void set_psi(const gpc_prior *prior, const gpc_params *at, size_t n,
                    const double *z, const double *a, double *psi) {
  gpc_gemm(0, 0, n, 1, at->m, 1.0, a, at->q_mean, 0.0, psi);
  gpc_prior_add_smooth(prior, n, z, psi);
}

/* eq. (10): c = rho + a'S a on n points, as = A S. */
static void set_c(size_t n, const gpc_params *at, const double *a, const double *rho,
                  double *as, double *c) {
  gpc_gemm_large(0, 0, n, at->m, at->m, 1.0, a, at->q_cov, 0.0, as);
  memcpy(c, rho, n * sizeof(double));
  for (size_t j = 0; j < at->m; j++)
    for (size_t i = 0; i < n; i++)
      c[i] += a[i + n * j] * as[i + n * j];
}

/* The tables of a pass; those of the uncertainty are zero for a plain one. */
static gpc_status set_tables(const gpc_visitor *visitor, const gpc_visit *v, int plain,
                             fields *f, gpc_gp_tables *tables) {
  const size_t g = v->nodes->g, m = v->at.m;
  const int full = visitor->cov == GPC_COV_FULL;
  *tables = (gpc_gp_tables){.g = g, .m = m, .psi = v->psi, .c = f->c, .r = f->c};
  if (plain) {
    memset(f->c, 0, g * sizeof(double));
    return GPC_OK;
  }
  set_c(g, &v->at, f->a, f->rho, f->as, f->c);
  if (!full)
    return GPC_OK;
  tables->r = f->rho;
  tables->au = f->au;
  memcpy(f->chol, v->at.q_cov, m * m * sizeof(double));
  gpc_status status = gpc_chol(m, 0.0, f->chol);
  if (status == GPC_OK)
    gpc_gemm_large(1, 1, m, g, m, 1.0, f->chol, f->a, 0.0, f->au);
  return status;
}

/* V A [g x m]. */
static void set_va(const gpc_visitor *visitor, const gpc_visit *v, fields *f) {
  const size_t g = v->nodes->g, m = v->at.m;
  if (visitor->cov == GPC_COV_FULL)
    gpc_symm(g, m, v->curvature, f->a, f->va);
  else
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < g; i++)
        f->va[i + g * j] = v->stats.spread[i] * f->a[i + g * j];
}

gpc_status gpc_visit_make(gpc_visitor *visitor, int plain, gpc_visit *v) {
  const size_t g = v->nodes->g;
  const gpc_prior prior = gpc_params_prior(&v->at, &visitor->prior);
  fields f = get_fields(visitor, g, &v->at);
  gpc_gp_tables tables;
  gpc_gp_stats sums;
  get_rooms(visitor, v);
  gpc_gp_stats_carve(
      g, gpc_buffer_need(visitor->memory, &visitor->sums, gpc_gp_stats_size(g)), &sums);
  gpc_status status = gpc_basis_factor(&f.basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&f.basis, g, v->nodes->z, f.a, f.rho);
  set_psi(&prior, &v->at, g, v->nodes->z, f.a, v->psi);
  status = set_tables(visitor, v, plain, &f, &tables);
  if (status != GPC_OK)
    return status;
  gpc_ruler_rows(visitor->ruler, v->nodes, v->psi);
  const gpc_sparse_rows *rows = visitor->ruler->rows;
  double *work = gpc_buffer_need(visitor->memory, &visitor->pass,
                                 gpc_gp_pass_work(visitor->data, rows, g));
  gpc_gp_pass(visitor->data, &prior, v->nodes, rows, &tables, work, &sums);
  set_stats(visitor->memory, &sums, v);
  set_va(visitor, v, &f);
  gpc_gp_phi_gradient(&tables, v->nodes->truth, &v->stats, tables.au ? f.va : NULL, f.a,
                      f.as, v->b);
  for (size_t i = 0; i < g; i++)
    v->mass[i] = fmax(v->nodes->truth[i], 0.0) + fmax(v->stats.p[i], 0.0);
  if (visitor->site) {
    v->stats.loss +=
        gpc_site_add(visitor->site, g, v->psi, v->b, v->curvature, v->stats.spread);
    set_va(visitor, v, &f);
  }
  const gpc_surrogate sur = gpc_visit_surrogate(visitor, v);
  status = gpc_inner_here(&sur, f.a, f.rho, f.va, f.h, f.pull, &v->at, &v->value);
  v->elbo = v->stats.loss + v->value;
  return status == GPC_OK && !isfinite(v->elbo) ? GPC_NOT_FINITE : status;
}

void gpc_visit_give(const gpc_memory *memory, gpc_visit *v) {
  gpc_params_give(memory, &v->at);
  gpc_buffer_drop(memory, &v->stats_room);
  gpc_buffer_drop(memory, &v->w_room);
  for (int i = 0; i < 3; i++)
    gpc_buffer_drop(memory, &v->rooms[i]);
}

void gpc_visitor_give(gpc_visitor *visitor) {
  gpc_buffer_drop(visitor->memory, &visitor->pass);
  gpc_buffer_drop(visitor->memory, &visitor->sums);
  for (int i = 0; i < 6; i++)
    gpc_buffer_drop(visitor->memory, &visitor->features[i]);
  for (int i = 0; i < 3; i++)
    gpc_buffer_drop(visitor->memory, &visitor->small[i]);
}

gpc_status gpc_visit_psi(gpc_visitor *visitor, const gpc_visit *v, size_t n,
                         const double *z, double *psi) {
  const size_t m = v->at.m;
  const gpc_prior prior = gpc_params_prior(&v->at, &visitor->prior);
  fields f = get_fields(visitor, v->nodes->g, &v->at);
  void *mark = visitor->memory->mark(visitor->memory->self);
  double *a = gpc_get_doubles(visitor->memory, n * m);
  double *rho = gpc_get_doubles(visitor->memory, n);
  const gpc_status status = gpc_basis_factor(&f.basis);
  if (status == GPC_OK) {
    gpc_basis_eval(&f.basis, n, z, a, rho);
    set_psi(&prior, &v->at, n, z, a, psi);
  }
  visitor->memory->release(visitor->memory->self, mark);
  return status;
}

gpc_surrogate gpc_visit_surrogate(const gpc_visitor *visitor, const gpc_visit *v) {
  return (gpc_surrogate){.g = v->nodes->g,
                         .m = v->at.m,
                         .prior = visitor->prior,
                         .cov = visitor->cov,
                         .z = v->nodes->z,
                         .b = v->b,
                         .curvature = v->curvature,
                         .spread = v->stats.spread,
                         .psi0 = v->psi,
                         .mass = v->mass,
                         .slope_free = visitor->slope_free,
                         .slope_low = visitor->slope_low,
                         .slope_high = visitor->slope_high};
}

double gpc_visit_slope(gpc_visitor *visitor, const gpc_visit *v, double *cross) {
  const size_t g = v->nodes->g, m = v->at.m;
  fields f = get_fields(visitor, g, &v->at);
  double *wz = f.c, *az = f.pull; /* W z, A'W z */
  memset(cross, 0, m * sizeof(double));
  if (gpc_basis_factor(&f.basis) != GPC_OK)
    return 0.0;
  gpc_basis_eval(&f.basis, g, v->nodes->z, f.a, f.rho);
  gpc_symm(g, m, v->curvature, f.a, f.va);
  gpc_symm(g, 1, v->curvature, v->nodes->z, wz);
  gpc_gemm(1, 0, m, m, g, 1.0, f.a, f.va, 0.0, f.h);
  gpc_prior_add_precision(&visitor->prior, m, f.h, NULL);
  if (gpc_chol(m, 0.0, f.h) != GPC_OK)
    return 0.0;
  gpc_gemm(1, 0, m, 1, g, 1.0, f.a, wz, 0.0, az);
  const double own = gpc_dot(g, v->nodes->z, wz);
  memcpy(cross, az, m * sizeof(double));
  gpc_chol_solve(m, f.h, cross);
  const double left = own - gpc_dot(m, az, cross); /* eq. (26a) */
  const int known = left > 1e-10 * own;
  for (size_t i = 0; i < m; i++)
    cross[i] = known ? -cross[i] : 0.0;
  return known ? 1.0 / left : 0.0;
}

/* f in the middle of the cell that begins at node i, where i + 6 further nodes on the
 * right and 5 on the left are in use. */
static double middle(const double *wts, const double *f, size_t i) {
  double sum = 0.0;
  for (size_t q = 0; q < GPC_STENCIL; q++)
    sum += wts[q] * f[i - GPC_LEFT + q];
  return sum;
}

/* 1 if the stencil of the cell that begins at node i of the line is in use. */
static int has_stencil(const gpc_nodes *nodes, size_t i) {
  if (i < GPC_LEFT || i - GPC_LEFT + GPC_STENCIL > nodes->line.g)
    return 0;
  for (size_t q = 0; q < GPC_STENCIL && nodes->slot; q++)
    if (nodes->slot[i - GPC_LEFT + q] < 0)
      return 0;
  return 1;
}

double gpc_visit_line_error(gpc_visitor *visitor, const gpc_visit *v) {
  const gpc_nodes *nodes = v->nodes;
  const size_t g = nodes->g;
  const gpc_prior prior = gpc_params_prior(&v->at, &visitor->prior);
  fields f = get_fields(visitor, g, &v->at);
  void *mark = visitor->memory->mark(visitor->memory->self);
  double *z = gpc_get_doubles(visitor->memory, g);
  double *c_mid = gpc_get_doubles(visitor->memory, g);
  double *psi_mid = gpc_get_doubles(visitor->memory, g);
  double wts[GPC_STENCIL], half = GPC_LEFT + 0.5, lost = 0.0;
  int first;
  memcpy(z, nodes->z, g * sizeof(double));
  if (gpc_basis_factor(&f.basis) == GPC_OK) {
    gpc_line middles = nodes->line;
    middles.origin += 0.5 * middles.step;
    for (size_t i = 0; i < nodes->line.g; i++)
      if (!nodes->slot || nodes->slot[i] >= 0)
        z[gpc_nodes_at(nodes, i)] = gpc_line_node(&middles, i);
    gpc_basis_eval(&f.basis, g, z, f.a, f.rho);
    set_psi(&prior, &v->at, g, z, f.a, psi_mid);
    set_c(g, &v->at, f.a, f.rho, f.as, c_mid);
    gpc_basis_eval(&f.basis, g, nodes->z, f.a, f.rho);
    set_c(g, &v->at, f.a, f.rho, f.as, f.c);
    gpc_line_weights(1, &half, 1, &first, wts);
    for (size_t i = 0; i + 1 < nodes->line.g; i++) {
      if (!has_stencil(nodes, i))
        continue;
      const size_t at = gpc_nodes_at(nodes, i);
      double mass = fmax(fabs(nodes->truth[at]) + fabs(v->stats.p[at]),
                         fabs(nodes->truth[at + 1]) + fabs(v->stats.p[at + 1]));
      double spread = fmax(fabs(v->stats.spread[at]), fabs(v->stats.spread[at + 1]));
      lost += mass * fabs(psi_mid[at] - middle(wts, v->psi, at)) +
              0.5 * spread * fabs(c_mid[at] - middle(wts, f.c, at));
    }
  }
  visitor->memory->release(visitor->memory->self, mark);
  return lost;
}
