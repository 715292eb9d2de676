/* The mixture over hyperparameters: made-up components whose mixture is known. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_ends.h"
#include "gp_mixture.h"
#include "linalg.h"

#define M 8
#define SIZE (M + 2) /* a slope and one effect */

/* Components: values u at the inducing inputs, the slope and an effect with a given mean
 * and covariance, which may depend on the hyperparameters. */
typedef struct {
  double inducing[M];
  int looks, passes;
  double peak_s2, peak_l; /* a component that outweighs all others; 0: none */
  int split;              /* two kinds of components, by l */
  int kinds[2];           /* looks at rough components */
  double line; /* evidence of the line, whose mean is the opposite; 0: as all others */
} made_up;

static int is_line(const made_up *t, double s2) { return t->line != 0.0 && s2 < 1e-3; }

static double mean_of(const made_up *t, size_t i, double l) {
  const double own = i < M ? sin(0.5 * t->inducing[i]) : i == M ? 0.8 : -0.3;
  return t->split && l > 3.0 ? -own : own;
}

static double cov_of(size_t i, size_t j) { return (i == j ? 0.3 : 0.0) + 0.1; }

static double fall(double x, double at) { return 400.0 * fabs(log(x / at)); }

/* a := L^-1 a for the first M of SIZE entries. */
static void whiten(const gpc_basis *basis, double *a) {
  gpc_solve_rows(1, M, basis->chol, a);
}

static gpc_status look(void *self, int from, int to, gpc_hyper hyper, double least,
                       int *passed, gpc_posterior *out) {
  made_up *t = self;
  const double s2 = hyper.s2, l = hyper.l;
  double chol[M * M], x[SIZE], half[SIZE * SIZE];
  gpc_basis basis = {.m = M, .inducing = t->inducing, .hyper = hyper, .chol = chol};
  if (hyper.rough)
    t->kinds[hyper.rough->kind == GPC_MATERN12]++;
  CHECK(from >= 0 && from < GPC_MIXTURE_SLOTS && to < GPC_MIXTURE_SLOTS && from != to);
  t->looks++;
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  for (size_t i = 0; i < SIZE; i++)
    x[i] = is_line(t, s2) ? -mean_of(t, i, l) : mean_of(t, i, l);
  whiten(&basis, x);
  memcpy(out->at.q_mean, x, M * sizeof(double));
  memcpy(out->at.inducing, t->inducing, sizeof t->inducing);
  out->at.hyper = basis.hyper;
  out->at.slope = x[M];
  out->effect[0] = x[M + 1];
  for (size_t j = 0; j < SIZE; j++) { /* columns, then rows */
    for (size_t i = 0; i < SIZE; i++)
      half[i + SIZE * j] = cov_of(i, j);
    whiten(&basis, half + SIZE * j);
  }
  for (size_t j = 0; j < SIZE; j++) {
    for (size_t i = 0; i < SIZE; i++)
      out->cov[i + SIZE * j] = half[j + SIZE * i];
    whiten(&basis, out->cov + SIZE * j);
  }
  out->value = is_line(t, s2) ? t->line : 0.0;
  if (t->peak_l > 0.0)
    out->value = -fall(s2, t->peak_s2) - fall(l, t->peak_l);
  *passed = to >= 0 && out->value >= least;
  t->passes += *passed;
  return GPC_OK;
}

static void begin(made_up *t, gpc_posterior *out, gpc_mixture_settings *how) {
  memset(t, 0, sizeof *t);
  for (size_t i = 0; i < M; i++)
    t->inducing[i] = -4.0 + 8.0 * (double)i / (M - 1.0);
  *out = gpc_posterior_get(&cmemory, M, 1, 1);
  memcpy(out->at.inducing, t->inducing, sizeof t->inducing);
  *how = (gpc_mixture_settings){.best = {0.7, 1.9, 1e-6, NULL},
                                .s2_free = 1,
                                .l_free = 1,
                                .width = 8.0,
                                .l_low = 1.0,
                                .l_high = 32.0,
                                .memory = &cmemory};
}

