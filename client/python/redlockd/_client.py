"""The part of a client that waits for nothing, for the blocking and the asyncio client."""
from __future__ import annotations

import ssl
from typing import Any, Callable, Generic, TypeVar

from ._address import Where
from ._lines import Name, checked_option, checked_show, checked_single, duration_ms, known_name
from ._lock import BaseLock, HoldKind, Mode, Seconds
from ._session import Session

L = TypeVar("L", bound=BaseLock[Any, Any, Any])
R = TypeVar("R")  # list[dict[str, str]], for asyncio an awaitable


class BaseClient(Generic[L, R]):
    """See Client."""

    _lock: Callable[..., L]
    _engine: Any

    def __init__(self, address: str | None = None, *, client: str | None = None, timeout: Seconds = 10,
                 user: str | None = None, secret: str | None = None, ssl_context: ssl.SSLContext | None = None) -> None:
        word = checked_option("client", client) if client is not None else None
        where, timeout_ms = Where(address, user, secret, ssl_context), duration_ms(timeout, "timeout")
        self._new_session: Callable[[Any], Session] = lambda engine: Session(engine, where, word, timeout_ms)
        self._start()

    def _start(self) -> None:
        raise NotImplementedError

    def _living(self) -> Any:
        """The engine; in a forked child one that begins without a connection and without locks."""
        if self._engine.session.forked:
            self._start()
        return self._engine

    def _rows(self, verb: str, what: str) -> R:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Client {self._engine.session.describe()}>"

    def lock(self, name: Name, *, ttl: Seconds | None = None, blocking: bool = True,
             blocking_timeout: Seconds | None = None, at_most: Seconds | None = None, max: Seconds | None = None,
             at_least: Seconds | None = None, hold: HoldKind = "session", note: str | None = None,
             mode: Mode | None = None, slots: int | None = None, data: str | None = None,
             reentrant: bool = False) -> L:
        """A Lock that is not held yet: use it in a `with` statement (of asyncio: `async with`), or acquire() it.

        ttl: for how long the masters keep it when nobody renews it; redlockd renews it while the program is connected.
        blocking, blocking_timeout: whether and for how long to wait; None: without end.
        at_most: for how long redlockd renews (max is the same). at_least: if the `with` block succeeds, nobody gets the
        name until so long after the lock's beginning: for a job that is to run once in a period. hold="lease": lives for
        its ttl, is renewed by nobody, and survives the program. note: a word that SHOW LOCKS tells. mode="shared": any
        number of readers, or one writer without it. slots: one of so many places, whose number is lock.slot; all who use
        the name give the same. data: what others read with who() and watch(), as "10.0.0.5:8080". A list of names: all or
        none, as one lock. A redlockd that cannot do these says so. reentrant: the same thread (task) may enter again.
        """
        return self._lock(self, name, ttl, blocking, blocking_timeout, max if at_most is None else at_most, at_least, hold,
                          note, mode, slots, data, reentrant)

    def attach(self, name: Name, token: str) -> L:
        """A Lock for a token from elsewhere, to extend(), check() or release(), which the end of a `with` does too.
        Nobody is asked, and valid() is 0 first."""
        lock = self.lock(known_name(name), hold="lease")
        lock._attach(token)
        return lock

    def who(self, name: str) -> R:
        """Who has the name and who waits for it, by what the masters say: rows as protocol.txt tells them."""
        return self._rows("WHO", checked_single(name))

    def show(self, what: str) -> R:
        """What redlockd knows: rows of LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD,
        VERSION."""
        return self._rows("SHOW", checked_show(what))
