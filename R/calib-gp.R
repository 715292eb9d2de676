#' Latent Gaussian process calibration
#'
#' Learns one smooth function g of a score, shared by all classes, and returns
#' \deqn{\pi(z)_k = \frac{\exp g(z_k)}{\sum_j \exp g(z_j)}}{pi(z)_k = exp g(z_k) / sum_j exp g(z_j)}
#' averaged over the posterior distribution of g. The prior mean of g is a straight line, as in temperature scaling (with a slope of its own), and the fitted map departs
#' from it only where the calibration rows support this. By default, effects of single classes are added unless they
#' make the fit worse (see below). Works for any number of classes, for logits and for probabilities, and gives posterior
#' intervals.
#'
#' # The model
#' \eqn{g \sim GP(\mu, k)}{g ~ GP(mu, k)} with
#' \eqn{k(x, x') = \sigma^2 \exp(-(x-x')^2/(2 l^2))}{k(x, x') = s2 exp(-(x - x')^2 / (2 l^2))} and a
#' little white noise, fitted by variational inference with inducing inputs (Wenger, Kjellström and Triebel, 2020). The
#' expected log-softmax is expanded to second order, so that
#' `elbo` approximates a lower bound of the log evidence and is not strictly a bound.
#'
#' * `mean = "linear"`, the default: \eqn{\mu(z) = \alpha z}{mu(z) = alpha z}. The slope \eqn{\alpha > 0}{alpha > 0} is
#'   estimated, and z is a logit or log-probability minus its row mean. With
#'   \eqn{\sigma^2 \to 0}{s2 -> 0} this is temperature scaling.
#' * `"identity"`: the same with \eqn{\alpha = 1}{alpha = 1}, that is, the classifier is assumed to be calibrated unless
#'   the data say otherwise.
#' * `"log"`: \eqn{\mu(z) = \ln z}{mu(z) = log z} on raw probabilities, as in the paper.
#' * `"auto"` fits all that apply, keeps the one with the highest evidence lower bound, and says which.
#'
#' Only differences of g within a row matter, which is why rows are centred first
#' (`center = TRUE`); `center = FALSE` uses logits or log-probabilities as they are.
#'
#' The paper's own configuration is one call: `mean = "identity"` (or `"log"` for probabilities),
#' `center = FALSE, covariance = "diag", inducing = 10, optimize_inducing = TRUE`, with
#' `predict(approx = "mc", n_draws = 100)`.
#'
#' # When to use it, and what it cannot do
#' Use it for two classes and for many, when temperature scaling does not remove the miscalibration. Where temperature scaling
#' suffices, `calib_gp()` gives nearly the same probabilities. With the default, `class_effects = "auto"`, it can do three more
#' things where the calibration rows support them: shift classes whose frequencies differ between training and calibration, correct
#' for pairs of classes that are often confused, and, with two classes, correct low and high probabilities differently.
#'
#' What it cannot do: with `class_effects = "none"` all classes share one map, so that no class can be shifted, and
#' with two classes a probability of 1/2 stays 1/2. With three classes or more, the effects of the matrix are linear in the scores of the other classes.
#' Class effects are valid for the class frequencies of the calibration rows; for other frequencies see `prior` of
#' [predict.calib_gp()]. Class effects may change the most likely class of a row; `monotone = TRUE` prevents this.
#'
#' # How many rows
#' With two classes, have at least 100 calibration rows of the rarer class; with more classes, at least 200 rows, and 10 rows per class on average.
#' That is enough for the map that all classes share; class effects of three or more classes often need a thousand rows before `"auto"` finds them.
#' `print()` says when there are fewer rows than these. These numbers rest on random calibration rows of 14 real sets (`bench/results/few-rows.md` in the
#' sources). With two classes, for calibrated probabilities of new rows:
#'
#' | rows of the rarer class | recalibration slope in nine splits of ten (best: 1) | splits with a higher log loss than without calibration |
#' |---|---|---|
#' | 10 to 19 | 0.70 to 1.78 | 29 % |
#' | 20 to 29 | 0.70 to 1.63 | 13 % |
#' | 30 to 49 | 0.66 to 1.37 | 17 % |
#' | 50 to 99 | 0.78 to 1.32 | 7 % |
#' | 100 to 199 | 0.82 to 1.24 | 3 % |
#' | 200 or more | 0.86 to 1.16 | 0 % |
#'
#' Where calibration made the log loss higher, the probabilities had mostly been nearly calibrated before. With three classes or more, the log loss exceeded that of
#' a fit of thousands of rows by 0.09 with 5 to 10 rows per class, by 0.06 with 10 to 20, and by 0.01 with 100 or more, and was nearly always below that
#' of uncalibrated probabilities. [`predict(type = "interval")`][predict.calib_gp] shows how uncertain the calibrated probabilities are.
#'
#' # Effects of the classes
#' In addition to the shared map g, class k has
#' \deqn{f_k = g(z_k) + b_k + \sum_j W_{kj} z_j}{f_k = g(z_k) + b_k + sum_j W_kj z_j}
#' with an offset \eqn{b_k}{b_k} and a row of a matrix W between the classes. The symmetric and the skew-symmetric part of W have a
#' variance each (`sd_matrix` and `sd_skew` in [`tidy()`][calibrator]), since two classes are often confused in both directions. Two
#' further terms may be added. One is a
#' power for each class: a multiple of \eqn{\log p_k}{log p_k}, where p are the temperature-scaled probabilities. The
#' other, with few classes, is a second matrix, the softmax matrix,
#' which multiplies these probabilities in place of the scores. Two classes have an offset and, in place of the matrices, an
#' asymmetry and a shape. The asymmetry is a term that bends low and high probabilities differently; Platt scaling and beta
#' calibration are then special cases. The shape is a smooth curve that raises or lowers the log-odds by the same amount on both
#' sides of 1/2. Together with the shared map these can represent every smooth recalibration. All effects have normal priors whose variances are estimated, so that they shrink to zero where they are not needed.
#'
#' * `"auto"`, the default, adds the effects unless that makes the log evidence (its lower bound, the ELBO) worse by more than 1. Smaller losses are within the error of the bound,
#'   and effects that are not needed are shrunk to almost nothing. With more than
#'   26 classes a score test comes first. Offsets are fitted if the test favours them. The matrix is fitted unless the test clearly speaks
#'   against it, or there are fewer rows than classes. `print()` says which were chosen, by how much they change
#'   the log evidence together, and which of them are not clearly needed: those that raise it by less than 1, given the others. With `mean = "log"`,
#'   `covariance = "diag"`, `center = FALSE` or `optimize_inducing = TRUE`, `"auto"` is the same as `"none"`.
#' * `"none"` is the model of the paper.
#' * `"offset"` and `"matrix"` add these effects in any case.
#'
#' The matrix is used with up to 26 classes and the second matrix with up to 14; [gp_control()] can change these limits. With 27 to 200
#' classes there are offsets, a matrix on the temperature-scaled probabilities (1/(2K) is subtracted from them, and negative differences count as 0), and powers if
#' these raise the bound. They are fitted after the map, which stays as it is, and are independent of each other in the posterior. With more
#' classes there are only offsets. With 100 classes the matrix lowered the log loss by 0.006 to 0.008 with 5000 calibration rows, and by about 0.001
#' with 1000; with 200 it made no difference. [`summary()`][calibrator] lists the classes with clear offsets, and the pairs of classes
#' between which the matrix changes most. Offsets, matrix and map act together. To see how much likelier a class becomes on the whole, compare
#' `colMeans(predict(fit, scores))` with its frequency and its mean score. (How often classes are confused, the usual confusion table, is
#' `predicted <- predict(fit, scores, type = "class"); table(factor(labels, levels(predicted)), predicted)`.)
#' [`tidy()`][calibrator] returns the estimates with their posterior standard deviations: `offset[k]`; `matrix[k, j]`, the effect of the
#' score of class j on class k, and `softmax[k, j]`, that of its probability (for two classes `asymmetry[k]`, and `shape[k, d]`, the
#' shape where the temperature-scaled log-odds are d or -d, for d = 0, 1, 3, 4, 5; at 2 it is always 0); `power[k]`. With two classes `offset[k]` is the shift where the
#' temperature-scaled log-odds are 2 or -2; at other log-odds the shift is the offset plus the shape. So the offset alone does not say whether a class becomes more
#' likely: `plot_map()` and `calib_map()` do. `sd_offset`, `sd_matrix` and so on are the
#' prior standard deviations (square roots of the variances in `hyper`). `sd_matrix` and `sd_skew` are those of a matrix that multiplies scores divided by their root mean square; `matrix[k, j]` multiplies the scores
#' themselves. Effects are centred over the classes, so two classes have the same offset with opposite signs, and the log-odds change by the difference, twice the offset.
#' [`autoplot()`][autoplot.calib_gp] draws the offsets (`what = "offsets"`) and the combined effect of both matrices (`what = "matrix"`).
#'
#' # Keeping the accuracy of the classifier
#' With few rows a map can decrease by chance, so that a higher score gets a lower probability. Such a map is replaced by the
#' best one, with a longer lengthscale, that increases over the range of the calibration scores, unless that lowers the
#' evidence lower bound by more than 10. (Fits with `class_effects = "none"` or a given lengthscale are left as they are.) So
#' the fitted map need not be increasing. Where it decreases, it can change the most likely class of a row. `monotone =
#' TRUE` guarantees that it never does: in every row, also outside the range of the calibration scores, the class with
#' the higher score never gets the lower probability, and classes with equal scores get equal
#' probabilities. The guarantee holds for the computed numbers, including rounding, for every `approx` of
#' [`predict()`][predict.calib_gp], for every single draw and for both ends of every interval;
#' `type = "class"` is the class with the highest score (the first of them if there are several). Scores that differ by
#' little may get the same probability.
#'
#' The process (with `class_effects = "offset"` also the offsets) is fitted as without `monotone`. Then the posterior
#' mean, and every
#' function drawn from the posterior for prediction, is replaced by the nearest increasing function, where the distance is weighted by
#' the distribution of the scores (see `vignette("methods", package = "gpcalib")`). `order_cost` is the loss in log-likelihood on the
#' calibration rows from replacing the mean. When it is more than 5, there is a warning of class
#' `gpcalib_warning_order_cost`: higher scores are then not always more likely to be right, and a map that is not
#' increasing fits better. When higher scores go with the wrong
#' classes, the increasing map is flat (`gpcalib_warning_flat`).
#'
#' With `monotone = TRUE` the default of `class_effects` is the same as `"none"`. With `"offset"` the guarantee is weaker: of two classes, the
#' one with the higher score never gets the lower probability unless its offset is lower. (For draws and intervals the
#' offsets are drawn as well; the guarantee then refers to the offsets of each draw.) Map and offsets are estimated
#' together; with more than 26 classes the map is estimated
#' first, and then the offsets given this map. With `"matrix"` no such guarantee is possible, and the call is an error.
#' `predict(prior = )` multiplies the probabilities of the classes by different factors; the guarantee then holds unless
#' the class with the higher score has the lower factor.
#'
#' # Hyperparameters
#' A small calibration set hardly determines the variance and the lengthscale of the process. Probabilities are computed
#' with the pair that has the highest evidence lower bound. Intervals would be too narrow if this pair were treated as
#' known, above all where it makes the map a straight line, or where the true map bends more sharply than one smooth
#' kernel allows.
#'
#' With `integrate = TRUE`, the default, intervals and draws therefore come from a weighted average of several
#' posteriors. Each is that of a rougher process, whose values at evenly spaced knots have a Matern covariance with
#' \eqn{\nu = 3/2}{nu = 3/2} or \eqn{\nu = 1/2}{nu = 1/2}, for one of several pairs of standard deviation
#' \eqn{\sigma}{sigma} and lengthscale l. The straight line is included as well. The weights are
#' \deqn{\mathrm{evidence} \times p(\sigma) \times p(l)}{evidence x p(sigma) x p(l)}
#' with the priors \eqn{\sigma \sim \mathrm{Exp}(1/10)}{sigma ~ Exp(1/10)} and
#' \eqn{\ln l \sim N(\ln(w/5), 1)}{log l ~ N(log(w/5), 1)} (w/3 for \eqn{\nu = 1/2}{nu = 1/2}), where w is the width of the bulk of the scores.
#' The straight line has a prior probability of its own, 0.12 with two classes and 0.2 with more. Each posterior is a Laplace
#' approximation, as in the integrated nested Laplace approximation of Rue, Martino and Chopin (2009). The average is
#' then replaced by a Gaussian distribution with the same mean and covariance, which the fit stores in `averaged`. A process with
#' \eqn{\nu = 1/2}{nu = 1/2} also varies between its knots, where this distribution interpolates; the variance of these
#' deviations is added when intervals are computed and draws are made. When the true map was a straight line, intervals covered it more often than they should
#' (95 % intervals in 98 to 100 % of simulations). Standard deviations are therefore reduced where a line is likely. With two classes they are reduced by up to 26 % with 100 rows, and by less than 3 % with
#' 300 or more. With more classes they are reduced only if class effects are unlikely, by up to 23 % (ten classes) or 34 % (a hundred). With two classes, functions that fall steeply while the score rises are corrected before limits are computed
#' (see [predict.calib_gp()]). An
#' interval that would not contain the probability itself is extended to do so.
#'
#' With up to 40 class effects, the average is also taken over a factor of the variance of each kind of effect. With three or more
#' classes, `"auto"` may keep effects although the evidence for them is weak. Their prior variances are therefore multiplied by the posterior probability that there are
#' effects at all (prior odds of one to three). With more than 200
#' class effects (a matrix of eleven classes or more) there is no averaging. If `hyper` fixes either the variance or the
#' lengthscale, the average is taken over the other, with the kernel of the fit. There is no averaging if `hyper` fixes
#' both, or with `covariance = "diag"` or `optimize_inducing = TRUE`.
#'
#' `integrate = FALSE` saves about half of the time of a fit and gives narrower intervals. Probabilities do not depend on
#' `integrate`: averaging them as well lowered the log loss on simulated curved maps, but raised it on small sets
#' of real data with two classes.
#'
#' # Zeros
#' A probability of exactly 0 (a logit of `-Inf`) has no logarithm. When zeros occur among the
#' calibration scores, values below a floor are raised to it. `floor = NULL` tries half the
#' smallest positive value and 0.01, 0.001, ..., 1e-8 (those below 1/K) and keeps the one with the
#' highest bound. With few rows, the bound may favour a very low floor only because no true class among them had a score of
#' zero. Floors below half the smallest positive value therefore have a prior proportional to their square root (except with
#' `class_effects = "none"`).
#'
#' # When the data do not determine the map
#' If every calibration row is classified correctly, the slope \eqn{\alpha}{alpha} has no finite optimum. It is then
#' limited so that the mean confidence is (N + 1)/(N + 2), with a warning of class `gpcalib_warning_separated`. If the
#' scores within every row are all equal, the slope stays at 1
#' (`gpcalib_warning_flat`).
#'
#' @inheritParams calib_temperature
#' @param monotone Guarantee that, within a row, the class with the higher score never gets the lower probability? See below.
#' @param mean The prior mean of g: see the section on the model.
#' @param center Subtract each row's mean from its scores? `NULL`: yes, except for
#'   `mean = "log"`.
#' @param floor Probabilities below this value are raised to it; from 2.23e-308 (where numbers begin to lose digits) to less than 1/K. `NULL`:
#'   when zeros occur, the value with the highest evidence lower bound. If the calibration rows have no zeros, no floor
#'   is used in fitting; the floor for new rows is then the square of the smallest calibration probability, but at most
#'   1e-8 and at least 2.23e-308.
#' @param covariance Use the `"full"` posterior covariance of a row's latent values, or only its
#'   diagonal as in the paper's experiments.
#' @param inducing The number of inducing inputs, or their positions. `NULL`: 16, evenly spaced
#'   over the bulk of the scores, doubled (up to 64, and to an eighth of the number of rows) while the
#'   fitted lengthscale is shorter than 1.5 spacings.
#' @param optimize_inducing Optimise the positions of the inducing inputs as well? This rarely improves the fit.
#' @param hyper Named values to fix, any of `variance`, `lengthscale`, `noise` (a
#'   variance), `slope`, and the variances of the class effects: `offset`, `matrix` (with two classes that of the asymmetry), `softmax` (with two classes that of the shape), `power` and `skew`, at most 1e12. If only `matrix` is given and not `skew`, this variance is used for the
#'   symmetric and the skew-symmetric part alike. The noise is held at 1e-6 unless given.
#' @param class_effects Which effects of single classes to add to the shared map: see below.
#' @param integrate Average the posterior over the variance and the lengthscale of the process (`TRUE`),
#'   or fix both at their optimum (`FALSE`)? See the section on hyperparameters.
#' @param control A list made by [gp_control()].
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @return An object of class `c("calib_gp", "calibrator")`; see [`predict()`][predict.calib_gp], [latent()] and [calibrator] for what can be done
#'   with it. Beside the fields of every calibrator it has
#'   * `elbo` (the evidence lower bound), `passes` (how often the fit went through the data) and `passes_floor` (the
#'     same for other values of `floor`);
#'   * `hyper` (named: variance, lengthscale, noise, slope), `inducing`, and the whitened variational posterior `q_mean`, `q_cov`;
#'   * `slope_sd`, the standard deviation of an estimated slope, and `slope_cross`, the change of `q_mean` per unit of the slope;
#'   * the settings `mean`, `covariance`, `center`, `floor` and `monotone`;
#'   * `range` (of the scores seen), `increasing` (whether the posterior mean increases on that range) and `changed` (how many calibration rows
#'     change their most likely class);
#'   * with `monotone = TRUE`, `order_cost` (the loss in log-likelihood) and `order_mass` (the weights of the projection);
#'   * `averaged`, the posterior for intervals and draws, or `NULL` if there is none. It is a list with its own `hyper`, `inducing`, `q_mean`,
#'     `q_cov`, `slope_sd`, `slope_cross` and `passes`, which mean the same as above (with effects of up to 26 classes the first three follow from the covariance of its `effects`
#'     and are left out), and with `ends`
#'     (the scores beyond which drawn maps may be steeper), `between` (the variance between knots), `bent` (the posterior probability
#'     that the map is not a straight line) and, with effects of many classes, `likely` (the posterior probability that there are such effects);
#'   * `outside`, 0.2: the pseudo-count for rows unlike the calibration rows (see [`predict()`][predict.calib_gp]), or `NULL`;
#'   * `scores_seen`, a histogram of the scores and a temperature for [`autoplot()`][autoplot.calib_gp].
#' @references
#' Rue, H., Martino, S. and Chopin, N. (2009). Approximate Bayesian inference for latent Gaussian models by using
#' integrated nested Laplace approximations. *Journal of the Royal Statistical Society B* 71, 319-392.
#'
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *Proceedings of AISTATS*, PMLR 108, 178-190.
#' @seealso `vignette("methods", package = "gpcalib")` for the equations.
#' @family calibrators
#' @examples
#' fit <- calib_gp(letters_nn$cal$scores, letters_nn$cal$labels)
#' fit
#' p <- predict(fit, letters_nn$test$scores)
#' log_loss(p, letters_nn$test$labels)
#' head(latent(fit, seq(-20, 30, by = 10)))
#' @export
calib_gp <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                     class_effects = c("auto", "none", "offset", "matrix"), monotone = FALSE,
                     mean = c("linear", "identity", "log", "auto"), center = NULL, floor = NULL,
                     covariance = c("full", "diag"), inducing = NULL, optimize_inducing = FALSE,
                     hyper = NULL, integrate = TRUE, control = gp_control(), ..., threads = 1) {
  check_dots_empty(...)
  class_effects <- check_choice(class_effects, c("auto", "none", "offset", "matrix"), "class_effects")
  spec <- list(
    class_effects = check_monotone(monotone, class_effects), monotone = monotone,
    mean = check_choice(mean, c("linear", "identity", "log", "auto"), "mean"),
    center = if (!is.null(center)) check_flag(center, "center"),
    covariance = check_choice(covariance, c("full", "diag"), "covariance"),
    inducing = check_inducing(inducing), move = check_flag(optimize_inducing, "optimize_inducing"),
    hyper = check_hyper(hyper), integrate = check_flag(integrate, "integrate"),
    control = check_control(control), threads = check_threads(threads)
  )
  data <- check_calibration(scores, labels, input, weights, spec$threads)
  check_mean(spec, data$input)
  means <- if (spec$mean == "auto") auto_means(spec, data$input) else spec$mean
  counted <- drop_weightless(data)
  check_total(counted$weights)
  fits <- lapply(means, function(mean) fit_gp(counted, mean, spec, floor))
  fit <- fits[[which.max(vapply(fits, `[[`, 0, "elbo"))]]
  if (spec$mean == "auto") {
    message("calib_gp(mean = \"auto\") chose \"", fit$mean, "\"; evidence lower bounds: ",
      paste0(means, " ", format(vapply(fits, `[[`, 0, "elbo"), digits = 6), collapse = ", "))
  }
  order <- if (monotone) mono_fit(fit, counted)
  fit <- c(fit, if (monotone) order["changed"] else gp_changed(fit, counted))
  warn_one_class(counted)
  warn_gp(fit, counted)
  if (monotone) warn_monotone(order, nrow(data$scores), spec$class_effects != "none")
  new_calibrator("gp", data, match.call(),
    converged = fit$status == "ok" && !fit$separated, iterations = fit$passes, elbo = fit$elbo,
    hyper = fit$hyper, averaged = fit$averaged, inducing = fit$inducing, q_mean = fit$q_mean, q_cov = fit$q_cov,
    passes = fit$passes, passes_floor = fit$passes_floor, mean = fit$mean,
    covariance = spec$covariance, center = fit$center, floor = fit$floor, least = least_probability(data), range = fit$range, event_range = range_of_events(counted$scores, data$input),
    increasing = fit$increasing, monotone = monotone, order_mass = order$order_mass,
    order_cost = order$order_cost, changed = fit$changed, status = fit$status, scores_seen = fit$seen,
    slope_sd = gp_slope_sd(fit$slope_var, fit$hyper), slope_cross = fit$slope_cross,
    class_effects = fit$class_effects, effects_asked = spec$class_effects, effects_tried = fit$tried,
    effects = fit$effects, offsets = fit$offsets, outside = if (spec$class_effects != "none") outside_rows, stream = fit$stream
  )
}

