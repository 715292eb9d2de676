/* gp_stream.c: see gp_stream.h. */
#include "gp_stream.h"
#include "fastexp.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

void gpc_site_range(const gpc_site *site, gpc_gp_range *range) {
  range->lowest = fmin(range->lowest, site->z[0]);
  range->highest = fmax(range->highest, site->z[site->p - 1]);
  range->bulk_low = fmin(range->bulk_low, site->bulk_low);
  range->bulk_high = fmax(range->bulk_high, site->bulk_high);
}

/* Knots from `from` to `to` (either way) at distances that begin with `step` and grow by a
 * half: out there few scores lie. Writes at most `room`, the last of them at `to`. */
static size_t lay_outward(double from, double to, double step, size_t room, double *z) {
  const double way = to > from ? 1.0 : -1.0;
  size_t count = 0;
  double at = from, width = step;
  while (room > 0 && way * (to - at) > 1e-9 * step) {
    at += way * width;
    width *= 1.5;
    if (count + 1 == room || way * (to - at) < 0.5 * step)
      at = to;
    z[count++] = at;
    if (count == room)
      break;
  }
  return count;
}

/* [before] reversed, then `inner`, then after */
static size_t join(double *z, size_t before, double *low, size_t inner, double *mid,
                   size_t after, double *high) {
  double all[3 * GPC_SITE_MOST];
  size_t n = 0;
  for (size_t i = before; i-- > 0;)
    all[n++] = low[i];
  for (size_t i = 0; i < inner; i++)
    all[n++] = mid[i];
  for (size_t i = 0; i < after; i++)
    all[n++] = high[i];
  memcpy(z, all, n * sizeof(double));
  return n;
}

size_t gpc_site_knots(const gpc_site *site, const gpc_gp_range *range, double *z) {
  double mid[GPC_SITE_MOST], low[GPC_SITE_MOST], high[GPC_SITE_MOST];
  const double width = range->bulk_high - range->bulk_low;
  const size_t out = (GPC_SITE_MOST - GPC_SITE_KNOTS) / 2;
  if (site) {
    /* the old ones stay where there is room for the new */
    const double step =
        (site->bulk_high - site->bulk_low) / ((double)GPC_SITE_KNOTS - 1.0);
    const size_t room = GPC_SITE_MOST - site->p;
    size_t before = lay_outward(site->z[0], range->lowest, step, room, low);
    size_t after =
        lay_outward(site->z[site->p - 1], range->highest, step, room - before, high);
    const int reaches =
        (before == 0 ? site->z[0] : low[before - 1]) <= range->lowest + 1e-9 * step &&
        (after == 0 ? site->z[site->p - 1] : high[after - 1]) >=
            range->highest - 1e-9 * step;
    memcpy(mid, site->z, site->p * sizeof(double));
    if (reaches && width < 2.0 * (site->bulk_high - site->bulk_low))
      return join(z, before, low, site->p, mid, after, high);
  }
  for (size_t i = 0; i < GPC_SITE_KNOTS; i++)
    mid[i] = range->bulk_low + width * (double)i / ((double)GPC_SITE_KNOTS - 1.0);
  const double step = width / ((double)GPC_SITE_KNOTS - 1.0);
  const size_t before = lay_outward(range->bulk_low, range->lowest, step, out, low);
  const size_t after = lay_outward(range->bulk_high, range->highest, step, out, high);
  return join(z, before, low, GPC_SITE_KNOTS, mid, after, high);
}

double gpc_site_add(const gpc_site *site, size_t g, const double *psi, double *b,
                    double *w, double *v) {
  const size_t p = site->p, first = g - p;
  double sum = site->loss;
  for (size_t i = 0; i < p; i++) {
    double pull = site->b[i], bend = 0.0;
    for (size_t j = 0; j < p; j++) {
      bend += site->curvature[i + p * j] * (psi[first + j] - site->psi[j]);
      w[first + i + g * (first + j)] += site->curvature[i + p * j];
    }
    const double d = psi[first + i] - site->psi[i];
    sum += d * (pull - 0.5 * bend); /* eq. (O2) */
    b[first + i] += pull - bend;
    v[first + i] += site->spread[i];
  }
  return sum;
}

