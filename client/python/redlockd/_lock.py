"""The part of a lock that needs no I/O, for the blocking and the asyncio client."""
from __future__ import annotations

import asyncio
import functools
import logging
import threading
from datetime import timedelta
from typing import Any, Callable, Generic, Literal, TypeVar

from ._clock import now_ms
from ._lines import Name, checked_name, checked_option, checked_token, duration_ms
from ._hold import ASKED, DETACHED, HELD, LOST, OVER, RESUMING, Ask, Hold
from ._session import Session
from ._table import DURATION_MAX_MS
from .errors import BadArgumentError, LostError, ModeError, NotHeldError, UsageError

logger = logging.getLogger("redlockd")
E = TypeVar("E", bound="threading.Event | asyncio.Event")
N = TypeVar("N")  # a number of seconds, for asyncio an awaitable
V = TypeVar("V")  # None, for asyncio an awaitable
Seconds = float | timedelta
HoldKind = Literal["session", "lease"]
Mode = Literal["exclusive", "shared"]
RELEASE_MS = 2000  # how long the release at the end of a with block may take if the block has raised an error

_STATES = {ASKED: "waiting", HELD: "held", DETACHED: "held", RESUMING: "held", LOST: "lost"}

DATA_IS_FOR = "data is for a session lock of one name, exclusive and without slots"

_NONE = Hold("")
_NONE.state = OVER


def _options(ttl: Seconds | None, at_most: Seconds | None, hold: str, note: str | None, mode: str | None,
             slots: int | None, data: str | None) -> tuple[int, int, str, str, bool]:
    """What a Hold is told: ttl and max in ms, all words of LOCK but wait=, note=, and whether it is a lease."""
    ttl_ms, most_ms = duration_ms(ttl, "ttl"), duration_ms(at_most, "at_most")
    lease = hold != "session" and checked_option("hold", hold) == "lease"
    if data is not None and (lease or slots is not None or mode == "shared"):
        raise BadArgumentError(DATA_IS_FOR)
    noted = "" if note is None else f" note={checked_option('note', note)}"
    words = f"{f' ttl={ttl_ms}' if ttl_ms else ''}{f' max={most_ms}' if most_ms else ''}{noted}"
    for key, value in ("hold", hold if lease else None), ("mode", mode), ("slots", slots), ("data", data):
        if value is not None:
            words += f" {key}={checked_option(key, value)}"
    return ttl_ms, most_ms, words, noted, lease


# Most locks of a program have the same few options. `typed`, since True is no 1 here.
_known_options = functools.lru_cache(maxsize=64, typed=True)(_options)


