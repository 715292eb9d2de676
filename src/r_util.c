/* r_util.c: see r_util.h. */
#include "r_util.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

static void wrong(const char *name, const char *what) {
  Rf_error("internal error: argument '%s' of a C routine must be %s", name, what);
}

const double *r_doubles(SEXP x, const char *name, R_xlen_t length) {
  if (TYPEOF(x) != REALSXP)
    wrong(name, "double");
  if (length >= 0 && XLENGTH(x) != length)
    wrong(name, "of another length");
  return REAL(x);
}

const int *r_integers(SEXP x, const char *name, R_xlen_t length) {
  if (TYPEOF(x) != INTSXP)
    wrong(name, "integer");
  if (length >= 0 && XLENGTH(x) != length)
    wrong(name, "of another length");
  return INTEGER(x);
}

const double *r_doubles_or_null(SEXP x, const char *name, R_xlen_t length) {
  return Rf_isNull(x) ? NULL : r_doubles(x, name, length);
}

double r_number(SEXP x, const char *name) { return *r_doubles(x, name, 1); }

int r_count(SEXP x, const char *name) {
  int value = *r_integers(x, name, 1);
  if (value == NA_INTEGER || value < 0)
    wrong(name, "a count");
  return value;
}

int r_flag(SEXP x, const char *name) {
  if (TYPEOF(x) != LGLSXP || XLENGTH(x) != 1 || LOGICAL(x)[0] == NA_LOGICAL)
    wrong(name, "TRUE or FALSE");
  return LOGICAL(x)[0] != 0;
}

const double *r_matrix(SEXP x, const char *name, size_t *n, size_t *k) {
  SEXP dim = Rf_getAttrib(x, R_DimSymbol);
  if (TYPEOF(x) != REALSXP || TYPEOF(dim) != INTSXP || XLENGTH(dim) != 2)
    wrong(name, "a double matrix");
  if (INTEGER(dim)[1] < 1)
    wrong(name, "a matrix with columns");
  *n = (size_t)INTEGER(dim)[0];
  *k = (size_t)INTEGER(dim)[1];
  return REAL(x);
}

const int *r_codes(SEXP x, const char *name, size_t n, size_t k) {
  const int *codes = r_integers(x, name, (R_xlen_t)n);
  for (size_t i = 0; i < n; i++)
    if (codes[i] < 1 || (size_t)codes[i] > k)
      wrong(name, "codes of the classes");
  return codes;
}

static int home_process = 0; /* set once, when the package is loaded */

static int this_process(void) {
#ifdef _WIN32
  return 0; /* no fork */
#else
  return (int)getpid();
#endif
}

void r_remember_process(void) { home_process = this_process(); }

int r_threads(SEXP x) {
  int threads = r_count(x, "threads");
  return threads < 1 || this_process() != home_process ? 1 : threads;
}

SEXP r_named_list(const char **names) { return Rf_mkNamed(VECSXP, names); }

SEXP r_element_or_null(SEXP list, const char *name) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  if (TYPEOF(list) == VECSXP && TYPEOF(names) == STRSXP)
    for (R_xlen_t i = 0; i < XLENGTH(list); i++)
      if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0)
        return VECTOR_ELT(list, i);
  return R_NilValue;
}

SEXP r_element(SEXP list, const char *name) {
  SEXP x = r_element_or_null(list, name);
  if (Rf_isNull(x))
    Rf_error("internal error: a list passed to a C routine has no element '%s'", name);
  return x;
}

SEXP r_status(gpc_status status) {
  static const char *const names[] = {
      "ok",         "not_converged", "lower",   "upper",   "flat",      "not_pd",
      "not_finite", "too_coarse",    "too_few", "too_far", "too_close", "too_short"};
  return Rf_mkString(names[status]);
}

void r_poll(void *data) {
  (void)data;
  R_CheckUserInterrupt();
}

/* Memory that is fresh from the system comes in pages, each at the price of a fault when
 * it is first touched: for a matrix of 80 MB 20,000 of them, more than half a softmax of
 * it. Where the system has large pages and gives them on request (Linux), ask for them; it
 * may ignore that. */
static void ask_for_large_pages(void *start, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t large = (uintptr_t)1 << 21, from = (uintptr_t)start;
  const uintptr_t first = (from + large - 1) / large * large;
  const uintptr_t end = (from + bytes) / large * large;
  if (end > first)
    madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
  (void)start, (void)bytes;
#endif
}

SEXP r_new_matrix(size_t n, size_t k) {
  SEXP x = Rf_allocMatrix(REALSXP, (int)n, (int)k);
  ask_for_large_pages(REAL(x), n * k * sizeof(double));
  return x;
}

static void *get_bytes(size_t bytes) {
  void *start = R_alloc(bytes ? bytes : 1, 1);
  ask_for_large_pages(start, bytes);
  return start;
}

double *r_work(size_t n) { return get_bytes(n * sizeof(double)); }

int *r_work_int(size_t n) { return get_bytes(n * sizeof(int)); }

static void *memory_get(void *self, size_t bytes) {
  (void)self;
  return get_bytes(bytes);
}
static void *memory_mark(void *self) {
  (void)self;
  return vmaxget();
}
static void memory_release(void *self, void *mark) {
  (void)self;
  vmaxset(mark);
}

const gpc_memory r_memory = {
    .get = memory_get, .mark = memory_mark, .release = memory_release};

#define HEAD 64 /* bytes before an array: it lies as malloc() has it, if not better */

struct r_heap_piece {
  r_heap_piece *before;
};

static void *heap_get(void *self, size_t bytes) {
  r_heap *heap = self;
  r_heap_piece *piece = bytes <= SIZE_MAX - HEAD ? malloc(bytes + HEAD) : NULL;
  if (!piece)
    Rf_error("cannot allocate %.1f MB of memory", (double)bytes / 1048576.0);
  piece->before = heap->last;
  heap->last = piece;
  ask_for_large_pages(piece, bytes + HEAD);
  return (char *)piece + HEAD;
}

/* Pieces stay to the end. */
static void *heap_mark(void *self) { return ((r_heap *)self)->last; }
static void heap_release(void *self, void *mark) { (void)self, (void)mark; }

gpc_memory r_heap_memory(r_heap *heap) {
  return (gpc_memory){
      .self = heap, .get = heap_get, .mark = heap_mark, .release = heap_release};
}

void r_heap_free(void *heap) {
  r_heap *own = heap;
  while (own->last) {
    r_heap_piece *piece = own->last;
    own->last = piece->before;
    free(piece);
  }
}
