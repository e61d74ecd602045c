#!/bin/bash
# tests/stubs/table.sh: what the client libraries have from proto/stubs.def is what this has now. Prints what a Check
# program does, for tests/run.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

command -v python3 >/dev/null || left_out "the client libraries' table (it needs python3)"
check "the files that proto/stubs.py writes" proto/stubs.py --check
total $checks $failures
