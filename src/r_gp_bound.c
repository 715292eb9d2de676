/* r_gp_bound.c: .Call layer of the bound at one point, for gp_bound() and the tests:
 * every route with its tables built from scratch. */
#include "gp_stats.h"
#include "linalg.h"
#include "r_util.h"

#include <math.h>
#include <string.h>

/* The model's functions on the nodes. */
typedef struct {
  double *a, *rho, *psi, *c; /* [g x m], [g], [g], [g] */
} node_values;

static node_values on_nodes(const gpc_nodes *nodes, const gpc_basis *basis,
                            const gpc_gp_point *point) {
  const size_t g = nodes->g, m = basis->m;
  node_values v = {r_work(g * m), r_work(g), r_work(g), r_work(g)};
  double *sa = r_work(g * m);
  gpc_basis_eval(basis, g, nodes->z, v.a, v.rho);
  gpc_gemm(0, 0, g, 1, m, 1.0, v.a, point->q_mean, 0.0, v.psi);
  gpc_prior_add_smooth(&point->prior, g, nodes->z, v.psi);
  gpc_gemm(0, 0, g, m, m, 1.0, v.a, point->q_cov, 0.0, sa);
  for (size_t j = 0; j < g; j++) {
    v.c[j] = v.rho[j];
    for (size_t i = 0; i < m; i++)
      v.c[j] += v.a[j + g * i] * sa[j + g * i];
  }
  return v;
}

/* U'a for the nodes, [m x g]. */
static double *whitened(size_t g, size_t m, const double *a, const double *q_cov) {
  double *chol = r_work(m * m), *au = r_work(m * g);
  memcpy(chol, q_cov, m * m * sizeof(double));
  if (gpc_chol(m, 0.0, chol) != GPC_OK)
    Rf_error("internal error: q_cov is not positive definite");
  gpc_gemm(1, 1, m, g, m, 1.0, chol, a, 0.0, au);
  return au;
}

static void range_of_scores(const gpc_gp_data *data, double *lowest, double *highest) {
  *lowest = *highest = gpc_gp_score(data, 0, 0);
  for (size_t j = 0; j < data->k; j++)
    for (size_t i = 0; i < data->n; i++) {
      double z = gpc_gp_score(data, i, j);
      *lowest = z < *lowest ? z : *lowest;
      *highest = z > *highest ? z : *highest;
    }
}

#define MOST_NODES 4000
#define MOST_FINE 20000

/* Sparse rows, and how many of their cells are in a cell; NULL when psi varies too much
 * for them. */
static gpc_sparse_rows *make_rows(const gpc_gp_data *data, const double *psi,
                                  const gpc_memory *memory, gpc_nodes *nodes) {
  size_t cells = gpc_nodes_cells(nodes, psi);
  if (cells == 0)
    return NULL;
  cells += 1 + cells / 2; /* exactness before speed here */
  const gpc_line fine = gpc_line_refine(&nodes->line, cells);
  if (fine.g > MOST_FINE)
    return NULL;
  nodes->fine_cells = cells;
  return gpc_sparse_make(data, &fine, INFINITY, memory);
}

static gpc_status bound_on_line(const gpc_gp_data *data, const gpc_basis *basis,
                                const gpc_gp_point *point, int sparse, double step,
                                int *route, gpc_gp_grad *grad) {
  const size_t m = basis->m;
  double lowest, highest, w_low = basis->inducing[0], w_high = basis->inducing[0];
  gpc_line line;
  gpc_nodes nodes;
  for (size_t i = 1; i < m; i++) {
    w_low = basis->inducing[i] < w_low ? basis->inducing[i] : w_low;
    w_high = basis->inducing[i] > w_high ? basis->inducing[i] : w_high;
  }
  range_of_scores(data, &lowest, &highest);
  if (!gpc_line_make(lowest, highest, w_low, w_high, step, 1.0 / 30.0, MOST_NODES, &line))
    return GPC_NOT_CONVERGED;
  gpc_nodes_make(data, &point->prior, &line, 0, 0, &r_memory, &nodes);
  const size_t g = nodes.g;
  const int full = point->cov == GPC_COV_FULL;
  node_values v = on_nodes(&nodes, basis, point);
  const gpc_gp_tables tables = {.g = g,
                                .m = m,
                                .psi = v.psi,
                                .c = v.c,
                                .r = full ? v.rho : v.c,
                                .au = full ? whitened(g, m, v.a, point->q_cov) : NULL};
  gpc_gp_stats stats;
  gpc_gp_stats_carve(g, r_work(gpc_gp_stats_size(g)), &stats);
  gpc_sparse_rows *rows = sparse ? make_rows(data, v.psi, &r_memory, &nodes) : NULL;
  *route = rows ? 2 : 1;
  gpc_gp_pass(data, &point->prior, &nodes, rows, &tables,
              r_work(gpc_gp_pass_work(data, rows, g)), &stats);
  return gpc_gp_from_stats(basis, point, &nodes, v.a, &tables, &stats,
                           r_work(gpc_gp_from_stats_work(g, m)), grad);
}

