/* memory.h: where the core takes its memory from: a callback that hands out one block per
 * array. The R layer passes R_alloc(), which never returns NULL and is freed at the end
 * of .Call; C tests pass malloc(), so that a sanitizer sees the end of every array.
 * Memory is never taken inside a parallel region. */
#ifndef GPC_MEMORY_H
#define GPC_MEMORY_H

#include <stddef.h>

typedef struct {
  void *(*take)(void *data, size_t bytes); /* never NULL */
  void *data;
} gpc_memory;

/* Uninitialised room for n doubles, floats, ints. */
static inline double *gpc_take(const gpc_memory *memory, size_t n) {
  return (double *)memory->take(memory->data, n * sizeof(double));
}
static inline float *gpc_take_float(const gpc_memory *memory, size_t n) {
  return (float *)memory->take(memory->data, n * sizeof(float));
}
static inline int *gpc_take_int(const gpc_memory *memory, size_t n) {
  return (int *)memory->take(memory->data, n * sizeof(int));
}

#endif
