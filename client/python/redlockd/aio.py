"""redlockd for asyncio programs.

    async with redlockd.aio.Client() as client:
        async with client.lock("job", ttl=10, blocking_timeout=30) as lock:
            await work(lock.fence)

Make one Client for each event loop, and call its methods and its locks' methods in that loop. A Lock object is for one
holder: make one for each task, since they are cheap. Cancelling a task that waits in acquire() leaves nothing behind.
All durations are seconds (float, or a timedelta).
"""
from __future__ import annotations

import asyncio
import socket
import weakref
from typing import Any, Awaitable, Callable, TypeVar

from ._client import BaseClient
from ._connection import QUIT_S, Connection
from ._error import RedlockdError
from ._hold import ASKED, OVER, Ask
from ._lead import Election
from ._lines import Name, checked_single, checked_token, known_name
from ._lock import RELEASE_MS, BaseLock, Seconds, failed_release
from ._names import checked_template, name_from_call, wraps
from ._parts import Parts
from ._session import Session
from ._table import DURATION_MAX_MS
from ._watching import BaseWatch, NameState
from .errors import BusyError, LockTimeoutError, LostError, UnreachableError, UsageError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


# ---- the engine: an event loop ----


class _Stream(Connection, asyncio.Protocol):
    transport: asyncio.Transport | None = None

    def __init__(self, session: Parts, sock: socket.socket) -> None:
        super().__init__(session, sock)
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_gone(error)

    def write(self, data: bytes) -> None:
        if self.transport:
            self.transport.write(data)

    def close(self) -> None:
        if self.transport:
            self.transport.close()
        else:
            self.sock.close()

    def cut(self) -> None:
        self.ended = True
        if self.transport and not self.loop.is_closed():
            self.transport.abort()
        else:
            self.sock.close()


class _LoopEngine:
    """Belongs to the event loop in which it is used first."""

    def __init__(self) -> None:
        self.session: Session
        self._loop: asyncio.AbstractEventLoop | None = None
        self._guard: asyncio.Task[None] | None = None

    def enter(self) -> asyncio.AbstractEventLoop:
        self.session.check_usable()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self.soon, self.later = loop.call_soon, loop.call_later
            self._guard = _guard_of(self.session, loop)
        elif self._loop is not loop:
            raise UsageError("this client belongs to another event loop: make one for each loop")
        return loop

    def read_first(self, function: Callable[[], object]) -> None:
        """By the second turn from now on, the loop has looked at its sockets, and what had come is read."""
        self.soon(self.soon, function)

    def connect(self, session: Parts) -> asyncio.Task[None]:
        assert self._loop
        return self._loop.create_task(self._connect(session, self._loop))

    async def _connect(self, session: Parts, loop: asyncio.AbstractEventLoop) -> None:
        opening = loop.run_in_executor(None, session.where.connect)  # since looking up a name takes its time
        try:
            sock, place = await asyncio.shield(opening)
            sock.setblocking(False)
            stream, context = _Stream(session, sock), session.where.tls() if place.tls else None
            await loop.create_connection(lambda: stream, sock=sock, ssl=context,
                                         server_hostname=place.host if context else None)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise
        except RedlockdError as error:
            session.not_connected(error)
        except OSError as error:
            session.not_connected(UnreachableError(f"{session.where}: {error}"))
        else:
            session.greet(stream)

    def drop_in_child(self) -> None:
        pass

    async def ask(self, begin: Callable[..., Ask], *args: Any) -> Ask:
        future: asyncio.Future[None] = self.enter().create_future()

        def tell(error: RedlockdError | None) -> None:
            if error and not future.done():
                future.set_exception(error)
            elif not future.done():
                future.set_result(None)

        ask = begin(tell, *args)
        try:
            await future
        except asyncio.CancelledError:
            self.session.give_up(ask)
            raise
        return ask

    async def close(self) -> None:
        if self.session.closed or self.session.forked:
            return
        if self._loop and self._loop.is_closed():
            self.session.engine_ended(False)
            return
        gone = asyncio.Event()
        if self._guard:
            self._guard.cancel()
        self.session.close(gone.set)
        await asyncio.wait_for(gone.wait(), 2 * QUIT_S)


def _close_unwanted(opening: asyncio.Future[tuple[socket.socket, Any]]) -> None:
    if not opening.cancelled() and not opening.exception():
        opening.result()[0].close()


_guards: set[asyncio.Task[None]] = set()


async def _guard(session: weakref.ref[Session]) -> None:
    """asyncio.run() cancels this task when the event loop is to end; then the other tasks may still give back what they
    hold."""
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        others = asyncio.all_tasks() - _guards
        if others and (known := session()) and not known.closed:
            await asyncio.wait(others, timeout=QUIT_S)
        if known := session():
            known.engine_ended(True)


