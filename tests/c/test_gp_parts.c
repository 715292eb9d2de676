/* What the Gaussian process is made of: linalg.h against the definitions, the line of
 * gp_line.h on polynomials, the gradient of gp_basis.h against differences, and quantiles
 * against sorting. */
#include "ctest.h"
#include "gp_basis.h"
#include "gp_line.h"
#include "linalg.h"
#include "select.h"

#include <stdlib.h>

static unsigned seed = 11;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

static double normal(void) {
  double radius = sqrt(-2.0 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

static void fill_normal(size_t n, double *x) {
  for (size_t i = 0; i < n; i++)
    x[i] = normal();
}

/* The largest |a - b|. */
static double apart(size_t n, const double *a, const double *b) {
  double most = 0.0;
  for (size_t i = 0; i < n; i++)
    most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

/* c := a b, a stored [n x m] or transposed, b [m x k] or transposed. */
static void slow_product(int ta, int tb, size_t n, size_t k, size_t m, const double *a,
                         const double *b, double *c) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      long double sum = 0.0L;
      for (size_t q = 0; q < m; q++)
        sum += (long double)(ta ? a[q + m * i] : a[i + n * q]) *
               (tb ? b[j + k * q] : b[q + m * j]);
      c[i + n * j] = (double)sum;
    }
}

#define M 18 /* four blocks of four columns, and two more */
#define N 13

static void test_cholesky(void) {
  double b[M * M], a[M * M], l[M * M], back[M * M], inv[M * M], x[N * M], y[N * M], v[M],
      u[M];
  fill_normal(M * M, b);
  slow_product(0, 1, M, M, M, b, b, a);
  for (size_t i = 0; i < M; i++)
    a[i + M * i] += 1.0;
  memcpy(l, a, sizeof a);
  CHECK(gpc_chol(M, 0.0, l) == GPC_OK);
  slow_product(0, 1, M, M, M, l, l, back);
  CHECK_NEAR(apart(M * M, back, a), 0.0, 1e-13);
  for (size_t j = 0; j < M; j++)
    for (size_t i = 0; i < j; i++)
      CHECK(l[i + M * j] == 0.0);

  memcpy(back, a, sizeof a);
  CHECK(gpc_chol_large(M, back) == GPC_OK);
  for (size_t j = 0; j < M; j++)
    for (size_t i = 0; i < M; i++)
      CHECK(back[i + M * j] == (i >= j ? l[i + M * j] : a[i + M * j]));

  fill_normal(N * M, x);
  memcpy(y, x, sizeof x);
  gpc_solve_rows(N, M, l, y);
  double product[N * M];
  slow_product(0, 1, N, M, M, y, l, product);
  CHECK_NEAR(apart(N * M, product, x), 0.0, 1e-12);
  memcpy(y, x, sizeof x);
  gpc_solve_rows_t(N, M, l, y);
  slow_product(0, 0, N, M, M, y, l, product);
  CHECK_NEAR(apart(N * M, product, x), 0.0, 1e-12);

  fill_normal(M, v);
  memcpy(u, v, sizeof v);
  gpc_chol_solve(M, l, u);
  slow_product(0, 0, M, 1, M, a, u, back);
  CHECK_NEAR(apart(M, back, v), 0.0, 1e-12);

  gpc_chol_inverse(M, l, inv);
  slow_product(0, 0, M, M, M, a, inv, back);
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < M; j++) {
      CHECK_NEAR(back[i + M * j], i == j, 1e-12);
      CHECK(inv[i + M * j] == inv[j + M * i]);
    }

  double value[M], work[3 * M], sum = 0.0;
  memcpy(back, a, sizeof a);
  CHECK(gpc_eigen(M, back, value, work) == GPC_OK);
  slow_product(0, 0, M, M, M, a, back, inv);
  for (size_t j = 0; j < M; j++) {
    CHECK(j == 0 || value[j] <= value[j - 1]);
    for (size_t i = 0; i < M; i++)
      CHECK_NEAR(inv[i + M * j], value[j] * back[i + M * j], 1e-12);
    sum += log(value[j]);
  }
  slow_product(1, 0, M, M, M, back, back, inv);
  for (size_t j = 0; j < M; j++)
    for (size_t i = 0; i < M; i++)
      CHECK_NEAR(inv[i + M * j], i == j, 1e-13);
  CHECK_NEAR(gpc_chol_logdet(M, l), sum, 1e-12);
}

