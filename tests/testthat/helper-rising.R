# A fit without the rule, as if a falling map were as good as any.
free_fit <- function(...) {
  space <- asNamespace("gpcalib")
  set <- function(value) {
    unlockBinding("falls_worth", space)
    assign("falls_worth", value, space)
    lockBinding("falls_worth", space)
  }
  worth <- space$falls_worth
  on.exit(set(worth))
  set(-Inf)
  suppressWarnings(calib_gp(...))
}
