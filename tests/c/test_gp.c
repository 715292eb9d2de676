/* The bound of the Gaussian process by its three routes, and a fit from end to end. The
 * direct route is the oracle of the others; it is itself checked against central
 * differences. */
#include "ctest.h"
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
  gpc_basis basis = {M, p->w, {0.8, 1.4 * (high - low) / (M - 1), 1e-3}, 0.0, p->chol};
  gpc_gp_point point = {mean, cov, 0.8, p->q_mean, p->q_cov};
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
  memcpy(out + M + M * M, grad->basis.w, M * sizeof(double));
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
  r->grad.basis.w = r->w;
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

/* Compressed rows -------------------------------------------------------------------- */

static gpc_rows *compress(const gpc_gp_data *data, const gpc_line *line, size_t times) {
  gpc_rows *rows = calloc(1, sizeof *rows);
  gpc_line fine = gpc_line_refine(line, times);
  double *work = doubles(gpc_rows_work(data->k, fine.g, data->threads));
  size_t values, pairs;
  rows->value_at = calloc(data->n, sizeof(size_t));
  rows->stretch_at = calloc(data->n, sizeof(size_t));
  gpc_rows_layout(data, line, times, work, rows, &values, &pairs);
  rows->value = doubles(values);
  rows->stretch = calloc(2 * pairs, sizeof(int));
  rows->stretches = calloc(data->n, sizeof(int));
  rows->spread = doubles(times * GPC_STENCIL);
  gpc_rows_fill(data, work, rows);
  free(work);
  return rows;
}

static void drop_rows(gpc_rows *rows) {
  if (!rows)
    return;
  free(rows->value_at);
  free(rows->stretch_at);
  free(rows->value);
  free(rows->stretch);
  free(rows->stretches);
  free(rows->spread);
  free(rows);
}

/* The sum of a row is the number of its classes, that of F = z the sum of its scores. */
static void test_compression(void) {
  const size_t shapes[][2] = {{9, 2}, {3, 40}, {17, 400}};
  for (size_t c = 0; c < 3; c++) {
    set s = make_set(shapes[c][0], shapes[c][1], GPC_MEAN_LINEAR, 0, 1);
    gpc_line line;
    gpc_line_make(-12.0, 12.0, -12.0, 12.0, 0.5, 0.1, 200, &line);
    gpc_rows *rows = compress(&s.data, &line, 2);
    for (size_t i = 0; i < s.data.n; i++) {
      double count = 0.0, sum = 0.0, expected = 0.0;
      const double *value = rows->value + rows->value_at[i];
      const int *stretch = rows->stretch + 2 * rows->stretch_at[i];
      for (int q = 0; q < rows->stretches[i]; q++)
        for (int j = 0; j < stretch[2 * q + 1]; j++, value++) {
          count += *value;
          sum += *value * gpc_line_node(&rows->fine, (size_t)(stretch[2 * q] + j));
        }
      for (size_t j = 0; j < s.data.k; j++)
        expected += gpc_gp_score(&s.data, i, j);
      CHECK_REL(count, s.data.k, 1e-12);
      CHECK_NEAR(sum, expected, 1e-11 * (double)s.data.k);
    }
    drop_rows(rows);
    drop_set(s);
  }
}

/* The other routes ------------------------------------------------------------------- */

typedef struct {
  double *nodes, *a, *rho, *psi, *c, *au;
} tables_room;

static tables_room make_tables(const gpc_line *line, const place *p) {
  const size_t g = line->g;
  tables_room t = {doubles(g), doubles(g * M), doubles(g),
                   doubles(g), doubles(g),     doubles(g * M)};
  double *sa = doubles(g * M), chol[M * M];
  for (size_t j = 0; j < g; j++) {
    t.nodes[j] = gpc_line_node(line, j);
    t.psi[j] = p->point.mean == GPC_MEAN_LINEAR ? p->point.slope * t.nodes[j] : 0.0;
  }
  gpc_basis_eval(&p->basis, g, t.nodes, t.a, t.rho);
  gpc_gemm(0, 0, g, 1, M, 1.0, t.a, p->q_mean, 1.0, t.psi);
  gpc_gemm(0, 0, g, M, M, 1.0, t.a, p->q_cov, 0.0, sa);
  for (size_t j = 0; j < g; j++) {
    t.c[j] = t.rho[j];
    for (size_t i = 0; i < M; i++)
      t.c[j] += t.a[j + g * i] * sa[j + g * i];
  }
  memcpy(chol, p->q_cov, sizeof chol);
  CHECK(gpc_chol(M, 0.0, chol) == GPC_OK);
  gpc_gemm(1, 1, M, g, M, 1.0, chol, t.a, 0.0, t.au);
  free(sa);
  return t;
}

