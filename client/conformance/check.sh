#!/bin/bash
# client/conformance/check.sh: every conformance case with every client library whose driver was built. Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

command -v python3 >/dev/null || left_out "every conformance case (they need python3)"
for driver in "$build"/conformance/*; do
    [ -x "$driver" ] || continue
    echo "== ${driver##*/}"
    report=$(client/conformance/run "$driver")
    printf '%s\n' "$report" | grep -v '^[0-9]*%: ' | sed 's/^/    /'
    read -r ran failed _ < <(printf '%s\n' "$report" | counts)
    checks=$((checks + ${ran:-1})) failures=$((failures + ${failed:-1}))
done
for language in python node go java; do
    [ -x "$build/conformance/$language" ] || echo "left out: the client library for $language (no driver was built)"
done
total $checks $failures
