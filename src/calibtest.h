/* calibtest.h: statistics of tests of calibration, with labels as they are or drawn from
 * the probabilities, which is what the tests take calibration to be. */
#ifndef GPC_CALIBTEST_H
#define GPC_CALIBTEST_H

#include "gpc.h"

/* Rows of cumulative probabilities, contiguous: cumulative [k x n] of p [n x k]. */
void gpc_cumulate_rows(size_t n, size_t k, const double *p, double *cumulative);

/* A label (1..k) for every row: the first class whose cumulative probability exceeds a
 * uniform share of their sum, never one of probability zero. stream: gpc_stream(). */
void gpc_draw_labels(size_t n, size_t k, const double *cumulative, uint64_t stream,
                     int *label);

/* Miscalibration ------------------------------------------------------------------------
 * What isotonic recalibration of every class would take off the Brier score (Dimitriadis,
 * Gneiting and Jordan, 2021), summed over the classes; of the second alone when there are
 * two. Sorted once, for any number of sets of labels. */
typedef struct {
  size_t n, maps, first; /* classes first .. first + maps - 1, from 0 */
  size_t *groups;        /* [maps]: groups of tied probabilities */
  int *group_of;         /* [n x maps]: the group of each row */
  double *score;         /* [n x maps]: the probability of each group */
  double *weight;        /* [n x maps]: the number of its rows */
  double *hits, *pooled; /* [n] each */
  int *start;            /* [n] */
} gpc_mcb;

/* Fills groups, group_of, score and weight. work: gpc_radix_work(n) bytes and n ints. */
void gpc_mcb_prepare(size_t n, size_t k, const double *p, gpc_mcb *mcb, void *work);

/* Miscalibration of labels [n], per row. */
double gpc_mcb_value(const gpc_mcb *mcb, const int *label);

/* The same with outcomes p + sign (y - p), the sign that of the row's group: what it is when the
 * residuals of whole groups keep or change their sign. group [n]: 1..units; sign [units]. All signs
 * 1 give gpc_mcb_value(). */
double gpc_mcb_signed(const gpc_mcb *mcb, const int *label, const int *group,
                      const double *sign);

/* Squared kernel calibration error
 * ------------------------------------------------------- Widmann, Lindsten and Zachariah
 * (2019), with the kernel k(p, q) times the identity: h_ij = k(p_i, p_j) (e_{y_i} -
 * p_i)'(e_{y_j} - p_j). */
typedef enum { GPC_KERNEL_LAPLACE, GPC_KERNEL_GAUSSIAN } gpc_skce_kernel;

/* Distance of rows i and j of p [n x k]: total variation for the Laplace kernel,
 * Euclidean for the Gaussian one. */
double gpc_skce_distance(gpc_skce_kernel kernel, size_t n, size_t k, const double *p,
                         size_t i, size_t j);

/* exp(-d / width) or exp(-d^2 / (2 width^2)). */
double gpc_skce_value(gpc_skce_kernel kernel, double distance, double width);

/* h of rows (1, 2), (3, 4), ...: h [floor(n / 2)], for the linear estimator. */
void gpc_skce_pairs(gpc_skce_kernel kernel, double width, size_t n, size_t k,
                    const double *p, const int *label, double *h);

/* All kernel values and what does not depend on labels. */
typedef struct {
  size_t n, k;
  double *kernel;  /* [n (n - 1) / 2]: row i holds j < i */
  double *cross;   /* [n x k]: sum_{j != i} k_ij p_jc */
  double constant; /* sum_{i < j} k_ij p_i'p_j */
} gpc_skce;

void gpc_skce_prepare(gpc_skce_kernel kernel, double width, const double *p,
                      gpc_skce *skce, gpc_poll poll, void *data);

/* The unbiased quadratic estimator: the mean of h_ij over i < j. */
double gpc_skce_quadratic(const gpc_skce *skce, const int *label);

/* Sums of h_ij over the pairs of rows of two different groups: sums [units x units], symmetric, with
 * zeros on the diagonal. group [n]: 1..units; residual [n x k] is overwritten. */
void gpc_skce_groups(gpc_skce_kernel kernel, double width, size_t n, size_t k,
                     const double *p, const int *label, const int *group, size_t units,
                     double *residual, double *sums, gpc_poll poll, void *data);

#endif
