/* gp_mixture.c: see gp_mixture.h. */
#include "gp_mixture.h"
#include "gp_mixture_sum.h"

#include <math.h>

#define SIGMA_STEP 1.0   /* of the grid, in log sigma */
#define L_STEP 0.8       /* and in log l */
#define L_STEP_ROUGH 1.0 /* of rough components */
#define LEAST_SIGMA 0.07 /* as good as a line, ... */
#define AS_LINE 0.2      /* ... as is one whose evidence is as near to that of a line */
#define LINE_SIGMA 0.03  /* by which a line is looked at ... */
#define LINE_SLOT (GPC_MIXTURE_SLOTS - 1) /* ... in this slot */
#define MOST_SIGMA 8.0
#define MOST_ROUGH 60.0 /* sigma of rough components, which with a long lengthscale ... */
#define MOST_WIDTHS 3.0 /* ... goes on beyond the rows as it bent before */
#define SURROGATE_SIGMA                                                                  \
  0.3                   /* below this a surrogate of a larger sigma is to be trusted */
#define START_SIGMA 0.6 /* where the optimum is a line */
#define START_L 7.0     /* fractions of the width */
#define LEAST_START 0.3 /* between these for rough components, ... */
#define MOST_START 3.0
#define ROUGHER 2.0 /* ... whose lengthscales are so much longer for the same bends */
#define COUNTS 2.5  /* nats below the best point: no more is looked at */
#define LEAST_L 0.9 /* spacings of the inducing inputs that a lengthscale must have */

/* The priors, chosen on simulated truths (bench/validity/intervals.R): */
#define SIGMA_RATE 0.1
#define L_CENTRE 16.0   /* fractions of the width */
#define L_SD 0.7        /* in log l */
#define L_CENTRE_32 5.0 /* of rough components */
#define L_CENTRE_12 3.0
#define L_SD_ROUGH 1.0

typedef struct {
  const gpc_mixture_looker *looker;
  const gpc_mixture_settings *settings;
  gpc_mixture_sum sum;
  const gpc_rough *rough;          /* the kernel that is walked over, or NULL */
  double best, best_sigma, best_l; /* of it: the heaviest point */
  int line_from;                   /* slot by which the line is looked at; -1: not yet */
  double line, line_l;             /* log evidence of the line, looked at with this l */
  double below;                    /* prior mass of what is as good as a line */
} mixing;

/* Priors ------------------------------------------------------------------------------ */

static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* Prior mass of all standard deviations below the cell of sigma, if there is no line. */
static double mass_below(double sigma) {
  return -expm1(-SIGMA_RATE * sigma * exp(-0.5 * SIGMA_STEP));
}

