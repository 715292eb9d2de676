/* r_stream.h: rows seen before (gp_stream.h) as R keeps them. */
#ifndef GPC_R_STREAM_H
#define GPC_R_STREAM_H

#include "r_util.h"
#include "gp_fit.h"

/* A site from the list that r_pack_site() makes, in memory of R; NULL for NULL. */
const gpc_site *r_site(SEXP list);

/* list(knots, psi, b, v, w, rest): w the lower triangle by columns, rest the log-likelihood,
 * the weight of the rows, and the bulk of their scores. NOT protected. */
SEXP r_pack_site(const gpc_site *site);

/* The same with effects of the classes: list(psi, effect, b, v, h, rest), rest rms, slope,
 * low and high of the features and the log-likelihood. */
const gpc_joint_site *r_joint_site(SEXP list, size_t p, size_t k);
SEXP r_pack_joint_site(const gpc_joint_site *site);

/* The same of effects of many classes: list(steep, power, at, g, h). */
const gpc_wide_site *r_wide_site(SEXP list, size_t k);

/* The same of offsets of many classes, beside a process with p knots: list(at, g, h, cross, psi). */
const gpc_offsets_site *r_offsets_site(SEXP list, size_t k, size_t p);
SEXP r_pack_offsets_site(const gpc_offsets_result *offsets, size_t k, size_t p);

#endif
