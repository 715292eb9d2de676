library(testthat)
library(gpcalib)

test_check("gpcalib")
