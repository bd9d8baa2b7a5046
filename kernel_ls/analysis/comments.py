"""Comments of a text, found without a parser, so that a broken file keeps its pins and suppressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_ls.model import Span

_TOKEN = re.compile(
    r"""(?P<triple>(?:[rRbBuUfFtT]{0,2})(?:\"\"\"|'''))|(?P<string>[rRbBuUfFtT]{0,2}(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?))|(?P<comment>\#.*)"""
)


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its text from `#` on, its span, and whether it stands alone on its line."""

    text: str
    span: Span
    alone: bool


def comments(lines: list[str]) -> Iterator[Comment]:
    """The comments in order; a `#` inside a string, also one over several lines, is none."""
    closing = ""
    for number, line in enumerate(lines):
        at = 0
        if closing:
            end = _closed(line, 0, closing)
            if end < 0:
                continue
            at, closing = end, ""
        while True:
            found = _TOKEN.search(line, at)
            if found is None:
                break
            if found.lastgroup == "comment":
                alone = not line[: found.start()].strip()
                yield Comment(found.group(), Span.of(number, found.start(), number, len(line)), alone)
                break
            if found.lastgroup == "triple":
                quotes = found.group()[-3:]
                end = _closed(line, found.end(), quotes)
                if end < 0:
                    closing = quotes
                    break
                at = end
            else:
                at = found.end()


def _closed(line: str, start: int, quotes: str) -> int:
    """The column behind the closing quotes at or after `start`, or -1."""
    at = start
    while True:
        at = line.find(quotes, at)
        if at < 0:
            return -1
        slashes = len(line[:at]) - len(line[:at].rstrip("\\"))
        if slashes % 2 == 0:
            return at + 3
        at += 1
