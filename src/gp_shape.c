/* gp_shape.c: see gp_shape.h. */
#include "gp_shape.h"
#include "linalg.h"

#include <float.h>
#include <math.h>

#define POINTS 400

int gpc_shape_increasing(const gpc_prior *prior, const gpc_params *at, double low,
                         double high, const gpc_memory *memory) {
  const size_t m = at->m;
  double *z = gpc_get_doubles(memory, POINTS), *phi = gpc_get_doubles(memory, POINTS);
  double *rho = gpc_get_doubles(memory, POINTS);
  double *a = gpc_get_doubles(memory, POINTS * m);
  gpc_basis basis = {.m = m,
                     .inducing = at->inducing,
                     .hyper = at->hyper,
                     .chol = gpc_get_doubles(memory, m * m)};
  for (size_t i = 0; i < POINTS; i++)
    z[i] = fmax(low + (high - low) * (double)i / (POINTS - 1.0), gpc_prior_least(prior));
  if (gpc_basis_factor(&basis) != GPC_OK)
    return 0;
  gpc_basis_eval(&basis, POINTS, z, a, rho);
  gpc_gemm(0, 0, POINTS, 1, m, 1.0, a, at->q_mean, 0.0, phi);
  gpc_prior_add_mu(prior, POINTS, z, phi);
  for (size_t i = 1; i < POINTS; i++)
    if (phi[i] < phi[i - 1])
      return 0;
  return 1;
}

static double phi_at(const gpc_prior *prior, const gpc_visit *v, double z) {
  double tau, wts[GPC_STENCIL], psi = 0.0;
  int first;
  gpc_line_coordinates(&v->nodes->line, 1, &z, &tau);
  gpc_line_weights(1, &tau, 1, &first, wts);
  const double *at = v->psi + gpc_nodes_at(v->nodes, (size_t)first);
  for (size_t q = 0; q < GPC_STENCIL; q++)
    psi += wts[q] * at[q];
  return psi + gpc_prior_mu(prior, z) - gpc_prior_smooth(prior, z);
}

/* peak [g] := the highest phi at a node and all nodes below it, with room for what the
 * map may rise above its nodes between them (an eighth of its second difference). Not for
 * the log mean: INFINITY, so that every row is looked at. */
static void find_peaks(const gpc_prior *prior, const gpc_visit *v, double *peak) {
  const size_t g = v->nodes->g;
  double highest = -INFINITY, bend = 0.0;
  for (size_t i = 1; i + 1 < g; i++)
    bend = fmax(bend, fabs(v->psi[i + 1] - 2.0 * v->psi[i] + v->psi[i - 1]));
  for (size_t i = 0; i < g; i++) {
    highest = fmax(highest, v->psi[i]);
    peak[i] = gpc_prior_has_slope(prior) ? highest + 0.15 * bend : INFINITY;
  }
}

size_t gpc_shape_changed(const gpc_gp_data *data, const gpc_prior *prior,
                         const gpc_visit *v, const int *arg, double *peak) {
  size_t changed = 0;
  find_peaks(prior, v, peak);
  for (size_t i = 0; i < data->n; i++) {
    const size_t top = (size_t)arg[i] - 1;
    const double z = gpc_gp_score(data, i, top), highest = phi_at(prior, v, z);
    double tau;
    gpc_line_coordinates(&v->nodes->line, 1, &z, &tau);
    if (highest >= peak[gpc_nodes_at(v->nodes, (size_t)gpc_line_cell(tau))])
      continue; /* nothing below the highest score has a higher phi */
    for (size_t j = 0; j < data->k; j++)
      if (j != top && phi_at(prior, v, gpc_gp_score(data, i, j)) > highest) {
        changed++;
        break;
      }
  }
  return changed;
}
