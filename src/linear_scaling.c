/* linear_scaling.c: see linear_scaling.h. */
#include "linear_scaling.h"
#include "linalg.h"
#include "optim.h"

#include <math.h>
#include <string.h>

#define ROWS 128 /* rows worked on together */

size_t gpc_linear_size(size_t k, int matrix) { return 1 + k + (matrix ? k * k : k); }

/* One row of z [n x k] into u [k]: floored, centred; *gone counts classes at -INFINITY. */
static void centre_row(size_t n, size_t k, const double *z, double floor, double *u,
                       size_t *gone) {
  double low = INFINITY, mean = 0.0;
  size_t out = 0;
  for (size_t j = 0; j < k; j++) {
    u[j] = fmin(fmax(z[n * j], floor), 1e300);
    if (u[j] == -INFINITY)
      out++;
    else
      low = fmin(low, u[j]);
  }
  for (size_t j = 0; j < k; j++)
    if (u[j] > -INFINITY)
      mean += u[j] / (double)(k - out);
  for (size_t j = 0; j < k; j++)
    u[j] = (u[j] == -INFINITY ? low : u[j]) - mean;
  *gone = out;
}

double gpc_linear_centre(size_t n, size_t k, const double *z, double floor,
                         const double *w, double *u) {
  double most = 0.0, sum = 0.0, total = 0.0;
  for (size_t i = 0; i < n; i++) {
    double mean = 0.0;
    for (size_t j = 0; j < k; j++)
      mean += fmax(z[i + n * j], floor) / (double)k;
    for (size_t j = 0; j < k; j++) {
      u[i + n * j] = fmax(z[i + n * j], floor) - mean;
      if (!w || w[i] > 0.0)
        most = fmax(most, fabs(u[i + n * j]));
    }
  }
  if (most == 0.0)
    return 0.0;
  for (size_t i = 0; i < n; i++) {
    const double weight = w ? w[i] : 1.0;
    total += weight * (double)k;
    for (size_t j = 0; j < k && weight > 0.0; j++)
      sum += weight * (u[i + n * j] / most) * (u[i + n * j] / most);
  }
  const double rms = most * sqrt(sum / total);
  for (size_t i = 0; i < n * k; i++)
    u[i] /= rms;
  return rms;
}

typedef struct {
  const gpc_linear_data *data;
  const gpc_linear_settings *settings;
  size_t k, size, own;  /* own: effects of a class, 1 or k */
  double *h;            /* [size x size] curvature of the log-likelihood */
  double *g;            /* [size] its gradient */
  double *rhs;          /* [size] g + H theta0 */
  double *q, *inverse;  /* [size x size] */
  double *theta, *base; /* [size] */
  double ridge[2];
  double *mean;      /* [ROWS x size] sum_k p_k df_k/dtheta of the rows, times root w */
  double *f, *p, *x; /* [k] of one row, [k], [own + 2] */
} state;

/* f of row i, and log of the sum of its exponentials. */
static double row_values(const state *s, const double *theta, size_t i, double *f) {
  const size_t n = s->data->n, k = s->k;
  const double *u = s->data->u + i, *e = theta + 1 + k;
  double top = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    double value = theta[0] * u[n * j] + theta[1 + j];
    if (s->own == 1)
      value += e[j] * u[n * j];
    else
      for (size_t l = 0; l < k; l++)
        value += e[l + k * j] * u[n * l];
    f[j] = value;
    top = fmax(top, value);
  }
  for (size_t j = 0; j < k; j++)
    sum += exp(f[j] - top);
  return top + log(sum);
}

static double row_weight(const state *s, size_t i) {
  return s->data->w ? s->data->w[i] : 1.0;
}

static double log_lik(const state *s, const double *theta) {
  double sum = 0.0;
  for (size_t i = 0; i < s->data->n; i++) {
    const double all = row_values(s, theta, i, s->f);
    sum += row_weight(s, i) * (s->f[s->data->label[i] - 1] - all);
  }
  return sum;
}

