/* Effects of many classes (gp_wide.h): features and linear forms against their definition,
 * gradient and curvature of a pass against differences, the parts of a step, a whole fit,
 * and predictions. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_fit.h"
#include "gp_wide_pack.h"
#include "gp_wide_predict.h"
#include "gp_wide_step.h"

#include <stdlib.h>

#define N 40
#define K 7
#define SIZE (2 * K + K * K)

static unsigned seed = 5;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) {
  const double radius = sqrt(-2.0 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

static void fill(size_t n, double scale, double *x) {
  for (size_t i = 0; i < n; i++)
    x[i] = scale * normal();
}

static double z[N * K], w[N], pi[N * K];
static float phi[N * K];
static int label[N];

static gpc_gp_data make_data(void) {
  fill(N * K, 2.0, z);
  for (size_t i = 0; i < N; i++) {
    w[i] = 1.0 + (double)(i % 3);
    label[i] = 1 + (int)(uniform() * K);
    for (size_t j = 0; j < K; j++)
      phi[j + K * i] = (float)(0.7 * z[i + N * j]);
  }
  return (gpc_gp_data){
      .n = N, .k = K, .z = z, .floor = -INFINITY, .label = label, .w = w, .threads = 1};
}

/* A pass at random effects. */
static gpc_wide_pass make_pass(const gpc_gp_data *data, const gpc_memory *memory) {
  gpc_wide_pass o = {.data = data,
                     .rows = gpc_wide_rows_get(data, 0.6, 1, memory),
                     .n = N,
                     .k = K,
                     .size = SIZE,
                     .has = {1, 1, 1},
                     .phi = phi,
                     .pi = pi,
                     .e = gpc_get_doubles(memory, SIZE),
                     .var = gpc_get_doubles(memory, SIZE),
                     .g = gpc_get_doubles(memory, SIZE),
                     .h = gpc_get_doubles(memory, SIZE),
                     .work = gpc_get_doubles(memory, 3 * K)};
  fill(SIZE, 0.3, o.e);
  for (size_t i = 0; i < SIZE; i++)
    o.var[i] = 0.02 * uniform();
  for (size_t i = 0; i < N * K; i++)
    pi[i] = 1.0 / K;
  return o;
}

static void test_features(const gpc_gp_data *data, const gpc_memory *memory) {
  gpc_wide_row *rows = gpc_wide_rows_get(data, 0.6, 1, memory);
  for (size_t i = 0; i < N; i++) {
    double p[K], sum = 0.0;
    size_t at = 0;
    for (size_t j = 0; j < K; j++)
      sum += p[j] = exp(0.6 * z[i + N * j]);
    for (size_t j = 0; j < K; j++) {
      const double x = p[j] / sum - 0.5 / K;
      CHECK_NEAR(rows[i].q[j], log(p[j] / sum), 1e-5);
      if (x > 0.0 && CHECK(at < rows[i].count && rows[i].class[at] == (int)j))
        CHECK_NEAR(rows[i].x[at++], x, 1e-12);
    }
    CHECK(at == rows[i].count);
  }
  /* far out, and all the same */
  double far[K] = {1e300, -1e300, 0.0, 5.0, -5.0, 1.0, 2.0}, flat[K] = {0.0}, x[K];
  float q[K];
  uint16_t class[K];
  CHECK(gpc_wide_features(K, 1.0, far, q, class, x) == 1 && class[0] == 0);
  CHECK_NEAR(x[0], 1.0 - 0.5 / K, 1e-12);
  CHECK(q[1] == -30.0f);
  CHECK(gpc_wide_features(K, 1.0, flat, q, class, x) == K);
  CHECK_NEAR(x[K - 1], 0.5 / K, 1e-12);
}

