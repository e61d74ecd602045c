#!/bin/bash
# tests/stalls.sh PROGRAM...: tests/run.sh on a machine that stands still now and then, as a virtual one does whose host
# is busy: no test may fail by that. As root, where version 2 of cgroups is mounted. STALL_MS: the longest stall.
set -uo pipefail

stall_ms=${STALL_MS:-1000}
mounted=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
group=$mounted/redlockd-stalls.$$
if ! [[ $stall_ms =~ ^[0-9]{3,5}$ ]] || [ "$stall_ms" -le 100 ]; then
    echo "$0: STALL_MS=$stall_ms is no number of 101 to 99999 ms" >&2
    exit 1
fi
if [ -z "$mounted" ] || ! mkdir "$group"; then
    echo "$0: cannot make a control group (root and a mounted cgroup2 are needed), so nothing was tested" >&2
    exit 1
fi

freeze() { # 0 or 1
    echo "$1" >"$group/cgroup.freeze"
}
# Ends whatever still runs: after ^C the tests, else what one of them has left behind.
drop() {
    local left
    freeze 0
    left=$(xargs <"$group/cgroup.procs")
    [ -z "$left" ] || echo 1 >"$group/cgroup.kill"
    until rmdir "$group" 2>/dev/null; do sleep 0.1; done
    [ -z "$left" ]
}
trap 'drop; exit 1' INT TERM

between() { # two numbers of ms: a number of seconds by chance
    local ms=$(($1 + RANDOM % ($2 - $1)))
    printf '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

export TEST_JOBS=${TEST_JOBS:-4}
# shellcheck disable=SC2016
bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' in_group "$group" "$(dirname "$0")/run.sh" "$@" &
tests=$!
while kill -0 $tests 2>/dev/null; do
    sleep "$(between 200 3000)"
    freeze 1
    sleep "$(between 100 "$stall_ms")"
    freeze 0
done
wait $tests
status=$?
if ! drop; then
    echo "$0: the tests ended and left processes behind, which were killed" >&2
    exit 1
fi
exit $status
