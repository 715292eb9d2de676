/* mono_predict.h: probabilities that keep the order of a row's scores.
 *
 *   p_k = sum_q w_q E_q(t_k) / sum_j E_q(t_j)                                eq. (26c)
 *
 * with E_q = exp g_q interpolated along straight lines between the nodes of a table, g_q
 * increasing. Interpolation is linear in the values on the nodes: with M_g the sum of the
 * weights that the row's scores have on node g,
 *
 *   sum_j E_q(t_j) = sum_g M_g E_qg,   P_g = sum_q w_q E_qg / sum_j E_q(t_j),
 *
 * and p_k is P interpolated at t_k: no exponential, and no product per score and
 * function.
 *
 * The promise, rounding included: if t_j <= t_k then p_j <= p_k, and equal scores have
 * equal probabilities.
 *   1. P_g never falls from node to node: E_qg does not, products with non-negative
 *      numbers and sums in one order keep the order under rounding; and a running maximum
 *      over the nodes makes it independent of how the sums were compiled.
 *   2. The place (cell, u) of a score never falls: gpc_mono_find().
 *   3. Within a cell p = fl(P_g + u d), d = P_{g+1} - P_g rounded to 33 binary digits, u
 *      with 20: u d is exact, so that one rounding of an increasing function of u is left,
 *      whether or not the compiler fuses it; and u <= 1 - 2^-20 keeps it below P_{g+1}
 *      even if d was rounded up, by at most 2^-33 of it. Hence the order within cells and
 *      between them.
 *   4. Beyond the table P is multiplied by exp(slope (t - end)), the exponent rounded to
 *      a multiple of 2^-40: two of these have exponentials that differ by 9e-13, more
 * than their error of 2 units in the last place, 4e-16.
 *   5. The last steps, a factor and a lower limit (no probability is 0), keep the order.
 * A row's functions of a single draw take the same steps with one function. Quantiles of
 * draws: order statistics of values that are ordered draw by draw are ordered, and so are
 * their averages with two non-negative weights.
 *
 * No answer depends on the rows beside it or on the number of threads. */
#ifndef GPC_MONO_PREDICT_H
#define GPC_MONO_PREDICT_H

#include "gp_model.h"
#include "mono_functions.h"

typedef enum { GPC_MONO_MEAN, GPC_MONO_INTEGRATED } gpc_mono_approx;

/* p [n x k]: the projected posterior mean, or an average over 128 fixed functions, in two
 * halves; rows for which these differ by more than 5e-4 are averaged over 1024. */
gpc_status gpc_mono_predict(const gpc_gp_data *data, const gpc_mono_table *table,
                            gpc_mono_approx approx, const gpc_memory *memory,
                            gpc_poll poll, void *poll_data, double *p);

/* p [n x k] += `each` times the sum over the functions. */
void gpc_mono_average(const gpc_gp_data *data, const gpc_mono_table *table,
                      const gpc_mono_functions *f, double each, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, double *p);

/* No probability [n] is 0; the limit is far enough above the smallest double for step 3.
 */
void gpc_mono_floor(size_t n, double *p);

/* all [n x k x count]: the probabilities under every function. */
void gpc_mono_draws(const gpc_gp_data *data, const gpc_mono_table *table,
                    const gpc_mono_functions *f, const gpc_memory *memory, gpc_poll poll,
                    void *poll_data, double *all);

/* out [n x k x 2]: quantiles at lower and upper of the probabilities under the functions,
 * as R's type 7. */
void gpc_mono_interval(const gpc_gp_data *data, const gpc_mono_table *table,
                       const gpc_mono_functions *f, double lower, double upper,
                       const gpc_memory *memory, gpc_poll poll, void *poll_data,
                       double *out);

/* sums [count]: weighted log-likelihoods of the labels under every function. */
void gpc_mono_log_lik(const gpc_gp_data *data, const gpc_mono_table *table,
                      const gpc_mono_functions *f, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, double *sums);

#endif
