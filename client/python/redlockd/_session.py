"""The part that both clients share: requests and locks over one connection at a time, made anew when it breaks.

    Client, Lock --> Session: Asking (_asking.py) --> Connection (_connection.py) --> redlockd
                              Keeping (_keeping.py): what becomes of locks
                              Linking (_linking.py): when to connect, and the timer

Everything here runs in one event loop. Other threads read attributes of a Hold, and closed and forked of the Session.
"""
from __future__ import annotations

import asyncio
import os
import weakref

from ._address import Where
from ._asking import Asking
from ._clock import now_ms
from ._connection import QUIT_S
from ._hold import DETACHED, HELD, LOST, OVER, RESUMING, Ask, Hold
from ._keeping import Keeping
from ._linking import Linking
from .errors import ClosedError, LostError, NotHeldError, UsageError


class Session(Asking, Keeping, Linking):
    def __init__(self, where: Where, client: str | None, timeout_ms: int) -> None:
        super().__init__(where, client, timeout_ms)
        self._guard: asyncio.Task[None] | None = None
        _sessions.add(self)

    # ---- what a program asks ----

    def describe(self) -> str:
        state = "closed" if self.closed else "connected" if self._connection else "not connected"
        return f"{' or '.join(map(str, self.where.places))} {state}"

    def check_usable(self) -> None:
        if self.forked:
            raise UsageError("this client belongs to the process that made it: make one in each process, after fork")
        if self.closed:
            raise ClosedError("the client was closed")

    def _enter(self) -> None:
        self.check_usable()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._guard = _guard_of(self, loop)
        elif self._loop is not loop:
            raise UsageError("this client belongs to another event loop: make one for each loop")

    async def lock(self, hold: Hold, wait_ms: int) -> None:
        """LOCK, or RESUME where the hold has a token. When it is cancelled, so is the wait, and a grant that comes all
        the same is given back."""
        self._enter()
        ask = Ask("RESUME" if hold.token else "LOCK", hold, wait_until_ms=now_ms() + wait_ms if wait_ms else 0)
        try:
            await self._asked(ask, wait_ms + self.timeout_ms)
        except asyncio.CancelledError:
            if hold.state == HELD:  # the lock was granted in the same turn
                self.let_go(hold)
            raise

    async def unlock(self, hold: Hold, timeout_ms: int = 0) -> None:
        """The UNLOCK is sent or queued when this is first suspended, and goes on even if this is cancelled."""
        self._enter()
        if hold.state == LOST:
            hold.state = OVER
            raise LostError(f"{hold.name} was lost before: {hold.reason}")
        if hold.state not in (HELD, DETACHED, RESUMING) or hold.releasing:
            raise NotHeldError(f"{hold.name} is not held by this object")
        await self._asked(self._unlocking(hold), timeout_ms or self.timeout_ms)

    async def extend(self, hold: Hold, ttl_ms: int) -> None:
        self._enter()
        await self._asked(Ask("EXTEND", self._held(hold), ttl_ms), self.timeout_ms)

    async def check(self, hold: Hold) -> None:
        self._enter()
        await self._asked(Ask("CHECK", self._held(hold)), self.timeout_ms)

    async def downgrade(self, hold: Hold) -> None:
        """From here on the lock is a reader's, unless redlockd refuses this and nothing was asked before."""
        self._enter()
        if self._held(hold).shared:
            return
        ask = Ask("DOWNGRADE", hold)
        ask.first, hold.reader = not hold.reader, True
        await self._asked(ask, self.timeout_ms)

    @staticmethod
    def _held(hold: Hold) -> Hold:
        if hold.state == LOST:
            raise LostError(f"{hold.name} was lost before: {hold.reason}")
        if hold.state not in (HELD, DETACHED, RESUMING) or hold.releasing:
            raise NotHeldError(f"{hold.name} is not held by this object")
        return hold

    def let_go(self, hold: Hold) -> None:
        """Gives back without waiting for the answer."""
        if hold.state in (HELD, DETACHED, RESUMING) and not hold.releasing:
            self._put(self._unlocking(hold))

    async def close(self) -> None:
        """Gives back all session locks. Leases stay."""
        if self.closed or self.forked:
            return
        if self._loop and self._loop.is_closed():
            self.loop_ended()
            return
        self._end()
        if self._connections:
            await asyncio.wait([asyncio.ensure_future(connection.quit()) for connection in self._connections])

    def _end(self) -> None:
        self.closed = True
        ended = self._loop is not None and self._loop.is_closed()
        if self._dialing and not ended:
            self._dialing.cancel()
        if self._timer:
            self._timer.cancel()
        if self._guard and not ended:
            self._guard.cancel()
        asks = [ask for connection in self._connections for ask in connection.sent.values()] + [*self._queue]
        self._queue.clear()
        for ask in asks if not ended else []:  # else nobody waits any more
            self._settle(ask, ClosedError("the client was closed"))
        for hold in list(self._holds):
            self._lost(hold, "closed")

    def loop_ended(self) -> None:
        """The event loop has ended, or is about to: nothing would read what redlockd says. The end of the connections
        gives the locks back."""
        if self.closed or self.forked:
            return
        self._end()
        for connection in list(self._connections):
            connection.cut()

    # ---- fork ----

    def drop_in_child(self) -> None:
        """Takes no threading.Lock, since another thread may have held it when the process was forked."""
        self.forked = True
        if self.where.opening and (descriptor := self.where.opening.detach()) >= 0:
            os.close(descriptor)
        for connection in self._connections:
            connection.drop_in_child()
        for hold in self._holds:
            hold.deadline_ms = 0


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
            known.loop_ended()


def _guard_of(session: Session, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    def dropped(_session: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(guard.cancel)

    guard = loop.create_task(_guard(weakref.ref(session, dropped)))
    _guards.add(guard)  # a loop itself only knows its tasks weakly
    guard.add_done_callback(_guards.discard)
    return guard


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _drop_all_in_child() -> None:
    for session in list(_sessions):
        session.drop_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all_in_child)
