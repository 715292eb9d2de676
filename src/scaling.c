/* scaling.c: see scaling.h. */
#include "scaling.h"
#include "fastlog.h"
#include <math.h>
#include <string.h>

#define FEW 10.0 /* finite scores that do not tell what the infinite ones are like */

void gpc_bound_infinite(size_t n, const double *weights, double limit, double *x,
                        double *range) {
  double low = INFINITY, high = -INFINITY, total = 0.0, finite = 0.0;
  int seen[2] = {0, 0};
  for (size_t i = 0; i < n; i++) {
    const double w = weights ? weights[i] : 1.0;
    if (w <= 0.0)
      continue;
    total += w;
    if (isinf(x[i])) {
      seen[x[i] > 0.0] = 1;
      continue;
    }
    finite += w;
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  if (low > high)
    low = high = 0.0;
  if (finite < FEW) {
    const double far = log1p(total);
    low = seen[0] && low > -far ? -far : low;
    high = seen[1] && high < far ? far : high;
  }
  for (size_t i = 0; i < n; i++)
    if (isinf(x[i]))
      x[i] = x[i] < 0.0 ? low : high;
  range[0] = seen[0] || low < -limit ? low : -limit;
  range[1] = seen[1] || high > limit ? high : limit;
}

/* What is to be known of a class and its scores before fitting. */
typedef struct {
  double hits, others;    /* weights */
  double rows;            /* rows that count */
  double low[2], high[2]; /* range of the scores of the others, of the class */
} outline;

static outline look(const gpc_one *one) {
  outline o = {0.0, 0.0, 0.0, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
  for (size_t i = 0; i < one->n; i++) {
    double w = one->weights ? one->weights[i] : 1.0, x = one->x[i];
    if (w <= 0.0)
      continue;
    int hit = one->label[i] == one->code;
    o.rows += 1.0;
    *(hit ? &o.hits : &o.others) += w;
    o.low[hit] = x < o.low[hit] ? x : o.low[hit];
    o.high[hit] = x > o.high[hit] ? x : o.high[hit];
  }
  return o;
}

static int is_flat(const outline *o) {
  return o->low[0] == o->high[0] && o->low[1] == o->high[1] && o->low[0] == o->low[1];
}

/* Where to stop if the scores separate the classes, so that the likelihood has no
 * maximum: (N + 1)/(N + 2) of the mean confidence that can be reached. Rows tied at the
 * border keep their frequency. 2, which no mean reaches, if they do not. */
static double stop_at(const gpc_one *one, const outline *o, int falling) {
  const int rising = o->high[0] <= o->low[1];
  if (is_flat(o))
    return 2.0;
  if (!rising && !(falling && o->high[1] <= o->low[0]))
    return 2.0;
  const double border = rising ? o->low[1] : o->low[0];
  double hits = 0.0, others = 0.0;
  for (size_t i = 0; i < one->n; i++)
    if (one->x[i] == border)
      *(one->label[i] == one->code ? &hits : &others) +=
          one->weights ? one->weights[i] : 1.0;
  const double total = o->hits + o->others, n = total > o->rows ? total : o->rows;
  const double lost = hits < others ? hits : others;
  return (n + 1.0) / (n + 2.0) * (total - lost) / total;
}

static void set_constant(const outline *o, double high, double low,
                         gpc_logistic_result *r, int place) {
  double mean = (o->hits * high + o->others * low) / (o->hits + o->others);
  memset(r, 0, sizeof *r);
  for (int a = 0; a < GPC_LOGISTIC_MAX; a++)
    r->se[a] = NAN;
  r->coef[place] = log(mean / (1.0 - mean));
  r->se[place] = 1.0 / sqrt((o->hits + o->others) * mean * (1.0 - mean));
  r->cov[place][place] = r->se[place] * r->se[place];
  r->log_lik = o->hits * log(mean) + o->others * log1p(-mean);
}

/* Equal scores z, but 1/2 stays 1/2: the power of the odds, a = b, that gives the rate.
 * The identity if z is 1/2 itself. */
static void set_power(const outline *o, double z, double rest, gpc_logistic_result *r) {
  const double total = o->hits + o->others, mean = o->hits / total;
  const double odds = log(z) - log(rest), wanted = log(mean / (1.0 - mean));
  memset(r, 0, sizeof *r);
  for (int a = 0; a < GPC_LOGISTIC_MAX; a++)
    r->se[a] = NAN;
  r->coef[0] = odds != 0.0 ? wanted / odds : 1.0;
  r->coef[0] = r->coef[0] > 0.0 ? r->coef[0] : 0.0;
  r->coef[1] = r->coef[0];
  for (int a = 0; a < GPC_LOGISTIC_MAX; a++)
    for (int b = 0; b < GPC_LOGISTIC_MAX; b++)
      r->cov[a][b] = NAN;
  const double eta = r->coef[0] * odds;
  r->log_lik = -o->hits * log1p(exp(-eta)) - o->others * log1p(exp(eta));
}

static gpc_logistic_data plain_data(const gpc_one *one) {
  return (gpc_logistic_data){one->n,       0,   {NULL, NULL}, 1,  one->label, one->code,
                             one->weights, 1.0, 0.0,          2.0};
}

gpc_status gpc_platt_fit(const gpc_one *one, int smoothed, double tol, int max_iter,
                         gpc_logistic_result *result) {
  const outline o = look(one);
  gpc_logistic_data data = plain_data(one);
  data.features = 1;
  data.x[0] = one->x;
  if (smoothed) { /* Lin, Lin and Weng (2007), eq. (5) */
    data.high = (o.hits + 1.0) / (o.hits + 2.0);
    data.low = 1.0 / (o.others + 2.0);
  }
  if (is_flat(&o)) {
    set_constant(&o, data.high, data.low, result, 1);
    return GPC_FLAT;
  }
  if (!smoothed)
    data.stop = stop_at(one, &o, 1);
  return gpc_logistic_fit(&data, tol, max_iter, result);
}

/* Beta calibration --------------------------------------------------------------------
 */

/* The terms log z and -log(1 - z); for AB both with log 2, for AM their sum. */
static void beta_features(const gpc_one *one, const double *rest, gpc_beta_params params,
                          double clip, double *first, double *second) {
  const double add = params == GPC_BETA_AB ? 0.69314718055994530942 : 0.0;
  const double *z = one->x;
#pragma omp simd
  for (size_t i = 0; i < one->n; i++) {
    double up = z[i] < clip ? clip : z[i], down = rest[i] < clip ? clip : rest[i];
    first[i] = gpc_log(up) + add;
    second[i] = -gpc_log(down) - add;
  }
  if (params == GPC_BETA_AM)
    for (size_t i = 0; i < one->n; i++)
      first[i] += second[i];
}

typedef struct {
  gpc_logistic_data data;
  const double *first, *second;
  gpc_beta_params params;
  double tol;
  int max_iter;
} beta_problem;

/* A fit with some of the terms; coefficients go to their places. */
static gpc_status fit_terms(const beta_problem *p, int use_a, int use_b,
                            gpc_logistic_result *r) {
  gpc_logistic_data data = p->data;
  gpc_logistic_result found;
  data.features = 0;
  if (use_a)
    data.x[data.features++] = p->first;
  if (use_b && p->params != GPC_BETA_AM)
    data.x[data.features++] = p->second;
  gpc_status status = gpc_logistic_fit(&data, p->tol, p->max_iter, &found);
  /* (a, b, c) = T found.coef: terms left out are zero, tied ones the same */
  const double tie = 0.69314718055994530942;
  double t[GPC_LOGISTIC_MAX][GPC_LOGISTIC_MAX] = {{0.0}};
  int at = 0, fitted[GPC_LOGISTIC_MAX] = {0, 0, 0};
  if (use_a) {
    fitted[0] = t[0][at] = 1;
    if (p->params == GPC_BETA_AM)
      fitted[1] = t[1][at] = 1;
    at++;
  }
  if (use_b && p->params != GPC_BETA_AM)
    fitted[1] = t[1][at++] = 1;
  if (data.intercept)
    t[2][at++] = 1.0;
  else
    for (int i = 0; i < at; i++)
      t[2][i] = tie * (t[0][i] - t[1][i]);
  fitted[2] = data.intercept || at > 0;
  *r = found;
  for (int a = 0; a < GPC_LOGISTIC_MAX; a++) {
    r->coef[a] = 0.0;
    for (int i = 0; i < at; i++)
      r->coef[a] += t[a][i] == 0.0 ? 0.0 : t[a][i] * found.coef[i];
    for (int b = 0; b < GPC_LOGISTIC_MAX; b++) {
      r->cov[a][b] = 0.0;
      for (int i = 0; i < at; i++)
        for (int j = 0; j < at; j++)
          r->cov[a][b] += t[a][i] * found.cov[i][j] * t[b][j];
    }
    r->se[a] = fitted[a] ? sqrt(r->cov[a][a]) : NAN;
  }
  return status;
}

gpc_status gpc_beta_fit(const gpc_one *one, const double *rest, gpc_beta_params params,
                        double clip, double tol, int max_iter, double *work,
                        gpc_logistic_result *result) {
  const outline o = look(one);
  if (is_flat(&o)) {
    if (params == GPC_BETA_AB) {
      const double z = o.low[0] > clip ? o.low[0] : clip, left = 1.0 - o.low[0];
      set_power(&o, z, left > clip ? left : clip, result);
    } else {
      set_constant(&o, 1.0, 0.0, result, 2);
    }
    return GPC_FLAT;
  }
  beta_problem p = {plain_data(one), work, work + one->n, params, tol, max_iter};
  beta_features(one, rest, params, clip, work, work + one->n);
  p.data.intercept = params != GPC_BETA_AB;
  p.data.stop = stop_at(one, &o, 0);

  gpc_status status = fit_terms(&p, 1, 1, result);
  int drop_a = !(result->coef[0] >= 0.0), drop_b = !(result->coef[1] >= 0.0);
  const int unsure = status == GPC_NOT_CONVERGED; /* signs may be wrong, then */
  int passes = result->iterations;
  if (params != GPC_BETA_AM && (drop_a || drop_b)) {
    /* without the term that offends; if both do, or the other one does now, whichever of
     * the two may stay alone */
    gpc_logistic_result other;
    status = fit_terms(&p, !drop_a || drop_b, !drop_b, result);
    passes += result->iterations;
    int keep_a = !drop_a || drop_b;
    double left = keep_a ? result->coef[0] : result->coef[1];
    if ((drop_a && drop_b) || unsure || left < 0.0) {
      gpc_status second = fit_terms(&p, !keep_a, keep_a, &other);
      passes += other.iterations;
      double right = keep_a ? other.coef[1] : other.coef[0];
      if (right >= 0.0 && (left < 0.0 || other.log_lik > result->log_lik)) {
        *result = other;
        status = second;
        left = right;
      }
    }
    drop_a = drop_b = left < 0.0;
  }
  if (drop_a && drop_b) {
    status = fit_terms(&p, 0, 0, result);
    passes += result->iterations;
  }
  result->iterations = passes;
  return status;
}
