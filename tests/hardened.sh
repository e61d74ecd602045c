#!/bin/bash
# tests/hardened.sh: what is built by default resists exploits as the packages of a distribution do. Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

daemon=${REDLOCKD:-$PWD/build/redlockd}
build=${daemon%/*}
checks=0 failures=0

check() { # title, file, what has to be in the lines, command
    local title=$1 file=$2 pattern=$3
    shift 3
    checks=$((checks + 1))
    "$@" "$build/$file" 2>&1 | grep -E -- "$pattern" >/dev/null && return
    failures=$((failures + 1))
    printf '%s: %s lacks %s: %s tells no %s\n' "$0" "$build/$file" "$title" "$*" "$pattern"
}

for file in redlockd redlock libredlock.so; do
    [ "$file" = libredlock.so ] || check 'a position of its own at each start (PIE)' "$file" 'FLAGS_1.* PIE' readelf -dW
    check 'tables that are read-only once it runs (RELRO)' "$file" ' GNU_RELRO ' readelf -lW
    check 'symbols bound at the start (full RELRO)' "$file" '\(FLAGS(_1)?\).* (BIND_)?NOW' readelf -dW
    check 'the canary on the stack' "$file" ' __stack_chk_fail(@|$)' nm -D --undefined-only
    # The sanitizers check more than _FORTIFY_SOURCE, and do not work with it.
    nm -D "$build/$file" | grep " __asan_" >/dev/null ||
        check 'checked copies (_FORTIFY_SOURCE)' "$file" ' __[a-z]+_chk(@|$)' nm -D --undefined-only
done
printf '%d%%: Checks: %d, Failures: %d, Errors: 0\n' $((100 * (checks - failures) / checks)) $checks $failures
[ $failures -eq 0 ]