#' How calib_gp() is computed
#'
#' Settings of the optimiser, and limits on the size of the model and of the object. The defaults rarely need to be changed.
#'
#' @param tol Stop when the next step is expected to raise the evidence lower bound by less than this.
#' @param max_passes The largest number of passes over the data.
#' @param matrix_classes,softmax_classes The largest numbers of classes for which the matrix, and the second matrix (of
#'   the softmax), are fitted. Their cost per row grows with the fourth power of the number of classes; a further cost,
#'   which does not depend on the number of rows, grows with the sixth power.
#' @param diagonal_classes The largest number of classes for which, with more than `matrix_classes` (and more than 26),
#'   a matrix with independent entries is fitted. Its time per row grows about linearly with the number of classes K, the
#'   size of the object by up to 10 K^2 bytes (100 classes: 130 kB in all, 200: 440 kB).
#' @param buffer How many calibration rows the object may keep for [`update()`][update.calibrator]; if there are more,
#'   similar rows are merged. Rows are kept as long as they represent at most 2000 original rows and at most five times
#'   `buffer` (ten times with two classes, `buffer` itself with more than 26). `NULL`: 300 with two classes, 1400
#'   with three to 20, 2000 with more, but with more than 100 classes at most 200,000 scores in all; none with more than 200
#'   classes or `class_effects = "none"`. 0: none, so that the object contains no calibration rows.
#' @param trace Print a line for each pass over the data?
#' @return A list for the argument `control` of [calib_gp()].
#' @examples
#' fit <- calib_gp(rain_nyc$prob, rain_nyc$rain, control = gp_control(trace = TRUE))
#' @export
gp_control <- function(tol = 1e-5, max_passes = 200, matrix_classes = 26, softmax_classes = 14,
                       diagonal_classes = 200, buffer = NULL, trace = FALSE) {
  list(
    tol = check_number(tol, "tol", 1e-10, 10), max_passes = check_count(max_passes, "max_passes"),
    matrix_classes = check_count(matrix_classes, "matrix_classes", 2, 100),
    softmax_classes = check_count(softmax_classes, "softmax_classes", 2, 100),
    diagonal_classes = check_count(diagonal_classes, "diagonal_classes", 2, 2000),
    buffer = if (!is.null(buffer)) check_count(buffer, "buffer", 0, 1e6),
    trace = check_flag(trace, "trace")
  )
}

