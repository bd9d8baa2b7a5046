"""Frames on the worker's side: JSON objects, each preceded by its length in bytes as ASCII digits and a newline.

The worker keeps private copies of descriptors 0 and 1 for the frames, then points 0 at the null device and 1 at 2, so
that nothing which prints (Triton, LLVM, `static_print`) or reads can break a frame. `claim_descriptors` therefore has to
run before anything but the standard library is imported.
"""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO

PROTOCOL = 1
"""Raised by every change of the frames or of the wire formats that an older peer would misread."""

MAX_FRAME = 256 * 1024 * 1024
"""Bytes; a longer frame is taken for a broken header rather than awaited."""

_MAX_HEADER = 32


class BadFrame(Exception):
    """Bytes that are no frame. Reading may go on: the reader stands behind them."""


class Channel:
    """A pair of binary streams that carry frames. Reading and writing may happen in different threads."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink

    def read(self) -> dict[str, Any] | None:
        """The next frame; None at the end of the stream.

        Raises:
            BadFrame: the header is no length (what follows up to the line's end was skipped), or the body is not a
                JSON object (the body was skipped).
        """
        header = self._source.readline(_MAX_HEADER)
        if not header:
            return None
        digits = header.strip()
        if not header.endswith(b"\n") or not digits.isdigit() or int(digits) > MAX_FRAME:
            while header and not header.endswith(b"\n"):
                header = self._source.readline(4096)
            raise BadFrame(f"expected a length in bytes and a newline, got {digits[:24]!r}")
        length = int(digits)
        body = self._source.read(length)
        if len(body) < length:
            return None
        try:
            frame = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadFrame(f"a frame of {length} bytes is not JSON: {error}") from None
        if not isinstance(frame, dict):
            raise BadFrame(f"a frame holds a JSON {type(frame).__name__}, not an object")
        return frame

    def write(self, frame: dict[str, Any]) -> None:
        """Send one frame at once.

        Raises:
            OSError: nobody reads any more.
            TypeError, ValueError: the frame is not JSON; nothing was sent.
        """
        body = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii")
        self._sink.write(b"%d\n%s" % (len(body), body))
        self._sink.flush()


def claim_descriptors() -> Channel:
    """Take descriptors 0 and 1 for frames; whatever is printed from now on goes to descriptor 2."""
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return Channel(source, sink)
