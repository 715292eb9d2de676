/* Prediction from a fitted process, each part against the definition: dense matrices,
 * every feature of every score, libm's exp. Every array comes from malloc() by itself, so
 * that the sanitizer sees the end of each. */
#include "cmemory.h"
#include "ctest.h"
#include "centred.h"
#include "gp_delta.h"
#include "gp_design.h"
#include "gp_draws.h"
#include "gp_integrate.h"
#include "gp_interval.h"
#include "gp_predict.h"
#include "gp_two.h"
#include "linalg.h"
#include "qnorm.h"
#include "quadrature.h"
#include "select.h"

#include <float.h>
#include <stdlib.h>

static unsigned seed = 3;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) { return gpc_qnorm(uniform()); }

/* Numbers of one variable -------------------------------------------------------------
 * */

static void test_qnorm(void) {
  CHECK_NEAR(gpc_qnorm(0.5), 0.0, 1e-16);
  CHECK_REL(gpc_qnorm(0.975), 1.959963984540054, 1e-14);
  CHECK_REL(gpc_qnorm(0.25), -0.6744897501960817, 1e-14);
  CHECK_REL(gpc_qnorm(1e-10), -6.361340902404056, 1e-13);
  CHECK_REL(gpc_qnorm(1e-300), -37.0470962993612, 1e-13);
  CHECK(isfinite(gpc_qnorm(DBL_MIN)) && isfinite(gpc_qnorm(1.0 - DBL_EPSILON / 2.0)));
  for (double p = 1e-12; p < 0.5; p *= 1.37) {
    CHECK_REL(0.5 * erfc(-gpc_qnorm(p) * M_SQRT1_2), p, 1e-13);
    if (p > 1e-5) /* 1 - p is rounded */
      CHECK_NEAR(gpc_qnorm(p), -gpc_qnorm(1.0 - p), 1e-10);
  }
}

/* Simpson's rule in d itself where it varies, sd small or large. */
static double slow_logistic_normal(double mean, double var) {
  enum { CELLS = 20000 };
  double sd = sqrt(var), low = -11.0, h = 22.0 / CELLS;
  long double sum = 0.0L, total = 0.0L;
  for (int i = 0; i <= CELLS; i++) {
    double x = low + h * i, rule = i == 0 || i == CELLS ? 1.0 : i % 2 ? 4.0 : 2.0;
    double weight = rule * exp(-0.5 * x * x);
    sum += weight / (1.0 + exp(-(mean + sd * x)));
    total += weight;
  }
  return (double)(sum / total);
}

static void test_logistic_normal(void) {
  const double means[] = {-8.0, -0.7, 0.0, 2.5, 30.0};
  for (double var = 1e-6; var < 2e4; var *= 10.0)
    for (size_t i = 0; i < 5; i++) {
      double p = gpc_logistic_normal(means[i], var);
      CHECK_NEAR(p, slow_logistic_normal(means[i], var),
                 5e-12); /* the rule: 2 exp(-27) */
      CHECK_NEAR(p + gpc_logistic_normal(-means[i], var), 1.0, 1e-14);
    }
  CHECK_NEAR(gpc_logistic_normal(1.2, 0.0), 1.0 / (1.0 + exp(-1.2)), 1e-15);
  CHECK_REL(gpc_logistic_normal(-300.0, 1e-4), exp(-300.0 + 0.5e-4), 1e-12);
  CHECK(gpc_logistic_normal(-1e5, 1.0) >= 0.0);
  CHECK(gpc_logistic_normal(1e5, 1.0) == 1.0);
  /* so wide that the logistic is a step: Phi(mean / sd) */
  for (double sd = 1e9; sd < 1e151; sd *= 1e20)
    CHECK_NEAR(gpc_logistic_normal(sd, sd * sd), 0.84134474606854293, 1e-12);
  CHECK_NEAR(gpc_logistic_normal(1.2, -1e-18), 1.0 / (1.0 + exp(-1.2)), 1e-15);
}

