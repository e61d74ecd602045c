#!/bin/bash
# tests/bench/instr.sh PROGRAM FOLDER: instructions a cycle by part of the daemon and by function, from callgrind.
# A figure that repeats: a change that costs more shows in it, whatever else the machine does.
set -euo pipefail

program=$1 folder=$2 cycles=10000
command -v callgrind_annotate >/dev/null || {
    echo 'instr: needs valgrind (on Debian and Ubuntu: apt-get install valgrind)' >&2
    exit 1
}
mkdir -p "$folder"

# Lines "instructions function object" -> instructions a cycle of each part, and of the most expensive functions.
summary() {
    awk -v cycles="$1" '
    function part(where) {
        if (where ~ /daemon\/coordinator\//) return "coordinator"
        if (where ~ /daemon\/conn\//) return "conn"
        if (where ~ /daemon\/node\//) return "node"
        if (where ~ /daemon\/buffer/) return "buffer"
        if (where ~ /daemon\//) return "loop"
        if (where ~ /proto\/line/) return "line"
        if (where ~ /proto\//) return "resp"
        if (where ~ /libevent/) return "libevent"
        if (where ~ /libhiredis/) return "libhiredis"
        if (where ~ /malloc|free|realloc|calloc/) return "libc: memory"
        if (where ~ /tests\/bench/) return "clock and chance, as replaced here"
        return "libc"
    }
    /^ *[0-9,]+ +\(/ && !/PROGRAM TOTALS/ {
        gsub(",", "", $1)
        count = $1
        sub(/^ *[0-9]+ +\([^)]*\) +/, "")
        sum[part($0)] += count
        total += count
        sub(/ \[.*/, "")
        sub(/.*\//, "")
        if (functions++ < 20)
            top[functions] = sprintf("    %9.1f  %s", count / cycles, $0)
    }
    END {
        printf "  %9.1f  instructions a cycle\n", total / cycles
        for (p in sum)
            printf "    %9.1f  %s\n", sum[p] / cycles, p | "sort -rn"
        close("sort -rn")
        print "  of these, by function:"
        for (i = 1; i in top; i++)
            print top[i]
    }'
}

# The cost of the daemon's functions with all that they call.
inclusive() {
    awk -v cycles="$1" '
    /^ *[0-9,]+ +\(/ && /(daemon|proto)\// && !/main|loop_run/ && shown < 30 {
        gsub(",", "", $1)
        count = $1
        sub(/^ *[0-9]+ +\([^)]*\) +/, "")
        sub(/ \[.*/, "")
        sub(/.*\//, "")
        printf "    %9.1f  %s\n", count / cycles, $0
        shown++
    }'
}

measure() { # title, workers, connections
    local work out
    work=$(mktemp -d)
    out=$folder/callgrind.$2.$3
    valgrind --quiet --tool=callgrind --collect-atstart=no --callgrind-out-file="$out" \
        "$program" "$work" "$2" "$3" "$cycles" >"$folder/said" || {
        rm -rf "$work"
        return 1
    }
    rm -rf "$work"
    printf '\n%s: %s\n' "$1" "$(cat "$folder/said")"
    local cycles_done
    cycles_done=$(sed 's/cycles=\([0-9]*\).*/\1/' "$folder/said")
    callgrind_annotate --threshold=100 --auto=no "$out" | sed -n '/file:function/,$p' | summary "$cycles_done"
    echo '  with what they call:'
    callgrind_annotate --threshold=100 --auto=no --inclusive=yes "$out" | sed -n '/file:function/,$p' | inclusive "$cycles_done"
}

commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
git diff --quiet HEAD -- proto daemon 2>/dev/null || commit="$commit and changes"
printf 'commit: %s\n%s\n%s, CFLAGS and libraries as make has them; system calls are not counted\n' "$commit" \
    "lock and unlock over five masters replayed from memory, $cycles cycles" "$(${CC:-cc} --version | head -1)"
measure '64 workers, one connection each' 64 64
measure '64 tags over 4 connections' 64 4
measure '1 worker' 1 1
