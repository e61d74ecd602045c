#!/bin/bash
# tests/stubs/auth.sh: every client library whose driver was built, as a user of a real redlockd. Prints what a Check
# program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

command -v python3 >/dev/null || left_out "client libraries as users of a redlockd (they need python3)"
"${REDLOCK:-$build/redlock}" mkuser worker >/dev/null 2>&1 || left_out "client libraries as users of a redlockd (this build has no secrets)"
exec python3 tests/stubs/auth.py "$build"/conformance/*