static void test_design(void) {
  enum { PAIRS = GPC_GP_DESIGN_PAIRS };
  const size_t ranks[] = {1, 5, 17, 64, 90};
  for (size_t t = 0; t < 5; t++) {
    const size_t rank = ranks[t], exact = rank < 64 ? rank : 64;
    double *x = gpc_get_doubles(&cmemory, rank * PAIRS),
           *e = gpc_get_doubles(&cmemory, PAIRS);
    double *work =
        gpc_get_doubles(&cmemory, (PAIRS + GPC_GP_DESIGN_EXACT) * GPC_GP_DESIGN_EXACT);
    gpc_gp_design_functions(rank, work, x);
    for (size_t a = 0; a < rank; a++)
      for (size_t b = 0; b < rank; b++) {
        double sum = 0.0;
        for (size_t d = 0; d < PAIRS; d++)
          sum += x[a + rank * d] * x[b + rank * d] / PAIRS;
        CHECK_NEAR(sum, a == b, a < exact && b < exact ? 1e-12 : 0.4);
      }
    for (size_t which = 0; which < 3; which++) {
      double square = 0.0;
      gpc_gp_design_noise(which, rank, x, e);
      for (size_t d = 0; d < PAIRS; d++)
        square += e[d] * e[d] / PAIRS;
      CHECK_NEAR(square, 1.0, 1e-12);
      for (size_t a = 0; a < exact; a++) {
        double sum = 0.0;
        for (size_t d = 0; d < PAIRS; d++)
          sum += e[d] * x[a + rank * d] / PAIRS;
        CHECK_NEAR(sum, 0.0, 1e-12);
      }
    }
    /* spread like a normal: fourth moments of the leading dimensions, as far as 256 go */
    for (size_t a = 0; a < rank && a < 3; a++) {
      double fourth = 0.0;
      for (size_t d = 0; d < PAIRS; d++)
        fourth += pow(x[a + rank * d], 4.0) / PAIRS;
      CHECK_NEAR(fourth, 3.0, 0.25);
    }
    cmemory_end();
  }
}

/* A fitted process --------------------------------------------------------------------
 * */

/* m inducing inputs from -6 to 6; the posterior covariance shrunk from the prior's. */
static gpc_gp_fitted make_fit(size_t m, gpc_mean mean, double s2, double l, double sn2,
                              double shrink) {
  double *w = gpc_get_doubles(&cmemory, m), *q_mean = gpc_get_doubles(&cmemory, m),
         *q_cov = gpc_get_doubles(&cmemory, m * m), *b = gpc_get_doubles(&cmemory, m * m);
  for (size_t i = 0; i < m; i++) {
    w[i] = mean == GPC_MEAN_LOG ? ((double)i + 0.5) / (double)m
                                : -6.0 + 12.0 * (double)i / (double)(m - 1);
    q_mean[i] = normal();
  }
  for (size_t i = 0; i < m * m; i++)
    b[i] = normal();
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < m; j++) {
      double sum = i == j ? 0.3 : 0.0;
      for (size_t q = 0; q < m; q++)
        sum += b[i + m * q] * b[j + m * q] / (double)m;
      q_cov[i + m * j] = shrink * sum;
    }
  gpc_gp_fitted fit = {
      .basis = {.m = m,
                .inducing = w,
                .hyper = {.s2 = s2, .l = l, .sn2 = sn2},
                .chol = gpc_get_doubles(&cmemory, m * m)},
      .prior = {.mean = mean, .slope = 0.8},
      .q_mean = q_mean,
      .q_cov = q_cov,
  };
  CHECK(gpc_basis_factor(&fit.basis) == GPC_OK);
  return fit;
}

