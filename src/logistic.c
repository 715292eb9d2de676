/* logistic.c: see logistic.h. Features are centred (with an intercept) and scaled inside,
 * so that scores of any size and place are alike. */
#include "logistic.h"
#include "fastexp.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define P GPC_LOGISTIC_MAX
#define LEAST 1e-13 /* pivots below this share of the largest are rounding */
#define ROWS 512    /* rows whose probabilities are computed at a time */

typedef struct {
  const gpc_logistic_data *data;
  int p;                    /* number of coefficients */
  double shift[2], unit[2]; /* a feature is (x - shift) / unit */
  double total;             /* sum of weights */
  size_t stride;            /* every stride-th block of rows is used */
} model;

typedef struct {
  double gradient[P], curvature[P][P];
  double confidence; /* weighted sum of max(p, 1 - p) */
} sums;

static double weight_of(const gpc_logistic_data *d, size_t i) {
  return d->w ? d->w[i] : 1.0;
}

/* Mean and standard deviation of a feature where plain sums overflow or vanish. */
static void far_moments(const model *m, const double *x, double *mean, double *sd) {
  const gpc_logistic_data *d = m->data;
  double most = 0.0, square = 0.0;
  *mean = 0.0;
  for (size_t i = 0; d->intercept && i < d->n; i++)
    *mean += weight_of(d, i) / m->total * x[i];
  for (size_t i = 0; i < d->n; i++)
    most = fmax(most, fabs(x[i] / 4.0 - *mean / 4.0));
  for (size_t i = 0; most > 0.0 && i < d->n; i++) {
    double off = (x[i] / 4.0 - *mean / 4.0) / most;
    square += weight_of(d, i) / m->total * off * off;
  }
  *sd = 4.0 * most * sqrt(square);
}

static void scale_features(model *m) {
  const gpc_logistic_data *d = m->data;
  m->total = 0.0;
  for (size_t i = 0; i < d->n; i++)
    m->total += weight_of(d, i);
  for (int f = 0; f < d->features; f++) {
    double mean = 0.0, square = 0.0;
    if (d->intercept)
      for (size_t i = 0; i < d->n; i++)
        mean += weight_of(d, i) * d->x[f][i];
    mean /= m->total;
    for (size_t i = 0; i < d->n; i++) {
      double off = d->x[f][i] - mean;
      square += weight_of(d, i) * off * off;
    }
    square /= m->total;
    double sd = sqrt(square);
    if (!(square > 1e-280 && square < INFINITY))
      far_moments(m, d->x[f], &mean, &sd);
    m->shift[f] = mean;
    m->unit[f] = sd > 0.0 && isfinite(sd) ? sd : 1.0;
  }
}

/* Scaled features u and linear predictor eta of a block of rows. */
static void block_eta(const model *m, const double *beta, size_t from, size_t rows,
                      double u[2][ROWS], double *eta) {
  const gpc_logistic_data *d = m->data;
  const double start = d->intercept ? beta[d->features] : 0.0;
  for (size_t i = 0; i < rows; i++)
    eta[i] = start;
  for (int f = 0; f < d->features; f++) {
    const double *x = d->x[f] + from, b = beta[f];
    const double shift = m->shift[f], per = 1.0 / m->unit[f];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      u[f][i] = (x[i] - shift) * per;
      eta[i] += b * u[f][i];
    }
  }
}

/* Eight sums side by side: one after the other, each addition would wait for the last. */
static double dot(size_t rows, const double *a, const double *b) {
  double part[8] = {0.0};
  size_t i = 0;
  for (; i + 8 <= rows; i += 8)
    for (size_t l = 0; l < 8; l++)
      part[l] += a[i + l] * b[i + l];
  for (; i < rows; i++)
    part[0] += a[i] * b[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) +
         ((part[4] + part[5]) + (part[6] + part[7]));
}

