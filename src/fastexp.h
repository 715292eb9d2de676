/* fastexp.h: exp() without branches, tables or calls, so that a loop over it vectorises.
 *
 * exp(x) = 2^k exp(r), k the whole number nearest to x / log 2, |r| <= log(2)/2, and
 * exp(r) = 1 + r + r^2 q(r) with q of degree 9 (data-raw/exp-coefficients.R). The scaling
 * by 2^k is done in two halves, so that results near overflow and in the subnormal range
 * are right as well. Error at most 2 ulp (tests/c/test_fastexp.c); exp(-Inf) = 0,
 * exp(+Inf) = Inf, NaN stays NaN, exp(0) = 1 exactly. */
#ifndef GPC_FASTEXP_H
#define GPC_FASTEXP_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* 1.5 * 2^52: adding it to |t| < 2^51 rounds t to a whole number, held in the low bits,
 * if sums are rounded to doubles. */
#define GPC_EXP_SHIFT 0x1.8p52
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1)
#define GPC_ROUND(t) (((t) + GPC_EXP_SHIFT) - GPC_EXP_SHIFT)
#else /* kept with more digits, as on the x87: slower, and right */
#define GPC_ROUND(t) rint(t)
#endif

#define GPC_EXP_LOG2E 0x1.71547652b82fep+0
/* log 2 in two parts; the first has 32 trailing zero bits, so that k * HI is exact. */
#define GPC_EXP_LN2_HI 0x1.62e42feep-1
#define GPC_EXP_LN2_LO 0x1.a39ef35793c76p-33

#define GPC_EXP_C2 0x1.0000000000001p-1
#define GPC_EXP_C3 0x1.5555555555557p-3
#define GPC_EXP_C4 0x1.5555555553d36p-5
#define GPC_EXP_C5 0x1.11111111100bdp-7
#define GPC_EXP_C6 0x1.6c16c1789d53cp-10
#define GPC_EXP_C7 0x1.a01a01abf881dp-13
#define GPC_EXP_C8 0x1.a019b8c9728e5p-16
#define GPC_EXP_C9 0x1.71de01fd535cdp-19
#define GPC_EXP_C10 0x1.2891d5bb21b57p-22
#define GPC_EXP_C11 0x1.af4e560b572d9p-26

/* 2^j for a whole number j in [-1022, 1023], given as a double. */
static inline double gpc_pow2(double j) {
  double biased = j + (GPC_EXP_SHIFT + 1023.0);
  uint64_t bits;
  memcpy(&bits, &biased, sizeof bits);
  bits <<= 52;
  memcpy(&biased, &bits, sizeof bits);
  return biased;
}

/* exp(r) for |r| <= log(2)/2 (1 + 1e-3), by Estrin's scheme: shorter chains than
 * Horner's, so that neighbouring vectors overlap. */
static inline double gpc_exp_reduced(double r) {
  double r2 = r * r, r4 = r2 * r2;
  double a = (GPC_EXP_C2 + GPC_EXP_C3 * r) + (GPC_EXP_C4 + GPC_EXP_C5 * r) * r2;
  double b = (GPC_EXP_C6 + GPC_EXP_C7 * r) + (GPC_EXP_C8 + GPC_EXP_C9 * r) * r2;
  double c = GPC_EXP_C10 + GPC_EXP_C11 * r;
  return 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
}

/* The limits -746, 710, -1023 log 2 and 709. They are variables defined in another file
 * on purpose: given constants, gcc splits off the paths on which the argument is known
 * and no longer vectorises the loop. */
extern const double gpc_exp_lowest, gpc_exp_highest, gpc_exp_flush, gpc_exp_normal;

/* The same for other loops: 0, 1e-300 and 1e300. */
extern const double gpc_limit_zero, gpc_limit_small, gpc_limit_large;

/* exp(x) for any x. */
static inline double gpc_exp(double x) {
  /* Beyond the limits the answer is 0 or Inf; NaN passes both comparisons. */
  x = x < gpc_exp_lowest ? gpc_exp_lowest : x;
  x = x > gpc_exp_highest ? gpc_exp_highest : x;
  double k = GPC_ROUND(x * GPC_EXP_LOG2E);
  double r = (x - k * GPC_EXP_LN2_HI) - k * GPC_EXP_LN2_LO;
  double half = GPC_ROUND(k * 0.5);
  return gpc_exp_reduced(r) * gpc_pow2(half) * gpc_pow2(k - half);
}

/* exp(x) for x <= 0, a fifth cheaper: results below 2^-1022 become 0. (Arguments at the
 * limit give k = -1023, whose "power of two" has all bits zero.) */
static inline double gpc_exp_nonpos(double x) {
  x = x < gpc_exp_flush ? gpc_exp_flush : x;
  double k = GPC_ROUND(x * GPC_EXP_LOG2E);
  double r = (x - k * GPC_EXP_LN2_HI) - k * GPC_EXP_LN2_LO;
  return gpc_exp_reduced(r) * gpc_pow2(k);
}

