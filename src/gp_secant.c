/* gp_secant.c: see gp_secant.h. */
#include "gp_secant.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

void gpc_secants_reset(gpc_secants *secants, size_t g, const gpc_memory *memory) {
  secants->g = g;
  secants->pairs = secants->terms = 0;
  secants->step = gpc_buffer_need(memory, &secants->steps, GPC_MOST_PAIRS * g);
  secants->change = gpc_buffer_need(memory, &secants->changes, GPC_MOST_PAIRS * g);
  secants->term = gpc_buffer_need(memory, &secants->all_terms, 2 * GPC_MOST_PAIRS * g);
}

void gpc_secants_add(gpc_secants *secants, const double *psi_here,
                     const double *psi_there, const double *b_here,
                     const double *b_there) {
  const size_t g = secants->g;
  if (secants->pairs == GPC_MOST_PAIRS) {
    secants->pairs--;
    memmove(secants->step, secants->step + g, secants->pairs * g * sizeof(double));
    memmove(secants->change, secants->change + g, secants->pairs * g * sizeof(double));
  }
  double *step = secants->step + g * secants->pairs;
  double *change = secants->change + g * secants->pairs;
  for (size_t i = 0; i < g; i++) {
    step[i] = psi_there[i] - psi_here[i];
    change[i] = b_here[i] - b_there[i];
  }
  secants->pairs++;
}

#define LEAST_LEFT 0.1 /* of the curvature along a step (Powell's damping) */

/* eq. (21), one pair: W := W - bent bent' / step'bent + drawn drawn' / step'drawn with
 * bent = W step, and drawn the change, drawn towards bent when it would leave too little.
 */
static void update(gpc_secants *secants, const double *w, size_t pair) {
  const size_t g = secants->g;
  const double *step = secants->step + g * pair, *change = secants->change + g * pair;
  double *bent = secants->term + g * secants->terms, *drawn = bent + g;
  gpc_symm(g, 1, w, step, bent);
  for (size_t e = 0; e < secants->terms; e++) {
    const double *term = secants->term + g * e;
    const double along = secants->scale[e] * gpc_dot(g, term, step);
    for (size_t i = 0; i < g; i++)
      bent[i] += along * term[i];
  }
  const double before = gpc_dot(g, step, bent), seen = gpc_dot(g, step, change);
  if (!(before > 0.0) || !isfinite(seen))
    return;
  const double theta =
      seen < LEAST_LEFT * before ? (1.0 - LEAST_LEFT) * before / (before - seen) : 1.0;
  for (size_t i = 0; i < g; i++)
    drawn[i] = theta * change[i] + (1.0 - theta) * bent[i];
  secants->scale[secants->terms++] = -1.0 / before;
  secants->scale[secants->terms++] = 1.0 / (theta * seen + (1.0 - theta) * before);
}

void gpc_secants_build(gpc_secants *secants, const double *w) {
  secants->terms = 0;
  for (size_t pair = 0; pair < secants->pairs; pair++)
    update(secants, w, pair);
}
