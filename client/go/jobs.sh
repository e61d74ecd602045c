#!/bin/bash
# client/go/jobs.sh [JOB...]: the examples in Go, under the tests that judge those in C (tests/examples), all at a time.
# Prints what a Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=${REDLOCKD:-$PWD/build/redlockd}
build=${build%/*}
export REDLOCKD=$build/redlockd REDLOCKD_EXAMPLES=$build/go/examples
if [ ! -x "$REDLOCKD_EXAMPLES/stock" ]; then
    echo "left out: the examples in Go (it is not installed)"
    echo "100%: Checks: 1, Failures: 0, Errors: 0"
    exit 0
fi
[ $# -gt 0 ] || set -- order cache writer consumer # stock and nightly take 9 s each
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
for job in "$@"; do
    "$build/tests/examples/test_$job" >"$out/$job" 2>&1 || echo "$job" >>"$out/failed" &
done
wait
checks=0 failures=0
for job in "$@"; do
    grep -v '^Running\|^$' "$out/$job"
    read -r ran failed errors < <(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$out/$job")
    checks=$((checks + ${ran:-1})) failures=$((failures + ${failed:-1} + ${errors:-0}))
done
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ] && [ ! -e "$out/failed" ]
