# shellcheck shell=bash
# Sourced by the scripts that tests/run.sh runs: which build they test, and how they tell, as a Check program does, what
# they found. REDLOCKD names the daemon, and so the build.

daemon=${REDLOCKD:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/redlockd}
# shellcheck disable=SC2034 # for the script
build=${daemon%/*}
checks=0 failures=0

left_out() { # what, and what it needs
    echo "left out: $1"
    echo "100%: Checks: 0, Failures: 0, Errors: 0"
    exit 0
}
failed() { # title, what the check said
    failures=$((failures + 1))
    printf '%s:\n%s\n' "$1" "$2" | sed '2,$s/^/    /'
}
check() { # title, then a command that succeeds when all is well
    local title=$1 said
    shift
    checks=$((checks + 1))
    said=$("$@" 2>&1 </dev/null) || failed "$title" "$said"
}
# The last line; its status is that of the program. No test at all is a failure.
total() { # checks, failures
    echo "$(($1 ? 100 * ($1 - $2) / $1 : 0))%: Checks: $1, Failures: $2, Errors: 0"
    [ "$2" -eq 0 ] && [ "$1" -gt 0 ]
}
# The numbers of the last line of a Check program's output on stdin: "12 0 0".
counts() {
    sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' | tail -n 1
}
