/* gp_draws.c: see gp_draws.h. The two functions of a pair are phi + d and phi - d, d(z) =
 * b(z)'R'x + sqrt(rho) e + tilt z with b and R as in gp_lookup.h, so that one table
 * look-up and one exp serve both: exp(phi +- d) = s E or s / E. */
#include "gp_draws.h"
#include "fastexp.h"
#include "linalg.h"

#include <math.h>

#define ROWS 16           /* worked on together */
#define LARGEST_DEV 300.0 /* beyond any sensible draw, but exp() stays finite */

/* Of one thread. */
typedef struct {
  double *s, *sd, *u; /* [k][ROWS] exp(phi - top), sqrt(rho) (or sqrt(c)), place */
  double *up, *down;  /* [k][ROWS] the pair's exponentials */
  double *z;          /* [k][ROWS] */
  double *lift;       /* [k][ROWS] G of eq. (26b) ... */
  int *lifted;        /* [k] ... and whether it is other than zero in any row */
  int *node;          /* [k][ROWS] */
} block_work;

struct gpc_gp_draws_work {
  double *turned; /* [rank x pairs] R'x */
  double *table;  /* [nodes x pairs] d on the nodes */
  block_work *block;
};

gpc_gp_draws_work *gpc_gp_draws_take(const gpc_gp_lookup *lookup, size_t k, size_t pairs,
                                     int threads, const gpc_memory *memory) {
  gpc_gp_draws_work *work = memory->get(memory->self, sizeof *work);
  *work = (gpc_gp_draws_work){
      .turned = gpc_get_doubles(memory, lookup->rank * pairs),
      .table = gpc_get_doubles(memory, lookup->nodes * pairs),
      .block = memory->get(memory->self, (size_t)threads * sizeof(block_work)),
  };
  for (int part = 0; part < threads; part++)
    work->block[part] = (block_work){
        .s = gpc_get_doubles(memory, k * ROWS),
        .sd = gpc_get_doubles(memory, k * ROWS),
        .u = gpc_get_doubles(memory, k * ROWS),
        .up = gpc_get_doubles(memory, k * ROWS),
        .down = gpc_get_doubles(memory, k * ROWS),
        .z = gpc_get_doubles(memory, k * ROWS),
        .lift = gpc_get_doubles(memory, k * ROWS),
        .lifted = gpc_get_ints(memory, k),
        .node = gpc_get_ints(memory, k * ROWS),
    };
  return work;
}

static void prepare_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          size_t first, size_t rows, int independent, block_work *t) {
  const size_t k = data->k;
  double top[ROWS];
  for (size_t i = 0; i < rows; i++)
    top[i] = -INFINITY;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      const double z = gpc_gp_score(data, first + i, j), x = gpc_gp_place(lookup, z);
      const double y = x / GPC_CELLS_PER_NODE, u = x - (double)(int)x;
      const double *cell = lookup->cell + 4 * (size_t)x;
      const double *var = lookup->cell_var + 4 * (size_t)x;
      const double phi = cell[0] + u * (cell[1] + u * (cell[2] + u * cell[3])) +
                         gpc_prior_mu(&lookup->prior, z); /* eq. (7) */
      const size_t at = j * ROWS + i;
      t->node[at] = (int)y;
      t->u[at] = y - (double)(int)y;
      t->sd[at] = sqrt(independent ? var[0] + u * var[1] : var[2] + u * var[3]);
      t->z[at] = z;
      t->s[at] = phi;
      top[i] = phi > top[i] ? phi : top[i];
    }
  for (size_t j = 0; j < k; j++)
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      t->s[j * ROWS + i] = gpc_exp_nonpos(t->s[j * ROWS + i] - top[i]);
}

/* G of the block's scores; none where no draw grows. */
static void prepare_lift(const gpc_lift *lift, size_t k, size_t rows, block_work *t) {
  for (size_t j = 0; j < k; j++) {
    t->lifted[j] = 0;
    for (size_t i = 0; i < rows && lift->growth; i++) {
      const double at = gpc_lift_at(lift, t->z[j * ROWS + i]);
      t->lift[j * ROWS + i] = at;
      t->lifted[j] |= at != 0.0;
    }
  }
}

/* One pair of functions, for the rows of a block. */
typedef struct {
  const double *table; /* [nodes] */
  const double *e;     /* of row i and class j: e[i e_row + j e_class], or NULL */
  size_t e_row, e_class;
  double tilt, growth;
} pair;

