/* corp.h: the isotonic reliability curve and the parts of a score.
 * Dimitriadis, Gneiting and Jordan (2021, PNAS 118, e2016191118). */
#ifndef GPC_CORP_H
#define GPC_CORP_H

#include "gpc.h"

/* Mean scores of a forecast as it is, recalibrated by isotonic regression, and of the
 * constant forecast: miscalibration = score - recalibrated,
 * discrimination = constant - recalibrated, uncertainty = constant. */
typedef struct {
  double score, recalibrated, constant;
} gpc_corp_parts;

/* The pooled blocks and the parts. Arrays are [n], provided by the caller; the first
 * `blocks` entries are filled. */
typedef struct {
  size_t blocks;
  double *lower, *upper; /* smallest and largest score in the block */
  double *weight;        /* of its rows */
  double *score;         /* mean score */
  double *fit;           /* frequency of the event, increasing from block to block */
  gpc_corp_parts brier;  /* (x - y)^2 */
  gpc_corp_parts log;    /* -log of what was given to the outcome; may be Inf */
} gpc_corp;

/* Bytes of work space for n rows. */
size_t gpc_corp_work(size_t n);

/* Probabilities x [n] of an event, outcomes y [n] (0 or 1), weights [n] or NULL. */
void gpc_corp_fit(size_t n, const double *x, const double *y, const double *weights,
                  gpc_corp *corp, void *work);

#endif