/* Scores of sd `spread`, or probabilities. */
static gpc_gp_data make_rows(size_t n, size_t k, gpc_mean mean, double spread,
                             int threads) {
  double *z = gpc_get_doubles(&cmemory, n * k), *shift = gpc_get_doubles(&cmemory, n);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0, exps = 0.0;
    for (size_t j = 0; j < k; j++) {
      z[i + n * j] = spread * normal();
      sum += z[i + n * j];
      exps += exp(z[i + n * j]);
    }
    shift[i] = sum / (double)k;
    for (size_t j = 0; j < k && mean == GPC_MEAN_LOG; j++)
      z[i + n * j] = exp(z[i + n * j]) / exps;
  }
  return (gpc_gp_data){.n = n,
                       .k = k,
                       .z = z,
                       .threads = threads,
                       .shift = mean == GPC_MEAN_LOG ? NULL : shift,
                       .floor = mean == GPC_MEAN_LOG ? 1e-4 : -INFINITY};
}

/* Row i by the definition: phi [k], C [k x k], s [k]. */
typedef struct {
  double *phi, *cov, *s;
} dense;

static dense dense_row(const gpc_gp_data *data, const gpc_gp_fitted *fit, size_t i) {
  const size_t k = data->k, m = fit->basis.m;
  double *z = gpc_get_doubles(&cmemory, k), *a = gpc_get_doubles(&cmemory, k * m),
         *sa = gpc_get_doubles(&cmemory, k * m), *rho = gpc_get_doubles(&cmemory, k),
         total = 0.0, top = -INFINITY;
  dense d = {gpc_get_doubles(&cmemory, k), gpc_get_doubles(&cmemory, k * k),
             gpc_get_doubles(&cmemory, k)};
  for (size_t j = 0; j < k; j++)
    z[j] = gpc_gp_score(data, i, j);
  gpc_basis_eval(&fit->basis, k, z, a, rho);
  for (size_t j = 0; j < k; j++) {
    d.phi[j] = gpc_prior_mu(&fit->prior, z[j]);
    for (size_t q = 0; q < m; q++) {
      d.phi[j] += a[j + k * q] * fit->q_mean[q];
      sa[j + k * q] = 0.0;
      for (size_t r = 0; r < m; r++)
        sa[j + k * q] += a[j + k * r] * fit->q_cov[r + m * q];
    }
    top = fmax(top, d.phi[j]);
  }
  for (size_t j = 0; j < k; j++)
    for (size_t h = 0; h < k; h++) {
      d.cov[j + k * h] = j == h ? rho[j] : 0.0; /* eq. (9) */
      for (size_t q = 0; q < m; q++)
        d.cov[j + k * h] += sa[j + k * q] * a[h + k * q];
    }
  for (size_t j = 0; j < k; j++)
    total += d.s[j] = exp(d.phi[j] - top);
  for (size_t j = 0; j < k; j++)
    d.s[j] /= total;
  return d;
}

/* eq. (24); returns the largest D of the classes that count. */
static double dense_delta(size_t k, const dense *d, double *p) {
  double square = 0.0, mean = 0.0, most = 0.0, *big = gpc_get_doubles(&cmemory, k);
  for (size_t j = 0; j < k; j++)
    for (size_t h = 0; h < k; h++)
      square += d->s[j] * d->cov[j + k * h] * d->s[h];
  for (size_t j = 0; j < k; j++) {
    double cs = 0.0;
    for (size_t h = 0; h < k; h++)
      cs += d->cov[j + k * h] * d->s[h];
    big[j] = d->cov[j + k * j] - 2.0 * cs + square;
    mean += d->s[j] * big[j];
    most = fmax(most, big[j]);
  }
  for (size_t j = 0; j < k; j++)
    p[j] = d->s[j] * (1.0 + 0.5 * (big[j] - mean));
  return most;
}

