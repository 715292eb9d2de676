/* Class effects: features, the tilted bound against quadrature, a pass against the
 * definition and against differences, the surrogate's gradient, and a fit. */
#include "class_powers.h"
#include "class_skew.h"
#include "cmemory.h"
#include "ctest.h"
#include "gp_effects.h"
#include "gp_fit.h"
#include "joint_surrogate.h"
#include "linalg.h"
#include "linalg_tiles.h"
#include "tilt.h"

static unsigned seed = 3;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) {
  double radius = sqrt(-2.0 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

static double *got(size_t n) { return gpc_get_doubles(&cmemory, n); }

/* Features --------------------------------------------------------------------------- */

static void test_features(void) {
  const int all[GPC_BLOCKS] = {1, 1, 1, 1};
  gpc_features f = gpc_features_make(4, all, 2.0, 0.5, -3.0, 5.0);
  CHECK(f.r == 8 && f.first[GPC_MATRIX] == 1 && f.count[GPC_SOFTMAX] == 3);
  CHECK(f.first[GPC_POWER] == 7 && f.count[GPC_POWER] == 1);
  double z[4] = {1.0, -2.0, 0.5, 0.5}, copy[4], work[4], x[8], sum = 0.0;
  memcpy(copy, z, sizeof z);
  gpc_features_row(&f, copy, work, x);
  CHECK(x[0] == 1.0);
  for (int i = 1; i < 4; i++) /* contrasts keep lengths */
    sum += x[i] * x[i];
  CHECK_REL(sum, (1.0 + 4.0 + 0.5) / 4.0, 1e-14);
  CHECK_REL(x[1], (-2.0 - 1.0) / sqrt(2.0) / 2.0, 1e-14);
  CHECK(gpc_features_block(&f, 0) == GPC_OFFSET &&
        gpc_features_block(&f, 3) == GPC_MATRIX);
  CHECK(gpc_features_block(&f, 4) == GPC_SOFTMAX &&
        gpc_features_block(&f, 7) == GPC_POWER);
  double total = 0.0;
  for (int i = 0; i < 4; i++)
    total += exp(0.5 * z[i]);
  CHECK_REL(x[7], -log(total), 1e-14);
  for (size_t k = 0; k < 4; k++) { /* a power of 1 is log p of its class */
    double c[8] = {0};
    c[7] = 1.0;
    gpc_powers_apply(&f, k, 1, 1, 1, c);
    sum = 0.0;
    for (int i = 0; i < 8; i++)
      sum += c[i] * x[i];
    CHECK_REL(sum, 0.5 * z[k] - log(total), 1e-13);
  }
  const int bare[GPC_BLOCKS] = {1, 0, 0, 1}; /* no powers without a matrix */
  CHECK(gpc_features_make(4, bare, 2.0, 0.5, -3.0, 5.0).r == 1);
  /* scores beyond what was seen are held there */
  double far[4] = {9.0, -3.0, -3.0, -3.0}, held[4] = {5.0, -3.0, -3.0, -3.0}, y[8];
  for (int i = 0; i < 4; i++)
    held[i] -= -1.0;
  gpc_features wide = f;
  wide.low = -1e9;
  wide.high = 1e9;
  gpc_features_row(&f, far, work, x);
  gpc_features_row(&wide, held, work, y);
  for (int i = 0; i < 8; i++)
    CHECK_NEAR(x[i], y[i], 1e-14);
  gpc_features two = gpc_features_make(2, all, 1.0, 0.5, -9.0, 9.0);
  double d[2] = {-1.75, 1.75}, minus[2] = {1.75, -1.75};
  double here[2 + GPC_SHAPES], there[2 + GPC_SHAPES];
  CHECK(two.r == 2 + GPC_SHAPES && two.count[GPC_POWER] == 0);
  gpc_features_row(&two, d, work, here);
  CHECK_REL(here[1], log(1.0 + exp(1.75)) + log(1.0 + exp(-1.75)) - 2.0 * log(2.0),
            1e-13);
  for (int i = 0; i < GPC_SHAPES; i++) /* areas of hats between log-odds of 1.75 and 2 */
    CHECK_NEAR(here[2 + i], i == 2 ? -0.0625 : i == 3 ? -0.1875 : 0.0, 1e-15);
  gpc_features_row(&two, minus, work, there);
  CHECK(memcmp(here, there, sizeof here) == 0);
}

/* The tilted bound ------------------------------------------------------------------- */

/* E log(1 + exp(d)) for d ~ N(mean, var), by a fine grid. */
static double expected(double mean, double var) {
  double sum = 0.0, total = 0.0;
  for (int i = -4000; i <= 4000; i++) {
    double x = i * 0.0025, w = exp(-0.5 * x * x), d = mean + sqrt(var) * x;
    sum += w * (d > 0.0 ? d + log1p(exp(-d)) : log1p(exp(d)));
    total += w;
  }
  return sum / total;
}

static void test_tilt(void) {
  for (int trial = 0; trial < 2000; trial++) {
    double l[3] = {3.0 * uniform(), normal(), 3.0 * uniform()}, phi[2], pi[2], work[2];
    double c[4] = {l[0] * l[0], l[0] * l[1], l[0] * l[1], l[1] * l[1] + l[2] * l[2]};
    phi[0] = 2.0 * normal();
    phi[1] = 2.0 * normal();
    pi[0] = uniform();
    pi[1] = 1.0 - pi[0];
    double bound = gpc_tilt(2, phi, c, work, pi), least = INFINITY;
    double exact = phi[0] + expected(phi[1] - phi[0], c[0] - 2.0 * c[1] + c[3]);
    CHECK(bound >= exact - 1e-9);
    for (int i = 0; i <= 1000; i++) { /* no other a does better */
      double a = i / 1000.0, d1, d2, all;
      all = (1 - a) * (1 - a) * c[0] + 2 * a * (1 - a) * c[1] + a * a * c[3];
      d1 = c[0] - 2 * ((1 - a) * c[0] + a * c[1]) + all;
      d2 = c[3] - 2 * ((1 - a) * c[1] + a * c[3]) + all;
      double u = phi[0] + d1 / 2, v = phi[1] + d2 / 2, top = fmax(u, v);
      least = fmin(least, top + log(exp(u - top) + exp(v - top)));
    }
    CHECK(bound <= least + 1e-9);
    CHECK_NEAR(pi[0] + pi[1], 1.0, 1e-12);
  }
}

/* A pass ----------------------------------------------------------------------------- */

#define N 40
#define M 6

typedef struct {
  double z[N * 4], w[N];
  int label[N], arg[N];
  gpc_gp_data data;
  gpc_ruler ruler;
  gpc_joint joint;
  gpc_joint_point point;
  gpc_joint_pass pass;
} problem;

static void make_problem(size_t k, problem *p) {
  for (size_t i = 0; i < N; i++) {
    double mean = 0.0;
    for (size_t j = 0; j < k; j++)
      mean += p->z[i + N * j] = 2.0 * normal();
    for (size_t j = 0; j < k; j++)
      p->z[i + N * j] -= mean / (double)k;
    p->label[i] = 1 + (int)((double)k * uniform());
    p->w[i] = i % 7 == 3 ? 0.0 : 0.5 + uniform();
  }
  p->data = (gpc_gp_data){.n = N,
                          .k = k,
                          .z = p->z,
                          .floor = -INFINITY,
                          .label = p->label,
                          .w = p->w,
                          .threads = 1};
  const int wanted[GPC_BLOCKS] = {1, 1, 1, 1, 1};
  const gpc_gp_range range = {
      .lowest = -8.0, .highest = 8.0, .bulk_low = -8.0, .bulk_high = 8.0};
  p->joint = (gpc_joint){.data = &p->data,
                         .memory = &cmemory,
                         .prior = {.mean = GPC_MEAN_LINEAR},
                         .features = gpc_features_make(k, wanted, 1.7, 0.6, -8.0, 8.0),
                         .m = M,
                         .slope_free = 1,
                         .slope_low = 1e-3,
                         .slope_high = 100.0,
                         .tau_centre = {0.3, 0.1, 0.3, 0.05, 0.5},
                         .tau_sd = {1.0, 1.0, 1.0, 1.0, 1.0},
                         .tau_free = {1, 1, 1, 1, 1}};
  CHECK(gpc_ruler_lay(&p->data, &p->joint.prior, &range, 0, &cmemory, &p->ruler));
  p->joint.nodes = gpc_ruler_nodes(&p->ruler, 4.0 / 8.0);
  p->joint.e = k * p->joint.features.r;
  p->joint.q = M + p->joint.e;
  gpc_joint_point_get(&p->joint, &p->point);
  gpc_joint_pass_get(&p->joint, &p->pass);
  p->pass.pi = got(N * k);
  for (size_t i = 0; i < N * k; i++)
    p->pass.pi[i] = 1.0 / (double)k;
  p->point.at.hyper = (gpc_hyper){.s2 = 0.8, .l = 4.0, .sn2 = 1e-6};
  p->point.at.slope = 0.7;
  for (size_t i = 0; i < M; i++) {
    p->point.at.inducing[i] = -8.0 + 16.0 * (double)i / (M - 1.0);
    p->point.at.q_mean[i] = 0.3 * normal();
  }
  p->point.tau[0] = 0.5;
  p->point.tau[1] = 0.2;
  p->point.tau[2] = 0.4;
  p->point.tau[3] = 0.15;
  p->point.tau[4] = 0.07;
  for (size_t i = 0; i < p->joint.e; i++)
    p->point.effect[i] = 0.2 * normal();
  const size_t q = p->joint.q; /* S = 0.1 I + a random low-rank part */
  double *root = got(q * 3);
  for (size_t i = 0; i < 3 * q; i++)
    root[i] = 0.15 * normal();
  gpc_gemm(0, 1, q, q, 3, 1.0, root, root, 0.0, p->point.cov);
  for (size_t i = 0; i < q; i++)
    p->point.cov[i + q * i] += 0.1;
  p->point.has_effects = 1;
}

/* log p_j of the temperature-scaled scores, held and centred as features are. */
static double log_probability(const gpc_features *f, const double *z, size_t j) {
  double sum = 0.0;
  for (size_t i = 0; i < f->k; i++)
    sum += exp(f->slope * z[i]);
  return f->slope * z[j] - log(sum);
}

/* Column j of the rotation of class_skew.h by its definition: coefficients e [k r] of a unit of parameter
 * j. */
static void slow_rotation(const gpc_features *f, size_t j, double *e) {
  const size_t k = f->k, r = f->r, q = j / r, i = j % r - f->first[GPC_MATRIX];
  memset(e, 0, k * r * sizeof(double));
  if (!f->count[GPC_SKEW] || j % r < f->first[GPC_MATRIX] || i >= f->count[GPC_MATRIX]) {
    e[j] = 1.0;
    return;
  }
  double d[5][5] = {{0.0}}; /* D, and the level as its last row */
  d[q][i] = q == i || q + 1 == k ? 1.0 : sqrt(0.5);
  if (q != i && q + 1 < k)
    d[i][q] = q < i ? sqrt(0.5) : -sqrt(0.5);
  for (size_t c = 0; c < k; c++)
    for (size_t x = 0; x + 1 < k; x++) {
      double sum = d[k - 1][x] / sqrt((double)k);
      for (size_t y = 0; y + 1 < k; y++) { /* U_cy: -1, ..., -1, y + 1 of unit length */
        const double m = (double)y + 1.0;
        sum += d[y][x] * (c <= y ? -1.0 : c == y + 1 ? m : 0.0) / sqrt(m * (m + 1.0));
      }
      e[c * r + f->first[GPC_MATRIX] + x] = sum;
    }
}

/* R and R' against the definition; they undo each other; each parameter has its variance. */
static void test_skew(void) {
  for (size_t k = 3; k <= 5; k++) {
    const int wanted[GPC_BLOCKS] = {1, 1, 1, 1, 1}, plain[GPC_BLOCKS] = {1, 1, 1, 1, 0};
    gpc_features f = gpc_features_make(k, wanted, 2.0, 0.5, -3.0, 5.0);
    gpc_features bare = gpc_features_make(k, plain, 2.0, 0.5, -3.0, 5.0);
    const size_t r = f.r, e = k * r;
    double *want = got(e * e), *x = got(e * e), *y = got(e * e), *t = got(e * e);
    size_t skew = 0;
    CHECK(r == 2 * k && bare.r == r);
    for (size_t j = 0; j < e; j++) {
      slow_rotation(&f, j, want + e * j);
      for (size_t i = 0; i < e; i++)
        x[i + e * j] = i == j;
      skew += gpc_features_block(&f, j) == GPC_SKEW;
      if (gpc_features_block(&f, j) != GPC_SKEW)
        CHECK(gpc_features_block(&f, j) == gpc_features_block(&bare, j));
      size_t runs = 0, first, count;
      for (int b = 0; b < GPC_BLOCKS; b++) { /* and a run has it */
        gpc_features_run(&f, (gpc_block)b, j / r, &first, &count);
        if (j % r >= first && j % r < first + count)
          CHECK(++runs == 1 && gpc_features_block(&f, j) == (gpc_block)b);
      }
      CHECK(runs == 1);
    }
    CHECK(skew == (k - 1) * (k - 2) / 2);
    gpc_skew_apply(&f, e, e, r, 1, x); /* columns of the identity */
    for (size_t i = 0; i < e * e; i++) {
      CHECK_NEAR(x[i], want[i], 1e-15);
      y[i] = normal();
      t[i] = y[i];
    }
    gpc_skew_transpose(&f, e, e, r, 1, x);
    for (size_t i = 0; i < e * e; i++)
      CHECK_NEAR(x[i], i % (e + 1) == 0 ? 1.0 : 0.0, 1e-15);
    gpc_gemm(0, 0, e, e, e, 1.0, want, y, 0.0, x); /* R y R' */
    gpc_gemm(0, 1, e, e, e, 1.0, x, want, 0.0, y);
    memcpy(x, t, e * e * sizeof(double));
    gpc_skew_apply_both(&f, e, x);
    for (size_t i = 0; i < e * e; i++)
      CHECK_NEAR(x[i], y[i], 1e-13);
    gpc_skew_transpose_both(&f, e, x);
    for (size_t i = 0; i < e * e; i++)
      CHECK_NEAR(x[i], t[i], 1e-13);
    gpc_skew_apply_both(&bare, e, x);
    for (size_t i = 0; i < e * e; i++)
      CHECK_NEAR(x[i], t[i], 1e-13);
    cmemory_end();
  }
}

/* F by the definition: every row's design matrix, C = X S X' + diag(rho), its tilt. */
static double slow_fit(problem *p) {
  const size_t k = p->data.k, r = p->joint.features.r, q = p->joint.q;
  double *x = got(k * q), *xs = got(k * q), *c = got(k * k), z[4], work[4], f[16];
  double a[4 * M], rho[4], phi[4], pi[4], sum = 0.0;
  double *plain = got(k * q), *turned = got(k * r);
  gpc_basis basis = {.m = M,
                     .inducing = p->point.at.inducing,
                     .hyper = p->point.at.hyper,
                     .chol = got(M * M)};
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < k; j++)
      z[j] = p->z[i + N * j];
    gpc_basis_eval(&basis, k, z, a, rho);
    double copy[4];
    memcpy(copy, z, sizeof z);
    gpc_features_row(&p->joint.features, copy, work, f);
    memset(x, 0, k * q * sizeof(double));
    for (size_t j = 0; j < k; j++) {
      phi[j] = p->point.at.slope * z[j];
      for (size_t s = 0; s < M; s++) {
        x[j + k * s] = a[j + k * s];
        phi[j] += a[j + k * s] * p->point.at.q_mean[s];
      }
      for (size_t s = 0; s < r; s++) {
        const int power = gpc_features_block(&p->joint.features, s) == GPC_POWER;
        const double own = power ? log_probability(&p->joint.features, copy, j) : f[s];
        x[j + k * (M + j * r + s)] = own;
      }
      pi[j] = 1.0 / (double)k;
    }
    memcpy(plain, x, k * q * sizeof(double)); /* of coefficients; of parameters: */
    for (size_t s = 0; s < k * r; s++) {
      slow_rotation(&p->joint.features, s, turned);
      for (size_t j = 0; j < k; j++) {
        double *to = x + j + k * (M + s);
        *to = 0.0;
        for (size_t t = 0; t < k * r; t++)
          *to += plain[j + k * (M + t)] * turned[t];
        phi[j] += *to * p->point.effect[s];
      }
    }
    gpc_gemm(0, 0, k, q, q, 1.0, x, p->point.cov, 0.0, xs);
    gpc_gemm(0, 1, k, k, q, 1.0, xs, x, 0.0, c);
    for (size_t j = 0; j < k; j++)
      c[j + k * j] += rho[j];
    sum += p->w[i] * (phi[p->label[i] - 1] - gpc_tilt(k, phi, c, work, pi));
  }
  return sum;
}

