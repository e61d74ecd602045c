"""The part that both clients share: requests and locks over one connection at a time, made anew when it breaks.

    Client, Lock --> Session: Asking (_asking.py) --> Connection (_connection.py) --> redlockd
                              Keeping (_keeping.py): what becomes of locks
                              Watching (_watching.py): who has a name
                              Linking (_linking.py): when to connect, and the timer

Nothing here waits, and nothing is locked: the engine (_parts.py) sees to it that one thread at a time is inside. Other
threads read attributes of a Hold, and closed and forked of the Session. A method that asks is given `tell`, which is
called once, with the error if there is one; give_up() ends that.
"""
from __future__ import annotations

import os
import weakref
from typing import Callable

from ._address import Where
from ._asking import Asking
from ._clock import now_ms
from ._hold import DETACHED, HELD, LOST, OVER, RESUMING, Ask, Hold, Tell
from ._keeping import Keeping
from ._linking import Linking
from ._parts import Engine
from ._watching import Watching
from .errors import ClosedError, LostError, NotHeldError, UsageError


class Session(Asking, Keeping, Watching, Linking):
    def __init__(self, engine: Engine, where: Where, client: str | None, timeout_ms: int) -> None:
        super().__init__(engine, where, client, timeout_ms)
        _sessions.add(self)

    def describe(self) -> str:
        return f"{self.where} {'closed' if self.closed else 'connected' if self._connection else 'not connected'}"

    def check_usable(self) -> None:
        if self.forked:
            raise UsageError("this client belongs to the process that made it: make one in each process, after fork")
        if self.closed:
            raise ClosedError("the client was closed")

    # ---- what a program asks ----

    def _ask(self, ask: Ask, timeout_ms: int = 0) -> Ask:
        ask.give_up_ms = now_ms() + (timeout_ms or self.timeout_ms)
        self._put(ask)
        return ask

    def lock(self, tell: Tell, hold: Hold, wait_ms: int) -> Ask:
        """LOCK, or RESUME where the hold has a token. A grant that comes after give_up() is given back."""
        ask = Ask("RESUME" if hold.token else "LOCK", hold, tell)
        if wait_ms:
            ask.wait_until_ms = now_ms() + wait_ms
        return self._ask(ask, wait_ms + self.timeout_ms)

    def unlock(self, tell: Tell, hold: Hold, timeout_ms: int = 0, keep_ms: int = 0) -> Ask:
        """UNLOCK, which goes on after give_up()."""
        if hold.state == LOST:
            hold.state = OVER
            raise LostError(f"{hold.name} was lost before: {hold.reason}")
        self._held(hold)
        self._begin_unlock(hold)
        ask = Ask("UNLOCK", hold, tell)
        ask.keep_ms = keep_ms
        return self._ask(ask, timeout_ms)

    def extend(self, tell: Tell, hold: Hold, ttl_ms: int) -> Ask:
        ask = Ask("EXTEND", self._held(hold), tell)
        ask.ttl_ms = ttl_ms
        return self._ask(ask)

    def check(self, tell: Tell, hold: Hold) -> Ask:
        return self._ask(Ask("CHECK", self._held(hold), tell))

    def set_data(self, tell: Tell, hold: Hold, data: str) -> Ask:
        ask = Ask("DATA", self._held(hold), tell)
        ask.data = data
        return self._ask(ask)

    def downgrade(self, tell: Tell, hold: Hold) -> Ask:
        """From here on the lock is a reader's, unless redlockd refuses this and nothing was asked before."""
        ask = Ask("DOWNGRADE", self._held(hold), tell)
        if hold.shared:
            self._settle(ask)
            return ask
        ask.first, hold.reader = not hold.reader, True
        return self._ask(ask)

    def rows(self, tell: Tell, verb: str, what: str) -> Ask:
        """WHO or SHOW: the rows are the Ask's when that is over."""
        ask = Ask(verb, Hold(what), tell)
        ask.rows = []
        return self._ask(ask)

    @staticmethod
    def _held(hold: Hold) -> Hold:
        if hold.state == LOST:
            raise LostError(f"{hold.name} was lost before: {hold.reason}")
        if hold.state not in (HELD, DETACHED, RESUMING) or hold.releasing:
            raise NotHeldError(f"{hold.name} is not held by this object")
        return hold

    def give_up(self, ask: Ask) -> None:
        """The program waits no more."""
        if ask.verb in ("LOCK", "RESUME") and not ask.tell:
            self.let_go(ask.hold)  # the lock was granted in the same turn
        elif ask.verb != "UNLOCK":
            self._withdraw(ask)

    def let_go(self, hold: Hold) -> None:
        """Gives back without waiting for the answer."""
        if hold.state in (HELD, DETACHED, RESUMING) and not hold.releasing:
            self._begin_unlock(hold)
            self._put(Ask("UNLOCK", hold))

    # ---- the end ----

    def close(self, when_gone: Callable[[], object]) -> None:
        """Gives back all session locks. Leases stay. when_gone: called when the connections have ended."""
        self._end()
        self._when_gone = when_gone
        for connection in list(self._connections):
            connection.quit()
        if not self._connections:
            when_gone()

    def _end(self, told: bool = True) -> None:
        self.closed = True
        for timer in (self._dialing, self._timer):
            if timer:
                timer.cancel()
        asks = self._asks()
        self._queue.clear()
        for ask in asks if told else []:
            self._settle(ask, ClosedError("the client was closed"))
        for hold in list(self._holds):
            self._lost(hold, "closed")
        watches, self._watches = self._watches, {}
        for watch in [watch for watched in watches.values() for watch in watched.watchers] if told else []:
            watch._end(ClosedError("the client was closed"))

    def engine_ended(self, told: bool) -> None:
        """The engine has ended, or is about to: nothing would read what redlockd says. The end of the connections gives
        the locks back. told: those who wait can still be told."""
        if not self.closed and not self.forked:
            self._end(told)
            for connection in list(self._connections):
                connection.cut()

    # ---- fork ----

    def drop_in_child(self) -> None:
        """Takes no threading.Lock, since another thread may have held it when the process was forked."""
        self.forked = True
        if self.where.opening and (descriptor := self.where.opening.detach()) >= 0:
            os.close(descriptor)
        self.engine.drop_in_child()
        for connection in self._connections:
            connection.drop_in_child()
        for hold in self._holds:
            hold.deadline_ms = 0


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _drop_all_in_child() -> None:
    for session in list(_sessions):
        session.drop_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all_in_child)
