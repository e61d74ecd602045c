"""Requests: their queue, the lines that they are, and what is answered."""
from __future__ import annotations

import logging
from typing import Callable

from ._clock import now_ms
from ._connection import Connection
from ._error import RedlockdError
from ._hold import ASKED, DETACHED, GIVING, HELD, LOST, OVER, RESUMING, Ask, Hold
from ._lines import Answer
from ._parts import TICK_MS, WAITS, WINDOW, Parts
from ._table import DURATION_MAX_MS
from .errors import (BadArgumentError, LimitError, LockTimeoutError, LostError, NoAnswerError, NotHeldError,
                     ProtocolError, UnsupportedError)

logger = logging.getLogger("redlockd")
GIVE_BACK_MS = 10000  # after that the UNLOCK of an unwanted grant is given up
NAMELESS = ("WHO", "SHOW", "UNWATCH")  # their answers have no name


class Asking(Parts):
    # ---- asks: queue, way, answer ----

    def _begin_unlock(self, hold: Hold) -> None:
        hold.releasing = True
        hold.deadline_ms = 0
        self._holds.pop(hold, None)
        if hold.state != RESUMING:
            self._move_to_giving(hold)
        else:  # once the RESUME is answered, since the token may be new then
            self._cancel_resume(hold)

    def _give_back(self, name: str, token: str) -> None:
        """Gives back a grant that nobody wants any more."""
        hold = Hold(name, lease=True)
        hold.token, hold.state = token, GIVING
        self._put(Ask("UNLOCK", hold, give_up_ms=now_ms() + GIVE_BACK_MS))

    def _settle(self, ask: Ask, error: RedlockdError | None = None) -> None:
        """Ends the request: the caller that waits for it, if any, goes on, with the error if there is one."""
        tell, ask.tell, ask.give_up_ms = ask.tell, None, 0
        if ask.verb == "UNLOCK":
            ask.hold.state, ask.hold.owner = OVER, None
        elif error and ask.hold.state == ASKED and ask.verb in ("LOCK", "RESUME"):
            ask.hold.state = OVER
        if tell:
            tell(error)

    def _no_answer(self, ask: Ask) -> None:
        connected = self._connection and self._connection.up and ask.hold.state not in (DETACHED, RESUMING)
        why = NoAnswerError("redlockd did not answer in time") if ask.connection or connected else self._why._fresh()
        self._settle(ask, why)
        self._withdraw(ask)

    def _withdraw(self, ask: Ask) -> None:
        """Nobody waits any more. A LOCK or RESUME that is on its way stays known: its grant is to be given back. So does
        a DOWNGRADE, whose answer has a new token."""
        ask.tell, ask.give_up_ms = None, 0
        if ask.connection is None:
            if ask in self._queue:
                self._queue.remove(ask)
            if ask.first and not ask.tag:  # it was never sent
                ask.hold.reader = False
        elif ask.verb == "LOCK":
            ask.connection.send(f"#c{ask.tag} CANCEL {ask.tag}")
        elif ask.verb == "DOWNGRADE":
            ask.first = False  # the program counts as a reader from now on
            self._resume(ask.hold)
        elif ask.verb != "RESUME":
            ask.connection.sent.pop(ask.tag, None)
            self._arrived(ask)
        if ask.hold.state == ASKED:
            ask.hold.state = OVER

    def _put(self, ask: Ask) -> None:
        if ask.give_up_ms and not (self._timer and self._timer_ms <= ask.give_up_ms):
            self._want(ask.give_up_ms)
        if not self._queue and (connection := self._connection_for(ask)):
            self._send(connection, ask)
            return
        self._queue.append(ask)
        if not (self._connection and self._connection.up and not self._has_room(self._connection, ask)):
            self._pump()  # else the answer that makes room does that

    def _connection_for(self, ask: Ask) -> Connection | None:
        """The connection on which the request can be sent now, if there is one."""
        hold, connection = ask.hold, self._connection
        if hold.state in (DETACHED, RESUMING):  # its lock has to be bound again first
            return None
        if ask.verb == "DOWNGRADE" and self._is_downgraded_now(hold):  # the answer may be enough for this ask, too
            return None
        if hold.connection and hold.connection is not connection and not hold.lease and hold.connection.is_usable():
            connection = hold.connection
        if connection and connection.is_usable() and connection is not ask.not_on and self._has_room(connection, ask):
            return connection
        return None

    def _has_room(self, connection: Connection, ask: Ask) -> bool:
        """Tells also whether the request is a short one, or redlockd may let it wait."""
        ask.short = not (ask.wait_until_ms or (connection.repeats and (ask.internal or ask.verb == "DOWNGRADE")))
        return connection.short < WINDOW if ask.short else connection.long < WAITS

    def _pump(self) -> None:
        """Sends what waits in the queue and can be sent."""
        self._pumps = False
        kept: list[Ask] = []
        while self._queue:
            ask = self._queue.popleft()
            if self._is_over(ask):
                pass
            elif connection := self._connection_for(ask):
                self._send(connection, ask)
            else:
                kept.append(ask)
                connection = self._connection
                if connection and connection.up and connection.short >= WINDOW and connection.long >= WAITS:
                    break
        self._queue.extendleft(reversed(kept))
        if self._queue:
            self._need_connection()

    def _is_over(self, ask: Ask) -> bool:
        """Settles a request about a lock where there is nothing to ask any more."""
        hold, downgrades = ask.hold, ask.verb == "DOWNGRADE"
        if hold.state == LOST and (downgrades or ask.verb in ("EXTEND", "CHECK", "DATA")):
            self._settle(ask, LostError(f"{hold.name} was lost before: {hold.reason}"))
        elif downgrades and hold.state in (GIVING, OVER):
            self._settle(ask, NotHeldError(f"{hold.name} was given back"))
        elif downgrades and hold.shared:  # with a reader's token, the same line would enter the lock once more
            self._settle(ask)
        else:
            return False
        return True

    def _send(self, connection: Connection, ask: Ask) -> None:
        if not connection.sample.same:
            self._refresh(connection)
        self._tags += 1
        ask.tag, ask.connection = str(self._tags), connection
        if ask.short:
            connection.short += 1
        else:
            connection.long += 1
        connection.sent[ask.tag] = ask
        if ask.rows:
            ask.rows = []
        if ask.keep_ms and not connection.keeps:
            ask.keep_ms, ask.instead = 0, UnsupportedError("this redlockd is too old to keep a name: the lock is given back")
        connection.send(f"#{ask.tag} {self._line(connection, ask)}")
        if not self._timer:
            self._want(now_ms() + TICK_MS)

    def _line(self, connection: Connection, ask: Ask) -> str:
        hold, verb = ask.hold, ask.verb
        if verb == "LOCK":
            wait = _word("wait", ask.wait_until_ms - now_ms()) if ask.wait_until_ms else ""
            return f"LOCK {hold.name}{hold.words}{wait}"
        if verb == "UNLOCK":
            keep = _word("keep", ask.keep_ms) if ask.keep_ms else ""
            return f"UNLOCK {hold.name} token={hold.token}{keep}"
        if verb == "DOWNGRADE":
            wait = _word("wait", self.timeout_ms // 2) if connection.repeats else ""
            return f"LOCK {hold.name} mode=shared token={hold.token}{wait}"
        if verb == "RESUME":
            ttl_ms, max_ms = hold.ttl_ms, hold.max_ms
            if ask.internal and hold.max_until_ms:  # the rest of max=, and no TTL is longer than that
                max_ms = max(1, hold.max_until_ms - now_ms())
                ttl_ms = min(ttl_ms or hold.span_ms, max_ms)
            wait = _word("wait", hold.deadline_ms - now_ms()) if ask.internal and connection.repeats else ""
            words = f"{_word('ttl', ttl_ms)}{wait}{_word('max', max_ms)}{hold.note}"
            return f"RESUME {hold.name} token={hold.token}{words}"
        if verb in ("WHO", "SHOW", "WATCH", "UNWATCH"):
            return f"{verb} {hold.name}"
        if verb == "DATA":
            return f"DATA {hold.name} data={ask.data}"
        return f"{verb} {hold.name} token={hold.token}{_word('ttl', ask.ttl_ms)}"

    def _arrived(self, ask: Ask) -> None:
        connection, ask.connection = ask.connection, None
        if connection:
            if ask.short:
                connection.short -= 1
            else:
                connection.long -= 1
            if self._queue and not self._pumps:  # once for all answers that are read in one turn
                self._pumps = True
                self.engine.soon(self._pump)
            if connection.crowded:
                connection.crowded = False
                self.engine.soon(self._resume_all)

    def _ask_elsewhere(self, ask: Ask, not_on: Connection) -> None:
        self._arrived(ask)
        ask.not_on = not_on
        self._queue.append(ask)
        self._pump()

    def answered(self, connection: Connection, answer: Answer, received_ms: int) -> None:
        if answer.code[0] in "+-" and (ask := connection.sent.pop(answer.tag, None)):
            try:
                if answer.code[0] == "+" and answer.name != ask.hold.name and ask.verb not in NAMELESS:
                    raise ProtocolError(f"redlockd answered about {answer.name[:60]!r}, not about {ask.hold.name}")
                self._answers[ask.verb](self, ask, connection, answer, received_ms)
            except ProtocolError as error:
                self._settle(ask, error)
                if ask.internal:
                    self._not_moved(ask.hold, connection)
                raise
            finally:
                self._arrived(ask)
            if connection is not self._connection:
                self._retire(connection)
        elif answer.code[0] == "!":
            self._event(connection, answer)
        elif not answer.tag:
            if answer.code == "-LIMIT":  # too many connections: this one is closed now
                raise answer.refusal()
            raise ProtocolError(f"redlockd said without being asked: {answer.rest[:100]!r}")
        elif answer.tag == "h":
            self._hello_answered(connection, answer, received_ms)
        elif answer.tag == "a":
            if answer.code != "+OK":
                raise answer.refusal()
            self._say_hello(connection)
        elif answer.code == "*":
            known = connection.sent.get(answer.tag)
            if known and known.rows is not None:
                known.rows.append(answer.values)

    def _answer_to_take(self, ask: Ask, connection: Connection, answer: Answer, received_ms: int) -> None:
        """The answer to LOCK or RESUME."""
        hold = ask.hold
        if answer.code == "+LOCKED":
            grant = answer.token(), answer.number("fence"), answer.number("until"), answer.number_or_none("slot")
            wanted = hold.state == RESUMING or (hold.state == ASKED and ask.tell is not None)
            if hold.state == RESUMING and not hold.releasing and hold.deadline_ms <= received_ms:
                self._lost(hold, "expired")  # the answer is late: another may have had the lock in between
                wanted = False
            if wanted:
                shared = answer.values.get("mode") == "shared"
                self._granted(ask, connection, *grant, shared, received_ms)
            else:
                self._give_back(hold.name, grant[0])
        elif ask.internal and answer.code[0] == "-":
            self._not_resumed(hold, connection, answer, received_ms)
        elif answer.code == "-DRAINING" and ask.tell and ask.wait_until_ms > received_ms:  # the wait goes on
            connection.draining = True
            self._ask_elsewhere(ask, connection)
        elif answer.code == "-BUSY" and ask.wait_until_ms:  # connecting has used up the wait
            self._settle(ask, LockTimeoutError(answer.rest))
        else:
            self._settle(ask, answer.refusal())

    def _granted(self, ask: Ask, connection: Connection, token: str, fence: int, until_ms: int, slot: int | None,
                 shared: bool, at_ms: int) -> None:
        hold = ask.hold
        self._by_token.pop(hold.token, None)
        hold.token, hold.fence, hold.slot = token, fence, slot
        old, hold.connection = hold.connection, None if hold.lease else connection
        if hold.releasing:
            self._move_to_giving(hold)
            self._pump()
        else:
            hold.began_ms = hold.began_ms or at_ms
            if not ask.internal and hold.max_ms:
                hold.max_until_ms = at_ms + hold.max_ms
            hold.state = HELD
            hold.not_on = None
            hold.notheld_ms = 0
            hold.shared = hold.shared or shared
            hold.reader = hold.reader or shared
            self._holds[hold] = None
            self._until(hold, connection, until_ms, at_ms)
            if not hold.lease:
                self._by_token[token] = hold
            self._hello_soon(connection)
            self._settle(ask)
            if ask.internal:
                logger.info("%s is resumed, with fence %d", hold.name, hold.fence)
                self._downgrade_again(hold)
                self._pump()
        if old and old is not connection:
            self._retire(old)

    def _answer_to_unlock(self, ask: Ask, _connection: Connection, answer: Answer, _received_ms: int) -> None:
        if answer.code == ("+KEPT" if ask.keep_ms else "+UNLOCKED"):
            self._settle(ask, ask.instead)
        elif answer.code == "-NOTHELD" and ask.unsure:
            self._settle(ask, ask.instead or NoAnswerError("the connection ended before the answer: the lock is free"
                                                           + (", or the name is kept" if ask.keep_ms else " now")))
        elif answer.code == "-NOTHELD" and not ask.hold.attached:
            self._settle(ask, LostError(f"{ask.hold.name} was lost before this release"))
        else:
            error = answer.refusal()
            if ask.keep_ms and isinstance(error, (BadArgumentError, LimitError, UnsupportedError)):
                ask.keep_ms, ask.instead = 0, error  # redlockd would not keep it, and it is held still
                self._arrived(ask)
                self._queue.append(ask)
                self._pump()
                return
            self._settle(ask, ask.instead or error)

    def _answer_to_ask(self, ask: Ask, connection: Connection, answer: Answer, received_ms: int) -> None:
        """The answer to EXTEND, CHECK or DATA."""
        hold = ask.hold
        if hold.state in (DETACHED, RESUMING) and ask.tell:  # it moves, and is asked about again by its new token
            self._arrived(ask)
            self._queue.append(ask)
            return
        if answer.code in ("+EXTENDED", "+HELD"):
            until_ms = answer.number("until")
            if hold.state == HELD and hold.lease and 0 < hold.deadline_ms <= received_ms:
                self._lost(hold, "expired")  # the answer is late: another may have had the lease in between
            if hold.state != HELD:
                self._settle(ask, LostError(f"{hold.name} was lost before: {hold.reason}"))
                return
            if ask.verb == "EXTEND":
                hold.ttl_ms = ask.ttl_ms or hold.ttl_ms
            self._holds[hold] = None
            self._until(hold, connection, until_ms, received_ms)
            self._settle(ask)
            return
        if answer.code == "+DATA":
            self._settle(ask)
            return
        error = answer.refusal()
        if isinstance(error, NotHeldError) and hold.state == HELD:
            if ask.tell and hold.connection and hold.connection is not connection:  # it has moved meanwhile
                self._arrived(ask)
                self._put(ask)
                return
            self._lost(hold, "gone")
        self._settle(ask, error)

    def _answer_with_rows(self, ask: Ask, _connection: Connection, answer: Answer, _received_ms: int) -> None:
        self._settle(ask, None if answer.code == "+END" else answer.refusal())

    # ---- a writer becomes a reader ----

    def _answer_to_downgrade(self, ask: Ask, connection: Connection, answer: Answer, received_ms: int) -> None:
        hold = ask.hold
        if answer.code == "+LOCKED":
            self._is_reader(hold, connection, answer.token(), answer.number("fence"), answer.number("until"), received_ms)
        elif answer.code != "-NOTHELD" or hold.state not in (DETACHED, RESUMING):
            self._not_downgraded(ask, answer)
        if ask.tell and not self._is_over(ask):  # the answer to RESUME says what became of the lock
            self._arrived(ask)
            self._queue.append(ask)
        self._resume(hold)

    def _not_downgraded(self, ask: Ask, answer: Answer) -> None:
        hold = ask.hold
        error = answer.refusal()
        if answer.code == "-NOTHELD":
            if hold.state == HELD:
                self._lost(hold, "gone")
        elif ask.first and answer.code not in ("-NOQUORUM", "-CANCELLED", "-DRAINING"):
            hold.reader = False
        else:  # too few masters know yet, or the program was told before that it is a reader
            self._downgrade_later(hold)
        self._settle(ask, error)

    _answers: dict[str, Callable[..., None]] = {"LOCK": _answer_to_take, "RESUME": _answer_to_take, "UNLOCK": _answer_to_unlock,
                "EXTEND": _answer_to_ask, "CHECK": _answer_to_ask, "DATA": _answer_to_ask,
                "DOWNGRADE": _answer_to_downgrade, "WHO": _answer_with_rows, "SHOW": _answer_with_rows,
                "WATCH": lambda self, *answered: self._watch_answered(*answered), "UNWATCH": lambda self, ask, *_: self._settle(ask)}


def _word(key: str, ms: int) -> str:
    return f" {key}={min(ms, DURATION_MAX_MS)}" if ms > 0 else ""