static void test_forms(const gpc_gp_data *data, const gpc_memory *memory) {
  gpc_wide_row *rows = gpc_wide_rows_get(data, 0.6, 1, memory);
  double e[SIZE], r[K], f[K], back[SIZE];
  for (int squared = 0; squared < 2; squared++) {
    double forward = 0.0, backward = 0.0;
    memset(back, 0, sizeof back);
    fill(SIZE, 1.0, e);
    fill(K, 1.0, r);
    gpc_wide_forward(K, rows + 3, e, squared, f);
    gpc_wide_backward(K, rows + 3, r, squared, back);
    for (size_t j = 0; j < K; j++) {
      const double q = rows[3].q[j];
      double sum = e[j] + (squared ? q * q : q) * e[K + j];
      for (size_t i = 0; i < rows[3].count; i++)
        sum += pow(rows[3].x[i], squared ? 2.0 : 1.0) *
               e[2 * K + j + K * (size_t)rows[3].class[i]];
      CHECK_NEAR(f[j], sum, 1e-12);
      forward += f[j] * r[j];
    }
    for (size_t i = 0; i < SIZE; i++)
      backward += e[i] * back[i];
    CHECK_NEAR(forward, backward, 1e-11);
  }
}

/* The bound's data term with the tilt at its optimum. */
static double fit_at(gpc_wide_pass *o) {
  for (int i = 0; i < 40; i++)
    gpc_wide_visit(o);
  return o->fit;
}

static void test_pass(const gpc_gp_data *data, const gpc_memory *memory) {
  gpc_wide_pass o = make_pass(data, memory);
  double g[SIZE], h[SIZE], product[SIZE], one[SIZE] = {0}, at[SIZE], sg[SIZE], sh[SIZE];
  const double step = 1e-5;
  fill(SIZE, 0.3, at);
  fill(SIZE, 1.0, sg);
  for (size_t i = 0; i < SIZE; i++)
    sh[i] = uniform();
  const gpc_wide_site site = {.steep = 0.6, .power = 1, .at = at, .g = sg, .h = sh};
  for (int with_site = 0; with_site < 2; with_site++) {
    o.site = with_site ? &site : NULL;
    fit_at(&o);
    memcpy(g, o.g, sizeof g);
    for (size_t i = 0; i < SIZE; i++) {
      const double here = o.e[i];
      o.e[i] = here + step;
      const double up = fit_at(&o);
      o.e[i] = here - step;
      const double down = fit_at(&o);
      o.e[i] = here;
      CHECK_NEAR(g[i], (up - down) / (2.0 * step), 1e-5);
    }
  }
  /* without variances H is the derivative of the gradient, and h its diagonal */
  memset(o.var, 0, SIZE * sizeof(double));
  fit_at(&o);
  memcpy(h, o.h, sizeof h);
  for (size_t i = 0; i < SIZE; i += 5) {
    one[i] = 1.0;
    fit_at(&o);
    gpc_wide_product(&o, one, product);
    CHECK_NEAR(product[i], h[i], 1e-10);
    const double here = o.e[i];
    double up[SIZE];
    o.e[i] = here + step;
    fit_at(&o);
    memcpy(up, o.g, sizeof up);
    o.e[i] = here - step;
    fit_at(&o);
    o.e[i] = here;
    for (size_t j = 0; j < SIZE; j++)
      CHECK_NEAR(product[j], (o.g[j] - up[j]) / (2.0 * step), 1e-5);
    one[i] = 0.0;
  }
  /* a part that is not there has neither */
  o.has[GPC_WIDE_POWER] = 0;
  gpc_wide_visit(&o);
  CHECK(o.g[K] == 0.0 && o.h[2 * K - 1] == 0.0 && o.g[2 * K] != 0.0);
}

/* What choose_taus() maximises, for the matrix. */
static double tau_value(const gpc_wide_climb *o, double tau) {
  double sum = -log1p(pow(log(tau / 0.4) / 0.28, 2.0)); /* Cauchy's */
  for (size_t i = 2 * K; i < SIZE; i++) {
    const double h = o->pass.h[i], pull = o->pass.g[i] + h * o->pass.e[i];
    sum += 0.5 * pull * pull / (h + 1.0 / (tau * tau)) - 0.5 * log1p(h * tau * tau);
  }
  return sum;
}

