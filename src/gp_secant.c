/* gp_secant.c: see gp_secant.h. */
#include "gp_secant.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

void gpc_secants_reset(gpc_secants *secants, size_t g, const gpc_memory *memory) {
  secants->g = g;
  secants->pairs = secants->terms = 0;
  secants->move = gpc_buffer_need(memory, &secants->moves, GPC_MOST_PAIRS * g);
  secants->fall = gpc_buffer_need(memory, &secants->falls, GPC_MOST_PAIRS * g);
  secants->term = gpc_buffer_need(memory, &secants->all_terms, 2 * GPC_MOST_PAIRS * g);
}

void gpc_secants_add(gpc_secants *secants, const double *psi_here,
                     const double *psi_there, const double *b_here,
                     const double *b_there) {
  const size_t g = secants->g;
  if (secants->pairs == GPC_MOST_PAIRS) {
    secants->pairs--;
    memmove(secants->move, secants->move + g, secants->pairs * g * sizeof(double));
    memmove(secants->fall, secants->fall + g, secants->pairs * g * sizeof(double));
  }
  double *move = secants->move + g * secants->pairs;
  double *fall = secants->fall + g * secants->pairs;
  for (size_t i = 0; i < g; i++) {
    move[i] = psi_there[i] - psi_here[i];
    fall[i] = b_here[i] - b_there[i];
  }
  secants->pairs++;
}

#define LEAST_LEFT 0.1 /* of the curvature along a move (Powell's damping) */

/* One pair, s = move and y = fall: W := W - u u' / s'u + y y' / s'y with u = W s, where y
 * is drawn towards u when it would leave too little: eq. (21). */
static void update(gpc_secants *secants, const double *w, size_t pair) {
  const size_t g = secants->g;
  const double *s = secants->move + g * pair, *fall = secants->fall + g * pair;
  double *u = secants->term + g * secants->terms, *y = u + g;
  gpc_symm(g, 1, w, s, u);
  for (size_t e = 0; e < secants->terms; e++) {
    const double *term = secants->term + g * e;
    const double along = secants->scale[e] * gpc_dot(g, term, s);
    for (size_t i = 0; i < g; i++)
      u[i] += along * term[i];
  }
  const double su = gpc_dot(g, s, u), sy = gpc_dot(g, s, fall);
  if (!(su > 0.0) || !isfinite(sy))
    return;
  const double theta = sy < LEAST_LEFT * su ? (1.0 - LEAST_LEFT) * su / (su - sy) : 1.0;
  for (size_t i = 0; i < g; i++)
    y[i] = theta * fall[i] + (1.0 - theta) * u[i];
  secants->scale[secants->terms++] = -1.0 / su;
  secants->scale[secants->terms++] = 1.0 / (theta * sy + (1.0 - theta) * su);
}

void gpc_secants_build(gpc_secants *secants, const double *w) {
  secants->terms = 0;
  for (size_t pair = 0; pair < secants->pairs; pair++)
    update(secants, w, pair);
}