/* The average of softmax(phi + L x) over many x, and over -x. */
static void dense_average(size_t k, const dense *d, size_t pairs, double *p) {
  double *chol = gpc_get_doubles(&cmemory, k * k), *g = gpc_get_doubles(&cmemory, k),
         *x = gpc_get_doubles(&cmemory, k);
  memcpy(chol, d->cov, k * k * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    chol[j + k * j] += 1e-12;
    p[j] = 0.0;
  }
  CHECK(gpc_chol(k, 0.0, chol) == GPC_OK);
  for (size_t t = 0; t < pairs; t++) {
    for (size_t j = 0; j < k; j++)
      x[j] = normal();
    for (int sign = -1; sign < 2; sign += 2) {
      double total = 0.0;
      for (size_t j = 0; j < k; j++) {
        double sum = 0.0;
        for (size_t h = 0; h <= j; h++)
          sum += chol[j + k * h] * x[h];
        total += g[j] = d->s[j] * exp(sign * sum);
      }
      for (size_t j = 0; j < k; j++)
        p[j] += g[j] / total / (2.0 * (double)pairs);
    }
  }
}

static double row_apart(const gpc_gp_data *data, size_t i, const double *p,
                        const double *expected) {
  double most = 0.0, sum = 0.0;
  for (size_t j = 0; j < data->k; j++) {
    const double v = p[i + data->n * j];
    most = fmax(most, fabs(v - expected[j]));
    sum += v;
    CHECK(v > 0.0);
  }
  CHECK_NEAR(sum, 1.0, 1e-9);
  return most;
}

static void test_lookup(void) {
  gpc_gp_fitted fit = make_fit(12, GPC_MEAN_LINEAR, 1.5, 2.0, 1e-6, 0.5);
  gpc_gp_lookup lookup;
  CHECK(gpc_gp_lookup_make(&fit, &cmemory, &lookup) == GPC_OK);
  CHECK(lookup.cells == gpc_gp_lookup_cells(&fit) && lookup.rank <= 12);
  CHECK(lookup.residual_free && lookup.smooth_mean);
  for (double z = -30.0; z < 30.0; z += 0.37) {
    double work[2 * 12 + 1], mean, var, at = gpc_gp_place(&lookup, z), square = 0.0;
    gpc_gp_latent(&fit, 1, &z, work, &mean, &var);
    CHECK(at >= 0.0 && at < (double)lookup.cells);
    const size_t in = (size_t)at;
    const double t = at - (double)in, *cell = lookup.cell + 4 * in,
                 *lines = lookup.cell_var + 4 * in;
    CHECK_NEAR(cell[0] + t * (cell[1] + t * (cell[2] + t * cell[3])) +
                   gpc_prior_mu(&fit.prior, z),
               mean, 1e-8);
    CHECK_NEAR(lines[0] + t * lines[1], var, 1e-4);
    /* at the node: c = b'b + rho */
    const size_t g = in / GPC_CELLS_PER_NODE;
    for (size_t q = 0; q < lookup.rank; q++)
      square += lookup.node[g * lookup.rank + q] * lookup.node[g * lookup.rank + q];
    CHECK_NEAR(square + lookup.cell_var[4 * GPC_CELLS_PER_NODE * g + 2], lookup.node_c[g],
               2e-8);
    if (!gpc_gp_has_residual(&lookup, at))
      CHECK(lines[2] <= 1.01e-5);
  }
  CHECK(gpc_gp_place(&lookup, NAN) == 0.0 && gpc_gp_place(&lookup, -1e300) == 0.0);
  CHECK(gpc_gp_place(&lookup, INFINITY) < (double)lookup.cells);
  /* long lengthscales leave few directions, and noise no stretch without a residual */
  gpc_gp_fitted flat = make_fit(12, GPC_MEAN_LINEAR, 1.5, 60.0, 0.01, 0.5);
  CHECK(gpc_gp_lookup_make(&flat, &cmemory, &lookup) == GPC_OK);
  CHECK(lookup.rank < 8 && !lookup.residual_free);
  double bad[144] = {0};
  bad[0] = -1.0;
  flat.q_cov = bad;
  CHECK(gpc_gp_lookup_make(&flat, &cmemory, &lookup) == GPC_NOT_PD);
  cmemory_end();
}

