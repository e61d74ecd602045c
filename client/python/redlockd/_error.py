"""The root of all errors."""
from __future__ import annotations


class RedlockdError(Exception):
    """The root of all errors of this package. `str(error)` is redlockd's own text, or a sentence of this library."""

    code = "ERROR"

    def __init__(self, text: str = "", retry: float | None = None) -> None:
        super().__init__(text)
        self.retry = retry  # after so many seconds asking again may help; None: redlockd did not say

    def _fresh(self) -> RedlockdError:
        """The same error for another caller that waits. An object that is raised in several places would collect their
        tracebacks, and a program that clears the frames of a traceback (as unittest does) would end coroutines of this
        library."""
        return type(self)(str(self), self.retry)
