"""For the examples: the Redis that has the data which a lock guards. This Redis belongs to the application and is none of
redlockd's masters. Your own program uses a real driver, such as redis-py."""
import socket
import threading

PATIENCE_S = 10


class Redis:
    """A connection to "/path", "host" or "host:port", on which threads take turns.

    redis("GET", key) returns the reply: int, str, list or None. An error, or no reply, ends the program by its exception,
    and a session lock with it (a lease runs out).
    """

    def __init__(self, address):
        if address.startswith("/"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(address)
        else:
            host, _, port = address.partition(":")
            self._socket = socket.create_connection((host, int(port or 6379)))
        self._socket.settimeout(PATIENCE_S)
        self._in = self._socket.makefile("rb")
        self._turn = threading.Lock()

    def __call__(self, *words):
        encoded = [str(word).encode() for word in words]
        with self._turn:
            self._socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
            return self._reply()

    def _reply(self):
        line = self._in.readline().decode().rstrip("\r\n")
        kind, rest = line[:1], line[1:]
        if kind == "+":
            return rest
        if kind == ":":
            return int(rest)
        if kind == "$":
            return None if rest == "-1" else self._in.read(int(rest) + 2)[:-2].decode()
        if kind == "*":
            return None if rest == "-1" else [self._reply() for _ in range(int(rest))]
        raise ConnectionError(f"Redis: {rest or 'the connection ended'}")
