"""Time: a clock that counts suspend, and how a moment of redlockd's clock translates into it.

All times are whole milliseconds.
"""
from __future__ import annotations

import time

# A Unix socket may be forwarded from another machine, whose clock may by chance show nearly the same time. The smaller
# this bound, the smaller that chance.
SAME_WITHIN_MS = 20
# How far two readings of one clock may be apart, beyond 0.1 % and the time of the answer. Two machines seldom start so
# close together.
GOES_ON_WITHIN_MS = 1000


class _SuspendClock:
    """For systems without CLOCK_BOOTTIME: the monotonic clock, moved ahead when the wall clock gains over 1 s on it."""

    def __init__(self) -> None:
        self._gained = self._gain()
        self._shift = 0

    @staticmethod
    def _gain() -> int:
        return (time.time_ns() - time.monotonic_ns()) // 1_000_000

    def now_ms(self) -> int:
        gain = self._gain()
        if gain - self._gained > 1000:
            self._shift += gain - self._gained
            self._gained = gain
        self._gained = min(self._gained, gain)
        return time.monotonic_ns() // 1_000_000 + self._shift


if hasattr(time, "CLOCK_BOOTTIME"):
    _clock_ns, _BOOTTIME = time.clock_gettime_ns, time.CLOCK_BOOTTIME

    def now_ms() -> int:
        """Milliseconds of a clock that never jumps and goes on while the machine sleeps."""
        return _clock_ns(_BOOTTIME) // 1_000_000
else:
    now_ms = _SuspendClock().now_ms


class Sample:
    """A reading of redlockd's clock, by HELLO: it said `now_ms` at some moment after our `sent_ms`."""

    __slots__ = ("known", "same", "sent_ms", "now_ms")

    def __init__(self) -> None:
        self.known = self.same = False
        self.sent_ms = self.now_ms = 0

    def deadline_ms(self, until_ms: int) -> int:
        """When redlockd's `until_ms` is on our clock, or a little earlier: 1 ms for what both clocks cut off, and
        0.1 % for clocks that run at different speeds."""
        left_ms = until_ms - self.now_ms
        if self.same:
            return until_ms
        if left_ms <= 0:
            return self.sent_ms - 1
        return self.sent_ms + left_ms - (left_ms + 999) // 1000 - 1

    @classmethod
    def proved(cls, now_ms: int, received_ms: int) -> Sample:
        """What an answer proves however long it was on its way."""
        sample = cls()
        sample.known, sample.sent_ms, sample.now_ms = True, received_ms, now_ms
        return sample

    def is_refuted(self, now_ms: int, received_ms: int) -> bool:
        """Whether by this sample redlockd's `now_ms`, which was received already, is still to come: then one of the
        clocks has stood still, and deadlines that were computed with this sample may be too late."""
        return self.known and self.deadline_ms(now_ms) > received_ms

    def take(self, sent_ms: int, now_ms: int, received_ms: int, local: bool) -> None:
        """Replaces the sample by a newer sample, if that tells more. Two samples of one clock
        are both right, and the sample that gives the later deadline is better. But if by the older sample redlockd's
        `now_ms` is still to come, one of the clocks has stood still (a paused virtual machine): then only the newer
        sample counts."""
        between = sent_ms <= now_ms <= received_ms
        same = local and between and received_ms - sent_ms <= SAME_WITHIN_MS
        if self.known and self.same and not same and between:  # a slow answer does not prove another clock
            return
        if self.known and not self.same and not same and sent_ms <= self.deadline_ms(now_ms) <= received_ms:
            return
        self.known, self.same, self.sent_ms, self.now_ms = True, same, sent_ms, now_ms

    def goes_on(self, sent_ms: int, now_ms: int, received_ms: int, grown_ms: int) -> bool:
        """Whether the first HELLO on a new connection shows the clock of this sample, which by its redlockd's word has
        stood still for `grown_ms` since."""
        if not self.known:
            return False
        ours_ms = sent_ms - self.sent_ms
        room_ms = GOES_ON_WITHIN_MS + ours_ms // 1000 + (received_ms - sent_ms)
        ahead_ms = now_ms - self.now_ms - ours_ms
        return abs(ahead_ms) <= room_ms or abs(ahead_ms + grown_ms) <= room_ms