# Checks ----------------------------------------------------------------------------------

check_control <- function(control) {
  if (!is.list(control) || !setequal(names(control), names(formals(gp_control)))) {
    stop_input("control", "must be made by gp_control()", say_given(control))
  }
  do.call(gp_control, control)
}

check_total <- function(weights) {
  total <- sum(weights)
  if (total > 1e12) {
    stop_input("weights", paste0("sum to ", format(total, digits = 2), ", as if there were so many ",
      "calibration rows"), "Divide them by a constant: beyond 1e12 rounding errors dominate.")
  }
}

check_inducing <- function(inducing) {
  if (is.null(inducing)) return(NULL)
  # squares of distances must not overflow
  if (!is.numeric(inducing) || !length(inducing) || !all(is.finite(inducing) & abs(inducing) < 1e100) ||
    length(inducing) > 1000) {
    stop_input("inducing", "must be a number of points or their finite positions",
      say_given(inducing))
  }
  if (length(inducing) == 1) return(check_count(inducing, "inducing", 2, 1000))
  if (anyDuplicated(inducing)) {
    stop_input("inducing", "has points that coincide", "Give each position once.")
  }
  sort(as.double(inducing))
}

check_hyper <- function(hyper) {
  known <- c("variance", "lengthscale", "noise", "slope", effect_blocks)
  if (is.null(hyper)) return(numeric())
  hyper <- unlist(hyper)
  bad <- !is.numeric(hyper) || is.null(names(hyper)) || !all(names(hyper) %in% known) ||
    anyDuplicated(names(hyper)) || any(!is.finite(hyper)) || any(hyper < 0 | hyper > 1e100) ||
    any(hyper[setdiff(names(hyper), "noise")] == 0)
  if (bad) {
    stop_input("hyper", paste0("must be named positive numbers, any of ", say_values(known, Inf)),
      "For example hyper = c(lengthscale = 5).")
  }
  wide <- intersect(names(hyper), effect_blocks)
  wide <- wide[hyper[wide] > effect_var_most]
  if (length(wide)) {
    stop_input("hyper", paste0("has a variance of class effects above ", format(effect_var_most), ": ", say_values(wide)),
      "Effects are on the scale of logits: a variance of 100 leaves them free.")
  }
  stats::setNames(as.double(hyper), names(hyper))
}