size_t gpc_site_find(size_t p, const double *z, double x, double *share) {
  size_t low = 0, high = p - 1;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (z[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  *share = (x - z[low]) / (z[low + 1] - z[low]);
  return low;
}

#define PARTS                                                                            \
  32 /* of a stretch between two knots: psi is linear in each, to 1e-4 of a bend */

/* What the rows need: psi on a table, and where they add to. */
typedef struct {
  size_t p;
  const double *z; /* [p] knots */
  double *table;   /* [PARTS (p - 1) + 1] psi, and log factor where the mean has one */
  const gpc_prior *prior;
  double *row;   /* [p] sum_k s_k pi_k of a row */
  double *share; /* [k] and its knot, of every score */
  int *knot;
  double *phi; /* [k] */
  double *v, *w;
} counting;

/* psi on the table, from the basis itself. */
static gpc_status set_table(gpc_visitor *visitor, const gpc_visit *at, counting *c) {
  const size_t parts = PARTS * (c->p - 1) + 1;
  void *mark = visitor->memory->mark(visitor->memory->self);
  double *x = gpc_get_doubles(visitor->memory, parts);
  for (size_t i = 0; i < parts; i++) {
    const size_t low = i / PARTS < c->p - 1 ? i / PARTS : c->p - 2;
    const double share = ((double)i - (double)(PARTS * low)) / PARTS;
    x[i] = c->z[low] + share * (c->z[low + 1] - c->z[low]);
  }
  const gpc_status status = gpc_visit_psi(visitor, at, parts, x, c->table);
  visitor->memory->release(visitor->memory->self, mark);
  return status;
}

static double look_up(const counting *c, size_t low, double share) {
  const double at = fmin(fmax(share, 0.0), 1.0) * PARTS;
  const size_t part = at < PARTS - 1 ? (size_t)at : PARTS - 1;
  const double *t = c->table + PARTS * low + part;
  return t[0] + (at - (double)part) * (t[1] - t[0]);
}

#define ROWS 8 /* rows read together: a cache line of each column */

/* W += w (sum_k s_k pi_k pi_k' - r r'), r = sum_k s_k pi_k: never indefinite. The lower
 * triangle alone. */
GPC_WIDE static void count_row(size_t k, double w, const double *scores, counting *c) {
  const size_t p = c->p;
  size_t from = p, to = 0; /* knots that the row reaches */
  double top = -INFINITY, total = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double z = scores[j];
    const size_t low = gpc_site_find(p, c->z, z, &c->share[j]);
    c->share[j] = fmin(fmax(c->share[j], 0.0), 1.0);
    c->knot[j] = (int)low;
    from = low < from ? low : from;
    to = low + 2 > to ? low + 2 : to;
    c->phi[j] = look_up(c, low, c->share[j]) + gpc_prior_mu(c->prior, z) -
                gpc_prior_smooth(c->prior, z);
    top = fmax(top, c->phi[j]);
  }
  for (size_t j = 0; j < k; j++)
    total += c->phi[j] = gpc_exp(c->phi[j] - top);
  memset(c->row, 0, p * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const size_t low = (size_t)c->knot[j];
    const double s = c->phi[j] / total, b = c->share[j], a = 1.0 - b;
    c->row[low] += s * a;
    c->row[low + 1] += s * b;
    c->v[low] += w * s * (1.0 - s) * a;
    c->v[low + 1] += w * s * (1.0 - s) * b;
    c->w[low + p * low] += w * s * a * a;
    c->w[low + 1 + p * low] += w * s * a * b;
    c->w[low + 1 + p * (low + 1)] += w * s * b * b;
  }
  for (size_t j = from; j < to; j++) {
    double *column = c->w + p * j, *row = c->row, x = w * row[j];
    if (x == 0.0)
      continue;
#pragma omp simd
    for (size_t q = j; q < to; q++)
      column[q] -= x * row[q];
  }
}

/* The old site's W and v at other knots. */
static void carry(const gpc_site *old, const counting *c) {
  const size_t p = c->p;
  for (size_t j = 0; j < old->p; j++) {
    double own[2], other[2];
    const size_t to = gpc_site_find(p, c->z, old->z[j], &own[1]);
    own[0] = 1.0 - own[1];
    c->v[to] += own[0] * old->spread[j];
    c->v[to + 1] += own[1] * old->spread[j];
    for (size_t i = 0; i < old->p; i++) {
      const size_t at = gpc_site_find(p, c->z, old->z[i], &other[1]);
      other[0] = 1.0 - other[1];
      for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 2; b++)
          c->w[at + a + p * (to + b)] +=
              other[a] * own[b] * old->curvature[i + old->p * j];
    }
  }
}

/* b, v and W from what a pass has left on the nodes, the old site's knots
 * among them: a map that is linear between the knots is P f there, so that they become
 * P'b, P'v and P'W P. */
