#!/bin/sh
# A program of which five copies may run at a time, on ten hosts: the vendor sold licences 0 to 4.
#
#     licence.sh simulate sh -c 'echo "licence $REDLOCK_SLOT"; sleep 20'       in several terminals
#
#  - Each place is a lock of its own, with an owner and an end: a licence never leaks. A host that loses its
#    power has its licence back one TTL later, a command that is killed at once.
#  - REDLOCK_SLOT is the number of the licence, from 0 on. No two commands that run have the same.
#  - When the place is lost, the command is ended before another can have the licence (see redlock(1)).
#
# All hosts must say the same number of licences: redlockd refuses another one for the same name, and who buys
# more stops all commands first, or takes another name.
pool=${1:?usage: licence.sh POOL COMMAND [ARGUMENT...]}
shift
exec redlock run -w "${WAIT:-12h}" --slots "${LICENCES:-5}" "licence/$pool" -- "$@"
