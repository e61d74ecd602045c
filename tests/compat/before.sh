#!/bin/bash
# tests/compat/before.sh PROGRAM NOW REF: builds the daemon of the commit REF in build/before-<commit>, and runs PROGRAM
# (test_before.c), in which it works beside the daemon NOW on the same masters.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$1 now=$2 ref=${3-}
if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo 'left out: there is no repository here, so no earlier version can be built'
    exit 0
fi
[ -n "$ref" ] || {
    echo 'which commit? make compat-before REF=COMMIT' >&2
    exit 2
}
commit=$(git rev-parse --verify --quiet "$ref^{commit}") || {
    echo "compat-before: REF=$ref is no commit of this repository" >&2
    exit 2
}
folder=${now%/*}/before-${commit:0:12}
if [ ! -x "$folder/build/redlockd" ]; then
    mkdir -p "$folder"
    git archive "$commit" | tar -x -C "$folder"
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$folder" -j"${JOBS:-2}" NODEPS=1 LTO= build/redlockd >"$folder/log" 2>&1 || {
        tail -n 20 "$folder/log"
        echo "compat-before: the commit $ref cannot be built here: all of it is in $folder/log" >&2
        exit 1
    }
fi
echo "beside ${commit:0:12}:"
BEFORE=$(realpath "$folder")/build/redlockd NOW=$(realpath "$now") exec "$program" test_before
