# What the effects of the classes in a fit of calib_gp() are: offsets and matrices in the units of the
# scores, with standard deviations, what each part is worth, and how print() and summary() say it.
#
# A fit keeps e_k for the features x of class_features.h, in Helmert contrasts and scaled. A constant
# added to all classes changes no probability, so that offsets and matrices are centred: they sum to zero over
# the classes.

#' Helmert's contrasts [k x (k - 1)], as in src/class_features.c
#' @noRd
effect_contrasts <- function(k) {
  out <- stats::contr.helmert(k)
  sweep(out, 2, sqrt(colSums(out^2)), "/")
}

#' From coefficients e of the features, a row for each, class after class, to the parameters c of the model: a power acts on the
#' score of its class as well (src/class_powers.h), which the coefficients of the matrix contain
#' @noRd
effect_free <- function(effects, e) {
  power <- effect_rows(effects, "power")
  if (!length(power)) return(e)
  own <- effect_rows(effects, "matrix")
  weight <- effect_contrasts(ncol(effects$effect)) * prod(effects$scale[c("rms", "slope")])
  for (j in seq_len(nrow(weight))) {
    at <- (j - 1) * nrow(effects$effect)
    e[at + own, ] <- e[at + own, ] - outer(weight[j, ], e[at + power, ])
  }
  e
}

#' The covariance of the parameters c
#' @noRd
effect_cov <- function(object) {
  first <- seq_len(length(object$inducing) + object$effects$slopes)
  cov <- effects_cov(object$effects)[-first, -first]
  effect_free(object$effects, t(effect_free(object$effects, cov)))
}

#' Linear combinations of a block's parameters: sum_i c_ki v_ij for class k and column j of `v`
#'
#' @param which the rows of `effect` that are meant.
#' @return list: `estimate` and `sd`, [classes x columns of v], centred over the classes.
#' @noRd
effect_combine <- function(object, which, v) {
  effects <- object$effects
  e <- effects$effect
  e[] <- effect_free(effects, matrix(e))
  k <- ncol(effects$effect)
  r <- nrow(effects$effect)
  places <- as.vector(outer(which, r * (seq_len(k) - 1), "+"))
  cov <- array(effect_cov(object)[places, places], c(length(which), k, length(which), k))
  even <- diag(k) - 1 / k
  spread <- function(w) {
    one <- array(w %*% matrix(cov, length(which)), c(k, length(which), k))
    both <- matrix(w %*% matrix(aperm(one, c(2, 1, 3)), length(which)), k)
    sqrt(pmax(rowSums((even %*% both) * even), 0))
  }
  names <- list(object$classes, colnames(v))
  estimate <- even %*% t(e[which, , drop = FALSE]) %*% v
  list(estimate = `dimnames<-`(estimate, names),
    sd = `dimnames<-`(matrix(apply(v, 2, spread), k), names))
}

#' The even functions of two classes at scaled log-odds d: integrals of the hats about the knots from `shape_zero` steps to |d|, [d x knots]
#' @noRd
effect_shapes <- function(d) {
  ramps <- function(t) {
    u <- pmin(pmax(outer(t, seq_len(shape_knots) - 1, "-"), 0), 2)
    ifelse(u < 1, u^2 / 2, 1 - (2 - u)^2 / 2)
  }
  shape_step * sweep(ramps(abs(d) / shape_step), 2, ramps(shape_zero))
}

#' Features of rows of centred scores [n x k], [n x r], as src/class_features.c has them
#' @noRd
effect_features <- function(effects, z) {
  k <- ncol(z)
  scale <- effects$scale
  z <- pmin(pmax(z, scale[["low"]]), scale[["high"]])
  z <- z - rowMeans(z)
  contrasts <- effect_contrasts(k)
  odds <- abs(scale[["slope"]] * (z[, 2] - z[, 1]))
  p <- exp(scale[["slope"]] * (z - z[cbind(seq_len(nrow(z)), max.col(z))]))
  parts <- list(
    matrix(1, nrow(z)),
    if (k == 2) cbind(odds + 2 * log1p(exp(-odds)) - 2 * log(2)) else z %*% contrasts / scale[["rms"]],
    if (k == 2) effect_shapes(odds) else (p / rowSums(p)) %*% contrasts,
    cbind(log(p[, 1] / rowSums(p)) - scale[["slope"]] * z[, 1]) # minus the log of the sum of exponentials
  )
  do.call(cbind, parts[effects$count > 0])
}

