#!/bin/bash
# client/python/tests/check.sh [long]: the tests of the client library for Python. Prints what a Check program does,
# for tests/run.sh. REDLOCKD names the daemon.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/report.sh
. ../../../tests/report.sh

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    left_out "the client library for Python (it needs Python 3.10 or later)"
fi
[ "${1:-}" = long ] && export REDLOCKD_TESTS_LONG=1
export REDLOCKD=$daemon
report=$(timeout -s ABRT "${REDLOCKD_TESTS_LIMIT_S:-500}" "$python" -B -X faulthandler -W error::ResourceWarning -m unittest -v 2>&1)
status=$?
printf '%s\n' "$report" | grep -v '\.\.\. ok$'
ran=$(printf '%s\n' "$report" | sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p')
failed=$(printf '%s\n' "$report" | grep -c '^\(FAIL\|ERROR\): ')
ran=${ran:-0}
[ "$ran" -eq 0 ] && ran=1 && failed=1
total "$ran" "$failed" && exit $status
