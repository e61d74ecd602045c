#compdef redlock
# Completion for redlock(1).

# Locks that are held now through the redlockd at the usual address; none where no redlockd answers.
_redlock_names() {
    local -a names
    names=(${(f)"$(timeout 1 redlock show --rows locks 2>/dev/null | sed -n 's/^name=\([^ ]*\) .*/\1/p')"})
    compadd -a names
}

_redlock_times() { compadd 1s 10s 30s 1m 5m 1h }

_redlock() {
    local context state line
    typeset -A opt_args
    local -a usual take quiet
    usual=('(-a --address)'{-a,--address}'[where redlockd is]:address:_files' '(- *)'{-h,--help}'[help]')
    quiet=('(-q --quiet)'{-q,--quiet}'[print no complaint]')
    take=(
        '(-t --ttl)'{-t,--ttl}'[how long the lock lasts when nobody renews it]:time:_redlock_times'
        '(-w --wait)'{-w,--wait}'[how long to wait]:time:_redlock_times'
        '(-n --nonblock)'{-n,--nonblock}'[do not wait]'
        '(-E --conflict-exit-code)'{-E,--conflict-exit-code}'[the status if another has the lock]:status:'
        '(-v --verbose)'{-v,--verbose}'[say what happens]'
        '--timeout[how long redlockd may be silent]:time:_redlock_times'
        '--shared[as one of many readers]'
        '--slots[as one of so many holders]:number:'
        '--note[a word that show locks prints]:word:'
        '--client[a word that show clients prints]:word:'
    )
    _arguments -C '(-a --address)'{-a,--address}'[where redlockd is]:address:_files' '(- *)--help[help]' \
        '(- *)--version[the version]' \
        '1:subcommand:(run lead lock unlock extend check show who watch break ping top mkuser)' '*::argument:->arguments'
    [[ $state == arguments ]] || return
    case $words[1] in
    run | lead)
        local dashes=${words[(i)--]}
        if ((dashes < CURRENT)); then # behind -- stands another command's line
            shift $dashes words
            ((CURRENT -= dashes))
            _normal
            return
        fi
        if [[ $words[1] == lead ]]; then
            _arguments $usual $quiet '(-t --ttl)'{-t,--ttl}'[how long others wait when this host dies]:time:_redlock_times' \
                '(-c --command)'{-c,--command}'[a line for the shell]:command:' \
                '--data[what who tells of the leader]:text:' \
                '--restart[wait again when the command has ended by itself]' \
                '(-v --verbose)'{-v,--verbose}'[say what happens]' \
                '--max[how long it leads at a time at most]:time:_redlock_times' \
                '--grace[how long the command may take to end]:time:_redlock_times' \
                '--note[a word that show locks prints]:word:' \
                '--client[a word that show clients prints]:word:' ':name:_redlock_names'
            return
        fi
        _arguments $usual $quiet $take '(-c --command)'{-c,--command}'[a line for the shell]:command:' \
            '--every[once in so long, on one of many hosts]:time:_redlock_times' \
            '--keep[keep the name for so long in place of that]:time:_redlock_times' \
            '--every-try[keep the name whatever the exit code is]' \
            '--max[how long redlockd renews it at most]:time:_redlock_times' \
            '--grace[how long the command may take to end]:time:_redlock_times' ':name:_redlock_names'
        ;;
    lock) _arguments $usual $quiet $take '--lease[nobody renews it]' ':name:_redlock_names' ;;
    extend)
        _arguments $usual $quiet '(-t --ttl)'{-t,--ttl}'[how long it is to last]:time:_redlock_times' \
            ':name:_redlock_names' ':token:'
        ;;
    unlock | check) _arguments $usual $quiet ':name:_redlock_names' ':token:' ;;
    show)
        _arguments $usual --table --rows --json \
            '*:what:(locks waiters nodes daemons group clients stats config reload version)'
        ;;
    who) _arguments $usual --table --rows --json ':name:_redlock_names' ;;
    watch) _arguments $usual '--json[one JSON object a line]' ':name:_redlock_names' ;;
    break) _arguments $usual '--slot[which of its slots]:number:' ':name:_redlock_names' ;;
    ping)
        _arguments $usual $quiet '--ready[whether it can grant locks]' \
            '(-w --wait)'{-w,--wait}'[how long to wait]:time:_redlock_times'
        ;;
    top) _arguments $usual '(-d --delay)'{-d,--delay}'[between two pictures]:time:_redlock_times' ;;
    mkuser) _arguments '(- *)'{-h,--help}'[help]' ;;
    esac
}

_redlock "$@"
