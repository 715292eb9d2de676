/* gp_joint_softmax.c: see gp_joint_softmax.h. */
#include "gp_joint_softmax.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"
#include "quadrature.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-14 /* a pivot below this share of its diagonal is none */

#define MOST_PAIRS GPC_GP_DESIGN_PAIRS

/* Where the next terms of the expansion may exceed 1e-4 it is not taken. */
#define MOST_NEXT 8e-4
#define MOST_SPREAD 0.5
#define FAR 5.0 /* where erfc() is its asymptote within 2 % */
#define ROOT_PI 1.7724538509055160273
#define STEEP 1.0 /* D of a class beyond which the expansion ends in an exponential */

/* The sum over the classes by eq. (24a) may be off by so much: a probability is then off by
 * half of it at the most (simulated rows of 2 to 10 classes, bench/results/effects-speed.md). */
#define MOST_OFF 2e-4

#define LIGHT 1e-3 /* probabilities that are not integrated, with what is open of them */
#define WIDE 0.25  /* mean of D in a row ... */
#define WIDE_CLASS 4.0 /* ... or D of a class, which may then win now and then: */
#define LIGHT_WIDE 1e-4
#define RARE 1e-5      /* mean of exp(g) by which such a class may count */
#define MOST_OPEN 60.0 /* D with which exp(D / 2) is no limit any more */

/* Not less than E min(1, exp(x)), x ~ N(log s, d), the part that a class can have. */
static double chance(double s, double d) {
  if (d <= MOST_OPEN) /* seldom much less, and without a logarithm */
    return s * gpc_exp(0.5 * d);
  const double low = -log(s);
  return gpc_exp(low < d ? -0.5 * low * low / d : 0.5 * d - low);
}

size_t gpc_joint_softmax_heavy(size_t k, const double *s, const double *d, double mean,
                               size_t *which) {
  size_t count = 0, top = 0;
  for (size_t j = 1; j < k; j++)
    top = s[j] > s[top] ? j : top;
  for (size_t j = 0; j < k; j++) {
    const double most = mean <= WIDE && d[j] <= WIDE_CLASS ? LIGHT : LIGHT_WIDE;
    if (j == top || s[j] > most || chance(s[j], d[j]) > most)
      which[count++] = j;
  }
  return count;
}

int gpc_joint_softmax_narrow(size_t k, const double *s, const double *d, double mean,
                             double *out) {
  int narrow = mean <= MOST_SPREAD;
  double sum = 0.0;
  for (size_t j = 0; j < k; j++)
    narrow &= s[j] * d[j] * d[j] * (1.0 + 0.125 * d[j] * d[j]) <= MOST_NEXT;
  for (size_t j = 0; j < k && narrow; j++) {
    const double half = 0.5 * (d[j] - mean);
    /* terms that are nothing beside one are all that a small probability has */
    sum += out[j] = s[j] * (d[j] > STEEP ? gpc_exp(half) : 1.0 + half);
    narrow &= d[j] <= STEEP || out[j] <= LIGHT_WIDE;
  }
  for (size_t j = 0; j < k && narrow; j++)
    out[j] /= sum;
  return narrow;
}

