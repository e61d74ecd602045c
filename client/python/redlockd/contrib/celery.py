"""Tasks of Celery that run one at a time, or once in a period, whatever number of workers and schedulers there is.

    from redlockd.contrib.celery import LockedTask

    @app.task(base=LockedTask, lock_name="report:{0}")
    def report(customer): ...                              # one at a time for each customer

    @app.task(base=LockedTask, lock_at_least=3600)
    def hourly(): ...                                      # once an hour

lock_name: with the arguments of the call in it, as of Client.locked(); default: the task's name. lock_at_least: if the
task succeeds, nobody gets the name until so many seconds after its beginning. lock_options: others of Client.lock().
lock_busy: what becomes of a call while the lock is taken: "ignore" (the default), or a number of seconds after which it
is asked again, as often as max_retries says. lock_client: a redlockd.Client; default: one for the process. Within the
task, self.lock is the lock: ask lock.ensure() before each step that must not be done twice.
"""
from __future__ import annotations

import threading
from typing import Any

from celery import Task  # type: ignore
from celery.exceptions import Ignore  # type: ignore

from .. import Client, Lock
from .._names import checked_template, name_from_call

_held = threading.local()
_making = threading.Lock()


class LockedTask(Task):  # type: ignore[misc]
    abstract = True
    lock_name = ""
    lock_at_least: float | None = None
    lock_options: dict[str, Any] = {}
    lock_busy: str | float = "ignore"
    lock_client: Client | None = None

    @property
    def lock(self) -> Lock:
        return _held.lock  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = name_from_call(checked_template(self.lock_name or self.name), self.run, args, kwargs)
        options: dict[str, Any] = {"blocking": False, "at_least": self.lock_at_least, **self.lock_options}
        lock = self._client().lock(name, **options)
        if not lock.acquire():
            if self.lock_busy == "ignore":
                raise Ignore(f"{name} is locked")
            raise self.retry(countdown=float(self.lock_busy))
        lock._given = True  # `with` gives it back
        before, _held.lock = getattr(_held, "lock", None), lock
        try:
            with lock:
                return super().__call__(*args, **kwargs)
        finally:
            _held.lock = before

    @classmethod
    def _client(cls) -> Client:
        with _making:
            if LockedTask.lock_client is None and cls.lock_client is None:
                LockedTask.lock_client = Client()  # which may be used behind a fork
        return cls.lock_client  # type: ignore[return-value]
