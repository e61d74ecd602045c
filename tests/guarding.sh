#!/bin/bash
# tests/guarding.sh: the statements of client/GUARDING.md keep paused holders out of SQLite, PostgreSQL and Redis. Prints
# what a Check program does, for tests/run.sh. REDLOCKD names the daemon, REDLOCK the command.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

python=
for each in python3 /usr/bin/python3; do
    "$each" -c 'import sqlite3, sys; sys.exit(sqlite3.sqlite_version_info < (3, 35))' 2>/dev/null && python=$each && break
done
[ -n "$python" ] || left_out 'client/GUARDING.md, which needs python3 with SQLite 3.35'
exec "$python" tests/guarding.py "$daemon" "${REDLOCK:-$build/redlock}"
