#!/bin/bash
# tests/hardened.sh: what is built by default resists exploits as the packages of a distribution do. Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

has() { # title, file, what has to be in the lines, command
    check "$build/$2 lacks $1" tells "$3" "${@:4}" "$build/$2"
}
tells() { # what has to be in the lines, command
    "${@:2}" 2>&1 | grep -E -- "$1" >/dev/null || { echo "${*:2} tells no $1"; return 1; }
}

for file in redlockd redlock libredlock.so; do
    [ "$file" = libredlock.so ] || has 'a position of its own at each start (PIE)' "$file" 'FLAGS_1.* PIE' readelf -dW
    has 'tables that are read-only once it runs (RELRO)' "$file" ' GNU_RELRO ' readelf -lW
    has 'symbols bound at the start (full RELRO)' "$file" '\(FLAGS(_1)?\).* (BIND_)?NOW' readelf -dW
    has 'the canary on the stack' "$file" ' __stack_chk_fail(@|$)' nm -D --undefined-only
    # The sanitizers check more than _FORTIFY_SOURCE, and do not work with it.
    nm -D "$build/$file" | grep " __asan_" >/dev/null ||
        has 'checked copies (_FORTIFY_SOURCE)' "$file" ' __[a-z]+_chk(@|$)' nm -D --undefined-only
done
total $checks $failures
