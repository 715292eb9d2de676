# Out-of-fold calibration: a classifier and its calibrator from the same rows.

#' Calibrate a classifier by cross-validation
#'
#' A calibrator must be fitted to scores of rows that the classifier was not trained on. When no rows can be spared for
#' that, the data are divided into folds, and each fold is scored by a classifier trained on the other folds. The
#' calibrator is fitted to these out-of-fold scores of all rows.
#'
#' The object predicts by a classifier trained on **all** rows, followed by the calibrator of the
#' out-of-fold scores. That classifier was trained on slightly more data than those of the folds (a ninth more, with ten
#' folds), so that its scores are slightly better than the scores the calibrator was fitted to; with five folds or more
#' the difference is small. There is only one classifier to keep and to explain. (The alternative is an ensemble of the
#' classifiers of all folds, each with its own calibrator, which needs as many predictions as there are folds.)
#'
#' Steps that learn from the data (selection of variables, scaling, tuning) belong inside `train`, or the
#' scores are not out-of-fold.
#'
#' @param train A function of `data` and `labels`, the rows to train on, that returns a classifier.
#' @param predict A function of a classifier and `newdata` that returns scores, as [gpcalib_input] says:
#'   probabilities or logits, one column per class or a vector for the second of two.
#' @param data The predictors: a data frame or matrix, one row per case.
#' @param labels The true classes of the rows.
#' @param method Name of the calibrator (`"gp"`, `"temperature"`, `"vector"`, `"matrix"`, `"platt"`, `"isotonic"`, `"beta"`, `"bbq"`,
#'   `"histogram"`, `"none"`) or a function such as [calib_gp()].
#' @param folds The number of folds, or a vector that says for every row to which fold it belongs. A number
#'   gives random folds with equal shares of the classes; use [set.seed()] to make them reproducible.
#' @param groups `NULL`, or one value per row: rows with the same value stay in one fold.
#' @param ... Arguments of the calibrator, such as `input`.
#' @param assess Whether to fit the calibrator once more for every fold, without its rows, so that the gain
#'   from calibration is estimated without bias.
#' @return An object of class `calib_cv`: a list of `calibrator` (see [calibrator]), `model` (the classifier of
#'   all rows), `predict`, `scores` (out-of-fold, N x K), `labels`, `fold` (a number per row), `assessment`
#'   (a data frame, see `tidy()`) and `call`. Unlike a calibrator, it contains a model and functions:
#'   a session that reads it from a file needs the packages of the classifier as well.
#'   `predict()` gives what [predict.calibrator()] does; `tidy()` one row per fold with `fold`, `n`,
#'   `log_loss` and `brier_score` before calibration, and `log_loss_calibrated` and `brier_score_calibrated` after
#'   calibration with the other folds (`NA` without `assess`). Before calibration, logits are turned into probabilities
#'   by the softmax. Probabilities below 1e-15 are raised to 1e-15.
#' @seealso [calib_study()] to compare calibrators.
#' @examples
#' cars <- transform(mtcars, am = factor(am, labels = c("automatic", "manual")))
#' set.seed(1)
#' fit <- calib_cv(
#'   train = function(data, labels) glm(labels ~ wt + hp, binomial, cbind(data, labels)),
#'   predict = function(model, newdata) predict(model, newdata, type = "response"),
#'   data = cars[c("wt", "hp")], labels = cars$am, method = "temperature", folds = 8
#' )
#' fit
#' predict(fit, data.frame(wt = c(2.5, 3.5), hp = 120))
#' @export
calib_cv <- function(train, predict, data, labels, method = "gp", folds = 10, groups = NULL, ...,
                     assess = TRUE) {
  check_cv_function(train, "train", "the data and their labels: function(data, labels)")
  check_cv_function(predict, "predict", "the classifier and new data: function(model, newdata)")
  fitter <- check_cv_method(method)
  assess <- check_flag(assess, "assess")
  n <- check_cv_data(data)
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  if (length(labels) != n) {
    stop_input("labels", paste0("has ", say_count(length(labels), "value"), " but `data` has ", n, " rows"),
      "Give one label per row.")
  }
  if (anyNA(labels)) {
    bad <- which(is.na(labels))
    stop_input("labels", paste0("has missing values (", say_rows(bad, length(bad)), ")"), "Remove those rows.")
  }
  labels <- if (is.factor(labels)) labels else factor(labels)
  fold <- cv_folds(folds, labels, groups, n)
  scores <- cv_scores(train, predict, data, labels, fold)
  calibrator <- fitter(scores, labels, ...)
  if (inherits(calibrator, "calibrator")) { # as it would be written, not as it was called here
    calibrator$call <- as.call(c(list(as.name(paste0("calib_", calibrator$method)), scores = quote(out_of_fold_scores), labels = quote(labels)), list(...)))
  }
  structure(list(
    calibrator = calibrator, model = train(cv_rows(data, seq_len(n)), labels), predict = predict,
    scores = scores, labels = labels, fold = fold,
    assessment = cv_assess(fitter, calibrator, scores, labels, fold, assess, ...), call = match.call()
  ), class = "calib_cv")
}

