"""The engine of the blocking client: one lock, and one thread at a time that reads what redlockd says and wakes who waits.

The program's main thread goes never inside: it puts what it wants into a queue (_wanted), and the engine's own thread does
that, in order. For ^C and the handlers of signals come in the main thread, at any instruction. So they find nothing half
done; a handler may use the client at any time; and what ^C leaves is put into the queue, too.

Any other thread that calls goes inside, asks, and writes its lines itself. If nobody reads, it does so until it has its
answer; else it waits until the reader has it. When no caller reads, the engine's own thread does, since redlockd may tell a
loss at any time. It comes a moment after the last caller (LOOK_S), so that a caller that asks again and again meets no
other thread:

    caller   ask, write, poll, read --> goes on, asks ...
    thread   sleeps                     sleeps                    poll ...

Where callers come at once, the thread does all of it. It wakes the first of those that have their answers, and each
wakes the next when it waits again, since one alone can run. Then the thread asks what all of them want, which is cheaper
than in their threads, whose data may be in the cache of another core:

    callers    1: want, wait   2: want, wait   3: want, wait
    thread   read                                           ask for all, write, poll ...

If one does not ask again within CHAIN_S, since it has work to do, the next is woken all the same, and for a while each
wakes the next when it is woken itself.
"""
from __future__ import annotations

import collections
import heapq
import itertools
import logging
import math
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, Callable, TypeVar

from ._connection import Connection
from ._error import RedlockdError
from ._hold import ASKED, Ask, Hold, Tell
from ._parts import Parts
from ._session import Session
from .errors import ClosedError, LockCancelledError, UnreachableError, UsageError

CLOSE_S = 5.0
READ_BYTES = 65536
POLL_MOST_S = 3600.0
LOOK_S = 0.005  # so often the thread looks whether callers still come, and read
ALONE = 16  # after so many answers in a row for a caller that is alone, callers read again
CROWD = 8  # so many callers are woken one by the other
CHAIN_S = 0.002
HURRY_S = (0.01, 2.0)  # it doubles from the one to the other while callers have work to do
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

    ask: Ask | None = None
    result: Any = None  # of call()
    error: RedlockdError | None = None
    over = False
    reads = False  # the caller reads, and sees for itself; else it waits for `told`

    def __init__(self, engine: ThreadEngine) -> None:
        self.engine = engine
        self.thread = threading.get_ident()
        self.main = self.thread == engine._main
        self.told = _lock_that_is_held()

    def __call__(self, error: RedlockdError | None) -> None:
        """Called inside. The caller is woken at the end of this turn, once."""
        if self.over:
            return
        engine, self.error, self.over = self.engine, error, True
        engine._waiting.discard(self)
        if not self.reads:
            engine._told.append(self)
        elif engine._polls:
            engine.wake()

    def wait(self) -> None:
        if not self.reads:
            engine, told = self.engine, self.told
            if engine._woken == self.thread:  # never in the main thread
                engine._wake_next()
            told.acquire()
            if engine._hurries and engine._woken == self.thread:
                engine._wake_next()
        if self.error:
            raise self.error