static void test_not_positive(void) {
  double bad[4] = {1.0, 2.0, 2.0, 1.0}, thin[4] = {1.0, 0.0, 0.0, 1e-10};
  double keep[4] = {1.0, 2.0, 2.0, 1.0}, nan[4] = {1.0, NAN, NAN, 1.0};
  CHECK(gpc_chol(2, 0.0, bad) == GPC_NOT_PD);
  CHECK(gpc_chol_large(2, keep) == GPC_NOT_PD);
  CHECK(gpc_chol(2, 0.0, nan) == GPC_NOT_PD);
  CHECK(gpc_chol(2, 1e-9, thin) == GPC_NOT_PD);
  thin[0] = 1.0;
  thin[3] = 1e-10;
  CHECK(gpc_chol(2, 1e-11, thin) == GPC_OK);
}

static void test_products(void) {
  double a[N * M], b[M * N], c[N * N], d[N * N];
  fill_normal(N * M, a);
  fill_normal(M * N, b);
  for (int ta = 0; ta < 2; ta++)
    for (int tb = 0; tb < 2; tb++) {
      slow_product(ta, tb, N, 5, M, a, b, d);
      for (size_t i = 0; i < N * 5; i++) {
        c[i] = (double)i;
        d[i] = 2.0 * d[i] - 3.0 * (double)i;
      }
      gpc_gemm(ta, tb, N, 5, M, 2.0, a, b, -3.0, c);
      CHECK_NEAR(apart(N * 5, c, d), 0.0, 1e-12);
    }
  double s[N * N], x[N * M], y[N * M], z[N * M];
  fill_normal(N * N, s);
  gpc_symmetrise(N, s);
  for (size_t j = 0; j < N; j++)
    for (size_t i = 0; i < N; i++)
      CHECK(s[i + N * j] == s[j + N * i]);
  fill_normal(N * M, x);
  for (size_t k = 1; k <= M; k++) { /* four columns at a time, and what is left */
    gpc_symm(N, k, s, x, y);
    slow_product(0, 0, N, k, N, s, x, z);
    CHECK_NEAR(apart(N * k, y, z), 0.0, 1e-13);
  }
}

/* Every way in which tiles of 8 x 4 fit a product, and terms in more than one piece. */
static void test_tiles(void) {
  enum { ROWS = 19, TERMS = 70 };
  double a[ROWS * TERMS], b[ROWS * TERMS], c[ROWS * ROWS], d[ROWS * ROWS];
  fill_normal(ROWS * TERMS, a);
  fill_normal(ROWS * TERMS, b);
  for (size_t n = 1; n <= ROWS; n++)
    for (size_t k = 1; k <= 9; k++)
      for (int kind = 0; kind < 4; kind++) {
        const int ta = kind % 2, tb = kind / 2;
        slow_product(ta, tb, n, k, TERMS, a, b, d);
        gpc_gemm(ta, tb, n, k, TERMS, 1.0, a, b, 0.0, c);
        CHECK_NEAR(apart(n * k, c, d), 0.0, 1e-13);
      }
  /* no row or column depends on how many there are */
  for (int ta = 0; ta < 2; ta++) {
    gpc_gemm(ta, 0, ROWS, 9, TERMS, 1.0, a, b, 0.0, d);
    for (size_t k = 1; k <= 9; k++) {
      gpc_gemm(ta, 0, ROWS, k, TERMS, 1.0, a, b, 0.0, c);
      CHECK(memcmp(c, d, ROWS * k * sizeof(double)) == 0);
    }
  }
  gpc_gemm(1, 0, ROWS, 9, TERMS, 1.0, a, b, 0.0, d);
  for (size_t n = 1; n <= ROWS; n++) {
    gpc_gemm(1, 0, n, 9, TERMS, 1.0, a, b, 0.0, c);
    for (size_t q = 0; q < 9; q++)
      CHECK(memcmp(c + n * q, d + ROWS * q, n * sizeof(double)) == 0);
  }
  for (size_t n = 1; n <= ROWS; n++) { /* a'b symmetric */
    slow_product(1, 0, n, n, TERMS, a, a, d);
    gpc_gram(n, TERMS, a, a, c);
    CHECK_NEAR(apart(n * n, c, d), 0.0, 1e-13);
  }
}

/* Sizes at which products and solves go by packed tiles, where the processor has them: right,
 * and no row of a solution depends on how many there are. */
