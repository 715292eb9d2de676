/* r_gp_fit.c: .Call layer of the fit. */
#include "arena.h"
#include "gp_joint_brief.h"
#include "r_gp_effects.h"
#include "r_stream.h"
#include "r_util.h"

#include <math.h>
#include <string.h>

static double number(SEXP list, const char *name) {
  return r_number(r_element(list, name), name);
}
static int flag(SEXP list, const char *name) {
  return r_flag(r_element(list, name), name);
}
/* A vector that may be of length zero: NULL then. */
static const double *some(SEXP list, const char *name, size_t *length) {
  SEXP x = r_element(list, name);
  const double *values = r_doubles(x, name, -1);
  *length = (size_t)XLENGTH(x);
  return *length ? values : NULL;
}

typedef struct {
  gpc_progress progress;
  int trace, shown;
} watching;

static void poll_fit(void *data) {
  R_CheckUserInterrupt();
  watching *watch = data;
  const gpc_progress *now = &watch->progress;
  if (watch->trace && now->at && now->passes != watch->shown) {
    watch->shown = now->passes;
    Rprintf("pass %3d  elbo %.6f  promise %.2g  variance %.4g  lengthscale %.4g  slope "
            "%.4g\n",
            now->passes, now->elbo, now->promise, now->at->hyper.s2, now->at->hyper.l,
            now->at->slope);
  }
}

static gpc_fit_settings unpack_settings(SEXP list, size_t n, size_t k) {
  gpc_fit_settings s = {0};
  size_t positions;
  s.mean = flag(list, "log_mean") ? GPC_MEAN_LOG : GPC_MEAN_LINEAR;
  s.cov = flag(list, "diag") ? GPC_COV_DIAG : GPC_COV_FULL;
  s.centre = flag(list, "center");
  s.floor = some(list, "floors", &s.floors);
  s.floor_prior =
      r_doubles(r_element(list, "floor_prior"), "floor_prior", (R_xlen_t)s.floors);
  s.inducing = some(list, "inducing", &positions);
  s.m = positions ? positions
                  : (size_t)r_count(r_element(list, "n_inducing"), "n_inducing");
  s.move = flag(list, "move");
  s.variance = number(list, "variance");
  s.lengthscale = number(list, "lengthscale");
  s.slope = number(list, "slope");
  s.least_l = number(list, "least_l");
  s.noise = number(list, "noise");
  s.arg = r_codes(r_element(list, "arg"), "arg", n, k);
  s.tol = number(list, "tol");
  s.effects_tol = number(list, "effects_tol");
  s.enough = number(list, "enough");
  s.max_passes = r_count(r_element(list, "max_passes"), "max_passes");
  s.bins = (size_t)r_count(r_element(list, "bins"), "bins");
  const int *effects = r_integers(r_element(list, "effects"), "effects", GPC_BLOCKS);
  const double *held =
      r_doubles(r_element(list, "effect_variance"), "effect_variance", GPC_BLOCKS);
  for (int b = 0; b < GPC_BLOCKS; b++) {
    s.effects[b] = effects[b];
    s.effect_variance[b] = held[b];
  }
  s.worthless = number(list, "worthless");
  s.odds = number(list, "odds");
  s.many = flag(list, "many");
  s.least_score = number(list, "least_score");
  s.full_score = number(list, "full_score");
  memcpy(s.least_wide, r_doubles(r_element(list, "least_wide"), "least_wide", 2),
         sizeof s.least_wide);
  s.freeze = flag(list, "freeze");
  s.loosen = flag(list, "loosen");
  s.site = r_site(r_element_or_null(list, "site"));
  s.offsets_site =
      r_offsets_site(r_element_or_null(list, "offset_site"), k, s.site ? s.site->p : 0);
  s.wide_site = r_wide_site(r_element_or_null(list, "wide_site"), k);
  if (s.site) {
    s.begin_slope = number(list, "begin_slope");
    s.slope_factor = number(list, "slope_factor");
    s.effect_site = r_joint_site(r_element_or_null(list, "effect_site"), s.site->p, k);
    if (s.effect_site &&
        s.effect_site->e != k * gpc_features_make(k, s.effects, 1.0, 1.0, 0.0, 1.0).r)
      Rf_error("internal error: a site of other effects");
  }
  s.integrate = flag(list, "integrate");
  if (s.floors < 1 || s.m == 1)
    Rf_error("internal error: 'floors' is empty or there is one inducing input");
  return s;
}

