#!/bin/sh
# One of several hosts leads, and everybody may know which one. On each host that could:
#
#     leader.sh scheduler 10.0.0.5:8080 scheduler --listen 10.0.0.5:8080
#
# Anywhere, without asking to lead: leader.sh scheduler
#
#  - Who leads runs the command. The command is ended before another host can lead (see redlock(1)), also by kill -9 of
#    redlock; then the next host leads at once. A host that dies is followed one TTL later.
#  - The address is told together with the lock: it is the leader's as long as it leads, and never a former one's.
#  - What the leader writes elsewhere carries REDLOCK_FENCE along, so that a former leader's late write can be refused.
#
# A leader that fails by itself gives up the lead, and another host has a second to take it.
name=${1:?usage: leader.sh NAME [ADDRESS COMMAND [ARGUMENT...]]}
if [ $# -eq 1 ]; then
    leader=$(redlock who --rows "$name") || exit
    leader=$(printf '%s\n' "$leader" | sed -n 's/.* data=\([^ ]*\).*/\1/p')
    echo "${leader:-nobody}"
    exit
fi
address=${2:?an ADDRESS, by which others find this host}
shift 2
exec redlock lead --restart --data "$address" "$name" -- "$@"
