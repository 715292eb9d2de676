#!/bin/sh
# tools/ensure.sh STAGE: install what the stage needs and the machine lacks. The lists are
# in tools/needs.txt. As root: Debian's packages where they exist, otherwise CRAN. As
# another user: R packages from CRAN into the user's library; R itself, the compiler and
# other programs through sudo if it asks no password, otherwise a message and a stop.

. "$(dirname "$0")/env.sh"

case $1 in
  build) stages="build" ;;
  check) stages="build test check" ;;
  stress) stages="build test check stress" ;;
  *) stages="build $1" ;;
esac

# The rows of the stage's needs with one of the given kinds.
needs() {
  awk -v stages=" $stages " -v kinds=" $* " '
    /^#/ || NF < 4 { next }
    index(stages, " " $1 " ") && index(kinds, " " $2 " ") { print $2, $3, $4 }
  ' tools/needs.txt
}

# ---- what is missing ----------------------------------------------------------------

# Found once to link, a compiler is remembered together with its R.
can_link() {
  key=$(R --version 2>&1 | head -n 1; ls -lL "$(command -v gcc || command -v cc)" 2>&1)
  [ -f "$BUILD/linked" ] && [ "$(cat "$BUILD/linked")" = "$key" ] && return 0
  dir=$(mktemp -d) || return 1
  echo 'void dpotrf_(void); void ddot_(void); int main(void) { dpotrf_(); ddot_(); }' \
    > "$dir/a.c"
  $(R CMD config CC) -fopenmp "$dir/a.c" -o "$dir/a" $(R CMD config LAPACK_LIBS) \
    $(R CMD config BLAS_LIBS) $(R CMD config FLIBS) > /dev/null 2>&1
  status=$?
  rm -rf "$dir"
  [ $status -eq 0 ] && printf '%s\n' "$key" > "$BUILD/linked"
  return $status
}

# Debian packages of the commands that are not there.
missing_programs() {
  needs cmd cc lib | while read -r kind name deb; do
    case $kind in
      cmd) command -v "$name" > /dev/null 2>&1 || echo "$deb" ;;
      lib) [ -n "$(find /usr/lib -name "$name" 2> /dev/null | head -n 1)" ] || echo "$deb" ;;
      cc) { command -v R > /dev/null 2>&1 && can_link; } || echo "$deb" ;;
    esac
  done
}

# R packages of the given kinds that are not there.
missing_r() {
  all=$(needs "$@" | awk '{ print $2 }')
  [ -n "$all" ] || return 0
  if command -v R > /dev/null 2>&1; then
    Rscript -e 'for (p in commandArgs(TRUE)) if (!length(find.package(p, quiet = TRUE)))
      cat(p, "\n", sep = "")' $all
  else
    printf '%s\n' $all
  fi
}

# Debian's name for each R package given.
debian_of() {
  for p in "$@"; do
    needs r 'r?' | awk -v p="$p" '$2 == p { print $3; exit }'
  done
}

# ---- Debian's packages --------------------------------------------------------------

as_root=
[ "$(id -u)" -eq 0 ] || as_root="sudo -n"

updated=
apt_update() {
  [ -z "$updated" ] || return 0
  updated=yes
  say "reading Debian's package lists (apt-get update)"
  $as_root apt-get update -q > "$BUILD/apt.log" 2>&1 ||
    { tail -n 3 "$BUILD/apt.log" >&2; return 1; }
}

# Debian (or the lists we hold of it) offers the package.
offered() {
  apt-cache policy "$1" 2> /dev/null | grep -q 'Candidate: [^(]'
}

apt_install() {
  say "installing with apt-get: $*"
  run="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q"
  run="$run --no-install-recommends -o DPkg::Lock::Timeout=300"
  $run "$@" > "$BUILD/apt.log" 2>&1 < /dev/null && return 0
  # Old lists name files that are gone; fresh ones may help.
  [ -z "$updated" ] && apt_update && $run "$@" > "$BUILD/apt.log" 2>&1 < /dev/null &&
    return 0
  tail -n 15 "$BUILD/apt.log" >&2
  return 1
}

# R comes from Debian or will; only then does it look where r-cran-* packages are put.
debian_r() {
  r=$(command -v R 2> /dev/null) || return 0
  dpkg -S "$(readlink -f "$r")" > /dev/null 2>&1
}

programs=$(missing_programs | sort -u | tr '\n' ' ')
r_must=$(missing_r r | tr '\n' ' ')
r_may=$(missing_r 'r?' | tr '\n' ' ')
[ -f "$BUILD/without" ] && r_may=$(for p in $r_may; do
  grep -qx "$p" "$BUILD/without" || printf '%s ' "$p"; done)

[ -z "${programs% }${r_must% }${r_may% }" ] && exit 0

if [ "$(id -u)" -ne 0 ] && [ -n "${programs% }" ]; then
  if ! command -v sudo > /dev/null 2>&1 || ! sudo -n true > /dev/null 2>&1; then
    stop "this machine lacks ${programs% }, and only its administrator can install" \
      "programs. Ask for: apt-get install --no-install-recommends ${programs% }"
  fi
fi

if command -v apt-get > /dev/null 2>&1; then
  from_apt=$programs
  if [ "$(id -u)" -eq 0 ] && debian_r; then
    from_apt="$from_apt $(debian_of $r_must $r_may | tr '\n' ' ')"
  fi
  for p in $from_apt; do
    offered "$p" || { apt_update || say "no package lists could be read"; break; }
  done
  found=
  for p in $from_apt; do
    if offered "$p"; then
      found="$found $p"
    elif [ "${programs#*"$p"}" != "$programs" ]; then
      stop "apt-get knows no package $p; install it by other means"
    fi
  done
  if [ -n "$found" ] && ! apt_install $found; then
    # Perhaps one of the R packages was at fault; CRAN has those, too.
    [ -z "${programs% }" ] || apt_install $programs ||
      stop "apt-get could not install ${programs% }"
  fi
elif [ -n "${programs% }" ]; then
  stop "this is no Debian machine; install by its own means what Debian calls" \
    "${programs% }"
fi

still=$(missing_programs | sort -u | tr '\n' ' ')
[ -z "${still% }" ] || stop "${still% } was installed, but is not found or does not work"

# ---- CRAN ---------------------------------------------------------------------------

r_must=$(missing_r r | tr '\n' ' ')
if [ -n "${r_must% }" ] && ! Rscript tools/cran.R $r_must; then
  # Most often a system library is missing. Debian's built package needs none.
  r_must=$(missing_r r | tr '\n' ' ')
  debs=$(debian_of $r_must | tr '\n' ' ')
  { debian_r && command -v sudo > /dev/null 2>&1 && sudo -n true > /dev/null 2>&1 &&
    apt_install $debs && [ -z "$(missing_r r)" ]; } ||
    stop "R packages missing: ${r_must% }. The administrator can install them with:" \
      "apt-get install --no-install-recommends ${debs% }"
fi
for p in $r_may; do
  [ -n "$(missing_r 'r?' | grep -x "$p")" ] || continue
  say "installing from CRAN: $p"
  Rscript tools/cran.R "$p" > "$BUILD/cran.log" 2>&1 || {
    say "going on without $p (not tried again before make clean)"
    echo "$p" >> "$BUILD/without"
  }
done
exit 0