#' The rows of `effect` that belong to a block
#' @noRd
effect_rows <- function(effects, block) {
  which(rep(feature_blocks, effects$count) == block)
}

#' Offsets, centred: data frame of class, estimate and sd
#' @noRd
effect_offsets <- function(object) {
  if (!is.null(object$offsets)) {
    b <- object$offsets$mean
    k <- length(b)
    var <- object$offsets$var
    var <- var * (1 - 2 / k) + sum(var) / k^2
    return(data.frame(class = object$classes, estimate = unname(b - mean(b)), sd = sqrt(var)))
  }
  rows <- if (!is.null(object$effects)) effect_rows(object$effects, "offset")
  if (!length(rows)) return(NULL)
  one <- effect_combine(object, rows, matrix(1))
  data.frame(class = object$classes, estimate = one$estimate[, 1], sd = one$sd[, 1], row.names = NULL)
}

#' Powers: data frame of class, estimate and sd. They are not centred: a constant added to all makes the map steeper.
#' @noRd
effect_powers <- function(object) {
  if (has_wide(object)) return(wide_powers(object))
  effects <- object$effects
  row <- if (!is.null(effects)) effect_rows(effects, "power")
  if (!length(row)) return(NULL)
  places <- row + nrow(effects$effect) * (seq_along(object$classes) - 1)
  data.frame(class = object$classes, estimate = unname(effects$effect[row, ]), sd = sqrt(diag(effect_cov(object))[places]))
}

#' The matrix between classes in the units of the centred scores, or that of the softmax of the
#' temperature-scaled scores: list(estimate, sd), row k and column j for what the score of j does to k. Of two classes
#' the asymmetry, or the shape at the scaled log-odds `shape_shown`.
#' @noRd
effect_matrix <- function(object, block = "matrix") {
  if (has_wide(object)) return(if (block == "softmax") wide_matrix(object))
  effects <- object$effects
  rows <- if (!is.null(effects)) effect_rows(effects, block)
  if (!length(rows)) return(NULL)
  k <- length(object$classes)
  if (k == 2 && block == "softmax") return(effect_combine(object, rows, `colnames<-`(t(effect_shapes(shape_shown)), shape_shown)))
  v <- if (k == 2) matrix(1, dimnames = list(NULL, "asymmetry")) else t(effect_contrasts(k))
  if (k > 2) colnames(v) <- object$classes
  effect_combine(object, rows, if (block == "matrix" && k > 2) v / effects$scale[["rms"]] else v)
}

#' What both matrices do together where one class stands out: by how much the latent value of class k
#' moves in a row whose temperature-scaled probability of class j is `p` and of the others equal
#' @noRd
effect_moves <- function(object, p = 0.9) {
  if (has_wide(object)) return(wide_moves(object, p))
  effects <- object$effects
  k <- length(object$classes)
  if (is.null(effects) || k == 2 || !any(effects$count[-1] > 0)) return(NULL)
  gap <- log(p * (k - 1) / (1 - p)) / effects$scale[["slope"]]
  x <- t(effect_features(effects, gap * (diag(k) - 1 / k)))
  which <- unlist(lapply(c("matrix", "softmax"), function(block) effect_rows(effects, block))) # powers are the class's own
  effect_combine(object, which, `colnames<-`(x[which, , drop = FALSE], object$classes))
}

