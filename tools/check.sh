#!/bin/sh
# tools/check.sh: R CMD build, then R CMD check --as-cran on the tarball, in .build/check.
# tools/check.R reads the verdict. Nothing here needs the network.

. "$(dirname "$0")/env.sh"

[ -f NAMESPACE ] || stop "there is no NAMESPACE yet; make docs writes it"
sh tools/build.sh sync || exit 1
rm -rf "$BUILD/check"
mkdir -p "$BUILD/check"
cd "$BUILD/check" || exit 1

# Several files are compiled at a time, as in tools/build.sh.
MAKE="make -j$(nproc 2> /dev/null || echo 1)"
export MAKE

say "check: R CMD build, with vignettes"
if ! R CMD build "$BUILD/pkg" > build.log 2>&1 < /dev/null; then
  cat build.log >&2
  stop "R CMD build failed"
fi
tarball=$(ls gpcalib_*.tar.gz)

manual=
if ! command -v pdflatex > /dev/null 2>&1 ||
    ! kpsewhich inconsolata.sty > /dev/null 2>&1; then
  manual=--no-manual
  say "check: without the PDF manual, for lack of pdflatex or its fonts"
fi

# As CRAN does it, except for what wants the network or a matching clock. Any of these
# can be set from outside.
export _R_CHECK_FORCE_SUGGESTS_="${_R_CHECK_FORCE_SUGGESTS_:-false}"
export _R_CHECK_CRAN_INCOMING_REMOTE_="${_R_CHECK_CRAN_INCOMING_REMOTE_:-false}"
export _R_CHECK_SYSTEM_CLOCK_="${_R_CHECK_SYSTEM_CLOCK_:-false}"
export OMP_THREAD_LIMIT="${OMP_THREAD_LIMIT:-2}"
unset NOT_CRAN R_TESTS

# Where a suggested package is missing, the check asks CRAN's list whether it is orphaned, and breaks
# down without the network: here the list is empty, and lies in .build/check.
mkdir -p cran/web/packages
Rscript -e 'saveRDS(cbind(Package = character(), Maintainer = character()), "cran/web/packages/packages.rds")'
export R_CRAN_WEB="${R_CRAN_WEB:-file://$BUILD/check/cran}"

say "check: R CMD check --as-cran${manual:+ $manual} $tarball"
R CMD check --as-cran $manual "$tarball" > check.out 2>&1 < /dev/null
status=$?
cd "$ROOT" || exit 1
Rscript tools/check.R "$BUILD/check" $status
