"""The errors. Every exception that this package raises by itself is a RedlockdError.

Written by `make stubs` from proto/stubs.def.
"""
from __future__ import annotations

from ._error import RedlockdError

__all__ = [
    "AuthError", "BadArgumentError", "BusyError", "ClosedError", "DeniedError", "DrainingError", "LimitError",
    "LockCancelledError", "LockTimeoutError", "LostError", "ModeError", "NoAnswerError", "NoQuorumError",
    "NotHeldError", "ProtocolError", "RedlockdError", "UnreachableError", "UnsupportedError", "UsageError"]


class BusyError(RedlockdError):
    """Another has the lock, and the call did not wait."""

    code = "BUSY"


class LockTimeoutError(RedlockdError, TimeoutError):
    """Another has the lock, and the time to wait is over."""

    code = "TIMEOUT"


class NoQuorumError(RedlockdError):
    """Too few masters answered, or may vote yet. After a release, extend or check the outcome is open."""

    code = "NOQUORUM"


class NotHeldError(RedlockdError):
    """The token does not hold the lock."""

    code = "NOTHELD"


class LockCancelledError(RedlockdError):
    """The wait was cancelled."""

    code = "CANCELLED"


class ModeError(RedlockdError):
    """The lock is held in another mode."""

    code = "MODE"


class LimitError(RedlockdError):
    """A limit of redlockd is reached. The text names the setting."""

    code = "LIMIT"


class DrainingError(RedlockdError):
    """redlockd is shutting down, and grants no new locks."""

    code = "DRAINING"


class DeniedError(RedlockdError):
    """This user may not do that."""

    code = "DENIED"


class AuthError(RedlockdError):
    """redlockd wants a user and a secret, or refuses those that were given."""

    code = "AUTH"


class BadArgumentError(RedlockdError, ValueError):
    """An argument is not allowed. So is a refusal by a later redlockd that this library does not know."""

    code = "BADARG"


class UnsupportedError(RedlockdError):
    """This redlockd cannot do that. A later version may."""

    code = "UNSUPPORTED"


class LostError(RedlockdError):
    """The lock was lost. Another may have had it while the program worked."""

    code = "LOST"


class UnreachableError(RedlockdError, ConnectionError):
    """There is no connection to redlockd. The text says why."""

    code = "UNREACHABLE"


class NoAnswerError(RedlockdError):
    """redlockd did not answer in time. A lock that is granted later is given back."""

    code = "NOANSWER"


class ProtocolError(RedlockdError):
    """What answers is no redlockd, or its answer does not fit the request."""

    code = "PROTOCOL"


class ClosedError(RedlockdError):
    """The client was closed."""

    code = "CLOSED"


class UsageError(RedlockdError, RuntimeError):
    """Wrong use. A secret would go out in the clear, for one; the text says what."""

    code = "USAGE"


_REFUSALS: dict[str, type[RedlockdError]] = {cls.code: cls for cls in (
    BusyError, LockTimeoutError, NoQuorumError, NotHeldError, LockCancelledError, ModeError, LimitError,
    DrainingError, DeniedError, AuthError, BadArgumentError, UnsupportedError)}
_REFUSALS["BADVERB"] = UnsupportedError


def error_of(code: str, text: str, retry_ms: int | None) -> RedlockdError:
    """The exception for a refusal of redlockd; codes of later versions are BadArgumentError."""
    return _REFUSALS.get(code, BadArgumentError)(text, None if retry_ms is None else retry_ms / 1000)
