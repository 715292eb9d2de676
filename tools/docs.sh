#!/bin/sh
# tools/docs.sh: man/ and NAMESPACE from the comments in R/, then the website from all of it. When the package
# cannot be installed (a NAMESPACE that is behind, say), the R files alone have to do for the former.

. "$(dirname "$0")/env.sh"

load=source
if [ -f NAMESPACE ] && sh tools/build.sh > "$BUILD/docs.log" 2>&1; then
  load=installed
fi
say "docs: man/ and NAMESPACE with roxygen2, from the $load package"
with_lib Rscript tools/docs.R $load || exit 1

say "docs: results of the paper's experiments for their vignettes"
Rscript vignettes/paper/collect.R || exit 1
Rscript vignettes/over-time/collect.R || exit 1

sh tools/build.sh || exit 1
say "docs: the website with pkgdown, into ${BUILD#"$ROOT"/}/site (a minute or so)"
with_lib Rscript tools/site.R
