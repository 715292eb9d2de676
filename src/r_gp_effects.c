/* r_gp_effects.c: .Call layer of predictions with class effects (gp_joint_predict.h). For
 * `fit` and `at` see r_gp_unpack.h, for fit$effects r_gp_effects.h. */
#include "r_gp_effects.h"
#include "arena.h"
#include "gp_joint_brief.h"
#include "gp_offsets.h"
#include "gp_predict.h"
#include "gp_prepare.h"
#include "scan.h"
#include "select.h"
#include "simd.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* The features of fit$effects. */
static gpc_features features_of(SEXP effects, size_t k) {
  const double *scale = r_doubles(r_element(effects, "scale"), "scale", 4);
  const int *count = r_integers(r_element(effects, "count"), "count", GPC_FEATURE_BLOCKS);
  int wanted[GPC_BLOCKS] = {0}; /* what is kept are coefficients, without a skew part */
  for (int b = 0; b < GPC_FEATURE_BLOCKS; b++)
    wanted[b] = count[b] > 0;
  return gpc_features_make(k, wanted, scale[0], scale[1], scale[2], scale[3]);
}

/* A number of single precision from its bits. */
static double from_bits(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

/* A part of the covariance as doubles. */
static const double *numbers(SEXP list, const char *name, R_xlen_t n) {
  SEXP x = r_element(list, name);
  if (TYPEOF(x) != INTSXP)
    return r_doubles(x, name, n);
  const int *bits = r_integers(x, name, n);
  double *out = r_work((size_t)n);
  for (R_xlen_t i = 0; i < n; i++)
    out[i] = from_bits(bits[i]);
  return out;
}

/* The bits of the largest size among n numbers. Sizes are in the order of their bits, with
 * infinity and then what is no number behind all others. */
GPC_WIDE static int largest_bits(R_xlen_t n, const int *bits) {
  int most = 0;
#pragma omp simd reduction(max : most)
  for (R_xlen_t i = 0; i < n; i++) {
    const int size = bits[i] & INT_MAX;
    most = size > most ? size : most;
  }
  return most;
}

/* The largest size of numbers given by their bits of single precision; NaN if any is. */
SEXP r_single_size(SEXP x) {
  const int *bits = r_integers(x, "x", -1);
  return Rf_ScalarReal(from_bits(largest_bits(XLENGTH(x), bits)));
}

gpc_joint_fitted r_joint_fitted(SEXP fit, size_t k, int short_form) {
  SEXP list = r_element(fit, "effects");
  gpc_joint_fitted out = {.process = r_gp_fitted(fit),
                          .features = features_of(list, k),
                          .slopes = (size_t)r_count(r_element(list, "slopes"), "slopes")};
  const size_t e = k * out.features.r, x = out.process.basis.m + out.slopes;
  SEXP own = r_element_or_null(list, "own");
  const int brief = own && own != R_NilValue;
  const size_t size = brief ? x : x + e;
  const R_xlen_t block = (R_xlen_t)(out.features.r * (out.features.r + 1) / 2);
  if (brief && !short_form)
    Rf_error("internal error: the covariance of the effects must be in full");
  if (brief) {
    out.own = numbers(list, "own", block * (R_xlen_t)k);
    out.common = numbers(list, "common", block);
    out.cross = numbers(list, "cross", (R_xlen_t)(x * e));
  }
  out.effect = r_doubles(r_element(list, "effect"), "effect", (R_xlen_t)e);
  const double *packed = numbers(list, "cov", (R_xlen_t)(size * (size + 1) / 2));
  double *cov = r_work(size * size);
  for (size_t j = 0; j < size; j++)
    for (size_t i = j; i < size; i++)
      cov[i + size * j] = cov[j + size * i] = *packed++;
  out.cov = cov;
  return out;
}

SEXP r_short_form(const gpc_features *features, size_t x, const double *packed,
                  double alike, const gpc_memory *memory) {
  const size_t k = features->k, r = features->r, e = k * r, size = x + e;
  const size_t block = r * (r + 1) / 2;
  /* mean squares of the features, with log-probabilities for powers */
  const double square[GPC_FEATURE_BLOCKS] = {1.0, 1.0, 1.0 / (double)k, 1.0};
  double *weight = gpc_get_doubles(memory, r);
  for (size_t b = 0, i = 0; b < GPC_FEATURE_BLOCKS; b++)
    for (size_t j = 0; j < features->count[b]; j++)
      weight[i++] = square[b];
  static const char *names[] = {"cov", "cross", "own", "common", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 2, r_new_matrix(block, k));
  SET_VECTOR_ELT(out, 3, Rf_allocVector(REALSXP, (R_xlen_t)block));
  const gpc_status status =
      gpc_joint_brief(x, features, packed, weight, alike, memory,
                      REAL(VECTOR_ELT(out, 2)), REAL(VECTOR_ELT(out, 3)));
  gpc_give(memory, weight);
  if (status != GPC_OK) {
    UNPROTECT(1);
    return R_NilValue;
  }
  SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)(x * (x + 1) / 2)));
  SET_VECTOR_ELT(out, 1, r_new_matrix(x, e));
  double *own = REAL(VECTOR_ELT(out, 0)), *cross = REAL(VECTOR_ELT(out, 1));
  for (size_t j = 0; j < x; j++) {
    memcpy(own, packed, (x - j) * sizeof(double));
    for (size_t i = 0; i < e; i++)
      cross[j + x * i] = packed[x - j + i];
    own += x - j;
    packed += size - j;
  }
  UNPROTECT(1);
  return out;
}