static void test_large(void) {
  enum { ROWS = 61, SIZE = 53, SQUARE = SIZE * SIZE };
  static double b[SQUARE], l[SQUARE], x[ROWS * SIZE], y[ROWS * SIZE], one[SIZE],
      product[ROWS * SIZE], s[ROWS * ROWS], d[SQUARE];
  fill_normal(SQUARE, b);
  slow_product(0, 1, SIZE, SIZE, SIZE, b, b, l);
  for (size_t i = 0; i < SIZE; i++)
    l[i + SIZE * i] += 10.0;
  CHECK(gpc_chol(SIZE, 0.0, l) == GPC_OK);
  fill_normal(ROWS * SIZE, x);
  for (int t = 0; t < 2; t++) {
    memcpy(y, x, sizeof x);
    (t ? gpc_solve_rows_t : gpc_solve_rows)(ROWS, SIZE, l, y);
    slow_product(0, !t, ROWS, SIZE, SIZE, y, l, product);
    CHECK_NEAR(apart(ROWS * SIZE, product, x), 0.0, 1e-12);
    for (size_t i = 0; i < ROWS; i += 7) {
      for (size_t j = 0; j < SIZE; j++)
        one[j] = x[i + ROWS * j];
      (t ? gpc_solve_rows_t : gpc_solve_rows)(1, SIZE, l, one);
      for (size_t j = 0; j < SIZE; j++)
        CHECK(one[j] == y[i + ROWS * j]);
    }
  }
  fill_normal(ROWS * ROWS, s);
  gpc_symmetrise(ROWS, s);
  gpc_symm(ROWS, SIZE, s, x, y);
  slow_product(0, 0, ROWS, SIZE, ROWS, s, x, product);
  CHECK_NEAR(apart(ROWS * SIZE, y, product), 0.0, 1e-12);
  gpc_gram(SIZE, ROWS, x, x, b);
  slow_product(1, 0, SIZE, SIZE, ROWS, x, x, d);
  CHECK_NEAR(apart(SQUARE, b, d), 0.0, 1e-12);
}

/* Interpolated value at z of f given on the nodes. */
static double interpolate(const gpc_line *line, const double *f, double z) {
  double tau, wts[GPC_STENCIL], sum = 0.0;
  int first;
  gpc_line_coordinates(line, 1, &z, &tau);
  gpc_line_weights(1, &tau, 1, &first, wts);
  CHECK(first >= 0 && (size_t)first + GPC_STENCIL <= line->g);
  for (int q = 0; q < GPC_STENCIL; q++)
    sum += wts[q] * f[first + q];
  return sum;
}

static void test_line(void) {
  gpc_line line;
  CHECK(gpc_line_make(-3.0, 4.0, -3.0, 4.0, 0.25, 0.1, 200, &line));
  CHECK(!line.bent && line.step == 0.25 && line.g <= 200);
  double f[200], z[64];
  for (size_t i = 0; i < 64; i++)
    z[i] = -3.0 + 7.0 * (double)i / 63.0;
  for (int degree = 0; degree <= 11; degree++) {
    double largest = 0.0, most = 0.0;
    for (size_t j = 0; j < line.g; j++)
      f[j] = pow(gpc_line_node(&line, j), degree);
    for (size_t i = 0; i < 64; i++) {
      most = fmax(most, fabs(interpolate(&line, f, z[i]) - pow(z[i], degree)));
      largest = fmax(largest, fabs(pow(z[i], degree)));
    }
    CHECK_NEAR(most / largest, 0.0, 1e-13);
  }
  for (size_t j = 0; j < line.g; j++)
    f[j] = exp(gpc_line_node(&line, j));
  for (size_t i = 0; i < 64; i++)
    CHECK_REL(interpolate(&line, f, z[i]), exp(z[i]), 1e-11);
  for (size_t j = 0; j < line.g; j++)
    f[j] = (double)(j == 20);
  CHECK_NEAR(interpolate(&line, f, gpc_line_node(&line, 20)), 1.0, 1e-12);
  CHECK_NEAR(interpolate(&line, f, gpc_line_node(&line, 21)), 0.0, 1e-12);
}

/* The adjoint: weights scattered onto the nodes keep counts and moments. */
static void test_adjoint(void) {
  enum { COUNT = 37 };
  gpc_line line;
  double z[COUNT], tau[COUNT], wts[GPC_STENCIL * COUNT], p[200] = {0}, total = 0.0,
                                                         first_m = 0.0;
  double sum = 0.0;
  int first[COUNT];
  gpc_line_make(-2.0, 2.0, -2.0, 2.0, 0.1, 0.1, 200, &line);
  for (size_t i = 0; i < COUNT; i++)
    sum += z[i] = 4.0 * uniform() - 2.0;
  gpc_line_coordinates(&line, COUNT, z, tau);
  gpc_line_weights(COUNT, tau, COUNT, first, wts);
  for (size_t i = 0; i < COUNT; i++) {
    double one = 0.0;
    for (size_t q = 0; q < GPC_STENCIL; q++) {
      one += wts[q * COUNT + i];
      p[(size_t)first[i] + q] += wts[q * COUNT + i];
    }
    CHECK_NEAR(one, 1.0, 1e-14);
  }
  for (size_t j = 0; j < line.g; j++) {
    total += p[j];
    first_m += p[j] * gpc_line_node(&line, j);
  }
  CHECK_NEAR(total, COUNT, 1e-12);
  CHECK_NEAR(first_m, sum, 1e-12);
}