/* Values at the inducing inputs, slope and effect of the result: mean and covariance. */
static void unwhiten(const gpc_posterior *p, double *mean, double *cov) {
  double chol[M * M], b[SIZE * SIZE] = {0}, part[SIZE * SIZE], x[SIZE];
  gpc_basis basis = {
      .m = M, .inducing = p->at.inducing, .hyper = p->at.hyper, .chol = chol};
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  for (size_t i = 0; i < SIZE; i++)
    for (size_t j = 0; j < SIZE; j++)
      b[i + SIZE * j] = i < M && j < M ? (i >= j ? chol[i + M * j] : 0.0) : i == j;
  memcpy(x, p->at.q_mean, M * sizeof(double));
  x[M] = p->at.slope;
  x[M + 1] = p->effect[0];
  gpc_gemm(0, 0, SIZE, 1, SIZE, 1.0, b, x, 0.0, mean);
  gpc_gemm(0, 0, SIZE, SIZE, SIZE, 1.0, b, p->cov, 0.0, part);
  gpc_gemm(0, 1, SIZE, SIZE, SIZE, 1.0, part, b, 0.0, cov);
}

/* One and the same distribution of functions in many bases stays what it is. */
static void test_same(void) {
  made_up t;
  gpc_posterior out;
  gpc_mixture_settings how;
  double mean[SIZE], cov[SIZE * SIZE], cross[M];
  int points = 0;
  begin(&t, &out, &how);
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  CHECK(points > 5 && points <= t.looks);
  CHECK(t.passes > 0 && t.passes < t.looks); /* small sigmas need no pass */
  unwhiten(&out, mean, cov);
  for (size_t i = 0; i < SIZE; i++) {
    CHECK_NEAR(mean[i], mean_of(&t, i, 1.0), 1e-8);
    for (size_t j = 0; j < SIZE; j++)
      CHECK_NEAR(cov[i + SIZE * j], cov_of(i, j), 1e-8);
  }
  /* the slope's share, and m given the slope */
  CHECK_NEAR(gpc_posterior_slope(&out, cross), cov_of(M, M), 1e-10);
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < M; j++)
      CHECK_NEAR(out.at.q_cov[i + M * j],
                 out.cov[i + SIZE * j] - cov_of(M, M) * cross[i] * cross[j], 1e-9);
  CHECK_REL(out.at.hyper.l, 2.0 * 8.0 / (M - 1.0), 1e-14);
  cmemory_end();
}

/* Components that disagree add to the covariance: mean w a - (1 - w) a, and 4 w (1 - w)
 * a a' more than each has. */
static void test_split(void) {
  made_up t;
  gpc_posterior out;
  gpc_mixture_settings how;
  double mean[SIZE], cov[SIZE * SIZE];
  int points;
  begin(&t, &out, &how);
  t.split = 1;
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  unwhiten(&out, mean, cov);
  const double w = 0.5 * (mean[M] / 0.8 + 1.0);
  CHECK(w > 0.2 && w < 1.0); /* log l has prior mean log(.8) */
  const double apart = 4.0 * w * (1.0 - w);
  for (size_t i = 0; i < SIZE; i++) {
    CHECK_NEAR(mean[i], (2.0 * w - 1.0) * mean_of(&t, i, 1.0), 1e-8);
    for (size_t j = 0; j < SIZE; j++)
      CHECK_NEAR(cov[i + SIZE * j],
                 cov_of(i, j) + apart * mean_of(&t, i, 1.0) * mean_of(&t, j, 1.0), 1e-7);
  }
  cmemory_end();
}

/* Weight of the line relative to that of all else, by the slope's mean, 0.8 (1 - 2 w). */
static double odds_of_line(made_up *t, gpc_mixture_settings *how, gpc_posterior *out,
                           double line) {
  int points;
  const gpc_mixture_looker looker = {.self = t, .look = look};
  how->line = line;
  t->looks = 0;
  CHECK(gpc_mixture_make(&looker, how, out, &points) == GPC_OK);
  const double w = 0.5 * (1.0 - out->at.slope / 0.8);
  CHECK_NEAR(out->bent, 1.0 - w, 1e-12);
  return w / (1.0 - w);
}

/* The line is a component of its own: odds p / (1 - p) more with a prior probability p, and
 * of two rough kernels no more than of one. Sigmas that are as good belong to it. */
