#!/bin/bash
# tests/cov/cov.sh FOLDER PROGRAM[:FILE]...: runs the programs and the simulator of a --coverage build in FOLDER,
# adds up what gcov counted and prints a table. MISSED=1 names the lines and branches that nothing reached.
set -euo pipefail

build=$1
shift
least_lines=${LEAST_LINES:-95} least_branches=${LEAST_BRANCHES:-90}
find "$build" -name '*.gcda' -delete
for program in "$@"; do
    IFS=: read -ra command <<<"$program"
    CK_FORK=no "${command[@]}" >"$build/cov.log" 2>&1 || { cat "$build/cov.log"; exit 1; }
done
"$build/tests/sim/sim" --seed 1 --runs "${RUNS:-400}" >"$build/cov.log" 2>&1 || { cat "$build/cov.log"; exit 1; }

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
find "$PWD/$build" -name '*.gcda' | grep -E '/(proto|daemon/coordinator)/([a-z_]*/)?[a-z_]*\.gcda$' >"$raw/list"
number=0
while read -r data; do
    number=$((number + 1))
    mkdir "$raw/$number"
    ln -s "$PWD/proto" "$PWD/daemon" "$raw/$number/" # gcov wants the sources where it runs
    (cd "$raw/$number" && gcov -b -c -o "${data%.gcda}.o" "$data" >/dev/null 2>&1) || true
done <"$raw/list"

# shellcheck disable=SC2016
# Lines are "count:line:text" with branches below them; a line or branch is covered when any build ran it.
find "$raw" -name '*.gcov' -print0 | xargs -0 awk -v least_lines="$least_lines" -v least_branches="$least_branches" '
    FNR == 1 { file = ""; line = 0 }
    /^ *-: *0:Source:/ { file = $0; sub(/.*Source:/, "", file); next }
    file !~ /^(proto|daemon\/coordinator)\/([a-z_]*\/)?[a-z_]*\.[ch]$/ { next }
    /^branch/ {
        key = file SUBSEP line SUBSEP $2
        branches[key]; if ($0 !~ /never executed/ && $4 + 0 > 0) taken[key]
        next
    }
    /^ *[0-9#=-]+\*?: *[0-9]+:/ {
        split($0, part, ":"); count = part[1]; gsub(/[ *]/, "", count); line = part[2] + 0
        if (count == "-" || line == 0) next
        lines[file SUBSEP line]; if (count !~ /^[#=]/) run[file SUBSEP line]
    }
    END {
        for (k in lines) { split(k, p, SUBSEP); n[p[1]]++; if (k in run) r[p[1]]++
                           if (!(k in run) && ENVIRON["MISSED"]) print "missed " p[1] ":" p[2] | "sort -t: -k1,1 -k2n" }
        for (k in branches) { split(k, p, SUBSEP); b[p[1]]++; if (k in taken) t[p[1]]++ 
                              if (!(k in taken) && ENVIRON["MISSED"]) print "branch " p[1] ":" p[2] | "sort -t: -k1,1 -k2n" }
        close("sort -t: -k1,1 -k2n")
        for (f in n) {
            printf "%-36s lines %5.1f %% of %4d   branches %5.1f %% of %4d\n", f, 100 * r[f] / n[f], n[f],
                   b[f] ? 100 * t[f] / b[f] : 100, b[f] | "sort"
            N += n[f]; R += r[f]; B += b[f]; T += t[f]
        }
        close("sort")
        printf "%-36s lines %5.1f %% of %4d   branches %5.1f %% of %4d\n", "all", 100 * R / N, N, 100 * T / B, B
        exit 100 * R / N < least_lines || 100 * T / B < least_branches
    }'
