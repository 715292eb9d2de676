/* gpc.h: what every module of the core shares. Nothing here knows of R.
 *
 * Conventions of the core:
 *   - matrices are column-major; sizes come first, inputs are const, outputs last;
 *   - functions that can fail return a gpc_status, results go through pointers;
 *   - the caller owns all memory: modules that need work space offer a size function, or
 *     ask for it through memory.h;
 *   - rows are worked on in blocks whose size depends on the data alone, and sums over
 *     blocks are taken in the order of the blocks, so that no answer depends on how many
 *     threads were used. */
#ifndef GPC_H
#define GPC_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
  GPC_OK = 0,
  GPC_NOT_CONVERGED, /* a usable result, but the iteration limit was reached */
  GPC_AT_LOWER,      /* the parameter ran to its lower limit */
  GPC_AT_UPPER,      /* the parameter ran to its upper limit */
  GPC_FLAT,          /* the data say nothing about the parameter */
  GPC_NOT_PD,        /* a matrix is not positive definite, jitter and all */
  GPC_NOT_FINITE,    /* an objective is not a finite number */
  GPC_TOO_COARSE,    /* a grid must be made finer before going on */
  GPC_TOO_FEW,       /* the lengthscale asks for more inducing inputs */
  GPC_TOO_FAR,       /* scores too large to be squared */
  GPC_TOO_CLOSE,     /* scores that differ by no more than rounding */
  GPC_TOO_SHORT      /* a lengthscale too short for the range of the scores */
} gpc_status;

/* Called once per outer iteration of a long computation. The R layer passes a function
 * that checks for an interrupt and may not return (the core owns nothing that would
 * leak); C tests pass NULL. */
typedef void (*gpc_poll)(void *data);

static inline void gpc_call_poll(gpc_poll poll, void *data) {
  if (poll)
    poll(data);
}

/* Rows per block for an [n x k] matrix: a multiple of 8, few enough for a block of few
 * columns to stay in cache, enough to make reading a stretch of a column worth its start.
 * Depends on k alone. */
size_t gpc_block_rows(size_t k);

/* Number of blocks of gpc_block_rows(k) rows in n rows. */
size_t gpc_block_count(size_t n, size_t k);

/* How many blocks of `rows` rows and k columns to work on between two polls where a score
 * costs little: some tens of milliseconds. */
size_t gpc_poll_blocks(size_t rows, size_t k);

/* The largest gpc_block_rows() ever returns: for buffers on the stack. */
#define GPC_BLOCK_MAX 512

#endif
