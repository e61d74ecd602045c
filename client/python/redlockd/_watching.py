"""WATCH: who has a name, told at each change. One WATCH for each name and connection serves all watchers of a program."""
from __future__ import annotations

import weakref
from collections import deque
from typing import NamedTuple

from ._clock import now_ms
from ._connection import Connection
from ._error import RedlockdError
from ._hold import Ask, Hold
from ._lines import Answer
from ._parts import Parts

STATES_MOST = 1000  # that a watcher has not read yet: then the oldest are left out


class NameState(NamedTuple):
    """Who has a name. What a holder tells is what another program wrote: trust it no further than that."""

    state: str  # "held", "free", "kept", or "unknown": too few masters answered
    mode: str | None = None  # "shared": readers have it
    fence: int | None = None  # where the holder tells something (data=)
    host: str | None = None
    data: str | None = None


class BaseWatch:
    """A watcher. The session knows it weakly: a loop that was left watches no more."""

    def __init__(self, session: Parts, name: str) -> None:
        self.name = name
        self._session = session
        self._states: deque[NameState] = deque(maxlen=STATES_MOST)
        self._last: NameState | None = None
        self._error: RedlockdError | None = None
        self._over = self._begun = False

    def _tell(self, state: NameState) -> None:
        if state != self._last:
            self._last = state
            self._states.append(state)
            self._wake()

    def _end(self, error: RedlockdError | None = None) -> None:
        self._over, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        raise NotImplementedError

    def _next(self) -> NameState | None:
        """None: it is over."""
        if self._states:
            return self._states.popleft()
        if self._error:
            raise self._error._fresh()
        return None


class Watched:
    """A name with watchers."""

    def __init__(self) -> None:
        self.watchers: weakref.WeakSet[BaseWatch] = weakref.WeakSet()
        self.state: NameState | None = None
        self.ask: Ask | None = None


class Watching(Parts):
    def watch(self, watch: BaseWatch) -> None:
        watched = self._watches.get(watch.name)
        if watched is None:
            watched = self._watches[watch.name] = Watched()
            self._ask_watch(watch.name, watched, now_ms() + self.timeout_ms)
        watched.watchers.add(watch)
        if watched.state:
            watch._tell(watched.state)

    def unwatch(self, watch: BaseWatch) -> None:
        watch._states.clear()
        watch._end()
        if watched := self._watches.get(watch.name):
            watched.watchers.discard(watch)
            self._unwatch_if_alone(watch.name, watched)

    def _unwatch_if_alone(self, name: str, watched: Watched) -> bool:
        if watched.watchers:
            return False
        del self._watches[name]
        if watched.ask:
            self._withdraw(watched.ask)
        if self._connection:  # with the connection, redlockd forgets it anyway
            self._put(Ask("UNWATCH", Hold(name), give_up_ms=now_ms() + self.timeout_ms))
        return True

    def _ask_watch(self, name: str, watched: Watched, give_up_ms: int = 0) -> None:
        def tell(error: RedlockdError | None) -> None:
            watched.ask = None
            if error and self._watches.get(name) is watched:
                del self._watches[name]
                for watch in list(watched.watchers):
                    watch._end(error)

        watched.ask = Ask("WATCH", Hold(name), tell, give_up_ms)
        self._put(watched.ask)

    def _watch_all(self) -> None:
        """On a new connection: redlockd has forgotten the watchers with the old one."""
        for name, watched in [*self._watches.items()]:
            if not watched.ask and not self._unwatch_if_alone(name, watched):
                self._ask_watch(name, watched)

    def _watch_answered(self, ask: Ask, connection: Connection, answer: Answer, _received_ms: int) -> None:
        if answer.code == "+WATCHING":
            self._settle(ask)
            watched = self._watches.get(ask.hold.name)
            if watched and connection is not self._connection:
                self._ask_watch(ask.hold.name, watched)
            else:
                self._is_now(answer)
        elif answer.code == "-DRAINING" and ask.tell:
            connection.draining = True
            self._ask_elsewhere(ask, connection)
        else:
            self._settle(ask, answer.refusal())

    def _is_now(self, answer: Answer) -> None:
        watched = self._watches.get(answer.name)
        if not watched or self._unwatch_if_alone(answer.name, watched):
            return
        values = answer.values
        watched.state = NameState(values.get("state", "unknown"), values.get("mode"), answer.number_or_none("fence"),
                                  values.get("host"), values.get("data"))
        for watch in list(watched.watchers):
            watch._tell(watched.state)
