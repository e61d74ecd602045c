"""The blocking client."""
from __future__ import annotations

import os
import queue
import threading
import weakref
from typing import Any, Callable, TypeVar

from ._client import BaseClient
from ._engine import ThreadEngine
from ._error import RedlockdError
from ._hold import ASKED, OVER, Ask
from ._lead import Election
from ._lines import Name, checked_single, checked_token, known_name
from ._lock import RELEASE_MS, BaseLock, Seconds, failed_release
from ._names import checked_template, name_from_call, wraps
from ._table import DURATION_MAX_MS
from ._watching import BaseWatch, NameState
from .errors import BusyError, LockTimeoutError, LostError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_starting = threading.Lock()


def _start_anew_in_child() -> None:
    global _starting
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)


class Lock(BaseLock[threading.Event, float, None]):
    """A lock; Client.lock() makes it. It is for one holder at a time, and any thread may call it."""

    _event, _me = threading.Event, staticmethod(threading.get_ident)

    def acquire(self, blocking: bool | None = None, timeout: Seconds | None = None, *,
                blocking_timeout: Seconds | None = None) -> bool:
        """True: held. False: somebody else has it, and the time to wait is over.

        timeout: how long to wait, as in threading.Lock (-1: without end); blocking_timeout is another name for it. What
        is left out is as Client.lock() was told. Any other failure raises its RedlockdError, such as NoQuorumError or
        UnreachableError.
        """
        before = self._depth
        try:
            self._ask_for(self._wait_of(blocking, timeout, blocking_timeout))
            return True
        except (BusyError, LockTimeoutError):
            return False
        except BaseException as error:
            self._undo(before, error)
            raise

    def _undo(self, depth: int, error: BaseException) -> None:
        """After ^C or the like between the grant and the return to the program, which does not know of it."""
        if isinstance(error, RedlockdError):
            return
        hold, self._depth = self._hold, depth
        if not depth:
            self._engine.let_go(hold)
            hold.state = OVER if hold.state == ASKED else hold.state

    def _ask_for(self, wait_ms: int, token: str = "") -> None:
        if self._session.forked and self._hold.state == OVER:
            self._engine = self._client._living()
            self._start_anew(self._engine.session)
        hold = self._begin(token)
        if hold is None:
            return
        try:
            self._engine.ask(self._session.lock, hold, wait_ms)
        except BaseException:
            hold.state = OVER if hold.state == ASKED else hold.state
            self._depth = 0
            raise

    def cancel(self) -> bool:
        """From another thread: ends an acquire() that waits: it raises LockCancelledError. False: none waits."""
        hold = self._hold
        return hold.state == ASKED and not self._session.forked and self._engine.cancel(hold)

    def _release(self, timeout_ms: int, keep_ms: int) -> None:
        self._session.check_usable()
        if self._leave():
            self._engine.ask(self._session.unlock, self._hold, timeout_ms, keep_ms)

    def _asked(self, begin: Callable[..., Ask], *args: Any) -> None:
        self._engine.ask(begin, self._hold, *args)

    def _valid_after(self, begin: Callable[..., Ask], *args: Any) -> float:
        self._engine.ask(begin, self._hold, *args)
        return self.valid()

    def __enter__(self) -> Lock:
        before = self._depth
        try:
            if not self._given:
                self._ask_for(self._wait)
            self._given = False
            return self
        except BaseException as error:
            self._undo(before, error)
            raise

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if self._hold.state != OVER:
                self._release(RELEASE_MS if error else 0, 0 if error else self._left_to_keep())
        except LostError as lost:
            if error is None:
                raise
            failed_release(self, lost, True)
        except RedlockdError as open_end:
            failed_release(self, open_end, error is not None)
        except BaseException:  # ^C in the middle of it
            self._engine.let_go(self._hold)
            raise


