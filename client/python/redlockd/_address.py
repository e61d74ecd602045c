"""Addresses of redlockd, connecting to them, and where a secret may be sent."""
from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from ._lines import checked_word
from .errors import BadArgumentError, UnreachableError, UsageError

DEFAULT_SOCKET = "/run/redlockd/redlockd.sock"
DEFAULT_PORT = 7335
DEFAULT_TLS_PORT = 7336
CONNECT_S = 5.0


@dataclass(frozen=True)
class Place:
    """An address: a path of a Unix socket, or a host and a port."""

    path: str = ""
    host: str = ""
    port: int = 0
    tls: bool = False

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls://' if self.tls else ''}{host}:{self.port}"


def parse_place(text: str) -> Place:
    """"unix:/path", "/path", "host", "host:port", "[::1]:port", "tls://host:port"."""
    if text.startswith(("unix:/", "/")):
        return Place(path=text.removeprefix("unix:"))
    tls = text.startswith("tls://")
    rest = text.removeprefix("tls://")
    if rest.startswith("["):
        host, _, port = rest[1:].partition("]")
        port = port.removeprefix(":")
    elif rest.count(":") > 1:  # IPv6 without brackets: its end might be a port
        host, port = rest, ""
    else:
        host, _, port = rest.partition(":")
    number = int(port) if port.isdecimal() else (DEFAULT_TLS_PORT if tls else DEFAULT_PORT) if not port else 0
    if not host or not 0 < number < 65536 or any(not "!" <= c <= "~" or c in "/[]" for c in host):
        raise BadArgumentError(f"{text!r} is no address: write unix:/path, host:port, [v6]:port or tls://host:port")
    return Place(host=host, port=number, tls=tls)


class Where:
    """Where to connect, and as whom: the arguments, or else the environment."""

    def __init__(self, address: str | None = None, user: str | None = None, secret: str | None = None,
                 ssl_context: ssl.SSLContext | None = None) -> None:
        address = address or os.environ.get("REDLOCK_ADDRESS")
        self.opening: socket.socket | None = None  # the socket opened last, for the child of a fork to close
        self.ssl_context = ssl_context
        self.user = user or os.environ.get("REDLOCK_USER")
        self.secret = secret or self._secret_from_file()
        if bool(self.user) != bool(self.secret):
            raise BadArgumentError("a user needs a secret, and a secret a user (REDLOCK_USER, REDLOCK_SECRET_FILE)")
        if self.user and self.secret:
            checked_word(self.user, "the user", 200)
            if len(self.secret) > 700 or any(not "!" <= c <= "~" for c in self.secret):
                raise BadArgumentError("the secret must be one word of at most 700 ASCII characters")
        # With a secret there is no fallback: while redlockd is away, any local user could bind its port.
        self.places = [parse_place(address)] if address else [Place(path=DEFAULT_SOCKET)]
        if not address and not self.secret:
            self.places.append(Place(host="127.0.0.1", port=DEFAULT_PORT))

    def __str__(self) -> str:
        return " or ".join(map(str, self.places))

    @staticmethod
    def _secret_from_file() -> str | None:
        path = os.environ.get("REDLOCK_SECRET_FILE")
        if not path:
            return None
        try:
            with open(path, encoding="ascii") as file:
                return file.readline().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BadArgumentError(f"REDLOCK_SECRET_FILE: {path} cannot be read: {error}") from None

    def tls(self) -> ssl.SSLContext:
        """The given ssl_context, or else a context by REDLOCK_CA, REDLOCK_CERT and REDLOCK_KEY, which checks the
        server's name and certificate. With a secret, a context that does not check them is refused."""
        if self.ssl_context is None:
            try:
                context = ssl.create_default_context(cafile=os.environ.get("REDLOCK_CA") or None)
                if certificate := os.environ.get("REDLOCK_CERT"):
                    context.load_cert_chain(certificate, os.environ.get("REDLOCK_KEY") or None)
            except OSError as error:  # ssl.SSLError is an OSError
                raise BadArgumentError(f"REDLOCK_CA, REDLOCK_CERT or REDLOCK_KEY cannot be used: {error}") from None
            self.ssl_context = context
        if self.secret and (self.ssl_context.verify_mode != ssl.CERT_REQUIRED or not self.ssl_context.check_hostname):
            raise UsageError("a secret goes only to a server whose certificate and name are checked")
        return self.ssl_context

    def _refuse_open_secret(self, place: Place, address: str) -> None:
        if not self.secret or place.path or place.tls:
            return
        if not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            raise UsageError(f"a secret never goes over TCP to another host ({place}): use tls:// or the Unix socket")

    def _candidates(self, place: Place) -> list[tuple[int, Any]]:
        if place.path:
            return [(socket.AF_UNIX, place.path)]
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        for _family, _type, _proto, _name, address in found:
            self._refuse_open_secret(place, address[0])
        return [(family, address) for family, _type, _proto, _name, address in found]

    def connect(self) -> tuple[socket.socket, Place]:
        """Returns a socket that is connected to the first place that takes a connection, and that place."""
        why = []
        for place in self.places:
            try:
                candidates = self._candidates(place)
            except OSError as error:
                why.append(f"{place}: {error.strerror or error}")
                continue
            for family, address in candidates:
                sock = self.opening = socket.socket(family, socket.SOCK_STREAM)
                try:
                    sock.settimeout(CONNECT_S)
                    if family != socket.AF_UNIX:
                        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    sock.connect(address)
                    return sock, place
                except OSError as error:
                    sock.close()
                    why.append(f"{place}: {error.strerror or error}")
        raise UnreachableError(f"cannot connect to redlockd at {', '.join(why)}. Is it running? "
                               "`systemctl start redlockd` starts it, `redlockd --dev` one to try things out; "
                               "REDLOCK_ADDRESS says where it is")
