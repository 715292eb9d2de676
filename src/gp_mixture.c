/* gp_mixture.c: see gp_mixture.h. */
#include "gp_mixture.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define SIGMA_STEP 1.0   /* of the grid, in log sigma */
#define L_STEP 0.8       /* and in log l */
#define L_STEP_ROUGH 1.0 /* of rough components */
#define LEAST_SIGMA 0.07 /* as good as a line */
#define MOST_SIGMA 8.0
#define MOST_ROUGH 60.0 /* sigma of rough components, which with a long lengthscale ... */
#define MOST_WIDTHS 3.0 /* ... goes on beyond the rows as it bent before */
#define SURROGATE_SIGMA                                                                  \
  0.3                   /* below this a surrogate of a larger sigma is to be trusted */
#define START_SIGMA 0.6 /* where the optimum is a line */
#define START_L 7.0     /* fractions of the width */
#define LEAST_START 0.3 /* between these for rough components, ... */
#define MOST_START 3.0
#define ROUGHER 2.0  /* ... whose lengthscales are so much longer for the same bends */
#define COUNTS 2.5   /* nats below the best point: no more is looked at */
#define SPACINGS 2.0 /* lengthscale of the basis */
#define LEAST_L 0.9  /* spacings of the inducing inputs that a lengthscale must have */
#define LEAST_NOISE 1e-6 /* of the variance, in the basis of rough components */

/* The priors, chosen on simulated truths (bench/validity/intervals.R): */
#define SIGMA_RATE 0.1
#define L_CENTRE 16.0   /* fractions of the width */
#define L_SD 0.7        /* in log l */
#define L_CENTRE_32 5.0 /* of rough components */
#define L_CENTRE_12 3.0
#define L_SD_ROUGH 1.0

/* The sum of the components, weights relative to exp(top). */
typedef struct {
  const gpc_mixture_looker *looker;
  const gpc_mixture_settings *settings;
  gpc_basis basis, point; /* of the result; of a component */
  gpc_posterior now;
  double top, total, sigma;   /* sigma: sum of weight sigma */
  double *origin, *mean, *at; /* [size] sums are about the first component's mean */
  double *cov, *part;         /* [size x size]; [size x size + 2 m size + m m] */
  double *tt;                 /* [m x m] (L*^-1 L)' of a component */
  int points;
  const gpc_rough *rough;          /* the kernel that is walked over, or NULL */
  double best, best_sigma, best_l; /* of it: the heaviest point */
} mixing;

/* Priors ------------------------------------------------------------------------------ */

static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* log of the prior's mass about the point sigma, lowest: and all below. */
static double sigma_mass(const gpc_mixture_settings *s, double sigma, int lowest) {
  const double half = exp(0.5 * SIGMA_STEP), rate = SIGMA_RATE;
  if (!s->s2_free)
    return 0.0;
  return log(exp(lowest ? 0.0 : -rate * sigma / half) - exp(-rate * sigma * half));
}

static double l_step(const mixing *f) { return f->rough ? L_STEP_ROUGH : L_STEP; }

static double l_mass(const mixing *f, double l) {
  const gpc_mixture_settings *s = f->settings;
  if (!s->l_free)
    return 0.0;
  const double centre = !f->rough                        ? L_CENTRE
                        : f->rough->kind == GPC_MATERN32 ? L_CENTRE_32
                                                         : L_CENTRE_12;
  const double sd = f->rough ? L_SD_ROUGH : L_SD, half = 0.5 * l_step(f);
  const double u = log(l * centre / s->width);
  return log(normal_cdf((u + half) / sd) - normal_cdf((u - half) / sd) + 1e-300);
}

/* Components -------------------------------------------------------------------------- */

/* tt := (L*^-1 L)', which takes whitened values of one basis to the other. */
static void set_change(const gpc_basis *from, const gpc_basis *to, double *tt) {
  const size_t m = from->m;
  for (size_t c = 0; c < m; c++)
    for (size_t r = 0; r < m; r++)
      tt[r + m * c] = c >= r ? from->chol[c + m * r] : 0.0;
  gpc_solve_rows(m, m, to->chol, tt);
}

