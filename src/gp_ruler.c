/* gp_ruler.c: see gp_ruler.h. */
#include "gp_ruler.h"

#include <math.h>
#include <string.h>

#define COARSEST 14.0       /* cells over the bulk */
#define GROWTH (1.0 / 12.0) /* gp_line.h */
#define MOST_NODES 4000     /* of a line: their squares are kept */
#define MOST_FINE 6000      /* of the sparse rows */
#define MUCH_DATA 2e6       /* scores: the rows of so many ... */
#define MOST_VALUES 1.4     /* ... shall not take much more memory than they do */
#define HEADROOM 1.3        /* cells for maps so much steeper than the first one */
#define MOST_KEPT 32768     /* scores whose stencils are kept: 3 MB */
#define WIDE 1.3            /* bulks: beyond this some nodes may be reached by none */

int gpc_ruler_lay(const gpc_gp_data *data, const gpc_prior *prior,
                  const gpc_gp_range *range, int want_rows, const gpc_memory *memory,
                  gpc_ruler *ruler) {
  const double bulk = range->bulk_high - range->bulk_low;
  const double scores = (double)data->n * (double)data->k;
  memset(ruler, 0, sizeof *ruler);
  ruler->data = data;
  ruler->prior = prior;
  ruler->memory = memory;
  ruler->want_rows = want_rows;
  ruler->keep = data->n * data->k <= MOST_KEPT;
  ruler->coarsest_step = bulk / COARSEST;
  ruler->lowest = range->lowest;
  ruler->highest = range->highest;
  ruler->most_values = scores > MUCH_DATA ? MOST_VALUES * scores : INFINITY;
  const int ok =
      gpc_line_make(range->lowest, range->highest, range->bulk_low, range->bulk_high,
                    bulk / COARSEST, GROWTH, MOST_NODES, &ruler->coarsest);
  ruler->some = ruler->coarsest.bent || range->highest - range->lowest > WIDE * bulk;
  return ok;
}

static gpc_line line_of_level(const gpc_ruler *ruler, int level) {
  const gpc_line line = gpc_line_refine(&ruler->coarsest, (size_t)1 << level);
  return gpc_line_trim(&line, ruler->lowest, ruler->highest);
}

/* One room for the stencils of all levels: passes at one follow each other, and to make them
 * anew at a change costs what a pass without costs. */
static gpc_nodes *with_stencils(gpc_ruler *ruler, gpc_nodes *nodes) {
  if (!ruler->keep || ruler->want_rows || ruler->kept == nodes)
    return nodes;
  gpc_nodes_keep_stencils(ruler->data, ruler->memory, ruler->kept, nodes);
  ruler->kept = nodes;
  return nodes;
}

void gpc_ruler_keep(gpc_ruler *ruler, int keep) {
  if (ruler->kept) {
    gpc_give(ruler->memory, ruler->kept->stencil);
    gpc_give(ruler->memory, ruler->kept->stencil_at);
    ruler->kept->stencil = NULL;
    ruler->kept->stencil_at = NULL;
  }
  ruler->kept = NULL;
  ruler->keep = keep && ruler->data->n * ruler->data->k <= MOST_KEPT;
}

void gpc_ruler_give_rows(gpc_ruler *ruler) {
  if (ruler->rows)
    gpc_sparse_give(ruler->memory, ruler->rows);
  ruler->rows = NULL;
  ruler->want_rows = 0;
}

static gpc_nodes *nodes_of_level(gpc_ruler *ruler, int level) {
  if (ruler->level[level])
    return with_stencils(ruler, ruler->level[level]);
  const gpc_line line = line_of_level(ruler, level);
  if (line.g > MOST_NODES)
    return NULL;
  gpc_nodes *nodes = ruler->memory->get(ruler->memory->self, sizeof *nodes);
  gpc_nodes_make(ruler->data, ruler->prior, &line, 0, ruler->some, ruler->memory, nodes);
  if (ruler->extra)
    gpc_nodes_append(ruler->extra, ruler->extra_z, ruler->memory, nodes);
  if (ruler->rows && level <= ruler->rows_level)
    nodes->fine_cells = (size_t)1 << (ruler->rows_level - level);
  ruler->level[level] = nodes;
  return with_stencils(ruler, nodes);
}

gpc_nodes *gpc_ruler_nodes(gpc_ruler *ruler, double step) {
  int level = 0;
  while (level < GPC_RULER_LEVELS &&
         ruler->coarsest_step / (double)((size_t)1 << level) > step)
    level++;
  return nodes_of_level(ruler, level);
}

static int level_of(const gpc_ruler *ruler, const gpc_nodes *nodes) {
  int level = 0;
  while (ruler->level[level] != nodes)
    level++;
  return level;
}

gpc_nodes *gpc_ruler_halve(gpc_ruler *ruler, const gpc_nodes *nodes) {
  const int level = level_of(ruler, nodes) + 1;
  return level > GPC_RULER_LEVELS ? NULL : nodes_of_level(ruler, level);
}

void gpc_ruler_rows(gpc_ruler *ruler, const gpc_nodes *nodes, const double *psi) {
  if (!ruler->want_rows)
    return;
  size_t cells = gpc_nodes_cells(nodes, psi);
  int level = level_of(ruler, nodes);
  const int possible = cells > 0;
  if (!ruler->rows) /* the first: maps become steeper while they are fitted */
    cells = (size_t)ceil(HEADROOM * (double)cells);
  for (; cells > 1; cells = (cells + 1) / 2)
    level++;
  if (ruler->rows && possible && level <= ruler->rows_level)
    return;
  if (ruler
          ->rows) { /* rows of many scores that do not last are not made again and again */
    ruler->most_values -= ruler->rows->values;
    gpc_sparse_give(ruler->memory, ruler->rows);
  }
  ruler->rows = NULL;
  if (possible && level <= GPC_RULER_LEVELS) {
    const gpc_line line = line_of_level(ruler, level);
    if (line.g < MOST_FINE)
      ruler->rows =
          gpc_sparse_make(ruler->data, &line, ruler->most_values, ruler->memory);
  }
  ruler->want_rows = ruler->rows != NULL;
  ruler->rows_level = level;
  for (int i = 0; i <= GPC_RULER_LEVELS; i++)
    if (ruler->level[i])
      ruler->level[i]->fine_cells =
          ruler->rows && i <= level ? (size_t)1 << (level - i) : 0;
}
