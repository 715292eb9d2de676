/* kernel.c: our softmax (src/softmax.c) into a buffer allocated beforehand, to be timed
 * against the unit in unit.c. bench/helper.R compiles it with the core's files and the
 * flags that the package is compiled with. */
#include "softmax.h"
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Visibility.h>

/* p is overwritten in place, as in unit.c. */
attribute_visible SEXP kernel_softmax(SEXP z, SEXP threads, SEXP p) {
  gpc_softmax((size_t)Rf_nrows(z), (size_t)Rf_ncols(z), REAL(z), 1.0, R_NegInf,
              Rf_asInteger(threads), REAL(p));
  return R_NilValue;
}
