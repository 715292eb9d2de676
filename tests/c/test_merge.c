/* test_merge.c: rows summed up by fewer (gp_merge.h), by hand and against a search of all pairs. */
#include "ctest.h"
#include "cmemory.h"
#include "gp_merge.h"
#include "resample.h"

#define N 60
#define K 3

typedef struct {
  double f[K * N], weight[N];
  int cell[N], label[N];
} sample;

static sample random_rows(uint64_t stream, int cells) {
  sample s;
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < K; j++)
      s.f[j + K * i] = 6.0 * gpc_stream_uniform(stream, 5 * i + j);
    s.weight[i] = 0.5 + gpc_stream_uniform(stream, 5 * i + 3);
    s.cell[i] = (int)((double)cells * gpc_stream_uniform(stream, 5 * i + 4));
    s.label[i] = 1 + s.cell[i] % K;
  }
  return s;
}

/* The pair of least loss, eq. (O6), of all that are left, again and again. */
static void all_pairs(sample s, size_t n, size_t most, int *group) {
  double p[K * N];
  size_t left = n;
  for (size_t i = 0; i < n; i++) {
    double total = 0.0;
    group[i] = (int)i;
    for (size_t j = 0; j < K; j++)
      total += exp(0.5 * s.f[j + K * i]);
    for (size_t j = 0; j < K; j++)
      p[j + K * i] = 0.95 * exp(0.5 * s.f[j + K * i]) / total +
                     (j + 1 == (size_t)s.label[i] ? 0.05 : 0.0);
  }
  while (left > most) {
    double least = INFINITY;
    size_t a = 0, b = 0;
    for (size_t i = 0; i < n; i++)
      for (size_t h = i + 1; h < n; h++) {
        if (group[i] != (int)i || group[h] != (int)h || s.cell[i] != s.cell[h])
          continue;
        double mean = 0.0, square = 0.0;
        for (size_t j = 0; j < K; j++) {
          const double q = (p[j + K * i] + p[j + K * h]) / 2.0;
          const double d = s.f[j + K * i] - s.f[j + K * h];
          mean += q * d;
          square += q * d * d;
        }
        const double loss =
            (square - mean * mean) / (1.0 / s.weight[i] + 1.0 / s.weight[h]);
        if (loss < least) {
          least = loss;
          a = i;
          b = h;
        }
      }
    if (least == INFINITY)
      return;
    const double all = s.weight[a] + s.weight[b];
    for (size_t j = 0; j < K; j++) {
      s.f[j + K * a] =
          (s.weight[a] * s.f[j + K * a] + s.weight[b] * s.f[j + K * b]) / all;
      p[j + K * a] = (s.weight[a] * p[j + K * a] + s.weight[b] * p[j + K * b]) / all;
    }
    s.weight[a] = all;
    for (size_t i = 0; i < n; i++)
      if (group[i] == (int)b)
        group[i] = (int)a;
    left--;
  }
}

/* Groups are numbered by their first rows, and hold one cell each. */
static void check_groups(const sample *s, size_t n, size_t groups, const int *group) {
  int next = 0, whole = 1;
  for (size_t i = 0; i < n; i++) {
    whole &= group[i] >= 0 && group[i] <= next;
    next += group[i] == next;
    for (size_t h = 0; h < i; h++)
      whole &= group[i] != group[h] || s->cell[i] == s->cell[h];
  }
  CHECK(whole);
  CHECK((size_t)next == groups);
}

static void random_case(uint64_t stream, size_t n, size_t most, int cells) {
  const sample s = random_rows(stream, cells);
  sample own = s;
  int group[N], slow[N];
  void *mark = cmemory.mark(cmemory.self);
  const size_t groups = gpc_merge_rows(n, K, most, own.f, own.cell, own.label, own.weight,
                                       &cmemory, NULL, NULL, group);
  cmemory.release(cmemory.self, mark);
  check_groups(&s, n, groups, group);
  double before = 0.0, after = 0.0;
  int seen = -1;
  for (size_t i = 0; i < n; i++) {
    before += s.weight[i];
    if (group[i] > seen) { /* the first of a group has the weight of all */
      after += own.weight[i];
      seen = group[i];
    }
  }
  CHECK_NEAR(before, after, 1e-9);
  if (n > 2 * most)
    return; /* in portions: not the same as all at once */
  all_pairs(s, n, most, slow);
  int same = 1;
  for (size_t i = 0; i < n; i++)
    for (size_t h = 0; h < i; h++)
      same &= (group[i] == group[h]) == (slow[i] == slow[h]);
  CHECK(same);
}

int main(void) {
  for (uint64_t stream = 1; stream <= 10; stream++) {
    random_case(stream, N, 30, 1);
    random_case(stream, N, 40, 4);
    random_case(stream, N, 7, 2);   /* in portions */
    random_case(stream, 12, 20, 2); /* nothing to do */
    random_case(stream, N, 1, 5);   /* more cells than rows allowed */
  }
  cmemory_end();
  return CTEST_END();
}