static void project(const gpc_memory *memory, const gpc_visit *at, size_t p,
                    const double *z, double *b, double *v, double *w) {
  const size_t g = at->nodes->g;
  double *share = gpc_get_doubles(memory, g), *half = gpc_get_doubles(memory, g * p);
  int *knot = gpc_get_ints(memory, g);
  memset(half, 0, g * p * sizeof(double));
  for (size_t j = 0; j < g; j++) {
    const size_t low = gpc_site_find(p, z, at->nodes->z[j], &share[j]);
    const double two[2] = {1.0 - share[j], share[j]};
    knot[j] = (int)low;
    for (size_t q = 0; q < 2; q++) {
      b[low + q] += two[q] * at->b[j];
      v[low + q] += two[q] * at->stats.spread[j];
      for (size_t i = 0; i < g; i++)
        half[i + g * (low + q)] += two[q] * at->curvature[i + g * j];
    }
  }
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < g; i++) {
      const size_t low = (size_t)knot[i];
      w[low + p * j] += (1.0 - share[i]) * half[i + g * j];
      w[low + 1 + p * j] += share[i] * half[i + g * j];
    }
  gpc_symmetrise(p, w);
}

/* W without what it has of negative curvature: maps with corners at the knots are not
 * smooth on the scale of the nodes, and interpolation may leave a little. */
static gpc_status keep_positive(const gpc_memory *memory, size_t p, double *w) {
  double *vectors = gpc_get_doubles(memory, p * p), *value = gpc_get_doubles(memory, p);
  double *scaled = gpc_get_doubles(memory, p * p);
  memcpy(vectors, w, p * p * sizeof(double));
  const gpc_status status = gpc_eigen(p, vectors, value, gpc_get_doubles(memory, 3 * p));
  if (status != GPC_OK)
    return status;
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < p; i++)
      scaled[i + p * j] = vectors[i + p * j] * fmax(value[j], 0.0);
  gpc_gemm(0, 1, p, p, p, 1.0, scaled, vectors, 0.0, w);
  return GPC_OK;
}

gpc_status gpc_site_freeze(gpc_visitor *visitor, const gpc_visit *at, size_t p,
                           const double *z, double *psi, double *b, double *v,
                           double *w) {
  const gpc_gp_data *data = visitor->data;
  const gpc_memory *memory = visitor->memory;
  const gpc_prior prior = gpc_params_prior(&at->at, &visitor->prior);
  gpc_status status = gpc_visit_psi(visitor, at, p, z, psi);
  if (status != GPC_OK)
    return status;
  memset(b, 0, p * sizeof(double));
  memset(v, 0, p * sizeof(double));
  memset(w, 0, p * p * sizeof(double));
  void *mark = memory->mark(memory->self);
  if (visitor->ruler->rows) { /* many classes: nodes are dense, and rows cost too much */
    project(memory, at, p, z, b, v, w);
    status = keep_positive(memory, p, w);
    memory->release(memory->self, mark);
    return status;
  }
  counting c = {.p = p,
                .z = z,
                .table = gpc_get_doubles(memory, PARTS * (p - 1) + 1),
                .prior = &prior,
                .row = gpc_get_doubles(memory, p),
                .share = gpc_get_doubles(memory, data->k),
                .knot = gpc_get_ints(memory, data->k),
                .phi = gpc_get_doubles(memory, data->k),
                .v = v,
                .w = w};
  for (size_t j = 0; j < at->nodes->g; j++) { /* new rows and old knots */
    double share;
    const size_t low = gpc_site_find(p, z, at->nodes->z[j], &share);
    b[low] += (1.0 - share) * at->b[j];
    b[low + 1] += share * at->b[j];
  }
  status = set_table(visitor, at, &c);
  double *scores = gpc_get_doubles(memory, ROWS * data->k);
  for (size_t first = 0; first < data->n; first += ROWS) {
    const size_t rows = data->n - first < ROWS ? data->n - first : ROWS;
    for (size_t j = 0; j < data->k; j++)
      for (size_t i = 0; i < rows; i++)
        scores[i * data->k + j] = gpc_gp_score(data, first + i, j);
    for (size_t i = 0; i < rows; i++) {
      const double weight = gpc_gp_weight(data, first + i);
      if (weight > 0.0)
        count_row(data->k, weight, scores + i * data->k, &c);
    }
  }
  gpc_symmetrise(p, w);
  if (visitor->site)
    carry(visitor->site, &c);
  memory->release(memory->self, mark);
  return status;
}
