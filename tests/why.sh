# shellcheck shell=bash
# Sourced by .ci/run and systemd/deb-check.sh.

# Why a long log ends badly: the last lines of each program that failed in tests/run.sh and the compiler's complaints,
# which may stand far up, then its tail.
why() { # log, lines of the tail
    awk 'function said(  i) { for (i = n > 15 ? n - 14 : 1; i <= n; i++) print line[i]; n = 0 }
        within && /^      / { line[++n] = $0; next }
        { said(); within = /^FAIL / }
        within || /:[FE]:[^:]*:[^:]*:|: error: |: warning: |ERROR: AddressSanitizer|runtime error: |^make.*\*\*\*/
        END { said() }' "$1" | head -n 60 | cut -c -300 || true
    printf '  ...\n'
    tail -n "$2" "$1" | cut -c -300
}