check_cv_function <- function(f, arg, of) {
  if (!is.function(f)) stop_input(arg, "must be a function", say_given(f))
  takes <- names(formals(args(f))) # NULL for some primitives
  if (!is.null(takes) && length(takes) < 2 && !"..." %in% takes) stop_input(arg, "takes one argument only", paste0("It is called with two, ", of, "."))
}

check_cv_method <- function(method) {
  if (is.function(method)) return(method)
  method <- check_choice(method, known_calibrators(), "method")
  get(paste0("calib_", method), mode = "function", envir = topenv())
}

check_cv_data <- function(data) {
  if (!is.data.frame(data) && !is.matrix(data)) {
    stop_input("data", "must be a data frame or matrix with one row per case", say_given(data))
  }
  if (nrow(data) < 4) stop_input("data", paste0("has ", say_count(nrow(data), "row")), "At least 4 are needed.")
  nrow(data)
}

cv_rows <- function(data, rows) data[rows, , drop = FALSE]

# Folds -----------------------------------------------------------------------------------

#' The fold of every row, 1 .. the number of folds
#' @noRd
cv_folds <- function(folds, labels, groups, n) {
  groups <- check_groups(groups, n)
  if (length(folds) > 1) return(check_folds(folds, groups, n))
  folds <- check_count(folds, "folds", 2, n)
  if (is.null(groups)) {
    # the rows of each class in random order, dealt out in turns
    order <- order(as.integer(labels), stats::runif(n))
    fold <- integer(n)
    fold[order] <- rep_len(sample.int(folds), n)
    return(fold)
  }
  count <- max(groups)
  if (count < folds) {
    stop_input("folds", paste0("is ", folds, " but there are only ", count, " groups"), "Ask for fewer folds.")
  }
  # the largest groups first, each to the smallest fold so far
  size <- tabulate(groups, count)
  total <- numeric(folds)
  place <- integer(count)
  for (g in order(-size, stats::runif(count))) {
    place[g] <- which.min(total)
    total[place[g]] <- total[place[g]] + size[g]
  }
  place[groups]
}

check_folds <- function(folds, groups, n) {
  codes <- check_groups(folds, n, "folds")
  if (!is.null(groups)) {
    split <- tapply(codes, groups, function(x) length(unique(x)) > 1)
    if (any(split)) {
      bad <- which(groups == which(split)[1])
      stop_input("folds", paste0("divides a group (", say_rows(bad, length(bad)), ")"),
        "Rows of one group must be in one fold.")
    }
  }
  codes
}

# Scores ----------------------------------------------------------------------------------

