#!/bin/bash
# tests/stubs/jobs.sh LANGUAGE JOB...: the examples in that language, under the tests that judge the C examples
# (tests/examples), two at a time, since each starts many programs. Prints what a Check program does, for tests/run.sh.
# REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

language=$1
shift
export REDLOCKD=$daemon REDLOCKD_EXAMPLES=$build/$language/examples
[ -d "$REDLOCKD_EXAMPLES" ] || left_out "the examples in $language (it is not installed)"
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
for job in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    "$build/tests/integ/integ" "test_$job" >"$out/$job" 2>&1 || echo "$job" >>"$out/failed" &
done
wait
for job in "$@"; do
    grep -v '^Running\|^$' "$out/$job"
    read -r ran failed errors < <(counts <"$out/$job")
    checks=$((checks + ${ran:-1})) failures=$((failures + ${failed:-1} + ${errors:-0}))
done
[ ! -e "$out/failed" ] || [ $failures -gt 0 ] || failures=1 # a program crashed behind its last test
total $checks $failures