static void test_step(const gpc_gp_data *data, const gpc_memory *memory) {
  gpc_wide_settings settings = {.variance = {NAN, 0.01, NAN}, .tol = 1e-9};
  double *room = gpc_get_doubles(memory, 3 * SIZE), product[SIZE], d[SIZE], g[SIZE];
  gpc_wide_climb o = {.pass = make_pass(data, memory),
                      .settings = &settings,
                      .tau = {0.3, 0.1, 0.3},
                      .old_e = room,
                      .d = room + SIZE,
                      .hd = room + 2 * SIZE};
  fit_at(&o.pass);
  gpc_wide_choose_taus(&o);
  CHECK(o.tau[GPC_WIDE_POWER] == 0.1);
  const double best = o.tau[GPC_WIDE_SOFTMAX];
  CHECK(tau_value(&o, best) > tau_value(&o, 1.05 * best));
  CHECK(tau_value(&o, best) > tau_value(&o, best / 1.05));
  for (int again = 0; again < 30; again++) { /* the rest that a call leaves is small */
    memcpy(d, o.pass.e, sizeof d);
    memcpy(g, o.pass.g, sizeof g);
    gpc_wide_solve_means(&o);
    for (size_t i = 0; i < SIZE; i++)
      d[i] = o.pass.e[i] - d[i];
    gpc_wide_product(&o.pass, d, product);
    for (size_t i = 0; i < SIZE; i++)
      o.pass.g[i] = g[i] - product[i];
  }
  for (size_t i = 0; i < SIZE; i++) {
    const int part = i < K ? 0 : i < 2 * K ? 1 : 2;
    CHECK_NEAR(o.pass.g[i], o.pass.e[i] / (o.tau[part] * o.tau[part]), 1e-3);
  }
  gpc_wide_set_variances(&o);
  CHECK_REL(o.pass.var[K], 1.0 / (o.pass.h[K] + 100.0), 1e-12);
  CHECK(gpc_wide_divergence(&o) > 0.0);
}

static void test_pack(void) {
  const double x[5] = {-2.0, 1.0, 0.0, 2.0 / 32767.0, 2.0}, bad[2] = {1.0, NAN};
  int code[3];
  CHECK_REL(gpc_wide_pack(5, x, code), 2.0 / 32767.0, 1e-15);
  const unsigned *pair = (const unsigned *)code;
  CHECK(pair[0] == 49151u << 16); /* 16383.5 goes to the even one */
  CHECK(pair[1] == (32767u | 32769u << 16) && pair[2] == 65534u);
  CHECK(isnan(gpc_wide_pack(2, bad, code)) && code[0] == 0);
  CHECK(gpc_wide_pack(0, x, code) > 0.0);
}

/* A whole fit of 30 classes, with a matrix whatever it is worth, frozen, and once more from
 * there. */