#' Out-of-fold scores, N x K or N x 1
#' @noRd
cv_scores <- function(train, predict, data, labels, fold) {
  scores <- NULL
  for (f in seq_len(max(fold))) {
    out <- which(fold == f)
    model <- train(cv_rows(data, -out), labels[-out])
    part <- as_score_matrix(predict(model, cv_rows(data, out)), "predict")
    if (nrow(part) != length(out)) {
      stop_input("predict", paste0("returned ", say_count(nrow(part), "row"), " for ",
        say_count(length(out), "row"), " of `data` (fold ", f, ")"), "It must return one row of scores per case.")
    }
    if (is.null(scores)) {
      scores <- matrix(NA_real_, length(labels), ncol(part), dimnames = list(NULL, colnames(part)))
    }
    if (ncol(part) != ncol(scores)) {
      stop_input("predict", paste0("returned ", say_count(ncol(part), "column"), " for fold ", f, " and ",
        ncol(scores), " before"),
        "A class may be missing from the rows it was trained on: keep all levels in `train`.")
    }
    if (!is.null(colnames(scores)) && !is.null(colnames(part)) && setequal(colnames(part), colnames(scores))) {
      part <- part[, colnames(scores), drop = FALSE]
    }
    scores[out, ] <- part
  }
  scores
}

#' Scores of every fold before and after calibration by the others
#' @noRd
cv_assess <- function(fitter, calibrator, scores, labels, fold, assess, ...) {
  plain <- calib_none(scores, labels, input = if (is.null(calibrator$input)) "auto" else calibrator$input)
  raw <- predict(plain, scores)
  quietly <- function(expr) {
    withCallingHandlers(expr, gpcalib_warning = function(w) invokeRestart("muffleWarning"))
  }
  rows <- lapply(seq_len(max(fold)), function(f) {
    out <- fold == f
    own <- list(probs = raw[out, , drop = FALSE], labels = as.integer(labels)[out])
    after <- c(NA_real_, NA_real_)
    if (assess) {
      fit <- quietly(fitter(scores[!out, , drop = FALSE], labels[!out], ...))
      after <- cv_score(list(probs = quietly(predict(fit, scores[out, , drop = FALSE])), labels = own$labels))
    }
    before <- cv_score(own)
    data.frame(fold = f, n = sum(out), log_loss = before[1], brier_score = before[2],
      log_loss_calibrated = after[1], brier_score_calibrated = after[2])
  })
  do.call(rbind, rows)
}

cv_score <- function(part) {
  forecast <- list(probs = unname(part$probs), labels = part$labels, conf = part$probs[, 1], pred = part$labels)
  colMeans(.Call(C_row_scores, forecast, 1e-15, FALSE))
}

# Methods ---------------------------------------------------------------------------------

#' @rdname calib_cv
#' @param object,x A result of `calib_cv()`.
#' @param newdata Predictors of new cases, as `data`.
#' @export
predict.calib_cv <- function(object, newdata, ...) {
  if (missing(newdata)) stop_input("newdata", "is missing", "Give the predictors of the new cases.")
  stats::predict(object$calibrator, object$predict(object$model, newdata), ...)
}

#' @rdname calib_cv
#' @export
print.calib_cv <- function(x, ...) {
  cat("<calib_cv> classifier calibrated on out-of-fold scores of ", length(unique(x$fold)), " folds\n", sep = "")
  print(x$calibrator)
  table <- x$assessment
  average <- function(column) stats::weighted.mean(table[[column]], table$n)
  say <- function(v) formatC(v, digits = 4, format = "f")
  for (measure in c("log_loss", "brier_score")) {
    after <- average(paste0(measure, "_calibrated"))
    cat("  ", score_words[[measure]], " ", say(average(measure)),
      if (!is.na(after)) paste0(" before, ", say(after), " after (cross-validated: calibrator fitted to the other folds)"),
      if (measure == "log_loss" && identical(x$calibrator$input, "probs") && min(x$scores) < 1e-15) "; probabilities below 1e-15 count as 1e-15", "\n", sep = "")
  }
  invisible(x)
}

#' @rdname calib_cv
#' @export
tidy.calib_cv <- function(x, ...) x$assessment
