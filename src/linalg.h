/* linalg.h: the few dense operations on small matrices that the Gaussian process needs,
 * and the only file that sees BLAS and LAPACK. Matrices are column-major; "lower" means
 * that only the lower triangle is read. */
#ifndef GPC_LINALG_H
#define GPC_LINALG_H

#include "gpc.h"

/* Cholesky factor of the symmetric a [m x m] in place: lower triangle, zeros above.
 * GPC_NOT_PD when a pivot falls below `smallest`. */
gpc_status gpc_chol(size_t m, double smallest, double *a);

/* The same, for a few columns or a few hundred, without touching the upper triangle; any
 * positive pivot will do. */
gpc_status gpc_chol_large(size_t m, double *a);

/* l [n x n] := lower factor of c [n x n], which may be singular: a pivot of at most `smallest`
 * times its diagonal gives a column of zeros. */
void gpc_chol_semi(size_t n, double smallest, const double *c, double *l);

/* inv [n x n] := L^-1, lower, zeros above, from the lower triangle of chol. */
void gpc_lower_inverse(size_t n, const double *chol, double *inv);

/* s [n x n] := inv'inv, symmetric: (L L')^-1 from L^-1, which has zeros above its diagonal. */
void gpc_inverse_from_lower(size_t n, const double *inv, double *s);

/* x [n] := (L L')^-1 x from L^-1. work [n]. */
void gpc_lower_solve(size_t n, const double *inv, double *work, double *x);

/* x [n x m] := x L^-T, L lower [m x m]: every row x_i becomes L^-1 x_i. */
void gpc_solve_rows(size_t n, size_t m, const double *chol, double *x);

/* x [n x m] := x L^-1: every row x_i becomes L^-T x_i. */
void gpc_solve_rows_t(size_t n, size_t m, const double *chol, double *x);

/* x [m] := (L L')^-1 x. */
void gpc_chol_solve(size_t m, const double *chol, double *x);

/* inv [m x m] := (L L')^-1, full symmetric. */
void gpc_chol_inverse(size_t m, const double *chol, double *inv);

/* log det(L L'). */
double gpc_chol_logdet(size_t m, const double *chol);

/* c [n x k] := alpha a b + beta c with a [n x m] and b [m x k]; ta, tb transpose a, b as
 * stored ([m x n], [k x m]). Written to vectorise, whatever the BLAS: the matrices here
 * are small. */
void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c);

/* The same by tiles where that is faster (linalg_tiles.h). The last digits then depend on the
 * sizes: not for predictions, where a row's must not depend on how many rows there are. */
void gpc_gemm_large(int ta, int tb, size_t n, size_t k, size_t m, double alpha,
                    const double *a, const double *b, double beta, double *c);

/* c [n x n] += alpha a a', a [n x m]: its lower triangle, at least. */
void gpc_syrk_large(size_t n, size_t m, double alpha, const double *a, double *c);

/* c [n x n] := a'b, a and b [m x n], where the product is known to be symmetric. */
void gpc_gram(size_t n, size_t m, const double *a, const double *b, double *c);

/* c [n x k] := a b with a [n x n] symmetric (both triangles) and b [n x k]. */
void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c);

/* a'b, a and b [n]. */
static inline double gpc_dot(size_t n, const double *a, const double *b) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* Eigenvectors of the symmetric a [m x m] in place, by descending eigenvalue (value [m]),
 * with signs that rounding does not decide.
 * work [3 m]. */
gpc_status gpc_eigen(size_t m, double *a, double *value, double *work);

/* Copy the lower triangle of a [m x m] to the upper one. */
void gpc_symmetrise(size_t m, double *a);

#endif