/* route: 0 direct, 1 grid, 2 rows. hyper: variance, lengthscale, noise, slope. */
SEXP r_gp_bound(SEXP z, SEXP labels, SEXP weights, SEXP inducing, SEXP q_mean, SEXP q_cov,
                SEXP hyper, SEXP log_mean, SEXP diag, SEXP route, SEXP step,
                SEXP threads) {
  gpc_gp_data data = {0};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.floor = R_NegInf;
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  data.threads = r_threads(threads);
  const size_t m = (size_t)XLENGTH(inducing);
  const double *h = r_doubles(hyper, "hyper", 4);
  gpc_basis basis = {.m = m,
                     .inducing = r_doubles(inducing, "inducing", -1),
                     .hyper = {.s2 = h[0], .l = h[1], .sn2 = h[2]},
                     .chol = r_work(m * m)};
  const gpc_gp_point point = {
      .prior = {.mean = r_flag(log_mean, "log_mean") ? GPC_MEAN_LOG : GPC_MEAN_LINEAR,
                .slope = h[3]},
      .cov = r_flag(diag, "diag") ? GPC_COV_DIAG : GPC_COV_FULL,
      .q_mean = r_doubles(q_mean, "q_mean", (R_xlen_t)m),
      .q_cov = r_doubles(q_cov, "q_cov", (R_xlen_t)(m * m))};
  static const char *names[] = {"elbo",     "q_mean",      "q_cov", "inducing",
                                "variance", "lengthscale", "noise", "slope",
                                "status",   "route",       ""};
  SEXP out = PROTECT(r_named_list(names));
  SEXP g_mean = Rf_allocVector(REALSXP, (R_xlen_t)m);
  SET_VECTOR_ELT(out, 1, g_mean);
  SEXP g_cov = Rf_allocMatrix(REALSXP, (int)m, (int)m);
  SET_VECTOR_ELT(out, 2, g_cov);
  SEXP g_w = Rf_allocVector(REALSXP, (R_xlen_t)m);
  SET_VECTOR_ELT(out, 3, g_w);
  gpc_gp_grad grad = {0};
  grad.q_mean = REAL(g_mean);
  grad.q_cov = REAL(g_cov);
  grad.basis.inducing = REAL(g_w);
  grad.basis.outer = r_work(m * m);
  int used = r_count(route, "route");
  gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK)
    status = used == 0 ? gpc_gp_direct(&data, &basis, &point, r_poll, NULL,
                                       r_work(gpc_gp_direct_work(data.k, m)), &grad)
                       : bound_on_line(&data, &basis, &point, used == 2,
                                       r_number(step, "step"), &used, &grad);
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(grad.elbo));
  SET_VECTOR_ELT(out, 4, Rf_ScalarReal(grad.basis.s2));
  SET_VECTOR_ELT(out, 5, Rf_ScalarReal(grad.basis.l));
  SET_VECTOR_ELT(out, 6, Rf_ScalarReal(grad.basis.sn2));
  SET_VECTOR_ELT(out, 7, Rf_ScalarReal(grad.slope));
  SET_VECTOR_ELT(out, 8, r_status(status));
  SET_VECTOR_ELT(out, 9, Rf_ScalarInteger(used));
  UNPROTECT(1);
  return out;
}