/* eq. (24a) into out; 0 if it is not good enough. work [k heavy + 4 k]. */
GPC_FUSED static int log_normal(const gpc_joint_row *row, double *work, double *out) {
  const size_t k = row->k, heavy = row->heavy;
  double *a = work, *m = a + k * heavy, *v = m + k, *own = v + k, sum = 0.0, light = 0.0;
  if (!(row->mean <= MOST_SPREAD))
    return 0;
#pragma omp simd
  for (size_t j = 0; j < k; j++)
    own[j] = row->s[j] * gpc_exp(0.5 * row->d[j]);
  for (size_t j = 0; j < k; j++) /* rare and huge: the moments say nothing of the rest, */
    if (row->d[j] > WIDE_CLASS &&
        own[j] > RARE) /* and the sum would be one all the same */
      return 0;
  for (size_t j = 0, h = 0; j < k; j++)
    if (h < heavy && row->which[h] == j)
      h++;
    else
      light += own[j];
#pragma omp simd
  for (size_t j = 0; j < k; j++) {
    /* a light class has a part in its own denominator; of a wide one the mean of that part is
     * huge and rare, and says nothing of the reciprocal's */
    const double part = own[j] * gpc_exp(row->d[j]) - own[j];
    m[j] = light + (row->d[j] > WIDE_CLASS ? 0.0 : part);
    v[j] = 0.0;
  }
  for (size_t h = 0; h < heavy; h++) {
    const double *g = row->g + k * h, weight = own[row->which[h]];
    double *to = a + k * h;
    m[row->which[h]] = light;
#pragma omp simd
    for (size_t j = 0; j < k; j++)
      to[j] = weight * gpc_exp(g[j]);
  }
  for (size_t h = 0; h < heavy; h++) {
    const double *ah = a + k * h, inv = 1.0 / own[row->which[h]];
    for (size_t i = 0; i <= h; i++) {
      const double *ai = a + k * i;
      const double e = (i == h ? 1.0 : 2.0) * (inv * ah[row->which[i]] - 1.0);
#pragma omp simd
      for (size_t j = 0; j < k; j++)
        v[j] += e * ah[j] * ai[j];
    }
#pragma omp simd
    for (size_t j = 0; j < k; j++)
      m[j] += ah[j];
  }
  for (size_t j = 0; j < k; j++)
    sum += out[j] = own[j] / m[j] * (1.0 + v[j] / (m[j] * m[j]));
  for (size_t j = 0; j < k; j++)
    out[j] /= sum;
  return fabs(sum - 1.0) <= MOST_OFF;
}

/* `pairs` of the fixed design, made to have the covariance I again: turned [pairs x k]. */
static void make_points(size_t k, size_t pairs, const gpc_memory *memory, float *turned) {
  void *mark = memory->mark(memory->self);
  double *all = gpc_get_doubles(memory, k * GPC_GP_DESIGN_PAIRS);
  double *x = gpc_get_doubles(memory, k * pairs), *chol = gpc_get_doubles(memory, k * k);
  gpc_gp_design_functions(
      k,
      gpc_get_doubles(memory,
                      (GPC_GP_DESIGN_PAIRS + GPC_GP_DESIGN_EXACT) * GPC_GP_DESIGN_EXACT),
      all);
  memcpy(x, all, k * pairs * sizeof(double));
  gpc_gemm(0, 1, k, k, pairs, 1.0 / (double)pairs, x, x, 0.0, chol);
  if (k < pairs / 2 && gpc_chol(k, 1e-4, chol) == GPC_OK)
    for (size_t d = 0; d < pairs; d++)
      gpc_solve_rows(1, k, chol, x + k * d);
  for (size_t d = 0; d < pairs; d++)
    for (size_t j = 0; j < k; j++)
      turned[d + pairs * j] = (float)x[j + k * d];
  memory->release(memory->self, mark);
}

/* The average of softmax(0, phi +- L x) over the points x [pairs x n]: of n classes beside
 * one whose latent value is 0, out [n]. In single precision, whose 1e-6 are nothing beside
 * the error of so few points. work [2 pairs n]. */
GPC_FUSED static void integrate(size_t n, size_t pairs, const double *phi,
                                const double *chol, const float *points, float *work,
                                double *out) {
  float *up = work, *down = work + pairs * n, sum[2 * MOST_PAIRS];
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f;
  memset(up, 0, pairs * n * sizeof(float));
  for (size_t j = 0; j < n; j++) { /* moves L x, L lower */
    float *u = up + pairs * j, *v = down + pairs * j;
    const float middle = (float)phi[j];
    for (size_t q = 0; q <= j; q++) {
      const float l = (float)chol[j + n * q], *x = points + pairs * q;
#pragma omp simd
      for (size_t d = 0; d < pairs; d++)
        u[d] += l * x[d];
    }
#pragma omp simd
    for (size_t d = 0; d < pairs; d++) {
      const float move = u[d];
      u[d] = gpc_expf(middle + move);
      v[d] = gpc_expf(middle - move);
      sum[d] += u[d];
      sum[pairs + d] += v[d];
    }
  }
#pragma omp simd
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f / sum[d];
  for (size_t j = 0; j < n; j++) {
    const float *u = up + pairs * j, *v = down + pairs * j;
    float total = 0.0f;
#pragma omp simd reduction(+ : total)
    for (size_t d = 0; d < pairs; d++)
      total += u[d] * sum[d] + v[d] * sum[pairs + d];
    out[j] = 0.5 * (double)total / (double)pairs;
  }
}

