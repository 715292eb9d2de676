/* gp_wide_pack.c: see gp_wide_pack.h. */
#include "gp_wide_pack.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define HALF 32767
#define LEFT_OUT 32768u

double gpc_wide_pack(size_t n, const double *x, int *code) {
  double top = 1e-300;
  memset(code, 0, (n + 1) / 2 * sizeof(int));
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i]))
      return NAN;
    top = fmax(top, fabs(x[i]));
  }
  const double unit = top / HALF;
  for (size_t i = 0; i < n; i++) {
    uint32_t own = (uint32_t)(HALF + nearbyint(x[i] / unit)), both;
    own += own == LEFT_OUT;
    memcpy(&both, code + i / 2, sizeof both);
    both |= own << (i % 2 ? 16 : 0);
    memcpy(code + i / 2, &both, sizeof both);
  }
  return unit;
}
