#!/bin/sh
# tools/demo.sh: run tools/demo.R with the package just built; it writes to demo-output/.

. "$(dirname "$0")/env.sh"

mkdir -p demo-output
say "demo: tools/demo.R, output in demo-output/"
with_lib Rscript tools/demo.R < /dev/null