static void test_line(void) {
  made_up t;
  gpc_posterior out;
  gpc_mixture_settings how;
  gpc_roughness rough;
  begin(&t, &out, &how);
  CHECK(gpc_rough_make(M, t.inducing, 8.0 / (M - 1.0), 1, t.inducing, &cmemory, &rough) ==
        GPC_OK);
  for (int kinds = 1; kinds <= 2; kinds++) {
    how.rough = kinds == 2 ? &rough : NULL;
    t.line = -0.5;
    const double none = odds_of_line(&t, &how, &out, 0.0);
    const int looks = t.looks;
    const double half = odds_of_line(&t, &how, &out, 0.5) - none;
    CHECK(none == 0.0); /* the walk ends before such small sigmas */
    CHECK_REL(odds_of_line(&t, &how, &out, 0.25) - none, half / 3.0, 1e-9);
    t.line = -0.1;
    const double same = odds_of_line(&t, &how, &out, 0.0);
    CHECK(same > 0.0 && same < 0.1 && t.looks <= looks);
    /* the grid of rough kernels has nearly all of the rest */
    CHECK(kinds == 1 ||
          (half * exp(0.5) > 1.0 && half * exp(0.5) < 1.4 && t.looks < looks));
  }
  cmemory_end();
}

/* eq. (43b): where the map may be a line the mixture has smaller standard deviations, and the
 * same mean. */
static void test_narrow(void) {
  made_up t;
  gpc_posterior wide, out;
  gpc_mixture_settings how;
  gpc_roughness rough;
  double mean[SIZE], cov[SIZE * SIZE], was[SIZE], were[SIZE * SIZE];
  begin(&t, &wide, &how);
  begin(&t, &out, &how);
  CHECK(gpc_rough_make(M, t.inducing, 8.0 / (M - 1.0), 1, t.inducing, &cmemory, &rough) ==
        GPC_OK);
  how.rough = &rough;
  t.line = -0.5;
  odds_of_line(&t, &how, &wide, 0.5);
  how.narrow = (gpc_mixture_narrowing){.share = 0.3, .low = 0.1, .high = 0.9};
  odds_of_line(&t, &how, &out, 0.5);
  CHECK(out.bent == wide.bent && out.bent > 0.2 && out.bent < 0.8);
  const double scale = 1.0 - 0.3 * (0.9 - out.bent) / 0.8;
  unwhiten(&wide, was, were);
  unwhiten(&out, mean, cov);
  for (size_t i = 0; i < SIZE; i++) {
    CHECK_NEAR(mean[i], was[i], 1e-9);
    for (size_t j = 0; j < SIZE; j++)
      CHECK_NEAR(cov[i + SIZE * j], scale * scale * were[i + SIZE * j], 1e-7);
  }
  CHECK(wide.at.hyper.between > 0.0);
  CHECK_REL(out.at.hyper.between, scale * scale * wide.at.hyper.between, 1e-9);
  /* nothing where the map is bent, no more than the share where it is a line */
  how.narrow = (gpc_mixture_narrowing){.share = 0.3, .low = 0.1, .high = 0.15};
  odds_of_line(&t, &how, &out, 0.5);
  CHECK_REL(out.at.hyper.between, wide.at.hyper.between, 1e-9);
  how.narrow = (gpc_mixture_narrowing){.share = 0.3, .low = 0.9, .high = 0.95};
  odds_of_line(&t, &how, &out, 0.5);
  CHECK_REL(out.at.hyper.between, 0.49 * wide.at.hyper.between, 1e-9);
  how.narrow.some = 0.8;
  odds_of_line(&t, &how, &out, 0.5);
  const double less = 1.0 - 0.3 * out.bent / 0.8;
  CHECK_REL(out.at.hyper.between, less * less * wide.at.hyper.between, 1e-9);
  /* two classes: all of it up to 100 rows, a quarter of it with 200; more: by their number, and
   * by how likely effects are, and up to 100 rows by 35 % more */
  CHECK_NEAR(gpc_mixture_narrow(2, 30.0, 1.0).share, 0.26, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(2, 100.0, 0.0).share, 0.26, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(2, 200.0, 0.0).share, 0.065, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(10, 5000.0, 0.2).share, 0.17 * 1.007, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(10, 100.0, 0.0).share, 0.17 * 1.35, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(1000, 30.0, 0.0).share, 0.34, 1e-15);
  CHECK_NEAR(gpc_mixture_narrow(10, 30.0, 0.375).share, 0.085 * 1.35, 1e-15);
  CHECK(gpc_mixture_narrow(10, 30.0, 0.5).share == 0.0);
  cmemory_end();
}