/* sharp: most classes are ruled out in most rows, and left out there. */
static void test_pass(int sharp) {
  for (size_t k = 2; k <= 4; k++) {
    problem *p = cmemory_get(NULL, sizeof *p);
    make_problem(k, p);
    if (sharp)
      p->point.at.slope = 12.0;
    const size_t e = p->joint.e, q = p->joint.q, g = p->joint.nodes->g;
    CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
    CHECK_REL(p->pass.fit, slow_fit(p), 1e-8);
    CHECK(p->point.elbo < p->pass.fit && p->point.kl > 0.0);
    const double h = 1e-5;
    for (size_t j = 0; j < e; j += 3) { /* gradient in the effects */
      double here = p->point.effect[j], up, down;
      p->point.effect[j] = here + h;
      up = slow_fit(p);
      p->point.effect[j] = here - h;
      down = slow_fit(p);
      p->point.effect[j] = here;
      CHECK_NEAR(p->pass.ge[j], (up - down) / (2.0 * h), 1e-6);
    }
    double *a = got(g * M), *rho = got(g), *ha = got(g * M), *hm = got(M * M);
    gpc_basis basis = {.m = M,
                       .inducing = p->point.at.inducing,
                       .hyper = p->point.at.hyper,
                       .chol = got(M * M)};
    CHECK(gpc_basis_factor(&basis) == GPC_OK);
    gpc_basis_eval(&basis, g, p->joint.nodes->z, a, rho);
    for (size_t j = 0; j < M; j++) { /* in m */
      double here = p->point.at.q_mean[j], up, down;
      p->point.at.q_mean[j] = here + h;
      up = slow_fit(p);
      p->point.at.q_mean[j] = here - h;
      down = slow_fit(p);
      p->point.at.q_mean[j] = here;
      CHECK_NEAR(gpc_dot(g, a + g * j, p->pass.gc), (up - down) / (2.0 * h), 1e-6);
    }
    /* in S: dF/dS = -1/2 H, for entries of m, of e and between them */
    gpc_symm(g, M, p->pass.hcc, a, ha);
    gpc_gemm(1, 0, M, M, g, 1.0, a, ha, 0.0, hm);
    const size_t entries[][2] = {{1, 1},     {2, 4},        {M, M}, {M + 1, M + e - 1},
                                 {3, M + 2}, {0, M + e - 1}};
    for (size_t t = 0; t < 6; t++) {
      const size_t i = entries[t][0], j = entries[t][1];
      double want = i < M && j < M ? hm[i + M * j]
                    : i < M        ? gpc_dot(g, a + g * i, p->pass.hce + g * (j - M))
                                   : p->pass.hee[i - M + e * (j - M)];
      double up, down;
      p->point.cov[i + q * j] += h;
      if (i != j)
        p->point.cov[j + q * i] += h;
      up = slow_fit(p);
      p->point.cov[i + q * j] -= 2.0 * h;
      if (i != j)
        p->point.cov[j + q * i] -= 2.0 * h;
      down = slow_fit(p);
      p->point.cov[i + q * j] += h;
      if (i != j)
        p->point.cov[j + q * i] += h;
      CHECK_NEAR(-0.5 * want * (i == j ? 1.0 : 2.0), (up - down) / (2.0 * h), 2e-6);
    }
    cmemory_end();
  }
}