#' What each block is worth, in nats, at the variances that were learned: the Savage-Dickey ratio
#' log p(e = 0) - log q(e = 0) of prior and posterior
#' @noRd
effect_worth <- function(object) {
  if (has_wide(object)) return(wide_worth(object))
  if (!is.null(object$offsets)) {
    tau2 <- object$offsets$sd[[1]]^2
    var <- object$offsets$var
    return(c(offset = sum(log(var / tau2) + object$offsets$mean^2 / var) / 2))
  }
  effects <- object$effects
  if (is.null(effects)) return(numeric())
  if (!is.null(effects$parts)) return(effects$parts)
  if ("skew" %in% names(effects$sd)) return(numeric()) # the core could not say, and coefficients alone do not tell
  cov <- effect_cov(object) # of a fit before format 6
  mean <- effect_free(effects, matrix(effects$effect))
  k <- ncol(effects$effect)
  worth <- function(block) {
    rows <- effect_rows(effects, block)
    places <- as.vector(outer(rows, nrow(effects$effect) * (seq_len(k) - 1), "+"))
    root <- tryCatch(chol(cov[places, places]), error = function(e) NULL)
    if (is.null(root)) return(NA_real_)
    away <- backsolve(root, mean[places], transpose = TRUE)
    sum(log(diag(root))) - length(places) * log(effects$sd[[block]]) + sum(away^2) / 2
  }
  all <- vapply(stats::setNames(nm = names(effects$sd)), worth, 0)
  all[is.finite(all)]
}

#' Offsets and matrices as rows of tidy()
#' @noRd
effect_parameters <- function(object) {
  sds <- c(object$effects$sd, object$offsets$sd)
  if (!length(sds)) return(NULL)
  rows <- function(term, estimate, error) data.frame(term = term, estimate = estimate, std.error = error)
  entries <- function(block) {
    one <- effect_matrix(object, block)
    if (is.null(one)) return(NULL)
    if (length(object$classes) == 2) {
      at <- if (block == "softmax") paste0("shape[", outer(object$classes, shape_shown, paste, sep = ", "), "]")
      return(rows(c(at, if (is.null(at)) paste0("asymmetry[", object$classes, "]")), as.vector(one$estimate), as.vector(one$sd)))
    }
    pair <- outer(object$classes, object$classes, paste, sep = ", ")
    rows(paste0(block, "[", pair, "]"), as.vector(one$estimate), as.vector(one$sd))
  }
  offsets <- effect_offsets(object)
  powers <- effect_powers(object)
  out <- rbind(
    rows(paste0("sd_", if (length(object$classes) == 2) effect_words(names(sds), 2, one = TRUE) else names(sds)), unname(sds), NA_real_),
    if (!is.null(offsets)) rows(paste0("offset[", offsets$class, "]"), offsets$estimate, offsets$sd),
    entries("matrix"), entries("softmax"),
    if (!is.null(powers)) rows(paste0("power[", powers$class, "]"), powers$estimate, powers$sd)
  )
  rownames(out) <- NULL
  out
}

# In words ----------------------------------------------------------------------------------

#' Words for the blocks: two classes have an asymmetry and a shape in place of the matrices
#' @noRd
effect_words <- function(blocks, k, one = FALSE) {
  unname(c(offset = if (one) "offset" else "offsets", matrix = if (k == 2) "asymmetry" else "matrix",
    softmax = if (k == 2) "shape" else "softmax matrix", power = "powers", skew = "skew part of the matrix")[blocks])
}

#' What the blocks are, after their names in summary()
#' @noRd
effect_meanings <- function(blocks, k, split) {
  unname(c(offset = "a constant added for each class, the same in all rows",
    matrix = if (k == 2) "low and high probabilities are bent differently" else if (split) {
      "how the score of one class acts on another, alike in both directions"
    } else {
      "how the score of one class acts on another"
    },
    softmax = if (k == 2) "a curve that raises or lowers the log-odds alike on both sides of 1/2" else "how the probability of one class acts on another",
    power = "how the log of a class's own probability acts on it", skew = "how the two directions between two classes differ")[blocks])
}