static SEXP vector_of(size_t n, const double *x) {
  SEXP out = Rf_allocVector(REALSXP, (R_xlen_t)n);
  if (n)
    memcpy(REAL(out), x, n * sizeof(double));
  return out;
}

static void put(SEXP list, const char **names, const char *name, SEXP x) {
  int at = 0;
  while (strcmp(names[at], name) != 0)
    at++;
  SET_VECTOR_ELT(list, at, x);
}

/* How covariances of effects are handed over: in short, where that serves. */
typedef struct {
  double alike; /* gp_joint_brief.h; 0: not in short */
  const gpc_memory *memory;
} handing;

/* "short", the short form of cov [size x size], or "cov", its lower triangle by columns. */
static void put_cov(SEXP out, const char **names, const handing *how,
                    const gpc_features *effects, size_t size, const double *cov) {
  const size_t all = size * (size + 1) / 2;
  int wanted[GPC_BLOCKS] = {0}; /* what is kept are coefficients, without a skew part */
  for (int b = 0; b < GPC_FEATURE_BLOCKS; b++)
    wanted[b] = effects->count[b] > 0;
  const gpc_features features = gpc_features_make(
      effects->k, wanted, effects->rms, effects->slope, effects->low, effects->high);
  if (how->alike > 0.0) {
    double *packed = gpc_get_doubles(how->memory, all);
    gpc_joint_pack(size, cov, packed);
    SEXP brief = r_short_form(&features, size - features.k * features.r, packed,
                              how->alike, how->memory);
    put(out, names, "short", brief);
    gpc_give(how->memory, packed);
    if (brief != R_NilValue)
      return;
  }
  SEXP lower = Rf_allocVector(REALSXP, (R_xlen_t)all);
  put(out, names, "cov", lower);
  gpc_joint_pack(size, cov, REAL(lower));
}

/* A mixture over hyperparameters as a list. */
static SEXP pack_mixture(const gpc_posterior *p, int passes, const handing *how,
                         const gpc_features *effects) {
  static const char *names[] = {
      "hyper", "inducing", "q_mean", "q_cov",   "slope_var", "slope_cross", "effect",
      "cov",   "passes",   "ends",   "between", "bent",      "short",       ""};
  SEXP out = PROTECT(r_named_list(names));
  const size_t m = p->at.m, size = m + p->slopes + p->e;
  const double hyper[4] = {p->at.hyper.s2, p->at.hyper.l, p->at.hyper.sn2, p->at.slope};
  SEXP q_cov = Rf_allocMatrix(REALSXP, (int)m, (int)m);
  put(out, names, "q_cov", q_cov);
  memcpy(REAL(q_cov), p->at.q_cov, m * m * sizeof(double));
  SEXP cross = Rf_allocVector(REALSXP, (R_xlen_t)m);
  put(out, names, "slope_cross", cross);
  put(out, names, "slope_var", Rf_ScalarReal(gpc_posterior_slope(p, REAL(cross))));
  put(out, names, "hyper", vector_of(4, hyper));
  put(out, names, "bent", Rf_ScalarReal(p->bent));
  put(out, names, "between", Rf_ScalarReal(p->at.hyper.between));
  put(out, names, "passes", Rf_ScalarInteger(passes));
  put(out, names, "inducing", vector_of(m, p->at.inducing));
  put(out, names, "q_mean", vector_of(m, p->at.q_mean));
  if (p->low < p->high) {
    const double ends[2] = {p->low, p->high};
    put(out, names, "ends", vector_of(2, ends));
  }
  if (p->e) {
    put(out, names, "effect", vector_of(p->e, p->effect));
    put_cov(out, names, how, effects, size, p->cov);
  }
  UNPROTECT(1);
  return out;
}

