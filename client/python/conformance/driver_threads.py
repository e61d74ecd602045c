#!/usr/bin/env python3
"""The blocking client behind the conformance cases: a thread for each command that may wait."""
import os
import sys
import threading
import time

from driver import (FEATURES, error_line, fork_line, info_line, lock_options, locked_line, now_line, parsed, row_lines,
                    say)
from redlockd import Client, errors


class Driver:
    def __init__(self):
        self.client = None
        self.locks = {}
        self.watches = {}

    def watch(self, handle, lock):
        guard, said = threading.Lock(), []

        def say_expiring():
            with guard:
                if not said:
                    said.append(handle)
                    say(f"{handle} expiring")

        def expiring():
            lock.expiring.wait()
            say_expiring()

        def lost():
            lock.lost.wait()
            if lock.expiring.is_set():  # its thread may not have run yet
                say_expiring()
            if lock.lost_reason != "closed":
                say(f"{handle} lost reason={lock.lost_reason}")

        for told in (lost, expiring):
            threading.Thread(target=told, daemon=True).start()

    def take(self, handle, lock):
        try:
            with_lock = lock.__enter__()
            say(locked_line(handle, with_lock))
        except errors.RedlockdError as error:
            say(error_line(handle, error))

    def ask(self, verb, handle, words, options):
        lock = self.locks.get(handle)
        try:
            if verb in ("who", "show"):
                for line in row_lines(handle, getattr(self.client, verb)(words[0])):
                    say(line)
                return
            if verb == "watch":
                watch = self.watches[handle] = self.client.watch(words[0])
                for state in watch:
                    say(now_line(handle, state))
                return
            if verb == "unwatch" and handle in self.watches:
                self.watches.pop(handle).close()
                say(f"{handle} unwatched")
                return
            if verb == "resume":
                lock = self.locks[handle] = self.client.resume(words[0], **options)
                say(locked_line(handle, lock))
            elif verb == "attach":
                self.locks[handle] = self.client.attach(words[0], options["token"])
                say(f"{handle} attached")
            elif lock is None or verb == "unwatch":
                say(f"{handle} error NOTHELD : there is no lock")
            elif verb == "unlock":
                lock.release(**options)
                say(f"{handle} {'kept' if 'keep' in options else 'unlocked'}")
            elif verb == "data":
                lock.set_data(words[0])
                say(f"{handle} data")
            elif verb == "extend":
                say(f"{handle} extended valid={int(lock.extend(options.get('ttl')) * 1000)}")
            elif verb == "check":
                say(f"{handle} checked valid={int(lock.check() * 1000)}")
            elif verb == "downgrade":
                lock.downgrade()
                say(locked_line(handle, lock, "downgraded"))
        except errors.RedlockdError as error:
            say(error_line(handle, error))

    def open(self, options):
        try:
            self.client = Client(**options)
            say("client open")
        except errors.RedlockdError as error:
            say(error_line("client", error))

    def close(self):
        self.client.close()
        say("client closed")

    def begin(self, handle, words, options):
        try:
            lock = self.locks[handle] = self.client.lock(words[0], **lock_options(options))
        except errors.RedlockdError as error:
            say(error_line(handle, error))
            return
        self.watch(handle, lock)
        self.start(self.take, handle, lock)

    @staticmethod
    def start(function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def obey(self, line):
        (verb, *words), options = parsed(line)
        handle = words[0] if words else ""
        if verb == "open":
            self.open(options)
        elif verb == "close":
            self.start(self.close)
        elif verb == "info":
            say(info_line(handle, self.locks.get(handle)))
        elif verb == "cancel":
            while not self.locks[handle].cancel():  # its thread has hardly begun
                time.sleep(0.001)
        elif verb == "lock":
            self.begin(handle, words[1:], options)
        elif verb == "fork":
            child = os.fork()
            if child == 0:
                say(fork_line(handle, self.locks[handle].check))
                os._exit(0)
            os.waitpid(child, 0)
        else:
            self.start(self.ask, verb, handle, words[1:], options)


def main():
    driver = Driver()
    features = FEATURES.replace("loop,", "")  # threads have none that could end
    say(f"driver python-threads features={features}")
    for line in iter(sys.stdin.readline, ""):
        driver.obey(line.strip())
    if driver.client:
        driver.client.close()


if __name__ == "__main__":
    main()
