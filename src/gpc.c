/* gpc.c: status messages, block sizes, and the limits of fastexp.h. */
#include "gpc.h"
#include "fastexp.h"

const double gpc_exp_lowest = -746.0;
const double gpc_exp_highest = 710.0;
const double gpc_exp_flush = -0x1.628b76e3a7b61p+9; /* -1023 log 2 */
const double gpc_exp_normal = 709.0;

const char *gpc_status_message(gpc_status status) {
  switch (status) {
  case GPC_OK:
    return "converged";
  case GPC_NOT_CONVERGED:
    return "the iteration limit was reached";
  case GPC_AT_LOWER:
    return "the parameter ran to its lower limit";
  case GPC_AT_UPPER:
    return "the parameter ran to its upper limit";
  case GPC_FLAT:
    return "the data do not determine the parameter";
  case GPC_NOT_PD:
    return "a matrix is not positive definite";
  case GPC_TOO_FEW:
    return "there are too few inducing inputs";
  case GPC_TOO_COARSE:
    return "the grid is too coarse";
  case GPC_NOT_FINITE:
    return "the objective is not finite";
  }
  return "unknown status";
}

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