/* Mean and delta for few and many classes, either mean, with noise and without. */
static void test_expansion(void) {
  const size_t ks[] = {3, 40, 160};
  for (int log_mean = 0; log_mean < 2; log_mean++)
    for (int noisy = 0; noisy < 2; noisy++)
      for (size_t t = 0; t < 3; t++) {
        const size_t n = 70, k = ks[t];
        const gpc_mean mean = log_mean ? GPC_MEAN_LOG : GPC_MEAN_LINEAR;
        gpc_gp_fitted fit =
            make_fit(14, mean, 1.0, log_mean ? 0.2 : 2.0, noisy ? 1e-3 : 1e-7, 0.02);
        gpc_gp_data data = make_rows(n, k, mean, 1.7, 1);
        double *p = gpc_get_doubles(&cmemory, n * k),
               *q = gpc_get_doubles(&cmemory, n * k), *row = gpc_get_doubles(&cmemory, k);
        CHECK(gpc_gp_predict(&data, &fit, GPC_APPROX_MEAN, &cmemory, NULL, NULL, p) ==
              GPC_OK);
        CHECK(gpc_gp_predict(&data, &fit, GPC_APPROX_DELTA, &cmemory, NULL, NULL, q) ==
              GPC_OK);
        for (size_t i = 0; i < n; i += 13) {
          dense d = dense_row(&data, &fit, i);
          CHECK_NEAR(row_apart(&data, i, p, d.s), 0.0, 1e-7);
          const double most = dense_delta(k, &d, row);
          if (most < 0.05)
            CHECK_NEAR(row_apart(&data, i, q, row), 0.0, 5e-5);
          dense_average(k, &d, 500, row);
          CHECK_NEAR(row_apart(&data, i, q, row), 0.0, 4e-3);
        }
        cmemory_end();
      }
}

/* Rows with a wide posterior, inside the table, beside it and beyond. */
static void test_integration(void) {
  const struct {
    size_t k;
    double s2, sn2, spread, off;
  } cases[] = {{3, 2.0, 1e-6, 2.0, 4e-3},  {3, 2.0, 1e-6, 6.0, 4e-3},
               {3, 2.0, 0.2, 2.0, 4e-3},   {5, 40.0, 1e-6, 2.0, 2e-2},
               {60, 1.0, 1e-6, 1.5, 8e-3}, {60, 1.0, 1e-6, 4.0, 8e-3}};
  for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
    const size_t n = 67, k = cases[t].k;
    gpc_gp_fitted fit =
        make_fit(14, GPC_MEAN_LINEAR, cases[t].s2, 2.0, cases[t].sn2, 0.9);
    gpc_gp_data data = make_rows(n, k, GPC_MEAN_LINEAR, cases[t].spread, 1);
    double *p = gpc_get_doubles(&cmemory, n * k), *two = gpc_get_doubles(&cmemory, n * k),
           *row = gpc_get_doubles(&cmemory, k);
    gpc_gp_predict(&data, &fit, GPC_APPROX_DELTA, &cmemory, NULL, NULL, p);
    data.threads = 2;
    gpc_gp_predict(&data, &fit, GPC_APPROX_DELTA, &cmemory, NULL, NULL, two);
    CHECK(memcmp(p, two, n * k * sizeof(double)) == 0);
    for (size_t i = 0; i < n; i += 11) {
      dense d = dense_row(&data, &fit, i);
      dense_average(k, &d, k > 10 ? 3000 : 40000, row);
      CHECK_NEAR(row_apart(&data, i, p, row), 0.0, cases[t].off);
    }
    /* alone as among others */
    for (size_t i = 0; i < n; i += 22) {
      gpc_gp_data one = {.n = 1,
                         .k = k,
                         .threads = 1,
                         .floor = -INFINITY,
                         .z = gpc_get_doubles(&cmemory, k),
                         .shift = data.shift + i};
      for (size_t j = 0; j < k; j++)
        ((double *)one.z)[j] = data.z[i + n * j];
      gpc_gp_predict(&one, &fit, GPC_APPROX_DELTA, &cmemory, NULL, NULL, row);
      CHECK_NEAR(row_apart(&data, i, p, row), 0.0, 1e-13);
    }
    cmemory_end();
  }
}