gpc_joint_softmax gpc_joint_softmax_get(size_t k, size_t pairs,
                                        const gpc_memory *memory) {
  float *points = gpc_get_floats(memory, k * pairs);
  make_points(k, pairs, memory, points);
  return (gpc_joint_softmax){.pairs = pairs,
                             .points = points,
                             .cov = gpc_get_doubles(memory, k * k),
                             .chol = gpc_get_doubles(memory, k * k),
                             .work = gpc_get_doubles(memory, k * k + 4 * k),
                             .moves = gpc_get_floats(memory, 2 * pairs * k)};
}

/* The heavy classes' probabilities, sum `mass`, into out. */
static void integrate_heavy(const gpc_joint_softmax *self, const gpc_joint_row *row,
                            double mass, double *out) {
  const size_t k = row->k, n = row->heavy - 1, *which = row->which;
  const double *g = row->g;
  size_t top = 0; /* the differences are to this one */
  for (size_t h = 1; h <= n; h++)
    top = row->phi[which[h]] > row->phi[which[top]] ? h : top;
  const size_t best = which[top];
  double *phi = self->work, *p = phi + k, rest = 1.0;
  for (size_t h = 0, a = 0; h <= n; h++) {
    if (h == top)
      continue;
    phi[a] = row->phi[which[h]] - row->phi[best];
    for (size_t i = 0, b = 0; i <= n; i++)
      if (i != top)
        self->cov[a + n * b++] = g[which[h] + k * i] - g[which[h] + k * top] -
                                 g[best + k * i] + g[best + k * top];
    a++;
  }
  if (n == 1) {
    p[0] = gpc_logistic_normal(phi[0], self->cov[0]);
  } else if (n > 1) {
    gpc_chol_semi(n, SINGULAR, self->cov, self->chol);
    integrate(n, self->pairs, phi, self->chol, self->points, self->moves, p);
  }
  for (size_t h = 0, a = 0; h <= n; h++)
    if (h != top) {
      rest -= p[a];
      out[which[h]] = mass * p[a++];
    }
  out[best] = mass * rest;
}

/* E min(1, exp(x)), x ~ N(mu, var), mu < 0: the probability of a class beside others that
 * are as good as one, at most twice too high. */
static double rare(double mu, double var) {
  const double root = sqrt(2.0 * var), y = (mu + var) / root;
  if (!(root > 0.0))
    return exp(mu);
  const double above = 0.5 * erfc(-mu / root);
  if (y < FAR) /* exp(mu + var / 2) P(x + var < 0) */
    return above + 0.5 * erfc(y) * exp(mu + 0.5 * var);
  return above + exp(-mu * mu / (2.0 * var)) / (2.0 * ROOT_PI * y);
}

void gpc_joint_softmax_average(const gpc_joint_softmax *self, const gpc_joint_row *row,
                               double *out) {
  const size_t k = row->k;
  if (log_normal(row, self->work, out))
    return;
  double light = 0.0, heavy = 0.0;
  for (size_t h = 0; h < row->heavy; h++)
    heavy += row->s[row->which[h]];
  for (size_t j = 0, h = 0; j < k; j++) {
    if (h < row->heavy && row->which[h] == j) {
      h++;
      continue;
    }
    double moved = 0.0; /* Z where exp(g_j) moves the mean to */
    for (size_t a = 0; a < row->heavy; a++)
      moved += row->s[row->which[a]] / heavy * gpc_exp(row->g[j + k * a]);
    light += out[j] = rare(log(row->s[j] / moved) - 0.5 * row->mean, row->d[j]);
  }
  integrate_heavy(self, row, 1.0 - light, out);
}
