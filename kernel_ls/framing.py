"""A client's bytes as messages: `Content-Length` headers and the JSON objects that follow them.

Whatever arrives, reading goes on. A header that says no length, or a wrong one, costs its own message and not those after
it: JSON holds no bare carriage return inside of its strings, so that a header's line within a body shows that the body has
ended before, and the reader goes on there.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_MESSAGE = 64 << 20
"""Bytes; a header that promises more is taken for a broken one. No file that is checked is as long (`sources`)."""

_HEADER = re.compile(rb"Content-Length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_NAME = rb"Content-Length"
_BEGUN = re.compile(
    rb"(?:" + b"|".join(_NAME[:n] for n in range(1, len(_NAME) + 1)) + rb"|Content-Length:[ \t]*\d{0,18}[ \t]*\r?)",
    re.IGNORECASE,
)
"""What `_HEADER` may begin with."""

_LONGEST_HEADER = 64
"""Bytes that `_HEADER` may span; so much of what was looked through is looked at again when more arrives."""

_LINE = 8192
"""Bytes after which a header line without an end is dropped but for its last ones."""


class BadMessage(Exception):
    """Bytes that are no message, in a sentence for the log."""


class MessageReader:
    """Cuts a stream of bytes into JSON values. `feed` takes what has arrived, in pieces of any size."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._length: int | None = None
        self._in_body = False
        self._seen = 0
        """How many of the pending bytes are known to hold no header."""

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete by now, in order: JSON values, and a `BadMessage` for each stretch that is none."""
        self._pending += data
        found: list[Any] = []
        while self._step(found):
            pass
        return found

    def _step(self, found: list[Any]) -> bool:
        """Take one header line or one body off the pending bytes; whether there was one."""
        return self._take_body(found) if self._in_body else self._take_line(found)

    def _take_line(self, found: list[Any]) -> bool:
        end = self._pending.find(b"\n", self._seen)
        if end < 0:
            if len(self._pending) > _LINE:
                found.append(BadMessage(f"expected a header, got {bytes(self._pending[:24])!r}..."))
                del self._pending[:-_LONGEST_HEADER]
            self._seen = len(self._pending)
            return False
        line = bytes(self._pending[: end + 1])
        del self._pending[: end + 1]
        self._seen = 0
        if not line.strip():
            self._in_body = self._length is not None
            return True
        # Of a line that begins with the rest of another message, the header is the end.
        header = _last_header(line)
        if header is None:
            if not re.match(rb"[A-Za-z-]{1,64}:", line):
                found.append(BadMessage(f"expected a header, got {line[:24]!r}"))
            return True
        start, length = header
        if start > 0:
            found.append(BadMessage(f"{start} bytes before a header belong to no message"))
        self._length = length if length <= MAX_MESSAGE else None
        if self._length is None:
            found.append(BadMessage(f"a header promises {length} bytes"))
        return True

    def _take_body(self, found: list[Any]) -> bool:
        assert self._length is not None
        limit = min(len(self._pending), self._length)
        begun = _HEADER.search(self._pending, max(0, self._seen - _LONGEST_HEADER), limit + _LONGEST_HEADER)
        if begun is not None and begun.start() < self._length:
            found.append(BadMessage(f"a message of {self._length} bytes ended after {begun.start()}"))
            del self._pending[: begun.start()]
        elif len(self._pending) < self._length:
            self._seen = limit
            return False
        else:
            body = bytes(self._pending[: self._length])
            del self._pending[: self._length]
            message = _parsed(body)
            if isinstance(message, BadMessage):
                # Too long a length may have reached into the next header, of which the rest is still to come.
                self._pending[:0] = _begun_header(body)
            found.append(message)
        self._length, self._in_body, self._seen = None, False, 0
        return True


def _last_header(line: bytes) -> tuple[int, int] | None:
    """Where the `Content-Length` header at the end of a line begins, and what it says."""
    header = None
    for match in _HEADER.finditer(line):
        header = match
    return (header.start(), int(header.group(1))) if header is not None and header.end() == len(line) else None


def _begun_header(body: bytes) -> bytes:
    """The bytes at the end of a body that may be the beginning of a header."""
    start = body.lower().rfind(b"c", max(0, len(body) - _LONGEST_HEADER))
    while start >= 0:
        if _BEGUN.fullmatch(body, start):
            return body[start:]
        start = body.lower().rfind(b"c", max(0, len(body) - _LONGEST_HEADER), start)
    return b""


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        # `UnicodeDecodeError`, and numbers of more digits than Python reads, are ValueErrors too.
        return BadMessage(f"a message of {len(body)} bytes is not JSON: {type(error).__name__}: {str(error)[:120]}")
