#!/bin/bash
# client/java/jobs.sh [JOB...]: the examples in Java, under the tests that judge those in C (tests/examples). Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=${REDLOCKD:-$PWD/build/redlockd}
build=${build%/*}
export REDLOCKD=$build/redlockd REDLOCKD_EXAMPLES=$build/java/examples
if [ ! -x "$REDLOCKD_EXAMPLES/order" ]; then
    echo "left out: the examples in Java (they need a JDK)"
    echo "100%: Checks: 1, Failures: 0, Errors: 0"
    exit 0
fi
[ $# -gt 0 ] || set -- order writer # the others take too long for make check: see check-java
checks=0 failures=0
for job in "$@"; do
    report=$("$build/tests/examples/test_$job" 2>&1)
    grep -v '^Running\|^$' <<<"$report"
    read -r ran failed errors < <(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' <<<"$report")
    checks=$((checks + ${ran:-1})) failures=$((failures + ${failed:-1} + ${errors:-0}))
done
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ]
