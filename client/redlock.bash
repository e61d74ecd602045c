# shellcheck shell=bash
# Completion for redlock(1).

_redlock_words() { # word... for what is typed: $1
    mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$1")
}

# Locks that are held now through the redlockd at the usual address; none where no redlockd answers. Anybody may
# have chosen the names, and compgen -W would expand them: $(...) in a name would be executed.
_redlock_names() {
    local name
    while read -r name; do
        [[ $name == "$1"* ]] && COMPREPLY+=("$(printf %q "$name")")
    done < <(timeout 1 redlock show --rows locks 2>/dev/null | sed -n 's/^name=\([^ ]*\) .*/\1/p')
}

_redlock_options() {
    local take='-t --ttl -w --wait -n --nonblock -E --conflict-exit-code -q --quiet -v --verbose --timeout --shared --slots --note --client'
    case $1 in
    run) echo "$take -c --command --every --keep --every-try --max --grace -a --address -h --help --" ;;
    lead) echo '--data --restart -t --ttl -q --quiet -v --verbose --max --grace --note --client -c --command -a --address -h --help --' ;;
    lock) echo "$take --lease -a --address -h --help" ;;
    extend) echo '-t --ttl -q --quiet -a --address -h --help' ;;
    unlock | check) echo '-q --quiet -a --address -h --help' ;;
    show | who) echo '--table --rows --json -a --address -h --help' ;;
    watch) echo '--json -a --address -h --help' ;;
    break) echo '--slot -a --address -h --help' ;;
    ping) echo '--ready -q --quiet -w --wait -a --address -h --help' ;;
    top) echo '-d --delay -a --address -h --help' ;;
    mkuser) echo '-h --help' ;;
    esac
}

# Behind -- stands another command's line. Status 1: the cursor is not there yet.
_redlock_command() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = -- ] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        else
            mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}")
        fi
        return 0
    done
    return 1
}

_redlock() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at=1
    case ${COMP_WORDS[1]} in -a | --address) [ "$COMP_CWORD" -gt 2 ] && at=3 ;; esac
    local subcommand=${COMP_WORDS[at]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq "$at" ]; then
        _redlock_words "$word" run lead lock unlock extend check show who watch break ping top mkuser -a --address --help --version
        return
    fi
    [[ $subcommand == run || $subcommand == lead ]] && _redlock_command && return
    case $before in
    -t | --ttl | -w | --wait | --timeout | --every | --keep | --max | --grace | -d | --delay)
        _redlock_words "$word" 1s 10s 30s 1m 5m 1h
        return
        ;;
    -E | --conflict-exit-code | --note | --client | --data | -c | --command | --slot | --slots) return ;;
    -a | --address)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac
    case $subcommand:$word in
    *:-*) _redlock_words "$word" "$(_redlock_options "$subcommand")" ;;
    show:*) _redlock_words "$word" locks waiters nodes daemons group clients stats config reload version ;;
    run:* | lead:* | lock:* | unlock:* | extend:* | check:* | who:* | watch:* | break:*) _redlock_names "$word" ;;
    esac
}

complete -F _redlock redlock
