/* gp_nodes.h: the nodes of a line that scores use, and what the labels put on them.
 *
 * Nodes that no stencil reaches (many, when a few scores lie far outside the rest) are
 * left out. A stencil is used as a whole or not at all, so that its nodes stay
 * neighbours. */
#ifndef GPC_GP_NODES_H
#define GPC_GP_NODES_H

#include "gp_line.h"
#include "gp_model.h"
#include "memory.h"

typedef struct {
  gpc_line line;
  size_t fine_cells;  /* cells of the sparse rows' line in a cell of this one */
  size_t g;           /* nodes in use, and those appended behind them */
  const int *slot;    /* [line.g] a node's place among those in use, -1 for none; NULL:
                         all are in use */
  double *z;          /* [g] */
  double *truth;      /* [g] sum_n w_n omega_g(z_{n,y}): the labels' weights, eq. (18) */
  double log_factors; /* sum_n w_n log factor(z_{n,y}) of the prior mean */
  double *stencil;    /* [n][k][12] omega of every score, eq. (23), and ... */
  int *stencil_at;    /* ... [n][k] the first node in use; NULL: not kept */
} gpc_nodes;

/* Where a stencil, or a node, of the line begins among the nodes in use. */
static inline size_t gpc_nodes_at(const gpc_nodes *nodes, size_t node) {
  return nodes->slot ? (size_t)nodes->slot[node] : node;
}

/* reached [line.g] := 1 for the nodes that the stencils of any score reach
 * (with GPC_PAD to spare, for the nodes of a finer line), otherwise 0. */
void gpc_nodes_reached(const gpc_gp_data *data, const gpc_line *line, int *reached);

/* The nodes of a line: all of them, or with `some` those that scores reach. */
void gpc_nodes_make(const gpc_gp_data *data, const gpc_prior *prior, const gpc_line *line,
                    size_t fine_cells, int some, const gpc_memory *memory,
                    gpc_nodes *nodes);

/* The stencils of the scores in `rows` rows from `row` on, as nodes->stencil has
 * them: class j of row i at wts + 12 (k i + j) and at[k i + j]. At most
 * GPC_STENCIL_ROWS rows. */
#define GPC_STENCIL_ROWS 16
void gpc_nodes_stencils(const gpc_gp_data *data, const gpc_nodes *nodes, size_t row,
                        size_t rows, double *wts, int *at);

/* Keep the stencils of all scores: in the room of other nodes of the same data, which do
 * without from then on, or (NULL) in room of their own. */
void gpc_nodes_keep_stencils(const gpc_gp_data *data, const gpc_memory *memory,
                             gpc_nodes *other, gpc_nodes *nodes);

/* More nodes behind those of the line, at z [p]: no stencil reaches them, functions of the
 * model are known there all the same. */
void gpc_nodes_append(size_t p, const double *z, const gpc_memory *memory,
                      gpc_nodes *nodes);

/* Into how many cells a cell must be divided for exp(psi) to be interpolated to about
 * 1e-11, from psi [g] on the nodes: its slope and its curvature per cell must be small. 0
 * when psi ranges so widely that one offset cannot keep all exponentials normal. */
size_t gpc_nodes_cells(const gpc_nodes *nodes, const double *psi);

#endif