/* The short form of the covariance of fit$effects, or NULL. before: how many numbers come
 * before the effects. */
SEXP r_effects_short(SEXP effects, SEXP classes, SEXP before, SEXP alike) {
  const size_t k = (size_t)r_count(classes, "classes");
  const size_t x = (size_t)r_count(before, "before");
  const gpc_features features = features_of(effects, k);
  const size_t size = x + k * features.r;
  const double *packed =
      r_doubles(r_element(effects, "cov"), "cov", (R_xlen_t)(size * (size + 1) / 2));
  if (k < 2 || x < 1)
    Rf_error("internal error: there is no short form without classes");
  return r_short_form(&features, x, packed, r_number(alike, "alike"), &r_memory);
}

/* May a covariance, given by its lower triangle, be kept in single precision? */
SEXP r_effects_firm(SEXP cov) {
  const double length = (double)XLENGTH(cov);
  const size_t size = (size_t)((sqrt(8.0 * length + 1.0) - 1.0) / 2.0 + 0.5);
  const double *packed = r_doubles(cov, "cov", (R_xlen_t)(size * (size + 1) / 2));
  return Rf_ScalarLogical(gpc_joint_firm(size, packed, &r_memory) == GPC_OK);
}

/* All routines return NULL if the covariance of the effects is not positive definite. */

/* approx: 0 mean, 1 delta. */
SEXP r_effects_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_joint_fitted joint = r_joint_fitted(fit, data.k, 1);
  SEXP out = PROTECT(r_new_matrix(data.n, data.k));
  const gpc_approx how =
      r_count(approx, "approx") == 1 ? GPC_APPROX_DELTA : GPC_APPROX_MEAN;
  const gpc_status status =
      gpc_joint_predict(&data, &joint, how, &r_memory, r_poll, NULL, REAL(out));
  UNPROTECT(1);
  return status == GPC_OK ? out : R_NilValue;
}

/* Rows first .. first + count of the data, copied to z [count x k] and, where there are any,
 * shift [count]. */
static gpc_gp_data some_rows(const gpc_gp_data *data, size_t first, size_t count,
                             double *z, double *shift) {
  gpc_gp_data part = *data;
  for (size_t j = 0; j < data->k; j++)
    memcpy(z + count * j, data->z + first + data->n * j, count * sizeof(double));
  if (data->shift)
    memcpy(shift, data->shift + first, count * sizeof(double));
  part.n = count;
  part.z = z;
  part.shift = data->shift ? shift : NULL;
  return part;
}