/* d [rows] of class j. */
static void pair_deviation(const pair *f, size_t rows, size_t j, const block_work *t,
                           double *d) {
  const double *sd = t->sd + j * ROWS, *u = t->u + j * ROWS, *z = t->z + j * ROWS;
  const int *node = t->node + j * ROWS;
  for (size_t i = 0; i < rows; i++) {
    const double *at = f->table + node[i];
    d[i] = at[0] + u[i] * (at[1] - at[0]);
  }
  if (f->e && f->e_row == 0) { /* shared by the rows */
    const double e = f->e[j * f->e_class];
    for (size_t i = 0; i < rows; i++)
      d[i] += sd[i] * e;
  } else if (f->e) {
    for (size_t i = 0; i < rows; i++)
      d[i] += sd[i] * f->e[i * f->e_row + j * f->e_class];
  }
  if (f->tilt != 0.0)
    for (size_t i = 0; i < rows; i++)
      d[i] += f->tilt * (z[i] - t->z[i]); /* constants do not matter */
  for (size_t i = 0; i < rows; i++)
    d[i] = d[i] < -LARGEST_DEV ? -LARGEST_DEV : d[i] > LARGEST_DEV ? LARGEST_DEV : d[i];
}

/* up, down := s exp(+-d), and 1 / their sums. */
static void pair_sums(const pair *f, size_t k, size_t rows, block_work *t, double *up_inv,
                      double *down_inv) {
  double up_sum[ROWS] = {0}, down_sum[ROWS] = {0}, d[ROWS];
  for (size_t j = 0; j < k; j++) {
    double *up = t->up + j * ROWS, *down = t->down + j * ROWS;
    const double *s = t->s + j * ROWS;
    pair_deviation(f, rows, j, t, d);
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double big = gpc_exp(d[i]);
      up[i] = s[i] * big;
      down[i] = s[i] / big;
    }
    if (t->lifted[j])
      for (size_t i = 0; i < rows; i++) {
        const double by = gpc_exp(gpc_lift_by(f->growth, t->lift[j * ROWS + i]));
        up[i] *= by;
        down[i] *= by;
      }
    for (size_t i = 0; i < rows; i++) {
      up_sum[i] += up[i];
      down_sum[i] += down[i];
    }
  }
  for (size_t i = 0; i < rows; i++) {
    up_inv[i] = 1.0 / up_sum[i];
    down_inv[i] = 1.0 / down_sum[i];
  }
}

/* Rows at .. at + rows of the `count` rows from `first`. */
static void draw_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                       size_t at, size_t rows, size_t count, const gpc_gp_random *random,
                       const double *table, double each, block_work *t, double *p,
                       double *all) {
  const size_t k = data->k;
  const int independent = random->independent;
  double up_inv[ROWS], down_inv[ROWS];
  prepare_block(data, lookup, first + at, rows, independent, t);
  prepare_lift(&random->lift, k, rows, t);
  for (size_t d = 0; d < random->pairs; d++) {
    const pair f = {
        .table = table + d * lookup->nodes,
        .e = !random->e ? NULL : random->e + (independent ? d * count * k + at : d * k),
        .e_row = independent ? 1 : 0,
        .e_class = independent ? count : 1,
        .tilt = random->tilt ? random->tilt[d] : 0.0,
        .growth = random->lift.growth ? random->lift.growth[d] : 0.0,
    };
    pair_sums(&f, k, rows, t, up_inv, down_inv);
    for (size_t j = 0; j < k; j++) {
      const double *up = t->up + j * ROWS, *down = t->down + j * ROWS;
      if (all) {
        double *a = all + at + count * (j + k * 2 * d), *b = a + count * k;
        for (size_t i = 0; i < rows; i++) {
          a[i] = up[i] * up_inv[i];
          b[i] = down[i] * down_inv[i];
        }
      } else {
        double *to = p + at + j * count;
#pragma omp simd
        for (size_t i = 0; i < rows; i++)
          to[i] += each * (up[i] * up_inv[i] + down[i] * down_inv[i]);
      }
    }
  }
}

/* table [nodes x pairs] := b(node)'R'x, or 0 for independent deviations. */
static void tabulate(const gpc_gp_lookup *lookup, const gpc_gp_random *random,
                     gpc_gp_draws_work *work) {
  const size_t rank = lookup->rank, nodes = lookup->nodes, pairs = random->pairs;
  if (random->independent) {
    for (size_t g = 0; g < nodes * pairs; g++)
      work->table[g] = 0.0;
    return;
  }
  gpc_gemm(1, 0, rank, pairs, lookup->m, 1.0, lookup->turn, random->x, 0.0, work->turned);
  gpc_gemm(1, 0, nodes, pairs, rank, 1.0, lookup->node, work->turned, 0.0, work->table);
}

void gpc_gp_draws(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                  size_t count, const gpc_gp_random *random, double each,
                  gpc_gp_draws_work *work, double *p, double *all) {
  const size_t blocks = (count + ROWS - 1) / ROWS;
  const int threads = data->threads;
  tabulate(lookup, random, work);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    const size_t from = blocks * (size_t)part / (size_t)threads;
    const size_t to = blocks * (size_t)(part + 1) / (size_t)threads;
    for (size_t b = from; b < to; b++) {
      const size_t at = b * ROWS, rows = count - at < ROWS ? count - at : ROWS;
      draw_block(data, lookup, first, at, rows, count, random, work->table, each,
                 work->block + part, p, all);
    }
  }
}
