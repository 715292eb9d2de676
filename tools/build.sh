#!/bin/sh
# tools/build.sh: install the package into .build/lib, if it changed since the last time.
# `tools/build.sh sync` only brings the copy in .build/pkg up to date.

. "$(dirname "$0")/env.sh"

# One build at a time in one folder.
exec 9> "$BUILD/lock"
command -v flock > /dev/null 2>&1 && flock 9

[ -f DESCRIPTION ] || stop "there is no DESCRIPTION here"
Rscript tools/sync.R
status=$?
[ "$1" = sync ] && [ $status -eq 10 ] && exit 0
case $status in
  0) [ "$1" = sync ] || say "package: nothing changed since it was last installed"
     exit 0 ;;
  10) ;;
  *) stop "could not copy the package to ${BUILD#"$ROOT"/}/pkg" ;;
esac

[ -f NAMESPACE ] || stop "there is no NAMESPACE yet; make docs writes it"
say "package: installing into ${BUILD#"$ROOT"/}/lib"
rm -rf "$BUILD/lib/00LOCK-pkg" "$BUILD/lib/00LOCK-gpcalib" "$BUILD/stamp"
cores=$(nproc 2> /dev/null || echo 1)
if ! MAKE="make -j$cores" with_lib R CMD INSTALL --library="$BUILD/lib" "$BUILD/pkg" \
    > "$BUILD/install.log" 2>&1 < /dev/null; then
  cat "$BUILD/install.log" >&2
  stop "the package could not be installed"
fi
grep -E -A 4 '(warning:|^Warning)' "$BUILD/install.log"
mv "$BUILD/stamp.new" "$BUILD/stamp"
