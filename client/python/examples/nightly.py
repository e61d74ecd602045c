#!/usr/bin/env python3
"""nightly.py JOB COMMAND [ARGUMENT...]: a nightly job in the crontab of ten hosts that runs once.

"Once" is a lease for the job and this night, which nobody gives back: a lock that ends with the job would let in the
host whose clock is late. "Not two at a time" is the lock under which the job runs; when that lock is lost, the job is
killed. NIGHT names the night (default: today), KEEP for how many seconds the lease lives (60; longer than the hosts'
clocks are apart).
"""
import datetime
import os
import subprocess
import sys

import redlockd


def run(lock, command):
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            if lock.lost.wait(0.05):
                process.kill()
    return process.returncode


def main():
    job, *command = sys.argv[1:]
    night = os.environ.get("NIGHT") or datetime.date.today().isoformat()
    client = redlockd.Client()
    once = client.lock(f"{job}/{night}", hold="lease", ttl=float(os.environ.get("KEEP", "60")))
    if not once.acquire(blocking_timeout=2):
        return 0  # another host does it
    with client.lock(job, blocking_timeout=12 * 3600) as lock:
        return run(lock, command)


if __name__ == "__main__":
    sys.exit(main())