static void test_bent_line(void) {
  gpc_line line;
  CHECK(gpc_line_make(-5000.0, 300.0, -1.0, 1.0, 0.05, 1.0 / 12.0, 700, &line));
  CHECK(line.bent && line.g <= 700);
  double f[700], low = -5000.0, high = 300.0, tau;
  for (size_t j = 0; j < line.g; j++) {
    double z = gpc_line_node(&line, j);
    gpc_line_coordinates(&line, 1, &z, &tau);
    double inside = fmin(fmax((double)j, GPC_LEFT), (double)(line.g - 7));
    CHECK_NEAR(tau, inside, 1e-9); /* beyond, held where a stencil fits */
    f[j] = z;
    if (j > 0 && fabs(z) <= 2.4)
      CHECK(z - gpc_line_node(&line, j - 1) <= 0.05 * (1.0 + 1e-12));
  }
  /* a line stays a line, and scores at its ends have their stencils */
  CHECK_REL(interpolate(&line, f, low), low, 1e-11);
  CHECK_REL(interpolate(&line, f, high), high, 1e-11);
  CHECK_NEAR(interpolate(&line, f, 0.3), 0.3, 1e-11);
  double nowhere = NAN;
  gpc_line_coordinates(&line, 1, &nowhere, &tau);
  CHECK_NEAR(tau, GPC_LEFT, 1e-9);
  /* beyond the ends: the stencils there, and not a node more */
  double beyond[] = {nowhere, -INFINITY, INFINITY, -1e300, 1e300, -6000.0};
  for (size_t i = 0; i < 6; i++) {
    double wts[GPC_STENCIL];
    int first;
    gpc_line_coordinates(&line, 1, beyond + i, &tau);
    gpc_line_weights(1, &tau, 1, &first, wts);
    CHECK(first >= 0 && (size_t)first + GPC_STENCIL <= line.g);
  }
  for (size_t j = 0; j < line.g; j++)
    f[j] = exp(-0.5 * pow(gpc_line_node(&line, j), 2.0));
  for (double z = -9.0; z <= 9.0; z += 0.013)
    CHECK_NEAR(interpolate(&line, f, z), exp(-0.5 * z * z), 1e-9);
  gpc_line fine = gpc_line_refine(&line, 3);
  CHECK(fine.g == 3 * (line.g - 1) + 1);
  for (size_t j = 0; j < line.g; j++)
    CHECK_REL(gpc_line_node(&fine, 3 * j), gpc_line_node(&line, j), 1e-10);
  CHECK(!gpc_line_make(-5000.0, 300.0, -1.0, 1.0, 1e-4, 1.0 / 12.0, 700, &line));
}

/* A linear function of all features and residuals. */
#define POINTS 9

static double weighed(gpc_basis *basis, const double *z, const double *ga,
                      const double *grho) {
  double a[POINTS * M], rho[POINTS], sum = 0.0;
  CHECK(gpc_basis_factor(basis) == GPC_OK);
  CHECK(basis->jitter == 0.0);
  gpc_basis_eval(basis, POINTS, z, a, rho);
  for (size_t i = 0; i < POINTS * M; i++)
    sum += ga[i] * a[i];
  for (size_t i = 0; i < POINTS; i++)
    sum += grho[i] * rho[i];
  return sum;
}

static double difference(gpc_basis *basis, double *at, const double *z, const double *ga,
                         const double *grho) {
  const double here = *at, h = 1e-5 * fmax(fabs(here), 0.1);
  *at = here + h;
  double up = weighed(basis, z, ga, grho);
  *at = here - h;
  double down = weighed(basis, z, ga, grho);
  *at = here;
  return (up - down) / (2.0 * h);
}

