/* temperature.h: the loss against long double, the solution against derivatives of the
 * loss by finite differences, and the status of every kind of data. */
#include "ctest.h"
#include "temperature.h"

#include <stdlib.h>

static unsigned seed = 7;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) {
  double radius = sqrt(-2.0 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

typedef struct {
  gpc_temperature_data data;
  double *z, *w, *work;
  int *label;
} set;

/* Logits of size `scale` whose labels are drawn at temperature `scale`. */
static set make_set(size_t n, size_t k, double scale, int weighted) {
  set s;
  s.z = malloc(n * k * sizeof(double));
  s.w = weighted ? malloc(n * sizeof(double)) : NULL;
  s.label = malloc(n * sizeof(int));
  s.work = malloc(gpc_temperature_work(n, k) * sizeof(double));
  for (size_t i = 0; i < n; i++) {
    double best = -INFINITY;
    for (size_t j = 0; j < k; j++) {
      double z = 1.5 * normal(), gumbel = z - log(-log(uniform()));
      s.z[i + j * n] = scale * z;
      if (gumbel > best) {
        best = gumbel;
        s.label[i] = (int)j + 1;
      }
    }
    if (weighted)
      s.w[i] = i % 5 == 0 ? 0.0 : 3.0 * uniform();
  }
  gpc_temperature_data data = {n, k, s.z, s.label, s.w, -INFINITY, 1};
  s.data = data;
  return s;
}

static void drop(set s) {
  free(s.z);
  free(s.w);
  free(s.label);
  free(s.work);
}

static long double slow_loss(const gpc_temperature_data *d, double beta) {
  long double loss = 0.0L;
  for (size_t i = 0; i < d->n; i++) {
    long double top = -INFINITY, sum = 0.0L;
    for (size_t j = 0; j < d->k; j++)
      top = fmaxl(top, fmaxl(d->z[i + j * d->n], d->floor));
    for (size_t j = 0; j < d->k; j++)
      sum += expl(beta * (fmaxl(d->z[i + j * d->n], d->floor) - top));
    long double own = fmaxl(d->z[i + (size_t)(d->label[i] - 1) * d->n], d->floor);
    loss += (d->w ? d->w[i] : 1.0) * (logl(sum) + beta * (top - own));
  }
  return loss;
}

static gpc_status fit(set *s, double start, gpc_temperature_result *r) {
  return gpc_temperature_fit(&s->data, start, 1e-10, 100, NULL, NULL, s->work, r);
}

static int same_result(gpc_temperature_result a, gpc_temperature_result b) {
  return a.beta == b.beta && a.loss == b.loss && a.curvature == b.curvature &&
         a.confidence == b.confidence && a.passes == b.passes;
}

/* At the solution L' = 0 and L'' is the curvature; both by differences of the loss. */
static void check_optimum(set *s, const gpc_temperature_result *r) {
  double b = r->beta, h = 1e-3 * b;
  double down = (double)slow_loss(&s->data, b - h),
         up = (double)slow_loss(&s->data, b + h);
  double here = (double)slow_loss(&s->data, b);
  double slope =
      (double)((slow_loss(&s->data, b + 1e-5 * b) - slow_loss(&s->data, b - 1e-5 * b)) /
               (2e-5L * b));
  CHECK_REL(r->loss, here, 1e-12);
  CHECK_NEAR(slope / (r->curvature * b), 0.0, 1e-8);
  CHECK_REL(r->curvature, (up - 2.0 * here + down) / (h * h), 1e-4);
}

static void check_size(size_t n, size_t k, double scale, int weighted) {
  set s = make_set(n, k, scale, weighted);
  static const double betas[] = {0.01, 0.3, 1.0, 2.5};
  for (int b = 0; b < 4; b++)
    CHECK_REL(gpc_temperature_loss(&s.data, betas[b] / scale, s.work),
              (double)slow_loss(&s.data, betas[b] / scale), 1e-12);

  gpc_temperature_result r, again;
  gpc_status status = fit(&s, 0.0, &r);
  if (n >= 63) {
    CHECK(status == GPC_OK);
    CHECK(r.passes >= 1 && r.passes <= 8);
    check_optimum(&s, &r);
    CHECK(r.confidence > 0.0 && r.confidence <= 1.0);
  }

  /* threads; and any start leads to the same place */
  for (int threads = 2; threads <= 3; threads++) {
    s.data.threads = threads;
    CHECK(fit(&s, 0.0, &again) == status);
    CHECK(same_result(r, again));
    CHECK(gpc_temperature_loss(&s.data, 0.7 / scale, s.work) ==
          (s.data.threads = 1, gpc_temperature_loss(&s.data, 0.7 / scale, s.work)));
  }
  s.data.threads = 1;
  if (status == GPC_OK) {
    for (double start = 1e-3; start < 100.0; start *= n < 1000 ? 2.0 : 30.0) {
      CHECK(fit(&s, start / scale, &again) == GPC_OK);
      CHECK_REL(again.beta, r.beta, 2e-10); /* twice the tolerance asked for */
    }
  }
  drop(s);
}

static void check_statuses(void) {
  enum { N = 40, K = 3 };
  gpc_temperature_result r;

  set s = make_set(N, K, 1.0, 0);
  for (size_t i = 0; i < N * K; i++)
    s.z[i] = 0.1 * (double)(i % N); /* equal within rows */
  CHECK(fit(&s, 0.0, &r) == GPC_FLAT);
  CHECK(r.beta == 1.0);
  CHECK_REL(r.loss, N * log(3.0), 1e-14);

  for (size_t i = 0; i < N; i++) /* the true class always has the lowest score */
    for (size_t j = 0; j < K; j++)
      s.z[i + j * N] = (int)j + 1 == s.label[i] ? -1.0 : 1.0 + uniform();
  CHECK(fit(&s, 0.0, &r) == GPC_AT_LOWER);
  CHECK(r.beta > 0.0 && r.beta < 1e-4);
  CHECK_REL(r.loss, N * log(3.0), 1e-4);

  for (size_t i = 0; i < N * K; i++) /* and the highest */
    s.z[i] = -s.z[i];
  CHECK(fit(&s, 0.0, &r) == GPC_AT_UPPER);
  CHECK_NEAR(r.confidence, (N + 1.0) / (N + 2.0), 1e-6);
  gpc_temperature_result scaled;
  for (size_t i = 0; i < N * K; i++)
    s.z[i] *= 1e6;
  CHECK(fit(&s, 0.0, &scaled) == GPC_AT_UPPER);
  CHECK_REL(1e6 * scaled.beta, r.beta, 1e-6);
  drop(s);

  s = make_set(N, K, 1.0, 0);
  CHECK(gpc_temperature_fit(&s.data, 1e-6, 1e-10, 1, NULL, NULL, s.work, &r) ==
        GPC_NOT_CONVERGED);
  CHECK(r.passes == 1 && r.beta > 0.0);
  drop(s);
}

static void check_extremes(void) {
  gpc_temperature_result r;
  set s = make_set(500, 10, 1.0, 0);
  CHECK(fit(&s, 0.0, &r) == GPC_OK);

  static const double factors[] = {1e-6, 1e-3, 1e4, 1e6, 1e100}; /* T scales along */
  for (int f = 0; f < 5; f++) {
    gpc_temperature_result scaled;
    set t = s;
    t.z = malloc(5000 * sizeof(double));
    for (int i = 0; i < 5000; i++)
      t.z[i] = factors[f] * s.z[i];
    t.data.z = t.z;
    CHECK(fit(&t, 0.0, &scaled) == GPC_OK);
    CHECK_REL(scaled.beta * factors[f], r.beta, 1e-9);
    CHECK_REL(scaled.loss, r.loss, 1e-12);
    free(t.z);
  }

  /* -Inf and what lies below the floor count as the floor */
  s.data.floor = -2.0;
  gpc_temperature_result floored, by_hand;
  CHECK(fit(&s, 0.0, &floored) == GPC_OK);
  check_optimum(&s, &floored);
  for (int i = 0; i < 5000; i++)
    s.z[i] = s.z[i] < -2.0 ? -INFINITY : s.z[i];
  CHECK(fit(&s, 0.0, &by_hand) == GPC_OK);
  CHECK(same_result(floored, by_hand));
  drop(s);

  /* a weight of w is w rows; rows of weight zero are not there */
  set a = make_set(60, 4, 1.0, 1), b = make_set(240, 4, 1.0, 0);
  size_t rows = 0;
  for (size_t i = 0; i < 60; i++) {
    a.w[i] = (double)(i % 4);
    for (size_t copy = 0; copy < i % 4; copy++, rows++) {
      b.label[rows] = a.label[i];
      for (size_t j = 0; j < 4; j++)
        b.z[rows + j * 90] = a.z[i + j * 60];
    }
  }
  CHECK(rows == 90);
  b.data.n = 90;
  gpc_temperature_result copied;
  CHECK(fit(&a, 0.0, &r) == GPC_OK);
  CHECK(fit(&b, 0.0, &copied) == GPC_OK);
  CHECK_REL(r.beta, copied.beta, 1e-9);
  CHECK_REL(r.loss, copied.loss, 1e-12);
  CHECK_REL(r.curvature, copied.curvature, 1e-8);
  drop(a);
  drop(b);
}

static void count_call(void *data) { ++*(int *)data; }

static void check_poll(void) {
  int calls = 0;
  gpc_temperature_result r;
  set s = make_set(100, 3, 1.0, 0);
  gpc_temperature_fit(&s.data, 0.0, 1e-10, 100, count_call, &calls, s.work, &r);
  CHECK(calls == r.passes);
  drop(s);
}

int main(void) {
  static const size_t rows_tried[] = {1, 7, 63, 64, 65, 511, 513, 1000};
  static const size_t columns_tried[] = {2, 3, 40};
  for (size_t a = 0; a < sizeof rows_tried / sizeof *rows_tried; a++)
    for (size_t b = 0; b < sizeof columns_tried / sizeof *columns_tried; b++)
      check_size(rows_tried[a], columns_tried[b], 3.0, a % 2 == 1);
  check_size(1000, 1000, 2.0, 0); /* solved on a part of the rows first */
  check_size(9000, 20, 0.5, 1);
  check_statuses();
  check_extremes();
  check_poll();
  return CTEST_END();
}
