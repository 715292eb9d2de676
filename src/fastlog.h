/* fastlog.h: log() without branches, tables or calls, so that a loop over it vectorises.
 *
 * x = 2^k m with sqrt(1/2) <= m < sqrt(2), and with s = (m - 1)/(m + 1), |s| < 0.1716,
 *
 *   log x = k log 2 + 2 (s + s^3/3 + s^5/5 + ...),
 *
 * the series from s^3 on as a polynomial of seven terms (data-raw/log-coefficients.R)
 * that leaves less than 7e-18. Error at most 2 ulp (tests/c/test_fastlog.c) for normal
 * positive x; zeros, subnormals, infinities and NaN are not for it. */
#ifndef GPC_FASTLOG_H
#define GPC_FASTLOG_H

#include "fastexp.h"

#define GPC_LOG_C3 0x1.5555555555558p-2
#define GPC_LOG_C5 0x1.9999999995217p-3
#define GPC_LOG_C7 0x1.2492492e0644ep-3
#define GPC_LOG_C9 0x1.c71c62cbfea3bp-4
#define GPC_LOG_C11 0x1.7462bba41c634p-4
#define GPC_LOG_C13 0x1.39fd807189bb4p-4
#define GPC_LOG_C15 0x1.2b62ca3da2e2fp-4

static inline double gpc_log(double x) {
  const uint64_t half_sqrt = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
  uint64_t bits, shifted;
  memcpy(&bits, &x, sizeof bits);
  /* the exponent counted from sqrt(1/2), biased by 1023 to stay positive */
  shifted = (bits - half_sqrt + (UINT64_C(1023) << 52)) >> 52;
  uint64_t m_bits = bits - (shifted << 52) + (UINT64_C(1023) << 52);
  uint64_t k_bits = shifted | UINT64_C(0x4330000000000000); /* 2^52 + exponent */
  double m, k;
  memcpy(&m, &m_bits, sizeof m);
  memcpy(&k, &k_bits, sizeof k);
  k -= 0x1p52 + 1023.0;
  double f = m - 1.0, s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
  double a = (GPC_LOG_C3 + z * GPC_LOG_C5) + z2 * (GPC_LOG_C7 + z * GPC_LOG_C9);
  double b = (GPC_LOG_C11 + z * GPC_LOG_C13) + z2 * GPC_LOG_C15;
  double tail = s * z * (a + z4 * b);
  return k * GPC_EXP_LN2_HI + (2.0 * s + (2.0 * tail + k * GPC_EXP_LN2_LO));
}

#endif