class BaseLock(Generic[E, N, V]):
    """See Lock. What is asked of redlockd gives its answer, or in asyncio an awaitable of that."""

    _owner: Any = None
    _depth = 0
    _given = False  # attach() or resume() has made it, and no `with` has entered it: then that takes nothing
    _hold = _NONE
    _lost: E | None = None  # the events, from when the program asks for them
    _expiring: E | None = None
    _event: Callable[[], E]
    _me: Callable[[], Any]  # who calls: a thread, or a task

    def __init__(self, client: Any, name: Name, ttl: Seconds | None, blocking: bool, blocking_timeout: Seconds | None,
                 at_most: Seconds | None, at_least: Seconds | None, hold: str, note: str | None, mode: str | None,
                 slots: int | None, data: str | None, reentrant: bool) -> None:
        self.name = checked_name(name)
        self._client = client  # which lives as long as its locks
        self._engine = client._living()
        self._session: Session = self._engine.session
        self._blocking, self._blocking_timeout = blocking, blocking_timeout
        self._wait = self._wait_ms(blocking, blocking_timeout)
        self._reentrant = reentrant
        self._shared = mode == "shared"
        self._at_least_ms = duration_ms(at_least, "at_least")
        if data is not None and "," in self.name:
            raise BadArgumentError(DATA_IS_FOR)
        try:
            self._options = _known_options(ttl, at_most, hold, note, mode, slots, data)
        except TypeError:  # one of them is wrong, and cannot be looked up
            self._options = _options(ttl, at_most, hold, note, mode, slots, data)
        self._guard = threading.RLock()  # a signal's handler may use the lock that its thread is about to use

    def _wait_of(self, blocking: bool | None, timeout: Seconds | None, blocking_timeout: Seconds | None) -> int:
        """How long acquire() waits, in ms: what is not given to it is as Client.lock() was told. The time is called
        timeout by threading.Lock, where -1 is without end, and blocking_timeout by others."""
        if timeout == -1:
            return DURATION_MAX_MS
        blocking_timeout = timeout if blocking_timeout is None else blocking_timeout
        if blocking is None:
            blocking = self._blocking or blocking_timeout is not None
        return self._wait_ms(blocking, self._blocking_timeout if blocking_timeout is None else blocking_timeout)

    @staticmethod
    def _wait_ms(blocking: bool, blocking_timeout: Seconds | None) -> int:
        if not blocking or not (blocking_timeout is None or blocking_timeout):  # 0, or timedelta(0)
            return 0
        return DURATION_MAX_MS if blocking_timeout is None else duration_ms(blocking_timeout, "blocking_timeout")

    def _start_anew(self, session: Session) -> None:
        """In a forked child: another thread of the parent may have had the guard when it forked."""
        self._session, self._guard = session, threading.RLock()

    def _begin(self, token: str = "") -> Hold | None:
        """Returns a new hold to be asked for; None: the lock was entered once more."""
        self._session.check_usable()
        me = self._me()
        with self._guard:
            if self._hold.state in _STATES and self._hold.state != LOST and not self._hold.releasing:
                if not self._reentrant or self._owner != me or self._hold.state == ASKED:
                    raise UsageError(f"this object holds {self.name} already, or waits for it: make one lock object "
                                     "for each holder, or ask for reentrant=True if the same one enters twice")
                if self._hold.reader and not self._shared:
                    raise ModeError(f"{self.name} was downgraded: a reader does not enter as a writer; leave it first")
                self._depth += 1
                return None
            if self._depth and self._owner == me and self._reentrant:
                raise LostError(f"{self.name} was lost: {self._hold.reason}; it cannot be entered again")
            hold = self._new_hold()
            if token:
                hold.token = token
            self._owner, self._depth = me, 1
            for event in self._lost, self._expiring:
                if event:
                    event.clear()
            return hold

    def _new_hold(self) -> Hold:
        self._hold = Hold(self.name, *self._options, self._shared, self)
        return self._hold

    def _attach(self, token: str) -> None:
        """The lock of a token from elsewhere: nothing is known of it until check() or extend()."""
        hold = self._new_hold()
        hold.token, hold.state, hold.lease, hold.attached = checked_token(token), HELD, True, True
        hold.reader = True  # that is not known, and a reader may do less
        self._owner, self._depth = self._me(), 1
        self._given = True

    def _leave(self) -> bool:
        """Returns False if the lock was entered more than once, and is still held."""
        if self._reentrant and self._owner != self._me() and self._depth:
            raise UsageError(f"{self.name} was entered by another thread or task")
        if self._depth > 1:
            self._depth -= 1
            return False
        self._depth = 0
        return True

    def _check_downgrade(self) -> None:
        hold = self._hold
        if hold.lease or hold.slot is not None or "," in hold.name:
            raise BadArgumentError(f"{self.name} cannot be downgraded: only a session lock of one name without slots can")
        if self._depth > 1:
            raise ModeError(f"{self.name} was entered {self._depth} times: leave it until it is entered once")

    def _on_lost(self) -> None:
        with self._guard:
            if self._lost and self._hold.reason:  # else it was taken anew meanwhile
                self._lost.set()

    def _on_expiring(self) -> None:
        with self._guard:
            if self._expiring and self._hold.warned:
                self._expiring.set()

    def _on_renewed(self) -> None:
        if self._expiring:
            self._expiring.clear()

    @property
    def lost(self) -> E:
        """Is set at the moment when the lock is lost."""
        with self._guard:
            self._lost = self._made(self._lost, self._hold.reason != "")
            return self._lost

    @property
    def expiring(self) -> E:
        """Is set while redlockd cannot renew the lock and less than a third of its time is left."""
        with self._guard:
            self._expiring = self._made(self._expiring, self._hold.warned)
            return self._expiring

    def _made(self, event: E | None, is_set: bool) -> E:
        """The event, made when the program asks for it first. The caller has the guard."""
        made = self._event() if event is None else event
        if is_set:
            made.set()
        return made

    def _left_to_keep(self) -> int:
        """For how many ms the name is to be kept at the end of a `with` block, so that at_least is over then."""
        return max(0, self._at_least_ms - (now_ms() - self._hold.began_ms)) if self._at_least_ms else 0

    # ---- what redlockd is asked ----

    def _asked(self, begin: Callable[..., Ask], *args: Any) -> V:
        raise NotImplementedError

    def _valid_after(self, begin: Callable[..., Ask], *args: Any) -> N:
        raise NotImplementedError

    def _release(self, timeout_ms: int, keep_ms: int) -> V:
        raise NotImplementedError

    def release(self, *, keep: Seconds | None = None) -> V:
        """Gives the lock back. In asyncio the release goes on when the calling task is cancelled.

        LostError: it was lost before, told once. NotHeldError: this object holds nothing. After NoQuorumError,
        NoAnswerError or UnreachableError the outcome is open; the lock is free when its ttl is over at the latest.

        keep: for so many seconds from now on nobody gets the name, though nobody holds it. It is for an exclusive lock
        of one name. After BadArgumentError, LimitError or UnsupportedError redlockd would not keep it, and the lock was
        given back. After other errors it is not kept, unless the connection broke meanwhile.
        """
        return self._release(0, duration_ms(keep, "keep"))

    def extend(self, ttl: Seconds | None = None) -> N:
        """Makes the lock last `ttl` seconds from now (None: its own ttl), never shorter; returns valid().

        A session lock is renewed with this ttl from now on; it needs no extend() to live.
        """
        return self._valid_after(self._session.extend, duration_ms(ttl, "ttl"))

    def check(self) -> N:
        """Asks redlockd whether the lock is still held; returns valid(). NotHeldError or LostError: it is not."""
        return self._valid_after(self._session.check)

    def set_data(self, data: str) -> V:
        """Changes what others read with who() and watch(), of a lock that was taken with data=. ModeError: it was not.
        After NoQuorumError either text may stand."""
        return self._asked(self._session.set_data, checked_option("data", data))

    def downgrade(self) -> N:
        """A writer becomes a reader, and no other writer gets in between; returns valid(). `fence` stays, `token` is new.

        ModeError, LimitError, BadArgumentError, UnsupportedError: it is a writer's lock as before. After NoQuorumError,
        NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: too few
        masters know it yet. The library goes on asking; call again to hear when it is done. `mode` tells what it is. A
        reader's lock stays as it is.
        """
        self._check_downgrade()
        return self._valid_after(self._session.downgrade)

    # ---- state that a program may ask for at any time ----

    def valid(self) -> float:
        """For how many seconds the lock is surely still held; 0.0: not, or not any more, or not known.

        Needs no I/O, and any thread may ask. Its clock counts the time for which the machine slept. Ask before each
        step of the work, and stop at 0.
        """
        return self._hold.valid_ms() / 1000

    def ensure(self) -> None:
        """Raises LostError unless valid() is above 0. Needs no I/O."""
        if not self._hold.valid_ms():
            raise LostError(f"{self.name} is not held any more: {self._hold.reason or 'its time is over'}")

    def locked(self) -> bool:
        """Whether this object holds its lock. Needs no I/O; says nothing about other holders."""
        return self._hold.valid_ms() > 0

    def owned(self) -> bool:
        """Whether this object holds its lock, and the calling thread (in asyncio: task) took it."""
        return self.locked() and self._owner == self._me()

    @property
    def fence(self) -> int:
        """A number that grows with every grant of the name, whoever gets the lock: hand it to whatever the lock
        protects. It changes when the lock is resumed after a reconnection: read it at each use. 0 before the grant."""
        return self._hold.fence

    @property
    def token(self) -> str:
        """40 hexadecimal digits; whoever shows them is the holder. It changes with the fence. "" before the grant."""
        return self._hold.token

    @property
    def mode(self) -> Mode:
        """"shared": this program only reads. That is so from downgrade() on, and for a lock of attach(), of which nothing
        is known."""
        return "shared" if self._hold.reader else "exclusive"

    @property
    def slot(self) -> int | None:
        """The number of the place that slots=... got, from 0 on. None for other locks, and before the grant."""
        return self._hold.slot

    @property
    def lost_reason(self) -> str:
        """expired, max, gone, released, moved, closed, denied, refused or unknown; "" while the lock is not lost."""
        return self._hold.reason

    @property
    def state(self) -> str:
        """"held" (also while it is to be resumed: valid() decides), "waiting", "lost" or "none"."""
        return _STATES.get(self._hold.state, "none") if not self._hold.releasing else "none"

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r} {self.state} valid={self.valid():.3f}>"


def failed_release(lock: BaseLock[Any, Any, Any], error: Exception, hidden: bool) -> None:
    """Logs the error of a release at the end of a with block, which is not raised."""
    if hidden or not isinstance(error, NotHeldError):
        logger.warning("release of %s: %s", lock.name, error)