def _guard_of(session: Session, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    def dropped(_session: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(guard.cancel)

    guard = loop.create_task(_guard(weakref.ref(session, dropped)))
    _guards.add(guard)  # a loop itself only knows its tasks weakly
    guard.add_done_callback(_guards.discard)
    return guard


# ---- what a program sees ----


def _this_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None


class Lock(BaseLock[asyncio.Event, Awaitable[float], Awaitable[None]]):
    """A lock; Client.lock() makes it. It is for one holder at a time, and has what redlockd.Lock has."""

    _event, _me = asyncio.Event, staticmethod(_this_task)

    async def acquire(self, blocking: bool | None = None, timeout: Seconds | None = None, *,
                      blocking_timeout: Seconds | None = None) -> bool:
        """True: held. False: somebody else has it, and the time to wait is over. Any other failure raises."""
        try:
            await self._ask_for(self._wait_of(blocking, timeout, blocking_timeout))
        except (BusyError, LockTimeoutError):
            return False
        return True

    async def _ask_for(self, wait_ms: int, token: str = "") -> None:
        if self._session.forked and self._hold.state == OVER:
            self._engine = self._client._living()
            self._start_anew(self._engine.session)
        hold = self._begin(token)
        if hold is None:
            return
        try:
            await self._engine.ask(self._session.lock, hold, wait_ms)
        except BaseException:
            hold.state = OVER if hold.state == ASKED else hold.state
            self._depth = 0
            raise

    async def _release(self, timeout_ms: int, keep_ms: int) -> None:
        self._session.check_usable()
        if self._leave():
            await self._engine.ask(self._session.unlock, self._hold, timeout_ms, keep_ms)

    async def _asked(self, begin: Callable[..., Ask], *args: Any) -> None:
        await self._engine.ask(begin, self._hold, *args)

    async def _valid_after(self, begin: Callable[..., Ask], *args: Any) -> float:
        await self._engine.ask(begin, self._hold, *args)
        return self.valid()

    async def __aenter__(self) -> Lock:
        if not self._given:
            await self._ask_for(self._wait)
        self._given = False
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._hold.state == OVER:
            return
        try:
            await self._release(RELEASE_MS if error else 0, 0 if error else self._left_to_keep())
        except LostError as lost:
            if error is None:
                raise
            failed_release(self, lost, True)
        except RedlockdError as open_end:
            failed_release(self, open_end, error is not None)


class Watch(BaseWatch):
    """An asynchronous iterator of NameState, without end: Client.watch() makes it. aclose() ends it, and so does a loop
    that was left."""

    def __init__(self, engine: _LoopEngine, name: str) -> None:
        self._engine = engine
        self._changed = asyncio.Event()
        super().__init__(engine.session, name)

    def _wake(self) -> None:
        self._changed.set()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> NameState:
        self._engine.enter()
        if not self._begun:
            self._begun = True
            self._engine.session.watch(self)
        while not self._states and not self._over:
            self._changed.clear()
            await self._changed.wait()
        if (state := self._next()) is None:
            raise StopAsyncIteration
        return state

    async def aclose(self) -> None:
        if not self._session.closed and not self._session.forked:
            self._engine.session.unwatch(self)

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class Client(BaseClient[Lock, Awaitable[list[dict[str, str]]]]):
    """A connection to redlockd for one event loop, made with the first request and made anew when it breaks. Its arguments
    and methods are those of redlockd.Client."""

    _lock = Lock
    _engine: _LoopEngine

    def _start(self) -> None:
        self._engine = _LoopEngine()
        self._engine.session = self._new_session(self._engine)

    def locked(self, name: str, **options: Any) -> Callable[[F], F]:
        """A decorator: the coroutine function runs under the lock, which each call takes and gives back. {0} and {word}
        in the name stand for arguments of the call, encoded as by name_of(). options: those of lock()."""
        checked_template(name)

        def decorate(function: F) -> F:
            @wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                async with self.lock(name_from_call(name, function, args, kwargs), **options):
                    return await function(*args, **kwargs)
            return call
        return decorate

    async def resume(self, name: Name, token: str, *, ttl: Seconds | None = None, max: Seconds | None = None,
                     note: str | None = None) -> Lock:
        """Takes over a lock by its token, as a session lock of this client: `async with await client.resume(...)`.
        Token and fence become new, and whoever held it before loses it."""
        lock = self.lock(known_name(name), ttl=ttl, max=max, note=note)
        await lock._ask_for(0, checked_token(token))
        lock._given = True
        return lock

    async def lead(self, name: str, work: Callable[[Lock], Awaitable[T]], *, data: str | None = None,
                   ttl: Seconds | None = None, at_most: Seconds | None = None, note: str | None = None) -> T:
        """Waits until this program leads, which is to hold the lock, and awaits work(lock) then.

        Returns what work returned while it led, and raises what it raised. When the lock is lost, work is cancelled, and
        whatever its outcome is, this waits again. While redlockd is away, or too few masters answer, it goes on asking.
        data: what who() and watch() tell of the leader; default: HOST/PID.
        """
        election = Election(name, data)
        while True:
            lock = self.lock(name, data=election.data, ttl=ttl, at_most=at_most, note=note)
            try:
                await lock._ask_for(DURATION_MAX_MS)
            except RedlockdError as error:
                await asyncio.sleep(election.pause_s(error))
                continue
            election.leads(lock)
            try:
                async with lock:
                    result = await _while_held(lock, work(lock))
                    if not election.was_lost(lock, None):
                        return result
            except BaseException as error:
                if not election.was_lost(lock, error):
                    raise

    async def _rows(self, verb: str, what: str) -> list[dict[str, str]]:
        engine = self._living()
        ask: Ask = await engine.ask(engine.session.rows, verb, what)
        return ask.rows or []

    def watch(self, name: str) -> Watch:
        """An asynchronous iterator: who has the name, now and at each change. It goes on over a reconnection, which is not
        told, and may miss what lies between two states."""
        return Watch(self._living(), checked_single(name))

    async def close(self) -> None:
        """Gives back all session locks; leases stay. A call that waits gets ClosedError, and so does all later use."""
        await self._engine.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


class _Deposed(Exception):
    """The work was cancelled, since its lock is lost."""


async def _while_held(lock: Lock, work: Awaitable[T]) -> T:
    working, losing = asyncio.ensure_future(work), asyncio.ensure_future(lock.lost.wait())
    try:
        await asyncio.wait([working, losing], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
            await asyncio.wait([working])
        if working.cancelled() and lock.lost_reason:
            raise _Deposed
        return working.result()
    finally:
        losing.cancel()
        working.cancel()
