"""The engine of the blocking client: one lock, and one thread at a time that reads what redlockd says and wakes who waits.

A thread that calls goes inside, asks, and writes its lines itself. If nobody reads, it does so until it has its answer;
else it waits until the reader has it. When no caller reads, the engine's own thread does, since redlockd may tell a loss at
any time. It comes a moment after the last caller (LOOK_S), so that a caller that asks again and again meets no other
thread:

    caller   ask, write, poll, read --> goes on, asks ...
    thread   sleeps                     sleeps                    poll ...

Where callers come at once, the thread reads for all. It wakes those that have their answers, each by the one before, and
when all have gone on, it writes what they have asked meanwhile:

    callers    1: ask, wait   2: ask, wait   3: ask, wait
    thread   read                                        write, poll ...
"""
from __future__ import annotations

import collections
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
POLL_MOST_S = 3600.0
LOOK_S = 0.005  # so often the thread looks whether callers still come, and read
ALONE = 16  # after so many answers in a row for a caller that is alone, callers read again
CHAIN_LEAST = 3  # so many callers are woken each by the one before ...
CHAIN_S = 0.005  # ... and if one does not, all others after so long
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
    """Waits in one thread, the caller's, for what another tells."""

    __slots__ = ("engine", "thread", "error", "over", "told", "chain")

    def __init__(self, engine: ThreadEngine) -> None:
        self.engine = engine
        self.thread = threading.get_ident()
        self.error: RedlockdError | None = None
        self.over = False
        self.told: threading.Lock | None = None  # None: the caller reads, and sees for itself
        self.chain: collections.deque[threading.Lock] | None = None  # who is woken next

    def __call__(self, error: RedlockdError | None) -> None:
        self.error, self.over = error, True
        self.engine.is_told(self)

    def wait(self) -> None:
        if self.told:
            self.told.acquire()
        if self.chain:
            _wake_next(self.chain)
        if self.error:
            raise self.error


def _wake(told: list[_Waiter]) -> None:
    for waiter in told:
        if waiter.told:
            waiter.told.release()


def _wake_next(chain: collections.deque[threading.Lock]) -> None:
    try:
        chain.popleft().release()
    except IndexError:  # the thread did not wait for so long
        pass