/* The limits -126 and 120. */
extern const float gpc_exp2f_lowest, gpc_exp2f_highest;

/* x less the whole number next to it, which is *whole modulo 2^9 at least. */
static inline float gpc_split(float x, uint32_t *whole) {
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
  float k = x + 0x1.8p23f; /* the low bits hold a whole number */
  memcpy(whole, &k, sizeof k);
  k -= 0x1.8p23f;
#else
  const float k = rintf(x);
  *whole = (uint32_t)(int32_t)k;
#endif
  return x - k;
}

/* y 2^whole: added to the exponent. */
static inline float gpc_times_power(float y, uint32_t whole) {
  uint32_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits += whole << 23;
  memcpy(&y, &bits, sizeof y);
  return y;
}

/* 2^x in single precision, to 4e-6 of it, for x from -126 to 120 (so that sums of them are
 * numbers), beyond which it stays as it is there. The whole part of x is added to the
 * exponent; the series ends with r^5, |r| <= 1/2. */
static inline float gpc_exp2f(float x) {
  x = x < gpc_exp2f_lowest ? gpc_exp2f_lowest : x;
  x = x > gpc_exp2f_highest ? gpc_exp2f_highest : x;
  uint32_t whole;
  const float r = gpc_split(x, &whole), r2 = r * r;
  const float y = (1.0f + r * 0.69314718f) + r2 * ((0.24022651f + r * 0.05550411f) +
                                                   r2 * (0.00961813f + r * 0.00133336f));
  return gpc_times_power(y, whole);
}

/* The series of gpc_exp2f() times a factor. */
typedef struct {
  float c0, c1, c2, c3, c4, c5;
} gpc_exp2f_series;

static inline gpc_exp2f_series gpc_exp2f_times(float y) {
  return (gpc_exp2f_series){y,
                            y * 0.69314718f,
                            y * 0.24022651f,
                            y * 0.05550411f,
                            y * 0.00961813f,
                            y * 0.00133336f};
}

/* y 2^x and y 2^-x by the series times y > 0, which is the sum of an even and an odd part; for
 * |x| < 120 and y 2^-|x| >= 2^-125. */
static inline void gpc_exp2f_two(const gpc_exp2f_series *c, float x, float *up,
                                 float *down) {
  uint32_t whole;
  const float r = gpc_split(x, &whole), r2 = r * r;
  const float even = c->c0 + r2 * (c->c2 + r2 * c->c4);
  const float odd = r * (c->c1 + r2 * (c->c3 + r2 * c->c5));
  *up = gpc_times_power(even + odd, whole);
  *down = gpc_times_power(even - odd, -whole);
}

/* 2^x and 2^-x by gpc_exp2f(), for |x| up to 120. */
static inline void gpc_exp2f_both(float x, float *up, float *down) {
  const gpc_exp2f_series c = gpc_exp2f_times(1.0f);
  x = x > gpc_exp2f_highest ? gpc_exp2f_highest : x;
  x = x < -gpc_exp2f_highest ? -gpc_exp2f_highest : x;
  gpc_exp2f_two(&c, x, up, down);
}

/* The limits -87 and 40. */
extern const float gpc_expf_lowest, gpc_expf_highest;

/* exp(x) in single precision, to 2e-7 of it, for x from -87 to 40 (so that squares of it are
 * numbers), beyond which it stays as it is there. log 2 in two parts, the first of which times
 * a whole number is exact; the series ends with r^7, |r| <= log(2)/2. */
static inline float gpc_expf(float x) {
  x = x > gpc_expf_lowest ? x : gpc_expf_lowest;
  x = x < gpc_expf_highest ? x : gpc_expf_highest;
  uint32_t whole;
  const float t = x * (float)GPC_EXP_LOG2E, k = t - gpc_split(t, &whole);
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f, r2 = r * r;
  const float a = 0.5f + r * 0.166666667f, b = 0.0416666667f + r * 0.00833333333f;
  const float c = 0.00138888889f + r * 0.000198412698f;
  return gpc_times_power(1.0f + (r + r2 * (a + r2 * (b + r2 * c))), whole);
}

/* 1/(1 + exp(x)) for any x; never less than exp(-709), about 1e-308. */
static inline double gpc_expit_minus(double x) {
  x = x < gpc_exp_flush ? gpc_exp_flush : x;
  x = x > gpc_exp_normal ? gpc_exp_normal : x;
  double k = GPC_ROUND(x * GPC_EXP_LOG2E);
  double r = (x - k * GPC_EXP_LN2_HI) - k * GPC_EXP_LN2_LO;
  return 1.0 / (1.0 + gpc_exp_reduced(r) * gpc_pow2(k));
}

#endif
