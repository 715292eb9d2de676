# Sourced by the other scripts: where we are, where products go, and an environment in
# which R speaks English and finds the package just built.

ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT" || exit 1
BUILD=${BUILD:-.build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
mkdir -p "$BUILD/lib"
export ROOT BUILD

export LC_ALL=C.UTF-8 LANGUAGE=en TZ="${TZ:-UTC}"

# These are calls of their own, not parts of the make that called.
unset MAKEFLAGS MFLAGS MAKELEVEL

say() { printf '%s\n' "* $*"; }
stop() { printf '%s\n' "* stopped: $*" >&2; exit 1; }

# The package under .build/lib comes first; packages installed elsewhere stay visible.
with_lib() { R_LIBS="$BUILD/lib${R_LIBS:+:$R_LIBS}" "$@"; }
