#!/bin/bash
# tests/fuzz/run.sh FOLDER SECONDS NAME...: runs FOLDER/fuzz_NAME for so many seconds, two at a time.
# SEED=n repeats a run (0: by chance). Inputs that reach new code are kept in FOLDER/corpus, and inputs that crash a
# fuzzer in FOLDER/NAME-crash-...
# Runs of ten minutes or more are counted in tests/fuzz/HOURS, which is committed by hand: a line for each version of a
# fuzzer, with the sum of its time. The version is a hash of the files that the fuzzers are built from.
set -uo pipefail

folder=$1 seconds=$2
shift 2

# The files that the compiler read, as it listed them, but the lines of what lies outside of this tree.
version() {
    find "$folder/obj" -name '*.d' -exec cat {} + | tr -s ' :\134' '\n' | grep -E '^[a-z].*\.(c|h|def)$' | LC_ALL=C sort -u |
        xargs sha256sum | sha256sum | cut -c 1-12
}

count() { # NAME RUNS FOUND
    local list=tests/fuzz/HOURS key
    key="$(version) $1"
    (
        flock 9
        touch "$list"
        awk -v key="$key" -v date="$(date +%F)" -v seconds="$seconds" -v runs="$2" -v found="$3" '
            $2 " " $3 == key { seconds += $5; runs += $7; if ($9 != "nothing") found = $9; next }
            { print }
            END { print date, key, "seconds", seconds, "runs", runs, "found", found }' "$list" >"$folder/HOURS"
        cp "$folder/HOURS" "$list"
    ) 9>"$folder/lock"
}

run_one() {
    local name=$1 log=$folder/$1.log
    local args=(-seed="${SEED:-0}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
        -reload=0 -artifact_prefix="$folder/$name-")
    [ -f "tests/fuzz/$name.dict" ] && args+=(-dict="tests/fuzz/$name.dict")
    case $name in
    line) args+=(-max_len=2200) ;;
    coordinator) args+=(-max_len=2000) ;;
    *) args+=(-max_len=8000) ;;
    esac
    mkdir -p "$folder/corpus/$name"
    "${folder%/*}/tests/fuzz/replay" --unpack "$name" "$folder/corpus/$name" || return 1
    "$folder/fuzz_$name" "${args[@]}" "$folder/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1
    local status=$?
    local runs coverage
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    if [ $status -eq 0 ] && [ -n "$runs" ]; then
        printf 'ok    fuzz_%-14s %10d runs, %5d edges covered\n' "$name" "$runs" "$coverage"
        [ "$seconds" -lt 600 ] || count "$name" "$runs" nothing
        return 0
    fi
    [ "$seconds" -lt 600 ] || count "$name" "${runs:-0}" something
    printf '%s\n' "$(
        printf 'FAIL  fuzz_%s: exit status %d; again: make %s/tests/fuzz/replay && %s/tests/fuzz/replay %s/%s-*\n' \
            "$name" $status "${folder%/*}" "${folder%/*}" "$folder" "$name"
        grep -v '^#' "$log" | tail -n 60 | sed 's/^/      /'
    )"
    return 1
}
export -f run_one count version
export folder seconds

mkdir -p "$folder"
# shellcheck disable=SC2016
printf '%s\0' "$@" | xargs -0 -n 1 -P "${JOBS:-2}" bash -c 'run_one "$1"' run
