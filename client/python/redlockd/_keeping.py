"""Locks: their time, their loss, and their way to the next connection."""
from __future__ import annotations

import logging
import random

from ._clock import now_ms
from ._connection import Connection
from ._hold import DETACHED, GIVING, HELD, LOST, RESUMING, Ask, Hold
from ._lines import Answer
from ._parts import STABLE_MS, TICK_MS, Parts
from ._table import DURATION_MAX_MS

RESUME_AGAIN_MS = 20  # the least pause before RESUME is asked again, plus RESUME_JITTER_MS at most
RESUME_JITTER_MS = 30
DOWNGRADE_AGAIN_MS = 500
NOTHELD_MS = 100  # for so long RESUME is asked again after -NOTHELD: other daemons learn of a token a moment later

logger = logging.getLogger("redlockd")


class Keeping(Parts):
    # ---- what happens to locks ----

    def _event(self, connection: Connection, answer: Answer) -> None:
        if answer.code == "!DRAIN":
            connection.draining = True
            self._failures = 0 if now_ms() - connection.up_ms >= STABLE_MS else self._failures
            self._need_connection()
        elif answer.code == "!CLOCK" and connection.up:
            self._is_behind(connection, answer.number("behind"))
        elif answer.code == "!NOW" and connection is self._connection:
            self._is_now(answer)
        hold = self._by_token.get(answer.values.get("token", ""))
        if not hold or hold.name != answer.name or hold.state not in (HELD, RESUMING):
            return
        if answer.code == "!RENEWED" and hold.connection is connection and hold.deadline_ms:
            self._until(hold, connection, answer.number("until"), now_ms())
        elif hold.state == RESUMING:  # the answer to RESUME says what became of the lock
            return
        elif answer.code == "!EXPIRING" and not hold.warned:
            self._expiring(hold)
        elif answer.code == "!LOST" and answer.values.get("reason") == "drain":
            hold.not_on = connection  # its keys are still there: the next redlockd can have it
            self._detach(hold)
            self._resume_all()
        elif answer.code == "!LOST":
            self._lost(hold, answer.values.get("reason", "unknown"))

    @staticmethod
    def _expiring(hold: Hold) -> None:
        hold.warned = True
        if hold.owner:
            hold.owner._on_expiring()

    def _until(self, hold: Hold, connection: Connection, until_ms: int, at_ms: int) -> None:
        before_ms = hold.deadline_ms
        longer = before_ms == 0 or hold.daemon is not connection.daemon or until_ms > hold.until_ms
        hold.until_ms, hold.daemon = until_ms, connection.daemon
        deadline_ms = max(1, min(connection.sample.deadline_ms(until_ms), at_ms + DURATION_MAX_MS))
        if not longer and before_ms < deadline_ms:  # another reading of the clock is no renewal
            deadline_ms = before_ms
        hold.deadline_ms = deadline_ms
        hold.span_ms = deadline_ms - at_ms if deadline_ms > at_ms else 0
        hold.warn_ms = deadline_ms - hold.span_ms // 3
        self._want(min(hold.warn_ms, at_ms + TICK_MS))
        if hold.warned:
            hold.warned = False
            if hold.owner:
                hold.owner._on_renewed()

    def _earlier(self, hold: Hold, by_ms: int) -> None:
        if by_ms > 0:
            hold.deadline_ms = max(1, hold.deadline_ms - by_ms)
            hold.warn_ms -= by_ms
            self._want(hold.warn_ms)

    def _is_behind(self, connection: Connection, behind_ms: int) -> None:
        """The daemon's clock stood still: its deadlines lie earlier than it told them."""
        grown_ms = behind_ms - connection.daemon.behind_ms
        if grown_ms <= 0:
            return
        connection.daemon.behind_ms = behind_ms
        self._hello_soon(connection)
        for hold in self._holds:
            if hold.daemon is connection.daemon:
                hold.until_ms -= grown_ms
                self._earlier(hold, grown_ms)

    def _lost(self, hold: Hold, reason: str) -> None:
        self._by_token.pop(hold.token, None)
        self._holds.pop(hold, None)
        connection, hold.connection = hold.connection, None
        if reason != "closed":
            logger.warning("%s is lost: %s", hold.name, reason)
        hold.state, hold.reason, hold.deadline_ms = LOST, reason, 0
        if hold.owner:
            hold.owner._on_lost()
        if connection and connection is not self._connection:
            self._retire(connection)
        if self._queue:
            self._pump()

    def _move_to_giving(self, hold: Hold) -> None:
        self._by_token.pop(hold.token, None)
        hold.state = GIVING

    def _expire(self, hold: Hold) -> None:
        there = hold.state == HELD and not hold.lease
        self._lost(hold, "expired")
        if there:  # redlockd may have renewed the lock, and !RENEWED be late
            self._give_back(hold.name, hold.token)

    # ---- moving locks to the next connection ----

    def _detach(self, hold: Hold) -> None:
        if hold.releasing:
            self._move_to_giving(hold)
            return
        hold.state = DETACHED
        hold.retry_at_ms = hold.notheld_ms = 0

    def _resume_all(self) -> None:
        for hold in [*self._by_token.values()]:
            self._resume(hold)
        if self._must_move():
            self._need_connection()

    def _must_move(self) -> bool:
        return bool(self._watches) or any(hold.state == DETACHED or (hold.state == HELD and hold.connection and hold.connection.draining)
                   for hold in self._by_token.values())

    def _resume(self, hold: Hold) -> None:
        connection, at_ms = self._connection, now_ms()
        moves = hold.state == DETACHED or (hold.state == HELD and hold.connection and hold.connection.draining)
        if not moves or self._by_token.get(hold.token) is not hold or not connection \
                or not connection.up or connection.draining or connection in (hold.connection, hold.not_on):
            return
        if hold.retry_at_ms > at_ms or hold.deadline_ms <= at_ms or self._is_downgraded_now(hold):
            return
        ask = Ask("RESUME", hold)
        ask.internal = True
        if not self._has_room(connection, ask):
            connection.crowded = True
            return
        hold.state = RESUMING
        self._send(connection, ask)

    def _not_moved(self, hold: Hold, connection: Connection) -> None:
        """The RESUME that was sent on this connection gets no answer."""
        old = hold.connection
        if hold.state != RESUMING:
            return
        if old and old is not connection and not old.ended and not hold.releasing:
            hold.state = HELD
        else:
            self._detach(hold)

    def _not_resumed(self, hold: Hold, connection: Connection, answer: Answer, at_ms: int) -> None:
        if hold.state != RESUMING:  # its time was over meanwhile, and the loss was told
            return
        if hold.releasing:
            self._move_to_giving(hold)
            self._pump()
            return
        old = hold.connection
        hold.state = HELD if old and not old.ended and not old.parked and old is not connection else DETACHED
        code = answer.code
        if code == "-DRAINING":
            connection.draining = True
            hold.not_on = connection
            self._failures += 1
            self._need_connection()
            return
        if code == "-NOTHELD":
            hold.notheld_ms = hold.notheld_ms or at_ms
        gone = code == "-NOTHELD" and (connection.repeats or at_ms - hold.notheld_ms >= NOTHELD_MS)
        if gone or code not in ("-NOTHELD", "-NOQUORUM", "-LIMIT"):
            self._lost(hold, "gone" if gone else "refused")
            return
        again_ms = RESUME_AGAIN_MS + random.randrange(RESUME_JITTER_MS)
        hold.retry_at_ms = at_ms + again_ms
        self.engine.later(again_ms / 1000 + 0.001, self._resume, hold)

    def _cancel_resume(self, hold: Hold) -> None:
        """The lock is given back while redlockd repeats its RESUME."""
        for connection in self._connections:
            for ask in connection.sent.values():
                if ask.hold is hold and ask.internal and connection.repeats:
                    connection.send(f"#c{ask.tag} CANCEL {ask.tag}")

    # ---- a writer becomes a reader ----

    def _is_reader(self, hold: Hold, connection: Connection, token: str, fence: int, until_ms: int, at_ms: int) -> None:
        if hold.state == RESUMING:  # by the token before; the answer to that will have another
            return
        if self._by_token.pop(hold.token, None):
            self._by_token[token] = hold
        hold.token, hold.fence, hold.shared = token, fence, True
        if hold.state == HELD:
            self._until(hold, connection, until_ms, at_ms)

    def _is_downgraded_now(self, hold: Hold) -> bool:
        """Whether redlockd is asked for that. Its answer has a new token, without which no other redlockd may know the
        lock."""
        return hold.reader and not hold.shared and any(
            ask.hold is hold and ask.verb == "DOWNGRADE" and (ask.tell or ask.internal)
            for connection in self._connections for ask in connection.sent.values())

    def _downgrade_later(self, hold: Hold) -> None:
        again_ms = DOWNGRADE_AGAIN_MS + random.randrange(DOWNGRADE_AGAIN_MS)
        self.engine.later(again_ms / 1000, self._downgrade_again, hold)

    def _downgrade_again(self, hold: Hold) -> None:
        """Asks for what the program was told: too few masters know it, or redlockd has the lock as a writer's all the
        same."""
        asked = any(ask.verb == "DOWNGRADE" and ask.hold is hold for ask in self._queue)
        if self.closed or not hold.reader or hold.shared or hold.state != HELD:
            return
        if asked or self._is_downgraded_now(hold):
            return
        ask = Ask("DOWNGRADE", hold)
        ask.internal = True
        self._put(ask)

    def _retire(self, connection: Connection) -> None:
        """Ends a connection that another has replaced, once no request and no lock depends on it."""
        if connection is self._connection or connection.retiring or connection.ended or connection.sent:
            return
        if any(hold.connection is connection for hold in self._by_token.values()):
            return
        if connection.parked:
            connection.retiring = True
            connection.close()
        elif not self.closed:
            connection.quit()
