/* smooth.c: see smooth.h. Natural cubic splines by their values at knots: Green and
 * Silverman (1994, section 2.1). */
#include "smooth.h"
#include "linalg.h"
#include <math.h>
#include <string.h>

#define MAX_STEPS 60 /* Newton steps for one lambda */
#define TOL 1e-10   /* decrease of the penalised deviance, relative, at which they stop */
#define GRID 13     /* lambdas looked at before the search is narrowed */
#define DECADES 6.0 /* how far the grid reaches to each side, in powers of ten */
#define NARROW 30   /* looks between two points of the grid, at the most */
#define CLOSE 3e-4  /* apart in log lambda, at which they end: reml is known to TOL */
#define SPREAD 21   /* lambdas that its uncertainty is integrated over, */
#define BELOW 6.0   /* from so far below the best in log lambda */
#define ABOVE 8.0   /* to so far above */

gpc_status gpc_spline_make(size_t k, const double *knots, gpc_spline *spline) {
  double band[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX], d[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];
  size_t inner = k - 2;
  spline->k = k;
  memcpy(spline->knots, knots, k * sizeof(double));
  memset(spline->second, 0, k * k * sizeof(double));
  memset(spline->penalty, 0, k * k * sizeof(double));
  if (inner == 0)
    return GPC_OK;
  /* B delta = D beta for the second derivatives delta at the inner knots. */
  memset(band, 0, inner * inner * sizeof(double));
  memset(d, 0, k * inner * sizeof(double)); /* D' [k x inner] */
  for (size_t i = 0; i < inner; i++) {
    double left = knots[i + 1] - knots[i], right = knots[i + 2] - knots[i + 1];
    band[i + i * inner] = (left + right) / 3.0;
    if (i + 1 < inner)
      band[i + 1 + i * inner] = band[i + (i + 1) * inner] = right / 6.0;
    d[i + i * k] = 1.0 / left;
    d[i + 1 + i * k] = -1.0 / left - 1.0 / right;
    d[i + 2 + i * k] = 1.0 / right;
  }
  gpc_status status = gpc_chol(inner, 0.0, band);
  if (status != GPC_OK)
    return status;
  /* Rows of D' are columns of D: each becomes B^-1 times it. */
  double solved[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];
  memcpy(solved, d, k * inner * sizeof(double));
  gpc_solve_rows(k, inner, band, solved);
  gpc_solve_rows_t(k, inner, band, solved); /* (B^-1 D)' [k x inner] */
  for (size_t i = 0; i < inner; i++)
    for (size_t j = 0; j < k; j++)
      spline->second[i + 1 + j * k] = solved[j + i * k];
  /* S = D' B^-1 D */
  gpc_gemm(0, 1, k, k, inner, 1.0, d, solved, 0.0, spline->penalty);
  return GPC_OK;
}