/* On the nodes and by exponentials of their own, the same functions give the same. */
static void test_two_roads(void) {
  const size_t n = 30, k = 25;
  gpc_gp_fitted fit = make_fit(14, GPC_MEAN_LINEAR, 2.0, 2.0, 1e-7, 0.3);
  gpc_gp_data data = make_rows(n, k, GPC_MEAN_LINEAR, 1.2, 1);
  gpc_gp_lookup lookup;
  CHECK(gpc_gp_lookup_make(&fit, &cmemory, &lookup) == GPC_OK);
  gpc_gp_functions f = gpc_gp_functions_make(&lookup, &cmemory);
  CHECK(f.on_nodes);
  gpc_gp_integrate_work work = gpc_gp_integrate_take(&lookup, &cmemory);
  gpc_gp_block block;
  gpc_gp_block_take(k, 1, &cmemory, &block);
  double *p = gpc_get_doubles(&cmemory, n * k), *own = gpc_get_doubles(&cmemory, n * k);
  int *all = gpc_get_ints(&cmemory, n);
  for (size_t i = 0; i < n; i++)
    all[i] = i % 2 == 0;
  for (size_t i = 0; i < n * k; i++)
    p[i] = own[i] = -1.0;
  gpc_gp_integrate(&data, &lookup, &f, all, &cmemory, NULL, NULL, &block, &work, p);
  f.on_nodes = 0;
  gpc_gp_integrate(&data, &lookup, &f, all, &cmemory, NULL, NULL, &block, &work, own);
  for (size_t i = 0; i < n * k; i++) {
    CHECK((p[i] == -1.0) == (i % n % 2 == 1)); /* those not chosen are left alone */
    CHECK_NEAR(p[i], own[i], 2e-4);
  }
  cmemory_end();
}

static void test_two_classes(void) {
  const size_t n = 140;
  gpc_gp_fitted fit = make_fit(9, GPC_MEAN_LINEAR, 2.0, 2.5, 1e-3, 0.5);
  gpc_gp_data data = make_rows(n, 2, GPC_MEAN_LINEAR, 4.0, 1);
  double *p = gpc_get_doubles(&cmemory, 2 * n);
  gpc_gp_predict(&data, &fit, GPC_APPROX_DELTA, &cmemory, NULL, NULL, p);
  for (size_t i = 0; i < n; i += 9) {
    dense d = dense_row(&data, &fit, i);
    const double var = d.cov[0] - 2.0 * d.cov[1] + d.cov[3];
    const double second = slow_logistic_normal(d.phi[1] - d.phi[0], var);
    const double row[2] = {1.0 - second, second};
    CHECK_NEAR(row_apart(&data, i, p, row), 0.0, 1e-10);
  }
  cmemory_end();
}

/* Drawn functions by eq. (26) with the growth of eq. (26b), one by one, and the quantiles
 * of all draws. */
