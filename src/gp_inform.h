/* gp_inform.h: what the label of one row tells about a fitted process (gp_query.h), and
 * what is left to be known after it. */
#ifndef GPC_GP_INFORM_H
#define GPC_GP_INFORM_H

#include "gp_query.h"

typedef struct {
  const gpc_query *query;
  size_t k, r, m, x, size; /* x = m + slopes */
  size_t rank;             /* columns of a factor of C: k, or x if that is less */
  double *s;               /* [size x size] S */
  double *root;            /* [x x x] its Cholesky factor, where rank = x */
  double *points;          /* [PAIRS x rank] */
  /* of one row: */
  double *z, *row, *work, *rho; /* [k] each */
  double *a;                    /* [k x x] */
  double *features;             /* [r] */
  double *phi;                  /* [k] */
  double *sx;                   /* [size x k] S X' */
  double *c, *l;                /* [k x k], [k x rank]: C = L L' */
  double *p;                    /* [DRAWS x k] softmax(f) at the points */
  double *mean;                 /* [k] its average */
  double *top, *sum;            /* [DRAWS] each */
  double weight;                /* two classes: E p (1 - p) */
  double *b, *t;                /* [size x most] each; most = max(k, x) */
  double *inner;                /* [most x most] */
} gpc_inform;

/* Room, and S as it is in the fit. */
void gpc_inform_begin(const gpc_query *query, const gpc_memory *memory, gpc_inform *q);

/* To be called before the first row: GPC_NOT_PD if S is not. */
gpc_status gpc_inform_ready(gpc_inform *q);

/* eq. (Q1) of row i, with the S of now. */
double gpc_inform_row(gpc_inform *q, size_t i);

/* eq. (Q2) with the row that was looked at last. */
gpc_status gpc_inform_learn(gpc_inform *q);

#endif
