/* test_stream.c: the frozen quadratic (gp_stream.h) and Laplace's approximation
 * (laplace.h): values against definitions, gradients against differences. */
#include "ctest.h"
#include "gp_joint_site.h"
#include "gp_stream.h"
#include "laplace.h"

#include <math.h>
#include <string.h>

#define P 4
#define G 6

static double site_value(const gpc_site *site, const double *psi) {
  double b[G] = {0}, w[G * G] = {0}, v[G] = {0};
  return gpc_site_add(site, G, psi, b, w, v);
}

static void test_site(void) {
  const double z[P] = {-1, 0, 1, 2}, psi0[P] = {0.1, -0.2, 0.3, 0.5},
               b0[P] = {1, -2, 0.5, 0.3}, v0[P] = {1, 2, 3, 4};
  double w0[P * P];
  for (int i = 0; i < P; i++)
    for (int j = 0; j < P; j++)
      w0[i + P * j] = (i == j) + 0.3 / (1 + i + j);
  const gpc_site site = {.p = P,
                         .weight = 9,
                         .bulk_low = -1,
                         .bulk_high = 2,
                         .loss = -7,
                         .z = z,
                         .psi = psi0,
                         .b = b0,
                         .spread = v0,
                         .curvature = w0};
  const double psi[G] = {9, 9, 0.4, 0.1, -0.6, 0.7}; /* the first two are other nodes */
  double b[G] = {5, 6, 0, 0, 0, 0}, w[G * G] = {0}, v[G] = {0};
  double want = -7;
  for (int i = 0; i < P; i++)
    for (int j = 0; j < P; j++)
      want -= 0.5 * (psi[2 + i] - psi0[i]) * w0[i + P * j] * (psi[2 + j] - psi0[j]);
  for (int i = 0; i < P; i++)
    want += b0[i] * (psi[2 + i] - psi0[i]);
  CHECK_NEAR(gpc_site_add(&site, G, psi, b, w, v), want, 1e-13);
  CHECK_NEAR(b[0], 5.0, 0.0);
  for (int i = 0; i < P; i++) {
    double up[G], down[G];
    memcpy(up, psi, sizeof up);
    memcpy(down, psi, sizeof down);
    up[2 + i] += 1e-4;
    down[2 + i] -= 1e-4;
    CHECK_NEAR(b[2 + i], (site_value(&site, up) - site_value(&site, down)) / 2e-4, 1e-9);
    CHECK_NEAR(v[2 + i], v0[i], 0.0);
    CHECK_NEAR(w[2 + i + G * 3], w0[i + P * 1], 0.0);
  }

  /* knots: the range is covered, in order, and old ones stay */
  gpc_gp_range range = {.lowest = -40, .highest = 9, .bulk_low = -3, .bulk_high = 5};
  double knots[GPC_SITE_MOST], more[GPC_SITE_MOST];
  const size_t p = gpc_site_knots(NULL, &range, knots);
  CHECK(p <= GPC_SITE_MOST);
  CHECK_NEAR(knots[0], -40.0, 1e-12);
  CHECK_NEAR(knots[p - 1], 9.0, 1e-12);
  for (size_t i = 1; i < p; i++)
    CHECK(knots[i] > knots[i - 1]);
  gpc_site old = site;
  old.z = knots;
  old.p = p;
  old.bulk_low = -3;
  old.bulk_high = 5;
  gpc_gp_range wider = {.lowest = -2, .highest = 9.2, .bulk_low = -1, .bulk_high = 5};
  gpc_site_range(&old, &wider);
  CHECK_NEAR(wider.lowest, -40.0, 0.0);
  CHECK_NEAR(wider.bulk_low, -3.0, 0.0);
  const size_t q = gpc_site_knots(&old, &wider, more);
  CHECK(q <= GPC_SITE_MOST);
  CHECK_NEAR(more[q - 1], 9.2, 1e-12);
  for (size_t i = 1; i < q; i++)
    CHECK(more[i] > more[i - 1]);
  if (q > p)
    for (size_t i = 0; i < p; i++)
      CHECK_NEAR(more[i], knots[i], 0.0);
}

