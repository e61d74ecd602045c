"""The errors. Every exception that this package raises by itself is a RedlockdError.

`str(error)` is redlockd's own text, or a sentence of this library; `error.retry` is the number of seconds after which
asking again may help, if redlockd said a number, else None.
"""
from __future__ import annotations


class RedlockdError(Exception):
    """The root of all errors of this package."""

    code = "ERROR"

    def __init__(self, text: str = "", retry: float | None = None) -> None:
        super().__init__(text)
        self.retry = retry

    def _fresh(self) -> RedlockdError:
        """The same error for another caller that waits. An object that is raised in several places would collect their
        tracebacks, and a program that clears the frames of a traceback (as unittest does) would end coroutines of this
        library."""
        return type(self)(str(self), self.retry)


class BusyError(RedlockdError):
    """Somebody else has the lock (or many asked at once, and nobody got it), and the caller did not want to wait."""

    code = "BUSY"


class LockTimeoutError(RedlockdError, TimeoutError):
    """Somebody else has the lock, and blocking_timeout is over."""

    code = "TIMEOUT"


class NoQuorumError(RedlockdError):
    """Too few masters answered, or may vote yet. After a release, extend or check the outcome is open."""

    code = "NOQUORUM"


class LostError(RedlockdError):
    """The lock was lost before: somebody else may have had it while the program worked."""

    code = "LOST"


class NotHeldError(RedlockdError):
    """The lock is not held under this token, or by this object."""

    code = "NOTHELD"


class LockCancelledError(RedlockdError):
    """The wait was ended by Lock.cancel(), or by redlockd at the connection's end."""

    code = "CANCELLED"


class ModeError(RedlockdError):
    """The lock is held in another mode."""

    code = "MODE"


class LimitError(RedlockdError):
    """A limit of redlockd is reached; the text names the setting."""

    code = "LIMIT"


class DrainingError(RedlockdError):
    """redlockd is shutting down and grants no new locks."""

    code = "DRAINING"


class DeniedError(RedlockdError):
    """This user may not do that."""

    code = "DENIED"


class AuthError(RedlockdError):
    """redlockd wants a user and a secret, or refuses the user and secret that were given."""

    code = "AUTH"


class BadArgumentError(RedlockdError, ValueError):
    """An argument is not allowed, or redlockd refused the request for a reason that this library does not know."""

    code = "BADARG"


class UnsupportedError(RedlockdError):
    """This redlockd cannot do that; a later version may."""

    code = "UNSUPPORTED"


class UnreachableError(RedlockdError, ConnectionError):
    """There is no connection to redlockd; the text says why."""

    code = "UNREACHABLE"


class NoAnswerError(RedlockdError):
    """redlockd did not answer within the timeout. A lock that is granted later is given back."""

    code = "NOANSWER"


class ProtocolError(RedlockdError):
    """The program that answers is no redlockd, or gave an answer that does not fit the request."""

    code = "PROTOCOL"


class ClosedError(RedlockdError):
    """The client was closed."""

    code = "CLOSED"


class UsageError(RedlockdError, RuntimeError):
    """Wrong use: in a forked child, in another event loop, of a lock object that has a holder, or of a secret over an
    open connection."""

    code = "USAGE"


_BY_CODE = {cls.code: cls for cls in (
    BusyError, LockTimeoutError, NoQuorumError, NotHeldError, LockCancelledError, ModeError, LimitError, DrainingError,
    DeniedError, AuthError, UnsupportedError)}


def error_of(code: str, text: str, retry_ms: int | None) -> RedlockdError:
    """The exception for a refusal of redlockd; codes of later versions are BadArgumentError."""
    return _BY_CODE.get(code, BadArgumentError)(text, None if retry_ms is None else retry_ms / 1000)