void gpc_spline_row(const gpc_spline *spline, double x, double *row) {
  size_t k = spline->k, low = 0, high = k - 1;
  const double *t = spline->knots, *f = spline->second;
  memset(row, 0, k * sizeof(double));
  if (x < t[0] ||
      x > t[k - 1]) { /* linear beyond the knots, whose second derivative is 0 */
    size_t end = x < t[0] ? 0 : k - 1, next = x < t[0] ? 1 : k - 2;
    double h = t[next] - t[end], step = x - t[end];
    /* slope at the end: (beta_next - beta_end)/h - h delta_next/6 */
    row[end] += 1.0 - step / h;
    row[next] += step / h;
    for (size_t j = 0; j < k; j++)
      row[j] -= step * h / 6.0 * f[next + j * k];
    return;
  }
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (t[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  double h = t[high] - t[low], up = t[high] - x, down = x - t[low];
  double c_low = (up * up * up / h - h * up) / 6.0;
  double c_high = (down * down * down / h - h * down) / 6.0;
  row[low] += up / h;
  row[high] += down / h;
  for (size_t j = 0; j < k; j++)
    row[j] += c_low * f[low + j * k] + c_high * f[high + j * k];
}

/* The basis at all cells, twice (as it is, and times the curvature), and eta. */
size_t gpc_smooth_work(size_t m, size_t k) { return 2 * m * k + m; }

typedef struct {
  const gpc_spline *spline;
  size_t m;
  const double *w, *h;
  double ridge;                 /* keeps separated events finite; see gpc_smooth_fit() */
  double *basis, *scaled, *eta; /* [m x k], [m x k], [m] */
} problem;

/* l(beta) - lambda/2 beta' S beta - ridge/2 beta'beta; fills eta. */
static double penalised(const problem *p, double lambda, const double *beta) {
  size_t k = p->spline->k;
  double value = 0.0, penalty = 0.0;
  gpc_gemm(0, 0, p->m, 1, k, 1.0, p->basis, beta, 0.0, p->eta);
  for (size_t i = 0; i < p->m; i++) {
    double eta = p->eta[i], lse = eta > 0.0 ? eta + log1p(exp(-eta)) : log1p(exp(eta));
    value += p->h[i] * eta - p->w[i] * lse;
  }
  for (size_t i = 0; i < k; i++) {
    value -= 0.5 * p->ridge * beta[i] * beta[i];
    for (size_t j = 0; j < k; j++)
      penalty += beta[i] * p->spline->penalty[i + j * k] * beta[j];
  }
  return value - 0.5 * lambda * penalty;
}

/* Newton's method for one lambda from fit->beta on; fills cov with the Cholesky factor of
 * X'WX + lambda S, `info` with X'WX, and reml. */
static gpc_status newton(const problem *p, double lambda, gpc_smooth *fit, double *info) {
  size_t k = p->spline->k, m = p->m;
  double gradient[GPC_SMOOTH_MAX], trial[GPC_SMOOTH_MAX];
  double value = penalised(p, lambda, fit->beta);
  gpc_status result = GPC_NOT_CONVERGED;
  for (int step = 0; step < MAX_STEPS; step++) {
    memset(gradient, 0, k * sizeof(double));
    for (size_t i = 0; i < m; i++) {
      double q = 1.0 / (1.0 + exp(-p->eta[i])), v = p->w[i] * q * (1.0 - q);
      double r = p->h[i] - p->w[i] * q;
      for (size_t j = 0; j < k; j++) {
        double b = p->basis[i + j * m];
        p->scaled[i + j * m] = v * b;
        gradient[j] += r * b;
      }
    }
    gpc_gram(k, m, p->basis, p->scaled, info);
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < k; j++) {
        double s = lambda * p->spline->penalty[i + j * k] + (i == j ? p->ridge : 0.0);
        fit->cov[i + j * k] = info[i + j * k] + s;
        gradient[i] -= s * fit->beta[j];
      }
    gpc_status status = gpc_chol(k, 0.0, fit->cov);
    if (status != GPC_OK)
      return status;
    if (result == GPC_OK)
      break; /* the factor belongs to the solution now */
    gpc_chol_solve(k, fit->cov, gradient);
    double size = 1.0, new_value = -INFINITY;
    for (int half = 0; half < 30; half++, size *= 0.5) {
      for (size_t j = 0; j < k; j++)
        trial[j] = fit->beta[j] + size * gradient[j];
      new_value = penalised(p, lambda, trial);
      if (new_value >= value - 1e-12 * (fabs(value) + 1.0))
        break;
    }
    fit->iterations++;
    if (new_value - value <= TOL * (fabs(value) + 1.0))
      result = GPC_OK;
    if (new_value > value || result == GPC_OK) { /* eta is that of the trial */
      memcpy(fit->beta, trial, k * sizeof(double));
      value = new_value;
    } else {
      value = penalised(p, lambda, fit->beta);
    }
  }
  double rank = k > 2 ? (double)(k - 2) : 0.0;
  fit->lambda = lambda;
  fit->reml = value + 0.5 * rank * log(lambda) - 0.5 * gpc_chol_logdet(k, fit->cov);
  return result;
}

/* The largest information that the data can hold, summed over the basis. */
static double most_info(const problem *p) {
  double sum = 0.0;
  for (size_t j = 0; j < p->spline->k; j++)
    for (size_t i = 0; i < p->m; i++)
      sum += 0.25 * p->w[i] * p->basis[i + j * p->m] * p->basis[i + j * p->m];
  return sum;
}

/* A lambda at which penalty and data weigh about the same. */
static double balance(const problem *p) {
  double penalty = 0.0;
  for (size_t j = 0; j < p->spline->k; j++)
    penalty += p->spline->penalty[j + j * p->spline->k];
  return most_info(p) / penalty;
}

/* The log lambda with the highest reml within `step` of `at`, whose reml is `best`: the
 * vertex of the parabola through the three highest, or a golden section where that is no
 * help (Brent, 1973, chapter 5). */
static double best_between(const problem *p, gpc_smooth *fit, double *info, double at,
                           double best, double step) {
  const double golden = 0.5 * (3.0 - sqrt(5.0));
  double low = at - step, high = at + step;
  double x = at, w = at, v = at, fx = best, fw = -INFINITY, fv = -INFINITY;
  double move = 0.0, before = 0.0;
  for (int g = 0; g < NARROW && fmax(x - low, high - x) > 2.0 * CLOSE; g++) {
    const double middle = 0.5 * (low + high);
    const double r = (x - w) * (fv - fx), q = (x - v) * (fw - fx);
    const double top = (x - v) * q - (x - w) * r, under = 2.0 * (q - r);
    double next = under != 0.0 ? x - top / under : INFINITY;
    if (isfinite(fv) && next > low && next < high &&
        fabs(next - x) < 0.5 * fabs(before)) {
      before = move;
      if (fmin(next - low, high - next) < 2.0 * CLOSE) /* not onto an end */
        next = x + copysign(CLOSE, middle - x);
    } else {
      before = x < middle ? high - x : low - x;
      next = x + golden * before;
    }
    if (fabs(next - x) < CLOSE)
      next = x + copysign(CLOSE, next - x);
    move = next - x;
    const double value =
        newton(p, exp(next), fit, info) == GPC_NOT_PD ? -INFINITY : fit->reml;
    if (value >= fx) {
      *(next < x ? &high : &low) = x;
      v = w, fv = fw;
      w = x, fw = fx;
      x = next, fx = value;
    } else {
      *(next < x ? &low : &high) = next;
      if (value >= fw) {
        v = w, fv = fw;
        w = next, fw = value;
      } else if (value >= fv) {
        v = next, fv = value;
      }
    }
  }
  return x;
}

/* spread := sum over lambdas of their posterior probability times (covariance + the outer
 * product of how far their beta is from the best). The prior of rho = log lambda follows
 * from 1/sqrt(lambda) ~ Exp(1): log density -rho/2 - exp(-rho/2). None above `most`: lines
 * all, with lambda S so large that its sums round. */
static void integrate(const problem *p, double most, gpc_smooth *best, gpc_poll poll,
                      void *data) {
  size_t k = p->spline->k;
  gpc_smooth one = *best;
  double info[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX], inverse[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];
  double centre = log(best->lambda), top = -INFINITY, total = 0.0;
  memset(best->spread, 0, k * k * sizeof(double));
  for (int g = 0; g < SPREAD; g++) {
    double rho = centre + ABOVE - (ABOVE + BELOW) * g / (SPREAD - 1);
    if (rho > most)
      continue;
    if (newton(p, exp(rho), &one, info) == GPC_NOT_PD)
      continue;
    double weight = one.reml - 0.5 * rho - exp(-0.5 * rho);
    if (weight > top) { /* what was summed before shrinks */
      double shrink = exp(top - weight);
      for (size_t i = 0; i < k * k; i++)
        best->spread[i] *= shrink;
      total *= shrink;
      top = weight;
    }
    double share = exp(weight - top);
    gpc_chol_inverse(k, one.cov, inverse);
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < k; j++)
        best->spread[i + j * k] +=
            share * (inverse[i + j * k] +
                     (one.beta[i] - best->beta[i]) * (one.beta[j] - best->beta[j]));
    total += share;
    gpc_call_poll(poll, data);
  }
  if (total > 0.0)
    for (size_t i = 0; i < k * k; i++)
      best->spread[i] /= total;
  else
    memcpy(best->spread, best->cov, k * k * sizeof(double));
}