/* A sharp bound leaves one component, that of the optimum, with its variance. */
static void test_peak(void) {
  made_up t;
  gpc_posterior out;
  gpc_mixture_settings how;
  double mean[SIZE], cov[SIZE * SIZE];
  int points;
  begin(&t, &out, &how);
  t.peak_s2 = 0.7;
  t.peak_l = 1.9;
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  CHECK(points == 1);
  CHECK(t.passes == 0); /* the optimum has one, and the others are out of the question */
  CHECK_REL(out.at.hyper.s2, 0.7, 1e-12);
  unwhiten(&out, mean, cov);
  CHECK_NEAR(cov[SIZE], cov_of(0, 1), 1e-8);
  /* held hyperparameters are those of the result */
  how.l_free = 0;
  t.peak_l = 0.0;
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  CHECK(points > 3 && out.at.hyper.l == 1.9);
  how.s2_free = 0;
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  CHECK(points == 1 && out.at.hyper.s2 == 0.7);
  cmemory_end();
}

#define POINTS 5

/* eq. (42a): features whose products are b K b', weights b that interpolate what is
 * smooth. */
static void test_rough(void) {
  double knots[20], z[POINTS] = {-3.9, -1.0, 0.0, 0.33, 3.2}, chol[20 * 20];
  double a[POINTS * 20], rho[POINTS];
  gpc_roughness rough;
  for (size_t i = 0; i < 20; i++)
    knots[i] = -4.75 + 0.5 * (double)i;
  CHECK(gpc_rough_make(20, knots, 0.5, POINTS, z, &cmemory, &rough) == GPC_OK);
  const double *b = rough.kinds[0].between;
  for (size_t p = 0; p < POINTS; p++) {
    double smooth = 0.0;
    for (size_t i = 0; i < 20; i++)
      smooth += b[p + POINTS * i] * sin(knots[i]);
    CHECK_NEAR(smooth, sin(z[p]), 1e-3);
  }
  for (int kind = 0; kind < 2; kind++) {
    gpc_basis basis = {.m = 20,
                       .inducing = knots,
                       .hyper = {2.0, 1.5, 1e-8, &rough.kinds[kind]},
                       .chol = chol};
    CHECK(gpc_basis_factor(&basis) == GPC_OK);
    gpc_basis_eval(&basis, POINTS, z, a, rho);
    for (size_t p = 0; p < POINTS; p++)
      for (size_t q = 0; q < POINTS; q++) {
        double got = 0.0, want = 0.0;
        for (size_t i = 0; i < 20; i++) {
          got += a[p + POINTS * i] * a[q + POINTS * i];
          for (size_t j = 0; j < 20; j++) {
            const double r = fabs(knots[i] - knots[j]) / 1.5, s = sqrt(3.0) * r;
            const double k = kind ? exp(-r) : (1.0 + s) * exp(-s);
            want += 2.0 * k * b[p + POINTS * i] * b[q + POINTS * j];
          }
        }
        CHECK_NEAR(got, want, 1e-6);
        CHECK(rho[p] == 0.0);
      }
  }
  cmemory_end();
}

/* eq. (43a): what interpolation misses midway between knots, and what it adds to the residual
 * of a basis. */