static void drop_tables(tables_room t) {
  free(t.nodes);
  free(t.a);
  free(t.rho);
  free(t.psi);
  free(t.c);
  free(t.au);
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

static void on_line(const gpc_gp_data *data, const place *p, int compressed,
                    double *out) {
  double low, high;
  gpc_line line;
  range_of(data, &low, &high);
  CHECK(gpc_line_make(low, high, p->w[0], p->w[M - 1], p->basis.hyper.l / 14.0, 0.04,
                      2000, &line));
  const size_t g = line.g;
  const int full = p->point.cov == GPC_COV_FULL;
  tables_room t = make_tables(&line, p);
  gpc_gp_tables tables = {g, M, t.psi, t.c, full ? t.rho : t.c, full ? t.au : NULL};
  double *y = doubles(g), *block = doubles(gpc_gp_stats_size(g)), *work;
  double labels = gpc_gp_labels(data, p->point.mean, &line, y);
  gpc_gp_stats stats;
  gpc_gp_stats_carve(g, block, &stats);
  for (size_t j = 0; j < g; j++)
    labels += y[j] * t.psi[j];
  if (compressed) {
    gpc_rows *rows = compress(data, &line, gpc_rows_times(g, t.psi));
    tables_room f = make_tables(&rows->fine, p);
    work = doubles(gpc_gp_pass_rows_work(rows, g));
    gpc_gp_pass_rows(data, p->point.mean, rows, &tables, f.psi, full ? f.rho : f.c,
                     f.nodes, labels, work, &stats);
    drop_tables(f);
    drop_rows(rows);
  } else {
    work = doubles(gpc_gp_pass_grid_work(data->n, data->k, g));
    gpc_gp_pass_grid(data, p->point.mean, &line, &tables, work, &stats);
  }
  grad_room r;
  double *rest = doubles(gpc_gp_from_stats_work(g, M));
  CHECK(gpc_gp_from_stats(&p->basis, &p->point, t.nodes, t.a, &tables, y, &stats, rest,
                          room(&r)) == GPC_OK);
  flatten(&r.grad, out);
  free(rest);
  free(work);
  free(block);
  free(y);
  drop_tables(t);
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
        on_line(&s.data, &p, 0, grid);
        on_line(&s.data, &p, 1, rows);
        check_same(grid, by_definition);
        check_same(rows, by_definition);
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
                      &p.basis.hyper.sn2, &p.point.slope};
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
    on_line(&s.data, &p, compressed, one);
    for (int threads = 2; threads <= 3; threads++) {
      s.data.threads = threads;
      on_line(&s.data, &p, compressed, more);
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
    on_line(&s.data, &p, compressed, weighted);
    on_line(&three, &p, compressed, repeated);
    check_same(weighted, repeated);
  }
  drop_set(s);
}

/* The fit ---------------------------------------------------------------------------- */

typedef struct {
  const gpc_gp_state *state;
  double last;
  int calls, fell;
} watch;

static void look(void *data) {
  watch *w = data;
  w->calls++;
  w->fell += w->state->elbo < w->last - 1e-9 * fabs(w->last);
  w->last = w->state->elbo;
}

typedef struct {
  gpc_status status;
  gpc_gp_state state;
  double w[M], q_mean[M], q_cov[M * M];
  watch seen;
} fitted;