/* -1/2 sum ridge theta^2 */
static double log_prior(const state *s, const double *theta, const double *ridge) {
  double b = 0.0, e = 0.0;
  for (size_t i = 1; i < s->size; i++)
    *(i <= s->k ? &b : &e) += theta[i] * theta[i];
  return -0.5 * (ridge[0] * b + ridge[1] * e);
}

/* The part of row i that is not an outer product of means: for class j with probability
 * p_j the outer product of (u_j, 1, its features). Lower triangle. */
static void add_class(state *s, size_t i, size_t j, double weight) {
  const size_t n = s->data->n, k = s->k, own = s->own, size = s->size;
  const double *u = s->data->u + i, slope = u[n * j];
  double *x = s->x;
  size_t first = 1 + k + own * j;
  for (size_t l = 0; l < own; l++)
    x[l] = own == 1 ? slope : u[n * l];
  s->h[0] += weight * slope * slope;
  s->h[1 + j] += weight * slope;
  s->h[(1 + j) + size * (1 + j)] += weight;
  for (size_t l = 0; l < own; l++) {
    s->h[first + l] += weight * slope * x[l];
    s->h[first + l + size * (1 + j)] += weight * x[l];
    for (size_t m = 0; m <= l; m++)
      s->h[first + l + size * (first + m)] += weight * x[l] * x[m];
  }
}

/* Gradient and curvature at theta; returns the log-likelihood. */
static double visit(state *s) {
  const size_t n = s->data->n, k = s->k, own = s->own, size = s->size;
  double sum = 0.0;
  memset(s->h, 0, size * size * sizeof(double));
  memset(s->g, 0, size * sizeof(double));
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    gpc_call_poll(s->settings->poll, s->settings->poll_data);
    memset(s->mean, 0, rows * size * sizeof(double));
    for (size_t r = 0; r < rows; r++) {
      const size_t i = first + r;
      const double w = row_weight(s, i), all = row_values(s, s->theta, i, s->f);
      const double root = sqrt(w), *u = s->data->u + i;
      sum += w * (s->f[s->data->label[i] - 1] - all);
      for (size_t j = 0; j < k; j++) {
        const double p = exp(s->f[j] - all);
        const double residual = w * ((s->data->label[i] - 1 == (int)j) - p);
        s->g[0] += residual * u[n * j];
        s->g[1 + j] += residual;
        s->mean[r] += root * p * u[n * j];
        s->mean[r + rows * (1 + j)] = root * p;
        for (size_t l = 0; l < own; l++) {
          const double x = own == 1 ? u[n * j] : u[n * l];
          const size_t at = 1 + k + own * j + l;
          s->g[at] += residual * x;
          s->mean[r + rows * at] = root * p * x;
        }
        add_class(s, i, j, w * p);
      }
    }
    gpc_gemm(1, 0, size, size, rows, -1.0, s->mean, s->mean, 1.0, s->h);
  }
  gpc_symmetrise(size, s->h);
  if (s->settings->hold_slope) { /* a as if it were known */
    for (size_t i = 0; i < size; i++)
      s->h[i] = s->h[size * i] = 0.0;
    s->h[0] = 1.0;
    s->g[0] = 0.0;
  }
  return sum;
}

static double ridge_of(const state *s, const double *ridge, size_t i) {
  return i == 0 ? 0.0 : ridge[i > s->k];
}

/* eq. (41) for the curvature of the last visit, as a function of the logarithms of the
 * ridges, with theta at its best. */
