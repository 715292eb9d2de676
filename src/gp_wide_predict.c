/* gp_wide_predict.c: see gp_wide_predict.h. */
#include "gp_wide_predict.h"
#include "fastexp.h"
#include "simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TILTS 2

#define ROWS 16 /* rows read together: they lie beside each other in memory */

/* Room to work on a row. */
typedef struct {
  double *z, *x, *f, *c; /* [k] */
  double *p, *scores;    /* [k x ROWS] row by row */
  float *q;
  uint16_t *class;
} row_room;

static row_room get_room(size_t k, const gpc_memory *memory) {
  double *all = gpc_get_doubles(memory, (4 + 2 * ROWS) * k);
  return (row_room){.z = all,
                    .x = all + k,
                    .f = all + 2 * k,
                    .c = all + 3 * k,
                    .p = all + 4 * k,
                    .scores = all + (4 + ROWS) * k,
                    .q = gpc_get_floats(memory, k),
                    .class = gpc_get_classes(memory, k)};
}

static gpc_wide_row features(const gpc_gp_data *data, double steep, size_t i,
                             row_room *room) {
  for (size_t j = 0; j < data->k; j++)
    room->z[j] = gpc_gp_score(data, i, j);
  return (gpc_wide_row){
      .count = gpc_wide_features(data->k, steep, room->z, room->q, room->class, room->x),
      .class = room->class,
      .x = room->x,
      .q = room->q};
}

/* to [k] := p exp(f), divided by its sum, and no less than the smallest number. */
GPC_FUSED static void multiply(size_t k, const double *p, const double *f, double *to) {
  double top = -INFINITY, sum = 0.0;
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < k; j++)
    top = f[j] > top ? f[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++) {
    to[j] = p[j] * gpc_exp_nonpos(f[j] - top);
    sum += to[j];
  }
  const double factor = 1.0 / sum;
#pragma omp simd
  for (size_t j = 0; j < k; j++) {
    const double v = to[j] * factor;
    to[j] = v > DBL_MIN ? v : DBL_MIN;
  }
}

static void read_row(size_t n, size_t k, const double *p, double *to) {
  for (size_t j = 0; j < k; j++)
    to[j] = p[n * j];
}

static void write_row(size_t n, size_t k, const double *from, double *p) {
  for (size_t j = 0; j < k; j++)
    p[n * j] = from[j];
}

/* One row: z and p [k] in, p out. */
static void apply_row(const gpc_wide_fitted *fit, size_t k, int tilted, double *z,
                      row_room *room, double *p) {
  const gpc_wide_row row = {
      .count = gpc_wide_features(k, fit->steep, z, room->q, room->class, room->x),
      .class = room->class,
      .x = room->x,
      .q = room->q};
  gpc_wide_forward(k, &row, fit->mean, 0, room->f);
  multiply(k, p, room->f, z);
  if (tilted)
    gpc_wide_forward(k, &row, fit->var, 1, room->c);
  for (int step = 0; step < TILTS && tilted; step++) {
    /* what D has the same for all classes changes nothing */
#pragma omp simd
    for (size_t j = 0; j < k; j++)
      room->x[j] = room->f[j] + 0.5 * room->c[j] * (1.0 - 2.0 * z[j]);
    multiply(k, p, room->x, z);
  }
  memcpy(p, z, k * sizeof(double));
}

/* Rows first .. first + rows - 1, at most ROWS. */
static void apply_rows(const gpc_gp_data *data, const gpc_wide_fitted *fit, int tilted,
                       size_t first, size_t rows, row_room *room, double *p) {
  const size_t n = data->n, k = data->k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      room->scores[j + k * i] = gpc_gp_score(data, first + i, j);
      room->p[j + k * i] = p[first + i + n * j];
    }
  for (size_t i = 0; i < rows; i++)
    apply_row(fit, k, tilted, room->scores + k * i, room, room->p + k * i);
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      p[first + i + n * j] = room->p[j + k * i];
}

