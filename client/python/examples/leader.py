#!/usr/bin/env python3
"""leader.py NAME: one leader among many. Each copy waits for the lock. The copy that has it works, here by printing a
line every 100 ms, and the next copy takes over when the leader ends or loses the lock. Try ^C, ^Z and kill -9."""
import os
import sys

import redlockd


def lead(lock):
    print(os.getpid(), "leads fence", lock.fence, flush=True)
    while not lock.lost.wait(0.1):  # a pause that a loss ends
        print(os.getpid(), "works fence", lock.fence, flush=True)


def main():
    client = redlockd.Client()
    while True:
        try:
            with client.lock(sys.argv[1], ttl=10, max=3600) as lock:
                lead(lock)
        except redlockd.LostError as error:
            print(os.getpid(), "lost it:", error, flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
