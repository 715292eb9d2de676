/* memory.h: where the core gets its work space. A module asks for one array at a time
 * through a gpc_memory; nothing is asked for inside an iteration that could be kept. The
 * R layer hands out transient memory of R or, for a fit, of the system (r_util.h), which is
 * given back when .Call returns or jumps; C tests hand out one malloc() per array, so that a sanitizer sees every overrun,
 * and every use of what was given back. Memory is never asked for inside a parallel
 * region. */
#ifndef GPC_MEMORY_H
#define GPC_MEMORY_H

#include "gpc.h"

typedef struct {
  void *self;
  void *(*get)(void *self, size_t bytes);  /* never NULL: jumps or stops instead */
  void *(*mark)(void *self);               /* all that is got after a mark ... */
  void (*release)(void *self, void *mark); /* ... is given back here */
  void (*give)(void *self, void *array);   /* one array is given back before that; NULL:
                                              arrays wait for their mark */
} gpc_memory;

/* An array is needed no more: a stage of a fit gives back what the next does not read, so
 * that the two need not fit into memory together. NULL is nothing to give. */
static inline void gpc_give(const gpc_memory *memory, void *array) {
  if (array && memory->give)
    memory->give(memory->self, array);
}

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

/* An array that is kept from one use to the next and got anew only to grow; what was in it
 * is lost then. */
typedef struct {
  double *at;
  size_t room;
} gpc_buffer;

static inline double *gpc_buffer_need(const gpc_memory *memory, gpc_buffer *buffer,
                                      size_t n) {
  if (n > buffer->room || !buffer->at) {
    gpc_give(memory, buffer->at);
    buffer->at = gpc_get_doubles(memory, n);
    buffer->room = n;
  }
  return buffer->at;
}

static inline void gpc_buffer_drop(const gpc_memory *memory, gpc_buffer *buffer) {
  gpc_give(memory, buffer->at);
  *buffer = (gpc_buffer){0};
}

#endif
