#!/bin/sh
# tools/bench.sh [SCRIPT...]: run bench/run.R if there is one, otherwise every script in
# bench/ whose name does not begin with `_`, `helper`, `league` (which takes an hour: make league) or `gallery`.

. "$(dirname "$0")/env.sh"

if [ $# -gt 0 ]; then
  scripts=$*
elif [ -f bench/run.R ]; then
  scripts=bench/run.R
else
  scripts=$(ls bench/*.R 2> /dev/null | grep -v -E '/(_|helper|league|gallery)')
fi
[ -n "$scripts" ] || stop "there is nothing to run in bench/"
for script in $scripts; do
  say "bench: $script"
  with_lib Rscript "$script" < /dev/null || stop "$script failed"
done
