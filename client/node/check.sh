#!/bin/bash
# client/node/check.sh: the client library's own tests, with real masters. Prints what a Check program does, for
# tests/run.sh. REDLOCKD names the daemon. STUB_CYCLES is how many lock/unlock cycles must not leak (500).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 18 || (a == 18 && b >= 18) ? 0 : 1)' 2>/dev/null; then
    left_out "the client library for Node.js (it needs node 18.18 or later)"
fi
report=$(node --test --test-reporter=tap client/node/test/*.test.js 2>&1)
status=$?
count() { printf '%s\n' "$report" | sed -n "s/^# $1 //p" | tail -n 1; }
passed=$(count pass) skipped=$(count skipped) cancelled=$(count cancelled)
failed=$(($(count fail) + ${cancelled:-0}))
if [ $status -ne 0 ] || [ "${skipped:-0}" != 0 ]; then printf '%s\n' "$report"; fi
[ $status -ne 0 ] && [ $failed -eq 0 ] && failed=1
if npm --version >/dev/null 2>&1; then
    if npm pack --dry-run --offline --json ./client/node >/dev/null 2>&1; then passed=$((passed + 1)); else
        echo "FAIL: npm pack"
        failed=$((failed + 1))
    fi
else
    echo "left out: npm pack (there is no npm that runs)"
fi
total $((${passed:-0} + failed)) $failed
