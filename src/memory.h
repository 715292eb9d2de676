/* memory.h: where the core gets its work space. A module asks for one array at a time
 * through a gpc_memory; nothing is asked for inside an iteration that could be kept. The
 * R layer hands out transient memory of R, which is given back when .Call returns or
 * jumps; C tests hand out one malloc() per array, so that a sanitizer sees every overrun.
 * Memory is never asked for inside a parallel region. */
#ifndef GPC_MEMORY_H
#define GPC_MEMORY_H

#include "gpc.h"

typedef struct {
  void *self;
  void *(*get)(void *self, size_t bytes);  /* never NULL: jumps or stops instead */
  void *(*mark)(void *self);               /* all that is got after a mark ... */
  void (*release)(void *self, void *mark); /* ... is given back here */
} gpc_memory;

static inline double *gpc_get_doubles(const gpc_memory *memory, size_t n) {
  return memory->get(memory->self, (n ? n : 1) * sizeof(double));
}

static inline int *gpc_get_ints(const gpc_memory *memory, size_t n) {
  return memory->get(memory->self, (n ? n : 1) * sizeof(int));
}

static inline float *gpc_get_floats(const gpc_memory *memory, size_t n) {
  return memory->get(memory->self, (n ? n : 1) * sizeof(float));
}

static inline size_t *gpc_get_sizes(const gpc_memory *memory, size_t n) {
  return memory->get(memory->self, (n ? n : 1) * sizeof(size_t));
}

/* An array that is kept from one use to the next and got anew only to grow. */
typedef struct {
  double *at;
  size_t room;
} gpc_buffer;

static inline double *gpc_buffer_need(const gpc_memory *memory, gpc_buffer *buffer,
                                      size_t n) {
  if (n > buffer->room || !buffer->at) {
    buffer->at = gpc_get_doubles(memory, n);
    buffer->room = n;
  }
  return buffer->at;
}

#endif
