/* The bound of the Gaussian process by its three routes, and a fit from end to end. The
 * direct route is the oracle of the others; it is itself checked against central
 * differences. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_reduce.h"
#include "gp_fit.h"
#include "gp_prepare.h"
#include "linalg.h"

#include <stdlib.h>

static unsigned seed = 5;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) {
  double radius = sqrt(-2.0 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

static double *doubles(size_t n) { return calloc(n ? n : 1, sizeof(double)); }

/* Data ------------------------------------------------------------------------------- */

typedef struct {
  gpc_gp_data data;
  double *z, *w, *shift;
  int *label;
} set;

/* Logits (or, for the log mean, probabilities) with labels drawn from them; every fourth
 * weight is zero. */
static set make_set(size_t n, size_t k, gpc_mean mean, int weighted, int centred) {
  set s = {{0},
           doubles(n * k),
           weighted ? doubles(n) : NULL,
           centred ? doubles(n) : NULL,
           calloc(n, sizeof(int))};
  for (size_t i = 0; i < n; i++) {
    double best = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      double z = 2.0 * normal(), gumbel = 0.7 * z - log(-log(uniform()));
      s.z[i + j * n] = z;
      sum += mean == GPC_MEAN_LOG ? exp(z) : z / (double)k;
      if (gumbel > best) {
        best = gumbel;
        s.label[i] = (int)j + 1;
      }
    }
    for (size_t j = 0; j < k && mean == GPC_MEAN_LOG; j++)
      s.z[i + j * n] = exp(s.z[i + j * n]) / sum;
    if (centred)
      s.shift[i] = sum;
    if (weighted)
      s.w[i] = i % 4 == 1 ? 0.0 : 2.0 * uniform();
  }
  double floor = mean == GPC_MEAN_LOG ? 1e-3 : -4.0;
  gpc_gp_data data = {n, k, s.z, s.shift, floor, s.label, s.w, 1};
  s.data = data;
  return s;
}

static void drop_set(set s) {
  free(s.z);
  free(s.w);
  free(s.shift);
  free(s.label);
}

/* A point ---------------------------------------------------------------------------- */

#define M 8

typedef struct {
  gpc_basis basis;
  gpc_gp_point point;
  double w[M], chol[M * M], q_mean[M], q_cov[M * M];
} place;

static void make_place(gpc_mean mean, gpc_cov cov, place *p) {
  const double low = mean == GPC_MEAN_LOG ? 0.0 : -6.0,
               high = mean == GPC_MEAN_LOG ? 1.0 : 6.0;
  double b[M * M];
  for (size_t i = 0; i < M; i++) {
    p->w[i] = low + (high - low) * (double)i / (M - 1);
    p->q_mean[i] = 0.6 * normal();
  }
  for (size_t i = 0; i < M * M; i++)
    b[i] = 0.3 * normal();
  gpc_gemm(0, 1, M, M, M, 1.0, b, b, 0.0, p->q_cov);
  for (size_t i = 0; i < M; i++)
    p->q_cov[i + M * i] += 0.2;
  gpc_symmetrise(M, p->q_cov);
  gpc_basis basis = {.m = M,
                     .inducing = p->w,
                     .hyper = {.s2 = 0.8, .l = 1.4 * (high - low) / (M - 1), .sn2 = 1e-3},
                     .chol = p->chol};
  gpc_gp_point point = {.prior = {.mean = mean, .slope = 0.8},
                        .cov = cov,
                        .q_mean = p->q_mean,
                        .q_cov = p->q_cov};
  p->basis = basis;
  p->point = point;
  CHECK(gpc_basis_factor(&p->basis) == GPC_OK);
}

/* The bound and its gradient as one vector: elbo, m, S, w, s2, l, sn2, slope. */
#define PARTS (1 + M + M * M + M + 4)

static void flatten(const gpc_gp_grad *grad, double *out) {
  *out++ = grad->elbo;
  memcpy(out, grad->q_mean, M * sizeof(double));
  memcpy(out + M, grad->q_cov, M * M * sizeof(double));
  memcpy(out + M + M * M, grad->basis.inducing, M * sizeof(double));
  out += 2 * M + M * M;
  out[0] = grad->basis.s2;
  out[1] = grad->basis.l;
  out[2] = grad->basis.sn2;
  out[3] = grad->slope;
}

typedef struct {
  gpc_gp_grad grad;
  double q_mean[M], q_cov[M * M], w[M], outer[M * M];
} grad_room;

static gpc_gp_grad *room(grad_room *r) {
  memset(r, 0, sizeof *r);
  r->grad.q_mean = r->q_mean;
  r->grad.q_cov = r->q_cov;
  r->grad.basis.inducing = r->w;
  r->grad.basis.outer = r->outer;
  return &r->grad;
}

static void direct(const gpc_gp_data *data, const place *p, double *out) {
  grad_room r;
  double *work = doubles(gpc_gp_direct_work(data->k, M));
  CHECK(gpc_gp_direct(data, &p->basis, &p->point, NULL, NULL, work, room(&r)) == GPC_OK);
  flatten(&r.grad, out);
  free(work);
}

/* Sparse rows ------------------------------------------------------------------------ */