static void test_fit(const gpc_memory *memory) {
  const size_t n = 90, k = 30, size = gpc_wide_size(k);
  double *scores = gpc_get_doubles(memory, n * k);
  int *labels = gpc_get_ints(memory, n), *arg = gpc_get_ints(memory, n);
  fill(n * k, 1.0, scores);
  for (size_t i = 0; i < n; i++) {
    const size_t said = i % k;
    scores[i + n * said] += 4.0;
    arg[i] = (int)said + 1;
    for (size_t j = 0; j < k; j++)
      if (scores[i + n * j] > scores[i + n * (size_t)(arg[i] - 1)])
        arg[i] = (int)j + 1;
    labels[i] = (int)((i % 3 ? said : (said + 1) % k)) + 1;
  }
  const gpc_gp_data data = {
      .n = n, .k = k, .z = scores, .floor = -INFINITY, .label = labels, .threads = 1};
  const double floor = -INFINITY;
  gpc_fit_settings s = {.centre = 1,
                        .floors = 1,
                        .floor = &floor,
                        .variance = NAN,
                        .lengthscale = NAN,
                        .slope = NAN,
                        .noise = 1e-6,
                        .arg = arg,
                        .tol = 1e-5,
                        .max_passes = 200,
                        .bins = 10,
                        .effects = {1, 0, 1, 1},
                        .effect_variance = {NAN, NAN, NAN, NAN},
                        .worthless = -1.0,
                        .odds = 1.0 / 3.0,
                        .many = 1,
                        .least_score = -INFINITY,
                        .least_wide = {-INFINITY, -INFINITY},
                        .freeze = 1,
                        .loosen = 1};
  gpc_progress progress;
  gpc_fit_result r, again;
  CHECK(gpc_gp_fit(&data, &s, memory, NULL, NULL, &progress, &r) == GPC_OK);
  CHECK(r.wide.tried && r.wide.kept && r.wide.converged);
  CHECK(r.wide.elbo > r.offsets.elbo);
  for (size_t i = 0; i < size; i++)
    CHECK(isfinite(r.wide.mean[i]) && r.wide.var[i] >= 0.0 && r.wide.h[i] >= 0.0);
  const gpc_wide_site site = {.steep = r.wide.steep,
                              .power = r.wide.power,
                              .at = r.wide.mean,
                              .g = r.wide.g,
                              .h = r.wide.h};
  const gpc_offsets_site offsets = {.b = r.offsets.at,
                                    .g = r.offsets.g,
                                    .h = r.offsets.h,
                                    .cross = r.offsets.cross,
                                    .psi = r.offsets.psi};
  const gpc_site process = r.site;
  s.site = &process;
  s.begin_slope = r.at.slope;
  s.slope_factor = 2.0;
  s.wide_site = &site;
  s.offsets_site = &offsets;
  CHECK(gpc_gp_fit(&data, &s, memory, NULL, NULL, &progress, &again) == GPC_OK);
  CHECK(again.wide.kept && again.wide.elbo > r.wide.elbo);
  s.wide_site = NULL; /* a score that is not reached: frozen without a matrix */
  s.offsets_site = NULL;
  s.site = NULL;
  s.least_wide[0] = 1e9;
  CHECK(gpc_gp_fit(&data, &s, memory, NULL, NULL, &progress, &again) == GPC_OK);
  CHECK(!again.wide.kept && again.wide.mean[2 * k] == 0.0 && again.wide.passes == 1);
  s.least_wide[0] = -INFINITY; /* no passes left: a step is made all the same */
  s.max_passes = 1;
  CHECK(gpc_gp_fit(&data, &s, memory, NULL, NULL, &progress, &again) ==
        GPC_NOT_CONVERGED);
  CHECK(again.offsets.kept && isfinite(again.offsets.elbo) && again.offsets.tau > 0.0);
  CHECK(again.wide.kept && isfinite(again.wide.elbo) && again.wide.var[2 * k] > 0.0);
  s.max_passes = 200;
  for (int part = 0; part < 3; part += 2) { /* no step has a bound: nothing is kept */
    s.effect_variance[part] = 1e-320;       /* 1 / variance is infinite */
    CHECK(gpc_gp_fit(&data, &s, memory, NULL, NULL, &progress, &again) == GPC_OK);
    CHECK(again.offsets.kept == (part != 0) && !again.wide.kept);
    for (size_t i = 0; i < size; i++) /* and the frozen rows are numbers */
      CHECK(isfinite(again.wide.mean[i]) && isfinite(again.wide.g[i]) &&
            isfinite(again.wide.h[i]));
    s.effect_variance[part] = NAN;
  }
}

static void count_poll(void *data) { ++*(int *)data; }

/* More rows than are worked on between two polls: a pass and predictions poll on their way,
 * and every row is done, whatever the threads. */
