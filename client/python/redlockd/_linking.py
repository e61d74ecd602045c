"""The connection: when one is made, whether it is alive, what its end means; and the session's timer."""
from __future__ import annotations

import logging
import random
from collections import deque

from ._clock import Sample, now_ms
from ._address import CONNECT_S
from ._connection import Connection, Daemon
from ._hold import DETACHED, HELD, Hold
from ._lines import Answer
from ._parts import BACKOFF_MOST_MS, STABLE_MS, TICK_MS, Parts
from .errors import (AuthError, BadArgumentError, ProtocolError, RedlockdError, UnreachableError, UsageError)

HELLO_HELD_MS = 1000  # after so long HELLO is said again while a lock is held, where redlockd reads another clock
HELLO_SOON_MS = 100  # the same after a lock was granted, or the daemon's clock stood still
HELLO_SLOW_MS = 50  # a first HELLO that took longer to be answered is repeated ...
HELLO_REPEATS = 3  # ... so often at most
STALL_MS = 5000  # silence within an answer may last so long
PATIENCE_MS = 10000  # silence may last so long before PING, and again before the connection is given up
PATIENCE_LEAST_MS = 1000  # the same with the shortest TTLs: the machine may be just busy
BACKOFF_FIRST_MS = 20
LOST_GRACE_MS = 50  # past a deadline, so that redlockd can still say why the lock is lost
logger = logging.getLogger("redlockd")