#define TOP_DOUBLES 65536 /* of probabilities at a time, or ... */
#define TOP_PARTS 8       /* ... so many parts of the rows */

/* A fit whose most likely classes are asked for: with effects joint with the process, or with
 * those of many classes, or with none. */
typedef struct {
  const gpc_joint_fitted *joint; /* or NULL, and then ... */
  gpc_gp_fitted process;
  const gpc_wide_fitted *wide; /* ... or NULL */
  const double *offset;        /* ... or NULL */
} top_fitted;

/* p [n x k] := the probabilities of the rows at the map's mean. */
static gpc_status top_probs(const gpc_gp_data *data, const top_fitted *fit,
                            const gpc_memory *memory, double *p) {
  if (fit->joint)
    return gpc_joint_predict(data, fit->joint, GPC_APPROX_MEAN, memory, r_poll, NULL, p);
  const gpc_status status =
      gpc_gp_predict(data, &fit->process, GPC_APPROX_MEAN, memory, r_poll, NULL, p);
  if (status != GPC_OK)
    return status;
  if (fit->wide)
    gpc_wide_apply(data, fit->wide, 0, memory, r_poll, NULL, p);
  else if (fit->offset)
    gpc_offsets_apply(data->n, data->k, fit->offset, p, p);
  return GPC_OK;
}

/* How many rows change their most likely class, before [n]: now it is another, whose score was
 * lower. Rows count by rows$counts, if there are any; rows$centre: are they to be centred? Without
 * the memory that all of their probabilities would take: what works on one part of them works on
 * the next as well. */
static SEXP changed_rows(const gpc_gp_data *data, SEXP rows_of, const top_fitted *fit) {
  const size_t n = data->n, k = data->k;
  const int *before = r_codes(r_element(rows_of, "before"), "before", n, k);
  const int centre = r_flag(r_element(rows_of, "centre"), "centre");
  const double *counts =
      r_doubles_or_null(r_element_or_null(rows_of, "counts"), "counts", (R_xlen_t)n);
  size_t rows = TOP_DOUBLES / k > n / TOP_PARTS ? TOP_DOUBLES / k : n / TOP_PARTS + 1;
  rows = rows < 1 ? 1 : rows < n ? rows : n;
  gpc_arena arena = {.base = &r_memory};
  const gpc_memory memory = gpc_arena_memory(&arena);
  double *z = gpc_get_doubles(&memory, rows * k), *p = gpc_get_doubles(&memory, rows * k);
  double *shift = centre ? gpc_get_doubles(&memory, rows) : NULL;
  double *low = gpc_get_doubles(&memory, rows), *high = gpc_get_doubles(&memory, rows);
  double *part = gpc_get_doubles(&memory, 4 * gpc_block_count(rows, k));
  int *now = gpc_get_ints(&memory, rows);
  gpc_scan_range range;
  double changed = 0.0;
  for (size_t first = 0; first < n; first += rows) {
    const size_t count = n - first < rows ? n - first : rows;
    void *mark = memory.mark(memory.self);
    gpc_gp_data some = some_rows(data, first, count, z, NULL); /* no shift yet */
    if (shift)
      gpc_gp_row_range(&some, shift, low, high);
    some.shift = shift;
    if (top_probs(&some, fit, &memory, p) != GPC_OK)
      return R_NilValue;
    memory.release(memory.self, mark);
    gpc_scan_rows(count, k, p, 1, NULL, now, NULL, NULL, part, &range);
    for (size_t i = 0; i < count; i++) {
      const int was = before[first + i];
      if (now[i] != was &&
          z[i + count * (size_t)(now[i] - 1)] < z[i + count * (size_t)(was - 1)])
        changed += counts ? counts[first + i] : 1.0;
    }
  }
  return Rf_ScalarReal(changed);
}

