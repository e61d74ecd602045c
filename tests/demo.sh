#!/bin/bash
# tests/demo.sh REDLOCKD: a short session for the eye, with the daemon and five Redis masters of its own.
# ">" is what a client types into nc, "<" what it reads. Ends with 0 only if every answer was as expected.
set -uo pipefail

daemon=${1:-build/redlockd}
# shellcheck source=tests/talk.sh
. "$(dirname "$0")/talk.sh"

stopped='' # a master that kill -STOP has stopped cannot end
trap '[ -z "$stopped" ] || kill -CONT "$stopped" 2>/dev/null; clean' EXIT

say() { printf '\n%s\n' "-- $*"; }
fail() {
    printf '\ndemo: %s\n' "$*" >&2
    sed 's/^/    /' "$work/log" >&2
    exit 1
}

silent() { # client: it waits, so nothing comes
    IFS= read -r -t 0.3 line <&"${from[$1]}" && fail "$1 should wait, but got: $line"
    printf '%s   (waits)\n' "$1"
}
rows() { # client, the rows of an answer into $list
    list=()
    while IFS= read -r -t "$wait_s" line <&"${from[$1]}"; do
        [[ $line == '+END '* ]] && return
        list+=("$line")
    done
    fail "$1 got no +END within $wait_s s"
}

daemon_start
master=$(sed -n 's/^master 1 pid=\([0-9]*\) .*/\1/p' "$work/out")

say "redlockd runs with five Redis masters, which vote. Alice and Bob each use: nc -U $socket"
connect alice
connect bob

page=$(sed -n 's/^status page //p' "$work/out")
[ -n "$page" ] || fail 'it prints no address of its status page'
say "and shows itself in a browser: $page"

say 'Alice takes the lock "backup"; it is hers while she is connected'
type alice 'LOCK backup'
answer alice '^\+LOCKED backup token=[0-9a-f]{40} fence=[0-9]+ valid=[0-9]+ until=[0-9]+$'
[[ $line =~ fence=([0-9]+) ]] && first=${BASH_REMATCH[1]}

say 'Bob is refused'
type bob 'LOCK backup'
answer bob '^-BUSY backup'

say 'so he waits for it, and gets it as soon as Alice gives it back'
type bob 'LOCK backup wait=10s'
silent bob
type alice 'UNLOCK backup'
answer alice '^\+UNLOCKED backup confirmed=[3-5]/5$'
answer bob '^\+LOCKED backup token=[0-9a-f]{40} fence=[0-9]+ '
[[ $line =~ token=([0-9a-f]+)\ fence=([0-9]+) ]] && token=${BASH_REMATCH[1]} second=${BASH_REMATCH[2]}
((second > first)) || fail 'the fencing token did not grow'

say "master 1 hangs (kill -STOP $master); four of five are more than half, so Bob's lock holds, and new ones come"
kill -STOP "$master" || fail 'master 1 is gone'
stopped=$master
type bob "CHECK backup token=$token"
answer bob '^\+HELD backup valid=[0-9]+ until=[0-9]+$'
type alice 'LOCK report ttl=5s'
answer alice '^\+LOCKED report '

say "and the status page says what is wrong, and shows both locks: $page"
port=${page##*:}
for ((i = 0; i < wait_s * 10; i++)); do
    exec 9<>"/dev/tcp/127.0.0.1/${port%/}" && printf 'GET / HTTP/1.0\r\n\r\n' >&9
    shown=$(cat <&9)
    exec 9>&-
    [[ $shown == *'1 of 5 masters has no vote'* && $shown == *'>backup<'* && $shown == *'>report<'* ]] && break
    sleep 0.1
done
[[ $shown == *'1 of 5 masters has no vote'* ]] || fail 'the status page does not say that a master is away'
[[ $shown == *'>backup<'* && $shown == *'>report<'* ]] || fail 'the status page does not show the locks'
printf '%s\n' "$shown" | sed -n 's/<[^>]*>//g; s/^Locks are granted.*/    &/p; s/^Master .* has been.*/    &/p'

say 'and the daemon shows which one it is'
for ((i = 0; i < wait_s * 10; i++)); do
    printf 'SHOW NODES\n' >&"${to[alice]}"
    rows alice
    [[ ${list[0]} == *' state=up '* ]] || break
    sleep 0.1
done
printf 'alice > SHOW NODES\n'
printf 'alice < %s\n' "${list[@]}" '+END 5'
[ ${#list[@]} = 5 ] || fail 'expected five rows'
[[ ${list[0]} == *' state=slow '* || ${list[0]} == *' state=down '* ]] || fail 'master 1 should be slow or down'
for i in 1 2 3 4; do [[ ${list[i]} == *' state=up '* ]] || fail "master $((i + 1)) should be up"; done

say 'both give back what they hold'
type alice 'UNLOCK report'
answer alice '^\+UNLOCKED report confirmed=[34]/5$'
type bob 'UNLOCK backup'
answer bob '^\+UNLOCKED backup confirmed=[34]/5$'
type alice 'QUIT'
answer alice '^\+BYE'
type bob 'QUIT'
answer bob '^\+BYE'

say 'SIGTERM: nobody holds anything, so the daemon ends at once and takes its masters along'
kill -TERM "$daemon_pid"
wait "$daemon_pid" || fail "the daemon ended with $?"
daemon_pid='' stopped=''
[ ! -e "$socket" ] || fail "$socket is still there"
printf '\ndemo: all answers were as expected\n'
