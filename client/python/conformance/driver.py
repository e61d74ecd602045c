#!/usr/bin/env python3
"""The asyncio client behind the conformance cases; client/conformance/README.md has both grammars."""
import asyncio
import os
import sys
from urllib.parse import unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from redlockd import aio, errors  # noqa: E402

FEATURES = ("attach,auth,client,close-wakes,closed,data,downgrade,drain,fork,keep,lists,loop,moves,notheld-again,quit,resume,rows,"
            "shared,slots,timeout,twice,watch")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def say(text):
    os.write(1, text.encode() + b"\n")


def seconds(text):
    unit = text.lstrip("0123456789")
    return int(text[:len(text) - len(unit)]) * UNITS[unit]


def parsed(line):
    """The verb, the handle and the name where there are any, and the options."""
    words = line.split()
    named = ("lock", "resume", "attach", "who", "show", "watch", "data")
    plain = 3 if words[0] in named else 1 if words[0] == "open" else 2
    options = {}
    for word in words[plain:]:
        key, _, value = word.partition("=")
        options[key] = seconds(value) if key in ("ttl", "wait", "max", "keep", "timeout") else unquote(value)
    name = unquote if words[0] == "data" else name_of
    return [name(word) for word in words[:plain]], options


def name_of(word):
    """A word; with commas, several names."""
    return [unquote(name) for name in word.split(",")] if "," in word else unquote(word)


def lock_options(options):
    wait = options.pop("wait", None)
    if "slots" in options:
        options["slots"] = int(options["slots"])
    return {**options, "blocking": wait is not None, "blocking_timeout": wait}


def error_line(handle, error):
    retry = f" retry={round(error.retry * 1000)}" if error.retry is not None else ""
    return f"{handle} error {error.code}{retry} : {error}"


def info_line(handle, lock):
    if lock is None:
        return f"{handle} info state=none valid=0 fence=0 token= mode=shared"
    return (f"{handle} info state={lock.state} valid={int(lock.valid() * 1000)} fence={lock.fence} "
            f"token={lock.token} mode={lock.mode}")


def locked_line(handle, lock, what="locked"):
    slot = "" if lock.slot is None else f" slot={lock.slot}"
    return f"{handle} {what} fence={lock.fence} token={lock.token} valid={int(lock.valid() * 1000)}{slot}"


def row_lines(handle, rows):
    for row in rows:
        yield f"{handle} row {' '.join(f'{key}={value}' for key, value in row.items())}"
    yield f"{handle} rows {len(rows)}"


def now_line(handle, state):
    words = [f"{key}={value}" for key, value in state._asdict().items() if value is not None]
    return f"{handle} now {' '.join(words)}"


def fork_line(handle, check):
    """The line of a child that tries the handle."""
    try:
        check()
        return f"{handle} forked OK"
    except errors.RedlockdError as error:
        return f"{handle} forked {error.code}"


class Driver:
    def __init__(self):
        self.client = None
        self.locks = {}
        self.watches = {}
        self.tasks = {}  # by handle: what is under way
        self.rest = set()

    def background(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.rest.add(task)
        task.add_done_callback(self.rest.discard)
        return task

    async def watch(self, handle, lock):
        """Says when the lock is lost."""
        await lock.lost.wait()
        if lock.lost_reason != "closed":
            say(f"{handle} lost reason={lock.lost_reason}")

    async def watch_expiring(self, handle, lock):
        await lock.expiring.wait()
        say(f"{handle} expiring")

    async def take(self, handle, name, options):
        lock = self.locks[handle] = self.client.lock(name, **lock_options(options))
        self.background(self.watch(handle, lock))
        self.background(self.watch_expiring(handle, lock))
        await lock.__aenter__()
        say(locked_line(handle, lock))

    async def resume(self, handle, name, options):
        lock = self.locks[handle] = await self.client.resume(name, **options)
        say(locked_line(handle, lock))

    async def watch_name(self, handle, name):
        watch = self.watches[handle] = self.client.watch(name)
        async for state in watch:
            say(now_line(handle, state))

    async def obeyed(self, verb, handle, words, options):
        lock = self.locks.get(handle)
        try:
            if verb in ("who", "show"):
                for line in row_lines(handle, await getattr(self.client, verb)(words[0])):
                    say(line)
                return
            if verb == "watch":
                await self.watch_name(handle, words[0])
                return
            if verb == "unwatch" and handle in self.watches:
                await self.watches.pop(handle).aclose()
                say(f"{handle} unwatched")
                return
            if verb == "lock":
                await self.take(handle, words[0], options)
            elif verb == "resume":
                await self.resume(handle, words[0], options)
            elif verb == "attach":
                self.locks[handle] = self.client.attach(words[0], options["token"])
                say(f"{handle} attached")
            elif lock is None or verb == "unwatch":
                say(f"{handle} error NOTHELD : there is no lock")
            elif verb == "unlock":
                await lock.release(**options)
                say(f"{handle} {'kept' if 'keep' in options else 'unlocked'}")
            elif verb == "data":
                await lock.set_data(words[0])
                say(f"{handle} data")
            elif verb == "extend":
                say(f"{handle} extended valid={int(await lock.extend(options.get('ttl')) * 1000)}")
            elif verb == "check":
                say(f"{handle} checked valid={int(await lock.check() * 1000)}")
            elif verb == "downgrade":
                await lock.downgrade()
                say(locked_line(handle, lock, "downgraded"))
        except errors.RedlockdError as error:
            say(error_line(handle, error))
        except asyncio.CancelledError:
            say(f"{handle} error CANCELLED : the wait was cancelled")

    async def open(self, options):
        try:
            self.client = aio.Client(**options)
            say("client open")
        except errors.RedlockdError as error:
            say(error_line("client", error))

    async def close(self):
        await self.client.close()
        say("client closed")

    def fork(self, handle):
        child = os.fork()
        if child == 0:
            def check():
                try:
                    self.locks[handle].check().send(None)
                except StopIteration:
                    pass
            say(fork_line(handle, check))
            os._exit(0)
        os.waitpid(child, 0)

    async def obey(self, line):
        (verb, *words), options = parsed(line)
        handle = words[0] if words else ""
        if verb == "open":
            await self.open(options)
        elif verb == "close":
            self.background(self.close())
        elif verb == "info":
            say(info_line(handle, self.locks.get(handle)))
        elif verb == "cancel":
            self.tasks[handle].cancel()
        elif verb == "fork":
            self.fork(handle)
        else:
            self.tasks[handle] = self.background(self.obeyed(verb, handle, words[1:], options))

    async def run(self, first):
        """Obeys until the input ends, or, and then returns True, until the loop is to end."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(os.dup(0), "rb", 0)  # its own for each loop, which closes it
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        say(first)
        while line := await reader.readline():
            if line.strip() == b"loop":
                return True
            await self.obey(line.decode("ascii").strip())
            await asyncio.sleep(0)  # so that what was asked first is sent first
        if self.client:
            await self.client.close()
        return False


def main():
    driver = Driver()
    again = asyncio.run(driver.run(f"driver python features={FEATURES}"))
    while again:
        again = asyncio.run(driver.run("client looped"))


if __name__ == "__main__":
    main()