/* The covariance of m given the slope, the slope's variance and how m moves with it. */
static void put_process(SEXP out, const char **names, const gpc_effects_result *r) {
  const size_t m = r->m, size = m + r->slopes + r->features.k * r->features.r;
  const gpc_posterior all = {
      .at = {.m = m}, .slopes = r->slopes, .e = size - m - r->slopes, .cov = r->cov};
  SEXP cross = Rf_allocVector(REALSXP, (R_xlen_t)m);
  put(out, names, "slope_cross", cross);
  SEXP q_cov = Rf_allocMatrix(REALSXP, (int)m, (int)m);
  put(out, names, "q_cov", q_cov);
  const double var = gpc_posterior_slope(&all, REAL(cross));
  put(out, names, "slope_var", Rf_ScalarReal(var));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < m; i++)
      REAL(q_cov)
  [i + m * j] = r->cov[i + size * j] - var * REAL(cross)[i] * REAL(cross)[j];
}

/* Effects as a list; without any only whether they were kept, and the bounds. */
static SEXP pack_effects(const gpc_effects_result *r, const handing *how) {
  static const char *names[] = {
      "kept",     "elbo",   "none",     "passes", "converged", "hyper",
      "inducing", "q_mean", "tau",      "effect", "cov",       "slopes",
      "count",    "scale",  "averaged", "q_cov",  "slope_var", "slope_cross",
      "promise",  "skew",   "parts",    "short",  ""};
  SEXP out = PROTECT(r_named_list(names));
  put(out, names, "kept", Rf_ScalarLogical(r->kept));
  put(out, names, "elbo", Rf_ScalarReal(r->elbo));
  put(out, names, "none", Rf_ScalarReal(r->none));
  put(out, names, "passes", Rf_ScalarInteger(r->passes));
  put(out, names, "converged", Rf_ScalarLogical(r->converged));
  put(out, names, "promise", Rf_ScalarReal(r->promise));
  if (r->kept) {
    const gpc_features *f = &r->features;
    const size_t e = f->k * f->r, size = r->m + r->slopes + e;
    const double hyper[4] = {r->at.hyper.s2, r->at.hyper.l, r->at.hyper.sn2, r->at.slope};
    const double scale[4] = {f->rms, f->slope, f->low, f->high};
    SEXP count = Rf_allocVector(INTSXP, GPC_FEATURE_BLOCKS);
    put(out, names, "count", count);
    for (int b = 0; b < GPC_FEATURE_BLOCKS; b++)
      INTEGER(count)[b] = (int)f->count[b];
    if (r->averaged)
      put(out, names, "averaged", pack_mixture(&r->mixture, r->passes_average, how, f));
    put(out, names, "hyper", vector_of(4, hyper));
    put(out, names, "inducing", vector_of(r->m, r->at.inducing));
    put(out, names, "q_mean", vector_of(r->m, r->at.q_mean));
    put(out, names, "tau", vector_of(GPC_BLOCKS, r->tau));
    put(out, names, "parts", vector_of(GPC_BLOCKS, r->worth));
    put(out, names, "skew", Rf_ScalarLogical(f->count[GPC_SKEW] > 0));
    put(out, names, "effect", vector_of(e, r->effect));
    put_cov(out, names, how, f, size, r->cov);
    put_process(out, names, r);
    put(out, names, "slopes", Rf_ScalarInteger((int)r->slopes));
    put(out, names, "scale", vector_of(4, scale));
  }
  UNPROTECT(1);
  return out;
}

