/* ctest.h: the smallest test harness that counts.
 *
 *   #include "ctest.h"
 *
 *   int main(void) {
 *     CHECK(1 + 1 == 2);
 *     CHECK_NEAR(exp(0.0), 1.0, 1e-15);
 *     return CTEST_END();
 *   }
 *
 * CTEST_END() prints `name: N passed, N failed` and is non-zero if a check failed or if
 * there was none. Checks are counted one by one and never stop the program. Call them
 * from one thread. Each macro is an expression: 1 if the check held, 0 if not. */
#ifndef CTEST_H
#define CTEST_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static long ctest_passed, ctest_failed;

static inline int ctest_count(int ok) {
  if (ok)
    ctest_passed++;
  else
    ctest_failed++;
  return ok;
}

static inline int ctest_check(int ok, const char *text, const char *file, int line) {
  if (!ok)
    printf("%s:%d: failed: %s\n", file, line, text);
  return ctest_count(ok);
}

/* |a - b| <= bound; equal infinities agree, a NaN agrees with nothing. */
static inline int ctest_close(double a, double b, double bound, const char *text,
                              const char *file, int line) {
  int ok = a == b || fabs(a - b) <= bound;
  if (isinf(a) || isinf(b))
    ok = a == b;
  if (!ok)
    printf("%s:%d: failed: %s: %.17g against %.17g, apart by %.3g, allowed %.3g\n", file,
           line, text, a, b, fabs(a - b), bound);
  return ctest_count(ok);
}

static inline int ctest_rel(double a, double b, double tol, const char *text,
                            const char *file, int line) {
  return ctest_close(a, b, tol * fmax(fabs(a), fabs(b)), text, file, line);
}

static inline int ctest_end(const char *file) {
  const char *slash = strrchr(file, '/');
  const char *name = slash ? slash + 1 : file;
  const char *dot = strrchr(name, '.');
  int length = dot ? (int)(dot - name) : (int)strlen(name);
  if (ctest_passed + ctest_failed == 0) {
    printf("%s: no check was made\n", file);
    ctest_failed++;
  }
  printf("%.*s: %ld passed, %ld failed\n", length, name, ctest_passed, ctest_failed);
  fflush(stdout);
  return ctest_failed != 0;
}

/* A condition. */
#define CHECK(cond) ctest_check((cond) ? 1 : 0, #cond, __FILE__, __LINE__)

/* |a - b| <= tol. */
#define CHECK_NEAR(a, b, tol)                                                            \
  ctest_close((double)(a), (double)(b), (double)(tol), #a " near " #b, __FILE__, __LINE__)

/* |a - b| <= tol * max(|a|, |b|). */
#define CHECK_REL(a, b, tol)                                                             \
  ctest_rel((double)(a), (double)(b), (double)(tol), #a " near " #b, __FILE__, __LINE__)

/* The last line of main(): return CTEST_END(); */
#define CTEST_END() ctest_end(__FILE__)

#endif
