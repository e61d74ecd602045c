"""A connection to redlockd: bytes in, answers out."""
from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from ._clock import Sample, now_ms
from ._lines import Answer
from ._table import SERVER_LINE_BYTES
from .errors import ProtocolError, RedlockdError, UnreachableError

if TYPE_CHECKING:
    from ._hold import Ask
    from ._parts import Parts

CONNECT_S = 5.0
QUIT_S = 2.0


class Daemon:
    """A run of a redlockd, and for how long its clock has stood still, as it said last."""

    __slots__ = ("behind_ms",)

    def __init__(self, behind_ms: int) -> None:
        self.behind_ms = behind_ms


class Connection(asyncio.Protocol):
    """Lines go out in batches, once for each turn of the event loop; what comes in goes to the session."""

    def __init__(self, session: Parts, sock: socket.socket) -> None:
        self.session = session
        self.loop = asyncio.get_running_loop()
        self.sock = sock
        self.local = sock.family == socket.AF_UNIX
        self.up = self.ended = self.draining = self.retiring = False
        self.parked = False  # given up, but open: its end would give back locks that are about to be resumed
        self.greeting: dict[str, asyncio.Future[Answer]] = {}
        self.closed: asyncio.Future[None] = self.loop.create_future()
        self.sent: dict[str, Ask] = {}
        self.short = self.long = 0  # asks in `sent` that redlockd answers at once, and others
        self.crowded = False  # locks wait to be resumed until some of these are answered
        self.repeats = False  # redlockd repeats RESUME and downgrades for as long as wait=
        self.daemon = Daemon(0)
        self.sample = Sample()
        self.hello_sent_ms = 0  # 0: answered
        self.hello_last_ms = self.up_ms = self.heard_ms = now_ms()
        self.hello_soon = False
        self.greetings = 1  # how many HELLOs on a new connection are to tell its clock; 0: that is told
        self.refuted = False  # one of them has shown that a clock stood still
        self.pinged_ms = 0  # 0: no PING is open
        self.transport: asyncio.Transport | None = None
        self._out: list[str] = []
        self._rest = b""

    # ---- greeting ----

    async def greet(self, user: str | None, secret: str | None, hello: str) -> None:
        """AUTH, then HELLO; returns when redlockd has answered both as it should."""
        if user and secret:
            answer = await self._first("a", f"AUTH {user} {secret}")
            if not answer.code.startswith("+"):
                raise answer.refusal()
        self.hello_sent_ms = self.hello_last_ms = now_ms()
        answer = await self._first("h", hello)
        if answer.code.startswith("-"):
            raise answer.refusal()

    async def _first(self, tag: str, line: str) -> Answer:
        self.greeting[tag] = self.loop.create_future()
        self.send(f"#{tag} {line}")
        return await self.greeting[tag]

    # ---- bytes ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def send(self, line: str) -> None:
        if not self._out:
            self.loop.call_soon(self._flush)
        self._out.append(line)

    def _flush(self) -> None:
        lines, self._out = self._out, []
        if lines and self.transport and not self.ended:
            lines.append("")
            self.transport.write("\n".join(lines).encode("ascii"))

    def data_received(self, data: bytes) -> None:
        if self.parked or self.ended:
            return
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        received_ms = self.heard_ms = now_ms()
        self.pinged_ms = 0
        try:
            if len(self._rest) > SERVER_LINE_BYTES:
                raise ProtocolError("redlockd sent a line without an end")
            for line in lines:
                if self.parked or self.ended:
                    return
                if text := line.decode("latin-1").removesuffix("\r"):
                    self.session.answered(self, Answer(text), received_ms)
        except RedlockdError as error:
            self.session.broken(self, error)

    def has_half_a_line(self) -> bool:
        return bool(self._rest)

    def eof_received(self) -> None:
        return None  # closes the transport

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        why = f"the connection to redlockd ended: {error or 'redlockd closed it'}"
        self.fail_greeting(UnreachableError(why))
        if not self.closed.done():
            self.closed.set_result(None)
        self.session.ended(self, UnreachableError(why))

    def fail_greeting(self, error: RedlockdError) -> None:
        for future in self.greeting.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # else asyncio would log the error if nobody waits

    # ---- its end ----

    def close(self) -> None:
        if self.transport:
            self.transport.close()

    def cut(self) -> None:
        """Closes the socket at once: the event loop will not do so, or not for long."""
        self.ended = True
        if self.transport and not self.loop.is_closed():
            self.transport.abort()
        else:
            self.sock.close()

    async def quit(self) -> None:
        """Says QUIT and reads to the end, for QUIT_S at most, so that redlockd gives back what the connection holds."""
        if self.up and not self.ended and not self.parked:
            self.retiring = True
            self.send("#q QUIT")
            await asyncio.wait([self.closed], timeout=QUIT_S)
        self.close()
        await asyncio.wait([self.closed], timeout=QUIT_S)

    def drop_in_child(self) -> None:
        """After fork, in the child: closes the descriptor alone, without a word to redlockd."""
        self.ended = True
        if (descriptor := self.sock.detach()) >= 0:
            os.close(descriptor)
