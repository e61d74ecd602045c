#!/bin/sh
# A nightly job on ten hosts that runs once. In the crontab of all ten:
#
#     PATH=/usr/local/bin:/usr/bin:/bin
#     0 3 * * *  nightly.sh report make-report --all
#
# By hand, in several terminals at once: EVERY=1m nightly.sh try sh -c 'date; sleep 5'
#
#  - One host gets the lock and runs the job under it. The lock is renewed for as long as the job takes, and if it
#    is lost, the job is ended (see redlock(1)).
#  - When the job has succeeded, its name is kept, though nobody holds it, until nine tenths of the period after the
#    lock was asked for. A host whose clock is late finds the name taken, exits with 0 and prints nothing.
#  - If the job fails, or its host dies, the next host that asks runs it. A job that must not be tried again says
#    --every-try below, and has to be safe where a host dies in the middle of it.
#  - To run it once more on purpose, end that first: printf 'UNLOCK report kept\n' | nc -N 127.0.0.1 7335
job=${1:?usage: nightly.sh JOB COMMAND [ARGUMENT...]}
shift
exec redlock run --every "${EVERY:-24h}" "$job" -- "$@"