static void test_laplace(void) {
  /* by hand: one row z = (0, 1), label 2: L = log(1 + e^-beta); with precision 4 at 1 the
   * derivative -1/(1 + e^beta) + 4 (beta - 1) vanishes */
  const double z[2] = {0.0, 1.0};
  const int label = 2;
  const gpc_temperature_data data = {
      .n = 1, .k = 2, .z = z, .label = &label, .floor = -INFINITY, .threads = 1};
  double beta, curvature, log_lik;
  CHECK(gpc_laplace_temperature(&data, 1.0, 4.0, 1e-12, 100, &beta, &curvature,
                                &log_lik) == GPC_OK);
  CHECK_NEAR(4.0 * (beta - 1.0), 1.0 / (1.0 + exp(beta)), 1e-10);
  CHECK_NEAR(log_lik, -log1p(exp(-beta)), 1e-12);
  const double s = 1.0 / (1.0 + exp(-beta));
  CHECK_NEAR(curvature, 4.0 + s * (1.0 - s), 1e-10);

  /* logistic: the gradient vanishes, without rows the prior is left as it is */
  const double x[6] = {0.5, -1.0, 2.0, 1.0, 1.0, 1.0}, t[3] = {1.0, 0.0, 0.8},
               w[3] = {1.0, 2.0, 0.5}, m0[2] = {0.3, -0.1}, p0[4] = {2.0, 0.5, 0.5, 1.0};
  double c[2], h[4];
  CHECK(gpc_laplace_logistic(3, 2, x, t, w, m0, p0, 1e-10, 100, c, h) == GPC_OK);
  for (int a = 0; a < 2; a++) {
    double g = p0[a] * (c[0] - m0[0]) + p0[a + 2] * (c[1] - m0[1]);
    for (int i = 0; i < 3; i++)
      g += w[i] * (1.0 / (1.0 + exp(-c[0] * x[i] - c[1] * x[i + 3])) - t[i]) *
           x[i + 3 * a];
    CHECK_NEAR(g, 0.0, 1e-8);
  }
  CHECK(gpc_laplace_logistic(0, 2, x, t, w, m0, p0, 1e-10, 100, c, h) == GPC_OK);
  CHECK_NEAR(c[1], -0.1, 0.0);
  CHECK_NEAR(h[2], 0.5, 0.0);
}

#define E 2

/* The quadratic of knots and effects: gradient and curvature against differences. */
static double joint_value(const gpc_joint_site *site, const double *psi,
                          const double *effect, double *g, double *h) {
  double gc[3] = {0}, ge[E] = {0}, hcc[9] = {0}, hce[3 * E] = {0}, hee[E * E] = {0},
         v[3] = {0};
  double copy[3];
  memcpy(copy, psi, sizeof copy);
  gpc_joint_pass pass = {
      .psi = copy, .gc = gc, .ge = ge, .hcc = hcc, .hce = hce, .hee = hee, .spread = v};
  const double value = gpc_joint_site_add(site, 3, effect, &pass);
  for (int i = 0; i < 4 && g; i++) /* the first node is no knot */
    g[i] = i < 2 ? gc[1 + i] : ge[i - 2];
  for (int i = 0; i < 4 && h; i++)
    for (int j = 0; j < 4; j++)
      h[i + 4 * j] = i < 2 && j < 2 ? hcc[1 + i + 3 * (1 + j)]
                     : i < 2        ? hce[1 + i + 3 * (j - 2)]
                     : j < 2        ? hce[1 + j + 3 * (i - 2)]
                                    : hee[i - 2 + E * (j - 2)];
  return value;
}

static void test_joint_site(void) {
  const double psi0[2] = {0.3, -0.4}, e0[E] = {0.2, -0.1}, b[4] = {1, -2, 0.5, 0.7},
               v[2] = {1, 2};
  double h[16], g[4], got[16];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      h[i + 4 * j] = (i == j ? 2.0 : 0.0) + 0.4 / (1 + i + j);
  const gpc_joint_site site = {
      .p = 2, .e = E, .loss = -3, .psi = psi0, .effect = e0, .b = b, .spread = v, .h = h};
  const double x[4] = {0.9, 0.1, -0.6, 0.8};
  const double psi[3] = {7, x[0], x[1]};
  joint_value(&site, psi, x + 2, g, got);
  for (int i = 0; i < 4; i++) {
    double value[2];
    for (int side = 0; side < 2; side++) {
      double y[4];
      memcpy(y, x, sizeof y);
      y[i] += side ? -1e-4 : 1e-4;
      const double at[3] = {7, y[0], y[1]};
      value[side] = joint_value(&site, at, y + 2, NULL, NULL);
    }
    CHECK_NEAR(g[i], (value[0] - value[1]) / 2e-4, 1e-9);
    for (int j = 0; j < 4; j++)
      CHECK_NEAR(got[i + 4 * j], h[i + 4 * j], 0.0);
  }
  const double same[3] = {7, psi0[0], psi0[1]};
  CHECK_NEAR(joint_value(&site, same, e0, NULL, NULL), -3.0, 0.0);
}

int main(void) {
  test_joint_site();
  test_site();
  test_laplace();
  return CTEST_END();
}