check_mean <- function(spec, input) {
  if (spec$mean == "identity" && "slope" %in% names(spec$hyper)) {
    stop_input("hyper", "has a slope, but the slope of mean = \"identity\" is always 1",
      "Leave it out, or use mean = \"linear\".")
  }
  if (spec$mean != "log") return()
  if (input == "logits") {
    stop_input("mean", "is \"log\", which works on probabilities, but the scores are logits",
      "Use \"linear\" or \"identity\", or pass probabilities.")
  }
  if (isTRUE(spec$center)) {
    stop_input("center", "is TRUE, but mean = \"log\" works on raw probabilities",
      "Leave `center` out, or choose another mean.")
  }
  if ("slope" %in% names(spec$hyper)) {
    stop_input("hyper", "has a slope, but mean = \"log\" has none", "Leave it out.")
  }
}

auto_means <- function(spec, input) {
  means <- c("linear", if (!"slope" %in% names(spec$hyper)) "identity")
  raw_ok <- input == "probs" && !isTRUE(spec$center) && !"slope" %in% names(spec$hyper)
  if (raw_ok) c(means, "log") else means
}

#' Rows of weight zero are as good as absent: they shall not place the inducing inputs either
#' @noRd
drop_weightless <- function(data) {
  if (is.null(data$weights) || all(data$weights > 0)) return(data)
  rows <- data$weights > 0
  data$scores <- data$scores[rows, , drop = FALSE]
  data$labels <- data$labels[rows]
  data$weights <- data$weights[rows]
  data$counts <- data$counts[rows]
  data$scan <- scan_rows(data$scores)
  data
}