static void fit_set(const gpc_gp_data *data, gpc_cov cov, int compressed, fitted *f) {
  double low, high, start_l[2];
  range_of(data, &low, &high);
  const double width = high - low;
  gpc_gp_setup setup;
  memset(&setup, 0, sizeof setup);
  memset(f, 0, sizeof *f);
  start_l[0] = width / 4.0;
  start_l[1] = width / 8.0;
  setup.cov = cov;
  setup.m = M;
  setup.slope_free = 1;
  setup.slope_low = 1e-3;
  setup.slope_high = 100.0;
  gpc_surrogate_box box = {1,           1,  0,    1.0,  1e-6, 1e4, width / (M - 1.0),
                           4.0 * width, 30, 1e-8, NULL, NULL};
  setup.box = box;
  setup.start_l = start_l;
  setup.starts = 2;
  setup.max_passes = 100;
  setup.tol = 1e-7;
  CHECK(gpc_line_make(low, high, low, high, width / (M - 1.0) / 5.0, 0.1, 1000,
                      &setup.line));
  double *y = doubles(setup.line.g);
  setup.logs = gpc_gp_labels(data, GPC_MEAN_LINEAR, &setup.line, y);
  setup.y = y;
  for (size_t i = 0; i < M; i++)
    f->w[i] = low + width * (double)i / (M - 1.0);
  gpc_gp_state state = {{0.0, 1.0, {1.0, start_l[0], 1e-6}, f->w, f->q_mean, f->q_cov},
                        0.0,
                        0.0,
                        0,
                        0,
                        0,
                        0.0,
                        NULL};
  f->state = state;
  f->seen.state = &f->state;
  f->seen.last = -INFINITY;
  gpc_rows *rows = NULL;
  gpc_gp_finer finer = {4, 0};
  f->status = GPC_TOO_COARSE;
  while (f->status == GPC_TOO_COARSE && finer.times > 0 && finer.times < 100) {
    drop_rows(rows);
    rows = compressed ? compress(data, &setup.line, finer.times) : NULL;
    setup.rows = rows;
    double *work = doubles(gpc_gp_fit_work(data, &setup));
    f->status = gpc_gp_fit(data, &setup, look, &f->seen, work, &f->state, &finer);
    free(work);
  }
  drop_rows(rows);
  free(y);
}

/* What the fit claims, by the definition: its bound, S at its fixed point, and a gradient
 * that promises nothing more. */
static void check_optimum(const gpc_gp_data *data, gpc_cov cov, const fitted *f) {
  const gpc_surrogate_point *at = &f->state.point;
  place p;
  double out[PARTS];
  memcpy(p.w, f->w, sizeof p.w);
  memcpy(p.q_mean, f->q_mean, sizeof p.q_mean);
  memcpy(p.q_cov, f->q_cov, sizeof p.q_cov);
  gpc_basis basis = {M, p.w, at->hyper, 0.0, p.chol};
  gpc_gp_point point = {GPC_MEAN_LINEAR, cov, at->slope, p.q_mean, p.q_cov};
  p.basis = basis;
  p.point = point;
  CHECK(gpc_basis_factor(&p.basis) == GPC_OK);
  direct(data, &p, out);
  CHECK_REL(out[0], f->state.elbo, 1e-8);
  double promise = 0.0;
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < M; j++)
      promise += 0.5 * out[1 + i] * p.q_cov[i + M * j] * out[1 + j];
  CHECK_NEAR(promise, 0.0, 1e-4);
  for (size_t i = 0; i < M * M; i++)
    CHECK_NEAR(out[1 + M + i], 0.0, 1e-6 * (double)data->n);
  CHECK_NEAR(out[PARTS - 4] * at->hyper.s2, 0.0, 0.02);
  CHECK_NEAR(out[PARTS - 3] * at->hyper.l, 0.0, 0.02);
}

static void test_fit(void) {
  for (int compressed = 0; compressed < 2; compressed++)
    for (int cov = 0; cov < 2; cov++) {
      set s =
          make_set(compressed ? 150 : 300, compressed ? 30 : 4, GPC_MEAN_LINEAR, 1, 1);
      const size_t n = s.data.n;
      s.data.floor = -INFINITY;
      for (size_t i = 0; i < n * s.data.k; i++) /* a map that is no line */
        s.z[i] = s.z[i] > 0.0 ? 2.5 * s.z[i] : s.z[i];
      double *low = doubles(n), *high = doubles(n), sum = 0.0;
      gpc_gp_row_range(&s.data, s.shift, low, high);
      for (size_t j = 0; j < s.data.k; j++)
        sum += gpc_gp_score(&s.data, 0, j);
      CHECK_NEAR(sum, 0.0, 1e-12);
      fitted one, two;
      fit_set(&s.data, (gpc_cov)cov, compressed, &one);
      CHECK(one.status == GPC_OK);
      CHECK(one.seen.calls >= 2 && one.seen.fell == 0);
      CHECK(one.state.passes <= 40 && one.state.promise < 1e-7);
      check_optimum(&s.data, (gpc_cov)cov, &one);
      s.data.threads = 2;
      fit_set(&s.data, (gpc_cov)cov, compressed, &two);
      CHECK(one.state.elbo == two.state.elbo && one.state.passes == two.state.passes);
      CHECK(memcmp(one.q_cov, two.q_cov, sizeof one.q_cov) == 0);
      free(low);
      free(high);
      drop_set(s);
    }
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
  test_compression();
  test_direct_gradient();
  test_routes();
  test_threads();
  test_weights();
  test_fit();
  test_range();
  return CTEST_END();
}