static void add_block(const model *m, const double *beta, size_t from, size_t rows,
                      sums *s) {
  const gpc_logistic_data *d = m->data;
  double u[2][ROWS], eta[ROWS], residual[ROWS], v[ROWS], vu[ROWS], one[ROWS], sure[ROWS];
  block_eta(m, beta, from, rows, u, eta);
  const int *label = d->label + from, code = d->code;
  const double high = d->high, low = d->low;
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    double p = gpc_expit_minus(-eta[i]);
    double q = 1.0 - p;
    residual[i] = (label[i] == code ? high : low) - p;
    v[i] = p * q;
    sure[i] = p > q ? p : q;
    one[i] = 1.0;
  }
  if (d->w) {
    const double *w = d->w + from;
    for (size_t i = 0; i < rows; i++) {
      residual[i] *= w[i];
      v[i] *= w[i];
      one[i] = w[i];
    }
  }
  const double *column[P] = {one, one, one};
  for (int f = 0; f < d->features; f++)
    column[f] = u[f];
  s->confidence += dot(rows, sure, one);
  for (size_t i = 0; i < rows; i++)
    one[i] = 1.0;
  for (int a = 0; a < m->p; a++) {
    s->gradient[a] += dot(rows, residual, column[a]);
    for (size_t i = 0; i < rows; i++)
      vu[i] = v[i] * column[a][i];
    for (int b = 0; b <= a; b++)
      s->curvature[a][b] += dot(rows, vu, column[b]);
  }
}

static void evaluate(const model *m, const double *beta, sums *s) {
  memset(s, 0, sizeof *s);
  for (size_t from = 0; from < m->data->n; from += ROWS * m->stride) {
    size_t rows = m->data->n - from;
    add_block(m, beta, from, rows < ROWS ? rows : ROWS, s);
  }
}

/* Cholesky factor of the curvature in place, with something on its diagonal: collinear
 * features then share what they explain. 1 if it is positive definite. */
static int factor(int p, double c[P][P], double ridge) {
  double largest = 0.0;
  for (int a = 0; a < p; a++)
    largest = c[a][a] > largest ? c[a][a] : largest;
  for (int a = 0; a < p; a++) {
    c[a][a] += ridge * largest;
    for (int b = 0; b <= a; b++) {
      double sum = c[a][b];
      for (int k = 0; k < b; k++)
        sum -= c[a][k] * c[b][k];
      if (a != b) {
        c[a][b] = sum / c[b][b];
      } else if (sum > LEAST * largest) {
        c[a][a] = sqrt(sum);
      } else {
        return 0;
      }
    }
  }
  return 1;
}

static void solve(int p, double l[P][P], const double *g, double *step) {
  for (int a = 0; a < p; a++) {
    step[a] = g[a];
    for (int k = 0; k < a; k++)
      step[a] -= l[a][k] * step[k];
    step[a] /= l[a][a];
  }
  for (int a = p - 1; a >= 0; a--) {
    for (int k = a + 1; k < p; k++)
      step[a] -= l[k][a] * step[k];
    step[a] /= l[a][a];
  }
}

/* log p(label): log(1 + e^-|eta|) is summed as the logarithm of products of up to 32
 * factors between 1 and 2. */
static double log_likelihood(const model *m, const double *beta) {
  const gpc_logistic_data *d = m->data;
  double u[2][ROWS], eta[ROWS], sum = 0.0;
  for (size_t from = 0; from < d->n; from += ROWS) {
    size_t rows = d->n - from < ROWS ? d->n - from : ROWS;
    block_eta(m, beta, from, rows, u, eta);
    double product = 1.0, spread[ROWS];
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      spread[i] = 1.0 + gpc_exp(-fabs(eta[i]));
    for (size_t i = 0; i < rows; i++) {
      double e = eta[i], size = fabs(e), factor = spread[i];
      int hit = d->label[from + i] == d->code;
      double far = (e > 0.0) == hit ? 0.0 : -size;
      if (d->w) {
        sum += d->w[from + i] > 0.0 ? d->w[from + i] * (far - log(factor)) : 0.0;
        continue;
      }
      sum += far;
      product *= factor;
      if (i % 32 == 31 || i + 1 == rows) {
        sum -= log(product);
        product = 1.0;
      }
    }
  }
  return sum;
}