/* At the mode -------------------------------------------------------------------------- */

/* The logarithm of the posterior density at a point, by its definition. */
static double slow_density(problem *p) {
  const size_t k = p->data.k, r = p->joint.features.r, e = p->joint.e;
  double z[4], work[4], f[16], a[4 * M], rho[4], sum = 0.0;
  double *effect = got(e), *turned = got(e);
  memset(effect, 0, e * sizeof(double));
  for (size_t j = 0; j < e; j++) {
    slow_rotation(&p->joint.features, j, turned);
    for (size_t i = 0; i < e; i++)
      effect[i] += turned[i] * p->point.effect[j];
  }
  gpc_basis basis = {.m = M,
                     .inducing = p->point.at.inducing,
                     .hyper = p->point.at.hyper,
                     .chol = got(M * M)};
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  for (size_t i = 0; i < N; i++) {
    double phi[4], total = 0.0;
    for (size_t j = 0; j < k; j++)
      z[j] = p->z[i + N * j];
    gpc_basis_eval(&basis, k, z, a, rho);
    gpc_features_row(&p->joint.features, z, work, f);
    for (size_t j = 0; j < k; j++) {
      phi[j] = p->point.at.slope * p->z[i + N * j];
      for (size_t s = 0; s < M; s++)
        phi[j] += a[j + k * s] * p->point.at.q_mean[s];
      for (size_t s = 0; s < r; s++) {
        const int power = gpc_features_block(&p->joint.features, s) == GPC_POWER;
        phi[j] +=
            (f[s] + (power ? p->joint.features.slope * z[j] : 0.0)) * effect[j * r + s];
      }
      total += exp(phi[j]);
    }
    sum += p->w[i] * (phi[p->label[i] - 1] - log(total));
  }
  for (size_t i = 0; i < M; i++)
    sum -= 0.5 * p->point.at.q_mean[i] * p->point.at.q_mean[i];
  for (size_t j = 0; j < e; j++) {
    const double tau = p->point.tau[gpc_features_block(&p->joint.features, j)];
    sum -= 0.5 * p->point.effect[j] * p->point.effect[j] / (tau * tau) + log(tau);
  }
  return sum + gpc_joint_hyperprior(&p->joint, p->point.tau, NULL);
}

