"""The blocking client."""
from __future__ import annotations

import os
import ssl
import threading
import weakref
from typing import Any, Callable, TypeVar

from ._address import Where
from ._engine import ThreadEngine
from ._error import RedlockdError
from ._hold import ASKED, OVER, Ask
from ._lead import Election
from ._lines import Name, checked_option, checked_show, checked_single, checked_token, duration_ms, known_name
from ._lock import RELEASE_MS, BaseLock, HoldKind, Mode, Seconds, failed_release
from ._names import checked_template, name_from_call, wraps
from ._session import Session
from ._table import DURATION_MAX_MS
from ._watching import BaseWatch, NameState
from .errors import BusyError, LockCancelledError, LockTimeoutError, LostError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_starting = threading.Lock()


def _start_anew_in_child() -> None:
    global _starting
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)


class Lock(BaseLock):
    """A lock; Client.lock() makes it. It is for one holder at a time, and any thread may call it."""

    def __init__(self, client: Client, name: Name, **options: Any) -> None:
        self._client = client  # which lives as long as its locks
        self._engine = client._living()
        self._waiting: Ask | None = None
        super().__init__(self._engine.session, name, threading.get_ident, **options)

    @property
    def lost(self) -> threading.Event:
        """Is set at the moment when the lock is lost."""
        with self._guard:
            event = self._lost = self._made(threading.Event, self._lost, self._hold.reason != "")
            return event

    @property
    def expiring(self) -> threading.Event:
        """Is set while redlockd cannot renew the lock and less than a third of its time is left."""
        with self._guard:
            event = self._expiring = self._made(threading.Event, self._expiring, self._hold.warned)
            return event

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
        self._depth = depth
        if not depth:
            self._engine.inside(self._session.let_go, self._hold)

    def _ask_for(self, wait_ms: int, token: str = "") -> None:
        if self._session.forked and self._hold.state == OVER:
            self._engine = self._client._living()
            self._start_anew(self._engine.session)
        hold = self._begin(token)
        if hold is None:
            return
        try:
            self._engine.ask(self._session.lock, hold, wait_ms, asked=self._is_asked)
        except BaseException:
            hold.state = OVER if hold.state == ASKED else hold.state
            self._depth = 0
            raise

    def _is_asked(self, ask: Ask | None) -> None:
        self._waiting = ask

    def cancel(self) -> bool:
        """From another thread: ends an acquire() that waits: it raises LockCancelledError. False: none waits."""
        waiting = self._waiting
        return waiting is not None and self._engine.cancel(waiting, LockCancelledError("the wait was cancelled"))

    def release(self, *, keep: Seconds | None = None) -> None:
        """Gives the lock back.

        LostError: it was lost before, told once. NotHeldError: this object holds nothing. After NoQuorumError,
        NoAnswerError or UnreachableError the outcome is open; the lock is free when its ttl is over at the latest.

        keep: for so many seconds from now on nobody gets the name, though nobody holds it. It is for an exclusive lock
        of one name. After BadArgumentError, LimitError or UnsupportedError redlockd would not keep it, and the lock was
        given back. After other errors it is not kept, unless the connection broke meanwhile.
        """
        self._release(0, duration_ms(keep, "keep"))

    def _release(self, timeout_ms: int, keep_ms: int) -> None:
        self._session.check_usable()
        if self._leave():
            self._engine.ask(self._session.unlock, self._hold, timeout_ms, keep_ms)

    def extend(self, ttl: Seconds | None = None) -> float:
        """Makes the lock last `ttl` seconds from now (None: its own ttl), never shorter; returns valid().

        A session lock is renewed with this ttl from now on; it needs no extend() to live.
        """
        self._engine.ask(self._session.extend, self._hold, duration_ms(ttl, "ttl"))
        return self.valid()

    def check(self) -> float:
        """Asks redlockd whether the lock is still held; returns valid(). NotHeldError or LostError: it is not."""
        self._engine.ask(self._session.check, self._hold)
        return self.valid()

    def set_data(self, data: str) -> None:
        """Changes what others read with who() and watch(), of a lock that was taken with data=. ModeError: it was not.
        After NoQuorumError either text may stand."""
        self._engine.ask(self._session.set_data, self._hold, checked_option("data", data))

    def downgrade(self) -> float:
        """A writer becomes a reader, and no other writer gets in between; returns valid(). `fence` stays, `token` is new.

        ModeError, LimitError, BadArgumentError, UnsupportedError: it is a writer's lock as before. After NoQuorumError,
        NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: too few
        masters know it yet. The library goes on asking; call again to hear when it is done. `mode` tells what it is. A
        reader's lock stays as it is.
        """
        self._check_downgrade()
        self._engine.ask(self._session.downgrade, self._hold)
        return self.valid()

    def __enter__(self) -> Lock:
        before = self._depth
        try:
            if not self._enters_given():
                self._ask_for(self._wait_of(None, None, None))
            return self
        except BaseException as error:
            self._undo(before, error)
            raise

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if not self._released_already():
                self._release(RELEASE_MS if error else 0, 0 if error else self._left_to_keep())
        except LostError as lost:
            if error is None:
                raise
            failed_release(self, lost, True)
        except RedlockdError as open_end:
            failed_release(self, open_end, error is not None)
        except BaseException:  # ^C in the middle of it
            self._engine.inside(self._session.let_go, self._hold)
            raise