/* Between two points the mean confidence crosses `stop`: where. */
static void land(const model *m, const double *from, const double *to, double *beta) {
  double low = 0.0, high = 1.0;
  for (int round = 0; round < 30; round++) {
    double t = 0.5 * (low + high);
    sums s;
    for (int a = 0; a < m->p; a++)
      beta[a] = from[a] + t * (to[a] - from[a]);
    evaluate(m, beta, &s);
    if (s.confidence >= m->data->stop * m->total)
      high = t;
    else
      low = t;
  }
}

static double product(int p, const double *a, const double *b) {
  double sum = 0.0;
  for (int i = 0; i < p; i++)
    sum += a[i] * b[i];
  return sum;
}

/* The optimum of a one-sided start: the intercept alone. */
static void start(const model *m, double *beta) {
  const gpc_logistic_data *d = m->data;
  memset(beta, 0, P * sizeof *beta);
  if (!d->intercept)
    return;
  double mean = 0.0;
  for (size_t i = 0; i < d->n; i++)
    mean += weight_of(d, i) * (d->label[i] == d->code ? d->high : d->low);
  mean /= m->total;
  if (mean > 0.0 && mean < 1.0)
    beta[d->features] = log(mean / (1.0 - mean));
}

#define STRIDE 16
#define SEEN 100.0 /* rows of either kind in the sample, at the least */
#define NEAR 200.0 /* what a start from the sample may leave to gain, in nats */

/* Of the rows of the class and the others in the blocks that are used: the lesser weight.
 */
static double rarer(const model *m) {
  const gpc_logistic_data *d = m->data;
  double count[2] = {0.0, 0.0};
  for (size_t from = 0; from < d->n; from += ROWS * m->stride)
    for (size_t i = from; i < d->n && i < from + ROWS; i++)
      count[d->label[i] == d->code] += weight_of(d, i);
  return fmin(count[0], count[1]);
}

/* Many rows: a few steps on every 16th block bring beta close, unless they do not settle
 * or one kind of rows is rare there. 1 if beta has moved. */
static int approach(model *m, double *beta) {
  if (m->data->n < 4 * STRIDE * ROWS || m->data->stop < 1.0)
    return 0;
  m->stride = STRIDE;
  const int enough = rarer(m) >= SEEN;
  m->stride = 1;
  if (!enough)
    return 0;
  double near[P], step[P], slope = INFINITY;
  memcpy(near, beta, sizeof near);
  m->stride = STRIDE;
  for (int i = 0; i < 10 && slope > 1e-2; i++) {
    sums s;
    evaluate(m, near, &s);
    if (!factor(m->p, s.curvature, 0.0))
      break;
    solve(m->p, s.curvature, s.gradient, step);
    slope = product(m->p, s.gradient, step);
    for (int a = 0; a < m->p; a++)
      near[a] += step[a];
  }
  m->stride = 1;
  if (!(slope <= 1e-2))
    return 0;
  memcpy(beta, near, sizeof near);
  return 1;
}

