"""What a request may say, and the limits of a line. Written by `make stubs` from proto/stubs.def."""

NAME_BYTES = 200
WORD_BYTES = 64
DATA_BYTES = 256
LINE_BYTES = 1024
SERVER_LINE_BYTES = 2048
SLOTS_MAX = 1024
DURATION_MAX_MS = 2592000000
OPTIONS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "ttl": ("duration", 0, ()),
    "wait": ("duration", 0, ()),
    "max": ("duration", 0, ()),
    "keep": ("duration", 0, ()),
    "timeout": ("duration", 0, ()),
    "hold": ("choice", 0, ("session", "lease")),
    "mode": ("choice", 0, ("exclusive", "shared")),
    "slots": ("count", 1024, ()),
    "note": ("word", 64, ()),
    "client": ("word", 64, ()),
    "data": ("text", 256, ()),
}
