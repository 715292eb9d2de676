#!/bin/sh
# sh bench/stress/static.sh: the C code under the compiler's strictest warnings, gcc's -fanalyzer, cppcheck
# and clang-tidy. Nothing may be said of our files; what was read and settled is named here.
R_HEADERS=$(R CMD config --cppflags | sed 's/-I/-isystem /g')
out=$(mktemp)
for f in src/*.c; do
  gcc -std=gnu99 -O2 -fopenmp -Isrc $R_HEADERS -Wall -Wextra -Wpedantic -Wconversion -fsyntax-only "$f" 2>> "$out"
done
echo "gcc -Wall -Wextra -Wpedantic -Wconversion: $(grep -c 'warning:' "$out") warnings"
grep 'warning:' "$out" | head -20
status=$(grep -c 'warning:' "$out")

: > "$out"
for f in src/*.c; do
  gcc -std=gnu99 -O2 -fopenmp -Isrc $R_HEADERS -fanalyzer -c "$f" -o /dev/null 2>> "$out"
done
echo "gcc -fanalyzer: $(grep -c 'warning:' "$out") warnings"
grep 'warning:' "$out" | head -20
status=$((status + $(grep -c 'warning:' "$out")))

cppcheck --quiet --std=c99 --enable=warning,performance,portability --inline-suppr -Isrc --suppress=missingInclude \
  --suppress=missingIncludeSystem --template='{file}:{line}: {id}: {message}' src > /dev/null 2> "$out"
echo "cppcheck: $(grep -c . "$out") findings"
head -20 "$out"
status=$((status + $(grep -c . "$out")))

# Settled: the analyzer of "insecure" functions wants Annex K's memcpy_s, which no compiler of R's has.
clang-tidy --quiet --checks='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-bugprone-reserved-identifier,-bugprone-implicit-widening-of-multiplication-result' \
  src/*.c -- -std=gnu99 -Isrc $R_HEADERS 2> /dev/null | grep 'warning:' | grep -v '/usr/' > "$out"
echo "clang-tidy (bugprone, clang-analyzer): $(grep -c . "$out") warnings"
sed "s|$PWD/||" "$out" | head -20
status=$((status + $(grep -c . "$out")))
rm -f "$out"
exit $((status > 0))