/* The sum of a row is the number of its classes, that of F = z the sum of its scores. */
static void test_sparse(void) {
  const size_t shapes[][2] = {{9, 2}, {3, 40}, {17, 400}};
  for (size_t c = 0; c < 3; c++) {
    set s = make_set(shapes[c][0], shapes[c][1], GPC_MEAN_LINEAR, 0, 1);
    gpc_line line;
    gpc_line_make(-12.0, 12.0, -12.0, 12.0, 0.25, 0.1, 200, &line);
    const gpc_sparse_rows *rows = gpc_sparse_make(&s.data, &line, INFINITY, &cmemory);
    for (size_t i = 0; i < s.data.n; i++) {
      double count = 0.0, sum = 0.0, expected = 0.0;
      const double *value = rows->value + rows->value_at[i];
      const int *run = rows->run + 2 * rows->run_at[i];
      for (int q = 0; q < rows->runs[i]; q++)
        for (int j = 0; j < run[2 * q + 1]; j++, value++) {
          count += *value;
          sum += *value * rows->z[run[2 * q] + j];
        }
      for (size_t j = 0; j < s.data.k; j++)
        expected += gpc_gp_score(&s.data, i, j);
      CHECK_REL(count, s.data.k, 1e-12);
      CHECK_NEAR(sum, expected, 1e-11 * (double)s.data.k);
    }
    CHECK(gpc_sparse_make(&s.data, &line, 3.0, &cmemory) == NULL);
    cmemory_end();
    drop_set(s);
  }
}

/* A trimmed line keeps the stencils of its scores, and its nodes. */
static void test_trim(void) {
  gpc_line line, coarse;
  gpc_line_make(-2.0, 3.0, -2.0, 3.0, 0.5, 0.1, 200, &coarse);
  line = gpc_line_refine(&coarse, 8);
  gpc_line cut = gpc_line_trim(&line, -2.0, 3.0);
  CHECK(cut.skip > 40 && cut.g < line.g - 80);
  CHECK_NEAR(gpc_line_node(&cut, 3), gpc_line_node(&line, cut.skip + 3), 1e-13);
  for (double z = -2.0; z <= 3.0; z += 0.01) {
    double tau, wts[GPC_STENCIL], sum = 0.0;
    int first;
    gpc_line_coordinates(&cut, 1, &z, &tau);
    gpc_line_weights(1, &tau, 1, &first, wts);
    CHECK(first >= GPC_PAD && (size_t)first + GPC_STENCIL + GPC_PAD <= cut.g);
    for (int q = 0; q < GPC_STENCIL; q++)
      sum += wts[q] * gpc_line_node(&cut, (size_t)(first + q));
    CHECK_NEAR(sum, z, 1e-12);
  }
}

/* The other routes ------------------------------------------------------------------- */

typedef struct {
  double *a, *rho, *psi, *c, *au;
} tables_room;

static double *got(size_t n) { return gpc_get_doubles(&cmemory, n); }

static tables_room make_tables(const gpc_nodes *nodes, const place *p) {
  const size_t g = nodes->g;
  tables_room t = {got(g * M), got(g), got(g), got(g), got(g * M)};
  double *sa = got(g * M), chol[M * M];
  gpc_basis_eval(&p->basis, g, nodes->z, t.a, t.rho);
  gpc_gemm(0, 0, g, 1, M, 1.0, t.a, p->q_mean, 0.0, t.psi);
  gpc_prior_add_smooth(&p->point.prior, g, nodes->z, t.psi);
  gpc_gemm(0, 0, g, M, M, 1.0, t.a, p->q_cov, 0.0, sa);
  for (size_t j = 0; j < g; j++) {
    t.c[j] = t.rho[j];
    for (size_t i = 0; i < M; i++)
      t.c[j] += t.a[j + g * i] * sa[j + g * i];
  }
  memcpy(chol, p->q_cov, sizeof chol);
  CHECK(gpc_chol(M, 0.0, chol) == GPC_OK);
  gpc_gemm(1, 1, M, g, M, 1.0, chol, t.a, 0.0, t.au);
  return t;
}

static void range_of(const gpc_gp_data *data, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t j = 0; j < data->k; j++)
    for (size_t i = 0; i < data->n; i++) {
      *low = fmin(*low, gpc_gp_score(data, i, j));
      *high = fmax(*high, gpc_gp_score(data, i, j));
    }
}

