/* arena.h: memory whose arrays can be given back one by one and are then handed out again,
 * for long computations in stages. It takes large pieces from another memory, which keep what
 * they are until that is released: what a stage gives back is there for the next one at
 * once, without a garbage collection in between, and the pieces come to little more than
 * the most that was ever held together. */
#ifndef GPC_ARENA_H
#define GPC_ARENA_H

#include "memory.h"

typedef struct gpc_arena_piece gpc_arena_piece;

typedef struct {
  const gpc_memory *base;
  gpc_arena_piece *last; /* pieces taken so far */
  size_t count;          /* arrays handed out so far */
  size_t taken;          /* bytes of all pieces */
} gpc_arena;

/* Memory that comes from the arena, which begins as {.base = ...} and must stay where it is. */
gpc_memory gpc_arena_memory(gpc_arena *arena);

#endif
