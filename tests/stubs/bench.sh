#!/bin/bash
# tests/stubs/bench.sh PROGRAM...: one redlockd and three masters; each PROGRAM (libredlock's first) and client/*/bench
# in turns. Each gets the argument SECONDS and prints "cycles N": pairs of a LOCK and an UNLOCK a second, by 64 tasks over
# one connection on distinct names.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${BENCH_S:-2} rounds=${BENCH_ROUNDS:-3}
coproc WORLD { exec tests/stubs/world; }
read -r _ address _ <&"${WORLD[0]}"
export REDLOCK_ADDRESS=unix:${address#unix=}

cycles() {
    "$1" "$seconds" | sed -n 's/^cycles \([0-9]*\)$/\1/p'
}
median() {
    sort -n | sed -n "$((rounds / 2 + 1))p"
}
best=()
for program in "$@" client/*/bench; do
    if [ -f "$program" ] && [ -x "$program" ]; then best+=("$program"); fi
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for ((round = 0; round < rounds; round++)); do
    for i in "${!best[@]}"; do
        cycles "${best[$i]}" >>"$out/$i" || echo "${best[$i]} failed" >&2
    done
done
base=$(median <"$out/0")
printf '%-28s %8s   of libredlock\n' "64 tasks, one connection" "cycles/s"
for i in "${!best[@]}"; do
    rate=$(median <"$out/$i")
    [ -n "$rate" ] && printf '%-28s %8d   %4d %%\n' "${best[$i]}" "$rate" $((100 * rate / base))
done
echo stop >&"${WORLD[1]}"