/* some: nodes that no score reaches are left out. */
static void on_line(const gpc_gp_data *data, const place *p, int sparse, int some,
                    double *out) {
  double low, high;
  gpc_line line;
  gpc_nodes nodes;
  range_of(data, &low, &high);
  CHECK(gpc_line_make(low, high, p->w[0], p->w[M - 1], p->basis.hyper.l / 14.0, 0.04,
                      2000, &line));
  const gpc_line trimmed = gpc_line_trim(&line, low, high);
  gpc_nodes_make(data, &p->point.prior, some ? &line : &trimmed, 0, some, &cmemory,
                 &nodes);
  const size_t g = nodes.g;
  const int full = p->point.cov == GPC_COV_FULL;
  tables_room t = make_tables(&nodes, p);
  gpc_gp_tables tables = {.g = g,
                          .m = M,
                          .psi = t.psi,
                          .c = t.c,
                          .r = full ? t.rho : t.c,
                          .au = full ? t.au : NULL};
  gpc_gp_stats stats;
  gpc_gp_stats_carve(g, got(gpc_gp_stats_size(g)), &stats);
  gpc_sparse_rows *rows = NULL;
  if (sparse) {
    nodes.fine_cells = gpc_nodes_cells(&nodes, t.psi) + 1;
    gpc_line fine = gpc_line_refine(&line, nodes.fine_cells);
    fine = some ? fine : gpc_line_trim(&fine, low, high);
    rows = gpc_sparse_make(data, &fine, INFINITY, &cmemory);
  }
  gpc_gp_pass(data, &p->point.prior, &nodes, rows, &tables,
              got(gpc_gp_pass_work(data, rows, g)), &stats);
  if (!sparse) { /* stencils that are kept are the same */
    double *again = got(gpc_gp_stats_size(g));
    gpc_gp_stats kept;
    gpc_gp_stats_carve(g, again, &kept);
    gpc_nodes_keep_stencils(data, &cmemory, NULL, &nodes);
    gpc_gp_pass(data, &p->point.prior, &nodes, NULL, &tables,
                got(gpc_gp_pass_work(data, NULL, g)), &kept);
    CHECK(kept.loss == stats.loss && kept.extra == stats.extra);
    CHECK(memcmp(kept.p, stats.p, (3 * g + g * g) * sizeof(double)) == 0);
  }
  grad_room r;
  CHECK(gpc_gp_from_stats(&p->basis, &p->point, &nodes, t.a, &tables, &stats,
                          got(gpc_gp_from_stats_work(g, M)), room(&r)) == GPC_OK);
  flatten(&r.grad, out);
  cmemory_end();
}

/* The bound to 1e-9, every block of the gradient to 1e-7 of its largest entry: in the
 * derivative with respect to the noise, which passes through the inverse of K_uu, much
 * cancels. */
static void check_same(const double *a, const double *b) {
  const size_t blocks[] = {1, M, M * M, M, 1, 1, 1, 1};
  for (size_t q = 0; q < 8; q++) {
    double largest = 0.0, apart = 0.0;
    for (size_t i = 0; i < blocks[q]; i++) {
      largest = fmax(largest, fabs(b[i]));
      apart = fmax(apart, fabs(a[i] - b[i]));
    }
    CHECK_NEAR(apart, 0.0, (q == 0 ? 1e-9 : 1e-7) * fmax(largest, 1e-3));
    a += blocks[q];
    b += blocks[q];
  }
}

static void test_routes(void) {
  const size_t shapes[][2] = {{1, 2}, {5, 2}, {37, 3}, {20, 30}, {4, 300}, {150, 4}};
  for (size_t c = 0; c < 6; c++)
    for (int mean = 0; mean < 2; mean++)
      for (int cov = 0; cov < 2; cov++) {
        int weighted = shapes[c][0] > 1 && (mean + cov) % 2;
        set s = make_set(shapes[c][0], shapes[c][1], (gpc_mean)mean, weighted,
                         mean == GPC_MEAN_LINEAR && cov == 0);
        place p;
        make_place((gpc_mean)mean, (gpc_cov)cov, &p);
        double by_definition[PARTS], grid[PARTS], rows[PARTS];
        direct(&s.data, &p, by_definition);
        for (int some = 0; some < 2; some++) {
          on_line(&s.data, &p, 0, some, grid);
          on_line(&s.data, &p, 1, some, rows);
          check_same(grid, by_definition);
          check_same(rows, by_definition);
        }
        drop_set(s);
      }
}

/* The direct route's gradient. */
static void test_direct_gradient(void) {
  for (int mean = 0; mean < 2; mean++)
    for (int cov = 0; cov < 2; cov++) {
      set s = make_set(12, 4, (gpc_mean)mean, 1, 0);
      place p;
      make_place((gpc_mean)mean, (gpc_cov)cov, &p);
      double at[PARTS], up[PARTS], down[PARTS];
      direct(&s.data, &p, at);
      double *by[] = {p.q_mean + 2,       p.w + 3,
                      &p.basis.hyper.s2,  &p.basis.hyper.l,
                      &p.basis.hyper.sn2, &p.point.prior.slope};
      const size_t which[] = {1 + 2,     1 + M + M * M + 3, PARTS - 4,
                              PARTS - 3, PARTS - 2,         PARTS - 1};
      for (size_t q = 0; q < 6; q++) {
        double here = *by[q], h = 1e-4 * fmax(fabs(here), 1e-3);
        *by[q] = here + h;
        CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
        direct(&s.data, &p, up);
        *by[q] = here - h;
        CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
        direct(&s.data, &p, down);
        *by[q] = here;
        CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
        CHECK_NEAR(at[which[q]], (up[0] - down[0]) / (2.0 * h),
                   1e-5 * fmax(1.0, fabs(at[which[q]])));
      }
      const double h = 1e-5; /* S_12 and S_21 together */
      p.q_cov[1] += h;
      p.q_cov[M] += h;
      direct(&s.data, &p, up);
      p.q_cov[1] -= 2.0 * h;
      p.q_cov[M] -= 2.0 * h;
      direct(&s.data, &p, down);
      CHECK_NEAR(at[1 + M + 1] + at[1 + M + M], (up[0] - down[0]) / (2.0 * h), 1e-5);
      drop_set(s);
    }
}