static gpc_status value(void *self, const double *x, double *out) {
  state *s = self;
  const size_t size = s->size;
  s->ridge[0] = exp(x[0]);
  s->ridge[1] = exp(x[1]);
  memcpy(s->q, s->h, size * size * sizeof(double));
  for (size_t i = 0; i < size; i++)
    s->q[i + size * i] += ridge_of(s, s->ridge, i);
  s->q[0] += 1e-12 * (1.0 + s->h[0]);
  const gpc_status status = gpc_chol_large(size, s->q);
  if (status != GPC_OK)
    return status;
  gpc_lower_inverse(size, s->q, s->inverse);
  memcpy(s->theta, s->rhs, size * sizeof(double));
  gpc_lower_solve(size, s->inverse, s->mean, s->theta);
  double sum = 0.5 * gpc_dot(size, s->rhs, s->theta);
  for (size_t i = 0; i < size; i++)
    sum -= log(s->q[i + size * i]);
  *out = sum + 0.5 * (double)s->k * x[0] + 0.5 * (double)(s->k * s->own) * x[1];
  return GPC_OK;
}

/* Variances S_ii summed over b and over the effects. */
static void traces(const state *s, double *trace) {
  trace[0] = trace[1] = 0.0;
  for (size_t i = 1; i < s->size; i++) {
    const double *column = s->inverse + s->size * i;
    trace[i > s->k] += gpc_dot(s->size - i, column + i, column + i);
  }
}

static void gradient(void *self, double *g) {
  state *s = self;
  double trace[2], square[2] = {0.0, 0.0};
  traces(s, trace);
  for (size_t i = 1; i < s->size; i++)
    square[i > s->k] += s->theta[i] * s->theta[i];
  const double count[2] = {(double)s->k, (double)(s->k * s->own)};
  for (int b = 0; b < 2; b++)
    g[b] = 0.5 * (count[b] - s->ridge[b] * (square[b] + trace[b]));
}

/* What a learned ridge may be: standard deviations of 100 and of .001 scores. */
#define LEAST_RIDGE 1e-4
#define MOST_RIDGE 1e6
#define LONGEST 3.0 /* step of log ridge between visits */

/* From the visit at s->base: theta and ridges that it promises the most of; *promise in
 * nats. */
static gpc_status improve(state *s, double *work, double *x, double *promise) {
  const size_t size = s->size;
  double low[2], high[2], best, now = 0.0;
  for (int b = 0; b < 2; b++) {
    const double held = s->settings->ridge[b];
    low[b] = isnan(held) ? fmax(log(LEAST_RIDGE), x[b] - LONGEST) : x[b];
    high[b] = isnan(held) ? fmin(log(MOST_RIDGE), x[b] + LONGEST) : x[b];
  }
  memcpy(s->base, s->theta, size * sizeof(double));
  gpc_symm(size, 1, s->h, s->base, s->rhs);
  /* at the point itself: g't0 + t0'H t0 - 1/2 t0'(H + R) t0 + ... */
  now = gpc_dot(size, s->g, s->base) + 0.5 * gpc_dot(size, s->rhs, s->base) +
        log_prior(s, s->base, s->ridge);
  for (size_t i = 0; i < size; i++)
    s->rhs[i] += s->g[i];
  double at;
  gpc_status status = value(s, x, &at);
  if (status != GPC_OK)
    return status;
  now += at - 0.5 * gpc_dot(size, s->rhs, s->theta); /* the logarithms */
  const gpc_optim problem = {.dim = 2,
                             .value = value,
                             .gradient = gradient,
                             .self = s,
                             .low = low,
                             .high = high,
                             .max_steps = 30,
                             .tol = 0.1 * s->settings->tol,
                             .poll = s->settings->poll,
                             .poll_data = s->settings->poll_data};
  status = gpc_optim_maximise(&problem, work, x, &best);
  *promise = best - now;
  return status;
}

/* Shorten the step from base to theta until likelihood times prior does not fall. */
static void shorten(state *s, double from) {
  const double start = from + log_prior(s, s->base, s->ridge);
  for (int half = 0; half < 40; half++) {
    const double reached = log_lik(s, s->theta) + log_prior(s, s->theta, s->ridge);
    if (reached >= start - 1e-12 * (1.0 + fabs(start)))
      return;
    for (size_t i = 0; i < s->size; i++)
      s->theta[i] = 0.5 * (s->theta[i] + s->base[i]);
  }
  memcpy(s->theta, s->base, s->size * sizeof(double));
}

