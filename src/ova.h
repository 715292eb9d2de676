/* ova.h: binary calibrators for any number of classes, one against the rest.
 *
 * The score of class j is its probability p_j (after the softmax, for logits) or its
 * log-odds log(p_j / (1 - p_j)). Every class has a map; a row of the result is
 * (v_1(s_1), ..., v_K(s_K)) divided by its sum, or the row of probabilities that went in
 * where the sum is zero. Two classes have one map, that of the second: (1 - v, v). */
#ifndef GPC_OVA_H
#define GPC_OVA_H

#include "curve.h"

typedef enum { GPC_MAP_CURVE, GPC_MAP_PLATT, GPC_MAP_BETA } gpc_map_kind;

/* The maps of all classes, `maps` = K of them or 1 for two classes. */
typedef struct {
  gpc_map_kind kind;
  size_t maps;
  /* GPC_MAP_CURVE: points start[j] .. start[j + 1] - 1 of x and y are those of map j */
  gpc_curve_kind curve;
  const double *x, *y;
  const int *start; /* [maps + 1] */
  /* GPC_MAP_PLATT: slope, intercept; GPC_MAP_BETA: a, b, c; coef [p x maps] */
  const double *coef;
  /* GPC_MAP_PLATT: what scores are limited to, low and high, [2 x maps] */
  const double *range;
  double clip;  /* GPC_MAP_BETA: z and 1 - z are at least this */
  int log_odds; /* GPC_MAP_PLATT: scores are log-odds */
} gpc_ova;

/* value [n] of map j at score [n]; rest [n] is one minus it, looked at by GPC_MAP_BETA
 * alone, or NULL to have it computed. value may be score or rest. */
void gpc_ova_map(const gpc_ova *ova, size_t j, size_t n, const double *score,
                 const double *rest, double *value);

/* p [n x k] from z [n x k], probabilities or logits. poll may be NULL. */
void gpc_ova_predict(const gpc_ova *ova, size_t n, size_t k, const double *z, int logits,
                     int threads, gpc_poll poll, void *poll_data, double *p);

/* Log-odds [n x k] of every class against the rest, from probabilities or logits: 0 and 1
 * give infinities. odds may be z itself. */
void gpc_log_odds(size_t n, size_t k, const double *z, int logits, int threads,
                  double *odds);

#endif
