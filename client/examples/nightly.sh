#!/bin/sh
# A nightly job on ten hosts that runs once. In the crontab of all ten:
#
#     PATH=/usr/local/bin:/usr/bin:/bin
#     0 3 * * *  nightly.sh report make-report --all
#
# By hand, in several terminals at once: nightly.sh try sh -c 'date; sleep 5'
#
#  - "Once" is ensured by a lease for the job and this night, which nobody gives back. A lock that ends with
#    the job would not do, since a host whose clock is late asks when the first host has finished. The job is
#    not run again if it failed or its host died, since it may have been half done. A person has to look, and
#    may then run: NIGHT=2030-01-31-again nightly.sh report make-report --all
#  - "Not two at a time" is ensured by the lock under which the job runs, since last night's job may still be
#    running. This lock is renewed for as long as the job takes, and if it is lost, the job is ended (see
#    redlock(1)).
#
# The later hosts wait for a moment instead of giving up at once (-n): if the first host does not get the
# lease after all, because a master failed just then, another host does. The later hosts exit with 0 and
# print nothing.
job=${1:?usage: nightly.sh JOB COMMAND [ARGUMENT...]}
shift
night=${NIGHT:-$(date +%F)} # the date, so the crontab must not start it around midnight
keep=${KEEP:-1m}            # longer than the clocks of the hosts are apart; at most redlockd's max_ttl

redlock lock --lease -q -t "$keep" -w 2s "$job/$night" >/dev/null
case $? in
0) ;;
121) exit 0 ;; # another host has it
*) exit 75 ;;  # too few masters, no redlockd, no redlock: this was said, and cron mails it
esac
exec redlock run -w 12h "$job" -- "$@"
