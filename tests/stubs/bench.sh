#!/bin/bash
# tests/stubs/bench.sh PROGRAM...: one redlockd and three masters; each PROGRAM (libredlock's first) and client/*/bench
# in turns: first one caller, then 64 tasks over one connection on distinct names. Each gets the arguments SECONDS and TASKS,
# and prints "cycles N": pairs of a LOCK and an UNLOCK a second.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${BENCH_S:-2} rounds=${BENCH_ROUNDS:-3}
coproc WORLD { exec tests/stubs/world; }
read -r _ address _ <&"${WORLD[0]}"
export REDLOCK_ADDRESS=unix:${address#unix=}

cycles() {
    "$1" "$seconds" "$2" | sed -n 's/^cycles \([0-9]*\)$/\1/p'
}
median() {
    sort -n | sed -n "$((rounds / 2 + 1))p"
}
best=()
for program in "$@" client/*/bench client/*/bench-*; do
    if [ -f "$program" ] && [ -x "$program" ]; then best+=("$program"); fi
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
compare() { # tasks, title
    rm -f "$out"/*
    for ((round = 0; round < rounds; round++)); do
        for i in "${!best[@]}"; do
            cycles "${best[$i]}" "$1" >>"$out/$i" || echo "${best[$i]} failed" >&2
        done
    done
    local base rate
    base=$(median <"$out/0")
    printf '%-28s %8s   of libredlock\n' "$2" "cycles/s"
    for i in "${!best[@]}"; do
        rate=$(median <"$out/$i")
        [ -n "$rate" ] && printf '%-28s %8d   %4d %%\n' "${best[$i]}" "$rate" $((100 * rate / base))
    done
}
compare 1 "one caller"
compare 64 "64 tasks, one connection"
echo stop >&"${WORLD[1]}"