/* The same numbers to the last bit, however many threads. */
static void test_threads(void) {
  set s = make_set(600, 26, GPC_MEAN_LINEAR, 1, 1);
  place p;
  make_place(GPC_MEAN_LINEAR, GPC_COV_FULL, &p);
  for (int compressed = 0; compressed < 2; compressed++) {
    double one[PARTS], more[PARTS];
    on_line(&s.data, &p, compressed, 0, one);
    for (int threads = 2; threads <= 3; threads++) {
      s.data.threads = threads;
      on_line(&s.data, &p, compressed, 0, more);
      CHECK(memcmp(one, more, sizeof one) == 0);
    }
    s.data.threads = 1;
  }
  drop_set(s);
}

/* A weight of zero is no row, a weight of two is two rows. */
static void test_weights(void) {
  set s = make_set(10, 3, GPC_MEAN_LINEAR, 1, 0);
  place p;
  make_place(GPC_MEAN_LINEAR, GPC_COV_FULL, &p);
  double weighted[PARTS], repeated[PARTS], z[3 * 3];
  int label[3];
  for (size_t i = 0; i < 10; i++)
    s.w[i] = i == 3 ? 1.0 : i == 7 ? 2.0 : 0.0;
  for (size_t r = 0; r < 3; r++) {
    size_t from = r == 0 ? 3 : 7;
    label[r] = s.label[from];
    for (size_t j = 0; j < 3; j++)
      z[r + 3 * j] = s.z[from + 10 * j];
  }
  gpc_gp_data three = {3, 3, z, NULL, s.data.floor, label, NULL, 1};
  for (int compressed = 0; compressed < 2; compressed++) {
    on_line(&s.data, &p, compressed, 0, weighted);
    on_line(&three, &p, compressed, 0, repeated);
    check_same(weighted, repeated);
  }
  drop_set(s);
}

/* The prior -------------------------------------------------------------------------- */

/* KL of a Gaussian from N(m0, P0^-1): zero at the prior, and its gradient. */
static void test_prior(void) {
  double b[M * M], p0[M * M], m0[M], inv[M * M], chol[M * M], work[2 * M * M + M];
  double g_mean[M] = {0}, g_cov[M * M] = {0}, kl, up, down, none[M * M + M];
  for (size_t i = 0; i < M * M; i++)
    b[i] = 0.4 * normal();
  gpc_gemm(0, 1, M, M, M, 1.0, b, b, 0.0, p0);
  for (size_t i = 0; i < M; i++) {
    p0[i + M * i] += 0.7;
    m0[i] = normal();
  }
  memcpy(chol, p0, sizeof p0);
  CHECK(gpc_chol(M, 0.0, chol) == GPC_OK);
  gpc_chol_inverse(M, chol, inv);
  const gpc_prior prior = {
      .m0 = m0, .p0 = p0, .p0_logdet = gpc_chol_logdet(M, chol), .slope = 1.0};
  CHECK(gpc_prior_kl(&prior, M, m0, inv, 1.0, work, &kl, g_mean, g_cov) == GPC_OK);
  CHECK_NEAR(kl, 0.0, 1e-12);
  for (size_t i = 0; i < M * M; i++)
    CHECK_NEAR(g_cov[i], 0.0, 1e-12);
  double x[M], s[M * M];
  for (size_t i = 0; i < M; i++)
    x[i] = normal();
  memcpy(s, inv, sizeof s);
  for (size_t i = 0; i < M; i++)
    s[i + M * i] += 0.3;
  memset(g_mean, 0, sizeof g_mean);
  memset(g_cov, 0, sizeof g_cov);
  CHECK(gpc_prior_kl(&prior, M, x, s, 1.0, work, &kl, g_mean, g_cov) == GPC_OK);
  CHECK(kl > 0.0);
  const double h = 1e-5;
  for (size_t i = 0; i < M; i++) {
    double here = x[i];
    x[i] = here + h;
    gpc_prior_kl(&prior, M, x, s, 0.0, work, &up, none, none + M);
    x[i] = here - h;
    gpc_prior_kl(&prior, M, x, s, 0.0, work, &down, none, none + M);
    x[i] = here;
    CHECK_NEAR(g_mean[i], (up - down) / (2.0 * h), 1e-7);
  }
  s[1] += h, s[M] += h;
  gpc_prior_kl(&prior, M, x, s, 0.0, work, &up, none, none + M);
  s[1] -= 2.0 * h, s[M] -= 2.0 * h;
  gpc_prior_kl(&prior, M, x, s, 0.0, work, &down, none, none + M);
  CHECK_NEAR(2.0 * g_cov[1], (up - down) / (2.0 * h), 1e-6);
  /* N(0, I) given or implied is the same */
  double identity[M * M] = {0}, zero[M] = {0}, other;
  for (size_t i = 0; i < M; i++)
    identity[i + M * i] = 1.0;
  const gpc_prior given = {.m0 = zero, .p0 = identity}, implied = {.slope = 1.0};
  gpc_prior_kl(&given, M, x, s, 0.0, work, &kl, none, none + M);
  gpc_prior_kl(&implied, M, x, s, 0.0, work, &other, none, none + M);
  CHECK_REL(kl, other, 1e-14);
}

