"""The blocking client: an event loop in a thread of its own, and calls into it."""
from __future__ import annotations

import asyncio
import concurrent.futures
import os
import ssl
import threading
import weakref
from typing import Any, Callable, Coroutine, TypeVar

from ._address import Where
from ._hold import ASKED, HELD, OVER
from ._lines import Name, checked_token, checked_word, duration_ms, known_name
from ._lock import RELEASE_MS, BaseLock, HoldKind, Mode, Seconds, failed_release
from ._names import checked_template, name_from_call, wraps
from ._session import Session
from .errors import BusyError, ClosedError, LockCancelledError, LockTimeoutError, LostError, RedlockdError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
CLOSE_S = 5.0
_starting = threading.Lock()


def _start_anew_in_child() -> None:
    global _starting
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)


class _LoopThread:
    """The thread and its event loop, which begin with the first call."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            rest = asyncio.all_tasks(loop)
            for task in rest:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
            loop.run_until_complete(asyncio.sleep(0))  # so that callers which wait get their results
        finally:
            loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        try:
            self.session.check_usable()
            with self._guard:
                if self._stopped:
                    raise ClosedError("the client was closed")
                if self._loop is None:
                    self._loop = asyncio.new_event_loop()
                    self._thread = threading.Thread(target=self._run, args=(self._loop,), name="redlockd", daemon=True)
                    self._thread.start()
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except BaseException:
            coroutine.close()
            raise

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.wait(self.submit(coroutine))

    @staticmethod
    def wait(future: concurrent.futures.Future[T]) -> T:
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise LockCancelledError("the wait was cancelled") from None
        except BaseException:  # after a KeyboardInterrupt, say, the request is taken back
            future.cancel()
            raise

    def stop(self) -> None:
        """Closes the session and ends the thread; in a forked child it does nothing, and takes no lock."""
        if self.session.forked:
            return
        with self._guard:
            if self._stopped or self._loop is None:
                self._stopped = self.session.closed = True
                return
            self._stopped = True
            closing = asyncio.run_coroutine_threadsafe(self.session.close(), self._loop)
        loop, thread = self._loop, self._thread
        closing.add_done_callback(lambda _closed: loop.call_soon_threadsafe(loop.stop))
        if thread and thread is not threading.current_thread():
            thread.join(CLOSE_S)


class Lock(BaseLock):
    """A lock; Client.lock() makes it. It is for one holder at a time, and any thread may call it.

    `lost` is a threading.Event that is set at the moment when the lock is lost. The threading.Event `expiring` is set
    while redlockd cannot renew the lock and less than a third of its time is left.
    """

    def __init__(self, thread: _LoopThread, name: Name, **options: Any) -> None:
        self.lost: threading.Event = threading.Event()
        self.expiring: threading.Event = threading.Event()
        self._thread = thread
        self._client: Client | None = None  # the client lives as long as its locks
        self._waiting: concurrent.futures.Future[None] | None = None
        super().__init__(thread.session, name, me=threading.get_ident, **options)

    def acquire(self, blocking: bool | None = None, timeout: Seconds | None = None, *,
                blocking_timeout: Seconds | None = None) -> bool:
        """True: held. False: somebody else has it, and the time to wait is over.

        timeout: how long to wait, as in threading.Lock (-1: without end); blocking_timeout is another name for it. What
        is left out is as Client.lock() was told. Any other failure raises its RedlockdError, such as NoQuorumError or
        UnreachableError.
        """
        try:
            self._ask_for(self._wait_of(blocking, timeout, blocking_timeout))
        except (BusyError, LockTimeoutError):
            return False
        return True

    def _ask_for(self, wait_ms: int, token: str = "") -> None:
        if self._session.forked and self._hold.state == OVER and self._client:
            self._thread = self._client._living()
            self._start_anew(self._thread.session)
        hold = self._begin(token)
        if hold is None:
            return
        try:
            self._waiting = self._thread.submit(self._session.lock(hold, wait_ms))
            self._thread.wait(self._waiting)
        except BaseException:
            hold.state = OVER if hold.state == ASKED else hold.state
            self._depth = 0
            if hold.state == HELD:  # the lock was granted, but this thread was interrupted before it knew
                self._thread.submit(self._session.unlock(hold))
            raise
        finally:
            self._waiting = None

    def cancel(self) -> bool:
        """From another thread: ends an acquire() that waits: it raises LockCancelledError. False: none waits."""
        waiting = self._waiting
        return waiting is not None and waiting.cancel()

    def release(self) -> None:
        """Gives the lock back.

        LostError: it was lost before, told once. NotHeldError: this object holds nothing. After NoQuorumError,
        NoAnswerError or UnreachableError the outcome is open; the lock is free when its ttl is over at the latest.
        """
        self._release(0)

    def _release(self, timeout_ms: int) -> None:
        self._session.check_usable()
        if self._leave():
            self._thread.call(self._session.unlock(self._hold, timeout_ms))

    def extend(self, ttl: Seconds | None = None) -> float:
        """Makes the lock last `ttl` seconds from now (None: its own ttl), never shorter; returns valid().

        A session lock is renewed with this ttl from now on; it needs no extend() to live.
        """
        self._thread.call(self._session.extend(self._hold, duration_ms(ttl, "ttl")))
        return self.valid()

    def check(self) -> float:
        """Asks redlockd whether the lock is still held; returns valid(). NotHeldError or LostError: it is not."""
        self._thread.call(self._session.check(self._hold))
        return self.valid()

    def downgrade(self) -> float:
        """A writer becomes a reader, and no other writer gets in between; returns valid(). `fence` stays, `token` is new.

        ModeError, LimitError, BadArgumentError, UnsupportedError: it is a writer's lock as before. After NoQuorumError,
        NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: too few
        masters know it yet. The library goes on asking; call again to hear when it is done. `mode` tells what it is. A
        reader's lock stays as it is.
        """
        self._check_downgrade()
        self._thread.call(self._session.downgrade(self._hold))
        return self.valid()

    def __enter__(self) -> Lock:
        if not self._enters_given():
            self._ask_for(self._wait_of(None, None, None))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._released_already():
            return
        try:
            self._release(RELEASE_MS if error else 0)
        except LostError as lost:
            if error is None:
                raise
            failed_release(self, lost, True)
        except RedlockdError as open_end:
            failed_release(self, open_end, error is not None)


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
        word = checked_word(client, "client", 64) if client is not None else None
        where, timeout_ms = Where(address, user, secret, ssl_context), duration_ms(timeout, "timeout")
        self._new_session: Callable[[], Session] = lambda: Session(where, word, timeout_ms)
        self._start()

    def _start(self) -> None:
        self._thread = _LoopThread(self._new_session())
        # The thread ends when nobody knows the client any more, and at the end of the program.
        self._end = weakref.finalize(self, self._thread.stop)

    def _living(self) -> _LoopThread:
        if self._thread.session.forked:
            with _starting:
                if self._thread.session.forked:
                    self._start()
        return self._thread

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Client {self._thread.session.describe()}>"

    def lock(self, name: Name, *, ttl: Seconds | None = None, blocking: bool = True,
             blocking_timeout: Seconds | None = None, max: Seconds | None = None, hold: HoldKind = "session",
             note: str | None = None, mode: Mode | None = None, slots: int | None = None,
             reentrant: bool = False) -> Lock:
        """A Lock that is not held yet: use it in a `with` statement, or acquire() it.

        ttl: for how long the masters keep it when nobody renews it; redlockd renews it while the program is connected.
        blocking, blocking_timeout: whether and for how long to wait; None: without end.
        max: for how long redlockd renews at most. hold="lease": lives for its ttl, is renewed by nobody, and survives
        the program. note: a word that SHOW LOCKS tells. mode="shared": any number of readers, or one writer without it.
        slots: one of so many places, whose number is lock.slot; all who use the name give the same. A list of names:
        all or none, as one lock. A redlockd that cannot do these says UnsupportedError. reentrant: the same thread may
        enter again.
        """
        lock = Lock(self._living(), name, ttl=ttl, blocking=blocking, blocking_timeout=blocking_timeout, max=max,
                    hold=hold, note=note, mode=mode, slots=slots, reentrant=reentrant)
        lock._client = self
        return lock

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

    def close(self) -> None:
        """Gives back all session locks; leases stay. A call that waits gets ClosedError, and so does all later use."""
        self._end()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