SEXP r_effects_changed(SEXP fit, SEXP at, SEXP rows, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_joint_fitted joint = r_joint_fitted(fit, data.k, 1);
  return changed_rows(&data, rows, &(top_fitted){.joint = &joint});
}

/* The same without such effects. wide: of many classes, or NULL; offset [k], or NULL. */
SEXP r_gp_changed(SEXP fit, SEXP at, SEXP rows, SEXP wide, SEXP offset, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_wide_fitted effects = {0};
  if (!Rf_isNull(wide))
    effects = r_wide_fitted(wide, data.k);
  return changed_rows(
      &data, rows,
      &(top_fitted){.process = r_gp_fitted(fit),
                    .wide = Rf_isNull(wide) ? NULL : &effects,
                    .offset = r_doubles_or_null(offset, "offset", (R_xlen_t)data.k)});
}

/* Posterior mean and variance of the latent values: list of matrices [n x k]. */
SEXP r_effects_latent(SEXP fit, SEXP at, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_joint_fitted joint = r_joint_fitted(fit, data.k, 0);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, r_new_matrix(data.n, data.k));
  const gpc_status status =
      gpc_joint_latent(&data, &joint, &r_memory, r_poll, NULL, REAL(VECTOR_ELT(out, 0)),
                       REAL(VECTOR_ELT(out, 1)));
  UNPROTECT(1);
  return status == GPC_OK ? out : R_NilValue;
}

/* functions: list of x [size x pairs] and e [k x pairs] from R's generator. keep: all
 * draws [n x k x 2 pairs], or their average. */
SEXP r_effects_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_joint_fitted joint = r_joint_fitted(fit, data.k, 0);
  SEXP noise = r_element(functions, "e");
  const size_t k = data.k, pairs = (size_t)XLENGTH(noise) / k;
  const size_t size = joint.process.basis.m + joint.slopes + k * joint.features.r;
  const int all = r_flag(keep, "keep");
  const gpc_lift lift = r_gp_lift(functions, pairs);
  const double *x = r_doubles(r_element(functions, "x"), "x", (R_xlen_t)(size * pairs));
  SEXP out =
      PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(data.n * k * (all ? 2 * pairs : 1))));
  const gpc_status status =
      gpc_joint_draws(&data, &joint, pairs, x, r_doubles(noise, "e", -1), &lift,
                      &r_memory, r_poll, NULL, REAL(out), all ? REAL(out) : NULL);
  UNPROTECT(1);
  return status == GPC_OK ? out : R_NilValue;
}

#define INTERVAL_DOUBLES 4000000 /* of draws at a time, at the most */

/* Quantiles ends = c(lower, upper) of the draws: [n x k x 2]. functions: see
 * r_effects_draws. If it has share [2 pairs] and even ([1], or [n x k]), limits are those
 * further out of two: with every draw p as it is, and as (1 - share) p + share even, eq.
 * (38b). */