/* The surrogate ---------------------------------------------------------------------- */

/* A visit to data, with the surrogate it defines. */
typedef struct {
  gpc_ruler ruler;
  gpc_visitor visitor;
  gpc_visit visit;
} visited;

static void make_visit(const gpc_gp_data *data, const gpc_prior *prior, gpc_cov cov,
                       double l, visited *v) {
  double low, high;
  range_of(data, &low, &high);
  const gpc_gp_range range = {
      .lowest = low, .highest = high, .bulk_low = low, .bulk_high = high};
  memset(v, 0, sizeof *v);
  v->visitor = (gpc_visitor){.data = data,
                             .memory = &cmemory,
                             .prior = *prior,
                             .cov = cov,
                             .ruler = &v->ruler,
                             .slope_free = 1,
                             .slope_low = 1e-3,
                             .slope_high = 100.0};
  CHECK(gpc_ruler_lay(data, &v->visitor.prior, &range, 0, &cmemory, &v->ruler));
  v->visit.at = gpc_params_get(&cmemory, M);
  v->visit.at.hyper = (gpc_hyper){.s2 = 0.7, .l = l, .sn2 = 1e-6};
  v->visit.at.slope = 0.6;
  for (size_t i = 0; i < M; i++) {
    v->visit.at.inducing[i] = low + (high - low) * (double)i / (M - 1.0);
    v->visit.at.q_mean[i] = 0.2 * normal();
    v->visit.at.q_cov[i + M * i] = 0.5;
  }
  v->visit.nodes = gpc_ruler_nodes(&v->ruler, l / 8.0);
  CHECK(gpc_visit_make(&v->visitor, 0, &v->visit) == GPC_OK);
}

/* J's gradient against differences, in log s2, log l and every inducing input; with
 * damping, secants and a prior that is not N(0, I). */
static void test_surrogate_gradient(void) {
  double m0[M], p0[M * M] = {0};
  for (size_t i = 0; i < M; i++) {
    m0[i] = 0.3 * normal();
    p0[i + M * i] = 1.0 + uniform();
    if (i > 0)
      p0[i + M * (i - 1)] = p0[i - 1 + M * i] = 0.2;
  }
  for (int cov = 0; cov < 2; cov++)
    for (int hard = 0; hard < 2; hard++) {
      set s = make_set(120, 4, GPC_MEAN_LINEAR, 1, 1);
      gpc_prior prior = {.mean = GPC_MEAN_LINEAR};
      if (hard) {
        prior.m0 = m0;
        prior.p0 = p0;
      }
      visited v;
      make_visit(&s.data, &prior, (gpc_cov)cov, 3.0, &v);
      gpc_surrogate sur = gpc_visit_surrogate(&v.visitor, &v.visit);
      const size_t g = sur.g;
      double *term = got(2 * g), scale[2] = {3.0, -0.01};
      for (size_t i = 0; i < 2 * g; i++)
        term[i] = normal();
      if (hard) {
        sur.damping = 0.1;
        sur.terms = 2;
        sur.term = term;
        sur.scale = scale;
      }
      gpc_params at = gpc_params_get(&cmemory, M);
      double *work = got(gpc_surrogate_work(g, M)), gx[M + 2], none[M + 2], value, up,
             down;
      gpc_params_copy(&v.visit.at, &at);
      CHECK(gpc_surrogate_value(&sur, work, &at, &value, gx) == GPC_OK);
      const double h = 1e-5;
      for (size_t i = 0; i < M + 2; i++) {
        double *x = i == 0 ? &at.hyper.s2 : i == 1 ? &at.hyper.l : at.inducing + i - 2;
        const double here = *x, step = i < 2 ? h * here : h;
        *x = here + step;
        CHECK(gpc_surrogate_value(&sur, work, &at, &up, none) == GPC_OK);
        *x = here - step;
        CHECK(gpc_surrogate_value(&sur, work, &at, &down, none) == GPC_OK);
        *x = here;
        CHECK_NEAR(gx[i], (up - down) / (2.0 * h), 2e-5 * fmax(1.0, fabs(gx[i])));
      }
      cmemory_end();
      drop_set(s);
    }
}

