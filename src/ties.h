/* ties.h: one class against the rest, in ascending order of its scores, tied scores as
 * one group. The beginning of every method that sorts. */
#ifndef GPC_TIES_H
#define GPC_TIES_H

#include "gpc.h"

/* One class against the rest: scores x [n] in [0, 1], labels [n] of which `code` is the
 * class, weights [n] or NULL. Rows of weight zero are passed over. */
typedef struct {
  size_t n;
  const double *x;
  const int *label;
  int code;
  const double *weights;
} gpc_one;

/* Where the walk over the groups is. */
typedef struct {
  const gpc_one *one;
  const uint64_t *key; /* sorted keys that carry the label in their lowest bit, or NULL */
  const int *order;    /* sorted rows, used with weights */
  size_t next;
} gpc_ties;

/* Bytes of work space for n rows, aligned as for a double. */
size_t gpc_ties_work(size_t n, int weighted);

/* Sorts; n < 2^31. The work space must be left alone while walking. */
gpc_ties gpc_ties_sort(const gpc_one *one, void *work);

/* The next group: its score, the weight of the class in it and that of all its rows. 0
 * when there is none left. */
int gpc_ties_next(gpc_ties *ties, double *score, double *hits, double *weight);

/* All groups at once, into arrays with room for n. Returns how many there are. */
size_t gpc_ties_all(gpc_ties *ties, double *score, double *hits, double *weight);

#endif
