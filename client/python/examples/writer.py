#!/usr/bin/env python3
"""writer.py DATABASE WRITER: a resource that refuses a late writer by the fence.

The table keeps the highest fence that has written. A writer that was paused beyond its lock, between its last look and
its write, carries a lower fence: its UPDATE changes nothing. PAUSE says for how many seconds the writer works (0.1),
TTL for how many seconds it may hold the lock (5).
"""
import os
import sqlite3
import sys
import time

import redlockd


def write(database, fence, text):
    """True: written. False: somebody with a later grant has written before."""
    with database:
        return database.execute("UPDATE report SET body = ?, fence = ? WHERE id = 7 AND fence <= ?",
                                (text, fence, fence)).rowcount == 1


def main():
    path, name = sys.argv[1:]
    database = sqlite3.connect(path, timeout=10)
    with database:
        database.execute("CREATE TABLE IF NOT EXISTS report (id INTEGER PRIMARY KEY, body TEXT, fence INTEGER)")
        database.execute("INSERT OR IGNORE INTO report VALUES (7, '', 0)")
    client = redlockd.Client()
    ttl = float(os.environ.get("TTL", "5"))
    with client.lock("report", ttl=ttl, max=ttl) as lock:
        fence = lock.fence  # read before the work, since a text that was begun earlier is older
        print(name, "works", flush=True)
        time.sleep(float(os.environ.get("PAUSE", "0.1")))
        print(name, "wrote" if write(database, fence, name) else "was too late", flush=True)


if __name__ == "__main__":
    try:
        main()
    except redlockd.LostError as error:
        sys.exit(f"lost: {error}")
