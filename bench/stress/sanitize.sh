#!/bin/sh
# bench/stress/sanitize.sh [PATTERN]: the whole package built with AddressSanitizer and UndefinedBehaviorSanitizer,
# their run-time preloaded into R, and all R tests (or the files that match) run with it.
: "${BUILD:=.build}"
out=$BUILD/sanitize
rm -rf "$out"
mkdir -p "$out/lib" "$out/src"
cp -r DESCRIPTION NAMESPACE LICENSE R src data "$out/src"
rm -f "$out"/src/src/*.o "$out"/src/src/*.so
flags='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
cat > "$out/Makevars" << END
CFLAGS = -g -O1 $flags
LDFLAGS = $flags
END
R_MAKEVARS_USER="$out/Makevars" R CMD INSTALL --no-docs --no-test-load --library="$out/lib" "$out/src" \
  > "$out/install.log" 2>&1 || { tail -n 20 "$out/install.log"; exit 1; }

cat > "$out/run.R" << 'END'
library(gpcalib)
stopifnot(grepl("sanitize", getLoadedDLLs()[["gpcalib"]][["path"]]))
pattern <- commandArgs(TRUE)
files <- grep(c(pattern, ".")[1], list.files("tests/testthat", "^test-", full.names = TRUE), value = TRUE)
checks <- failed <- 0
for (file in files) {
  cat(basename(file), "\n", file = stderr()) # the last one named is where it died
  r <- as.data.frame(testthat::test_file(file, package = "gpcalib", reporter = "silent", stop_on_failure = FALSE))
  checks <- checks + sum(r$nb)
  if (sum(r$failed) + sum(r$error)) {
    cat(basename(file), ":", r$test[r$failed > 0 | r$error], "\n")
    failed <- failed + sum(r$failed) + sum(r$error)
  }
}
cat("sanitizers:", length(files), "test files,", checks, "checks,", failed, "failed\n")
quit(status = failed > 0)
END
# R itself frees nothing at its end; what our code loses is looked for by memory.R and the C tests
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" NOT_CRAN=true \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  R_LIBS="$out/lib${R_LIBS:+:$R_LIBS}" Rscript "$out/run.R" $1 2> "$out/errors"
status=$?
grep -nE 'ERROR: AddressSanitizer|runtime error' "$out/errors" && status=1
[ $status -eq 0 ] || tail -n 30 "$out/errors"
exit $status
