/* monitor.h: what a monitored forecast leaves behind: sums from which its scores, and the
 * evidence against its calibration, can be computed at any time. All are sums over rows:
 * those of two batches are added.
 *
 * The evidence is likelihood ratios q(y)/p(y) of recalibrated forecasts q, eq. (O1):
 *
 *   temperature   q_k = p_k^beta / sum_j p_j^beta,             beta = exp(t)
 *   bins          the odds of the event (two classes), or of the most likely class, times
 *                 exp(d), the other classes in proportion; one d per bin
 *   offset        the odds of class k among the classes k, k + 1, ..., K times exp(d_k)
 *
 * each for every value of a grid of t, of d. */
#ifndef GPC_MONITOR_H
#define GPC_MONITOR_H

#include "gpc.h"

enum {
  GPC_MONITOR_WEIGHT,     /* sum of weights */
  GPC_MONITOR_LOSS,       /* - w log p_y, rows with p_y = 0 left out */
  GPC_MONITOR_BRIER,      /* w sum_k (p_k - [y = k])^2 */
  GPC_MONITOR_HITS,       /* w where the most likely class is right */
  GPC_MONITOR_CONF,       /* w times the confidence */
  GPC_MONITOR_OVER,       /* the same of the rows that are wrong */
  GPC_MONITOR_UNDER,      /* w times (1 - confidence) of the rows that are right */
  GPC_MONITOR_IMPOSSIBLE, /* w of the rows with p_y = 0 */
  GPC_MONITOR_TOTALS
};

typedef struct {
  size_t n, k;
  const double *p;  /* [n x k] probabilities */
  const int *label; /* [n], 1..k */
  const double *w;  /* [n] weights, or NULL */
} gpc_monitored;

typedef struct {
  size_t bins, ts, ds;
  const double *edge; /* [bins - 1] upper edges of all bins but the last, increasing */
  const double *t;    /* [ts] */
  const double *d;    /* [ds] */
} gpc_monitor_grid;

typedef struct {
  double *total;       /* [GPC_MONITOR_TOTALS] */
  double *observed;    /* [k] weight of the labels */
  double *expected;    /* [k] w p_k */
  double *bin;         /* [bins x 3] weight, sum of probability, weight of hits */
  double *temperature; /* [ts] log likelihood ratios */
  double *tilt;        /* [bins x ds] */
  double *offset;      /* [(k - 1) x ds] */
} gpc_monitor_sums;

/* Adds the rows to the sums. work: gpc_monitor_work() doubles. Rows with p_y = 0
 * add to total, observed, expected and bin alone. */
size_t gpc_monitor_work(size_t k, const gpc_monitor_grid *grid);
void gpc_monitor_add(const gpc_monitored *data, const gpc_monitor_grid *grid,
                     double *work, gpc_poll poll, void *poll_data,
                     gpc_monitor_sums *sums);

#endif