/* x [size x n], whose first m rows are whitened values, to the other basis. */
static void change(size_t m, size_t size, size_t n, const double *tt, const double *x,
                   double *out) {
  for (size_t c = 0; c < n; c++) {
    gpc_gemm(1, 0, m, 1, m, 1.0, tt, x + size * c, 0.0, out + size * c);
    memcpy(out + size * c + m, x + size * c + m, (size - m) * sizeof(double));
  }
}

static void transpose(size_t n, double *a) {
  for (size_t c = 0; c < n; c++)
    for (size_t r = 0; r < c; r++) {
      const double swap = a[r + n * c];
      a[r + n * c] = a[c + n * r];
      a[c + n * r] = swap;
    }
}

/* mean [size] of a posterior in the other basis; work [size]. */
static void change_mean(const gpc_posterior *from, const double *tt, double *work,
                        double *mean) {
  const size_t m = from->at.m, size = m + from->slopes + from->e;
  memcpy(work, from->at.q_mean, m * sizeof(double));
  if (from->slopes)
    work[m] = from->at.slope;
  memcpy(work + m + from->slopes, from->effect, from->e * sizeof(double));
  change(m, size, 1, tt, work, mean);
}

/* The same, and cov; work [size x size]. */
static void change_posterior(const gpc_posterior *from, const double *tt, double *mean,
                             double *work, double *cov) {
  const size_t m = from->at.m, size = m + from->slopes + from->e;
  change_mean(from, tt, work, mean);
  change(m, size, size, tt, from->cov, work);
  transpose(size, work);
  change(m, size, size, tt, work, cov);
}

static void get_room(const gpc_posterior *out, mixing *f) {
  const gpc_memory *memory = f->settings->memory;
  const size_t m = out->at.m, size = m + out->slopes + out->e;
  f->now = gpc_posterior_get(memory, m, out->slopes, out->e);
  f->basis = (gpc_basis){.m = m, .chol = gpc_get_doubles(memory, m * m)};
  f->point = (gpc_basis){.m = m, .chol = gpc_get_doubles(memory, m * m)};
  f->origin = gpc_get_doubles(memory, size);
  f->mean = gpc_get_doubles(memory, size);
  f->at = gpc_get_doubles(memory, size);
  f->cov = out->cov; /* which is made of the sums when all are there */
  f->part = gpc_get_doubles(memory, size * size + 2 * m * size + m * m);
  f->tt = gpc_get_doubles(memory, m * m);
  f->top = -INFINITY;
  memset(f->mean, 0, size * sizeof(double));
  memset(f->cov, 0, size * size * sizeof(double));
}

/* The rows of m of f->now.cov in the basis of the result: f->part [m x size]. What the slope
 * and the effects have among themselves stays as it is. */
static void change_rows(mixing *f) {
  const size_t m = f->now.at.m, size = m + f->now.slopes + f->now.e;
  double *rows = f->part, *mine = rows + m * size, *half = mine + m * size;
  for (size_t c = 0; c < size; c++)
    memcpy(mine + m * c, f->now.cov + size * c, m * sizeof(double));
  gpc_gemm_large(1, 0, m, size, m, 1.0, f->tt, mine, 0.0, rows);
  memcpy(half, rows, m * m * sizeof(double));
  gpc_gemm_large(0, 0, m, m, m, 1.0, half, f->tt, 0.0, rows);
}

/* sums [n] := rest sums + weight (x + d y). */
GPC_FUSED static void add_column(size_t n, double rest, double weight, const double *x,
                                 double d, const double *y, double *sums) {
#pragma omp simd
  for (size_t r = 0; r < n; r++)
    sums[r] = rest * sums[r] + weight * (x[r] + d * y[r]);
}

/* f->now added with weight exp(value). Of the sums of covariances the rows of m are kept,
 * and of the others the lower triangle. */
