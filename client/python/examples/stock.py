#!/usr/bin/env python3
"""stock.py [-a] REDIS ITEM WORKERS: stock that must not be oversold. 200 workers want one item each, and there are 50.

    redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
    stock.py localhost:6379 lamp 200         "50 sold, 150 came too late"

Each worker, a thread here, reads how many items are left, decides, and writes how many are left then. The lock lets one
worker at a time do so. The fence keeps the number right if a worker stands still after it has read, for longer than it
may hold the lock, and then tries to write an old number. Try it: with -a a worker asks before it buys: press ^Z, run the
line above in another terminal, then fg, Enter: "refused", and the worker reads again.

The workers show the fence for reading too. If they showed it for writing only, a late worker could still write after the
next worker has read and before the next worker has written.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import sys
import time

import redlockd
from resource import Redis

# A fenced resource keeps the highest fence that it was shown, and refuses a lower fence.
FENCED = ("if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return -1 end "
          "redis.call('HSET', KEYS[1], 'fence', ARGV[1]) ")
READ = FENCED + "return tonumber(redis.call('HGET', KEYS[1], 'left') or 0)"
WRITE = FENCED + "redis.call('HSET', KEYS[1], 'left', ARGV[2]) return redis.call('RPUSH', KEYS[2], ARGV[3])"
SOLD, TOO_LATE, REFUSED = "sold", "too late", "refused"


class Shop:
    def __init__(self, client, redis, item, asks):
        self.client, self.redis, self.item, self.asks = client, redis, item, asks

    def buy_locked(self, worker, fence):
        item = self.item
        left = self.redis("EVAL", READ, 1, f"stock:{item}", fence)
        if left <= 0:
            return TOO_LATE if left == 0 else REFUSED
        if self.asks:  # these lines stand for the steps between reading and writing
            print(f"worker {worker}: {left} left; Enter buys", flush=True)
            sys.stdin.readline()
        else:
            time.sleep(0.001)
        written = self.redis("EVAL", WRITE, 2, f"stock:{item}", f"orders:{item}", fence, left - 1, f"worker-{worker}")
        return SOLD if written > 0 else REFUSED

    def try_to_buy(self, worker):
        # max: a worker that stands still holds up the others for no longer than this and one ttl. Whether the lock was
        # still held in the end does not matter, since the fence has decided.
        with contextlib.suppress(redlockd.LostError):
            with self.client.lock(f"stock:{self.item}", ttl=2, max=4, blocking_timeout=60) as lock:
                outcome = self.buy_locked(worker, lock.fence)  # one fence for both steps of the same hold
        return outcome

    def buy(self, worker):
        while (outcome := self.try_to_buy(worker)) == REFUSED:
            print(f"worker {worker}: refused, a later lock was here; again", flush=True)
        return outcome


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-a", action="store_true", help="ask before buying")
    parser.add_argument("redis")
    parser.add_argument("item")
    parser.add_argument("workers", type=int)
    args = parser.parse_args()
    shop = Shop(redlockd.Client(), Redis(args.redis), args.item, args.a)
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        outcomes = collections.Counter(pool.map(shop.buy, range(1, args.workers + 1)))
    print(f"{outcomes[SOLD]} sold, {outcomes[TOO_LATE]} came too late")


if __name__ == "__main__":
    main()
