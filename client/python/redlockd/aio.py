"""redlockd for asyncio programs.

    async with redlockd.aio.Client() as client:
        async with client.lock("job", ttl=10, blocking_timeout=30) as lock:
            await work(lock.fence)

Make one Client for each event loop, and call its methods and its locks' methods in that loop. A Lock object is for one
holder: make one for each task, since they are cheap. Cancelling a task that waits in acquire() leaves nothing behind.
All durations are seconds (float, or a timedelta).
"""
from __future__ import annotations

import asyncio
import ssl
from typing import Any, Callable, TypeVar

from ._address import Where
from ._hold import ASKED, OVER
from ._lines import Name, checked_token, checked_word, duration_ms, known_name
from ._lock import RELEASE_MS, BaseLock, HoldKind, Mode, Seconds, failed_release
from ._names import checked_template, name_from_call, wraps
from ._session import Session
from .errors import BusyError, LockTimeoutError, LostError, RedlockdError

F = TypeVar("F", bound=Callable[..., Any])


class Lock(BaseLock):
    """A lock; Client.lock() makes it. It is for one holder at a time.

    `lost` is an asyncio.Event that is set at the moment when the lock is lost. The asyncio.Event `expiring` is set
    while redlockd cannot renew the lock and less than a third of its time is left.
    """

    def __init__(self, session: Session, name: Name, **options: Any) -> None:
        self._client: Client | None = None
        self.lost: asyncio.Event = asyncio.Event()
        self.expiring: asyncio.Event = asyncio.Event()
        super().__init__(session, name, me=_this_task, **options)

    async def acquire(self, blocking: bool | None = None, timeout: Seconds | None = None, *,
                      blocking_timeout: Seconds | None = None) -> bool:
        """True: held. False: somebody else has it, and the time to wait is over.

        timeout: how long to wait, as in threading.Lock (-1: without end); blocking_timeout is another name for it. What
        is left out is as Client.lock() was told. Any other failure raises its RedlockdError, such as NoQuorumError or
        UnreachableError.
        """
        try:
            await self._ask_for(self._wait_of(blocking, timeout, blocking_timeout))
        except (BusyError, LockTimeoutError):
            return False
        return True

    async def _ask_for(self, wait_ms: int, token: str = "") -> None:
        if self._session.forked and self._hold.state == OVER and self._client:
            self._start_anew(self._client._living())
        hold = self._begin(token)
        if hold is None:
            return
        try:
            await self._session.lock(hold, wait_ms)
        except BaseException:
            hold.state = OVER if hold.state == ASKED else hold.state
            self._depth = 0
            raise

    async def release(self) -> None:
        """Gives the lock back.

        LostError: it was lost before, told once. NotHeldError: this object holds nothing. After NoQuorumError,
        NoAnswerError or UnreachableError the outcome is open; the lock is free when its ttl is over at the latest.
        When the calling task is cancelled, the release goes on.
        """
        await self._release(0)

    async def _release(self, timeout_ms: int) -> None:
        self._session.check_usable()
        if self._leave():
            await self._session.unlock(self._hold, timeout_ms)

    async def extend(self, ttl: Seconds | None = None) -> float:
        """Makes the lock last `ttl` seconds from now (None: its own ttl), never shorter; returns valid().

        A session lock is renewed with this ttl from now on; it needs no extend() to live.
        """
        await self._session.extend(self._hold, duration_ms(ttl, "ttl"))
        return self.valid()

    async def check(self) -> float:
        """Asks redlockd whether the lock is still held; returns valid(). NotHeldError or LostError: it is not."""
        await self._session.check(self._hold)
        return self.valid()

    async def downgrade(self) -> float:
        """A writer becomes a reader, and no other writer gets in between; returns valid(). `fence` stays, `token` is new.

        ModeError, LimitError, BadArgumentError, UnsupportedError: it is a writer's lock as before. After NoQuorumError,
        NoAnswerError or UnreachableError it is a reader's, for which other readers may still have to wait: too few
        masters know it yet. The library goes on asking; call again to hear when it is done. `mode` tells what it is. A
        reader's lock stays as it is.
        """
        self._check_downgrade()
        await self._session.downgrade(self._hold)
        return self.valid()

    async def __aenter__(self) -> Lock:
        if not self._enters_given():
            await self._ask_for(self._wait_of(None, None, None))
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._released_already():
            return
        try:
            await self._release(RELEASE_MS if error else 0)
        except LostError as lost:
            if error is None:
                raise
            failed_release(self, lost, True)
        except RedlockdError as open_end:
            failed_release(self, open_end, error is not None)