static void add(mixing *f, double value) {
  const gpc_posterior *now = &f->now;
  const size_t m = now->at.m, size = m + now->slopes + now->e;
  if (value < f->top - COUNTS - GPC_MIXTURE_SLACK)
    return;
  f->point.inducing = now->at.inducing;
  f->point.hyper = now->at.hyper;
  if (gpc_basis_factor(&f->point) != GPC_OK)
    return;
  set_change(&f->point, &f->basis, f->tt);
  change_mean(now, f->tt, f->part, f->at);
  change_rows(f);
  if (!f->points)
    memcpy(f->origin, f->at, size * sizeof(double));
  double weight = 1.0, rest = 1.0;
  if (value > f->top) {
    rest = exp(f->top - value);
    f->top = value;
  } else {
    weight = exp(value - f->top);
  }
  f->total = rest * f->total + weight;
  f->sigma = rest * f->sigma + weight * sqrt(now->at.hyper.s2);
  for (size_t c = 0; c < size; c++)
    f->at[c] -= f->origin[c];
  add_column(size, rest, weight, f->at, 0.0, f->at, f->mean);
  for (size_t c = 0; c < size; c++) {
    const double d = f->at[c], *own = now->cov + size * c;
    double *sums = f->cov + size * c;
    add_column(m, rest, weight, f->part + m * c, d, f->at, sums);
    if (c >= m)
      add_column(size - c, rest, weight, own + c, d, f->at + c, sums + c);
  }
  f->points++;
}

/* The grid ---------------------------------------------------------------------------- */

/* One point: looked at from slot `from`, by a pass in slot `to` (-1: none) if it is not out
 * of the question, and added. Returns the logarithm of its weight, -INFINITY if there is
 * none; *passed: whether slot `to` holds a pass there. */
static double visit(mixing *f, int from, int to, double sigma, double l, int lowest,
                    int *passed) {
  const double mass = sigma_mass(f->settings, sigma, lowest) + l_mass(f, l);
  const gpc_hyper hyper = {
      .s2 = sigma * sigma, .l = l, .sn2 = f->settings->best.sn2, .rough = f->rough};
  *passed = 0;
  if (f->looker->look(f->looker->self, from, to, hyper, f->top - COUNTS - mass, passed,
                      &f->now) != GPC_OK)
    return -INFINITY;
  const double value = f->now.value + mass;
  add(f, value);
  if (value > f->best) {
    f->best = value;
    f->best_sigma = sigma;
    f->best_l = l;
  }
  return value;
}

/* All sigma for one l, whose pass at sigma is in slot `row` already, with weight `here`.
 * Returns the largest weight. */
static double walk_sigma(mixing *f, int row, double sigma, double l, double here) {
  const double step = exp(SIGMA_STEP);
  double best = here;
  if (!f->settings->s2_free)
    return best;
  int from = row, to = 4, passed;
  const double most = f->rough ? MOST_ROUGH : MOST_SIGMA;
  for (double s = sigma * step; s < most; s *= step) { /* upwards */
    const double value = visit(f, from, to, s, l, 0, &passed);
    best = fmax(best, value);
    if (value == -INFINITY || value < f->top - COUNTS)
      break;
    if (passed) {
      from = to;
      to = 9 - to; /* 4 and 5 */
    }
  }
  from = row;
  to = 4;
  for (double s = sigma / step; s * step > LEAST_SIGMA; s /= step) { /* downwards */
    const int pass = s > SURROGATE_SIGMA, lowest = s <= LEAST_SIGMA;
    const double value = visit(f, from, pass ? to : -1, s, l, lowest, &passed);
    best = fmax(best, value);
    if (value == -INFINITY || value < f->top - COUNTS)
      break;
    if (passed) {
      from = to;
      to = 9 - to;
    }
  }
  return best;
}

