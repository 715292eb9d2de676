/* cmemory.h: memory for the core's modules in C tests: one malloc() for each array, so
 * that AddressSanitizer sees every overrun, and guard words behind each for runs without
 * it. */
#ifndef CMEMORY_H
#define CMEMORY_H

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cmemory_block {
  struct cmemory_block *before;
  unsigned char *bytes;
  size_t size;
} cmemory_block;

#define CMEMORY_GUARD 16

#if defined(__SANITIZE_ADDRESS__)
#define CMEMORY_EXACT
#elif defined(__has_feature) /* clang's way to say so */
#if __has_feature(address_sanitizer)
#define CMEMORY_EXACT
#endif
#endif

static cmemory_block *cmemory_last;
static size_t cmemory_held, cmemory_most; /* bytes: now, and at the most so far */

static void *cmemory_get(void *self, size_t size) {
  (void)self;
  cmemory_block *block = malloc(sizeof *block);
  block->bytes = malloc(size + CMEMORY_GUARD);
  block->size = size;
  block->before = cmemory_last;
  memset(block->bytes, 0xff, size + CMEMORY_GUARD); /* NaN: nobody may count on zeros */
#ifdef CMEMORY_EXACT
  free(block->bytes); /* exactly as long as asked for: the sanitizer guards the end */
  block->bytes = malloc(size);
  memset(block->bytes, 0xff, size);
#endif
  cmemory_last = block;
  cmemory_held += size;
  cmemory_most = cmemory_held > cmemory_most ? cmemory_held : cmemory_most;
  return block->bytes;
}

static void *cmemory_mark(void *self) {
  (void)self;
  return cmemory_last;
}

static void cmemory_check(const cmemory_block *block) {
#ifndef CMEMORY_EXACT
  for (size_t i = 0; i < CMEMORY_GUARD && block->bytes; i++)
    if (block->bytes[block->size + i] != 0xff) {
      printf("an array of %zu bytes was overrun\n", block->size);
      exit(1);
    }
#else
  (void)block;
#endif
}

/* The block stays in the chain, where it may be somebody's mark. */
static void cmemory_give(void *self, void *array) {
  (void)self;
  cmemory_block *block = cmemory_last;
  while (block && block->bytes != array)
    block = block->before;
  if (!block) {
    printf("an array was given back that is not there\n");
    exit(1);
  }
  cmemory_check(block);
  cmemory_held -= block->size;
  free(block->bytes);
  block->bytes = NULL;
  block->size = 0;
}

static void cmemory_release(void *self, void *mark) {
  (void)self;
  while (cmemory_last != mark) {
    cmemory_block *block = cmemory_last;
    cmemory_check(block);
    cmemory_held -= block->size;
    cmemory_last = block->before;
    free(block->bytes);
    free(block);
  }
}

static const gpc_memory cmemory = {.get = cmemory_get,
                                   .mark = cmemory_mark,
                                   .release = cmemory_release,
                                   .give = cmemory_give};

/* Give everything back. */
static inline void cmemory_end(void) { cmemory_release(NULL, NULL); }

#endif