#' The line of print() on which effects were chosen, and how much they improve the fit
#' @noRd
describe_effects <- function(object) {
  auto <- identical(object$effects_asked, "auto")
  k <- length(object$classes)
  if (object$class_effects == "none") {
    return(paste0("class effects: none", if (auto) {
      if (isTRUE(object$effects_tried)) " (chosen by \"auto\": they would not improve the fit)" else " (\"auto\" does not try them with these settings)"
    }, if (k > 2) "; all classes share the map" else "; a probability of 1/2 stays 1/2"))
  }
  worth <- if (is.null(object$effects)) object$offsets$worth else object$effects$worth
  blocks <- blocks_in(object)
  notes <- c(paste("change in log evidence", say_worth(worth)), say_unneeded(object, worth), if (auto && worth < clear_gain && !is.null(object$effects)) "\"auto\" drops them only below -1")
  paste0("class effects", if (auto) " chosen by \"auto\"", ": ", say_and(effect_words(blocks, k)), " (", paste(notes, collapse = "; "), "); see summary()")
}

#' The effects of a fit; the two parts of a matrix are one
#' @noRd
blocks_in <- function(object) setdiff(names(c(object$effects$sd, object$offsets$sd)), "skew")

clear_gain <- 1 # in log evidence: 2.7 times as likely with the effect as without

#' Which effects the data do not need, in words; NULL if they need all of them, or if that is not known
#' @noRd
say_unneeded <- function(object, worth) {
  blocks <- blocks_in(object)
  gain <- effect_worth(object)
  if (!all(blocks %in% names(gain))) return(NULL) # not known
  needed <- vapply(blocks, function(block) max(gain[c(block, if (block == "matrix") intersect("skew", names(gain)))]) >= clear_gain, NA)
  if (!any(needed)) return(if (worth < clear_gain) "not clearly needed" else if (length(blocks) > 1) "needed together, none of them clearly by itself")
  if (!all(needed)) paste(say_and(effect_words(blocks[!needed], length(object$classes))), "not clearly needed")
}

#' Gains in log evidence of single parts, as summary() prints them
#' @noRd
say_gain <- function(x) paste0(ifelse(x < 0, "", "+"), vapply(x, format, "", digits = 2, trim = TRUE))

#' A change in log evidence, with its sign
#' @noRd
say_worth <- function(x) paste0(if (x >= 0) "+", formatC(x, digits = 1, format = "f"))

#' What summary() says of the effects
#' @param known have the mean probabilities of the classes been printed?
#' @noRd
print_effects <- function(effects, classes, known) {
  if (is.null(effects)) return(invisible())
  say <- function(x) format(x, digits = 2, trim = TRUE)
  cat("\nAll class effects together: ", say_worth(effects$worth), " in log evidence.",
    if (length(effects$parts)) " Gain by each part, given the others (which can partly replace it, so these numbers do not add up to the total):", "\n", sep = "")
  for (part in names(effects$parts)) {
    split <- part == "matrix" && "skew" %in% names(effects$parts)
    cat("  ", if (split) "symmetric part of the matrix" else effect_words(part, length(classes)), ": about ", say_gain(effects$parts[[part]]), "; prior standard deviation ",
      say(effects$sd[[part]]), " (", effect_meanings(part, length(classes), split), ")\n", sep = "")
  }
  if (length(classes) == 2 && "softmax" %in% names(effects$parts)) {
    cat(strwrap("shape[k, d] is the value of that curve at temperature-scaled log-odds d and -d. At 2 and -2 it is 0: there the offset is the whole shift. plot_map() shows all effects together.", 98, indent = 2, exdent = 4), sep = "\n")
  }
  shifted <- effects$shifted
  if (!is.null(shifted)) {
    cat("  classes whose offset is more than two posterior standard deviations from 0: ", if (nrow(shifted)) {
      paste0("\"", shifted$class, "\" ", say_gain(shifted$estimate), collapse = ", ")
    } else {
      "none"
    }, if (effects$n_shifted > nrow(shifted)) paste0(", and ", effects$n_shifted - nrow(shifted), " more"), "\n", sep = "")
    if (nrow(shifted) && !is.null(effects$mixed)) {
      cat("    (offsets alone: map and matrix also change how likely a class is, and can more than undo them; see ",
        if (known) "the mean probabilities above" else "colMeans(predict(fit, scores))", ")\n", sep = "")
    }
  }
  mixed <- effects$mixed
  if (!is.null(mixed)) {
    count <- attr(mixed, "count")
    said <- if (!nrow(mixed)) {
      "effects between classes: none is more than two posterior standard deviations from 0"
    } else {
      paste0("effects between classes, by the ", paste(effect_words(intersect(c("matrix", "softmax"), names(effects$parts)), length(classes)), collapse = " and the "),
        if (all(c("matrix", "softmax") %in% names(effects$parts))) " together", ": how the latent value of a class changes in a row where temperature scaling gives 90 % to another class, ",
        "and the rest equally to all others (+1: about 2.7 times the odds). This does not say that a class is predicted too often or too rarely",
        if (known) ": for that, see the mean probabilities above", ". ",
        if (count > nrow(mixed)) paste0("The ", nrow(mixed), " largest of "), count, if (count == 1) " change" else " changes", " beyond two posterior standard deviations:")
    }
    pairs <- if (nrow(mixed)) paste0("\"", mixed$class, "\" where the scores say \"", mixed$said, "\" (", say_gain(mixed$estimate), ")", c(rep(",", nrow(mixed) - 1), ""))
    # a blank within a pair is none between lines
    lines <- if (length(pairs)) gsub("\r", " ", strwrap(paste(gsub(" ", "\r", pairs), collapse = " "), 96, indent = 4, exdent = 4))
    cat(strwrap(said, 98, indent = 2, exdent = 4), lines, sep = "\n")
    print_own_effects(effects$own)
  }
}

