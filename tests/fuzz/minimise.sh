#!/bin/bash
# tests/fuzz/minimise.sh FOLDER NAME...: writes tests/fuzz/corpus/NAME.hex anew, with the fewest inputs that reach, beside
# the files of tests/fuzz/corpus/NAME, all that the inputs of both and of FOLDER/corpus/NAME reach. FOLDER is where
# `make fuzz` has built.
set -euo pipefail

folder=$1
shift
for name in "$@"; do
    merged=$(mktemp -d)
    all=$(mktemp -d)
    "${folder%/*}/tests/fuzz/replay" --unpack "$name" "$all"
    mkdir -p "$folder/corpus/$name"
    cp "tests/fuzz/corpus/$name"/* "$merged"
    # What the folder merged into reaches already is added to by nothing.
    "$folder/fuzz_$name" -merge=1 -set_cover_merge=1 "$merged" "$all" "$folder/corpus/$name" 2>&1 | tail -n 1
    for input in "$merged"/*; do
        [ -e "tests/fuzz/corpus/$name/${input##*/}" ] || { od -An -v -tx1 "$input" | tr -d "\n "; echo; }
    done | awk '{ print length($0), $0 }' | sort -n | cut -d ' ' -f 2 >"tests/fuzz/corpus/$name.hex"
    rm -rf "$merged" "$all"
done
