#!/bin/bash
# tests/run.sh PROGRAM[:FILE]...: runs Check programs, many at a time, since most of them only wait; a program that has
# the tests of several files runs for those of FILE. Runs all of them even if some fail, shows what the failing ones
# wrote, and counts their tests. The last lines name what failed, and say how much was left out because this machine
# lacks what it needs.
set -uo pipefail

jobs=${TEST_JOBS:-12}
limit_s=${TEST_LIMIT_S:-600} # a program that runs longer hangs: most take seconds, on a busy machine minutes
# shellcheck source=tests/report.sh
. "$(dirname "$0")/report.sh"
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

named() { # program; each language has a check.sh
    case $1 in client/*) echo "${1#client/}" ;; *) echo "${1##*[/:]}" ;; esac
}
run_one() {
    local name log=$out/${1//\//_}
    name=$(named "$1")
    local start=$SECONDS command
    IFS=: read -ra command <<<"$1"
    timeout -k 5 "$limit_s" "${command[@]}" >"$log.log" 2>&1
    local status=$?
    local found checks failures errors
    found=$(counts <"$log.log")
    read -r checks failures errors <<<"${found:-0 0 0}"
    local bad=$((failures + errors))
    # A program that fails without a failed test crashed, hung or leaked.
    if [ $status -ne 0 ] && [ $bad -eq 0 ]; then bad=1; checks=$((checks + 1)); fi
    if [ -z "$found" ] && [ $status -eq 0 ]; then bad=1; checks=1; fi
    printf '%s\n' "$((checks - bad)) $bad" >"$log.count"
    if [ $bad -eq 0 ]; then
        printf 'ok    %-24s %4d tests %4d s\n' "$name" "$checks" $((SECONDS - start))
        sed -n 's/^left out: /      left out: /p' "$log.log"
    else
        # In one write, so that two programs' reports do not mix.
        printf '%s\n' "$(printf 'FAIL  %-24s exit status %d\n' "$name" $status; sed 's/^/      /' "$log.log" | tail -n 200)"
    fi
}
export -f run_one named counts
export out limit_s

# shellcheck disable=SC2016
[ $# -gt 0 ] && printf '%s\0' "$@" | xargs -0 -n 1 -P "$jobs" bash -c 'run_one "$1"' run
passed=0 failed=0 left_out=0 names=()
for program in "$@"; do
    good=0 bad=1
    count=$out/${program//\//_}.count
    [ -s "$count" ] && read -r good bad <"$count"
    passed=$((passed + good))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ] || names+=("$(named "$program")")
    lacks=$(grep -c '^left out: ' "${count%.count}.log" 2>/dev/null)
    left_out=$((left_out + ${lacks:-0}))
done
[ ${#names[@]} -eq 0 ] || echo "FAILED: ${names[*]}"
echo "$passed passed, $failed failed, $left_out left out$([ $left_out -eq 0 ] || echo ': see above')"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
