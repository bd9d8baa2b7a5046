"""Texts that the user named: read, or refused with a sentence."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from kernel_ls.errors import InputError


def load(path: Path) -> str:
    """The text of a file that the user named.

    Raises:
        InputError: it cannot be read, or is not text.
    """
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def decode(raw: bytes, name: str) -> str:
    """The text of a Python file in the encoding that it declares; a byte order mark is cut, ends of lines are kept.

    Raises:
        InputError: it is not text in that encoding.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        reason = f"{error.reason} at byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"{name} is not text in its declared encoding ({reason})") from None
