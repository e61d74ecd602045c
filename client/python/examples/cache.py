#!/usr/bin/env python3
"""cache.py FOLDER ENTRY SECONDS COMMAND: a cache entry that one process rebuilds while the others wait, instead of all
processes rebuilding it when it runs out (the stampede). With asyncio: a server does the same for each request. Without
redlockd every process builds, since such a lock only saves work: the result is right without it."""
import asyncio
import os
import pathlib
import sys
import time

import redlockd
from redlockd import aio


def cached(path, seconds):
    try:
        return path.read_bytes() if time.time() - path.stat().st_mtime < seconds else None
    except FileNotFoundError:
        return None


async def build(path, command):
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    value, _ = await process.communicate()
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(value)
    fresh.replace(path)
    return value


async def get(client, path, seconds, command):
    if (value := cached(path, seconds)) is not None:
        return value
    try:
        async with client.lock(f"cache/{path.name}", blocking_timeout=120, max=60):
            value = cached(path, seconds)  # the entry may have been built while this process waited
            return value if value is not None else await build(path, command)
    except (redlockd.UnreachableError, redlockd.NoQuorumError, redlockd.LockTimeoutError) as error:
        print("cache: without a lock:", error, file=sys.stderr)
        return await build(path, command)


async def main():
    folder, entry, seconds, command = sys.argv[1:]
    async with aio.Client() as client:
        sys.stdout.buffer.write(await get(client, pathlib.Path(folder, entry), float(seconds), command))


if __name__ == "__main__":
    asyncio.run(main())
