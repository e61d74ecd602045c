#!/bin/bash
# tests/bench/exclude.sh REDLOCKD NODE_MODULES SECONDS [PREFIX]: exclude.js with a daemon and five masters of its own.
# With a PREFIX that is not the daemon's the library's locks are other locks, and the run must end with overlaps.
set -uo pipefail

daemon=$1 modules=$2 seconds=$3 prefix=${4-redlock:}
# shellcheck source=tests/talk.sh
. "$(dirname "$0")/../talk.sh"

daemon_start
mapfile -t masters < <(sed -n 's/^master [0-9]* .*unix://p' "$work/out")
[ "${#masters[@]}" -eq 5 ] || fail "five masters expected: $(cat "$work/out")"
NODE_PATH=$modules node "$(dirname "$0")/exclude.js" "$((seconds * 1000))" "$socket" "$prefix" "${masters[@]}"