/* A pass with S left out is the density itself, and Newton's method finds its mode. */
static void test_mode(void) {
  for (size_t k = 2; k <= 4; k++) {
    problem *p = cmemory_get(NULL, sizeof *p);
    make_problem(k, p);
    const size_t e = p->joint.e;
    gpc_joint_reduced reduced;
    gpc_joint_reduced_room room;
    gpc_joint_point to, from;
    double value, best = -INFINITY;
    gpc_joint_reduced_get(&p->joint, NULL, &reduced);
    gpc_joint_reduced_room_get(&p->joint, &room);
    gpc_joint_point_get(&p->joint, &to);
    gpc_joint_point_get(&p->joint, &from);
    p->point.at_mode = 1;
    for (int i = 0; i < 40; i++) {
      CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
      CHECK_NEAR(p->point.elbo, slow_density(p), 1e-6);
      if (p->point.elbo < best - 1e-7) { /* far away a step may be too long: half of it */
        for (size_t j = 0; j < M; j++)
          p->point.at.q_mean[j] = 0.5 * (p->point.at.q_mean[j] + from.at.q_mean[j]);
        for (size_t j = 0; j < e; j++)
          p->point.effect[j] = 0.5 * (p->point.effect[j] + from.effect[j]);
        p->point.at.slope = 0.5 * (p->point.at.slope + from.at.slope);
        continue;
      }
      best = p->point.elbo;
      gpc_joint_point_copy(&p->joint, &p->point, &from);
      CHECK(gpc_joint_reduce(&p->joint, &p->pass, &p->point, got(e * e), &reduced) ==
            GPC_OK);
      gpc_joint_point_copy(&p->joint, &p->point, &to);
      CHECK(gpc_joint_reduced_solve(&reduced, 0, &room, &to, &value) == GPC_OK);
      CHECK(room.gain >= -1e-9);
      CHECK(i > 0 || room.gain > 0.1); /* it does not begin at the mode */
      gpc_joint_point_copy(&p->joint, &to, &p->point);
    }
    CHECK(room.gain < 1e-8);
    /* log evidence, eq. (44): the density there and half of log|S|, less what the inducing
     * values do not determine */
    const double rest = value + gpc_joint_constant(&p->pass) - best;
    CHECK(gpc_joint_reduced_solve(&reduced, 1, &room, &to, &value) == GPC_OK);
    CHECK_NEAR(rest,
               0.5 * to.logdet -
                   0.5 * gpc_dot(p->joint.nodes->g, room.rho, p->pass.spread),
               1e-8);
    const double h = 0.02; /* nothing near it is higher */
    best = slow_density(p);
    for (size_t j = 0; j < e; j++)
      for (int sign = -1; sign <= 1; sign += 2) {
        p->point.effect[j] += sign * h;
        CHECK(slow_density(p) < best);
        p->point.effect[j] -= sign * h;
      }
    for (int sign = -1; sign <= 1; sign += 2) {
      const double slope = p->point.at.slope; /* the labels are random: at the limit? */
      p->point.at.slope += sign * h;
      CHECK(slope == p->joint.slope_low || slow_density(p) < best);
      p->point.at.slope = slope;
      p->point.at.q_mean[2] += sign * h;
      CHECK(slow_density(p) < best);
      p->point.at.q_mean[2] -= sign * h;
    }
    cmemory_end();
  }
}

