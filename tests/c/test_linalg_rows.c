/* linalg_rows.h: products with many rows against sums by the definition; a row's results are
 * the same to the last bit whatever the rows beside it. */
#include "cmemory.h"
#include "ctest.h"
#include "linalg_rows.h"

#define ROWS 19
#define TERMS 23

static double number(size_t i) { return sin(1.0 + 1.7 * (double)i); }

static void test_rows(size_t results) {
  const gpc_row_matrix w = gpc_row_matrix_get(&cmemory, results, TERMS);
  const size_t step = gpc_row_matrix_step(&w);
  double x[TERMS * ROWS], *y = gpc_get_doubles(&cmemory, step * ROWS);
  double *alone = gpc_get_doubles(&cmemory, step);
  for (size_t i = 0; i < TERMS * ROWS; i++)
    x[i] = number(i);
  for (size_t q = 0; q < results; q++)
    for (size_t p = 0; p < TERMS; p++)
      *gpc_row_matrix_at(&w, q, p) = number(1000 + q + results * p);
  gpc_row_products(&w, ROWS, x, y);
  for (size_t i = 0; i < ROWS; i++) {
    double off = 0.0;
    gpc_row_products(&w, 1, x + TERMS * i, alone);
    for (size_t q = 0; q < step; q++) {
      double sum = 0.0;
      for (size_t p = 0; p < TERMS && q < results; p++)
        sum += number(1000 + q + results * p) * x[p + TERMS * i];
      off = fmax(off, fabs(sum - y[q + step * i]));
    }
    CHECK(off < 1e-13);
    CHECK(memcmp(alone, y + step * i, step * sizeof(double)) == 0);
  }
  cmemory_end();
}

/* Within the bound of linalg_rows.h, by as many terms as take three sums. */
static void test_singles(size_t results, size_t terms) {
  const gpc_single_matrix w = gpc_single_matrix_get(&cmemory, results, terms);
  const size_t step = gpc_single_matrix_step(&w);
  float *x = gpc_get_floats(&cmemory, terms * ROWS);
  double *y = gpc_get_doubles(&cmemory, step * ROWS);
  double *alone = gpc_get_doubles(&cmemory, step);
  for (size_t i = 0; i < terms * ROWS; i++)
    x[i] = (float)number(i);
  for (size_t q = 0; q < results; q++)
    for (size_t p = 0; p < terms; p++)
      *gpc_single_matrix_at(&w, q, p) = (float)number(1000 + q + results * p);
  gpc_single_products(&w, ROWS, x, y);
  for (size_t i = 0; i < ROWS; i++) {
    double off = 0.0;
    gpc_single_products(&w, 1, x + terms * i, alone);
    for (size_t q = 0; q < step; q++) {
      double sum = 0.0, size = 1e-300;
      for (size_t p = 0; p < terms && q < results; p++) {
        const double term = number(1000 + q + results * p) * number(p + terms * i);
        sum += term;
        size += fabs(term);
      }
      off = fmax(off, fabs(sum - y[q + step * i]) / size);
    }
    CHECK(off < (GPC_SINGLE_TERMS + 4) * 0x1p-24);
    CHECK(memcmp(alone, y + step * i, step * sizeof(double)) == 0);
  }
  cmemory_end();
}

static void test_small(size_t n, size_t k, size_t m, int some) {
  const size_t along = some ? 2 * k : k;
  double *a = gpc_get_doubles(&cmemory, n * m), *b = gpc_get_doubles(&cmemory, m * along);
  double *c = gpc_get_doubles(&cmemory, n * k), off = 0.0;
  size_t *which = gpc_get_sizes(&cmemory, k);
  for (size_t j = 0; j < k; j++)
    which[j] = some ? 2 * (k - j) - 1 : j;
  for (size_t i = 0; i < n * m; i++)
    a[i] = number(i);
  for (size_t i = 0; i < m * along; i++)
    b[i] = number(500 + i);
  gpc_small_product(n, k, m, a, b, along, some ? which : NULL, c);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      double sum = 0.0;
      for (size_t p = 0; p < m; p++)
        sum += a[i + n * p] * b[which[j] + along * p];
      off = fmax(off, fabs(sum - c[i + n * j]));
    }
  CHECK(off < 1e-13);
  cmemory_end();
}

int main(void) {
  test_rows(5);
  test_rows(8);
  test_rows(17);
  test_singles(5, 23);
  test_singles(16, 64);
  test_singles(45, 150);
  for (int some = 0; some < 2; some++) {
    test_small(8, 1, 0, some); /* no terms: zeros */
    test_small(4, 3, 5, some);
    test_small(8, 3, 5, some);
    test_small(12, 10, 9, some);
    test_small(32, 11, 16, some);
  }
  return CTEST_END();
}
