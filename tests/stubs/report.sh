# shellcheck shell=bash
# Sourced by the scripts that run tests in other languages: how they tell tests/run.sh, as a Check program does.

left_out() { # what, and what it needs
    echo "left out: $1"
    echo "100%: Checks: 0, Failures: 0, Errors: 0"
    exit 0
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