static void test_draws(void) {
  enum { PAIRS = 6, K = 5, N = 37, FIT = 11 };
  gpc_gp_fitted fit = make_fit(FIT, GPC_MEAN_LINEAR, 1.5, 2.0, 0.01, 0.4);
  gpc_gp_data data = make_rows(N, K, GPC_MEAN_LINEAR, 3.0, 2);
  gpc_gp_lookup lookup;
  CHECK(gpc_gp_lookup_make(&fit, &cmemory, &lookup) == GPC_OK);
  double *x = gpc_get_doubles(&cmemory, FIT * PAIRS),
         *e = gpc_get_doubles(&cmemory, N * K * PAIRS), tilt[PAIRS], chol[FIT * FIT];
  const double growth[PAIRS] = {0.0, 0.3, 2.0, 0.0, 1e5, 0.1};
  int lifted = 0;
  for (size_t i = 0; i < FIT * PAIRS; i++)
    x[i] = normal();
  for (size_t i = 0; i < N * K * PAIRS; i++)
    e[i] = normal();
  for (size_t i = 0; i < PAIRS; i++)
    tilt[i] = 0.1 * normal();
  memcpy(chol, fit.q_cov, sizeof chol);
  CHECK(gpc_chol(FIT, 0.0, chol) == GPC_OK);
  for (int independent = 0; independent < 2; independent++) {
    gpc_gp_random random = {.pairs = PAIRS,
                            .x = x,
                            .e = e,
                            .independent = independent,
                            .tilt = independent ? NULL : tilt,
                            .lift = {.low = -1.0,
                                     .high = 1.5,
                                     .scale = 0.4,
                                     .growth = independent ? NULL : growth}};
    double *all = gpc_get_doubles(&cmemory, 2 * PAIRS * N * K),
           *p = gpc_get_doubles(&cmemory, N * K),
           *ends = gpc_get_doubles(&cmemory, 2 * N * K);
    gpc_gp_draws_work *work = gpc_gp_draws_take(&lookup, K, PAIRS, 2, &cmemory);
    memset(p, 0, N * K * sizeof(double));
    gpc_gp_draws(&data, &lookup, 0, N, &random, 0.5 / PAIRS, work, p, NULL);
    gpc_gp_draws(&data, &lookup, 0, N, &random, 0.0, work, NULL, all);
    if (!independent)
      gpc_gp_interval(&data, &lookup, &random, 0.1, 0.8, &cmemory, NULL, NULL, ends);
    for (size_t i = 0; i < N; i += 6) {
      double mean[K] = {0};
      for (size_t d = 0; d < 2 * PAIRS; d++) {
        double g[K], total = 0.0;
        const double sign = d % 2 ? -1.0 : 1.0;
        const size_t pair = d / 2;
        for (size_t j = 0; j < K; j++) {
          double z = gpc_gp_score(&data, i, j), a[FIT], rho, m, var, room[2 * FIT + 1];
          gpc_basis_eval(&fit.basis, 1, &z, a, &rho);
          gpc_gp_latent(&fit, 1, &z, room, &m, &var);
          double dev = independent ? sqrt(var) * e[i + N * (j + K * pair)]
                                   : sqrt(rho) * e[j + K * pair] + tilt[pair] * z;
          for (size_t q = 0; q < FIT && !independent; q++)
            for (size_t r = q; r < FIT; r++)
              dev += a[r] * chol[r + FIT * q] * x[q + FIT * pair];
          const double above = fmax(z - 1.5, 0.0), below = fmax(-1.0 - z, 0.0);
          if (!independent) {
            const double by = growth[pair] * 0.2 * (above * above - below * below);
            m += fmin(fmax(by, -GPC_LARGEST_LIFT), GPC_LARGEST_LIFT);
            lifted += fabs(by) > 0.1;
          }
          total += g[j] = exp(m + sign * dev);
        }
        for (size_t j = 0; j < K; j++) {
          CHECK_NEAR(all[i + N * (j + K * d)], g[j] / total, 3e-3);
          mean[j] += g[j] / total / (2 * PAIRS);
        }
      }
      for (size_t j = 0; j < K; j++) {
        double draws[2 * PAIRS];
        CHECK_NEAR(p[i + N * j], mean[j], 3e-3);
        for (size_t d = 0; d < 2 * PAIRS; d++)
          draws[d] = all[i + N * (j + K * d)];
        if (independent)
          continue;
        CHECK_NEAR(ends[i + N * j], gpc_quantile(2 * PAIRS, draws, 0.1), 1e-15);
        CHECK_NEAR(ends[i + N * j + N * K], gpc_quantile(2 * PAIRS, draws, 0.8), 1e-15);
      }
    }
  }
  CHECK(lifted > 20);
  cmemory_end();
}