/* The surrogate ---------------------------------------------------------------------- */

static void test_surrogate(void) {
  for (int hard = 0; hard < 2; hard++)
    for (size_t k = 2; k <= 3; k++) {
      problem *p = cmemory_get(NULL, sizeof *p);
      make_problem(k, p);
      CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
      gpc_joint_point to;
      gpc_joint_pass other;
      gpc_joint_point_get(&p->joint, &to);
      gpc_joint_point_copy(&p->joint, &p->point, &to);
      gpc_joint_pass_get(&p->joint, &other);
      other.pi = p->pass.pi;
      if (hard) { /* another pass, to average with */
        to.at.slope = 1.1;
        CHECK(gpc_joint_visit(&p->joint, &to, &other) == GPC_OK);
        gpc_joint_point_copy(&p->joint, &p->point, &to);
        CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
      }
      gpc_joint_surrogate sur = {.joint = &p->joint,
                                 .pass = &p->pass,
                                 .from = &p->point,
                                 .to = &to,
                                 .mean_scale = hard ? 1.3 : 1.0,
                                 .other = hard ? &other : NULL,
                                 .share = 0.4,
                                 .solution = gpc_joint_begin(&p->joint)};
      const size_t dim = gpc_joint_dim(&p->joint);
      CHECK(dim == (k == 2 ? 5 : 7));
      double h[7], g[7], value, up, down;
      gpc_joint_get_h(&p->joint, &p->point, h);
      h[2] += 0.4;
      CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
      gpc_joint_gradient(&sur, g);
      for (size_t i = 0; i < dim; i++) {
        const double here = h[i], step = 1e-4;
        h[i] = here + step;
        CHECK(gpc_joint_value(&sur, h, &up) == GPC_OK);
        h[i] = here - step;
        CHECK(gpc_joint_value(&sur, h, &down) == GPC_OK);
        h[i] = here;
        CHECK_NEAR(g[i], (up - down) / (2.0 * step), 1e-5 * fmax(1.0, fabs(g[i])));
      }
      cmemory_end();
    }
}

/* At a fixed point of steps at given variances the surrogate foretells the bound itself.
 */
static void test_fixed_point(void) {
  problem *p = cmemory_get(NULL, sizeof *p);
  make_problem(3, p);
  gpc_joint_point to;
  double h[7], value;
  gpc_joint_point_get(&p->joint, &to);
  gpc_joint_get_h(&p->joint, &p->point, h);
  struct gpc_joint_solution *solution = gpc_joint_begin(&p->joint);
  double before = -INFINITY;
  for (int step = 0; step < 30; step++) {
    CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
    before = p->point.elbo;
    gpc_joint_point_copy(&p->joint, &p->point, &to);
    gpc_joint_surrogate sur = {.joint = &p->joint,
                               .pass = &p->pass,
                               .from = &p->point,
                               .to = &to,
                               .mean_scale = 1.0,
                               .solution = solution};
    CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
    gpc_joint_cov(&sur);
    gpc_joint_point_copy(&p->joint, &to, &p->point);
  }
  CHECK_NEAR(value + gpc_joint_constant(&p->pass), before, 1e-8);
  cmemory_end();
}

/* Covariance [size x size] of (m, slope, e) from the whole matrix, of which nothing is
 * eliminated. work [size x size]. */
static gpc_status covariance_at_once(const gpc_joint *joint, const gpc_joint_point *point,
                                     const gpc_joint_pass *pass, double slope_sd,
                                     double *work, double *cov) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  const size_t x = m + (joint->slope_free ? 1 : 0), size = x + e;
  const gpc_memory *memory = joint->memory;
  void *mark = memory->mark(memory->self);
  double *a = gpc_get_doubles(memory, g * (m + 1)), *rho = gpc_get_doubles(memory, g);
  double *ha = gpc_get_doubles(memory, g * (m + 1)), *xx = gpc_get_doubles(memory, x * x);
  double *xe = gpc_get_doubles(memory, x * e), *q = cov;
  gpc_basis basis = {.m = m,
                     .inducing = point->at.inducing,
                     .hyper = point->at.hyper,
                     .chol = gpc_get_doubles(memory, m * m)};
  gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK) {
    gpc_basis_eval(&basis, g, joint->nodes->z, a, rho);
    memcpy(a + g * m, joint->nodes->z, g * sizeof(double));
    gpc_gemm_large(0, 0, g, x, g, 1.0, pass->hcc, a, 0.0, ha);
    gpc_gemm_large(1, 0, x, x, g, 1.0, a, ha, 0.0, xx);
    gpc_gemm_large(1, 0, x, e, g, 1.0, a, pass->hce, 0.0, xe);
    for (size_t j = 0; j < size; j++) {
      for (size_t i = j; i < size; i++)
        q[i + size * j] = i < x   ? xx[i + x * j]
                          : j < x ? xe[j + x * (i - x)]
                                  : pass->hee[i - x + e * (j - x)];
      double sd = 1.0; /* of the prior */
      if (j >= x)
        sd = point->tau[gpc_features_block(&joint->features, j - x)];
      else if (j == m)
        sd = slope_sd;
      q[j + size * j] += 1.0 / (sd * sd);
    }
    status = gpc_chol_large(size, q);
  }
  if (status == GPC_OK) {
    gpc_lower_inverse(size, q, work);
    gpc_inverse_from_lower(size, work, cov);
  }
  memory->release(memory->self, mark);
  return status;
}

