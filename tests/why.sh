# shellcheck shell=bash
# Sourced by .ci/run and systemd/deb-check.sh.

# Why a long log ends badly: of each program that failed in tests/run.sh the first case that failed, else the last
# lines, and the compiler's complaints, which may stand far up, then its tail.
why() { # log, lines of the tail
    awk 'function said(  i, from) {
            from = case_at ? case_at : n > 15 ? n - 14 : 1
            for (i = from; i <= n && i < from + 15; i++) print line[i]
            n = case_at = 0
        }
        within && /^      / { line[++n] = $0; if (!case_at && /^ +FAIL: /) case_at = n; next }
        { said(); within = /^FAIL / }
        within || /:[FE]:[^:]*:[^:]*:|: error: |: warning: |ERROR: AddressSanitizer|runtime error: |^make.*\*\*\*/
        END { said() }' "$1" | head -n 60 | cut -c -300 || true
    printf '  ...\n'
    tail -n "$2" "$1" | cut -c -300
}