gpc_status gpc_smooth_fit(const gpc_spline *spline, size_t m, const double *x,
                          const double *w, const double *h, double *work, gpc_poll poll,
                          void *data, gpc_smooth *fit) {
  size_t k = spline->k;
  double row[GPC_SMOOTH_MAX], info[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];
  problem p = {spline, m, w, h, 0.0, work, work + m * k, work + 2 * m * k};
  double total = 0.0, hits = 0.0;
  for (size_t i = 0; i < m; i++) {
    gpc_spline_row(spline, x[i], row);
    for (size_t j = 0; j < k; j++)
      p.basis[i + j * m] = row[j];
    total += w[i];
    hits += h[i];
  }
  /* A billionth of what the data can say: no more than rounding elsewhere, but where x
   * separates the events, or there are none, the curve ends instead of running away. */
  p.ridge = 1e-9 * most_info(&p) / (double)k;
  fit->iterations = 0;
  for (size_t j = 0; j < k; j++) /* the constant */
    fit->beta[j] = log((hits + 0.5) / (total - hits + 0.5));
  gpc_status status;
  double top = INFINITY; /* of log lambda: beyond it all curves are the same line */
  if (k == 2) {
    status = newton(&p, 1.0, fit, info);
  } else {
    /* A grid in log lambda from smooth to rough, each from the last, then between its
     * neighbours. */
    double step = 2.0 * DECADES * log(10.0) / (GRID - 1), best = -INFINITY, at = 0.0;
    top = log(balance(&p)) + DECADES * log(10.0);
    for (int g = 0; g < GRID; g++) {
      double rho = top - g * step;
      status = newton(&p, exp(rho), fit, info);
      if (status == GPC_NOT_PD)
        return status;
      if (fit->reml > best) {
        best = fit->reml;
        at = rho;
      }
      gpc_call_poll(poll, data);
    }
    if (at < top)
      at = best_between(&p, fit, info, at, best, step);
    status = newton(&p, exp(at), fit, info);
  }
  if (status == GPC_NOT_PD)
    return status;
  double inverse[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];
  gpc_chol_inverse(k, fit->cov, inverse);
  memcpy(fit->cov, inverse, k * k * sizeof(double));
  memcpy(fit->spread, inverse, k * k * sizeof(double));
  fit->edf = 0.0; /* trace of (X'WX + lambda S)^-1 X'WX */
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++)
      fit->edf += inverse[i + j * k] * info[j + i * k];
  if (k > 2)
    integrate(&p, top, fit, poll, data);
  return status;
}
