"""Words and lines of the protocol, in both directions."""
from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from ._table import DURATION_MAX_MS, NAME_BYTES, OPTIONS
from .errors import BadArgumentError, ProtocolError, RedlockdError, error_of

Name = str | list[str] | tuple[str, ...]  # a name, or several
_WORD = re.compile(r"(?![#:])[!#-+\--<>-~]+")
_VALUE = re.compile(" ([^ =]+)=([^ ]*)")
_TEXT = re.compile(r"[!#-~]+")
_DIGITS = "0123456789abcdef"


def checked_word(text: str, what: str, most: int) -> str:
    """Returns a name, note or other word that redlockd allows, and refuses any other text, which must never reach a
    line."""
    if isinstance(text, str) and len(text) <= most and _WORD.fullmatch(text):
        return text
    if not isinstance(text, str):
        raise BadArgumentError(f"{what} must be a str, not {type(text).__name__}")
    if not 1 <= len(text) <= most:
        raise BadArgumentError(f"{what} must have 1 to {most} characters")
    raise BadArgumentError(f"{what} {text[:60]!r} has a character that is not allowed: it is ASCII without "
                           'spaces and without , " = and begins with neither # nor :')


def checked_option(name: str, value: Any) -> str:
    """The value of an option, as the table says what it may be, for a line."""
    kind, most, words = OPTIONS[name]
    if kind == "word":
        return checked_word(value, name, most)
    if kind == "choice" and value not in words:
        raise BadArgumentError(f"{name} must be {' or '.join(words)}, not {value!r}")
    if kind == "count" and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
        raise BadArgumentError(f"{name} must be a whole number, 1 to {most}, not {value!r}")
    if kind == "text" and not (isinstance(value, str) and len(value) <= most and _TEXT.fullmatch(value)):
        raise BadArgumentError(f"{name} must have 1 to {most} visible ASCII characters, and no \"")
    return str(value)


def checked_name(name: Name) -> str:
    """A name, or several names that are taken together."""
    if isinstance(name, str):
        return checked_word(name, "the name", NAME_BYTES)
    if not isinstance(name, (list, tuple)) or not name:
        raise BadArgumentError("the name must be a str, or a list of str for several locks at once")
    joined = ",".join(checked_word(one, "the name", NAME_BYTES) for one in name)
    if len(joined) > 800:
        raise BadArgumentError("the names are too long together: 800 characters at most")
    return joined


def checked_single(name: str) -> str:
    return checked_word(name, "the name", NAME_BYTES)


def checked_show(what: str) -> str:
    if not isinstance(what, str) or not re.fullmatch("[A-Za-z]{1,20}", what):
        raise BadArgumentError(
            "show() takes a word: LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD or VERSION"
        )
    return what.upper()


def known_name(name: Name) -> Name:
    """A name as Lock.name says it: of several, with commas between them."""
    return name.split(",") if isinstance(name, str) and "," in name else name


def is_token(text: str) -> bool:
    return len(text) == 40 and not text.strip(_DIGITS)


def checked_token(token: str) -> str:
    if not isinstance(token, str) or not is_token(token):
        raise BadArgumentError("a token has 40 hexadecimal digits")
    return token


def duration_ms(value: float | timedelta | None, what: str) -> int:
    """Seconds, or a timedelta, as whole milliseconds; None is 0."""
    if value is None:
        return 0
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(seconds, (int, float)) or seconds is True or not 0 < seconds <= DURATION_MAX_MS / 1000:
        raise BadArgumentError(f"{what} must be a number of seconds above 0, and 30 days at most, not {value!r}")
    return max(1, round(seconds * 1000))


class Answer:
    """A line of redlockd: `code` with its sign ("+LOCKED", "-BUSY", "!LOST"), the tag and the name ("" where there is
    none), and the key=value words."""

    _values: dict[str, str] | None = None

    def __init__(self, line: str) -> None:
        self.tag, self.rest = "", line
        if line[0] == "#":
            tag, _, self.rest = line.partition(" ")
            self.tag = tag[1:]
        words = self.rest.split(None, 2)
        self.code = words[0] if words else " "
        self.name = words[1] if len(words) > 1 and "=" not in words[1] and words[1] != ":" else ""
        if self.code[0] not in "+-*!" or not (line.isascii() and line.isprintable()):
            raise ProtocolError(f"what answers is no redlockd: it said {line[:60]!r}")

    @property
    def values(self) -> dict[str, str]:
        """Found out when it is asked for: few need it of an answer to UNLOCK."""
        values = self._values
        if values is None:
            values = self._values = dict(_VALUE.findall(self.rest.partition(" : ")[0]))
        return values

    def number(self, key: str) -> int:
        value = self.values.get(key, "")
        if not value.isdecimal() or len(value) > 18:
            raise ProtocolError(f"redlockd gave an answer without a proper {key}=: {self.rest[:100]!r}")
        return int(value)

    def number_or_none(self, key: str) -> int | None:
        return self.number(key) if key in self.values else None

    def token(self) -> str:
        token = self.values.get("token", "")
        if not is_token(token):
            raise ProtocolError(f"redlockd gave an answer without a proper token=: {self.rest[:100]!r}")
        return token

    def refusal(self) -> RedlockdError:
        if self.code[0] != "-":
            raise ProtocolError(f"redlockd gave an answer that does not fit the request: {self.rest[:100]!r}")
        retry = self.values.get("retry", "")
        return error_of(self.code[1:], self.rest, int(retry) if retry.isdecimal() else None)
