#!/bin/sh
# bench/stress/valgrind.sh [PATTERN]: every file of the R tests (or those that match) under valgrind's memcheck,
# JOBS at a time (1). Fails when a test fails or when an error has our library in its stack. Takes an hour.
: "${BUILD:=.build}"
out=$BUILD/valgrind
rm -rf "$out"
mkdir -p "$out"
command -v valgrind > /dev/null || { echo "valgrind is not installed"; exit 1; }

cat > "$out/run" << 'RUN'
#!/bin/sh
name=$(basename "$1" .R)
NOT_CRAN=true OMP_NUM_THREADS=1 R --vanilla --no-echo \
  -d "valgrind --leak-check=no --num-callers=30 --log-file=$2/$name.valgrind" -e \
  "library(gpcalib); r <- as.data.frame(testthat::test_file('$1', package = 'gpcalib', reporter = 'silent', stop_on_failure = FALSE)); cat(sum(r\$nb), 'checks', sum(r\$failed) + sum(r\$error), 'failed\n')" \
  > "$2/$name.out" 2>&1
errors=$(grep -c 'gpcalib\.so' "$2/$name.valgrind")
line=$(tail -n 1 "$2/$name.out")
echo "$name: $line, $(grep -o 'ERROR SUMMARY: [0-9]* errors' "$2/$name.valgrind" | tail -n 1), $errors lines with our library" | tee "$2/$name.result"
RUN
chmod +x "$out/run"
files=$(ls tests/testthat/test-*.R | grep "$1")
[ -n "$files" ] || { echo "no test file matches $1"; exit 1; }
echo "$files" | xargs -P "${JOBS:-1}" -I{} "$out/run" {} "$out"
all=$(ls "$out"/*.result | wc -l)
good=$(grep -lE 'checks 0 failed, ERROR SUMMARY: [0-9]+ errors, 0 lines with our library' "$out"/*.result | wc -l)
checks=$(awk '{ sum += $2 } END { print sum }' "$out"/*.result)
echo "valgrind: $good of $all test files without an error of ours, $checks checks"
[ "$good" -eq "$all" ]