/* The surrogate with the effects eliminated is the surrogate. */
static void test_reduced(void) {
  for (size_t k = 2; k <= 4; k++) {
    problem *p = cmemory_get(NULL, sizeof *p);
    make_problem(k, p);
    const size_t q = p->joint.q, e = p->joint.e, size = q + 1;
    CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
    gpc_joint_point to, other;
    gpc_joint_point_get(&p->joint, &to);
    gpc_joint_point_get(&p->joint, &other);
    gpc_joint_point_copy(&p->joint, &p->point, &to);
    gpc_joint_surrogate sur = {.joint = &p->joint,
                               .pass = &p->pass,
                               .from = &p->point,
                               .to = &to,
                               .mean_scale = 1.0,
                               .solution = gpc_joint_begin(&p->joint)};
    double h[7], value, again;
    gpc_joint_get_h(&p->joint, &p->point, h);
    h[0] += 0.5;
    h[1] -= 0.3;
    CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
    gpc_joint_cov(&sur);
    gpc_joint_reduced reduced;
    gpc_joint_reduced_room room;
    gpc_joint_reduced_get(&p->joint, NULL, &reduced);
    gpc_joint_reduced_room_get(&p->joint, &room);
    CHECK(gpc_joint_reduce(&p->joint, &p->pass, &p->point, got(e * e), &reduced) ==
          GPC_OK);
    gpc_joint_point_copy(&p->joint, &p->point, &other);
    other.at.hyper = to.at.hyper;
    CHECK(gpc_joint_reduced_solve(&reduced, 1, &room, &other, &again) == GPC_OK);
    CHECK_NEAR(again, value, 1e-9);
    CHECK_NEAR(other.logdet, to.logdet, 1e-9);
    CHECK_NEAR(other.at.slope, to.at.slope, 1e-9);
    for (size_t i = 0; i < M; i++)
      CHECK_NEAR(other.at.q_mean[i], to.at.q_mean[i], 1e-9);
    for (size_t i = 0; i < e; i++)
      CHECK_NEAR(other.effect[i], to.effect[i], 1e-9);
    for (size_t i = 0; i < q * q; i++)
      CHECK_NEAR(other.cov[i], to.cov[i], 1e-9);
    double *full = got(size * size), *brief = got(size * size);
    CHECK(covariance_at_once(&p->joint, &to, &p->pass, 0.7, got(size * size), full) ==
          GPC_OK);
    CHECK(gpc_joint_reduced_covariance(&reduced, 0.7, &to.at, &room, brief) == GPC_OK);
    for (size_t i = 0; i < size * size; i++)
      CHECK_NEAR(brief[i], full[i], 1e-9);
    gpc_joint_stepper *stepper = gpc_joint_stepper_get(&p->joint, NULL);
    memcpy(to.tau, p->point.tau, sizeof to.tau);
    memset(brief, 0, size * size * sizeof(double));
    CHECK(gpc_joint_stepper_covariance(stepper, &p->joint, &p->pass, &to, 0.7, got(e * e),
                                       brief) == GPC_OK);
    for (size_t i = 0; i < size * size; i++)
      CHECK_NEAR(brief[i], full[i], 1e-9);
    cmemory_end();
  }
}

/* The cheap value for many s2 and l, and its gradient there. */
static void test_reduced_gradient(void) {
  for (size_t k = 2; k <= 3; k++) {
    problem *p = cmemory_get(NULL, sizeof *p);
    make_problem(k, p);
    const size_t e = p->joint.e;
    gpc_joint_reduced reduced;
    gpc_joint_reduced_room room;
    gpc_joint_point to;
    CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
    gpc_joint_reduced_get(&p->joint, NULL, &reduced);
    gpc_joint_reduced_room_get(&p->joint, &room);
    gpc_joint_point_get(&p->joint, &to);
    gpc_joint_point_copy(&p->joint, &p->point, &to);
    CHECK(gpc_joint_reduce(&p->joint, &p->pass, &p->point, got(e * e), &reduced) ==
          GPC_OK);
    double value, slow, g[2], up, down;
    to.at.hyper.s2 *= 1.4;
    to.at.hyper.l *= 0.8;
    CHECK(gpc_joint_reduced_solve(&reduced, 0, &room, &to, &slow) == GPC_OK);
    CHECK(gpc_joint_reduced_value(&reduced, &room, &to, &value) == GPC_OK);
    CHECK_NEAR(value, slow, 1e-9);
    gpc_joint_reduced_gradient(&reduced, &room, &to, g);
    const gpc_hyper here = to.at.hyper;
    for (int i = 0; i < 2; i++) {
      double *moved = i == 0 ? &to.at.hyper.s2 : &to.at.hyper.l;
      *moved *= exp(1e-4);
      CHECK(gpc_joint_reduced_value(&reduced, &room, &to, &up) == GPC_OK);
      *moved *= exp(-2e-4);
      CHECK(gpc_joint_reduced_value(&reduced, &room, &to, &down) == GPC_OK);
      to.at.hyper = here;
      CHECK_NEAR(g[i], (up - down) / 2e-4, 1e-5 * fmax(1.0, fabs(g[i])));
    }
    cmemory_end();
  }
}

