/* gp_mixture.h: the posterior averaged over the hyperparameters of the process.
 *
 * Points of a grid in (log sigma, log l), sigma^2 = s2, for each of two rough kernels
 * (gp_rough.h) are weighted by the evidence, by what it leaves open of the slope, and by
 * weak priors:
 *
 *   weight = exp(evidence) sd(slope) p(sigma) p(l),
 *   sigma ~ Exp(1/10),   log l ~ N(log(width / c), 1),  c = 5 or 3              eq. (42)
 *
 * and a line, which is a component of its own, has the prior probability settings.line and
 * that of sigmas which are as good as one. (Where one of s2 and l is held the kernel is
 * that of the fit, log l ~ N(log(width / 16), .7^2).) The mixture of their posteriors is
 * made one Gaussian with the same mean and covariance, eq. (43), in the whitened
 * coordinates of one basis, from whose inputs all components are interpolated. */
#ifndef GPC_GP_MIXTURE_H
#define GPC_GP_MIXTURE_H

#include <math.h>

#include "gp_posterior.h"
#include "gp_rough.h"

/* Who looks at a point. Passes over the data are kept in slots, and a point is looked at
 * by the surrogate of the pass in slot `from`. With `to` other than -1 a pass is made there
 * and kept in slot `to`, unless the surrogate promises less than `least` for out->value,
 * which is then good enough. Slot 0 is the optimum. *passed: whether there was a pass. With
 * GPC_MIXTURE_SLACK less than that nothing but out->value is looked at, or need be set. */
#define GPC_MIXTURE_SLOTS 8
#define GPC_MIXTURE_SLACK 1.0
typedef struct {
  void *self;
  gpc_status (*look)(void *self, int from, int to, gpc_hyper hyper, double least,
                     int *passed, gpc_posterior *out);
} gpc_mixture_looker;

/* Intervals held lines too often: standard deviations are smaller by `share` where the probability
 * of a bent map is from `some` to `low`, by less above it, and by nothing from `high` on. Below
 * `some` they are smaller by less, too: surely a line, the average is that line's posterior. */
typedef struct {
  double share, some, low, high;
} gpc_mixture_narrowing;

typedef struct {
  gpc_hyper best; /* of the optimum */
  int s2_free, l_free;
  double width; /* of the bulk of the scores */
  double l_low, l_high;
  double line;                  /* prior probability of a line, gpc_mixture_line() */
  gpc_mixture_narrowing narrow; /* gpc_mixture_narrow(); .share = 0: none */
  const gpc_roughness *rough;   /* NULL: the kernel of the fit, eq. (2) */
  const gpc_memory *memory;
} gpc_mixture_settings;

/* The prior probability of a line for k classes, eq. (42b): a row of many classes tells of
 * the map at as many scores, so that bends are seen with fewer rows. */
static inline double gpc_mixture_line(size_t k) { return k > 2 ? 0.2 : 0.12; }

/* eq. (43b), for rows of this total weight, and effects of the classes that there are with
 * probability `effects`. With 100 rows of two classes the rows rule out hardly any of the wide
 * components, and intervals held lines in 99 % of all cases, bent maps in 96 to 99 %; with 300
 * and more there was nothing to take away without making those of bent maps too short. With
 * more classes a bent map seldom leaves a line likely, and lines were held in 98 to 100 % with
 * 100 to 5000 rows, but not if there were effects; of ten classes and 100 rows in 98.3 % of
 * 1000 sets still, hence the term of few rows. Chosen on simulated truths of 2, 10 and 100
 * classes. */
static inline gpc_mixture_narrowing gpc_mixture_narrow(size_t k, double rows,
                                                       double effects) {
  const double few = rows > 100.0 ? 100.0 / rows : 1.0;
  if (k == 2)
    return (gpc_mixture_narrowing){.share = 0.26 * few * few, .high = 1.0};
  const double share = fmin(0.17 * log10((double)k) * (1.0 + 0.35 * few), 0.34);
  return (gpc_mixture_narrowing){.share =
                                     share * fmin(fmax((0.5 - effects) / 0.25, 0.0), 1.0),
                                 .some = 0.15,
                                 .low = 0.25,
                                 .high = 0.35};
}

/* The mixture as one posterior; memory for `out` is there. *points: how many components
 * it has. GPC_NOT_PD if no point could be looked at. */
gpc_status gpc_mixture_make(const gpc_mixture_looker *looker,
                            const gpc_mixture_settings *settings, gpc_posterior *out,
                            int *points);

#endif