/* log of the prior's mass in the cell of sigma. */
static double sigma_mass(const gpc_mixture_settings *s, double sigma) {
  const double next = sigma * exp(SIGMA_STEP);
  if (!s->s2_free)
    return 0.0;
  return log((1.0 - s->line) * (mass_below(next) - mass_below(sigma)));
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

/* The grid ---------------------------------------------------------------------------- */

/* f->sum.now := the posterior of one point, looked at from slot `from`, by a pass in slot
 * `to` (-1: none) if with its prior `mass` it is not out of the question. */
static gpc_status look(mixing *f, int from, int to, double sigma, double l, double mass,
                       int *passed) {
  const gpc_hyper hyper = {
      .s2 = sigma * sigma, .l = l, .sn2 = f->settings->best.sn2, .rough = f->rough};
  *passed = 0;
  return f->looker->look(f->looker->self, from, to, hyper, f->sum.top - COUNTS - mass,
                         passed, &f->sum.now);
}

static void add(mixing *f, double value) {
  if (value >= f->sum.top - COUNTS - GPC_MIXTURE_SLACK)
    gpc_mixture_sum_add(&f->sum, value);
}

/* One point looked at and added. Returns the logarithm of its weight, -INFINITY if there is
 * none; *passed: whether slot `to` holds a pass there; *same: is it as good as a line? */
static double visit(mixing *f, int from, int to, double sigma, double l, int *passed,
                    int *same) {
  const double mass = sigma_mass(f->settings, sigma) + l_mass(f, l);
  *same = 0;
  if (look(f, from, to, sigma, l, mass, passed) != GPC_OK)
    return -INFINITY;
  *same = sigma <= LEAST_SIGMA || fabs(f->sum.now.value - f->line) < AS_LINE;
  const double value = f->sum.now.value + mass;
  add(f, value);
  if (value > f->best) {
    f->best = value;
    f->best_sigma = sigma;
    f->best_l = l;
  }
  return value;
}

/* The line -----------------------------------------------------------------------------*/

/* Kernels that a line belongs to, each with prior mass 1. */
static double kinds(const mixing *f) {
  return f->settings->rough ? GPC_ROUGH_KINDS : 1.0;
}

/* The evidence of the line, before sigmas are walked over that may be as good as one. */
static void look_at_line(mixing *f, double l) {
  const gpc_mixture_settings *s = f->settings;
  const int there = s->best.s2 < 4.0 * LEAST_SIGMA * LEAST_SIGMA; /* the optimum is one */
  const double mass = log(kinds(f) * (s->line + mass_below(2.0 * LEAST_SIGMA)));
  int passed;
  f->line_from = 0;
  f->line_l = l;
  if (look(f, 0, there ? -1 : LINE_SLOT, LINE_SIGMA, l, mass, &passed) != GPC_OK)
    return;
  f->line = f->sum.now.value;
  if (passed)
    f->line_from = LINE_SLOT;
}

/* The line added, with its own prior mass and that of sigmas that were as good. Returns its
 * posterior probability. */
static double add_line(mixing *f) {
  const double mass =
      log(kinds(f) * f->settings->line + (1.0 - f->settings->line) * f->below);
  int passed;
  if (!(f->line + mass >= f->sum.top - COUNTS - GPC_MIXTURE_SLACK))
    return 0.0;
  if (look(f, f->line_from, -1, LINE_SIGMA, f->line_l, mass, &passed) != GPC_OK)
    return 0.0;
  const int before = f->sum.points;
  add(f, f->sum.now.value + mass);
  return f->sum.points > before ? gpc_mixture_sum_share(&f->sum, f->sum.now.value + mass)
                                : 0.0;
}

/* The grid ---------------------------------------------------------------------------- */

/* All sigma for one l, whose pass at sigma is in slot `row` already, with weight `here`.
 * Returns the largest weight. */
static double walk_sigma(mixing *f, int row, double sigma, double l, double here) {
  const double step = exp(SIGMA_STEP);
  double best = here;
  if (!f->settings->s2_free)
    return best;
  int from = row, to = 4, passed, same = 0;
  const double most = f->rough ? MOST_ROUGH : MOST_SIGMA;
  for (double s = sigma * step; s < most; s *= step) { /* upwards */
    const double value = visit(f, from, to, s, l, &passed, &same);
    best = fmax(best, value);
    if (value == -INFINITY || value < f->sum.top - COUNTS)
      break;
    if (passed) {
      from = to;
      to = 9 - to; /* 4 and 5 */
    }
  }
  from = row;
  to = 4;
  same = 0;
  for (double s = sigma / step; !same; s /= step) { /* downwards */
    const double value =
        visit(f, from, s > SURROGATE_SIGMA ? to : -1, s, l, &passed, &same);
    best = fmax(best, value);
    if (value == -INFINITY || (!same && value < f->sum.top - COUNTS))
      break;
    if (same)
      f->below += exp(l_mass(f, l)) * mass_below(s);
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
  int to = 2, passed, same;
  const double most = fmin(s->l_high, (s->rough ? MOST_WIDTHS : 1.0) * s->width);
  for (l *= factor; l >= LEAST_L * s->l_low && l <= most; l *= factor) {
    const double here = visit(f, from, to, sigma, l, &passed, &same);
    if (here == -INFINITY ||
        walk_sigma(f, passed ? to : from, sigma, l, here) < f->sum.top - COUNTS)
      break;
    if (passed) {
      from = to;
      to = 5 - to; /* 2 and 3 */
    }
  }
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
  int passed, same;
  f->best = -INFINITY;
  const double here = visit(f, from, to, sigma, l, &passed, &same);
  if (here == -INFINITY)
    return;
  if (s->s2_free && f->line_from < 0)
    look_at_line(f, l);
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
    walk(f, 0, i ? 6 : 1, sigma, l);
    if (f->best > -INFINITY) {
      sigma = f->best_sigma;
      l = ROUGHER * f->best_l;
    }
  }
}

/* eq. (43b): what standard deviations are multiplied by. */
static double narrowed(const gpc_mixture_narrowing *n, double bent) {
  if (n->share <= 0.0)
    return 1.0;
  const double line = fmin(fmax((n->high - bent) / (n->high - n->low), 0.0), 1.0);
  return 1.0 - n->share * line * (bent < n->some ? bent / n->some : 1.0);
}

gpc_status gpc_mixture_make(const gpc_mixture_looker *looker,
                            const gpc_mixture_settings *settings, gpc_posterior *out,
                            int *points) {
  mixing f = {.looker = looker, .settings = settings, .line_from = -1, .line = -INFINITY};
  double sigma, l;
  const gpc_status status = gpc_mixture_sum_begin(settings, out, &f.sum);
  if (status != GPC_OK)
    return status;
  if (settings->rough) {
    walk_rough(&f);
  } else {
    const int moved = begin(settings, &sigma, &l);
    walk(&f, 0, moved ? 1 : -1, sigma, l);
  }
  out->bent = f.line_from >= 0 ? 1.0 - add_line(&f) : 1.0;
  *points = f.sum.points;
  return f.sum.points
             ? gpc_mixture_sum_finish(&f.sum, narrowed(&settings->narrow, out->bent), out)
             : GPC_NOT_PD;
}