/* All lengthscales on one side of that in slot `from`. */
static void walk_l(mixing *f, int from, double sigma, double l, double factor) {
  const gpc_mixture_settings *s = f->settings;
  int to = 2, passed;
  const double most = fmin(s->l_high, (s->rough ? MOST_WIDTHS : 1.0) * s->width);
  for (l *= factor; l >= LEAST_L * s->l_low && l <= most; l *= factor) {
    const double here = visit(f, from, to, sigma, l, sigma <= LEAST_SIGMA, &passed);
    if (here == -INFINITY ||
        walk_sigma(f, passed ? to : from, sigma, l, here) < f->top - COUNTS)
      break;
    if (passed) {
      from = to;
      to = 5 - to; /* 2 and 3 */
    }
  }
}

static gpc_status set_basis(mixing *f, const double *inducing) {
  const gpc_mixture_settings *s = f->settings;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < f->basis.m; i++) {
    low = fmin(low, inducing[i]);
    high = fmax(high, inducing[i]);
  }
  f->basis.inducing = inducing;
  f->basis.hyper = s->best;
  if (s->rough)
    f->basis.hyper.l = GPC_ROUGH_L * s->rough->step;
  else if (s->l_free)
    f->basis.hyper.l = SPACINGS * (high - low) / ((double)f->basis.m - 1.0);
  if (s->s2_free)
    f->basis.hyper.s2 = fmin(fmax(s->best.s2, 0.1), 10.0);
  if (s->rough) /* white noise would smooth what is rough */
    f->basis.hyper.sn2 = fmin(s->best.sn2, LEAST_NOISE * f->basis.hyper.s2);
  return gpc_basis_factor(&f->basis);
}

#define FIRST_RIDGE 1e-15 /* of the largest variance ... */
#define LAST_RIDGE 1e-6   /* ... and where a covariance is given up */
#define ROUGH_RIDGE                                                                      \
  1e-12 /* knots lie close: smooth components leave little between them */

/* The diagonal of cov [n x n] raised until it is positive definite: rounding may leave
 * little of its smallest eigenvalues where rows have enormous weights. `ridge`, relative to
 * the largest, is where that begins. work [n x n]. */
static gpc_status raise(size_t n, double ridge, double *work, double *cov) {
  double most = 0.0;
  for (size_t i = 0; i < n; i++)
    most = fmax(most, cov[i + n * i]);
  for (;;) {
    memcpy(work, cov, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++)
      work[i + n * i] += ridge * most;
    if (gpc_chol(n, 1e-16 * most, work) == GPC_OK)
      break;
    ridge = ridge == 0.0 ? FIRST_RIDGE : 10.0 * ridge;
    if (!(ridge <= LAST_RIDGE))
      return GPC_NOT_PD;
  }
  for (size_t i = 0; i < n; i++)
    cov[i + n * i] += ridge * most;
  return GPC_OK;
}

/* The result, with the variance that the components have on average. */
static gpc_status finish(mixing *f, gpc_posterior *out) {
  const size_t m = out->at.m, size = m + out->slopes + out->e;
  for (size_t c = 0; c < size; c++)
    f->mean[c] /= f->total;
  for (size_t c = 0; c < size; c++)
    for (size_t r = c < m ? 0 : c; r < size; r++) {
      const double sum = r >= m && c < m ? f->cov[c + size * r] : f->cov[r + size * c];
      f->now.cov[r + size * c] = f->now.cov[c + size * r] =
          sum / f->total - f->mean[r] * f->mean[c];
    }
  for (size_t c = 0; c < size; c++)
    f->mean[c] += f->origin[c];
  memcpy(f->now.at.q_mean, f->mean, m * sizeof(double));
  if (out->slopes)
    f->now.at.slope = f->mean[m];
  memcpy(f->now.effect, f->mean + m + out->slopes, out->e * sizeof(double));
  f->point.hyper = f->basis.hyper;
  f->point.inducing = f->basis.inducing;
  if (f->settings->s2_free)
    f->point.hyper.s2 = f->sigma / f->total * (f->sigma / f->total);
  if (f->settings->rough)
    f->point.hyper.sn2 = fmin(f->settings->best.sn2, LEAST_NOISE * f->point.hyper.s2);
  gpc_status status = gpc_basis_factor(&f->point);
  if (status != GPC_OK)
    return status;
  set_change(&f->basis, &f->point, f->tt);
  change_posterior(&f->now, f->tt, f->at, f->part, out->cov);
  out->at.hyper = f->point.hyper;
  out->at.slope = f->now.at.slope;
  memcpy(out->at.inducing, f->basis.inducing, m * sizeof(double));
  memcpy(out->at.q_mean, f->at, m * sizeof(double));
  memcpy(out->effect, f->now.effect, out->e * sizeof(double));
  const double ridge = f->settings->rough ? ROUGH_RIDGE : 0.0;
  status = raise(size, ridge, f->part, out->cov);
  if (status != GPC_OK)
    return status;
  const double var = gpc_posterior_slope(out, f->at);
  for (size_t c = 0; c < m; c++)
    for (size_t r = 0; r < m; r++)
      out->at.q_cov[r + m * c] = out->cov[r + size * c] - var * f->at[r] * f->at[c];
  return raise(m, ridge, f->part, out->at.q_cov);
}