class Client:
    """A connection to redlockd for one event loop, made with the first request and made anew when it breaks.

    address: "unix:/path", "host:port", "[::1]:port" or "tls://host:port". Default: REDLOCK_ADDRESS, else the Unix
    socket /run/redlockd/redlockd.sock, and if connecting there fails (and there is no secret), 127.0.0.1:7335.
    client: a word that SHOW CLIENTS tells. timeout: seconds for connecting and for each answer.
    user, secret: default REDLOCK_USER and the line in REDLOCK_SECRET_FILE. ssl_context: default by REDLOCK_CA,
    REDLOCK_CERT and REDLOCK_KEY.
    """

    def __init__(self, address: str | None = None, *, client: str | None = None, timeout: Seconds = 10,
                 user: str | None = None, secret: str | None = None, ssl_context: ssl.SSLContext | None = None) -> None:
        word = checked_word(client, "client", 64) if client is not None else None
        where, timeout_ms = Where(address, user, secret, ssl_context), duration_ms(timeout, "timeout")
        self._new_session: Callable[[], Session] = lambda: Session(where, word, timeout_ms)
        self._session = self._new_session()

    def _living(self) -> Session:
        if self._session.forked:  # the child begins without a connection and without locks
            self._session = self._new_session()
        return self._session

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Client {self._session.describe()}>"

    def lock(self, name: Name, *, ttl: Seconds | None = None, blocking: bool = True,
             blocking_timeout: Seconds | None = None, max: Seconds | None = None, hold: HoldKind = "session",
             note: str | None = None, mode: Mode | None = None, slots: int | None = None,
             reentrant: bool = False) -> Lock:
        """A Lock that is not held yet: `async with` it, or acquire() it.

        ttl: for how long the masters keep it when nobody renews it; redlockd renews it while the program is connected.
        blocking, blocking_timeout: whether and for how long to wait; None: without end.
        max: for how long redlockd renews at most. hold="lease": lives for its ttl, is renewed by nobody, and survives
        the program. note: a word that SHOW LOCKS tells. mode="shared": any number of readers, or one writer without it.
        slots: one of so many places, whose number is lock.slot; all who use the name give the same. A list of names:
        all or none, as one lock. A redlockd that cannot do these says UnsupportedError. reentrant: the same task may
        enter again.
        """
        lock = Lock(self._living(), name, ttl=ttl, blocking=blocking, blocking_timeout=blocking_timeout, max=max,
                    hold=hold, note=note, mode=mode, slots=slots, reentrant=reentrant)
        lock._client = self
        return lock

    def locked(self, name: str, **options: Any) -> Callable[[F], F]:
        """A decorator: the coroutine function runs under the lock, which each call takes and gives back. {0} and {word}
        in the name stand for arguments of the call, encoded as by name_of(). options: those of lock()."""
        checked_template(name)

        def decorate(function: F) -> F:
            @wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                async with self.lock(name_from_call(name, function, args, kwargs), **options):
                    return await function(*args, **kwargs)
            return call
        return decorate

    def attach(self, name: Name, token: str) -> Lock:
        """A Lock for a token from elsewhere, to extend(), check() or release(), which the end of a `with` does too.
        Nobody is asked, and valid() is 0 first."""
        lock = self.lock(known_name(name), hold="lease")
        lock._attach(token)
        return lock

    async def resume(self, name: Name, token: str, *, ttl: Seconds | None = None, max: Seconds | None = None,
                     note: str | None = None) -> Lock:
        """Takes over a lock by its token, as a session lock of this client: `async with await client.resume(...)`.
        Token and fence become new, and whoever held it before loses it."""
        lock = self.lock(known_name(name), ttl=ttl, max=max, note=note)
        await lock._ask_for(0, checked_token(token))
        lock._given = True
        return lock

    async def close(self) -> None:
        """Gives back all session locks; leases stay. A call that waits gets ClosedError, and so does all later use."""
        await self._session.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


def _this_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None