class Watch(BaseWatch):
    """An iterator of NameState, without end: Client.watch() makes it. close() ends it, also from another thread, and so
    does a loop that was left."""

    def __init__(self, engine: ThreadEngine, name: str) -> None:
        self._engine = engine
        self._changed = threading.Condition()
        super().__init__(engine.session, name)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> NameState:
        with self._changed:
            while not self._states and not self._over:
                self._changed.wait()
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


class Client:
    """A connection to redlockd for one process, made with the first request and made anew when it breaks.

    All threads of the process share one Client. It begins a thread of its own, which hears of lost locks at once.
    After fork a Client of the parent is there without a connection and without locks, and makes its own.

    address: "unix:/path", "host:port", "[::1]:port" or "tls://host:port". Default: REDLOCK_ADDRESS, else the Unix
    socket /run/redlockd/redlockd.sock, and if connecting there fails (and there is no secret), 127.0.0.1:7335.
    client: a word that SHOW CLIENTS tells. timeout: seconds for connecting and for each answer.
    user, secret: default REDLOCK_USER and the line in REDLOCK_SECRET_FILE. ssl_context: default by REDLOCK_CA,
    REDLOCK_CERT and REDLOCK_KEY.
    """

    def __init__(self, address: str | None = None, *, client: str | None = None, timeout: Seconds = 10,
                 user: str | None = None, secret: str | None = None, ssl_context: ssl.SSLContext | None = None) -> None:
        word = checked_option("client", client) if client is not None else None
        where, timeout_ms = Where(address, user, secret, ssl_context), duration_ms(timeout, "timeout")
        self._new_session: Callable[[ThreadEngine], Session] = lambda engine: Session(engine, where, word, timeout_ms)
        self._start()

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

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Client {self._engine.session.describe()}>"

    def lock(self, name: Name, *, ttl: Seconds | None = None, blocking: bool = True,
             blocking_timeout: Seconds | None = None, at_most: Seconds | None = None, max: Seconds | None = None,
             at_least: Seconds | None = None, hold: HoldKind = "session", note: str | None = None,
             mode: Mode | None = None, slots: int | None = None, data: str | None = None,
             reentrant: bool = False) -> Lock:
        """A Lock that is not held yet: use it in a `with` statement, or acquire() it.

        ttl: for how long the masters keep it when nobody renews it; redlockd renews it while the program is connected.
        blocking, blocking_timeout: whether and for how long to wait; None: without end.
        at_most: for how long redlockd renews (max is the same). at_least: if the `with` block succeeds, nobody gets the
        name until so long after the lock's beginning: for a job that is to run once in a period. hold="lease": lives for
        its ttl, is renewed by nobody, and survives the program. note: a word that SHOW LOCKS tells. mode="shared": any
        number of readers, or one writer without it. slots: one of so many places, whose number is lock.slot; all who use
        the name give the same. data: what others read with who() and watch(), as "10.0.0.5:8080". A list of names: all or
        none, as one lock. A redlockd that cannot do these says so. reentrant: the same thread may enter again.
        """
        return Lock(self, name, ttl=ttl, blocking=blocking, blocking_timeout=blocking_timeout, at_most=at_most, max=max,
                    at_least=at_least, hold=hold, note=note, mode=mode, slots=slots, data=data, reentrant=reentrant)

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

    def attach(self, name: Name, token: str) -> Lock:
        """A Lock for a token from elsewhere, to extend(), check() or release(), which the end of a `with` does too.
        Nobody is asked, and valid() is 0 first."""
        lock = self.lock(known_name(name), hold="lease")
        lock._attach(token)
        return lock

    def resume(self, name: Name, token: str, *, ttl: Seconds | None = None, max: Seconds | None = None,
               note: str | None = None) -> Lock:
        """Takes over a lock by its token, as a session lock of this client: `with client.resume(name, token) as lock`.
        Token and fence become new, and whoever held it before loses it."""
        lock = self.lock(known_name(name), ttl=ttl, max=max, note=note)
        lock._ask_for(0, checked_token(token))
        lock._given = True
        return lock

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
            except RedlockdError as error:
                self._engine.closing.wait(election.pause_s(error))
                continue
            election.leads(lock)
            try:
                with lock:
                    result = work(lock)
                    if not election.was_lost(lock, None):
                        return result
            except BaseException as error:
                if not election.was_lost(lock, error):
                    raise

    def who(self, name: str) -> list[dict[str, str]]:
        """Who has the name and who waits for it, by what the masters say: rows as protocol.txt tells them."""
        engine = self._living()
        return engine.ask(engine.session.rows, "WHO", checked_single(name)).rows

    def show(self, what: str) -> list[dict[str, str]]:
        """What redlockd knows: rows of LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, STATS, CONFIG or VERSION."""
        engine = self._living()
        return engine.ask(engine.session.rows, "SHOW", checked_show(what)).rows

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