def _lock_that_is_held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class ThreadEngine:
    """Its thread begins with the first call."""

    def __init__(self) -> None:
        self.session: Session
        self.sockets: dict[int, _Socket] = {}
        self._guard = threading.Lock()
        self._soon: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()
        self._reader: _Waiter | ThreadEngine | None = None  # the caller that reads, or the engine itself for its thread
        self._poll: select.poll | None = None  # of the sockets; None: to be made anew
        self._polls = False  # the reader waits for the sockets
        self._waiting: set[_Waiter] = set()  # callers that have no answer yet
        self._calls = 0
        self._told: list[_Waiter] = []  # who is to be woken at the end of this turn
        self._writes = False  # the thread is about to write for all
        self._thread: threading.Thread | None = None
        self._until = 0.0  # when the thread wakes by itself; 0: it is awake
        self._looks = True  # the thread looks soon whether callers still come, and read
        self._rest: threading.Lock | None = None  # on which it sleeps while it does not read
        self.closing = threading.Event()
        self._waker: tuple[socket.socket, socket.socket] | None = None

    # ---- being inside ----

    def inside(self, function: Callable[..., T], *args: Any) -> T:
        """Calls it while no other thread is inside."""
        with self._guard:
            try:
                result = function(*args)
                self._end_turn()
                return result
            except RedlockdError:
                self._end_turn()
                raise
            except BaseException:
                if connection := self.session._connection:
                    # ^C or the like came in the middle of something: what is known of this connection may be wrong.
                    self.session.broken(connection, UnreachableError("the program was interrupted within a request"))
                self._end_turn()
                raise

    def _end_turn(self) -> None:
        if self._soon and not self._writes:
            self._run_soon()
        if self._told:
            told, self._told = self._told, []
            _wake(told)

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
        if due < self._until:
            self._wake_thread()
        return timer

    def read_first(self, function: Callable[[], object]) -> None:
        """What has come is read before the timers are looked at."""
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

    # ---- reading ----

    def wake(self) -> None:
        """The reader is to look anew at what it waits for."""
        self._poll = None
        if self._polls and self._waker:
            self._polls = False
            self._waker[1].send(b"w")

    def is_told(self, waiter: _Waiter) -> None:
        self._waiting.discard(waiter)
        if waiter.told:
            self._told.append(waiter)
        elif self._polls:
            self.wake()

    def _polled(self) -> select.poll:
        self._polls = True
        if not self._poll:
            self._poll = select.poll()
            if self._waker:
                self._poll.register(self._waker[0], select.POLLIN)
            for descriptor, sock in self.sockets.items():
                self._poll.register(descriptor, sock.events())
        return self._poll

    def _happened(self, reader: object, happened: list[tuple[int, int]]) -> None:
        if self._reader is not reader:  # the handler of a signal reads in its place
            return
        self._polls = False
        for descriptor, events in happened:
            if sock := self.sockets.get(descriptor):
                sock.happened(events)
            elif self._waker and descriptor == self._waker[0].fileno():
                _drain(self._waker[0])

    def _read_for(self, waiter: _Waiter) -> None:
        """A caller reads until its request is over. The thread sees to the timers."""
        while self._reader is waiter:
            with self._guard:
                if waiter.over:
                    self._leave(waiter)
                    return
                poll = self._polled()
            self.inside(self._happened, waiter, poll.poll())

    def _leave(self, waiter: _Waiter) -> None:
        """The caller goes. Where others wait, or the thread sleeps for long, the thread is to read."""
        self._waiting.discard(waiter)
        if self._reader is waiter:
            self._reader, self._polls = None, False
            if self._rest and (self._waiting or not self._looks):
                self._wake_thread()

    # ---- the thread ----

    def _begin(self) -> None:
        self._waker = socket.socketpair()
        for end in self._waker:
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="redlockd", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        assert self._waker
        try:
            self._serve()
        except BaseException:
            logger.exception("a mistake of this library: the client ends")
            with self._guard:
                self._writes = False
                self.session.engine_ended(True)
                self._end_turn()
        with self._guard:
            waker, self._waker = self._waker, None
        for end in waker:
            end.close()

    def _wake_thread(self) -> None:
        rest, self._rest = self._rest, None
        if rest:
            rest.release()
        elif self._reader is self:
            self.wake()

    def _serve(self) -> None:
        happened: list[tuple[int, int]] = []
        alone, calls = ALONE, -1
        while True:
            with self._guard:
                self._until, self._rest = 0.0, None
                self._happened(self, happened)
                happened = []
                self._run_soon()
                self._run_timers()
                told, self._told = self._told, []
                if self._reader is self and told:
                    alone = alone + 1 if len(told) == 1 and not self._waiting else 0
                    if alone >= ALONE:
                        self._reader = None
                chain = self._chain_of(told)
            if chain:
                self._wake_all(*chain)
            with self._guard:
                self._writes = False
                self._end_turn()
                if self.closing.is_set() and not self.sockets:
                    return
                if self._reader is None and (self._waiting or self._calls == calls or self.closing.is_set()):
                    self._reader = self
                self._looks = self._reader is None or self._calls != calls
                timeout_s, calls = self._timeout_s(), self._calls
                poll, rest = None, None
                if self._reader is self:
                    poll = self._polled()
                else:
                    rest = self._rest = _lock_that_is_held()
            if poll:
                happened = poll.poll(timeout_s * 1000 + 1)
            elif rest:
                rest.acquire(timeout=timeout_s)

    def _chain_of(self, told: list[_Waiter]) -> tuple[collections.deque[threading.Lock], threading.Lock] | None:
        """Wakes who has been told; or, where they are many, returns the chain in which they are woken, and its end."""
        if len(told) < CHAIN_LEAST:
            _wake(told)
            return None
        end = _lock_that_is_held()
        chain = collections.deque([waiter.told for waiter in told if waiter.told])
        chain.append(end)
        for waiter in told:
            waiter.chain = chain
        self._writes = True
        return chain, end

    @staticmethod
    def _wake_all(chain: collections.deque[threading.Lock], end: threading.Lock) -> None:
        _wake_next(chain)
        if not end.acquire(timeout=CHAIN_S):
            while chain:
                _wake_next(chain)

    def _timeout_s(self) -> float:
        while self._timers and not self._timers[0][2].function:
            heapq.heappop(self._timers)
        now = time.monotonic()
        due = self._timers[0][0] if self._timers else now + POLL_MOST_S
        if self._looks and self._reader is not self:
            due = min(due, now + LOOK_S)
        self._until = due
        return max(0.0, due - now)

    def _run_timers(self) -> None:
        if not self._timers or self._timers[0][0] > time.monotonic():
            return
        for sock in list(self.sockets.values()):  # after a pause of the process a renewal may be there, unread
            sock.happened(select.POLLIN)
        self._run_soon()
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
        waiter = _Waiter(self)
        ask: Ask | None = None
        try:
            ask = self.call(self._ask, begin, waiter, *args)
            if asked:
                asked(ask)
            self._read_for(waiter)
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

    def _ask(self, begin: Callable[..., Ask], waiter: _Waiter, *args: Any) -> Ask:
        self._calls += 1
        reader = self._reader
        if isinstance(reader, _Waiter) and reader.thread == waiter.thread:  # the handler of a signal has interrupted it
            reader.told = None if reader.over else _lock_that_is_held()
            reader = self._poll = None
        if reader:
            waiter.told = _lock_that_is_held()
        else:
            self._reader = waiter
        self._waiting.add(waiter)
        try:
            return begin(waiter, *args)
        except RedlockdError:
            self._leave(waiter)
            raise

    def _take_back(self, ask: Ask | None, waiter: _Waiter) -> None:
        for one in [ask] if ask else self.session.asked_by(waiter):
            self.session.give_up(one)
        self._leave(waiter)

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
        self._wake_thread()

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
