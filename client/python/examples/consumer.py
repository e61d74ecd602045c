#!/usr/bin/env python3
"""consumer.py [-x] REDIS STREAM NAME [IDLE_MS [TTL_MS]]: a message queue's consumer that handles each message once.

    redis-cli XADD bills '*' customer ann amount 12       (as often as you like)
    consumer.py localhost:6379 bills c1                   and c2, c3 in other terminals
    redis-cli HGETALL bills:balances

A queue delivers at least once: a Redis stream lets another consumer claim a message that was not acknowledged for a
while, since nothing tells a dead consumer from a slow consumer. So there is a lock named after the message, which keeps
two consumers from working on it at a time; a consumer that finds the message locked leaves it alone. And there is a mark,
set in one step with the effect: a message has no effect twice, even if a consumer was paused beyond its lock in the
middle of its work. The mark is the fence of this resource: here the first consumer counts, not the later.
"""
import argparse
import signal
import sys
import threading
import time

import redlockd
from resource import Redis

STEPS, STEP_S, PAUSE_S = 5, 0.01, 0.1

# KEYS: the stream, its balances, the mark of the message; ARGV: message, who did it, customer, amount. A mark lives for
# a day: a consumer that stands still for longer just before this step would count twice.
SETTLE = ("local first = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', 86400) "
          "if first then redis.call('HINCRBY', KEYS[2], ARGV[3], ARGV[4]) end "
          "redis.call('XACK', KEYS[1], 'billing', ARGV[1]) "
          "return first and 1 or 0")


class Consumer:
    def __init__(self, client, redis, stream, name, idle_ms, ttl):
        self.client, self.redis, self.stream, self.name = client, redis, stream, name
        self.idle_ms, self.ttl = idle_ms, ttl

    def say(self, text):
        print(f"{self.name}: {text}", flush=True)

    def work(self, lock, message):
        """Stands for writing a bill: one step is one page."""
        self.say(f"works on {message}")
        for _ in range(STEPS):
            lock.ensure()
            time.sleep(STEP_S)

    def handle_locked(self, lock, message, customer, amount):
        mark = f"{self.stream}:done:{message}"
        if not self.redis("EXISTS", mark):
            self.work(lock, message)
        first = self.redis("EVAL", SETTLE, 3, self.stream, f"{self.stream}:balances", mark, message,
                           f"{self.name}-{lock.fence}", customer, amount)
        self.say(f"handled {message}" if first else f"was handled before: {message}")

    def handle(self, message, fields):
        # max: a consumer that stands still keeps its message for no longer than this and one ttl.
        lock = self.client.lock(f"{self.stream}/{message}", ttl=self.ttl, max=3 * self.ttl, blocking=False)
        try:
            with lock:
                self.handle_locked(lock, message, fields[1], fields[3])
        except redlockd.BusyError:
            pass
        except redlockd.LostError as error:
            self.say(f"lost {message}: {error}")
        except redlockd.RedlockdError as error:  # the message stays in the queue
            print(f"{self.name}: no lock: {error}", file=sys.stderr)
            time.sleep(PAUSE_S)

    def next_message(self):
        """A message that a consumer has had for too long, or else a new one; None: there is none."""
        claimed = self.redis("XAUTOCLAIM", self.stream, "billing", self.name, self.idle_ms, 0, "COUNT", 1)[1]
        if not claimed:
            streams = self.redis("XREADGROUP", "GROUP", "billing", self.name, "COUNT", 1, "STREAMS", self.stream, ">")
            claimed = streams[0][1] if streams else None
        return claimed[0] if claimed else None

    def consume(self, ended, leaves):
        """Handles messages until `ended`, or, where `leaves`, until everything that was delivered is acknowledged."""
        try:
            self.redis("XGROUP", "CREATE", self.stream, "billing", 0, "MKSTREAM")
        except ConnectionError as error:  # the group is there already
            if "BUSYGROUP" not in str(error):
                raise
        while not ended.is_set():
            if message := self.next_message():
                self.handle(*message)
            elif leaves and self.redis("XPENDING", self.stream, "billing")[0] == 0:
                return
            else:
                ended.wait(PAUSE_S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-x", action="store_true", help="end when all is handled")
    parser.add_argument("redis")
    parser.add_argument("stream")
    parser.add_argument("name")
    parser.add_argument("idle_ms", type=int, nargs="?", default=2000)
    parser.add_argument("ttl_ms", type=int, nargs="?", default=10000)
    args = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with redlockd.Client() as client:
        Consumer(client, Redis(args.redis), args.stream, args.name, args.idle_ms, args.ttl_ms / 1000).consume(ended, args.x)


if __name__ == "__main__":
    main()
