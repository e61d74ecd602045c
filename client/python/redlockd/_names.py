"""Names that are built from what users have typed."""
from __future__ import annotations

import functools
import inspect
import re
import string
from typing import Any, Callable, Mapping, Sequence, TypeVar
from urllib.parse import unquote

from ._lines import checked_word
from ._table import NAME_BYTES
from .errors import BadArgumentError

F = TypeVar("F", bound=Callable[..., Any])
_ENCODED = re.compile(rb'[^!-~]|[%:#,"=]')


def encode(part: object) -> str:
    """A part of a name, with %XX for each byte of its UTF-8 that a name may not have, and for : and %."""
    return _ENCODED.sub(lambda byte: b"%%%02X" % byte[0][0], str(part).encode()).decode("ascii")


def name_of(*parts: object) -> str:
    """A name of several parts, whatever is in them: name_of("order", 17) is "order:17", and name_of("file", "a b:c")
    is "file:a%20b%3Ac". Different parts have different names. The other libraries for redlockd encode alike."""
    return checked_word(":".join(map(encode, parts)), "the name", NAME_BYTES)


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name by name_of(), for people to read."""
    return tuple(unquote(part) for part in name.split(":"))


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return encode(super().format_field(value, format_spec))


def name_from_call(template: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The template with the arguments of a call, by place or by name, each encoded."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return _Formatter().vformat(template, bound.args, bound.arguments)


def checked_template(template: str) -> str:
    try:
        list(string.Formatter().parse(template))
    except (TypeError, ValueError) as error:
        raise BadArgumentError(f"{template!r} is no name with arguments, such as \"report:{{0}}\": {error}") from None
    return template


def wraps(function: F) -> Callable[[Callable[..., Any]], F]:
    return functools.wraps(function)  # type: ignore[return-value]
