#!/bin/sh
# A nightly job on ten hosts that runs once. In the crontab of all ten:
#
#     0 3 * * *  nightly.sh report make-report --all
#
# By hand, in several terminals at once: nightly.sh try sh -c 'date; sleep 5'
#
#  - "Once" is a lease for the job and this night, which nobody gives back. A lock that ends with the job
#    would not do: the host whose clock is late asks when the first one has finished. Nor is the job begun
#    again when it failed or its host died: it may have been half done. That is for a person to see, and
#    to say: NIGHT=2030-01-31-again nightly.sh report make-report --all
#  - "Not two at a time" is the lock under which it runs: last night's may still be at it. It is renewed
#    for as long as the job takes, and when it is lost, the job is ended (see redlock(1)).
#
# Those who are later wait for a moment instead of leaving at once (-n): should the first one not get it
# after all, since just then a master failed, another one does. They end with 0 and without a word.
job=${1:?usage: nightly.sh JOB COMMAND [ARGUMENT...]}
shift
night=${NIGHT:-$(date +%F)} # so not around midnight
keep=${KEEP:-1m}            # longer than the clocks of the hosts are apart; at most redlockd's max_ttl

eval "$(redlock lock --lease -q -t "$keep" -w 2s "$job/$night")"
case $? in
0) ;;
121) exit 0 ;; # somebody else has it
*) exit 75 ;;  # too few masters, no redlockd: redlock has said so, and cron mails it
esac
exec redlock run -w 12h "$job" -- "$@"