static void finish(const model *m, const double *beta, double c[P][P], int defined,
                   gpc_logistic_result *r) {
  const gpc_logistic_data *d = m->data;
  r->log_lik = log_likelihood(m, beta);
  double cov[P][P];
  for (int a = 0; a < m->p; a++) {
    double unit[P] = {0.0};
    unit[a] = 1.0;
    if (defined)
      solve(m->p, c, unit, cov[a]);
  }
  /* back to the scale of the features: b / unit, and b_0 - sum b shift / unit; coef is
   * T beta, and its covariance T cov T' */
  double back[P] = {0.0}, t[P][P] = {{0.0}};
  for (int f = 0; f < d->features; f++) {
    /* features that differ by less than 1e-300 ask for a slope that is no double */
    r->coef[f] = fmax(fmin(beta[f] / m->unit[f], DBL_MAX), -DBL_MAX);
    r->se[f] = defined ? sqrt(cov[f][f]) / m->unit[f] : NAN;
    back[f] = -m->shift[f] / m->unit[f];
    t[f][f] = 1.0 / m->unit[f];
  }
  if (d->intercept) {
    back[d->features] = 1.0;
    double value = 0.0, variance = 0.0;
    for (int a = 0; a < m->p; a++) {
      t[d->features][a] = back[a];
      value += back[a] * beta[a];
      for (int b = 0; b < m->p; b++)
        variance += defined ? back[a] * cov[a][b] * back[b] : 0.0;
    }
    r->coef[d->features] = value;
    r->se[d->features] = defined ? sqrt(variance) : NAN;
  }
  for (int a = 0; a < m->p; a++)
    for (int b = 0; b < m->p; b++) {
      double sum = 0.0;
      for (int i = 0; defined && i < m->p; i++)
        for (int j = 0; j < m->p; j++)
          sum += t[a][i] * cov[i][j] * t[b][j];
      r->cov[a][b] = defined ? sum : NAN;
    }
}

gpc_status gpc_logistic_fit(const gpc_logistic_data *data, double tol, int max_iter,
                            gpc_logistic_result *result) {
  model m = {data, data->features + (data->intercept != 0), {0.0}, {1.0, 1.0}, 0.0, 1};
  double beta[P], old[P], step[P] = {0.0};
  double slope = 0.0; /* of the objective along the last step, at its beginning */
  gpc_status status = GPC_NOT_CONVERGED;
  sums s;
  memset(result, 0, sizeof *result);
  scale_features(&m);
  start(&m, beta);
  const int sampled = approach(&m, beta);
  memcpy(old, beta, sizeof old);
  /* weights that sum to less than a row tell the coefficients as well as larger ones; of
   * those that sum to very much more rounding leaves this */
  const double enough = fmax(tol * tol * fmin(1.0, m.total), 1e-28 * m.total);
  int defined = 0, turns = 0;
  while (result->iterations < max_iter) {
    evaluate(&m, beta, &s);
    result->iterations++;
    if (s.confidence >= data->stop * m.total) {
      double to[P];
      memcpy(to, beta, sizeof to);
      land(&m, old, to, beta);
      status = GPC_AT_UPPER;
      break;
    }
    /* The objective is concave: where it falls along the step half as steeply as it rose
     * at the beginning, the step went too far, and a secant says where it is level. A
     * wall at the end makes the secant far too careful: a quarter is tried before. */
    double now = product(m.p, s.gradient, step);
    if (slope > 0.0 && now < -0.5 * slope && turns < 20) {
      double t = fmax(slope / (slope - now), 0.25);
      for (int a = 0; a < m.p; a++) {
        step[a] *= t;
        beta[a] = old[a] + step[a];
      }
      slope *= t;
      turns++;
      continue;
    }
    turns = 0;
    /* ill-conditioned: as little on the diagonal as makes it positive definite */
    double plain[P][P];
    memcpy(plain, s.curvature, sizeof plain);
    defined = factor(m.p, s.curvature, 0.0);
    for (double ridge = 1e-12; !defined && ridge < 1.0; ridge *= 100.0) {
      memcpy(s.curvature, plain, sizeof plain);
      if (factor(m.p, s.curvature, ridge))
        break;
    }
    memcpy(old, beta, sizeof old);
    solve(m.p, s.curvature, s.gradient, step);
    slope = product(m.p, s.gradient, step);
    if (sampled && result->iterations == 1 && !(slope <= NEAR)) {
      start(&m, beta); /* the sample has misled */
      memcpy(old, beta, sizeof old);
      slope = 0.0;
      continue;
    }
    if (!(slope < INFINITY)) /* curvature has vanished: nothing is left to gain */
      break;
    for (int a = 0; a < m.p; a++)
      beta[a] += step[a];
    if (slope <= enough) {
      status = GPC_OK;
      break;
    }
  }
  finish(&m, beta, s.curvature, defined && status == GPC_OK, result);
  return status;
}
