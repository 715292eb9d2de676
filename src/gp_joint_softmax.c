/* gp_joint_softmax.c: see gp_joint_softmax.h. */
#include "gp_joint_softmax.h"
#include "gp_joint_moments.h"
#include "fastexp.h"
#include "fastlog.h"
#include "quadrature.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* Where the next terms of the expansion may exceed 1e-4 it is not taken. */
#define MOST_NEXT 8e-4
#define MOST_SPREAD 0.5
#define STEEP 1.0 /* D of a class beyond which the expansion ends in an exponential */

/* sum_j s_j D_j^2 beyond which it is not worth trying: 15 of 1640 such rows of six classifier
 * outputs were good enough, and none of 940 beyond twice as much. */
#define MOST_SQUARE 0.05

#define LIGHT 1e-3 /* probabilities that are not integrated, with what is open of them */
#define WIDE 0.25  /* mean of D in a row ... */
#define WIDE_CLASS GPC_JOINT_WIDE_CLASS /* ... or D of a class: */
#define LIGHT_WIDE 1e-4
/* D of a class for which there are many points: with few the log loss of mnist_adaboost after
 * 200 rows was off by 1e-3, since small probabilities were. */
#define MANY_POINTS 2.0
#define MOST_OPEN 60.0   /* D with which exp(D / 2) is no limit any more */
#define MOST_POWER 700.0 /* g beyond which exp(g) would be no number */
#define CHUNK 8          /* classes at a time */

/* Not less than E min(1, exp(x)), x ~ N(log s, d), the part that a class can have; for d <=
 * MOST_OPEN s exp(d / 2) is seldom much more, and needs no logarithm. */
static double open_chance(double s, double d) {
  const double low = -log(s > 1e-300 ? s : 1e-300); /* 0 may be what was left of less */
  return gpc_exp(low < d ? -0.5 * low * low / d : 0.5 * d - low);
}

GPC_FUSED size_t gpc_joint_softmax_heavy(size_t k, const double *s, const double *d,
                                         double mean, size_t *which) {
  size_t count = 0, top = 0;
  double most = s[0], chance[CHUNK];
#pragma omp simd reduction(max : most)
  for (size_t j = 0; j < k; j++)
    most = s[j] > most ? s[j] : most;
  while (s[top] != most)
    top++;
  for (size_t first = 0; first < k; first += CHUNK) {
    const size_t some = k - first < CHUNK ? k - first : CHUNK;
#pragma omp simd
    for (size_t i = 0; i < some; i++)
      chance[i] = s[first + i] * gpc_exp(0.5 * d[first + i]);
    for (size_t i = 0; i < some; i++) {
      const size_t j = first + i;
      const double least = mean <= WIDE && d[j] <= WIDE_CLASS ? LIGHT : LIGHT_WIDE;
      if (j == top || s[j] > least ||
          (d[j] <= MOST_OPEN ? chance[i] : open_chance(s[j], d[j])) > least)
        which[count++] = j;
    }
  }
  return count;
}

GPC_FUSED int gpc_joint_softmax_narrow(size_t step, const double *s, const double *d,
                                       double mean, double *out) {
  double next = 0.0, widest = 0.0, sum = 0.0;
#pragma omp simd reduction(max : next, widest)
  for (size_t j = 0; j < step; j++) {
    const double square = d[j] * d[j], here = s[j] * square * (1.0 + 0.125 * square);
    next = here > next ? here : next;
    widest = d[j] > widest ? d[j] : widest;
  }
  if (!(mean <= MOST_SPREAD && next <= MOST_NEXT))
    return 0;
  for (size_t j = 0; j < step && widest > STEEP; j++)
    /* terms that are nothing beside one are all that a small probability has */
    if (d[j] > STEEP &&
        !(s[j] * gpc_exp(0.5 * (d[j] - mean)) <= LIGHT_WIDE)) /* or 0 * Inf */
      return 0;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < step; j++)
    sum += out[j] = s[j] * (1.0 + 0.5 * (d[j] - mean));
  for (size_t j = 0; j < step && widest > STEEP; j++)
    if (d[j] > STEEP) {
      const double steep = s[j] * gpc_exp(0.5 * (d[j] - mean));
      sum += steep - out[j];
      out[j] = steep;
    }
#pragma omp simd
  for (size_t j = 0; j < step; j++)
    out[j] /= sum;
  return 1;
}

/* exp(g) of the pairs into a. */
GPC_PART void set_powers(const gpc_joint_row *row, double *a) {
#pragma omp simd
  for (size_t i = 0; i < row->step * row->heavy; i++)
    a[i] = gpc_exp_nonpos(row->g[i] < MOST_POWER ? row->g[i] : MOST_POWER);
}

/* phi(x) / Q(x) for x >= 0, within 1e-4 of it (data-raw/hazard-coefficients.R). */
GPC_PART double hazard(double x) {
  return (5.265019 + x * (7.446637 + x * (4.061075 + x))) /
         (6.599204 + x * (4.054732 + x));
}

/* The probabilities of classes beside others that are as good as one: E min(1, exp(x)), x ~
 * N(mu, var), mu < 0, at most twice too high. Those of the heavy ones mean nothing. a:
 * exp(g), mass: of the heavy classes, work [2 step]. */
