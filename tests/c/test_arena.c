/* test_arena.c: memory in stages (arena.h). */
#include "arena.h"
#include "cmemory.h"
#include "ctest.h"

#include <stdint.h>

#define ARRAYS 40

/* Arrays of many sizes got and given back in turn, each full of its own number: none is
 * written to by another, and all lie as doubles need it. */
static void test_apart(void) {
  gpc_arena arena = {.base = &cmemory};
  const gpc_memory memory = gpc_arena_memory(&arena);
  double *array[ARRAYS] = {0};
  size_t size[ARRAYS] = {0}, step = 7;
  int wrong = 0, askew = 0;
  for (int turn = 0; turn < 4000; turn++) {
    step = (step * 1103515245u + 12345u) % 2147483648u;
    const size_t i = step / 65536u % ARRAYS;
    for (size_t j = 0; j < size[i]; j++)
      wrong += array[i][j] != (double)i;
    gpc_give(&memory, array[i]);
    size[i] = step / 7u % (turn % 10 ? 300 : 9000);
    array[i] = gpc_get_doubles(&memory, size[i]);
    askew += (uintptr_t)array[i] % 16 != 0;
    for (size_t j = 0; j < size[i]; j++)
      array[i][j] = (double)i;
  }
  CHECK(wrong == 0);
  CHECK(askew == 0);
  cmemory_end();
}

/* What one stage gives back serves the next, whole or in parts: no more is taken. */
static void test_stages(void) {
  gpc_arena arena = {.base = &cmemory};
  const gpc_memory memory = gpc_arena_memory(&arena);
  double *kept = gpc_get_doubles(&memory, 10), *large = gpc_get_doubles(&memory, 100000);
  kept[9] = 3.0;
  const size_t taken = arena.taken;
  CHECK(taken >= 800080 && taken < 900000);
  for (int stage = 0; stage < 3; stage++) {
    double *part[7];
    gpc_give(&memory, large);
    for (int i = 0; i < 7; i++)
      part[i] = gpc_get_doubles(&memory, 14000);
    for (int i = 0; i < 7; i++)
      gpc_give(&memory, part[(4 * i) % 7]);
    large = gpc_get_doubles(&memory, 100000);
    CHECK(arena.taken == taken);
  }
  CHECK(kept[9] == 3.0);
  gpc_get_doubles(&memory, 1000000); /* but this does not fit */
  CHECK(arena.taken >= taken + 8000000);
  cmemory_end();
}

/* Marks, also where arrays from before and after them are given back in between. */
static void test_marks(void) {
  gpc_arena arena = {.base = &cmemory};
  const gpc_memory memory = gpc_arena_memory(&arena);
  double *first = gpc_get_doubles(&memory, 5000),
         *second = gpc_get_doubles(&memory, 5000);
  second[4999] = 1.0;
  void *mark = memory.mark(memory.self);
  double *third = gpc_get_doubles(&memory, 5000);
  gpc_get_doubles(&memory, 7000);
  gpc_give(&memory, first);
  gpc_give(&memory, third);
  memory.release(memory.self, mark);
  const size_t taken = arena.taken;
  first = gpc_get_doubles(&memory, 5000);
  third = gpc_get_doubles(&memory, 7000);
  CHECK(arena.taken == taken);
  CHECK(first != second && third != second && second[4999] == 1.0);
  gpc_give(&memory, NULL);
  cmemory_end();
}

/* A buffer gives back what it had when it grows, and when it is dropped. */
static void test_buffer(void) {
  gpc_buffer buffer = {0};
  double *small = gpc_buffer_need(&cmemory, &buffer, 10);
  CHECK(gpc_buffer_need(&cmemory, &buffer, 8) == small);
  gpc_buffer_need(&cmemory, &buffer, 1000);
  CHECK(cmemory_held == 8000);
  gpc_buffer_drop(&cmemory, &buffer);
  CHECK(cmemory_held == 0 && buffer.at == NULL && buffer.room == 0);
  cmemory_end();
}

int main(void) {
  test_apart();
  test_stages();
  test_marks();
  test_buffer();
  return CTEST_END();
}
