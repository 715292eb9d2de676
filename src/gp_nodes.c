/* gp_nodes.c: see gp_nodes.h. */
#include "gp_nodes.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define CELL 2 /* a cell that holds a score, and with it a node that is reached */

void gpc_nodes_reached(const gpc_gp_data *data, const gpc_line *line, int *reached) {
  memset(reached, 0, line->g * sizeof(int));
  for (size_t j = 0; j < data->k; j++)
    for (size_t i = 0; i < data->n; i++) {
      double z = gpc_gp_score(data, i, j), tau;
      gpc_line_coordinates(line, 1, &z, &tau);
      reached[(size_t)tau] = CELL;
    }
  const size_t before = GPC_LEFT + 1 + GPC_PAD, after = GPC_STENCIL - GPC_LEFT + GPC_PAD;
  for (size_t i = 0; i < line->g; i++) {
    if (reached[i] != CELL)
      continue;
    const size_t from = i > before ? i - before : 0;
    const size_t to = i + after < line->g ? i + after : line->g;
    for (size_t q = from; q < to; q++)
      if (reached[q] == 0)
        reached[q] = 1;
  }
  for (size_t i = 0; i < line->g; i++)
    reached[i] = reached[i] != 0;
}

static void set_labels(const gpc_gp_data *data, const gpc_prior *prior,
                       gpc_nodes *nodes) {
  double wts[GPC_STENCIL];
  memset(nodes->truth, 0, nodes->g * sizeof(double));
  nodes->log_factors = 0.0;
  for (size_t i = 0; i < data->n; i++) {
    double w = gpc_gp_weight(data, i), tau;
    if (w == 0.0)
      continue;
    double z = gpc_gp_score(data, i, (size_t)data->label[i] - 1);
    int first;
    gpc_line_coordinates(&nodes->line, 1, &z, &tau);
    gpc_line_weights(1, &tau, 1, &first, wts);
    double *y = nodes->truth + gpc_nodes_at(nodes, (size_t)first);
    for (size_t q = 0; q < GPC_STENCIL; q++)
      y[q] += w * wts[q];
    nodes->log_factors += w * (gpc_prior_mu(prior, z) - gpc_prior_smooth(prior, z));
  }
}

void gpc_nodes_make(const gpc_gp_data *data, const gpc_prior *prior, const gpc_line *line,
                    size_t fine_cells, int some, const gpc_memory *memory,
                    gpc_nodes *nodes) {
  int *slot = some ? gpc_get_ints(memory, line->g) : NULL;
  nodes->line = *line;
  nodes->fine_cells = fine_cells;
  nodes->g = some ? 0 : line->g;
  if (some) {
    gpc_nodes_reached(data, line, slot);
    for (size_t i = 0; i < line->g; i++)
      slot[i] = slot[i] ? (int)nodes->g++ : -1;
  }
  nodes->slot = slot;
  nodes->stencil = NULL;
  nodes->stencil_at = NULL;
  nodes->z = gpc_get_doubles(memory, nodes->g);
  nodes->truth = gpc_get_doubles(memory, nodes->g);
  for (size_t i = 0; i < line->g; i++)
    if (!slot || slot[i] >= 0)
      nodes->z[gpc_nodes_at(nodes, i)] = gpc_line_node(line, i);
  set_labels(data, prior, nodes);
}

GPC_WIDE void gpc_nodes_stencils(const gpc_gp_data *data, const gpc_nodes *nodes,
                                 size_t row, size_t rows, double *wts, int *at) {
  const size_t k = data->k;
  double tau[GPC_STENCIL_ROWS], by_node[GPC_STENCIL * GPC_STENCIL_ROWS];
  int first[GPC_STENCIL_ROWS];
  for (size_t j = 0; j < k; j++) {
    for (size_t i = 0; i < rows; i++)
      tau[i] = gpc_gp_score(data, row + i, j);
    gpc_line_coordinates(&nodes->line, rows, tau, tau);
    gpc_line_weights(rows, tau, GPC_STENCIL_ROWS, first, by_node);
    for (size_t i = 0; i < rows; i++) { /* a score's weights side by side */
      double *own = wts + (k * i + j) * GPC_STENCIL;
      for (size_t q = 0; q < GPC_STENCIL; q++)
        own[q] = by_node[q * GPC_STENCIL_ROWS + i];
      at[k * i + j] = nodes->slot ? nodes->slot[first[i]] : first[i];
    }
  }
}

void gpc_nodes_keep_stencils(const gpc_gp_data *data, const gpc_memory *memory,
                             gpc_nodes *other, gpc_nodes *nodes) {
  const size_t n = data->n, k = data->k;
  nodes->stencil = other ? other->stencil : gpc_get_doubles(memory, n * k * GPC_STENCIL);
  nodes->stencil_at = other ? other->stencil_at : gpc_get_ints(memory, n * k);
  if (other) {
    other->stencil = NULL;
    other->stencil_at = NULL;
  }
  for (size_t row = 0; row < n; row += GPC_STENCIL_ROWS)
    gpc_nodes_stencils(
        data, nodes, row, n - row < GPC_STENCIL_ROWS ? n - row : GPC_STENCIL_ROWS,
        nodes->stencil + row * k * GPC_STENCIL, nodes->stencil_at + row * k);
}

void gpc_nodes_append(size_t p, const double *z, const gpc_memory *memory,
                      gpc_nodes *nodes) {
  const size_t g = nodes->g;
  double *all_z = gpc_get_doubles(memory, g + p), *all_y = gpc_get_doubles(memory, g + p);
  memcpy(all_z, nodes->z, g * sizeof(double));
  memcpy(all_y, nodes->truth, g * sizeof(double));
  memcpy(all_z + g, z, p * sizeof(double));
  memset(all_y + g, 0, p * sizeof(double));
  nodes->z = all_z;
  nodes->truth = all_y;
  nodes->g = g + p;
}

/* The error of 12 points is about 5e-5 x^12 for exp(x t) and .6 x^12 for exp(-(x t)^2 /
 * 2). The squares exp(2 psi), which enter only with the residual variance, are
 * interpolated too: x = .5 and .18 keep them to 1e-8 and exp(psi) to 1e-11. */
#define MOST_SLOPE 0.25
#define MOST_BEND 0.125
#define MOST_RANGE 340.0 /* squares of exponentials are taken */

size_t gpc_nodes_cells(const gpc_nodes *nodes, const double *psi) {
  double slope = 0.0, bend = 0.0, low = psi[0], high = psi[0], before = 0.0;
  size_t chain = 0; /* neighbours so far */
  for (size_t i = 0; i < nodes->line.g; i++) {
    if (nodes->slot && nodes->slot[i] < 0) {
      chain = 0;
      continue;
    }
    const size_t at = gpc_nodes_at(nodes, i);
    low = fmin(low, psi[at]);
    high = fmax(high, psi[at]);
    const double move = chain > 0 ? psi[at] - psi[at - 1] : 0.0;
    slope = fmax(slope, fabs(move));
    if (chain > 1)
      bend = fmax(bend, fabs(move - before));
    before = move;
    chain++;
  }
  if (!(high - low < MOST_RANGE))
    return 0;
  return (size_t)fmax(slope / MOST_SLOPE, sqrt(bend) / MOST_BEND) + 1;
}
