"""Locks in Django, and management commands that run on one host at a time, or once in a period.

    REDLOCKD = {"address": "unix:/run/redlockd/redlockd.sock"}        # settings.py: arguments of redlockd.Client

    from redlockd.contrib.django import lock
    with lock("invoice", invoice.pk, blocking_timeout=3) as held: ...

    from redlockd.contrib.django import LockedCommand
    class Command(LockedCommand):                                     # management/commands/nightly.py
        lock_at_least = 24 * 3600 * 0.9
        def handle(self, *args, **options): ...                       # self.lock.ensure() before each step
"""
from __future__ import annotations

import threading
from typing import Any

from django.conf import settings  # type: ignore
from django.core.management.base import BaseCommand  # type: ignore

from .. import Client, Lock, name_of

_making = threading.Lock()
_client: Client | None = None


def client() -> Client:
    """The client of this process; settings.REDLOCKD has its arguments."""
    global _client
    with _making:
        if _client is None:
            _client = Client(**getattr(settings, "REDLOCKD", {}))
        return _client


def lock(*parts: object, timeout: float | None = None, **options: Any) -> Lock:
    """A lock whose name is built from the parts, each encoded, as cache keys are built: to be used by `with`, or by
    acquire() and release(). timeout: as of the lock of a cache, the longest time that it is held; others are options of
    Client.lock()."""
    return client().lock(name_of(*parts), at_most=timeout, **options)


class LockedCommand(BaseCommand):  # type: ignore[misc]
    """Runs under a lock; while another host has that, it does nothing, and succeeds (-v 2: it says so).

    lock_name: default: the module's last name. lock_at_least: if the command succeeds, nobody gets the name until so many
    seconds after its beginning: a little less than the period of its cron job. lock_options: others of Client.lock().
    """

    lock_name = ""
    lock_at_least: float | None = None
    lock_options: dict[str, Any] = {}
    lock: Lock

    def execute(self, *args: Any, **options: Any) -> Any:
        name = self.lock_name or name_of("command", type(self).__module__.rpartition(".")[2])
        wanted: dict[str, Any] = {"blocking": False, "at_least": self.lock_at_least, **self.lock_options}
        self.lock = client().lock(name, **wanted)
        if not self.lock.acquire():
            if options.get("verbosity", 1) > 1:
                self.stderr.write(f"{name} is locked: another host runs this, or has done so in this period")
            return None
        self.lock._given = True  # `with` gives it back
        with self.lock:
            return super().execute(*args, **options)