/* A surrogate on fewer points: J as on all nodes, and a gradient that is its own. */
static void test_reduced_surrogate(void) {
  for (int cov = 0; cov < 2; cov++)
    for (int hard = 0; hard < 2; hard++) {
      set s = make_set(120, 4, GPC_MEAN_LINEAR, 1, 1);
      const gpc_prior prior = {.mean = GPC_MEAN_LINEAR};
      visited v;
      make_visit(&s.data, &prior, (gpc_cov)cov, 3.0, &v);
      gpc_surrogate sur = gpc_visit_surrogate(&v.visitor, &v.visit);
      double *term = got(2 * sur.g), scale[2] = {3.0, -0.01};
      for (size_t i = 0; i < sur.g; i++) { /* a term is a change of b */
        term[i] = v.visit.b[i] / 30.0;
        term[i + sur.g] = v.visit.stats.spread[i] / 30.0;
      }
      if (hard) {
        sur.terms = 2;
        sur.term = term;
        sur.scale = scale;
      }
      gpc_reduce_room room = {0};
      const gpc_surrogate few = gpc_reduce(&sur, 2.9, GPC_REDUCE_EXACT, &cmemory, &room);
      CHECK(few.g < 0.75 * (double)sur.g);
      gpc_params at = gpc_params_get(&cmemory, M);
      double *work = got(gpc_surrogate_work(sur.g, M)), gx[M + 2], full_g[M + 2],
             none[M + 2], value, full_value, up, down;
      gpc_params_copy(&v.visit.at, &at);
      for (double l = 3.0; l < 7.0; l *= 1.5) {
        at.hyper.l = l;
        CHECK(gpc_surrogate_value(&sur, work, &at, &full_value, full_g) == GPC_OK);
        CHECK(gpc_surrogate_value(&few, work, &at, &value, gx) == GPC_OK);
        CHECK_NEAR(value, full_value, 1e-6 * fmax(1.0, fabs(full_value)));
        const double h = 1e-5;
        for (size_t i = 0; i < M + 2; i++) {
          double *x = i == 0 ? &at.hyper.s2 : i == 1 ? &at.hyper.l : at.inducing + i - 2;
          const double here = *x, step = i < 2 ? h * here : h;
          *x = here + step;
          CHECK(gpc_surrogate_value(&few, work, &at, &up, none) == GPC_OK);
          *x = here - step;
          CHECK(gpc_surrogate_value(&few, work, &at, &down, none) == GPC_OK);
          *x = here;
          CHECK_NEAR(gx[i], (up - down) / (2.0 * h), 2e-5 * fmax(1.0, fabs(gx[i])));
          CHECK_NEAR(gx[i], full_g[i], 1e-5 * fmax(1.0, fabs(gx[i])));
        }
      }
      /* roughly: fewer points still, and a value to choose by */
      gpc_reduce_room rough_room = {0};
      const gpc_surrogate rough =
          gpc_reduce(&sur, 2.9, GPC_REDUCE_ROUGH, &cmemory, &rough_room);
      CHECK(rough.g < few.g);
      CHECK(gpc_surrogate_value(&rough, work, &at, &value, gx) == GPC_OK);
      CHECK(gpc_surrogate_value(&sur, work, &at, &full_value, full_g) == GPC_OK);
      CHECK_NEAR(value, full_value, 2e-3);
      /* far too short a lengthscale: as it was */
      CHECK(gpc_reduce(&sur, 0.01, GPC_REDUCE_EXACT, &cmemory, &room).g == sur.g);
      cmemory_end();
      drop_set(s);
    }
}

/* At the point of the visit J changes as the bound does: the gradient of the surrogate in
 * m, by the definition of the bound. */
static void test_surrogate_meets_bound(void) {
  set s = make_set(150, 3, GPC_MEAN_LINEAR, 1, 1);
  const gpc_prior prior = {.mean = GPC_MEAN_LINEAR};
  visited v;
  make_visit(&s.data, &prior, GPC_COV_FULL, 4.0, &v);
  const double first = v.visit.elbo;
  gpc_visit_make(&v.visitor, 0, &v.visit); /* now with S at its fixed point */
  CHECK_REL(v.visit.elbo, first, 1e-12);
  place p;
  memset(&p, 0, sizeof p);
  memcpy(p.w, v.visit.at.inducing, sizeof p.w);
  memcpy(p.q_mean, v.visit.at.q_mean, sizeof p.q_mean);
  memcpy(p.q_cov, v.visit.at.q_cov, sizeof p.q_cov);
  p.basis =
      (gpc_basis){.m = M, .inducing = p.w, .hyper = v.visit.at.hyper, .chol = p.chol};
  p.point = (gpc_gp_point){.prior = gpc_params_prior(&v.visit.at, &prior),
                           .cov = GPC_COV_FULL,
                           .q_mean = p.q_mean,
                           .q_cov = p.q_cov};
  CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
  double out[PARTS];
  direct(&s.data, &p, out);
  CHECK_REL(out[0], v.visit.elbo, 1e-9);
  double *a = got(v.visit.nodes->g * M), *rho = got(v.visit.nodes->g);
  gpc_basis_eval(&p.basis, v.visit.nodes->g, v.visit.nodes->z, a, rho);
  for (size_t i = 0; i < M; i++)
    CHECK_NEAR(gpc_dot(v.visit.nodes->g, a + i * v.visit.nodes->g, v.visit.b) -
                   p.q_mean[i],
               out[1 + i], 1e-6);
  cmemory_end();
  drop_set(s);
}

