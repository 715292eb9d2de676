#!/bin/sh
# tools/stress.sh [ATTACK...]: the long attacks, each reproducible alone. CALLS hostile calls (10000), SECONDS_EACH
# of every fuzzer (330), FITS for the memory (10000), JOBS of valgrind at a time (1). All of them take two hours. The results of the whole run are in .build/stress.log.

. "$(dirname "$0")/env.sh"

attacks=${*:-hostile fuzz torture memory sanitize interrupt limits numbers order builds static check database valgrind}
log=$BUILD/stress.log
: > "$log"
failed=

run() {
  name=$1
  shift
  say "stress: $name"
  { with_lib "$@" < /dev/null 2>&1; echo $? > "$BUILD/stress-status"; } | tee -a "$log"
  [ "$(cat "$BUILD/stress-status")" -eq 0 ] || failed="$failed $name"
}

fuzz() {
  make -s -C tests/fuzz OUT="$BUILD/fuzz" || { echo "the fuzzers do not compile: ERROR"; return; }
  for f in $(make -s -C tests/fuzz OUT="$BUILD/fuzz" list); do
    mkdir -p "$BUILD/fuzz/corpus_$f"
    (cd "$BUILD/fuzz" && ./"$f" -max_total_time="${SECONDS_EACH:-330}" -max_len=1024 -timeout=60 \
      -rss_limit_mb=2048 "corpus_$f" > "$f.log" 2>&1)
    status=$?
    echo "$f: $(tail -n 1 "$BUILD/fuzz/$f.log")"
    [ $status -eq 0 ] || grep -E 'does not hold|ERROR|runtime error' "$BUILD/fuzz/$f.log" || echo "$f: ERROR"
  done
}

for attack in $attacks; do
  case $attack in
    order) run order Rscript bench/stress/order.R "${ROWS:-1e7}" ;;
    hostile) run hostile Rscript bench/stress/hostile.R "${CALLS:-10000}" ;;
    fuzz) say "stress: fuzz"; fuzz | tee "$BUILD/fuzz.out" | tee -a "$log"
          ! grep -q 'does not hold\|ERROR\|runtime error' "$BUILD/fuzz.out" || failed="$failed fuzz" ;;
    memory) run memory Rscript bench/stress/memory.R "${FITS:-10000}" ;;
    database) run database sh tools/postgres.sh Rscript bench/stress/database.R ;;
    static) run static sh bench/stress/static.sh ;;
    valgrind | sanitize | check) run "$attack" sh "bench/stress/$attack.sh" ;;
    *) [ -f "bench/stress/$attack.R" ] || stop "there is no attack $attack"
       run "$attack" Rscript "bench/stress/$attack.R" ;;
  esac
done
[ -z "$failed" ] || stop "failed:$failed"
say "stress: every attack was withstood"
