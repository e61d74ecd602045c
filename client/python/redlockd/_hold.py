"""A lock and a request, as the session knows them.

A lock's way (`Hold.state`):

    ASKED --+LOCKED--> HELD --connection gone, or draining--> DETACHED <--not now--> RESUMING --+LOCKED--> HELD
                        |                                        |                      |
                        +--------- !LOST, its time is over ------+----- -NOTHELD -------+----> LOST --> OVER
                        +--------- release ----------------------+--> GIVING --> OVER

While its RESUME is under way on a new connection, a lock of a draining connection is RESUMING too, and still bound to
the draining connection.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Protocol

from ._clock import now_ms
from ._error import RedlockdError

if TYPE_CHECKING:
    from ._connection import Connection, Daemon

ASKED, HELD, DETACHED, RESUMING, GIVING, LOST, OVER = "asked held detached resuming giving lost over".split()


class Owner(Protocol):
    """Hears what becomes of a lock."""

    def _on_lost(self) -> None: ...
    def _on_expiring(self) -> None: ...
    def _on_renewed(self) -> None: ...


Tell = Callable[["RedlockdError | None"], Any]  # hears how a request has ended


class Hold:
    """A lock, from the request for it on. What it has not yet is an attribute of the class."""

    state = ASKED
    token = ""
    fence = 0
    slot: int | None = None
    began_ms = 0  # when it was granted
    deadline_ms = 0  # on our clock; 0: not held, or not known
    until_ms = 0  # the same on the daemon's clock
    daemon: Daemon | None = None
    connection: Connection | None = None  # the connection that holds it
    max_until_ms = 0  # when max= is over; 0: no max=
    span_ms = warn_ms = 0
    warned = releasing = attached = False
    reason = ""  # of its loss
    retry_at_ms = notheld_ms = 0
    not_on: Connection | None = None  # this connection has refused to resume this lock

    def __init__(self, name: str, ttl_ms: int = 0, max_ms: int = 0, words: str = "", note: str = "",
                 lease: bool = False, shared: bool = False, owner: Owner | None = None) -> None:
        self.name, self.ttl_ms, self.max_ms = name, ttl_ms, max_ms
        self.words, self.note = words, note  # all options of LOCK but wait=; note=
        self.lease = lease  # needs no connection, and is not resumed
        self.reader = shared  # for the program, from the call of downgrade() on
        self.shared = shared  # redlockd has said so, or is asked for nothing else
        self.owner = owner

    def valid_ms(self) -> int:
        """For how long the lock is surely still held. Needs no I/O; any thread may ask."""
        return max(0, self.deadline_ms - now_ms()) if self.deadline_ms else 0


class Ask:
    """A request. What few requests have is an attribute of the class until then. `tell` is None where nobody waits for
    the answer (any more)."""

    ttl_ms = wait_until_ms = keep_ms = 0
    data = tag = ""
    instead: RedlockdError | None = None  # of an UNLOCK that keeps nothing, though it was to
    rows: list[dict[str, str]] | None = None  # of WHO and SHOW
    connection: Connection | None = None  # where it is on its way
    not_on: Connection | None = None  # this connection refused this ask, which waits for another
    short = False  # counted in connection.short
    internal = False  # a RESUME or DOWNGRADE that the session wants
    unsure = False  # an UNLOCK: a connection ended before the answer
    first = False  # a DOWNGRADE before which the program had no reason to count as a reader

    def __init__(self, verb: str, hold: Hold, tell: Tell | None = None, give_up_ms: int = 0) -> None:
        self.verb, self.hold, self.tell = verb, hold, tell
        self.give_up_ms = give_up_ms  # 0: never
