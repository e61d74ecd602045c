#!/bin/bash
# client/go/check.sh: the tests of the client library for Go, with real masters and a real daemon. Prints what a Check
# program does, for tests/run.sh. REDLOCKD names the daemon, and so the build. Arguments go to the test program; GO_TESTS
# names another than build/go/tests.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/report.sh
. ../../tests/report.sh

export REDLOCKD=$daemon GOCACHE=$build/go/cache GOPATH=$build/go/path GOTOOLCHAIN=local
tests=$build/go/${GO_TESTS:-tests}
[ -x "$tests" ] || left_out "the tests of the client library for Go (it is not installed)"
report=$("$tests" -test.v "$@" 2>&1)
status=$?
printf '%s\n' "$report" | grep -v '^=== '
passed=$(grep -c '^--- PASS' <<<"$report")
failed=$(grep -c '^--- FAIL' <<<"$report")
# A program that fails without a failed test crashed or hung.
[ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
total $((passed + failed)) "$failed"
