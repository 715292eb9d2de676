/* gp_wide_rows.h: what a class's effects depend on where there are many classes, eq. (39b),
 * and linear forms of the effects.
 *
 * With p the temperature-scaled probabilities softmax(steep z) of a row of K classes
 *
 *   offset   1
 *   power    q_k = max(log p_k, -30), of the class itself
 *   softmax  x_j = max(p_j - 1/(2 K), 0), j = 1 .. K
 *
 * Half of what each class had if all were equal is as good as nothing, so that few x of a row
 * are not 0: sums over j are over those. Effects lie in one vector e: offsets [k], powers [k], and W [k x k], in whose
 * column j is what class j's x does to every class. */
#ifndef GPC_GP_WIDE_ROWS_H
#define GPC_GP_WIDE_ROWS_H

#include "gp_model.h"
#include "memory.h"

#include <stdint.h>

typedef enum {
  GPC_WIDE_OFFSET,
  GPC_WIDE_POWER,
  GPC_WIDE_SOFTMAX,
  GPC_WIDE_PARTS
} gpc_wide_part;

/* Classes are short: gp_control() has at most 2000 with a matrix. */
typedef struct {
  size_t count;          /* of the x that are not 0 ... */
  const uint16_t *class; /* [count] ... whose they are ... */
  const double *x;       /* [count] ... and what they are */
  const float *q;        /* [k] */
} gpc_wide_row;

static inline uint16_t *gpc_get_classes(const gpc_memory *memory, size_t n) {
  return memory->get(memory->self, (n ? n : 1) * sizeof(uint16_t));
}

/* Where a part begins in e, and its end. */
static inline size_t gpc_wide_first(size_t k, int part) {
  return part < GPC_WIDE_PARTS ? (size_t)part * k : 2 * k + k * k;
}

static inline size_t gpc_wide_size(size_t k) { return gpc_wide_first(k, GPC_WIDE_PARTS); }

/* The features of a row with scores z [k], which are overwritten: q [k], class and x [k at
 * the most; both have room for k]. Returns how many x there are. */
size_t gpc_wide_features(size_t k, double steep, double *z, float *q, uint16_t *class,
                         double *x);

/* rows [n] of all data; memory of what they point to, a few numbers to a row. Without
 * `powers` q stays NULL, as if it were 0, ... */
gpc_wide_row *gpc_wide_rows_get(const gpc_gp_data *data, double steep, int powers,
                                const gpc_memory *memory);

/* ... until it is asked for: k numbers to a row. */
void gpc_wide_rows_powers(const gpc_gp_data *data, double steep, const gpc_memory *memory,
                          gpc_wide_row *rows);

/* f [k] := the sum of effects e in a row; with `squared` of their variances e, that is with
 * squares of the features. */
void gpc_wide_forward(size_t k, const gpc_wide_row *row, const double *e, int squared,
                      double *f);

/* Its transpose: to += what r [k] gives each effect. */
void gpc_wide_backward(size_t k, const gpc_wide_row *row, const double *r, int squared,
                       double *to);

#endif