/* What is reported, from the last value(). */
static void report(state *s, double fit, gpc_linear_result *result) {
  double trace[2], logs = 0.0;
  const double count[2] = {(double)s->k, (double)(s->k * s->own)};
  traces(s, trace);
  result->edf = s->settings->hold_slope ? 0.0 : 1.0;
  for (int b = 0; b < 2; b++) {
    result->ridge[b] = s->ridge[b];
    result->edf += count[b] - s->ridge[b] * trace[b];
    logs += 0.5 * count[b] * log(s->ridge[b]);
  }
  for (size_t i = 0; i < s->size; i++)
    logs -= log(s->q[i + s->size * i]);
  result->log_lik = fit;
  result->evidence = fit + log_prior(s, s->theta, s->ridge) + logs;
  gpc_inverse_from_lower(s->size, s->inverse, result->cov);
}

gpc_status gpc_linear_fit(const gpc_linear_data *data,
                          const gpc_linear_settings *settings, const gpc_memory *memory,
                          gpc_linear_result *result) {
  const size_t k = data->k, size = gpc_linear_size(k, settings->matrix);
  state s = {.data = data,
             .settings = settings,
             .k = k,
             .size = size,
             .own = settings->matrix ? k : 1,
             .h = gpc_get_doubles(memory, size * size),
             .g = gpc_get_doubles(memory, size),
             .rhs = gpc_get_doubles(memory, size),
             .q = gpc_get_doubles(memory, size * size),
             .inverse = gpc_get_doubles(memory, size * size),
             .theta = gpc_get_doubles(memory, size),
             .base = gpc_get_doubles(memory, size),
             .mean = gpc_get_doubles(memory, ROWS * size),
             .f = gpc_get_doubles(memory, k),
             .x = gpc_get_doubles(memory, k)};
  double *work = gpc_get_doubles(memory, gpc_optim_work(2));
  double x[2], promise = INFINITY, fit = 0.0;
  for (int b = 0; b < 2; b++) {
    s.ridge[b] = isnan(settings->ridge[b]) ? 1.0 : settings->ridge[b];
    x[b] = log(s.ridge[b]);
  }
  memset(s.theta, 0, size * sizeof(double));
  s.theta[0] = settings->slope;
  result->cov = s.h;
  result->passes = 0;
  gpc_status status = GPC_OK;
  while (result->passes < settings->max_passes && status == GPC_OK) {
    fit = visit(&s);
    result->passes++;
    status = improve(&s, work, x, &promise);
    if (status != GPC_OK || promise <= settings->tol)
      break;
    shorten(&s, fit);
  }
  result->theta = s.theta; /* one step farther than the last visit */
  if (status != GPC_OK)
    return status;
  report(&s, log_lik(&s, s.theta), result);
  return promise <= settings->tol ? GPC_OK : GPC_NOT_CONVERGED;
}

void gpc_linear_predict(size_t n, size_t k, const double *z, double floor,
                        const double *offset, const double *slope, const double *weight,
                        double *work, double *p) {
  double *u = work, *f = work + k;
  for (size_t i = 0; i < n; i++) {
    size_t gone;
    centre_row(n, k, z + i, floor, u, &gone);
    double top = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      f[j] = offset[j];
      if (slope)
        f[j] += slope[j] * u[j];
      else
        for (size_t l = 0; l < k; l++)
          f[j] += weight[j + k * l] * u[l];
      f[j] = fmin(fmax(f[j], -1e300), 1e300);
      if (gone && fmax(z[i + n * j], floor) == -INFINITY)
        f[j] = -INFINITY;
      top = fmax(top, f[j]);
    }
    for (size_t j = 0; j < k; j++)
      sum += f[j] = exp(f[j] - top);
    for (size_t j = 0; j < k; j++)
      p[i + n * j] = f[j] / sum;
  }
}