static void test_basis(void) {
  double w[M], chol[M * M], z[POINTS], ga[POINTS * M], grho[POINTS], spare[POINTS];
  for (size_t i = 0; i < M; i++)
    w[i] = 1.1 * (double)i + 0.3 * uniform();
  for (size_t i = 0; i < POINTS; i++)
    z[i] = 9.0 * uniform() - 1.0;
  fill_normal(POINTS * M, ga);
  fill_normal(POINTS, grho);
  gpc_basis basis = {M, w, {1.7, 1.3, 0.02, NULL, 0.0}, 0.0, chol};
  double a[POINTS * M], rho[POINTS], copy[POINTS * M], gw[M], outer[M * M];
  gpc_basis_grad grad = {0.0, 0.0, 0.0, gw, outer};
  weighed(&basis, z, ga, grho);
  gpc_basis_eval(&basis, POINTS, z, a, rho);
  for (size_t i = 0; i < POINTS; i++) {
    double sum = rho[i];
    for (size_t j = 0; j < M; j++)
      sum += a[i + POINTS * j] * a[i + POINTS * j];
    CHECK_NEAR(sum, 1.72, 1e-13);
  }
  gpc_basis_grad_zero(M, &grad); /* in two portions: the sums are collected */
  memcpy(copy, ga, sizeof ga);
  gpc_basis_grad_add(&basis, POINTS, z, a, copy, grho, spare, &grad);
  gpc_basis_grad_finish(&basis, &grad);
  CHECK_REL(grad.s2, difference(&basis, &basis.hyper.s2, z, ga, grho), 1e-7);
  CHECK_REL(grad.l, difference(&basis, &basis.hyper.l, z, ga, grho), 1e-7);
  CHECK_REL(grad.sn2, difference(&basis, &basis.hyper.sn2, z, ga, grho), 1e-6);
  for (size_t i = 0; i < M; i++)
    CHECK_REL(gw[i], difference(&basis, &w[i], z, ga, grho), 1e-6);

  /* at the inducing inputs themselves a(w_i)'a(w_j) is the kernel, up to the white noise
   */
  basis.hyper.sn2 = 0.0;
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  double at_w[M * M], left[M];
  gpc_basis_eval(&basis, M, w, at_w, left);
  for (size_t i = 0; i < M; i++) {
    CHECK_NEAR(left[i], 0.0, 1e-12);
    for (size_t j = 0; j < M; j++) {
      double sum = 0.0, d = w[i] - w[j];
      for (size_t q = 0; q < M; q++)
        sum += at_w[i + M * q] * at_w[j + M * q];
      CHECK_NEAR(sum, 1.7 * exp(-0.5 * d * d / (1.3 * 1.3)), 1e-12);
    }
  }
}

/* The jitter ladder: inputs that coincide, a lengthscale far beyond their range. */
static void test_jitter(void) {
  double w[M] = {0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 4.0}, chol[M * M];
  gpc_basis basis = {M, w, {2.0, 50.0, 0.0, NULL, 0.0}, 0.0, chol};
  CHECK(gpc_basis_factor(&basis) == GPC_OK);
  CHECK(basis.jitter > 0.0 && basis.jitter <= 1e-4);
  double z[3] = {-1.0, 0.5, 7.0}, a[3 * M], rho[3];
  gpc_basis_eval(&basis, 3, z, a, rho);
  for (size_t i = 0; i < 3; i++)
    CHECK(rho[i] >= 0.0 && rho[i] < 2.0);
  basis.hyper.s2 = NAN;
  CHECK(gpc_basis_factor(&basis) == GPC_NOT_PD);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void test_quantile(void) {
  double x[60], sorted[60];
  const double probs[] = {0.0, 0.025, 0.31, 0.5, 0.975, 1.0};
  for (size_t n = 1; n <= 60; n++)
    for (size_t p = 0; p < sizeof probs / sizeof *probs; p++) {
      for (size_t i = 0; i < n; i++) /* ties in every other set */
        x[i] = sorted[i] = n % 2 ? normal() : floor(5.0 * uniform());
      qsort(sorted, n, sizeof(double), ascending);
      double at = probs[p] * (double)(n - 1);
      size_t k = (size_t)at;
      double expected = k + 1 < n
                            ? sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k])
                            : sorted[n - 1];
      CHECK_NEAR(gpc_quantile(n, x, probs[p]), expected, 1e-14);
      qsort(x, n, sizeof(double), ascending); /* reordered, nothing lost */
      CHECK(memcmp(x, sorted, n * sizeof(double)) == 0);
    }
  for (size_t i = 0; i < 60; i++)
    x[i] = (double)i; /* already sorted, and backwards */
  CHECK(gpc_quantile(60, x, 0.5) == 29.5);
  for (size_t i = 0; i < 60; i++)
    x[i] = -(double)i;
  CHECK(gpc_quantile(60, x, 0.5) == -29.5);
}

int main(void) {
  test_cholesky();
  test_not_positive();
  test_products();
  test_tiles();
  test_large();
  test_line();
  test_adjoint();
  test_bent_line();
  test_basis();
  test_jitter();
  test_quantile();
  return CTEST_END();
}
