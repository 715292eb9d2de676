/* resample.h: the same measures on data drawn again.
 *
 * Draws come from a counter-based generator: number i of replicate r is a function of
 * (seed, purpose, r, i) alone. So a replicate is the same whichever call makes it, and
 * runs can be cut into chunks anywhere. */
#ifndef GPC_RESAMPLE_H
#define GPC_RESAMPLE_H

#include "measures.h"

/* Numbers with different purposes are independent. Band k, from 0, is GPC_DRAW_BAND + k.
 */
enum { GPC_DRAW_BOOT = 0, GPC_DRAW_NULL = 1, GPC_DRAW_BAND = 2 };

/* Where the stream of a replicate starts. */
uint64_t gpc_stream(uint64_t seed, uint64_t purpose, uint64_t replicate);

/* The finaliser of splitmix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t gpc_mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Number i of a stream, uniform on [0, 1): multiples of 2^-53. (By way of a signed whole
 * number, whose conversion is one instruction.) */
static inline double gpc_stream_uniform(uint64_t stream, uint64_t i) {
  uint64_t bits = gpc_mix64(stream + i * UINT64_C(0x9e3779b97f4a7c15)) >> 11;
  return (double)(int64_t)bits * 0x1p-53;
}

/* What the bootstrap sums up, per row: each times the row's weight. */
enum {
  GPC_BOOT_WEIGHT, /* 1 */
  GPC_BOOT_RIGHT,  /* the prediction is right */
  GPC_BOOT_OVER,   /* confidence, if it is wrong */
  GPC_BOOT_UNDER,  /* 1 - confidence, if it is right */
  GPC_BOOT_LOSS,   /* -log p of the label */
  GPC_BOOT_BRIER,  /* sum of squares, over all classes or of the last of two */
  GPC_BOOT_WRONG,  /* 1 if the most likely class is not the label */
  GPC_BOOT_FIRST,  /* how many these are; products follow, for standard errors: */
  GPC_BOOT_PAIRS = 5,
  GPC_BOOT_SUMS = GPC_BOOT_FIRST + 3 * GPC_BOOT_PAIRS /* how many all are */
};

/* Measures are ratios of sums, sum_i a_i / sum_i b_i: the log loss and the Brier score
 * over the weight, overconfidence over the wrong rows, underconfidence over the right
 * ones, and the signed gap (over - under) over the weight, in this order. Products a a, a
 * b, b b of pair p stand at GPC_BOOT_FIRST + 3 p: they give the standard error of the
 * ratio. */

/* Fills rows [GPC_BOOT_SUMS x units]. A unit is a row (group NULL, units = n), or all
 * rows with the same group [n], 1 .. units. Rows of weight zero are all zero.
 * Probabilities below eps count as eps in the log loss. */
void gpc_boot_rows(const gpc_forecast *f, double eps, const int *group, size_t units,
                   double *rows);

/* Ints of work space for drawing n rows. */
size_t gpc_boot_blocks(size_t n);

/* Sums over n units drawn with replacement, for replicates first .. first + count - 1:
 * sums [GPC_BOOT_SUMS x count]. work: gpc_boot_blocks(n) ints. */
void gpc_boot_draw(size_t n, const double *rows, uint64_t seed, size_t first,
                   size_t count, int *work, double *sums, gpc_poll poll, void *data);

/* Signs -1 and 1 with probability 1/2 each: out [n x count]. */
void gpc_sign_draw(size_t n, uint64_t seed, size_t first, size_t count, double *out);

/* A forecast prepared for drawing labels from its own probabilities. A cell is a bin of a
 * problem: number problem * bins + bin. The caller provides the arrays. */
typedef struct {
  size_t problems, bins;   /* bins as asked for, the stride between problems */
  gpc_binning *binning;    /* [problems] */
  double *edges;           /* [(bins + 1) x problems] */
  gpc_bin_sums sums;       /* [bins x problems] each; hits as observed */
  double *drawn;           /* [bins x problems], the hits of a replicate */
  double *gaps;            /* [bins] */
  double *errors, *shares; /* [problems] each */
  int *cell;               /* [n], or for "classwise" [k x n]: rows are contiguous */
  double *cumulative;      /* "classwise": [k x n], sums of p over the classes so far */
  void *sort;              /* gpc_binning_mass_work(n) bytes, if spec->mass */
  gpc_by_class groups;     /* if type is "top_label" */
} gpc_null;

/* Bins every row once. */
void gpc_null_prepare(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                      gpc_poll poll, void *data);

/* Calibration error by `spec`, then with norm Inf, of the labels as they are: out [2]. */
void gpc_null_observed(const gpc_ece_spec *spec, gpc_null *null, double *out);

/* The same with labels drawn anew, for replicates first .. first + count - 1:
 * out [2 x count]. */
void gpc_null_draw(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                   uint64_t seed, size_t first, size_t count, double *out, gpc_poll poll,
                   void *data);

/* The same for rows that depend on each other within groups: residuals (hit -
 * probability) of a whole group keep their sign or all change it, with probability 1/2 (a
 * wild bootstrap under calibration). group [n], 1 .. units, in the order of the rows as
 * `null` has them (sorted by predicted class for "top_label"). sign [units] is work
 * space. */
void gpc_null_wild(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                   const int *group, size_t units, double *sign, uint64_t seed,
                   size_t first, size_t count, double *out, gpc_poll poll, void *data);

/* Isotonic regression of outcomes drawn again; rows sorted by score. */
typedef struct {
  size_t n;
  const double *prob;    /* [n], what an outcome is drawn from */
  const double *weights; /* [n] or NULL */
  const int *tie;        /* [n], group of tied scores as gpc_pava_ties() gives them */
  size_t m;              /* how many of these there are, with */
  const double *score;   /* [m] their score */
  const double *weight;  /* [m] and their weight */
  /* Rows that depend on each other, or NULL: */
  const int *group;  /* [n], 1 .. units */
  size_t units;      /* number of groups */
  const double *hit; /* [n], the outcomes 0 and 1: residuals hit - prob keep or change
                      * their sign, a group's together */
} gpc_band;

/* Doubles and ints of work space. */
size_t gpc_band_work(const gpc_band *band);
size_t gpc_band_work_int(const gpc_band *band);

/* The fit at each point of at [points], linear between the scores and constant outside,
 * goes to out [points x count]. purpose: GPC_DRAW_BAND + k. */
void gpc_band_draw(const gpc_band *band, size_t points, const double *at, uint64_t seed,
                   uint64_t purpose, size_t first, size_t count, double *work,
                   int *work_int, double *out, gpc_poll poll, void *data);

#endif
