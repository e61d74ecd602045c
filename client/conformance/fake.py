"""A redlockd that does what a case file says. It keeps what each client connection sent until a step takes it."""
import asyncio
import re
import socket
import struct
import time

from script import filled, words_of

RULES = {
    "HELLO": "+HELLO proto=1 server=redlockd/0.1.0 session={session} now={now} behind={behind}",
    "PING": "+PONG",
    "QUIT": "+BYE",
}


def boottime_ms():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)


class Connection:
    def __init__(self, number, writer):
        self.number = number
        self.writer = writer
        self.lines = []  # (tag, text) that no step has taken
        self.ended = False  # by the client
        self.over = False  # ended by the daemon, which does not read what the client sent before it noticed
        self.half = False  # the last bytes that were sent are no whole line yet
        self.held = []  # answers by rule that wait for its end


class Fake:
    def __init__(self, over, folder, log):
        self.over = over
        self.folder = folder
        self.log = log
        self.server = None
        self.port = 0
        self.connections = []
        self.rules = dict(RULES)
        self.counts = {}
        self.clock_ms = 0
        self.behind_ms = 0
        self.wrong = None  # a message about a line that the protocol forbids; None: no client has sent any
        self.changed = asyncio.Event()

    @property
    def address(self):
        return f"unix:{self.folder}/fake.sock" if self.over == "unix" else f"127.0.0.1:{self.port}"

    def now_ms(self):
        return boottime_ms() + self.clock_ms

    async def listen(self):
        if self.over == "unix":
            self.server = await asyncio.start_unix_server(self.serve, f"{self.folder}/fake.sock", limit=1 << 21)
        else:
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, limit=1 << 21)
            self.port = self.server.sockets[0].getsockname()[1]

    async def reserve(self):
        """Knows its address although nobody listens there yet."""
        await self.listen()
        await self.unlisten()

    async def unlisten(self):
        if not self.server:
            return
        self.server.close()
        self.server = None
        await asyncio.sleep(0)
        if self.over == "unix":
            (self.folder / "fake.sock").unlink(missing_ok=True)

    async def serve(self, reader, writer):
        connection = Connection(len(self.connections) + 1, writer)
        self.connections.append(connection)
        self.log(f"C{connection.number} connected")
        self.changed.set()
        try:
            while line := await reader.readline():
                self.got(connection, line)
        except (ConnectionError, ValueError) as error:
            self.log(f"C{connection.number} broke: {error}")
        connection.ended = True
        self.log(f"C{connection.number} ended")
        self.changed.set()
        writer.close()

    def got(self, connection, line):
        text = line.decode("latin-1").rstrip("\r\n")
        self.log(f"C{connection.number}> {text}")
        if connection.over:
            return
        if not line.endswith(b"\n") or len(line) > 1024 or re.search(r"[^\x20-\x7e]", text):
            self.wrong = f"the client sent a line that the protocol forbids: {line[:80]!r}"
        tag, text = text.split(" ", 1) if text.startswith("#") and " " in text else ("", text)
        verb = text.split(" ")[0].upper()
        self.counts[verb] = self.counts.get(verb, 0) + 1
        if verb in self.rules:
            self.answer(connection, tag, text, self.rules[verb])
            if verb == "QUIT":
                connection.writer.close()
        else:
            connection.lines.append((tag, text))
        self.changed.set()

    def rule(self, verb, answer):
        if answer == "off":
            self.rules.pop(verb, None)
        else:
            self.rules[verb] = RULES[verb] if answer == "on" else answer

    def answer(self, connection, tag, text, answer):
        words, pairs = words_of(text)
        values = {**pairs, "name": words[1] if len(words) > 1 else "", "session": connection.number}
        values.update(now=self.now_ms(), behind=self.behind_ms)
        line = f"{tag} {filled(answer, values)}".strip()
        if connection.half:  # a client that asks for the clock again would read the answer within the other line
            connection.held.append(line)
        else:
            self.put(connection, line)

    def put(self, connection, line):
        self.log(f"C{connection.number}< {line}")
        connection.writer.write(line.encode("latin-1") + b"\n")

    def raw(self, connection, data):
        self.log(f"C{connection.number}< {len(data)} bytes: {data[:60]!r}")
        connection.writer.write(data)
        connection.half = not data.endswith(b"\n")
        while connection.held and not connection.half:
            self.put(connection, connection.held.pop(0))

    async def end(self, connection, reset):
        self.log(f"C{connection.number} {'reset' if reset else 'closed'} by the daemon")
        connection.over = True
        if reset:
            linger = struct.pack("ii", 1, 0)
            connection.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.writer.transport.abort()
        connection.writer.close()

    async def stop(self):
        await self.unlisten()
        for connection in self.connections:
            connection.writer.transport.abort()