class Watch(BaseWatch):
    """An iterator of NameState, without end: Client.watch() makes it. close() ends it, also from another thread, and so
    does a loop that was left."""

    def __init__(self, engine: ThreadEngine, name: str) -> None:
        self._engine = engine
        self._changed: queue.SimpleQueue[None] = queue.SimpleQueue()  # it takes no lock that a signal's handler could hold up
        super().__init__(engine.session, name)

    def _wake(self) -> None:
        if self._changed.empty():
            self._changed.put(None)

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> NameState:
        while not self._states and not self._over:
            self._changed.get()
        if self._over:
            self._wake()  # others that wait for the end, too
        if (state := self._next()) is None:
            raise StopIteration
        return state

    def close(self) -> None:
        if not self._session.closed and not self._session.forked:
            self._engine.call(self._engine.session.unwatch, self)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Client(BaseClient[Lock, list[dict[str, str]]]):
    """A connection to redlockd for one process, made with the first request and made anew when it breaks.

    All threads of the process share one Client. It begins a thread of its own, which hears of lost locks at once.
    After fork a Client of the parent is there without a connection and without locks, and makes its own.

    address: "unix:/path", "host:port", "[::1]:port" or "tls://host:port". Default: REDLOCK_ADDRESS, else the Unix
    socket /run/redlockd/redlockd.sock, and if connecting there fails (and there is no secret), 127.0.0.1:7335.
    client: a word that SHOW CLIENTS tells. timeout: seconds for connecting and for each answer.
    user, secret: default REDLOCK_USER and the line in REDLOCK_SECRET_FILE. ssl_context: default by REDLOCK_CA,
    REDLOCK_CERT and REDLOCK_KEY.
    """

    _lock = Lock
    _engine: ThreadEngine

    def _start(self) -> None:
        self._engine = ThreadEngine()
        self._engine.session = self._new_session(self._engine)
        # The thread ends when nobody knows the client any more, and at the end of the program.
        self._end = weakref.finalize(self, self._engine.stop)

    def _living(self) -> ThreadEngine:
        if self._engine.session.forked:
            with _starting:
                if self._engine.session.forked:
                    self._start()
        return self._engine

    def locked(self, name: str, **options: Any) -> Callable[[F], F]:
        """A decorator: the function runs under the lock, which each call takes and gives back.

            @client.locked("report:{0}", blocking_timeout=10)
            def report(customer): ...

        {0} stands for the first argument of the call, {customer} for the argument of that name, as str.format() has
        it; whatever is in them is encoded as by name_of(). options: those of lock().
        """
        checked_template(name)

        def decorate(function: F) -> F:
            @wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with self.lock(name_from_call(name, function, args, kwargs), **options):
                    return function(*args, **kwargs)
            return call
        return decorate

    def resume(self, name: Name, token: str, *, ttl: Seconds | None = None, max: Seconds | None = None,
               note: str | None = None) -> Lock:
        """Takes over a lock by its token, as a session lock of this client: `with client.resume(name, token) as lock`.
        Token and fence become new, and whoever held it before loses it."""
        lock = self.lock(known_name(name), ttl=ttl, max=max, note=note)
        try:
            lock._ask_for(0, checked_token(token))
            lock._given = True
            return lock
        except BaseException as error:
            lock._undo(0, error)
            raise

    def lead(self, name: str, work: Callable[[Lock], T], *, data: str | None = None, ttl: Seconds | None = None,
             at_most: Seconds | None = None, note: str | None = None) -> T:
        """Waits until this program leads, which is to hold the lock, and calls work(lock) then.

        Returns what work returned while it led, and raises what it raised. When the lock is lost, lock.lost is set: work
        is to return, and whatever its outcome is, this waits again. While redlockd is away, or too few masters answer, it
        goes on asking; close() ends it. data: what who() and watch() tell of the leader; default: HOST/PID.
        """
        election = Election(name, data)
        while True:
            lock = self.lock(name, data=election.data, ttl=ttl, at_most=at_most, note=note)
            try:
                lock._ask_for(DURATION_MAX_MS)
                election.leads(lock)
            except RedlockdError as error:
                self._engine.closing.wait(election.pause_s(error))
                continue
            except BaseException as error:
                lock._undo(0, error)
                raise
            try:
                with lock:
                    result = work(lock)
                    if not election.was_lost(lock, None):
                        return result
            except BaseException as error:
                lock._undo(0, error)  # ^C may have come before `with` had the lock
                if not election.was_lost(lock, error):
                    raise

    def _rows(self, verb: str, what: str) -> list[dict[str, str]]:
        engine = self._living()
        return engine.ask(engine.session.rows, verb, what).rows or []

    def watch(self, name: str) -> Watch:
        """An iterator: who has the name, now and at each change. It goes on over a reconnection, which is not told, and may
        miss what lies between two states."""
        engine = self._living()
        watch = Watch(engine, checked_single(name))
        engine.call(engine.session.watch, watch)
        return watch

    def close(self) -> None:
        """Gives back all session locks; leases stay. A call that waits gets ClosedError, and so does all later use."""
        self._end()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
