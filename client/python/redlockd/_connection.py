"""A connection to redlockd: bytes in, answers out. An engine's own class of connection writes and closes."""
from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from ._clock import Sample, now_ms
from ._error import RedlockdError
from ._lines import Answer
from ._table import SERVER_LINE_BYTES
from .errors import ProtocolError, UnreachableError

if TYPE_CHECKING:
    from ._hold import Ask
    from ._parts import Parts

QUIT_S = 2.0
BATCH = 24  # so many lines are not kept waiting for more: redlockd works on them meanwhile


class Daemon:
    """A run of a redlockd, and for how long its clock has stood still, as it said last."""

    __slots__ = ("behind_ms",)

    def __init__(self, behind_ms: int) -> None:
        self.behind_ms = behind_ms


class Connection:
    """A line goes out at once where nothing else is on its way, and else with the others of its turn of the engine, BATCH
    at a time. What comes in goes to the session."""

    def __init__(self, session: Parts, sock: socket.socket) -> None:
        self.session = session
        self.sock = sock
        self.local = sock.family == socket.AF_UNIX
        self.up = self.ended = self.draining = self.retiring = False
        self.parked = False  # given up, but open: its end would give back locks that are about to be resumed
        self.sent: dict[str, Ask] = {}
        self.short = self.long = 0  # asks in `sent` that redlockd answers at once, and others
        self.crowded = False  # locks wait to be resumed until some of these are answered
        self.keeps = False  # redlockd knows keep=
        self.repeats = False  # redlockd repeats RESUME and downgrades for as long as wait=
        self.daemon = Daemon(0)
        self.sample = Sample()
        self.hello_sent_ms = 0  # 0: answered
        self.hello_last_ms = self.up_ms = self.heard_ms = now_ms()
        self.hello_soon = False
        self.greetings = 1  # how many HELLOs on a new connection are to tell its clock; 0: that is told
        self.refuted = False  # one of them has shown that a clock stood still
        self.pinged_ms = 0  # 0: no PING is open
        self._out: list[str] = []
        self.rest = ""  # half a line

    def write(self, data: bytes) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Ends the connection, once what was written is on its way."""
        raise NotImplementedError

    def cut(self) -> None:
        """Closes the socket at once: the engine will not do so, or not for long."""
        raise NotImplementedError

    def send(self, line: str) -> None:
        self._out.append(line)
        if len(self.sent) <= 1 or len(self._out) >= BATCH:  # alone, perhaps nothing comes along in this turn
            self.flush()
        elif len(self._out) == 1:
            self.session.engine.soon(self.flush)

    def flush(self) -> None:
        lines, self._out = self._out, []
        if lines and not self.ended:
            lines.append("")
            self.write("\n".join(lines).encode("ascii"))

    def received(self, data: bytes) -> None:
        if self.parked or self.ended:
            return
        lines = (self.rest + data.decode("latin-1")).split("\n")
        self.rest = lines.pop()
        received_ms = self.heard_ms = now_ms()
        self.pinged_ms, answered = 0, self.session.answered
        try:
            if len(self.rest) > SERVER_LINE_BYTES:
                raise ProtocolError("redlockd sent a line without an end")
            for line in lines:
                if self.parked or self.ended:
                    return
                if text := line.removesuffix("\r"):
                    answered(self, Answer(text), received_ms)
        except RedlockdError as error:
            self.session.broken(self, error)

    def is_usable(self) -> bool:
        return self.up and not (self.ended or self.parked or self.retiring)

    def is_gone(self, error: object = None) -> None:
        """The other end has closed the connection, or the network has."""
        if not self.ended:
            self.ended = True
            why = f"the connection to redlockd ended: {error or 'redlockd closed it'}"
            self.session.ended(self, UnreachableError(why))

    def quit(self) -> None:
        """Says QUIT and reads to the end, for QUIT_S at most, so that redlockd gives back what the connection holds."""
        if self.up and not self.parked and not self.retiring:
            self.send("#q QUIT")
            self.session.engine.later(QUIT_S, self.close)
        else:
            self.close()
        self.retiring = True

    def drop_in_child(self) -> None:
        """After fork, in the child: closes the descriptor alone, without a word to redlockd."""
        self.ended = True
        if (descriptor := self.sock.detach()) >= 0:
            os.close(descriptor)