static void test_polls(const gpc_memory *memory) {
  const size_t k = 30, n = gpc_poll_blocks(1, k) + 50, size = gpc_wide_size(k);
  float *phi_of_all = gpc_get_floats(memory, n * k);
  double *scores = gpc_get_doubles(memory, n * k), *p = gpc_get_doubles(memory, n * k),
         *more = gpc_get_doubles(memory, n * k), *mean = gpc_get_doubles(memory, n * k),
         *var = gpc_get_doubles(memory, n * k), *e = gpc_get_doubles(memory, size);
  int *labels = gpc_get_ints(memory, n), polls = 0;
  fill(size, 0.1, e);
  for (size_t i = 0; i < size; i++)
    e[i] = fabs(e[i]); /* means and variances */
  for (size_t i = 0; i < n * k; i++) {
    phi_of_all[i] = (float)(scores[i] = (double)(i * 7 % 11));
    p[i] = more[i] = 1.0 / (double)k;
  }
  for (size_t i = 0; i < n; i++)
    labels[i] = 1 + (int)(i % k);
  gpc_gp_data data = {
      .n = n, .k = k, .z = scores, .floor = -INFINITY, .label = labels, .threads = 1};
  const gpc_wide_fitted fit = {.steep = 0.6, .mean = e, .var = e};
  gpc_wide_latent(&data, &fit, memory, count_poll, &polls, mean, var);
  CHECK(polls == 2);
  gpc_wide_shift(n, k, 1, mean, var, e, memory, count_poll, &polls, more);
  CHECK(polls == 4);
  for (size_t i = 0; i < n * k; i++)
    more[i] = p[i];
  gpc_wide_apply(&data, &fit, 1, memory, count_poll, &polls, p);
  CHECK(polls == 6);
  data.threads = 3;
  gpc_wide_apply(&data, &fit, 1, memory, NULL, NULL, more);
  CHECK(memcmp(p, more, n * k * sizeof(double)) == 0);
  size_t untouched = 0;
  for (size_t i = 0; i < n; i++) /* the first class has not its old probability */
    untouched += p[i] == 1.0 / (double)k;
  CHECK(untouched == 0);
  gpc_wide_pass o = {.data = &data,
                     .rows = gpc_wide_rows_get(&data, 0.6, 1, memory),
                     .n = n,
                     .k = k,
                     .size = size,
                     .has = {1, 1, 1},
                     .phi = phi_of_all,
                     .pi = p,
                     .e = e,
                     .var = e,
                     .g = gpc_get_doubles(memory, size),
                     .h = gpc_get_doubles(memory, size),
                     .work = gpc_get_doubles(memory, 3 * k),
                     .poll = count_poll,
                     .poll_data = &polls};
  gpc_wide_visit(&o);
  CHECK(polls == 8);
  gpc_wide_product(&o, e, o.g);
  CHECK(polls == 10);
}

static void test_predict(const gpc_memory *memory) {
  gpc_gp_data data = make_data();
  double mean[SIZE], var[SIZE], p[N * K], start[N * K], more[N * K], m[N * K], v[N * K];
  double zero[SIZE] = {0}, two[2 * N * K];
  fill(SIZE, 0.5, mean);
  for (size_t i = 0; i < SIZE; i++)
    var[i] = 0.05 * uniform();
  const gpc_wide_fitted fit = {.steep = 0.6, .mean = mean, .var = var};
  for (size_t i = 0; i < N; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
      sum += start[i + N * j] = uniform();
    for (size_t j = 0; j < K; j++)
      start[i + N * j] /= sum;
  }
  gpc_wide_latent(&data, &fit, memory, NULL, NULL, m, v);
  memcpy(p, start, sizeof p);
  gpc_wide_apply(&data, &fit, 0, memory, NULL, NULL, p);
  for (size_t i = 0; i < N; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
      sum += start[i + N * j] * exp(m[i + N * j]);
    for (size_t j = 0; j < K; j++)
      CHECK_NEAR(p[i + N * j], start[i + N * j] * exp(m[i + N * j]) / sum, 1e-12);
  }
  /* draws of nothing but the mean */
  memcpy(two, start, sizeof start);
  memcpy(two + N * K, start, sizeof start);
  gpc_wide_draws(&data, &fit, 1, zero, memory, NULL, NULL, two);
  memcpy(more, start, sizeof more);
  gpc_wide_shift(N, K, 1, m, v, zero, memory, NULL, NULL, more);
  for (size_t i = 0; i < N * K; i++) {
    CHECK_NEAR(two[i], p[i], 1e-12);
    CHECK_NEAR(two[N * K + i], p[i], 1e-12);
    CHECK_NEAR(more[i], p[i], 1e-12);
  }
  /* tilted, with one thread and three */
  memcpy(p, start, sizeof p);
  memcpy(more, start, sizeof more);
  gpc_wide_apply(&data, &fit, 1, memory, NULL, NULL, p);
  data.threads = 3;
  gpc_wide_apply(&data, &fit, 1, memory, NULL, NULL, more);
  CHECK(memcmp(p, more, sizeof p) == 0);
  CHECK(fabs(p[0] - two[0]) > 1e-6);
}

int main(void) {
  const gpc_gp_data data = make_data();
  test_features(&data, &cmemory);
  test_forms(&data, &cmemory);
  test_pass(&data, &cmemory);
  test_step(&data, &cmemory);
  test_pack();
  test_fit(&cmemory);
  test_predict(&cmemory);
  test_polls(&cmemory);
  cmemory_end();
  return CTEST_END();
}
