# shellcheck shell=bash
# Sourced by scripts that talk to a daemon: one with five masters of its own, and its clients, each an nc. The caller sets
# $daemon (the program), and gets $work, a folder of its own; clean() ends the daemon and removes the folder.

: "${daemon:?}"
work=$(mktemp -d) || exit 1
wait_s=30  # for any single answer
start_s=60  # for five masters and a daemon, on a machine that runs all tests at once
daemon_pid=''

clean() {
    trap - EXIT
    daemon_end
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { # why
    printf '%s\n' "$*"
    exit 1
}

# Sets $daemon_pid and $socket. $work/out then has the masters and addresses.
daemon_start() {
    : >"$work/out"
    "$daemon" --dev >>"$work/out" 2>"$work/log" &
    daemon_pid=$!
    for ((i = 0; i < start_s * 20; i++)); do
        grep -q '^listening on unix:' "$work/out" && break
        kill -0 "$daemon_pid" 2>/dev/null || break
        sleep 0.05
    done
    socket=$(sed -n 's/^listening on unix://p' "$work/out")
    [ -n "$socket" ] || fail "the daemon did not start: $(cat "$work/out" "$work/log")"
}

daemon_end() {
    if [ -n "$daemon_pid" ] && kill "$daemon_pid" 2>/dev/null; then
        kill "$daemon_pid" 2>/dev/null # the second signal does not wait for holders
        for ((i = 0; i < 100; i++)); do
            kill -0 "$daemon_pid" 2>/dev/null || break
            sleep 0.05
        done
        kill -KILL "$daemon_pid" 2>/dev/null # its watcher cleans up
        wait "$daemon_pid" 2>/dev/null
    fi
}

declare -A to=() from=()
connect() { # client
    rm -f "$work/$1.to" "$work/$1.from"
    mkfifo "$work/$1.to" "$work/$1.from"
    # Without the pipes of other clients, which could not be closed while this nc has them open.
    (
        for fd in "${to[@]}" "${from[@]}"; do exec {fd}>&-; done
        exec nc -N -U "$socket"
    ) <"$work/$1.to" >"$work/$1.from" 2>>"$work/log" &
    exec {fd}>"$work/$1.to"
    to[$1]=$fd
    exec {fd}<"$work/$1.from"
    from[$1]=$fd
}

# Waits until redlockd has closed the connection too, and so given back what the client held.
disconnect() { # client
    fd=${to[$1]}
    exec {fd}>&-
    while IFS= read -r -t "$wait_s" line <&"${from[$1]}"; do :; done
    fd=${from[$1]}
    exec {fd}<&-
    unset "to[$1]" "from[$1]"
}

type() { # client, line
    printf '%s > %s\n' "$1" "$2"
    printf '%s\n' "$2" >&"${to[$1]}" || fail "$1 cannot write"
}

answer() { # client, extended regular expression
    IFS= read -r -t "$wait_s" line <&"${from[$1]}" || fail "$1 got no answer within $wait_s s; expected $2"
    printf '%s < %s\n' "$1" "$line"
    [[ $line =~ $2 ]] || fail "expected $2"
}