/* Rows begin .. end - 1, a part of them to each thread. */
static void apply_part(const gpc_gp_data *data, const gpc_wide_fitted *fit, int tilted,
                       size_t begin, size_t end, row_room *room, double *p) {
  const int threads = data->threads;
  const size_t n = end - begin;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    const size_t last = begin + n * (size_t)(part + 1) / (size_t)threads;
    for (size_t i = begin + n * (size_t)part / (size_t)threads; i < last; i += ROWS)
      apply_rows(data, fit, tilted, i, last - i < ROWS ? last - i : ROWS, room + part, p);
  }
}

void gpc_wide_apply(const gpc_gp_data *data, const gpc_wide_fitted *fit, int tilted,
                    const gpc_memory *memory, gpc_poll poll, void *poll_data, double *p) {
  const int threads = data->threads;
  row_room *room = memory->get(memory->self, (size_t)threads * sizeof *room);
  for (int part = 0; part < threads; part++)
    room[part] = get_room(data->k, memory);
  const size_t n = data->n, some = ROWS * gpc_poll_blocks(ROWS, data->k);
  for (size_t begin = 0; begin < n; begin += some) {
    gpc_call_poll(poll, poll_data);
    apply_part(data, fit, tilted, begin, n - begin < some ? n : begin + some, room, p);
  }
}

void gpc_wide_latent(const gpc_gp_data *data, const gpc_wide_fitted *fit,
                     const gpc_memory *memory, gpc_poll poll, void *poll_data,
                     double *mean, double *var) {
  row_room room = get_room(data->k, memory);
  const size_t some = gpc_poll_blocks(1, data->k);
  for (size_t i = 0; i < data->n; i++) {
    if (i % some == 0)
      gpc_call_poll(poll, poll_data);
    const gpc_wide_row row = features(data, fit->steep, i, &room);
    gpc_wide_forward(data->k, &row, fit->mean, 0, room.f);
    write_row(data->n, data->k, room.f, mean + i);
    gpc_wide_forward(data->k, &row, fit->var, 1, room.c);
    write_row(data->n, data->k, room.c, var + i);
  }
}

void gpc_wide_shift(size_t n, size_t k, size_t d, const double *mean, const double *sd,
                    const double *e, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *p) {
  row_room room = get_room(k, memory);
  const size_t some = gpc_poll_blocks(1, k * d);
  for (size_t i = 0; i < n; i++) {
    if (i % some == 0)
      gpc_call_poll(poll, poll_data);
    read_row(n, k, mean + i, room.f);
    read_row(n, k, sd + i, room.c);
    for (size_t q = 0; q < d; q++) {
      double *draw = p + i + n * k * q;
      for (size_t j = 0; j < k; j++)
        room.x[j] = room.f[j] + room.c[j] * e[j + k * q];
      read_row(n, k, draw, room.p);
      multiply(k, room.p, room.x, room.z);
      write_row(n, k, room.z, draw);
    }
  }
}

void gpc_wide_draws(const gpc_gp_data *data, const gpc_wide_fitted *fit, size_t pairs,
                    const double *e, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *p) {
  const size_t n = data->n, k = data->k, size = gpc_wide_size(k);
  const size_t some = gpc_poll_blocks(1, k);
  row_room room = get_room(k, memory);
  double *drawn = gpc_get_doubles(memory, size), *sd = gpc_get_doubles(memory, size);
  for (size_t i = 0; i < size; i++)
    sd[i] = sqrt(fit->var[i]);
  for (size_t d = 0; d < pairs; d++) {
    for (size_t i = 0; i < size; i++)
      drawn[i] = sd[i] * e[i + size * d];
    for (size_t i = 0; i < n; i++) {
      if (i % some == 0)
        gpc_call_poll(poll, poll_data);
      const gpc_wide_row row = features(data, fit->steep, i, &room);
      gpc_wide_forward(k, &row, fit->mean, 0, room.f);
      gpc_wide_forward(k, &row, drawn, 0, room.c);
      for (int sign = 1; sign >= -1; sign -= 2) {
        double *draw = p + i + n * k * (2 * d + (sign < 0 ? 1 : 0));
        for (size_t j = 0; j < k; j++)
          room.x[j] = room.f[j] + sign * room.c[j];
        read_row(n, k, draw, room.p);
        multiply(k, room.p, room.x, room.z);
        write_row(n, k, room.z, draw);
      }
    }
  }
}
