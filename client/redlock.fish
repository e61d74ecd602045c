# Completion for redlock(1).

# Locks that are held now through the redlockd at the usual address; none where no redlockd answers.
function __redlock_names
    timeout 1 redlock show --rows locks 2>/dev/null | string replace -rf '^name=(\S*) .*' '$1'
end

# The subcommand is the first word, or follows -a ADDRESS.
function __redlock_subcommand
    set -l words (commandline -opc)
    set -e words[1]
    if contains -- "$words[1]" -a --address
        set -e words[1..2]
    end
    echo $words[1]
end

function __redlock_is
    contains -- (__redlock_subcommand) $argv
end

# Behind -- stands another command's line.
function __redlock_in_command
    contains -- -- (commandline -opc)
end

function __redlock_command
    set -l words (commandline -opc)
    set -e words[1..(contains -i -- -- $words)]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

function __redlock_takes_option
    __redlock_is $argv; and not __redlock_in_command
end

complete -c redlock -f
complete -c redlock -n '__redlock_is ""' -a 'run lead lock unlock extend check show who watch break ping top mkuser'
complete -c redlock -n '__redlock_is ""' -l help
complete -c redlock -n '__redlock_is ""' -l version
complete -c redlock -n 'not __redlock_in_command' -s a -l address -rF
complete -c redlock -n '__redlock_is run lead; and __redlock_in_command' -a '(__redlock_command)'
complete -c redlock -n '__redlock_takes_option run lead lock unlock extend check who watch break' -a '(__redlock_names)'
complete -c redlock -n '__redlock_is show' -a 'locks waiters nodes daemons group clients stats config reload version'

set -l times '1s 10s 30s 1m 5m 1h'
complete -c redlock -n '__redlock_takes_option run lead lock' -s t -l ttl -xa $times
complete -c redlock -n '__redlock_takes_option run lock' -s w -l wait -xa $times
complete -c redlock -n '__redlock_takes_option run lock' -s n -l nonblock
complete -c redlock -n '__redlock_takes_option run lock' -s E -l conflict-exit-code -x
complete -c redlock -n '__redlock_takes_option run lead lock' -s v -l verbose
complete -c redlock -n '__redlock_takes_option run lock' -l timeout -xa $times
complete -c redlock -n '__redlock_takes_option run lock' -l shared
complete -c redlock -n '__redlock_takes_option run lock' -l slots -x
complete -c redlock -n '__redlock_takes_option run lead lock' -l note -x
complete -c redlock -n '__redlock_takes_option run lead lock' -l client -x
complete -c redlock -n '__redlock_takes_option run lead lock unlock extend check ping' -s q -l quiet
complete -c redlock -n '__redlock_takes_option run lead' -s c -l command -x
complete -c redlock -n '__redlock_takes_option run' -l every -xa $times
complete -c redlock -n '__redlock_takes_option run' -l keep -xa $times
complete -c redlock -n '__redlock_takes_option run' -l every-try
complete -c redlock -n '__redlock_takes_option run lead' -l max -xa $times
complete -c redlock -n '__redlock_takes_option run lead' -l grace -xa $times
complete -c redlock -n '__redlock_takes_option lead' -l data -x
complete -c redlock -n '__redlock_takes_option lead' -l restart
complete -c redlock -n '__redlock_is lock' -l lease
complete -c redlock -n '__redlock_is extend' -s t -l ttl -xa $times
complete -c redlock -n '__redlock_is show who' -l table
complete -c redlock -n '__redlock_is show who' -l rows
complete -c redlock -n '__redlock_is show who watch' -l json
complete -c redlock -n '__redlock_is break' -l slot -x
complete -c redlock -n '__redlock_is ping' -l ready
complete -c redlock -n '__redlock_is ping' -s w -l wait -xa $times
complete -c redlock -n '__redlock_is top' -s d -l delay -xa $times
complete -c redlock -n '__redlock_takes_option run lead lock unlock extend check show who watch break ping top mkuser' -s h -l help