/* More effects of many classes. */
static SEXP pack_wide(const gpc_wide_result *r, size_t k, int frozen) {
  static const char *names[] = {"kept",      "elbo", "passes", "score", "steep",
                                "converged", "mean", "var",    "tau",   "power",
                                "g",         "h",    ""};
  SEXP out = PROTECT(r_named_list(names));
  put(out, names, "kept", Rf_ScalarLogical(r->kept));
  put(out, names, "elbo", Rf_ScalarReal(r->elbo));
  put(out, names, "passes", Rf_ScalarInteger(r->passes));
  put(out, names, "score", Rf_ScalarReal(r->score));
  put(out, names, "steep", Rf_ScalarReal(r->steep));
  put(out, names, "converged", Rf_ScalarLogical(r->converged));
  put(out, names, "power", Rf_ScalarLogical(r->power));
  put(out, names, "mean", vector_of(gpc_wide_size(k), r->mean));
  put(out, names, "tau", vector_of(GPC_WIDE_PARTS, r->tau));
  if (r->kept)
    put(out, names, "var", vector_of(gpc_wide_size(k), r->var));
  if (frozen) {
    put(out, names, "g", vector_of(gpc_wide_size(k), r->g));
    put(out, names, "h", vector_of(gpc_wide_size(k), r->h));
  }
  UNPROTECT(1);
  return out;
}

/* Offsets of many classes likewise. */
static SEXP pack_offsets(const gpc_offsets_result *r, const gpc_wide_result *wide,
                         size_t k, const gpc_site *site) {
  static const char *names[] = {"kept", "elbo", "none",  "passes", "converged", "mean",
                                "var",  "tau",  "share", "score",  "site",      "wide",
                                ""};
  SEXP out = PROTECT(r_named_list(names));
  if (site)
    put(out, names, "site", r_pack_offsets_site(r, k, site->p));
  put(out, names, "kept", Rf_ScalarLogical(r->kept));
  put(out, names, "elbo", Rf_ScalarReal(r->elbo));
  put(out, names, "none", Rf_ScalarReal(r->none));
  put(out, names, "passes", Rf_ScalarInteger(r->passes));
  put(out, names, "converged", Rf_ScalarLogical(r->converged));
  put(out, names, "score", Rf_ScalarReal(r->score));
  if (r->kept) {
    put(out, names, "mean", vector_of(k, r->mean));
    put(out, names, "var", vector_of(k, r->var));
    put(out, names, "tau", Rf_ScalarReal(r->tau));
    put(out, names, "share", Rf_ScalarReal(r->share));
  }
  if (wide->tried)
    put(out, names, "wide", pack_wide(wide, k, site != NULL));
  UNPROTECT(1);
  return out;
}

/* The result as a list; without a fit only status, room (bytes of work space), range,
 * farthest and shortest. */
