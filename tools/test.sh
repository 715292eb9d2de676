#!/bin/sh
# tools/test.sh: the C tests, the R tests, and the comparison with PostgreSQL where a server is installed. Ends with `N passed, N failed, N skipped`
# for both together, also left in .build/test-counts; the status is non-zero if anything
# failed. Each suite has to hold at least one test. A suite that cannot be built or that
# breaks down counts as a failure.

. "$(dirname "$0")/env.sh"

rm -f "$BUILD/test-counts" "$BUILD/ctest-counts" "$BUILD/rtest-counts"
passed=0 failed=0 skipped=0

# ---- C ------------------------------------------------------------------------------

out=$BUILD/ctests
cores=$(nproc 2> /dev/null || echo 1)
mkdir -p "$out"

# Finding leaks needs a right that some containers withhold; the rest of the sanitizers
# works without.
leaks=1
if [ ! -x "$out/probe" ]; then
  echo 'int main(void) { return 0; }' > "$out/probe.c"
  gcc -fsanitize=address "$out/probe.c" -o "$out/probe" 2> /dev/null
fi
if [ -x "$out/probe" ] && ! "$out/probe" > /dev/null 2>&1; then
  leaks=0
  say "C tests: memory leaks cannot be looked for on this machine"
fi
export ASAN_OPTIONS="detect_leaks=$leaks${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

tests=$(make -s -C tests/c OUT="$out" list)
say "C tests: compiling with sanitizers"
if [ -z "$tests" ]; then
  say "C tests: none found, which counts as a failure"
  failed=$((failed + 1))
elif ! make -s -C tests/c OUT="$out" -k -j"$cores" 2>&1; then
  say "C tests: compilation failed"
  failed=$((failed + 1))
fi
# Under sanitizers there are no copies of functions for wide vectors (src/simd.h): the linear algebra is tested without, too.
plain="test_gp_parts test_gp_joint test_linalg_rows test_joint_softmax"
say "C tests: compiling the linear algebra as R does"
for t in $plain; do
  if ! make -s -C tests/c OUT="$out/plain" SANITIZE= OPTIMISE=-O2 -j"$cores" "$out/plain/$t" 2>&1; then
    say "C tests: compilation failed"
    failed=$((failed + 1))
  fi
done
all="$tests $(printf 'plain/%s ' $plain)"
for t in $all; do rm -f "$out/$t.status"; [ ! -x "$out/$t" ] || echo "$t"; done |
  xargs -P "$cores" -I T sh -c \
    'timeout 600 "$0/T" > "$0/T.log" 2>&1 < /dev/null; echo $? > "$0/T.status"' "$out"
for t in $all; do
  [ -x "$out/$t" ] || continue
  status=$(cat "$out/$t.status" 2> /dev/null || echo 1)
  line=$(grep -E '^[^ ]+: [0-9]+ passed, [0-9]+ failed$' "$out/$t.log" | tail -n 1)
  p=0 f=0
  if [ -n "$line" ]; then
    p=$(echo "$line" | sed -E 's/.*: ([0-9]+) passed.*/\1/')
    f=$(echo "$line" | sed -E 's/.*, ([0-9]+) failed$/\1/')
  fi
  # Died before or after its summary, or never came to one.
  if [ "$f" -eq 0 ] && { [ $status -ne 0 ] || [ -z "$line" ] || [ "$p" -eq 0 ]; }; then
    f=1
    cat "$out/$t.log"
    say "$t: broke down with status $status"
  elif [ "$f" -gt 0 ]; then
    cat "$out/$t.log"
  else
    echo "$line"
  fi
  passed=$((passed + p))
  failed=$((failed + f))
done
echo "$passed $failed 0" > "$BUILD/ctest-counts"
say "C tests: $passed passed, $failed failed"

# ---- R ------------------------------------------------------------------------------

if Rscript tools/names.R; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  say "R tests: names that are defined twice"
fi
if sh tools/build.sh; then
  say "R tests: tests/testthat against the installed package"
  with_lib env NOT_CRAN=true Rscript tools/run-tests.R < /dev/null 2>&1
  r_status=$?
  if [ -f "$BUILD/rtest-counts" ]; then
    read -r p f s w < "$BUILD/rtest-counts"
    [ $r_status -ne 0 ] && [ "$f" -eq 0 ] && f=1
  else
    p=0 f=1 s=0 w=0
    say "R tests: broke down with status $r_status"
  fi
else
  p=0 f=1 s=0 w=0
fi
say "R tests: $p passed, $f failed, $s skipped, $w warnings"

passed=$((passed + p))
failed=$((failed + f))
skipped=$((skipped + s))

# ---- PostgreSQL, where a server is installed -------------------------------------------

if [ "$f" -eq 0 ]; then
  with_lib timeout 300 sh tools/postgres.sh Rscript bench/stress/database.R short > "$BUILD/postgres.log" 2>&1 < /dev/null
  status=$?
  line=$(grep -E '^PostgreSQL: [0-9]+ passed, [0-9]+ failed$' "$BUILD/postgres.log" | tail -n 1)
  p=0 f=0
  if [ $status -eq 77 ]; then
    skipped=$((skipped + 1))
    say "PostgreSQL: skipped ($(tail -n 1 "$BUILD/postgres.log" | sed 's/^\* //'))"
  else
    p=$(echo "$line" | sed -E 's/.*: ([0-9]+) passed.*/\1/')
    f=$(echo "$line" | sed -E 's/.*, ([0-9]+) failed$/\1/')
    if [ -z "$line" ] || { [ $status -ne 0 ] && [ "$f" -eq 0 ]; }; then
      p=0 f=1
    fi
    [ "$f" -eq 0 ] || cat "$BUILD/postgres.log"
    say "PostgreSQL: $p passed, $f failed"
  fi
  passed=$((passed + p))
  failed=$((failed + f))
fi
echo "$passed passed, $failed failed, $skipped skipped" | tee "$BUILD/test-counts"
[ "$failed" -eq 0 ]