/* Where the walk over the kernel of the fit begins; returns 1 if that is not its
 * optimum. */
static int begin(const gpc_mixture_settings *s, double *sigma, double *l) {
  int moved = 0;
  *sigma = sqrt(s->best.s2);
  *l = s->best.l;
  if (s->s2_free && *sigma < 2.0 * LEAST_SIGMA) {
    moved = 1;
    *sigma = START_SIGMA;
    if (s->l_free)
      *l = fmin(fmax(s->width / START_L, s->l_low), s->l_high);
  }
  if (s->l_free && *l > s->width) {
    moved = 1;
    *l = s->width;
  }
  return moved;
}

/* All points of one kernel, about a first one, by a pass in slot `to` (-1: that of the
 * optimum in slot 0 is one there). */
static void walk(mixing *f, int from, int to, double sigma, double l) {
  const gpc_mixture_settings *s = f->settings;
  int passed;
  f->best = -INFINITY;
  const double here = visit(f, from, to, sigma, l, 0, &passed);
  if (here == -INFINITY)
    return;
  const int at = passed ? to : from;
  walk_sigma(f, at, sigma, l, here);
  if (s->l_free) {
    walk_l(f, at, sigma, l, exp(l_step(f)));
    walk_l(f, at, sigma, l, exp(-l_step(f)));
  }
}

/* The same for each rough kernel, the second about what was best for the first. */
static void walk_rough(mixing *f) {
  const gpc_mixture_settings *s = f->settings;
  double sigma, l;
  const int line = sqrt(s->best.s2) < 2.0 * LEAST_SIGMA;
  begin(s, &sigma, &l);
  sigma = fmin(fmax(sigma, LEAST_START), MOST_START);
  l = line ? s->width / L_CENTRE_32 : ROUGHER * l;
  for (int i = 0; i < GPC_ROUGH_KINDS; i++) {
    f->rough = &s->rough->kinds[i];
    l = fmin(fmax(l, s->l_low), s->width);
    walk(f, 0, i ? GPC_MIXTURE_SLOTS - 1 : 1, sigma, l);
    if (f->best > -INFINITY) {
      sigma = f->best_sigma;
      l = ROUGHER * f->best_l;
    }
  }
}

gpc_status gpc_mixture_make(const gpc_mixture_looker *looker,
                            const gpc_mixture_settings *settings, gpc_posterior *out,
                            int *points) {
  mixing f = {.looker = looker, .settings = settings};
  double sigma, l;
  get_room(out, &f);
  gpc_status status = set_basis(&f, out->at.inducing);
  if (status != GPC_OK)
    return status;
  if (settings->rough) {
    walk_rough(&f);
  } else {
    const int moved = begin(settings, &sigma, &l);
    walk(&f, 0, moved ? 1 : -1, sigma, l);
  }
  *points = f.points;
  return f.points ? finish(&f, out) : GPC_NOT_PD;
}