/* Derivatives in log tau against differences of the surrogate and of its gradient. */
static void test_tau_derivatives(void) {
  for (size_t k = 2; k <= 3; k++) {
    problem *p = cmemory_get(NULL, sizeof *p);
    make_problem(k, p);
    p->joint.slope_free = 0; /* the derivatives hold it */
    CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
    gpc_joint_point to;
    gpc_joint_point_get(&p->joint, &to);
    gpc_joint_point_copy(&p->joint, &p->point, &to);
    gpc_joint_surrogate sur = {.joint = &p->joint,
                               .pass = &p->pass,
                               .from = &p->point,
                               .to = &to,
                               .mean_scale = 1.0,
                               .solution = gpc_joint_begin(&p->joint)};
    const size_t dim = gpc_joint_dim(&p->joint);
    double h[7], value, own[7], gradient[GPC_BLOCKS], second[GPC_BLOCKS][GPC_BLOCKS];
    double up[GPC_BLOCKS], down[GPC_BLOCKS], unused[GPC_BLOCKS][GPC_BLOCKS];
    gpc_joint_get_h(&p->joint, &p->point, h);
    CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
    gpc_joint_gradient(&sur, own);
    gpc_joint_cov(&sur);
    gpc_joint_tau_derivatives(&p->joint, &to, gradient, second);
    for (size_t i = 2, b = 0; i < dim; i++, b++) { /* two classes have the first two */
      CHECK_NEAR(gradient[b], own[i], 1e-8 * fmax(1.0, fabs(own[i])));
      const double here = h[i], step = 1e-4;
      h[i] = here + step;
      CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
      gpc_joint_cov(&sur);
      gpc_joint_tau_derivatives(&p->joint, &to, up, unused);
      h[i] = here - step;
      CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
      gpc_joint_cov(&sur);
      gpc_joint_tau_derivatives(&p->joint, &to, down, unused);
      h[i] = here;
      for (size_t a = 0; a + 2 < dim; a++)
        CHECK_NEAR(second[a][b], (up[a] - down[a]) / (2.0 * step),
                   1e-5 * fmax(1.0, fabs(second[a][b])));
    }
    cmemory_end();
  }
}

/* A step ends at the maximum of the surrogate within its limits; with another scale or an
 * averaged H the means are those of the surrogate at the h found. */
static void test_step(void) {
  for (int hard = 0; hard < 2; hard++)
    for (size_t k = 2; k <= 3; k++) {
      problem *p = cmemory_get(NULL, sizeof *p);
      make_problem(k, p);
      const size_t q = p->joint.q, e = p->joint.e, g = p->joint.nodes->g;
      gpc_joint_point to, slow;
      gpc_joint_pass other, mixed;
      gpc_joint_point_get(&p->joint, &to);
      gpc_joint_point_get(&p->joint, &slow);
      gpc_joint_pass_get(&p->joint, &other);
      gpc_joint_point_copy(&p->joint, &p->point, &to);
      other.pi = p->pass.pi;
      to.at.slope = 1.1;
      CHECK(gpc_joint_visit(&p->joint, &to, &other) == GPC_OK);
      CHECK(gpc_joint_visit(&p->joint, &p->point, &p->pass) == GPC_OK);
      mixed = p->pass;
      mixed.hcc = got(g * g);
      mixed.hce = got(g * e);
      mixed.hee = got(e * e);
      for (size_t i = 0; i < g * g; i++)
        mixed.hcc[i] = 0.4 * p->pass.hcc[i] + 0.6 * other.hcc[i];
      for (size_t i = 0; i < g * e; i++)
        mixed.hce[i] = 0.4 * p->pass.hce[i] + 0.6 * other.hce[i];
      for (size_t i = 0; i < e * e; i++)
        mixed.hee[i] = 0.4 * p->pass.hee[i] + 0.6 * other.hee[i];
      gpc_joint_point_copy(&p->joint, &p->point, &to);
      const size_t dim = gpc_joint_dim(&p->joint);
      double h[7], low[7], high[7], value, best, near, start = 0.0;
      gpc_joint_get_h(&p->joint, &p->point, h);
      for (size_t i = 0; i < dim; i++) {
        low[i] = h[i] - 0.7;
        high[i] = h[i] + 0.7;
      }
      const gpc_joint_step step = {.joint = &p->joint,
                                   .pass = &p->pass,
                                   .averaged = hard ? &mixed : &p->pass,
                                   .mean_scale = hard ? 1.3 : 1.0,
                                   .from = &p->point,
                                   .to = &to,
                                   .low = low,
                                   .high = high,
                                   .tol = 1e-6};
      CHECK(gpc_joint_step_make(&step, gpc_joint_stepper_get(&p->joint, NULL), &best) ==
            GPC_OK);
      gpc_joint_surrogate sur = {.joint = &p->joint,
                                 .pass = &p->pass,
                                 .from = &p->point,
                                 .to = &slow,
                                 .mean_scale = hard ? 1.3 : 1.0,
                                 .other = hard ? &other : NULL,
                                 .share = 0.4,
                                 .solution = gpc_joint_begin(&p->joint)};
      gpc_joint_point_copy(&p->joint, &p->point, &slow);
      CHECK(gpc_joint_value(&sur, h, &start) == GPC_OK);
      gpc_joint_get_h(&p->joint, &to, h);
      CHECK(gpc_joint_value(&sur, h, &value) == GPC_OK);
      gpc_joint_cov(&sur);
      if (hard) { /* -1/2 tr(Q S) with the Q of the pass, not that of which S was made */
        struct gpc_joint_solution *s = sur.solution;
        double *own = got(q * q), *made = got(q * q);
        assemble(&p->joint, &slow, s->a, s->ha, s->hea, p->pass.hee, NULL, 1.0, 1.0, own);
        assemble(&p->joint, &slow, s->a, s->da, s->dea, p->pass.hee, other.hee, 0.4, 1.0,
                 made);
        for (size_t j = 0; j < q; j++)
          for (size_t i = j; i < q; i++)
            value -= (i == j ? 0.5 : 1.0) * (own[i + q * j] - made[i + q * j]) *
                     slow.cov[i + q * j];
      }
      CHECK_NEAR(best, value, hard ? 2e-5 : 1e-8);
      CHECK_NEAR(to.at.slope, slow.at.slope, hard ? 1e-3 : 1e-9);
      for (size_t i = 0; i < e; i++)
        CHECK_NEAR(to.effect[i], slow.effect[i], hard ? 1e-3 : 1e-8);
      for (size_t i = 0; i < q * q; i++)
        CHECK_NEAR(to.cov[i], slow.cov[i], 1e-8);
      for (size_t i = 0; i < dim && !hard; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
          const double here = h[i];
          h[i] = fmin(fmax(here + 0.05 * sign, low[i]), high[i]);
          CHECK(gpc_joint_value(&sur, h, &near) == GPC_OK);
          CHECK(near < best + 0.02 * (best - start)); /* of which so much may be left */
          h[i] = here;
        }
      cmemory_end();
    }
}

