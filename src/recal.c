/* recal.c: see recal.h. */
#include "recal.h"
#include "linalg.h"
#include <math.h>
#include <string.h>

/* Row buffers, gradient, step, trial coefficients, and two [k + 1] squares. */
size_t gpc_coxrecal_work(size_t k) { return 8 * (k + 1) + 2 * (k + 1) * (k + 1); }

/* Log-likelihood and, unless NULL, its gradient [k + 1] and negative Hessian, lower
 * triangle [k + 1 x k + 1], in (b, c_1, ..., c_k). Without labels: the Hessian alone. */
static double pass(size_t n, size_t k, const double *z, const int *label,
                   const double *coef, double *gradient, double *hessian, double *row,
                   gpc_poll poll, void *data) {
  const size_t m = k + 1;
  double *s = row, sum = 0.0; /* s [k]: probabilities of a row */
  if (gradient)
    memset(gradient, 0, m * sizeof *gradient);
  if (hessian)
    memset(hessian, 0, m * m * sizeof *hessian);
  for (size_t i = 0; i < n; i++) {
    double top = -INFINITY, total = 0.0, mean = 0.0, square = 0.0;
    for (size_t j = 0; j < k; j++) {
      const double x = z[i + j * n];
      s[j] = x > -INFINITY && coef[j + 1] > -INFINITY ? coef[0] * x + coef[j + 1]
                                                      : -INFINITY;
      top = s[j] > top ? s[j] : top;
    }
    const size_t y = label ? (size_t)label[i] - 1 : 0;
    const double own = label ? s[y] - top : 0.0;
    for (size_t j = 0; j < k; j++)
      total += s[j] = exp(s[j] - top);
    sum += own - log(total);
    if (!hessian)
      continue;
    for (size_t j = 0; j < k; j++) {
      s[j] /= total;
      if (s[j] > 0.0) {
        mean += s[j] * z[i + j * n];
        square += s[j] * z[i + j * n] * z[i + j * n];
      }
    }
    if (gradient) {
      gradient[0] += z[i + y * n] - mean;
      gradient[y + 1] += 1.0;
      for (size_t j = 0; j < k; j++)
        gradient[j + 1] -= s[j];
    }
    hessian[0] += square - mean * mean;
    for (size_t j = 0; j < k; j++) {
      if (!(s[j] > 0.0))
        continue;
      double *column = hessian + (j + 1) * m;
      hessian[j + 1] += s[j] * (z[i + j * n] - mean);
      column[j + 1] += s[j];
      for (size_t l = j; l < k; l++)
        column[l + 1] -= s[j] * s[l];
    }
    if (i % 65536 == 65535)
      gpc_call_poll(poll, data);
  }
  return sum;
}

void gpc_coxrecal_information(size_t n, size_t k, const double *z, double *info,
                              double *work, gpc_poll poll, void *data) {
  const size_t m = k + 1;
  double *coef = work, *row = coef + m, *hessian = row + m;
  memset(coef, 0, m * sizeof *coef);
  coef[0] = 1.0;
  pass(n, k, z, NULL, coef, NULL, hessian, row, poll, data);
  /* without c_1, which the others make superfluous */
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      const size_t row_at = a == 0 ? 0 : a + 1, column = b == 0 ? 0 : b + 1;
      info[a + b * k] = info[b + a * k] = hessian[row_at + column * m];
    }
}

gpc_status gpc_coxrecal_fit(size_t n, size_t k, const double *z, const int *label,
                            double tol, int max_iter, double *coef, double *work,
                            gpc_coxrecal_result *result, gpc_poll poll, void *data) {
  const size_t m = k + 1;
  double *row = work, *gradient = row + m, *step = gradient + m, *trial = step + m;
  double *count = trial + m, *hessian = count + m, *chol = hessian + m * m;
  size_t base = 0;
  memset(count, 0, k * sizeof *count);
  for (size_t i = 0; i < n; i++)
    count[label[i] - 1] += 1.0;
  for (size_t j = 1; j < k; j++)
    base = count[j] > count[base] ? j : base;
  memset(coef, 0, m * sizeof *coef);
  coef[0] = 1.0;
  *result = (gpc_coxrecal_result){0.0, 0.0, 0};
  result->null = pass(n, k, z, label, coef, NULL, NULL, row, poll, data);
  for (size_t j = 0; j < k; j++)
    if (count[j] == 0.0)
      coef[j + 1] = -INFINITY;
  double value = 0.0;
  while (result->iterations < max_iter) {
    value = pass(n, k, z, label, coef, gradient, hessian, row, poll, data);
    result->iterations++;
    result->log_lik = value;
    /* the coefficients that are free: b and the offsets of classes that occur */
    size_t active = 0;
    double largest = 0.0;
    for (size_t a = 0; a < m; a++) {
      if (a > 0 && (a - 1 == base || count[a - 1] == 0.0))
        continue;
      size_t at = 0;
      for (size_t b = 0; b <= a; b++)
        if (b == 0 || (b - 1 != base && count[b - 1] > 0.0))
          chol[active + m * at++] = hessian[a + b * m];
      step[active] = gradient[a];
      largest = chol[active + m * active] > largest ? chol[active + m * active] : largest;
      active++;
    }
    /* packed to [active x active]; what the data do not say stays where it is */
    for (size_t b = 0; b < active; b++)
      for (size_t a = b; a < active; a++)
        chol[a + b * active] = chol[a + b * m];
    for (size_t a = 0; a < active; a++)
      chol[a + a * active] += 1e-10 * largest + 1e-290;
    for (size_t a = 0; a < active; a++)
      trial[a] = step[a];
    if (gpc_chol_large(active, chol) != GPC_OK)
      return GPC_NOT_PD;
    gpc_chol_solve(active, chol, step);
    double slope = 0.0;
    for (size_t a = 0; a < active; a++)
      slope += trial[a] * step[a];
    if (!(slope > tol))
      return GPC_OK;
    /* halve the step until it gains */
    int tries = 0;
    for (double t = 1.0; tries < 40; t *= 0.5, tries++) {
      size_t at = 0;
      for (size_t a = 0; a < m; a++) {
        const int fixed = a > 0 && (a - 1 == base || count[a - 1] == 0.0);
        trial[a] = fixed ? coef[a] : coef[a] + t * step[at++];
      }
      const double gained =
          pass(n, k, z, label, trial, NULL, NULL, row, poll, data) - value;
      if (gained >= 0.25 * t * slope)
        break;
    }
    if (tries == 40)
      return GPC_OK; /* nothing is left to gain in doubles */
    memcpy(coef, trial, m * sizeof *coef);
  }
  return GPC_NOT_CONVERGED;
}
