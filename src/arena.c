/* arena.c: see arena.h. A piece is a chain of blocks, each behind a head that says how long
 * it is and whether it is in use. Arrays are few (hundreds) and large, so that all blocks
 * are looked at to find the smallest that will do. */
#include "arena.h"

#include <stdint.h>

#define UNIT 64     /* bytes: blocks are multiples, heads included, as caches like them */
#define LEAST 65536 /* bytes of a piece */
/* times an array: a longer block is left for longer arrays, since a small one that stays
 * would take from them all that lies about it */
#define LARGE 8
#define LEAST_REST 4 /* units: shorter rests stay with their block */

typedef struct block {
  struct block *next; /* in the piece; NULL: the last */
  size_t units;       /* with the head */
  size_t number;      /* of the array, from 1; 0: free */
} block;

struct gpc_arena_piece {
  gpc_arena_piece *before;
  block *first;
};

#define HEAD UNIT /* before every array: so those lie as their piece does */

static size_t units_of(size_t bytes) { return (bytes + HEAD + UNIT - 1) / UNIT; }

/* Free neighbours become one. */
static void join(block *b) {
  while (b->number == 0 && b->next && b->next->number == 0) {
    b->units += b->next->units;
    b->next = b->next->next;
  }
}

static block *smallest(gpc_arena *arena, size_t units) {
  const size_t most =
      LARGE * (units > LEAST / UNIT / LARGE ? units : LEAST / UNIT / LARGE);
  block *best = NULL;
  for (gpc_arena_piece *piece = arena->last; piece; piece = piece->before)
    for (block *b = piece->first; b; b = b->next) {
      join(b);
      if (b->number == 0 && b->units >= units && b->units <= most &&
          (!best || b->units < best->units))
        best = b;
    }
  return best;
}

static block *new_piece(gpc_arena *arena, size_t units) {
  const size_t least = LEAST / UNIT, all = units > least ? units : least;
  const size_t bytes = (all + 1) * UNIT; /* one for the piece itself */
  gpc_arena_piece *piece = arena->base->get(arena->base->self, bytes);
  block *b = (block *)(void *)((char *)piece + UNIT);
  *b = (block){.units = all};
  *piece = (gpc_arena_piece){.before = arena->last, .first = b};
  arena->last = piece;
  arena->taken += bytes;
  return b;
}

static void *get(void *self, size_t bytes) {
  gpc_arena *arena = self;
  const size_t units = units_of(bytes);
  block *b = smallest(arena, units);
  if (!b)
    b = new_piece(arena, units);
  if (b->units - units >= LEAST_REST) {
    block *rest = (block *)(void *)((char *)b + units * UNIT);
    *rest = (block){.next = b->next, .units = b->units - units};
    b->next = rest;
    b->units = units;
  }
  b->number = ++arena->count;
  return (char *)b + HEAD;
}

static void give(void *self, void *array) {
  (void)self;
  ((block *)(void *)((char *)array - HEAD))->number = 0;
}

static void *mark(void *self) { return (void *)(uintptr_t)((gpc_arena *)self)->count; }

static void release(void *self, void *mark) {
  gpc_arena *arena = self;
  for (gpc_arena_piece *piece = arena->last; piece; piece = piece->before)
    for (block *b = piece->first; b; b = b->next)
      if (b->number > (size_t)(uintptr_t)mark)
        b->number = 0;
}

gpc_memory gpc_arena_memory(gpc_arena *arena) {
  return (gpc_memory){
      .self = arena, .get = get, .mark = mark, .release = release, .give = give};
}