SEXP r_effects_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_joint_fitted joint = r_joint_fitted(fit, data.k, 0);
  SEXP noise = r_element(functions, "e");
  const size_t n = data.n, k = data.k, pairs = (size_t)XLENGTH(noise) / k;
  const size_t size = joint.process.basis.m + joint.slopes + k * joint.features.r;
  const double *x = r_doubles(r_element(functions, "x"), "x", (R_xlen_t)(size * pairs));
  const double *e = r_doubles(noise, "e", -1), *end = r_doubles(ends, "ends", 2);
  const gpc_lift lift = r_gp_lift(functions, pairs);
  const double *share = r_doubles_or_null(r_element_or_null(functions, "share"), "share",
                                          (R_xlen_t)(2 * pairs));
  SEXP rest = share ? r_element(functions, "even") : R_NilValue;
  const int each = share && XLENGTH(rest) != 1;
  const double *even =
      share ? r_doubles(rest, "even", each ? (R_xlen_t)(n * k) : 1) : NULL;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(2 * n * k)));
  size_t rows = INTERVAL_DOUBLES / (k * 2 * pairs);
  rows = rows < 1 ? 1 : rows < n ? rows : n;
  double *all = r_work(rows * k * 2 * pairs), *draws = r_work(2 * pairs);
  double *z = r_work(rows * k), *shift = data.shift ? r_work(rows) : NULL;
  for (size_t first = 0; first < n; first += rows) {
    const size_t count = n - first < rows ? n - first : rows;
    const void *mark = vmaxget();
    const gpc_gp_data part = some_rows(&data, first, count, z, shift);
    if (gpc_joint_draws(&part, &joint, pairs, x, e, &lift, &r_memory, r_poll, NULL, NULL,
                        all) != GPC_OK) {
      UNPROTECT(1);
      return R_NilValue;
    }
    vmaxset(mark);
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < count; i++) {
        for (size_t d = 0; d < 2 * pairs; d++)
          draws[d] = all[i + count * (j + k * d)];
        double *to = REAL(out) + first + i + n * j;
        to[0] = gpc_quantile(2 * pairs, draws, end[0]);
        to[n * k] = gpc_quantile(2 * pairs, draws, end[1]);
        if (!share)
          continue;
        const double there = even[each ? first + i + n * j : 0];
        for (size_t d = 0; d < 2 * pairs; d++)
          draws[d] = (1.0 - share[d]) * all[i + count * (j + k * d)] + share[d] * there;
        to[0] = fmin(to[0], gpc_quantile(2 * pairs, draws, end[0]));
        to[n * k] = fmax(to[n * k], gpc_quantile(2 * pairs, draws, end[1]));
      }
  }
  UNPROTECT(1);
  return out;
}

/* p [n x k x d] with the classes' offsets [k x d] applied: a new array, a matrix if d is
 * one, which is p itself where nobody else has it: new memory of that size takes longer than the
 * offsets. Block by block of rows, so that they are read once. */
SEXP r_offsets_apply(SEXP p, SEXP offset, SEXP rows) {
  const size_t n = (size_t)r_count(rows, "rows");
  SEXP dim = Rf_getAttrib(offset, R_DimSymbol);
  if (TYPEOF(dim) != INTSXP || XLENGTH(dim) != 2)
    Rf_error("internal error: 'offset' must be a matrix");
  const size_t k = (size_t)INTEGER(dim)[0], d = (size_t)INTEGER(dim)[1];
  const double *from = r_doubles(p, "p", (R_xlen_t)(n * k * d));
  const double *b = r_doubles(offset, "offset", (R_xlen_t)(k * d));
  const int mine = d == 1 && Rf_isMatrix(p) && !MAYBE_SHARED(p);
  SEXP out = PROTECT(mine     ? p
                     : d == 1 ? r_new_matrix(n, k)
                              : Rf_allocVector(REALSXP, (R_xlen_t)(n * k * d)));
  for (size_t q = 0; q < d; q++)
    gpc_offsets_apply(n, k, b + k * q, from + n * k * q, REAL(out) + n * k * q);
  UNPROTECT(1);
  return out;
}

/* Quantiles ends = c(lower, upper) over the last index of draws [n x 2 pairs]: [n x 2]. */
SEXP r_draw_quantiles(SEXP draws, SEXP rows, SEXP ends) {
  const size_t n = (size_t)r_count(rows, "rows"),
               d = (size_t)XLENGTH(draws) / (n ? n : 1);
  const double *from = r_doubles(draws, "draws", -1), *end = r_doubles(ends, "ends", 2);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)n, 2));
  double *one = r_work(d);
  for (size_t i = 0; i < n; i++) {
    for (size_t q = 0; q < d; q++)
      one[q] = from[i + n * q];
    REAL(out)[i] = gpc_quantile(d, one, end[0]);
    REAL(out)[i + n] = gpc_quantile(d, one, end[1]);
  }
  UNPROTECT(1);
  return out;
}