class Linking(Parts):
    # ---- the connection ----

    def _need_connection(self) -> None:
        connection = self._connection
        if connection and connection.up and not connection.draining and not connection.ended:
            return
        if not self.closed and not self._dialing:
            if self._failures:
                self._dialing = self.engine.later(self._backoff_ms() / 1000, self._dial)
            else:
                self._dial()

    def _is_needed(self) -> bool:
        return bool(self._queue) or self._must_move()

    def _dial(self) -> None:
        self._dialing = self.engine.connect(self) if self._is_needed() and not self.closed else None

    def greet(self, connection: Connection) -> None:
        """The connection is open: AUTH, if there is a secret, and then HELLO."""
        self._connections.add(connection)
        where = self.where
        self.engine.later(CONNECT_S, self._overdue, connection)
        if where.user and where.secret:
            connection.send(f"#a AUTH {where.user} {where.secret}")
        else:
            self._say_hello(connection)

    def _overdue(self, connection: Connection) -> None:
        if not connection.up and not connection.ended:
            self.broken(connection, UnreachableError("connecting to redlockd takes too long, or HELLO is not answered: "
                                                     + ", ".join(map(str, self.where.places))))

    def not_connected(self, error: RedlockdError) -> None:
        self._dialing = None
        self._failures += 1
        self._why = error._fresh()
        if not self._ever_up or isinstance(error, (AuthError, UsageError, BadArgumentError)):
            self._fail_queue(error)
        if self._is_needed():
            self._need_connection()

    def _fail_queue(self, error: RedlockdError) -> None:
        """Fails the requests of the queue: redlockd was never reached, or it refuses this client's secret or settings,
        so waiting would only hide the failure."""
        asks, self._queue = self._queue, deque()
        for ask in asks:
            self._settle(ask, error._fresh())

    def _backoff_ms(self) -> int:
        """A random time between half of a bound and the bound, which doubles each time. While locks wait to be resumed,
        the bound is at most a quarter of the shortest time that such a lock has left (but never below the first
        bound)."""
        most_ms = min(BACKOFF_FIRST_MS << min(self._failures - 1, 10), BACKOFF_MOST_MS)
        for hold in self._by_token.values():
            if hold.state == DETACHED:
                most_ms = min(most_ms, max(BACKOFF_FIRST_MS, (hold.deadline_ms - now_ms()) // 4))
        return most_ms // 2 + random.randrange(most_ms // 2 + 1)

    def _hello_answered(self, connection: Connection, answer: Answer, received_ms: int) -> None:
        sent_ms, connection.hello_sent_ms = connection.hello_sent_ms, 0
        if answer.code == "+HELLO" and sent_ms:
            if answer.number("proto") != 1:
                raise ProtocolError("this redlockd speaks another protocol than 1")
            features = answer.values.get("features", "").split(",")
            connection.repeats, connection.keeps = "resume-wait" in features, "keep" in features
            said_ms, behind_ms = answer.number("now"), answer.number_or_none("behind") or 0
            if not connection.up:
                self._meet(connection, sent_ms, said_ms, received_ms, behind_ms)
            self._is_behind(connection, behind_ms)
            self._measure(connection, sent_ms, said_ms, received_ms)
        elif answer.code[0] != "-":
            raise ProtocolError("what answers HELLO is no redlockd of protocol 1")
        if not connection.up:
            if answer.code[0] == "-":
                raise answer.refusal()
            self._is_up(connection)

    def _measure(self, connection: Connection, sent_ms: int, said_ms: int, received_ms: int) -> None:
        """Takes the reading of redlockd's clock. A HELLO that was slow to be answered on a new connection is repeated,
        since it may have lain in a backlog. Deadlines move only where a reading proves that a clock stood still, and
        until the connection's clock is told only by what is proved."""
        sample = connection.sample
        connection.refuted |= sample.is_refuted(said_ms, received_ms) or bool(
            connection.greetings and self._before.is_refuted(said_ms, received_ms))
        sample.take(sent_ms, said_ms, received_ms, connection.local)
        slow = received_ms - sent_ms > HELLO_SLOW_MS and 0 < connection.greetings <= HELLO_REPEATS
        connection.greetings = connection.greetings + 1 if slow else 0
        if slow:
            self._say_hello(connection)
        if connection.refuted:
            connection.refuted = slow
            told = Sample.proved(said_ms, received_ms) if slow else sample
            for hold in self._holds:
                if hold.daemon is connection.daemon:
                    self._earlier(hold, hold.deadline_ms - told.deadline_ms(hold.until_ms))

    def _meet(self, connection: Connection, sent_ms: int, said_ms: int, received_ms: int, behind_ms: int) -> None:
        """The behind= of another daemon says nothing about the deadlines that the daemon before has told, and is
        already taken off everything that the other daemon tells."""
        grown_ms = behind_ms - self._daemon.behind_ms
        if grown_ms < 0 or not self._before.goes_on(sent_ms, said_ms, received_ms, grown_ms):
            self._daemon, self._before = Daemon(behind_ms), Sample()
        connection.daemon = self._daemon

    def _is_up(self, connection: Connection) -> None:
        old, self._connection, self._dialing = self._connection, connection, None
        if self._ever_up:
            logger.info("connected again, to %s", self.where)
        self._ever_up = connection.up = True
        connection.up_ms = now_ms()
        self._before = connection.sample
        self._resume_all()
        self._watch_all()
        self._pump()
        if old:
            self._retire(old)
        for parked in [one for one in self._connections if one.parked]:
            self._retire(parked)
        self._want(now_ms() + TICK_MS)

    def broken(self, connection: Connection, error: RedlockdError) -> None:
        """The connection cannot be used any more, as we see it."""
        if connection.up and not connection.ended:
            connection.parked = True
            self._gone(connection, error)
            self._retire(connection)
        elif not connection.ended:
            connection.ended = True
            connection.close()
            self.ended(connection, error)

    def ended(self, connection: Connection, error: RedlockdError) -> None:
        self._connections.discard(connection)
        if self._when_gone and not self._connections:
            self._when_gone()
        if self.closed or self.forked or connection.parked:
            return
        if connection.up:
            self._gone(connection, error)
        else:
            self.not_connected(error)

    def _gone(self, connection: Connection, error: RedlockdError) -> None:
        """Requests that were under way are asked again, and locks are resumed, on the next connection."""
        current = connection is self._connection
        if current:
            self._connection = None
            self._why = error
            logger.info("%s", error)
            self._failures = 1 if now_ms() - connection.up_ms >= STABLE_MS else self._failures + 1
        sent, connection.sent = connection.sent, {}
        connection.short = connection.long = 0
        again = []
        for ask in sent.values():
            ask.connection = None
            if ask.internal:
                self._not_moved(ask.hold, connection)
            elif ask.verb == "UNLOCK" or ask.tell:
                ask.unsure = ask.verb == "UNLOCK"
                again.append(ask)
        self._queue.extendleft(reversed(again))
        for hold in list(self._by_token.values()):
            if hold.connection is connection and hold.state == HELD:
                self._detach(hold)
        self._resume_all()
        self._pump()

    # ---- time ----

    def _want(self, at_ms: int) -> None:
        """Lets the session look at the clock at that time at the latest."""
        if self._timer:
            if self._timer_ms <= at_ms:
                return
            self._timer.cancel()
        if self.closed:
            return
        self._timer_ms = at_ms
        self._timer = self.engine.later(max(1, at_ms - now_ms()) / 1000, self._read_first)

    def _read_first(self) -> None:
        """After a pause of this process a renewal may be there, unread."""
        self._timer = None
        self.engine.read_first(self._tick)

    def _tick(self) -> None:
        if self.closed or self.forked:
            return
        at_ms = now_ms()
        next_ms = at_ms + TICK_MS
        for hold in list(self._holds):
            next_ms = min(next_ms, self._tick_hold(hold, at_ms))
        asks = self._asks()
        for ask in asks:
            if 0 < ask.give_up_ms <= at_ms:
                self._no_answer(ask)
            elif ask.give_up_ms:
                next_ms = min(next_ms, ask.give_up_ms)
        connection = self._connection
        if connection and connection.up and not connection.ended:
            next_ms = min(next_ms, self._tick_connection(connection, at_ms))
        if self._holds or asks or self._watches:
            self._want(next_ms)

    def _tick_hold(self, hold: Hold, at_ms: int) -> int:
        connection = hold.connection
        listening = hold.state == HELD and connection and not connection.ended
        end_ms = hold.deadline_ms + (LOST_GRACE_MS if listening else 0)
        if end_ms <= at_ms:
            self._expire(hold)
        elif not hold.warned and hold.warn_ms <= at_ms:
            self._expiring(hold)
        return end_ms if hold.warned else hold.warn_ms

    def _patience_ms(self) -> int:
        spans_ms = [hold.span_ms for hold in self._by_token.values()] if len(self._by_token) < 100 else []
        return max(PATIENCE_LEAST_MS, min([PATIENCE_MS, *(span_ms // 3 for span_ms in spans_ms)]))

    def _tick_connection(self, connection: Connection, at_ms: int) -> int:
        next_ms = at_ms + TICK_MS
        if connection.sent or self._by_token or self._watches:
            patience_ms = self._patience_ms()
            if connection.pinged_ms and at_ms - connection.pinged_ms >= patience_ms:
                self.broken(connection, UnreachableError("redlockd is silent: it does not answer PING"))
                return next_ms
            if connection.rest and at_ms - connection.heard_ms >= min(STALL_MS, patience_ms):
                self.broken(connection, UnreachableError("redlockd fell silent within an answer"))
                return next_ms
            if not connection.pinged_ms and at_ms - connection.heard_ms >= patience_ms:
                connection.pinged_ms = at_ms
                connection.send("#p PING")
            next_ms = (connection.pinged_ms or connection.heard_ms) + patience_ms
        if self._holds and not connection.sample.same and not connection.hello_sent_ms:
            due_ms = connection.hello_last_ms + (HELLO_SOON_MS if connection.hello_soon else HELLO_HELD_MS)
            if at_ms >= due_ms:
                self._say_hello(connection)
            else:
                next_ms = min(next_ms, due_ms)
        return next_ms

    def _say_hello(self, connection: Connection) -> None:
        if not connection.hello_sent_ms:
            connection.hello_sent_ms = connection.hello_last_ms = now_ms()
            connection.hello_soon = False
            connection.send(f"#h {self._hello}")

    def _refresh(self, connection: Connection) -> None:
        """Before a request, where redlockd reads another clock: an old reading of it would cost 0.1 % of its age."""
        if now_ms() - connection.hello_last_ms >= HELLO_HELD_MS:
            self._say_hello(connection)

    def _hello_soon(self, connection: Connection) -> None:
        """A lock was granted, or the daemon's clock stood still: the reading of that clock may be wrong."""
        connection.hello_soon = True
        if not connection.sample.same:
            self._want(connection.hello_last_ms + HELLO_SOON_MS)
