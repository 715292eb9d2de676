/* gp_ruler.h: the line of scores at every resolution a fit may ask for.
 *
 * The functions of the model vary on the scale of the lengthscale, so that few nodes are
 * enough for a long one. The coarsest line is laid once; finer ones have 2, 4, 8, ...
 * cells in each of its cells, and share its nodes. Sparse rows are built on one of them,
 * fine enough for exp(psi), and serve every coarser one. */
#ifndef GPC_GP_RULER_H
#define GPC_GP_RULER_H

#include "gp_nodes.h"
#include "gp_prepare.h"
#include "gp_sparse.h"

#define GPC_RULER_LEVELS 12

typedef struct {
  const gpc_gp_data *data;
  const gpc_prior *prior;
  const gpc_memory *memory;
  gpc_line coarsest;
  double coarsest_step;   /* between its nodes over the bulk */
  double lowest, highest; /* scores */
  int some;               /* leave out nodes that no score reaches? */
  gpc_sparse_rows *rows;  /* NULL: none, or none yet */
  int rows_level;
  int want_rows;
  double most_values;                     /* of the sparse rows */
  size_t extra;                           /* nodes to append at every level ... */
  const double *extra_z;                  /* ... at [extra] */
  gpc_nodes *level[GPC_RULER_LEVELS + 1]; /* made when asked for; 2^i cells in a cell */
  int keep;                               /* stencils of few scores are kept, ... */
  gpc_nodes *kept; /* ... of the nodes that were asked for last; NULL: of none */
} gpc_ruler;

/* Lay the coarsest line over the scores; 0 if it would have too many nodes. want_rows:
 * use sparse rows where they can be had. */
int gpc_ruler_lay(const gpc_gp_data *data, const gpc_prior *prior,
                  const gpc_gp_range *range, int want_rows, const gpc_memory *memory,
                  gpc_ruler *ruler);

/* Nodes at most `step` apart over the bulk of the scores; NULL if they would be too many.
 */
gpc_nodes *gpc_ruler_nodes(gpc_ruler *ruler, double step);

/* The nodes at half the distance, or NULL as above. */
gpc_nodes *gpc_ruler_halve(gpc_ruler *ruler, const gpc_nodes *nodes);

/* From now on stencils are kept, or not: effects of the classes make their own. Those that
 * there are, are given back. */
void gpc_ruler_keep(gpc_ruler *ruler, int keep);

/* The sparse rows are given back, and there are none from now on. */
void gpc_ruler_give_rows(gpc_ruler *ruler);

/* Sparse rows fine enough for psi [g] on the nodes, built (anew) if need be. If there can
 * be none, ruler->rows is NULL and ruler->want_rows 0 from then on. */
void gpc_ruler_rows(gpc_ruler *ruler, const gpc_nodes *nodes, const double *psi);

#endif