/* More inducing inputs: the same map and the same uncertainty. */
static void test_move(void) {
  gpc_params from = gpc_params_get(&cmemory, M), to = gpc_params_get(&cmemory, 2 * M);
  from.hyper = (gpc_hyper){.s2 = 1.3, .l = 2.0, .sn2 = 1e-8};
  for (size_t i = 0; i < 2 * M; i++)
    to.inducing[i] = 8.0 * (double)i / (2.0 * M - 1.0);
  for (size_t i = 0; i < M; i++) {
    from.inducing[i] = 8.0 * (double)i / (M - 1.0);
    from.q_mean[i] = normal();
    from.q_cov[i + M * i] = 0.1 + uniform();
  }
  CHECK(gpc_params_move(&from, got(gpc_params_move_work(M, 2 * M)), &to) == GPC_OK);
  double z[5] = {0.3, 2.2, 4.0, 6.6, 7.9}, mean[2][5], var[2][5];
  for (int which = 0; which < 2; which++) {
    const gpc_params *at = which ? &to : &from;
    const size_t m = at->m;
    gpc_basis basis = {
        .m = m, .inducing = at->inducing, .hyper = at->hyper, .chol = got(m * m)};
    double *a = got(5 * m), rho[5];
    CHECK(gpc_basis_factor(&basis) == GPC_OK);
    gpc_basis_eval(&basis, 5, z, a, rho);
    for (size_t i = 0; i < 5; i++) {
      mean[which][i] = 0.0;
      var[which][i] = rho[i];
      for (size_t j = 0; j < m; j++) {
        mean[which][i] += a[i + 5 * j] * at->q_mean[j];
        for (size_t q = 0; q < m; q++)
          var[which][i] += a[i + 5 * j] * at->q_cov[j + m * q] * a[i + 5 * q];
      }
    }
  }
  for (size_t i = 0; i < 5; i++) {
    CHECK_NEAR(mean[1][i], mean[0][i], 2e-3);
    CHECK_NEAR(var[1][i], var[0][i], 2e-3);
  }
  cmemory_end();
}

/* The fit ---------------------------------------------------------------------------- */

typedef struct {
  gpc_progress progress;
  double last;
  int calls, fell;
} watch;

static void look(void *data) {
  watch *w = data;
  w->calls++;
  if (w->progress.passes == 1)
    w->last = -INFINITY; /* another number of inducing inputs, or another floor */
  w->fell += w->progress.at && w->progress.elbo < w->last - 1e-9 * fabs(w->last);
  w->last = w->progress.at ? w->progress.elbo : -INFINITY;
}

static gpc_fit_settings usual(const double *floor, const int *arg) {
  return (gpc_fit_settings){.floors = 1,
                            .floor = floor,
                            .centre = 1,
                            .variance = NAN,
                            .lengthscale = NAN,
                            .slope = NAN,
                            .noise = 1e-6,
                            .arg = arg,
                            .tol = 1e-7,
                            .max_passes = 100,
                            .bins = 10,
                            .m = M};
}

/* What the fit claims, by the definition: its bound, S at its fixed point, and a gradient
 * that promises nothing more. */
static void check_optimum(const gpc_gp_data *data, gpc_cov cov, const gpc_fit_result *f) {
  place p;
  double out[PARTS];
  memcpy(p.w, f->at.inducing, sizeof p.w);
  memcpy(p.q_mean, f->at.q_mean, sizeof p.q_mean);
  memcpy(p.q_cov, f->at.q_cov, sizeof p.q_cov);
  p.basis = (gpc_basis){.m = M, .inducing = p.w, .hyper = f->at.hyper, .chol = p.chol};
  p.point = (gpc_gp_point){
      .prior = {.slope = f->at.slope}, .cov = cov, .q_mean = p.q_mean, .q_cov = p.q_cov};
  CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
  direct(data, &p, out);
  CHECK_REL(out[0], f->elbo, 1e-8);
  double promise = 0.0;
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < M; j++)
      promise += 0.5 * out[1 + i] * p.q_cov[i + M * j] * out[1 + j];
  CHECK_NEAR(promise, 0.0, 1e-4);
  for (size_t i = 0; i < M * M; i++)
    CHECK_NEAR(out[1 + M + i], 0.0, 1e-6 * (double)data->n);
  CHECK_NEAR(out[PARTS - 4] * f->at.hyper.s2, 0.0, 0.02);
  CHECK_NEAR(out[PARTS - 3] * f->at.hyper.l, 0.0, 0.02);
}

static int *highest(const gpc_gp_data *data) {
  int *arg = gpc_get_ints(&cmemory, data->n);
  for (size_t i = 0; i < data->n; i++) {
    arg[i] = 1;
    for (size_t j = 1; j < data->k; j++)
      if (gpc_gp_score(data, i, j) > gpc_gp_score(data, i, (size_t)arg[i] - 1))
        arg[i] = (int)j + 1;
  }
  return arg;
}

