/* binning.h: which bin a score falls into.
 *
 * Edges are compared with the scores as they stand: arithmetic alone (ceil(x * bins))
 * puts .07, .14, .28 and .55 into the wrong one of a hundred bins. */
#ifndef GPC_BINNING_H
#define GPC_BINNING_H

#include "gpc.h"

/* Bins (edges[b], edges[b + 1]], the first holding edges[0] too; or, left_closed,
 * [edges[b], edges[b + 1]), the last holding edges[bins] too. Scores beyond the outer
 * edges belong to the outer bins. */
typedef struct {
  size_t bins;
  double *edges;   /* [bins + 1], owned by the caller */
  int left_closed; /* which end of a bin belongs to it */
  int even;        /* edges evenly spaced: guess the bin, then compare */
} gpc_binning;

/* `bins` even bins over [lower, 1]: edge b is lower + (1 - lower) (b / bins) in doubles,
 * which is b / bins for lower = 0. edges: room for bins + 1. */
gpc_binning gpc_binning_width(size_t bins, double lower, int left_closed, double *edges);

/* Bytes of work space for gpc_binning_mass(). */
size_t gpc_binning_mass_work(size_t n);

/* Bins of about equal weight. Upper edge b is the quantile at b / bins of the weighted
 * empirical distribution function (the smallest score at or below which lies at least
 * that share of the weight), equal edges are merged, the lowest edge is the smallest
 * score; so tied scores share a bin, and a heavy tie at the smallest score has a bin to
 * itself. Weights may be NULL; rows of weight zero do not count; if none counts, there
 * are 0 bins. edges: room for bins + 1. */
gpc_binning gpc_binning_mass(size_t n, const double *score, const double *weights,
                             size_t bins, double *edges, void *work);

/* The bin of each score [n], numbered from 0. */
void gpc_binning_assign(const gpc_binning *binning, size_t n, const double *score,
                        int *bin);

#endif
