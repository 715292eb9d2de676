/* r_measures.h: a forecast and a calibration error's description as R passes them. */
#ifndef GPC_R_MEASURES_H
#define GPC_R_MEASURES_H

#include "r_util.h"
#include "measures.h"

/* The list that check_forecast() returns. */
gpc_forecast r_forecast(SEXP list);

/* The list that ece_spec() returns; classes checked against k. */
gpc_ece_spec r_ece_spec(SEXP list, size_t k);

/* Work space for rows by predicted class, for "top_label"; empty otherwise. */
gpc_by_class r_by_class(const gpc_forecast *f, const gpc_ece_spec *spec);

/* Work space for sorting, if spec asks for bins of equal mass; NULL otherwise. */
void *r_sort_work(const gpc_forecast *f, const gpc_ece_spec *spec);

/* A class number from 1 to k. */
int r_class(SEXP x, const char *name, size_t k);

#endif
