/* gpc.c: block sizes, and the limits of fastexp.h. */
#include "gpc.h"
#include "fastexp.h"

const double gpc_exp_lowest = -746.0;
const double gpc_exp_highest = 710.0;
const float gpc_exp2f_lowest = -126.0f, gpc_exp2f_highest = 120.0f;
const float gpc_expf_lowest = -87.0f, gpc_expf_highest = 40.0f;
const double gpc_exp_flush = -0x1.628b76e3a7b61p+9; /* -1023 log 2 */
const double gpc_exp_normal = 709.0;
const double gpc_limit_zero = 0.0, gpc_limit_small = 1e-300, gpc_limit_large = 1e300;

size_t gpc_block_rows(size_t k) {
  size_t rows = 65536 / (k ? k : 1);
  rows -= rows % 8;
  if (rows < 256) /* shorter stretches of a column cost more than a larger cache */
    rows = 256;
  return rows > GPC_BLOCK_MAX ? GPC_BLOCK_MAX : rows;
}

size_t gpc_poll_blocks(size_t rows, size_t k) {
  const size_t scores = rows * k, most = 4000000;
  return scores >= most / 8 ? 8 : most / (scores ? scores : 1);
}

size_t gpc_block_count(size_t n, size_t k) {
  size_t rows = gpc_block_rows(k);
  return n / rows + (n % rows != 0);
}
