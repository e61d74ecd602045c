# shellcheck shell=bash
# Sourced by .ci/run and systemd/deb-check.sh.

# Why a long log ends badly: its failed tests and the compiler's complaints, which may stand far up, then its tail.
why() { # log, lines of the tail
    grep -aE '^FAIL|:[FE]:[^:]*:[^:]*:|: error: |: warning: |ERROR: AddressSanitizer|runtime error: |^make.*\*\*\*' \
        "$1" | head -n 25 | cut -c -300
    printf '  ...\n'
    tail -n "$2" "$1" | cut -c -300
}
