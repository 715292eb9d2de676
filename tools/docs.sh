#!/bin/sh
# tools/docs.sh: man/ and NAMESPACE from the comments in R/. When the package cannot be
# installed (a NAMESPACE that is behind, say), the R files alone have to do.

. "$(dirname "$0")/env.sh"

load=source
if [ -f NAMESPACE ] && sh tools/build.sh > "$BUILD/docs.log" 2>&1; then
  load=installed
fi
say "docs: man/ and NAMESPACE with roxygen2, from the $load package"
with_lib Rscript tools/docs.R $load