/* The map less its average, against the covariance of all values by the definition. */
static void test_centred(void) {
  const size_t n = 4, g = 3;
  gpc_gp_fitted fit = make_fit(8, GPC_MEAN_LINEAR, 1.3, 3.0, 0.0, 0.5);
  const double at[3] = {-2.0, 0.5, 4.0}, p[3] = {0.2, 0.5, 0.3};
  double points[7] = {-5.0, 0.0, 0.4, 5.0, -2.0, 0.5, 4.0};
  double departure[4], variance[4], rho[4], mean = 0.0;
  gpc_centred(&fit, n, points, g, at, p, &cmemory, departure, variance, rho);
  gpc_gp_data row = {.n = 1, .k = 7, .z = points, .floor = -INFINITY};
  dense d = dense_row(&row, &fit, 0);
  for (size_t j = 0; j < 7; j++) {
    double a[8], r;
    gpc_basis_eval(&fit.basis, 1, points + j, a, &r);
    d.cov[j + 7 * j] -= r;
    d.phi[j] -= gpc_prior_mu(&fit.prior, points[j]);
    if (j < n)
      CHECK_NEAR(rho[j], r, 1e-12);
  }
  for (size_t j = 0; j < g; j++)
    mean += p[j] * d.phi[n + j];
  for (size_t i = 0; i < n; i++) {
    double var = d.cov[i + 7 * i];
    for (size_t j = 0; j < g; j++) {
      var -= 2.0 * p[j] * d.cov[i + 7 * (n + j)];
      for (size_t h = 0; h < g; h++)
        var += p[j] * p[h] * d.cov[n + j + 7 * (n + h)];
    }
    CHECK_NEAR(variance[i], var, 1e-12);
    CHECK_NEAR(departure[i], d.phi[i] - mean, 1e-12);
  }
  cmemory_end();
}

/* By hand: one inducing input at 0 with s2 = 1, no noise: a(z) = exp(-z^2 / 2). */
static void test_centred_by_hand(void) {
  double w[] = {0.0}, chol[1], z[] = {0.0, 1.0, 3.0}, at[] = {0.5, -2.0};
  double p[] = {0.25, 0.75}, s[] = {0.3}, m[] = {2.0}, departure[3], variance[3], rho[3];
  gpc_gp_fitted fit = {
      .basis = {.m = 1, .inducing = w, .hyper = {1.0, 1.0, 0.0}, .chol = chol},
      .q_mean = m,
      .q_cov = s};
  CHECK(gpc_basis_factor(&fit.basis) == GPC_OK);
  gpc_centred(&fit, 3, z, 2, at, p, &cmemory, departure, variance, rho);
  double mean = 0.25 * exp(-0.125) + 0.75 * exp(-2.0);
  for (int i = 0; i < 3; i++) {
    double a = exp(-0.5 * z[i] * z[i]);
    CHECK_NEAR(departure[i], 2.0 * (a - mean), 1e-12);
    CHECK_NEAR(variance[i], 0.3 * (a - mean) * (a - mean), 1e-12);
    CHECK_NEAR(rho[i], 1.0 - a * a, 1e-12);
  }
  cmemory_end();
}

int main(void) {
  test_qnorm();
  test_logistic_normal();
  test_design();
  test_lookup();
  test_expansion();
  test_integration();
  test_two_roads();
  test_two_classes();
  test_draws();
  test_centred();
  test_centred_by_hand();
  return CTEST_END();
}