static void test_between(void) {
  double many[20];
  const double middle = 5.25;
  gpc_roughness rough;
  for (size_t i = 0; i < 20; i++)
    many[i] = 0.5 + 0.5 * (double)i;
  CHECK(gpc_rough_make(20, many, 0.5, 1, &middle, &cmemory, &rough) == GPC_OK);
  const double *b = rough.kinds[1].between, lengths[3] = {0.7, 2.0, 600.0};
  for (int n = 0; n < 3; n++) {
    const double l = lengths[n];
    double want = 1.0;
    for (size_t i = 0; i < 20; i++) {
      want -= 2.0 * b[i] * exp(-fabs(many[i] - middle) / l);
      for (size_t j = 0; j < 20; j++)
        want += b[i] * b[j] * exp(-fabs(many[i] - many[j]) / l);
    }
    const gpc_hyper hyper = {.s2 = 2.0, .l = l, .rough = &rough.kinds[1]};
    CHECK_REL(gpc_rough_between(hyper, 0.5), 2.0 * want, 0.02);
    const gpc_hyper smoother = {.s2 = 2.0, .l = l, .rough = &rough.kinds[0]};
    CHECK(gpc_rough_between(smoother, 0.5) == 0.0);
  }
  double knots[3] = {0.0, 0.5, 1.0}, z[2] = {0.2, 5.0}, chol[9], a[6], rho[2], more[2];
  gpc_basis basis = {
      .m = 3, .inducing = knots, .hyper = {2.0, 0.8, 1e-8, NULL, 0.0}, .chol = chol};
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  gpc_basis_eval(&basis, 2, z, a, rho);
  basis.hyper.between = 0.3;
  gpc_basis_eval(&basis, 2, z, a, more);
  for (int i = 0; i < 2; i++)
    CHECK_NEAR(more[i], rho[i] + 0.3, 1e-15);
  cmemory_end();
}

/* Both rough kernels are looked at, and what they agree on stays what it is. */
static void test_rough_same(void) {
  made_up t;
  gpc_posterior out;
  gpc_mixture_settings how;
  gpc_roughness rough;
  double mean[SIZE], cov[SIZE * SIZE];
  int points;
  begin(&t, &out, &how);
  CHECK(gpc_rough_make(M, t.inducing, 8.0 / (M - 1.0), 1, t.inducing, &cmemory, &rough) ==
        GPC_OK);
  how.rough = &rough;
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  CHECK(gpc_mixture_make(&looker, &how, &out, &points) == GPC_OK);
  CHECK(t.kinds[0] > 5 && t.kinds[1] > 5 && t.kinds[0] + t.kinds[1] == t.looks);
  CHECK_REL(out.at.hyper.l, GPC_ROUGH_L * 8.0 / (M - 1.0), 1e-14);
  CHECK(out.at.hyper.rough == NULL);
  unwhiten(&out, mean, cov);
  for (size_t i = 0; i < SIZE; i++) {
    CHECK_NEAR(mean[i], mean_of(&t, i, 1.0), 1e-7);
    for (size_t j = 0; j < SIZE; j++)
      CHECK_NEAR(cov[i + SIZE * j], cov_of(i, j), 1e-7);
  }
  cmemory_end();
}

/* Up to which scores rows tell: nodes of a line, and others between them. */
static void test_ends(void) {
  const double z[8] = {-2.0, -1.0, 0.0, 1.0, 2.0, -1.5, 0.5, 1.5};
  const double much[8] = {3.0, 4.0, 200.0, 1.0, 7.0, 2.0, 300.0, 0.5};
  double few[8], low, high;
  gpc_ends(8, 5, z, much, &low, &high); /* 3 + 2 + 4 > 8; 7 + .5 + 1 > 8 */
  CHECK_NEAR(low, -1.0, 1e-15);
  CHECK_NEAR(high, 1.0, 1e-15);
  for (size_t i = 0; i < 8; i++)
    few[i] = much[i] / 100.0; /* a tenth of 5.2: .03 + .02 + .04 + 2; .085 + 3 */
  gpc_ends(8, 5, z, few, &low, &high);
  CHECK_NEAR(low, 0.0, 1e-15);
  CHECK_NEAR(high, 0.5, 1e-15);
  gpc_ends(5, 5, z, much, &low, &high); /* no others: 3 + 4 + 200; 7 + 1 + 200 */
  CHECK_NEAR(low, 0.0, 1e-15);
  CHECK_NEAR(high, 0.0, 1e-15);
}

int main(void) {
  test_ends();
  test_rough();
  test_between();
  test_rough_same();
  test_same();
  test_split();
  test_line();
  test_narrow();
  test_peak();
  return CTEST_END();
}
