"""The engine of the blocking client: one lock, and a thread that reads what redlockd says and wakes who waits.

A thread that calls goes inside, asks, writes its lines itself before it leaves, and waits until the reader has the answer:

    caller   go in, ask, write ----.                        .--> goes on
    reader                poll ----+--> read, settle: wake -'    poll ...
"""
from __future__ import annotations

import heapq
import itertools
import logging
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, Callable, TypeVar

from ._connection import Connection
from ._error import RedlockdError
from ._hold import Ask
from ._parts import Parts
from ._session import Session
from .errors import UnreachableError

CLOSE_S = 5.0
READ_BYTES = 65536
POLL_MOST_MS = 3_600_000
T = TypeVar("T")
logger = logging.getLogger("redlockd")
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Socket(Connection):
    """All of its methods are called inside the engine."""

    def __init__(self, engine: ThreadEngine, session: Parts, sock: socket.socket) -> None:
        super().__init__(session, sock)
        self.engine = engine
        self.descriptor = sock.fileno()
        self._unwritten = b""
        self._closing = False
        engine.sockets[self.descriptor] = self
        engine.wake()

    def events(self) -> int:
        return select.POLLIN | select.POLLOUT * bool(self._unwritten)

    def write(self, data: bytes) -> None:
        if not self._unwritten:
            data = data[self._sent(data):]
        if data:
            self._unwritten += data
            self.engine.wake()

    def _sent(self, data: bytes) -> int:
        try:
            return self.sock.send(data)
        except _AGAIN:
            return 0
        except OSError as error:  # what redlockd has said before is read first
            self.engine.soon(self.is_gone, error)
            return len(data)

    def happened(self, events: int) -> None:
        if self._unwritten and events & ~select.POLLIN:
            self._unwritten = self._unwritten[self._sent(self._unwritten):]
            if self._closing and not self._unwritten:
                self.cut()
        while not self.ended:  # also what is parked is read, and passed over, to see its end
            try:
                data = self.sock.recv(READ_BYTES)
            except _AGAIN:
                return
            except OSError as error:
                self.is_gone(error)
                return
            if not data:
                self.is_gone()
            else:
                self.received(data)
                if len(data) < READ_BYTES and not isinstance(self.sock, ssl.SSLSocket):
                    return

    def is_gone(self, error: object = None) -> None:
        self._forget()
        super().is_gone(error)

    def close(self) -> None:
        self._closing = True
        if not self._unwritten:
            self.cut()

    def cut(self) -> None:
        self._forget()
        if not self.ended:
            self.ended = True
            self.session.ended(self, UnreachableError("the connection was closed"))

    def _forget(self) -> None:
        self.engine.sockets.pop(self.descriptor, None)
        self.engine.wake()
        self.sock.close()


