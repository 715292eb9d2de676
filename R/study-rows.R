# What a study keeps of single rows: metrics that are means of a loss over rows have a standard error
# that knows of the rows. Per row only sums over the splits are kept, and of these in the end only
# their covariance between methods.

row_losses <- list(
  log_loss = function(probs, truth, eps = 0) -log(pmax(probs[truth], eps)),
  brier_score = function(probs, truth, type = "auto") {
    hit <- array(0, dim(probs))
    hit[truth] <- 1
    square <- (probs - hit)^2
    if (ncol(probs) == 2 && type != "multiclass") square[, 2] else rowSums(square)
  },
  class_accuracy = function(probs, truth) as.double(scan_rows(probs)$arg == truth[, 2])
)

#' The loss of every row, or NULL for metrics that are no means of one
#' @noRd
losses_of <- function(metric, probs, labels) {
  if (is.null(metric$loss) || !all(names(metric$args) %in% names(formals(metric$loss)))) return(NULL)
  truth <- cbind(seq_along(labels), as.integer(labels))
  do.call(metric$loss, c(list(unname(probs), truth), metric$args))
}

#' Sums over splits so far: for each set an array rows x methods x metrics, and how often a row was
#' tested by each method
#' @noRd
new_row_sums <- function(job) {
  kept <- which(vapply(job$metrics, function(metric) !is.null(metric$loss), NA))
  sums <- new.env(parent = emptyenv())
  sums$metrics <- kept
  sums$sets <- lapply(job$sets, function(set) {
    n <- length(set$labels)
    list(sum = array(0, c(n, length(job$methods), length(kept))),
      count = matrix(0L, n, length(job$methods)))
  })
  sums
}

#' Add the losses of a task's records, and take them out of the records
#' @noRd
add_row_sums <- function(sums, records) {
  lapply(records, function(record) {
    if (!is.null(record$losses)) {
      set <- sums$sets[[record$set]]
      rows <- record$rows
      set$sum[rows, record$method, ] <- set$sum[rows, record$method, ] + record$losses[, , drop = FALSE]
      set$count[rows, record$method] <- set$count[rows, record$method] + 1L
      sums$sets[[record$set]] <- set
    }
    record$losses <- record$rows <- NULL
    record
  })
}

#' For each set (and level of `by`) and metric: the covariance, between methods, of means over rows as
#' other rows from the same source would give them
#' @return list by name of the set, of lists by metric, of matrices with the methods as names.
#' @noRd
row_covariances <- function(sums, job, names) {
  methods <- vapply(job$methods, `[[`, "", "name")
  metrics <- vapply(job$metrics, `[[`, "", "name")[sums$metrics]
  parts <- list()
  for (s in seq_along(job$sets)) {
    set <- job$sets[[s]]
    levels <- if (is.null(set$by)) list(seq_along(set$labels)) else rows_by(set$by)
    for (rows in levels) {
      one <- lapply(seq_along(metrics), function(m) {
        covariance <- mean_covariance(sums$sets[[s]]$sum[rows, , m, drop = FALSE],
          sums$sets[[s]]$count[rows, , drop = FALSE], set$weights[rows], set$groups[rows])
        dimnames(covariance) <- list(methods, methods)
        covariance
      })
      parts[[length(parts) + 1]] <- stats::setNames(one, metrics)
    }
  }
  stats::setNames(parts, names)
}

#' cov = sum_g u_g u_g' / (sum w)^2, u_g the sum over the rows of group g of w (d - mean d), d a row's
#' average loss
#' @noRd
mean_covariance <- function(sum, count, weights, groups) {
  dim(sum) <- dim(count)
  seen <- rowSums(count) > 0
  count <- count[seen, , drop = FALSE]
  average <- sum[seen, , drop = FALSE] / count
  w <- if (is.null(weights)) rep(1, nrow(count)) else weights[seen]
  w <- matrix(w, nrow(count), ncol(count))
  w[count == 0] <- 0
  average[count == 0] <- 0
  total <- colSums(w)
  mean <- colSums(w * average) / total
  apart <- w * (average - rep(mean, each = nrow(average)))
  if (!is.null(groups)) apart <- rowsum(apart, match(groups[seen], unique(groups)))
  crossprod(apart) / outer(total, total)
}