GPC_PART void set_rare(const gpc_joint_row *row, const double *a, double mass,
                       double *work, double *out) {
  const size_t step = row->step, best = row->which[row->top];
  const double less = row->phi[best] - log(row->s[best]) + 0.5 * row->mean;
  const double most_far = sqrt(sqrt(sqrt(gpc_limit_large))); /* its cube is a number */
  double *moved = work, *sd = work + step;
  for (size_t j = 0; j < step; j++) {
    moved[j] = 0.0;
    sd[j] = sqrt(row->d[j] > 1e-20 ? row->d[j] : 1e-20);
  }
  for (size_t h = 0; h < row->heavy; h++) { /* Z where exp(g_j) moves the mean to */
    const double *ah = a + step * h, weight = row->s[row->which[h]] / mass;
#pragma omp simd
    for (size_t j = 0; j < step; j++)
      moved[j] += weight * ah[j];
  }
#pragma omp simd
  for (size_t j = 0; j < step; j++) {
    double z = moved[j] > gpc_limit_small ? moved[j] : gpc_limit_small;
    z = z < gpc_limit_large ? z : gpc_limit_large;
    double mu = row->phi[j] - less - gpc_log(z);
    mu = mu < gpc_limit_zero ? mu : gpc_limit_zero;
    double x = -mu / sd[j];
    x = x < most_far ? x : most_far;
    const double y = x - sd[j], behind = 0.5 + copysign(0.5, y);
    /* exp(mu + var / 2) = phi(x) / phi(y), by which Q(-y) is multiplied: at most 1 if y > 0 */
    const double density = 0.39894228040143267794 * gpc_exp(-0.5 * x * x);
    double power = mu + 0.5 * sd[j] * sd[j];
    power = power < gpc_limit_zero ? power : gpc_limit_zero;
    const double below = density / hazard(fabs(y)), even = gpc_exp_nonpos(power);
    out[j] = density / hazard(x) + (behind * even + (1.0 - 2.0 * behind) * below);
  }
}

gpc_joint_softmax gpc_joint_softmax_get(size_t k, const gpc_memory *memory) {
  const size_t step = gpc_joint_step(k);
  return (gpc_joint_softmax){.points = gpc_joint_points_get(k, memory),
                             .powers = gpc_get_doubles(memory, step * k),
                             .work = gpc_get_doubles(memory, 2 * k + 3 * step),
                             .single = gpc_get_floats(memory, gpc_joint_moments_work(k)),
                             .order = gpc_get_sizes(memory, k),
                             .class = gpc_get_sizes(memory, k)};
}

/* The heavy classes but the most likely one, by what they add to the spread of the row: the
 * first dimensions are integrated best. part [heavy]. */
static void sort_heavy(const gpc_joint_row *row, double *part, size_t *order) {
  size_t count = 0;
  for (size_t h = 0; h < row->heavy; h++) {
    const size_t j = row->which[h];
    const double here = row->s[j] * row->d[j];
    size_t place = count;
    if (h == row->top)
      continue;
    for (; place > 0 && part[place - 1] < here; place--) {
      part[place] = part[place - 1];
      order[place] = order[place - 1];
    }
    part[place] = here;
    order[place] = h;
    count++;
  }
}

/* The heavy classes' probabilities, sum `mass`, into out. */
static void integrate_heavy(const gpc_joint_softmax *self, const gpc_joint_row *row,
                            double mass, double *out) {
  const size_t step = row->step, n = row->heavy - 1, best = row->which[row->top];
  const size_t *order = self->order, size = self->points.step;
  const double *beside = row->g + step * row->top; /* the differences are to this one */
  double *phi = self->work, *p = phi + n, *near = p + n, rest = 1.0;
  size_t *class = self->class;
  int many = row->mean > WIDE;
  sort_heavy(row, p, self->order);
  for (size_t b = 0; b < n; b++) {
    class[b] = row->which[order[b]];
    many |= row->d[class[b]] > MANY_POINTS;
    phi[b] = row->phi[class[b]] - row->phi[best];
    near[b] = beside[class[b]] - beside[best];
  }
  for (size_t b = 0; b < n; b++) {
    const double *g = row->g + step * order[b], less = g[best];
    float *cov = self->points.cov + size * b;
    for (size_t a = b; a < n; a++)
      cov[a] = (float)(g[class[a]] - near[a] - less);
  }
  if (n == 1)
    p[0] = gpc_logistic_normal(phi[0], (double)self->points.cov[0]);
  else if (n > 1)
    gpc_joint_points_average(&self->points, many, n, phi, p);
  for (size_t b = 0; b < n; b++) {
    rest -= p[b];
    out[class[b]] = mass * p[b];
  }
  out[best] = mass * rest;
}

/* The row by eq. (24a): 1; or its light classes alone: 0. */
GPC_FUSED static int moments(const gpc_joint_softmax *self, const gpc_joint_row *row,
                             double *out) {
  double square = 0.0, mass = 0.0;
#pragma omp simd reduction(+ : square)
  for (size_t j = 0; j < row->step; j++)
    square += row->s[j] * row->d[j] * row->d[j];
  if (row->mean <= MOST_SPREAD && square <= MOST_SQUARE &&
      gpc_joint_moments(row, self->work, self->single, out))
    return 1;
  for (size_t h = 0; h < row->heavy; h++)
    mass += row->s[row->which[h]];
  if (row->heavy < row->k) {
    set_powers(row, self->powers);
    set_rare(row, self->powers, mass, self->work, out);
  }
  return 0;
}

void gpc_joint_softmax_average(const gpc_joint_softmax *self, gpc_joint_row *row,
                               double *out) {
  double light = 0.0;
  row->top = 0;
  for (size_t h = 1; h < row->heavy; h++)
    row->top = row->phi[row->which[h]] > row->phi[row->which[row->top]] ? h : row->top;
  if (moments(self, row, out))
    return;
  for (size_t j = 0, h = 0; j < row->k; j++)
    if (h < row->heavy && row->which[h] == j)
      h++;
    else
      light += out[j];
  integrate_heavy(self, row, 1.0 - light, out);
}