class _Timer:
    __slots__ = ("function", "args")

    def __init__(self, function: Callable[..., object] | None, args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def cancel(self) -> None:
        self.function, self.args = None, ()


class _Waiter:
    """Waits in one thread for what another tells."""

    __slots__ = ("error", "_told")

    def __init__(self) -> None:
        self.error: RedlockdError | None = None
        self._told = threading.Lock()
        self._told.acquire()

    def __call__(self, error: RedlockdError | None) -> None:
        self.error = error
        self._told.release()

    def wait(self) -> None:
        self._told.acquire()
        if self.error:
            raise self.error


class ThreadEngine:
    """Its thread begins with the first call."""

    def __init__(self) -> None:
        self.session: Session
        self.sockets: dict[int, _Socket] = {}
        self._guard = threading.Lock()
        self._soon: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()
        self._poll: select.poll | None = None  # of the sockets; None: to be made anew
        self._polls_until = 0.0  # 0: the thread is awake
        self._thread: threading.Thread | None = None
        self.closing = threading.Event()
        self._waker: tuple[socket.socket, socket.socket] | None = None

    # ---- being inside ----

    def inside(self, function: Callable[..., T], *args: Any) -> T:
        """Calls it while no other thread is inside."""
        with self._guard:
            try:
                result = function(*args)
                self._run_soon()
                return result
            except RedlockdError:
                self._run_soon()
                raise
            except BaseException:
                if connection := self.session._connection:
                    # ^C or the like came in the middle of something: what is known of this connection may be wrong.
                    self.session.broken(connection, UnreachableError("the program was interrupted within a request"))
                self._run_soon()
                raise

    def _run_soon(self) -> None:
        while self._soon:
            functions, self._soon = self._soon, []
            for function, args in functions:
                function(*args)

    # ---- what the session calls ----

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        self._soon.append((function, args))

    def later(self, seconds: float, function: Callable[..., object], *args: Any) -> _Timer:
        due, timer = time.monotonic() + seconds, _Timer(function, args)
        heapq.heappush(self._timers, (due, next(self._order), timer))
        if due < self._polls_until:
            self.wake()
        return timer

    def read_first(self, function: Callable[[], object]) -> None:
        """The thread reads before it looks at its timers."""
        function()

    def connect(self, session: Parts) -> _Timer:
        attempt = _Timer(self._connected, (session,))
        threading.Thread(target=self._connect, args=(session, attempt), name="redlockd-connect", daemon=True).start()
        return attempt

    def _connect(self, session: Parts, attempt: _Timer) -> None:
        """In a thread of its own, since looking up a name takes its time."""
        sock, error = None, None
        try:
            sock, place = session.where.connect()
            if place.tls:
                sock = session.where.tls().wrap_socket(sock, server_hostname=place.host)
            sock.setblocking(False)
        except RedlockdError as known:
            error = known
        except OSError as why:
            error = UnreachableError(f"{session.where}: {why}")
        if not self.inside(self._use, session, attempt, sock, error) and sock:
            sock.close()

    @staticmethod
    def _use(session: Parts, attempt: _Timer, sock: socket.socket | None, error: RedlockdError | None) -> bool:
        """False: the connection is wanted no more."""
        if not attempt.function or session.forked:
            return False
        attempt.function(*attempt.args, sock, error)
        return True

    def _connected(self, session: Parts, sock: socket.socket | None, error: RedlockdError | None) -> None:
        if sock and not error:
            session.greet(_Socket(self, session, sock))
            return
        if sock:
            sock.close()
        session.not_connected(error or UnreachableError("no connection"))

    # ---- the thread ----

    def wake(self) -> None:
        """The thread is to look anew at what it waits for."""
        self._poll = None
        if self._polls_until and self._waker and threading.current_thread() is not self._thread:
            self._polls_until = 0.0
            self._waker[1].send(b"w")

    def _begin(self) -> None:
        self._waker = socket.socketpair()
        for end in self._waker:
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="redlockd", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        assert self._waker
        try:
            self._read(self._waker[0])
        except BaseException:
            logger.exception("a mistake of this library: the client ends")
            with self._guard:
                self.session.engine_ended(True)
        with self._guard:
            waker, self._waker = self._waker, None
        for end in waker:
            end.close()

    def _read(self, waker: socket.socket) -> None:
        happened: list[tuple[int, int]] = []
        while True:
            with self._guard:
                self._polls_until = 0.0
                for descriptor, events in happened:
                    if sock := self.sockets.get(descriptor):
                        sock.happened(events)
                    elif descriptor == waker.fileno():
                        _drain(waker)
                self._run_soon()
                if not happened:
                    self._run_timers()
                if self.closing.is_set() and not self.sockets:
                    return
                poll, timeout_ms = self._poll or self._new_poll(waker), self._timeout_ms()
            # After a pause of the process a timer may be due before a renewal was read: so it has to wait for a second look.
            happened = poll.poll(timeout_ms) or poll.poll(0)

    def _new_poll(self, waker: socket.socket) -> select.poll:
        self._poll = select.poll()
        self._poll.register(waker, select.POLLIN)
        for descriptor, sock in self.sockets.items():
            self._poll.register(descriptor, sock.events())
        return self._poll

    def _timeout_ms(self) -> float:
        while self._timers and not self._timers[0][2].function:
            heapq.heappop(self._timers)
        if not self._timers:
            self._polls_until = float("inf")
            return -1
        self._polls_until = self._timers[0][0]
        return min(max(0.0, self._polls_until - time.monotonic()) * 1000 + 1, POLL_MOST_MS)

    def _run_timers(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            timer = heapq.heappop(self._timers)[2]
            if timer.function:
                timer.function(*timer.args)
                self._run_soon()

    # ---- what a program calls ----

    def call(self, function: Callable[..., T], *args: Any) -> T:
        self.session.check_usable()  # takes no lock, and so it is safe in a forked child, too
        result: T = self.inside(self._call, function, *args)
        return result

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        self.session.check_usable()
        if not self._thread:
            self._begin()
        return function(*args)

    def ask(self, begin: Callable[..., Ask], *args: Any, asked: Callable[[Ask | None], object] | None = None) -> Ask:
        """Waits for the answer. asked: is told of the request while it is waited for, and then of None."""
        waiter = _Waiter()
        ask: Ask | None = None
        try:
            ask = self.call(begin, waiter, *args)
            if asked:
                asked(ask)
            waiter.wait()
        except RedlockdError:
            raise
        except BaseException:  # after a KeyboardInterrupt, say, the request is taken back
            self.inside(self._take_back, ask, waiter)
            raise
        finally:
            if asked:
                asked(None)
        return ask

    def _take_back(self, ask: Ask | None, waiter: _Waiter) -> None:
        for one in [ask] if ask else self.session.asked_by(waiter):
            self.session.give_up(one)

    def cancel(self, ask: Ask, error: RedlockdError) -> bool:
        return self.inside(self._cancel, ask, error)

    def _cancel(self, ask: Ask, error: RedlockdError) -> bool:
        if tell := ask.tell:
            self.session.give_up(ask)
            tell(error)
        return tell is not None

    def stop(self) -> None:
        """Closes the session and ends the thread; in a forked child it does nothing, and takes no lock."""
        if self.session.forked:
            return
        self.inside(self._close)
        thread = self._thread
        if thread and thread is not threading.current_thread():
            thread.join(CLOSE_S)

    def _close(self) -> None:
        self.closing.set()
        if not self.session.closed:
            self.session.close(lambda: None)
        self.wake()

    def drop_in_child(self) -> None:
        for end in self._waker or ():
            if (descriptor := end.detach()) >= 0:
                os.close(descriptor)


def _drain(waker: socket.socket) -> None:
    try:
        while waker.recv(4096):
            pass
    except BlockingIOError:
        pass
