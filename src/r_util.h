/* r_util.h: what the .Call layer shares: unpacking with type checks, named lists, the
 * interrupt poll. Only files named r_*.c and init.c see R's headers. */
#ifndef GPC_R_UTIL_H
#define GPC_R_UTIL_H

#ifndef R_NO_REMAP
#define R_NO_REMAP
#endif
#include <R.h>
#include <Rinternals.h>

#include "gpc.h"
#include "memory.h"

/* Each checks type (and, where given, length) and raises an "internal error" that names
 * the argument otherwise: user mistakes are caught in R before. */
const double *r_doubles(SEXP x, const char *name, R_xlen_t length);
const int *r_integers(SEXP x, const char *name, R_xlen_t length);
const double *r_doubles_or_null(SEXP x, const char *name,
                                R_xlen_t length); /* NULL -> NULL */
double r_number(SEXP x, const char *name);
int r_count(SEXP x, const char *name); /* an int >= 0 */
int r_flag(SEXP x, const char *name);

/* Codes 1..k [n]: they index memory, so that each is looked at. */
const int *r_codes(SEXP x, const char *name, size_t n, size_t k);

/* A number of threads, at least 1. In a forked child of a process that has used threads
 * OpenMP would hang, so that it is 1 there: answers do not depend on it. */
int r_threads(SEXP x);
void r_remember_process(void); /* called when the package is loaded */

/* Rows and columns of a double matrix with at least one column; returns its data. */
const double *r_matrix(SEXP x, const char *name, size_t *n, size_t *k);

/* A list with these names, elements NULL until SET_VECTOR_ELT. `names` ends with "".
 * The result is NOT protected. */
SEXP r_named_list(const char **names);

/* The element of that name of a list; an "internal error", or R_NilValue, without one. */
SEXP r_element(SEXP list, const char *name);
SEXP r_element_or_null(SEXP list, const char *name);

/* A matrix [n x k] of doubles for a result of the scores' size, not initialised and NOT
 * protected. */
SEXP r_new_matrix(size_t n, size_t k);

/* A status as the string R code compares with: "ok", "not_converged", "lower", ... */
SEXP r_status(gpc_status status);

/* A poll for the core: R_CheckUserInterrupt(), which may jump out. */
void r_poll(void *data);

/* Room for n doubles (ints) in memory that R frees at the end of .Call. */
double *r_work(size_t n);
int *r_work_int(size_t n);

/* The same memory for modules of the core that ask for it themselves. */
extern const gpc_memory r_memory;

/* Memory of the system, not of R: all of it is given back at once, by r_heap_free(), which
 * R_ExecWithCleanup() calls whether its job returns or jumps. Begins as {NULL}. Arrays are not
 * given back before (arena.h). */
typedef struct r_heap_piece r_heap_piece;
typedef struct {
  r_heap_piece *last;
} r_heap;
gpc_memory r_heap_memory(r_heap *heap);
void r_heap_free(void *heap);

#endif
