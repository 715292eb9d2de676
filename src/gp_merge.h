/* gp_merge.h: rows summed up by fewer, for later fits. Rows of one cell (the same label and the
 * same highest score) whose latent values are near each other are merged into one at
 * their mean. With weights u and v, latent values f and h, and softmaxes p and q of half of them,
 * that loses about
 *
 *   u v / (u + v) Var(f - h),  the variance over the classes by (p + q) / 2,     (O6)
 *
 * of the log-likelihood, to a factor. Pairs are merged in the order of that loss: confident
 * rows, which are most, soon become a few, and those near a boundary stay apart. */
#ifndef GPC_GP_MERGE_H
#define GPC_GP_MERGE_H

#include "gpc.h"
#include "memory.h"

/* f [k x n], a column for each row, and weight [n], positive, are overwritten; label [n] from 1;
 * only rows of the same cell [n] are merged. group [n]: from 0, in the order of the first row
 * of each. Returns the number of groups: at most `most`, unless there are more cells. */
size_t gpc_merge_rows(size_t n, size_t k, size_t most, double *f, const int *cell,
                      const int *label, double *weight, const gpc_memory *memory,
                      gpc_poll poll, void *data, int *group);

#endif
