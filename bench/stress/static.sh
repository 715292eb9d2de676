#!/bin/sh
# sh bench/stress/static.sh: the C code under the compiler's strictest warnings, gcc's -fanalyzer, cppcheck
# and clang-tidy. Nothing may be said of our files; what was read and settled is named here.
R_HEADERS=$(R CMD config --cppflags | sed 's/-I/-isystem /g')
out=$(mktemp)
# Read and settled: false alarms of loops and lengths that the tools do not follow (hit[], slope[], unit[]
# and cov[] are filled over the same range as they are read, a row's sum has a positive term), threads that
# are used only with OpenMP, work space of which a part is used for ints, a ridge that grows by factors.
settled='measures.c.*hit\[i\]|^cc1: warning: use of uninitialized value .<unknown>|curve.c:.*(slope|garbage)|invalidPointerCast|gp_rows.c:.*Invalid log|DeadStores|FloatLoopCounter|logistic.c:.*(garbage|uninitialized)|init.c.*Wcast-function-type'
count() { grep -E "$1" "$out" | grep -v -E "$settled" > "$out.new"; grep -c . "$out.new"; }
for f in src/*.c; do
  gcc -std=gnu99 -O2 -fopenmp -Isrc $R_HEADERS -Wall -Wextra -Wpedantic -Wconversion -fsyntax-only "$f" 2>> "$out"
done
status=$(count warning:)
echo "gcc -Wall -Wextra -Wpedantic -Wconversion: $status warnings"
head -20 "$out.new"

: > "$out"
for f in src/*.c; do
  gcc -std=gnu99 -O2 -fopenmp -Isrc $R_HEADERS -fanalyzer -c "$f" -o /dev/null 2>> "$out"
done
n=$(count warning:)
echo "gcc -fanalyzer: $n warnings"
head -20 "$out.new"
status=$((status + n))

cppcheck --quiet --std=c99 --enable=warning,performance,portability --inline-suppr -Isrc --suppress=missingInclude \
  --suppress=missingIncludeSystem --template='{file}:{line}: {id}: {message}' src > /dev/null 2> "$out"
n=$(count .)
echo "cppcheck: $n findings"
head -20 "$out.new"
status=$((status + n))

# Settled: the analyzer of "insecure" functions wants Annex K's memcpy_s, which no compiler of R's has.
clang-tidy --quiet --checks='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-bugprone-reserved-identifier,-bugprone-implicit-widening-of-multiplication-result' \
  src/*.c -- -std=gnu99 -Isrc $R_HEADERS 2> /dev/null | grep 'warning:' | grep -v '/usr/' > "$out"
n=$(count .)
echo "clang-tidy (bugprone, clang-analyzer): $n warnings"
head -20 "$out.new"
status=$((status + n))
rm -f "$out" "$out.new"
exit $((status > 0))
