/* gp_joint_block.h: what a block of rows adds to a pass of the joint model (gp_joint.h).
 *
 * A class that the posterior all but rules out in a row (exp(-23) = 1e-10 of the sum, by
 * an upper limit of its D in eq. (35)) is left out there: of most classifiers' rows a few
 * classes remain, and the covariances and sums of their pairs alone are made. Where most
 * classes remain they are made for all rows of the block at once, as products of
 * matrices. */
#ifndef GPC_GP_JOINT_BLOCK_H
#define GPC_GP_JOINT_BLOCK_H

#include "gp_joint.h"
#include "simd.h"

#define GPC_JOINT_BLOCK 64 /* rows worked on together */

/* r or the next multiple of eight: loops over so many numbers have no rest. */
static inline size_t gpc_joint_long(size_t r) { return (r + 7) / 8 * 8; }

/* to [long_r x 12] += by x a', a [12] with its elements `step` apart. */
GPC_PART void gpc_joint_add_columns(size_t long_r, double by, const double *restrict x,
                                    const double *restrict a, size_t step,
                                    double *restrict to) {
  for (size_t q = 0; q < GPC_STENCIL; q++, to += long_r) {
    const double weight = by * a[q * step];
    for (size_t f = 0; f < long_r; f += 8)
#pragma omp simd
      for (size_t v = 0; v < 8; v++)
        to[f + v] += weight * x[f + v];
  }
}

/* Tables of the point, and what a block of rows needs. packed = r (r + 1) / 2, pairs =
 * k (k + 1) / 2. */
typedef struct {
  const double *au;  /* [m x g] U'a on the nodes, S_mm = U U' */
  const double *rho; /* [g] */
  double *sd;        /* [g] of the process */
  double *cross;     /* [(m k) x r] U^-1 S_me: class l, inducing direction i at i + m l */
  double *pairs; /* [packed x pairs] S_ee, so that C_kl = column of it times packed(x x')
                  */
  double *own;   /* [packed x k] those of a class with itself */
  double *effect,
      *block; /* [e] coefficients of the features; [r x r] of a pair of classes */
  /* of the rows of a block: */
  double *x;       /* [r x rows] */
  double *wide;    /* [gpc_joint_long(r) x rows] the same, and zeros */
  double *share;   /* [k][rows] w pi */
  double *packed;  /* [packed x rows] x_i x_j */
  double *open;    /* [k x rows] Var(x'e_k) */
  double *cee;     /* [pairs x rows] */
  double *smx;     /* [(m k) x rows] */
  double *phi;     /* [k x rows] */
  double *weighed; /* [pairs x rows] w (diag pi - pi pi') */
  double *y;       /* [e x rows] sqrt(w) pi_l x_i */
  double *p;       /* [g x rows] sqrt(w) times the spread softmax */
  double *wts;     /* [k][12][rows] */
  int *first;      /* [k][rows] */
  int *active;     /* [k x rows] the classes that count, ascending ... */
  int *count;      /* [rows] ... and how many */
  /* of one row, by active class: */
  double *z, *work, *rho_row; /* [k] */
  double *f, *pi, *c;         /* [k], [k], [k x k] */
  double *a, *s;     /* [2 m x k] (U'a + s, s) and (U'a + s, -s), s = U^-1 S_me x */
  double *w12, *u12; /* [12 x k] */
  /* sums: */
  double *hpacked; /* [packed x pairs] for H_ee */
  double *
      level; /* [gpc_joint_long(r) x g x k] sum_n w pi_k x_n t_nk', t_nk the stencil of class k */
  double *half; /* [g x g] M, H_cc = ... - M - M' */
} gpc_joint_block;

/* Room, the tables of the point, and sums of 0. chol: the factor U of S_mm. work [e x e]. */
void gpc_joint_block_begin(gpc_joint *joint, const gpc_joint_point *point,
                           const double *chol, const double *au, const double *rho,
                           double *work, gpc_joint_block *t);

/* Rows first .. first + rows: adds to fit, gc, ge, v, hcc and hce, and renews pi. */
void gpc_joint_block_add(const gpc_joint *joint, const gpc_joint_point *point,
                         size_t first, size_t rows, gpc_joint_block *t,
                         gpc_joint_pass *pass);

/* What is left to be done after the last block: hee, and the rest of hcc but for its
 * diagonal part. */
void gpc_joint_block_end(const gpc_joint *joint, const gpc_joint_block *t,
                         gpc_joint_pass *pass);

#endif