static SEXP pack_result(gpc_status status, const gpc_fit_settings *s,
                        const gpc_fit_result *r, size_t k, const handing *how,
                        size_t room) {
  static const char *names[] = {"status",
                                "range",
                                "farthest",
                                "shortest",
                                "elbo",
                                "hyper",
                                "inducing",
                                "q_mean",
                                "q_cov",
                                "slope_var",
                                "slope_cross",
                                "passes",
                                "passes_floor",
                                "steps",
                                "promise",
                                "floor",
                                "flat",
                                "separated",
                                "sparse",
                                "nodes",
                                "fine_nodes",
                                "increasing",
                                "changed",
                                "ends",
                                "true",
                                "other",
                                "sample_rows",
                                "temperature_status",
                                "beta",
                                "log_beta_error",
                                "effects",
                                "mass",
                                "site",
                                "averaged",
                                "effect_site",
                                "room",
                                ""};
  SEXP out = PROTECT(r_named_list(names));
  const double range[4] = {r->range.lowest, r->range.highest, r->range.bulk_low,
                           r->range.bulk_high};
  put(out, names, "status", r_status(status));
  put(out, names, "room", Rf_ScalarReal((double)room));
  put(out, names, "range", vector_of(4, range));
  put(out, names, "farthest", Rf_ScalarReal(r->farthest));
  put(out, names, "shortest", Rf_ScalarReal(r->shortest));
  if (status != GPC_OK && status != GPC_NOT_CONVERGED) {
    UNPROTECT(1);
    return out;
  }
  const gpc_params *at = &r->at;
  const double hyper[4] = {at->hyper.s2, at->hyper.l, at->hyper.sn2, at->slope};
  SEXP q_cov = Rf_allocMatrix(REALSXP, (int)at->m, (int)at->m);
  put(out, names, "q_cov", q_cov);
  memcpy(REAL(q_cov), at->q_cov, at->m * at->m * sizeof(double));
  if (r->averaged)
    put(out, names, "averaged", pack_mixture(&r->mixture, r->passes_average, NULL, NULL));
  put(out, names, "elbo", Rf_ScalarReal(r->elbo));
  put(out, names, "hyper", vector_of(4, hyper));
  put(out, names, "inducing", vector_of(at->m, at->inducing));
  put(out, names, "q_mean", vector_of(at->m, at->q_mean));
  put(out, names, "slope_var", Rf_ScalarReal(r->slope_var));
  put(out, names, "slope_cross", vector_of(at->m, r->slope_cross));
  put(out, names, "passes", Rf_ScalarInteger(r->passes));
  put(out, names, "passes_floor", Rf_ScalarInteger(r->passes_floor));
  put(out, names, "steps", Rf_ScalarInteger(r->steps));
  put(out, names, "promise", Rf_ScalarReal(r->promise));
  put(out, names, "floor", Rf_ScalarInteger((int)r->floor + 1));
  put(out, names, "flat", Rf_ScalarLogical(r->flat));
  put(out, names, "separated", Rf_ScalarLogical(r->separated));
  put(out, names, "sparse", Rf_ScalarLogical(r->sparse));
  put(out, names, "nodes", Rf_ScalarInteger((int)r->nodes));
  put(out, names, "fine_nodes", Rf_ScalarInteger((int)r->fine_nodes));
  put(out, names, "increasing", Rf_ScalarLogical(r->increasing));
  put(out, names, "changed", Rf_ScalarInteger((int)r->changed));
  put(out, names, "ends", vector_of(2, r->ends));
  put(out, names, "true", vector_of(s->bins + 2, r->truth));
  put(out, names, "other", vector_of(s->bins + 2, r->other));
  put(out, names, "mass", vector_of(GPC_MASS_BINS + 2, r->mass));
  put(out, names, "sample_rows", Rf_ScalarInteger((int)r->sample_rows));
  put(out, names, "temperature_status", r_status(r->temperature_status));
  put(out, names, "beta", Rf_ScalarReal(r->beta));
  put(out, names, "log_beta_error", Rf_ScalarReal(r->log_beta_error));
  if (r->site.p)
    put(out, names, "site", r_pack_site(&r->site));
  if (r->site.p && r->effects.site.p)
    put(out, names, "effect_site", r_pack_joint_site(&r->effects.site));
  if (r->tried)
    put(out, names, "effects",
        s->many ? pack_offsets(&r->offsets, &r->wide, k, s->freeze ? &r->site : NULL)
                : pack_effects(&r->effects, how));
  UNPROTECT(1);
  return out;
}

/* A fit and what it works with. */
typedef struct {
  SEXP z, labels, weights, settings, threads;
  r_heap heap;
} fit_job;

static SEXP fit_with(void *job) {
  fit_job *j = job;
  gpc_gp_data data = {0};
  data.z = r_matrix(j->z, "z", &data.n, &data.k);
  data.label = r_codes(j->labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(j->weights, "weights", (R_xlen_t)data.n);
  data.threads = r_threads(j->threads);
  const gpc_fit_settings s = unpack_settings(j->settings, data.n, data.k);
  watching watch = {.trace = flag(j->settings, "trace")};
  gpc_fit_result result;
  const gpc_memory heap = r_heap_memory(&j->heap);
  gpc_arena arena = {.base = &heap};
  const gpc_memory memory = gpc_arena_memory(&arena);
  const gpc_status status =
      gpc_gp_fit(&data, &s, &memory, poll_fit, &watch, &watch.progress, &result);
  const handing how = {.alike = number(j->settings, "alike"), .memory = &memory};
  return pack_result(status, &s, &result, data.k, &how, arena.taken);
}

/* The work space of a fit may be several times the scores. As memory of R it would stay, as
 * garbage, beside all that follows. */
SEXP r_gp_fit(SEXP z, SEXP labels, SEXP weights, SEXP settings, SEXP threads) {
  fit_job job = {z, labels, weights, settings, threads, {NULL}};
  return R_ExecWithCleanup(fit_with, &job, r_heap_free, &job.heap);
}