def _lock_that_is_held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class ThreadEngine:
    """Its thread begins with the first call."""

    def __init__(self) -> None:
        self.session: Session
        self._main = threading.main_thread().ident  # a child of fork has an engine of its own
        self.sockets: dict[int, _Socket] = {}
        self._guard = threading.RLock()  # nobody enters twice: see check()
        self._soon: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()
        self._reader: _Waiter | ThreadEngine | None = None  # the caller that reads, or the engine itself for its thread
        self._poll: select.poll | None = None  # of the sockets; None: to be made anew
        self._polls = False  # the reader waits for the sockets
        self._waiting: set[_Waiter] = set()  # callers that have no answer yet
        self._calls = 0
        self._told: list[_Waiter] = []  # who is to be woken at the end of this turn
        self._chain: collections.deque[_Waiter] = collections.deque()  # who is to be woken, one by the other
        self._woken = 0  # the thread that was woken last, and wakes the next
        self._hurries, self._hurries_until, self._hurry_s = False, 0.0, HURRY_S[0]
        self._asks = False  # the thread is about to ask for all, and write
        self._wanted: collections.deque[tuple[Callable[..., object], tuple[Any, ...]]] = collections.deque()
        self._thread: threading.Thread | None = None
        self._ended = False  # the thread looks at _wanted no more
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
                if self._soon or self._told:
                    self._end_turn()
                return result
            except RedlockdError:
                self._end_turn()
                raise
            except BaseException:
                if connection := self.session._connection:
                    # A mistake, or what another thread has raised in this one (never ^C, which comes to the main thread)
                    # came in the middle of something: what is known of this connection may be wrong.
                    self.session.broken(connection, UnreachableError("the program was interrupted within a request"))
                self._end_turn()
                raise

    def _end_turn(self) -> None:
        if self._soon and not self._asks:
            self._run_soon()
        if self._told:
            told, self._told = self._told, []
            for waiter in told:
                waiter.told.release()

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
            try:
                self._waker[1].send(b"w")
            except BlockingIOError:  # it is woken
                pass

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
        if self._reader is not reader:
            return
        self._polls = False
        for descriptor, events in happened:
            if sock := self.sockets.get(descriptor):
                sock.happened(events)
            elif self._waker and descriptor == self._waker[0].fileno():
                _drain(self._waker[0])

    def _read(self, waiter: _Waiter, happened: list[tuple[int, int]]) -> select.poll | None:
        self._happened(waiter, happened)
        return self._to_poll(waiter)

    def _to_poll(self, waiter: _Waiter) -> select.poll | None:
        """What a caller that reads waits for; None: nothing any more."""
        if waiter.over:
            self._leave(waiter)
        return self._polled() if self._reader is waiter else None

    def _leave(self, waiter: _Waiter) -> None:
        """The caller goes. Where others wait, or the thread sleeps for long, the thread is to read."""
        self._waiting.discard(waiter)
        if self._reader is waiter:
            self._reader, self._polls = self if self._waiting else None, False
            if self._waiting or not self._looks:
                self._wake_thread()

    # ---- the thread ----

    def _make_waker(self) -> None:
        if not self._waker:
            self._waker = socket.socketpair()
            for end in self._waker:
                end.setblocking(False)

    def _begin(self) -> None:
        """Where several call it at once, one thread stays."""
        threading.Thread(target=self._run, name="redlockd", daemon=True).start()

    def _run(self) -> None:
        with self._guard:
            if self._thread:
                return
            self._thread = threading.current_thread()
            self._make_waker()
        try:
            self._serve()
        except BaseException:
            logger.exception("a mistake of this library: the client ends")
            with self._guard:
                self._asks = False
                self.session.engine_ended(True)
        with self._guard:
            self._ended = True
            self._do_all()
            for waiter in list(self._waiting):  # a mistake has come in the middle of its request
                waiter(ClosedError("the client was closed"))
            self._end_turn()
            waker, self._waker = self._waker, None
        for end in waker or ():
            end.close()

    def _wake_thread(self) -> None:
        """Takes no lock, and may come twice. The thread looks at _wanted after it has said how it sleeps."""
        rest, waker = self._rest, self._waker
        try:
            if rest:
                rest.release()
            elif self._reader is self and waker:
                waker[1].send(b"w")
        except (RuntimeError, OSError):  # it was woken already, or ends
            pass

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
                    alone = alone + 1 if len(told) == 1 and not self._waiting and not told[0].main else 0
                    if alone >= ALONE:
                        self._reader = None
                self._asks = bool(told) and len(told) + len(self._waiting) >= CROWD
            if self._asks:
                self._wake_in_chain(told)
            else:
                for waiter in told:
                    waiter.told.release()
            with self._guard:
                self._asks = False
                self._do_all()
                self._end_turn()
                if self.closing.is_set() and not self.sockets:
                    return
                if self._reader is None and (self._calls == calls or self._waiting or self.closing.is_set()):
                    self._reader = self
                self._looks = self._reader is None or self._calls != calls
                timeout_s, calls = self._timeout_s(), self._calls
                poll, rest = None, None
                if self._reader is self:
                    poll = self._polled()
                else:
                    rest = self._rest = _lock_that_is_held()
            if self._wanted:
                pass
            elif poll:
                happened = poll.poll(timeout_s * 1000 + 1)
            elif rest:
                rest.acquire(timeout=timeout_s)

    def _wake_in_chain(self, told: list[_Waiter]) -> None:
        end = _Waiter(self)
        for waiter in told:
            if waiter.main:  # ^C might come between taking the next and waking it
                waiter.told.release()
        self._chain = collections.deque([*(waiter for waiter in told if not waiter.main), end])
        self._hurries = time.monotonic() < self._hurries_until
        left = 0
        self._wake_next()
        while self._chain and not end.told.acquire(timeout=CHAIN_S):
            if left == len(self._chain):
                self._hurries = True
                self._wake_next()
            left = len(self._chain)
        self._woken = 0
        if not self._hurries:
            self._hurry_s = HURRY_S[0]
        elif left:
            self._hurries_until = time.monotonic() + self._hurry_s
            self._hurry_s = min(2 * self._hurry_s, HURRY_S[1])

    def _wake_next(self) -> None:
        try:
            waiter = self._chain.popleft()
        except IndexError:  # another has done it
            return
        self._woken = waiter.thread
        waiter.told.release()

    def _timeout_s(self) -> float:
        while self._timers and not self._timers[0][2].function:
            heapq.heappop(self._timers)
        now = time.monotonic()
        due = min(self._timers[0][0] if self._timers else math.inf, now + POLL_MOST_S)  # poll() takes no 30 days
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

    def check(self) -> None:
        """Takes no lock, and so it is safe in a forked child, too."""
        if self.session.forked or self.session.closed:
            self.session.check_usable()
        if self._guard._is_owned():  # type: ignore[attr-defined]
            raise UsageError("what redlockd calls, as a handler of logging, cannot use the same client")

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """The thread calls it inside, also when ^C ends the wait for that."""
        self.check()
        waiter = _Waiter(self)
        self._want(self._do_for, waiter, function, args)
        waiter.wait()
        result: T = waiter.result
        return result

    def let_go(self, hold: Hold) -> None:
        self._call_while_open(self.session.let_go, hold)

    def cancel(self, hold: Hold) -> bool:
        """Ends the wait for a lock. False: nobody waits for it."""
        return bool(self._call_while_open(self._cancel, hold))

    def _call_while_open(self, function: Callable[..., T], *args: Any) -> T | None:
        try:
            return self.call(function, *args)
        except (ClosedError, UsageError):
            return None

    def _want(self, function: Callable[..., object], *args: Any) -> None:
        """Takes no lock."""
        self._wanted.append((function, args))
        self._see_to_it()

    def _see_to_it(self) -> None:
        if self._ended:
            self.inside(self._do_all)
        elif not self._thread:
            self._begin()
        elif self._until:
            self._wake_thread()

    def _do_all(self) -> None:
        while self._wanted:
            function, args = self._wanted.popleft()
            function(*args)

    def _do_for(self, waiter: _Waiter, function: Callable[..., object], args: tuple[Any, ...]) -> None:
        error = None
        self._waiting.add(waiter)
        try:
            self.session.check_usable()
            waiter.result = function(*args)
        except RedlockdError as why:
            error = why
        waiter(error)

    def ask(self, begin: Callable[..., Ask], *args: Any) -> Ask:
        """Waits for the answer."""
        self.check()
        waiter = _Waiter(self)
        try:
            if waiter.main or self._asks:
                self._want(self._ask_for, waiter, begin, args)
            else:
                poll = self.inside(self._ask, waiter, begin, args)
                while poll:  # until the request is over; the thread sees to the timers
                    poll = self.inside(self._read, waiter, poll.poll())
            waiter.wait()
        except RedlockdError:
            raise
        except BaseException:  # after a KeyboardInterrupt, say, the request is taken back
            self._wanted.append((self._take_back, (waiter,)))  # nothing comes before it: one more ^C ends the wait alone
            self._call_while_open(_nothing)
            raise
        assert waiter.ask
        return waiter.ask

    def _ask(self, waiter: _Waiter, begin: Callable[..., Ask], args: tuple[Any, ...]) -> select.poll | None:
        """In the caller's thread. If nobody reads, it is to do so."""
        self._calls += 1
        if not self._thread:
            self._make_waker()
            self._begin()
        if not self._reader:
            self._reader, waiter.reads = waiter, True
        self._waiting.add(waiter)
        try:
            self.session.check_usable()
            waiter.ask = begin(waiter, *args)
        except RedlockdError:
            self._leave(waiter)
            raise
        return self._to_poll(waiter) if waiter.reads else None

    def _ask_for(self, waiter: _Waiter, begin: Callable[..., Ask], args: tuple[Any, ...]) -> None:
        """In the engine's thread."""
        self._calls += not waiter.main
        self._waiting.add(waiter)
        try:
            self.session.check_usable()
            waiter.ask = begin(waiter, *args)
        except RedlockdError as error:
            waiter(error)

    def _take_back(self, waiter: _Waiter) -> None:
        tell: Tell = waiter
        for ask in [waiter.ask] if waiter.ask else self.session._asks():
            if ask is waiter.ask or ask.tell is tell:
                self.session.give_up(ask)  # an UNLOCK goes on all the same
        self._leave(waiter)

    def _cancel(self, hold: Hold) -> bool:
        if hold.state != ASKED:  # it was granted meanwhile, and may be given back already
            return False
        for ask in self.session._asks():
            if ask.hold is hold and (tell := ask.tell):
                self.session.give_up(ask)
                tell(LockCancelledError("the wait was cancelled"))
                return True
        return False

    def stop(self) -> None:
        """Closes the session and ends the thread; in a forked child it does nothing, and takes no lock. It may be called
        while garbage is collected, in any thread."""
        if self.session.forked:
            return
        if not self._thread:
            self.inside(self._close)
            return
        self._want(self._close)
        if self._thread is not threading.current_thread() and not self._guard._is_owned():  # type: ignore[attr-defined]
            self._thread.join(CLOSE_S)

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


def _nothing() -> None:
    pass
