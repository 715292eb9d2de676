/* measures.h: how far probabilities are from what happened.
 *
 * All that concerns calibration is a binary problem: a score in [0, 1] against whether
 * something happened. The types of calibration differ in the problems they pose:
 *   confidence  one: row maxima against "the prediction is right";
 *   event       one: a class's probability against "the label is that class";
 *   classwise   one like event for each class;
 *   top_label   one like confidence within the rows of each predicted class.
 * A problem is reduced to sums over bins, and these to a calibration error; all other
 * measures come from sums over all rows. Sums of parts of a forecast add up to those of
 * the whole. */
#ifndef GPC_MEASURES_H
#define GPC_MEASURES_H

#include "binning.h"

/* Probabilities and what is known of them. Classes are numbered from 1. */
typedef struct {
  size_t n, k;
  const double *probs;   /* [n x k], rows sum to 1 */
  const int *labels;     /* [n] */
  const double *conf;    /* [n], row maxima */
  const int *pred;       /* [n], the first class that attains it */
  const double *weights; /* [n], non-negative, some positive; or NULL: all 1 */
} gpc_forecast;

typedef enum { GPC_CONFIDENCE, GPC_CLASSWISE, GPC_TOP_LABEL, GPC_EVENT } gpc_ece_type;
typedef enum { GPC_MEAN, GPC_MIDPOINT, GPC_UNWEIGHTED } gpc_ece_estimator;

/* Which calibration error. */
typedef struct {
  gpc_ece_type type;
  int event;                   /* the class of type "event" */
  size_t bins;                 /* asked for; equal mass may give fewer */
  int mass;                    /* bins of equal mass, not of equal width */
  gpc_ece_estimator estimator; /* what stands for a bin's score, and how bins count */
  double norm;                 /* p in [1, Inf] */
  int debias;                  /* take off the variance of the frequencies; p = 2 */
} gpc_ece_spec;

/* Score against hit; row i is a hit when code[i] is target[i], or is event. */
typedef struct {
  size_t n;
  const double *score;   /* [n] */
  const int *code;       /* [n] */
  const int *target;     /* [n], or NULL: event in every row */
  int event;             /* used without target */
  const double *weights; /* [n] or NULL */
} gpc_problem;

/* Number of problems of a type with k classes. */
size_t gpc_problem_count(gpc_ece_type type, size_t k);

/* Rows regrouped by predicted class, in their order within it: what "top_label" needs.
 * Rows of class c are start[c - 1] .. start[c] - 1. */
typedef struct {
  size_t *start;   /* [k + 1] */
  double *conf;    /* [n] */
  int *labels;     /* [n] */
  double *weights; /* [n]; NULL when the forecast has none */
} gpc_by_class;

/* Fills `groups`, whose arrays the caller provides. */
void gpc_by_class_fill(const gpc_forecast *f, gpc_by_class *groups);

/* Problem s (from 0) of a forecast. `groups` is looked at for "top_label" only. */
gpc_problem gpc_problem_get(const gpc_forecast *f, const gpc_ece_spec *spec,
                            const gpc_by_class *groups, size_t s);

/* The bins that `spec` asks for. work: gpc_binning_mass_work(n) bytes if spec->mass. */
gpc_binning gpc_problem_bins(const gpc_problem *problem, const gpc_ece_spec *spec,
                             size_t k, double *edges, void *work);

/* Sums over the rows of each bin; every array is [bins]. */
typedef struct {
  double *weight; /* of the rows */
  double *score;  /* weighted sum of the scores */
  double *hits;   /* weight of the hits */
  double *count;  /* rows of positive weight; or NULL, then left out */
  double *square; /* sum of the squared weights; or NULL with count */
} gpc_bin_sums;

/* One pass over the rows. Overwrites sums; does nothing when there are no bins. */
void gpc_bin_sums_fill(const gpc_problem *problem, const gpc_binning *binning,
                       gpc_bin_sums sums);

/* The calibration error of one problem from its sums. gaps: work space [bins]. */
double gpc_bin_sums_error(const gpc_binning *binning, gpc_bin_sums sums,
                          const gpc_ece_spec *spec, double *gaps);

/* (sum_i share_i x_i^p / total)^(1/p) for x >= 0; for p = Inf the largest x with a
 * positive share; 0 when no share is positive. share NULL: all 1. */
double gpc_power_mean(size_t n, const double *share, double total, const double *x,
                      double p);

/* The errors of all problems as one, by the norm: equally ("classwise") or by their
 * weight ("top_label"). errors, weights: [problems]; the latter are overwritten. */
double gpc_problem_errors(const gpc_ece_spec *spec, size_t problems, const double *errors,
                          double *weights);

/* What accuracy, over- and underconfidence and their gap need. */
typedef struct {
  double weight; /* of all rows */
  double right;  /* of the rows predicted right */
  double over;   /* weighted sum of conf over the rows predicted wrong */
  double under;  /* weighted sum of 1 - conf over the rows predicted right */
  double wrong;  /* weight of the rows predicted wrong */
} gpc_totals;

gpc_totals gpc_measure_totals(const gpc_forecast *f);

/* Weighted sum of squares of x [n] about its mean. */
double gpc_measure_spread(size_t n, const double *x, const double *weights);

/* What the mean of a loss needs. */
typedef struct {
  double weight;     /* of the rows */
  double sum;        /* weighted sum of the loss where it is finite */
  double impossible; /* weight of the rows where it is not */
} gpc_loss;

/* -sum_n w_n log max(p_{n,y_n}, eps). Rows of weight zero do not count. */
gpc_loss gpc_measure_log_loss(const gpc_forecast *f, double eps);

/* sum_n w_n sum_k (p_nk - [y_n = k])^2, over all classes (event = 0) or of class `event`
 * alone. Uses neither conf nor pred. */
gpc_loss gpc_measure_brier(const gpc_forecast *f, int event, gpc_poll poll, void *data);

#endif
