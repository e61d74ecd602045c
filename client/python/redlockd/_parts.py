"""The state that the parts of a session share: asking (requests), keeping (locks) and linking (the connection)."""
from __future__ import annotations

import asyncio
from collections import deque

from ._address import Where
from ._clock import Sample
from ._connection import Connection, Daemon
from ._hold import Ask, Hold
from .errors import RedlockdError, UnreachableError

TICK_MS = 1000  # timers do not count suspend, so a look at the clock each second finds what ended meanwhile
BACKOFF_MOST_MS = 1000
STABLE_MS = 1000  # a connection that lasted so long was no failure
WINDOW = 48  # asks on their way that are answered at once: redlockd spares 64 beside max_waits_per_client


class Parts:
    def __init__(self, where: Where, client: str | None, timeout_ms: int) -> None:
        self.where = where
        self.timeout_ms = timeout_ms
        self.closed = self.forked = False
        self._hello = f"HELLO 1 {f'client={client} ' if client else ''}events=renewed"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Connection | None = None  # the connection for requests
        self._connections: set[Connection] = set()  # all that are open
        self._dialing: asyncio.Task[None] | None = None
        self._ever_up = False
        self._failures = 0
        self._why: RedlockdError = UnreachableError("no connection in time")
        self._before = Sample()  # of the connection that was up last
        self._daemon = Daemon(0)
        self._queue: deque[Ask] = deque()
        self._holds: dict[Hold, None] = {}  # holds with a deadline: held, or to be resumed
        self._by_token: dict[str, Hold] = {}  # session locks
        self._tags = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._tasks: set[asyncio.Task[None]] = set()