static void test_fit(void) {
  const double floor = -INFINITY;
  for (int sparse = 0; sparse < 2; sparse++)
    for (int cov = 0; cov < 2; cov++) {
      set s = make_set(sparse ? 150 : 300, sparse ? 30 : 4, GPC_MEAN_LINEAR, 1, 1);
      s.data.floor = floor;
      s.data.shift = NULL;
      for (size_t i = 0; i < s.data.n * s.data.k; i++) /* a map that is no line */
        s.z[i] = s.z[i] > 0.0 ? 2.5 * s.z[i] : s.z[i];
      gpc_fit_settings how = usual(&floor, highest(&s.data));
      how.cov = (gpc_cov)cov;
      gpc_fit_result one, two;
      watch seen = {.last = -INFINITY};
      CHECK(gpc_gp_fit(&s.data, &how, &cmemory, look, &seen, &seen.progress, &one) ==
            GPC_OK);
      CHECK(seen.calls >= 2 && seen.fell == 0);
      CHECK(one.passes <= 40 && one.promise < 1e-7);
      CHECK(one.sparse == sparse && one.slope_var > 0.0);
      gpc_gp_data centred = s.data;
      double *low = got(s.data.n), *high = got(s.data.n), sum = 0.0;
      gpc_gp_row_range(&s.data, s.shift, low, high);
      centred.shift = s.shift;
      for (size_t j = 0; j < s.data.k; j++)
        sum += gpc_gp_score(&centred, 0, j);
      CHECK_NEAR(sum, 0.0, 1e-12);
      check_optimum(&centred, (gpc_cov)cov, &one);
      s.data.threads = 2;
      CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &two) == GPC_OK);
      CHECK(one.elbo == two.elbo && one.passes == two.passes);
      CHECK(memcmp(one.at.q_cov, two.at.q_cov, M * M * sizeof(double)) == 0);
      cmemory_end();
      drop_set(s);
    }
}

/* Floors: the one with the highest bound, as if it had been the only one. */
static void test_floors(void) {
  const double floors[] = {-8.0, -1.0, -3.0};
  set s = make_set(200, 5, GPC_MEAN_LINEAR, 0, 0);
  gpc_fit_settings how = usual(floors, highest(&s.data));
  gpc_fit_result all, single;
  double best = -INFINITY;
  how.floors = 3;
  CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &all) == GPC_OK);
  how.floors = 1;
  size_t which = 0;
  for (size_t i = 0; i < 3; i++) {
    how.floor = floors + i;
    CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &single) == GPC_OK);
    if (single.elbo > best) {
      best = single.elbo;
      which = i;
    }
  }
  CHECK(all.floor == which);
  CHECK_NEAR(all.elbo, best, 1e-4);
  CHECK(all.passes_floor > 0);
  for (size_t i = 0; i < 3; i++) { /* a strong prior decides */
    double prior[] = {0.0, 0.0, 0.0};
    prior[i] = 1000.0;
    how.floors = 3;
    how.floor = floors;
    how.floor_prior = prior;
    CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &all) == GPC_OK);
    CHECK(all.floor == i);
  }
  cmemory_end();
  drop_set(s);
}

/* Scores that cannot be fitted say why. */
static void test_refusals(void) {
  const double floor = -INFINITY;
  set s = make_set(20, 3, GPC_MEAN_LINEAR, 0, 0);
  gpc_fit_settings how = usual(&floor, highest(&s.data));
  gpc_fit_result r;
  double *z = got(60);
  gpc_gp_data data = s.data;
  data.z = z;
  memcpy(z, s.z, 60 * sizeof(double));
  z[7] = 1e150;
  CHECK(gpc_gp_fit(&data, &how, &cmemory, NULL, NULL, NULL, &r) == GPC_TOO_FAR);
  for (size_t i = 0; i < 60; i++)
    z[i] = 1.0 + 1e-12 * s.z[i];
  how.centre = 0;
  CHECK(gpc_gp_fit(&data, &how, &cmemory, NULL, NULL, NULL, &r) == GPC_TOO_CLOSE);
  for (size_t i = 0; i < 60; i++)
    z[i] = 2.0;
  how.centre = 1;
  CHECK(gpc_gp_fit(&data, &how, &cmemory, NULL, NULL, NULL, &r) == GPC_OK);
  CHECK(r.flat && r.at.slope == 1.0 && r.slope_var == 0.0);
  how.lengthscale = 1e-4;
  CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &r) == GPC_TOO_SHORT);
  /* far more inducing inputs than nodes, and a lengthscale beyond the range */
  how.m = 100;
  how.lengthscale = 1e4;
  CHECK(gpc_gp_fit(&s.data, &how, &cmemory, NULL, NULL, NULL, &r) == GPC_OK);
  CHECK(r.at.m == 100 && isfinite(r.elbo));
  cmemory_end();
  drop_set(s);
}

/* Outlying rows stay out of the bulk, ordinary ones do not. */
static void test_range(void) {
  double low[200], high[200];
  gpc_gp_range range;
  for (size_t i = 0; i < 200; i++) {
    low[i] = -3.0 - uniform();
    high[i] = 5.0 + uniform();
  }
  low[17] = -1e4;
  gpc_gp_find_range(200, low, high, &range);
  CHECK(range.lowest == -1e4 && range.bulk_low > -4.001 && range.bulk_low < -3.9);
  CHECK(range.highest == range.bulk_high && range.highest <= 6.0);
}

int main(void) {
  test_sparse();
  test_trim();
  test_prior();
  test_surrogate_gradient();
  test_reduced_surrogate();
  test_surrogate_meets_bound();
  test_move();
  test_direct_gradient();
  test_routes();
  test_threads();
  test_weights();
  test_fit();
  test_floors();
  test_refusals();
  test_range();
  return CTEST_END();
}