/* Factors and inverses of matrices of several panels, and of sizes that no panel divides. */
static void test_blocks(void) {
  const size_t sizes[] = {1, 3, 4, 31, 32, 33, 70, 130, 270, 391};
  for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
    const size_t n = sizes[t];
    double *a = got(n * n), *l = got(n * n), *inv = got(n * n), *s = got(n * n);
    double *x = got(n * n), worst = 0.0, off = 0.0;
    for (size_t i = 0; i < n * n; i++)
      x[i] = normal();
    gpc_gemm(0, 1, n, n, n, 1.0 / (double)n, x, x, 0.0, a);
    for (size_t i = 0; i < n; i++)
      a[i + n * i] += 0.5;
    memcpy(l, a, n * n * sizeof(double));
    CHECK(gpc_chol_large(n, l) == GPC_OK);
    for (size_t j = 1; j < n; j++) /* a second try begins from what is above */
      CHECK(memcmp(l + n * j, a + n * j, j * sizeof(double)) == 0);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        double sum = 0.0;
        for (size_t p = 0; p <= j; p++)
          sum += l[i + n * p] * l[j + n * p];
        worst = fmax(worst, fabs(sum - a[i + n * j]));
      }
    CHECK(worst < 1e-12);
    gpc_lower_inverse(n, l, inv);
    gpc_inverse_from_lower(n, inv, s);
    gpc_gemm(0, 0, n, n, n, 1.0, a, s, 0.0, x);
    for (size_t i = 0; i < n * n; i++)
      off = fmax(off, fabs(x[i] - (i % (n + 1) == 0 ? 1.0 : 0.0)));
    CHECK(off < 1e-11);
    a[n * n - 1] = -1.0; /* and what is not positive definite is told */
    CHECK(gpc_chol_large(n, a) == GPC_NOT_PD);
  }
  cmemory_end();
}

/* A matrix times its own transpose, of which the lower triangle counts; and the other made
 * of that. */
static void test_squares(void) {
  const size_t sizes[][2] = {{3, 5}, {16, 17}, {37, 40}, {78, 64}};
  for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
    const size_t n = sizes[t][0], m = sizes[t][1];
    double *a = got(n * m), *c = got(n * n), *old = got(n * n), worst = 0.0;
    for (size_t i = 0; i < n * m; i++)
      a[i] = normal();
    for (size_t i = 0; i < n * n; i++)
      c[i] = old[i] = normal();
    gpc_syrk_large(n, m, -0.6, a, c);
    gpc_symmetrise(n, c);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        double sum = old[i + n * j];
        for (size_t p = 0; p < m; p++)
          sum -= 0.6 * a[i + n * p] * a[j + n * p];
        worst = fmax(worst, fabs(c[i + n * j] - sum));
        worst = fmax(worst, fabs(c[j + n * i] - sum));
      }
    CHECK(worst < 1e-12);
  }
  cmemory_end();
}

/* Products by tiles, of sizes that no tile and no copy divides, in every order. */
static void test_tiles(void) {
  const size_t sizes[][3] = {
      {1, 1, 1}, {8, 8, 8}, {13, 9, 5}, {70, 133, 131}, {9, 260, 3}};
  for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++)
    for (int how = 0; how < 8; how++) {
      const size_t n = sizes[t][0], k = sizes[t][1], m = sizes[t][2];
      const int ta = how & 1, tb = how >> 1 & 1, lower = how >> 2;
      const size_t lda = (ta ? m : n) + 2, ldb = (tb ? k : m) + 1, ldc = n + 3;
      double *a = got(lda * (ta ? n : m)), *b = got(ldb * (tb ? m : k)),
             *c = got(ldc * k), *was = got(ldc * k), worst = 0.0;
      for (size_t i = 0; i < lda * (ta ? n : m); i++)
        a[i] = normal();
      for (size_t i = 0; i < ldb * (tb ? m : k); i++)
        b[i] = normal();
      for (size_t i = 0; i < ldc * k; i++)
        was[i] = c[i] = normal();
      gpc_tiles_add(ta, tb, lower, n, k, m, -0.7, a, lda, b, ldb, c, ldc);
      for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < ldc; i++) {
          double sum = 0.0;
          for (size_t p = 0; p < m && i < n; p++)
            sum += (ta ? a[p + lda * i] : a[i + lda * p]) *
                   (tb ? b[j + ldb * p] : b[p + ldb * j]);
          if (!lower || i >= j || i >= n) /* between the columns nothing is touched */
            worst = fmax(worst, fabs(c[i + ldc * j] - was[i + ldc * j] + 0.7 * sum));
          else /* above the diagonal either */
            worst = fmax(worst, fabs(c[i + ldc * j] - was[i + ldc * j]));
        }
      CHECK(worst < 1e-12);
    }
  cmemory_end();
}

int main(void) {
  test_features();
  test_skew();
  test_tilt();
  test_pass(0);
  test_pass(1);
  test_reduced();
  test_reduced_gradient();
  test_tau_derivatives();
  test_step();
  test_blocks();
  test_mode();
  test_surrogate();
  test_fixed_point();
  test_squares();
  test_tiles();
  return CTEST_END();
}