#' Those of classes in rows whose scores favour them
#' @noRd
print_own_effects <- function(own) {
  if (NROW(own) == 0) return(invisible())
  more <- attr(own, "count") - nrow(own)
  cat(strwrap(paste0("how the latent value of the class that gets the 90 % changes (where beyond two posterior standard deviations): ",
    paste0("\"", own$class, "\" ", say_gain(own$estimate), collapse = ", "), if (more > 0) paste(" and", more, "more")), 98, indent = 2, exdent = 4), sep = "\n")
}

moves_named <- 5L

#' The largest changes between two classes that exceed two posterior standard deviations, as summary() lists and the picture frames them
#'
#' @param moves what effect_moves() returned.
#' @param own those of a class by its own score instead.
#' @return data frame of class (the true one), said (that of the scores), estimate and sd; its attribute `count` says how many there are.
#' @noRd
effect_clear <- function(object, moves, most = moves_named, own = FALSE) {
  k <- length(object$classes)
  all <- data.frame(class = rep(object$classes, k), said = rep(object$classes, each = k), estimate = as.vector(moves$estimate),
    sd = as.vector(moves$sd))
  clear <- all[(all$class == all$said) == own & abs(all$estimate) > 2 * all$sd, ]
  structure(utils::head(clear[order(-abs(clear$estimate)), ], most), count = nrow(clear))
}

#' For summary(): list of worth, parts, sd, shifted, mixed; NULL without effects
#' @noRd
summarise_effects <- function(object, most = 6) {
  if (object$class_effects == "none") return(NULL)
  offsets <- effect_offsets(object)
  shifted <- if (!is.null(offsets)) offsets[abs(offsets$estimate) > 2 * offsets$sd, ]
  if (!is.null(shifted)) shifted <- shifted[order(-abs(shifted$estimate)), ]
  moves <- effect_moves(object)
  mixed <- if (!is.null(moves)) effect_clear(object, moves)
  own <- if (!is.null(moves)) effect_clear(object, moves, own = TRUE)
  list(
    worth = if (is.null(object$effects)) object$offsets$worth else object$effects$worth,
    parts = effect_worth(object), sd = c(object$effects$sd, object$offsets$sd), n_shifted = nrow(shifted),
    shifted = utils::head(shifted, most), mixed = mixed, own = own, offsets = offsets, matrix = effect_matrix(object),
    softmax = effect_matrix(object, "softmax"), powers = effect_powers(object), moves = moves
  )
}
