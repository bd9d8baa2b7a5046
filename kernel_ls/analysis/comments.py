"""Comments of a text, found without a parser, so that a broken file keeps its pins and suppressions.

`tokenize` stops at the first thing it does not understand and takes ten times as long; what is asked of a text that may be
half typed is only where its comments are, and whether its end is inside a string or a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_ls.model import Span

_INTERESTING = re.compile(r"#[^\r\n]*|'''|\"\"\"|['\"]|[()\[\]{}]|\\(?:\r\n|.)?", re.DOTALL)
# What ends a string, or an escape to step over. A raw string's backslash keeps its quote from closing it, too.
_CLOSE = {
    "'": re.compile(r"\\(?:\r\n|.)|'|[\r\n]", re.DOTALL),
    '"': re.compile(r"\\(?:\r\n|.)|\"|[\r\n]", re.DOTALL),
    "'''": re.compile(r"\\.|'''", re.DOTALL),
    '"""': re.compile(r"\\.|\"\"\"", re.DOTALL),
}


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its text from `#` on, its span, and whether it stands alone on its line."""

    text: str
    span: Span
    alone: bool

    def moved(self, by: int) -> Comment:
        """The same comment some rows further down."""
        start, end = self.span.start, self.span.end
        return Comment(self.text, Span.of(start.line + by, start.column, end.line + by, end.column), self.alone)


def comments(lines: Sequence[str], first: int = 0) -> Iterator[Comment]:
    """The comments in order; a `#` inside a string, also one over several lines, is none.

    Args:
        lines: without their ends, from a place that is not inside a string.
        first: the buffer's line that `lines` begins with.
    """
    scanner = Scanner()
    for number, line in enumerate(lines):
        if not scanner.string and "#" not in line and "'" not in line and '"' not in line:
            continue
        scanner.feed(line)
        for start, end in scanner.comments:
            row = first + number
            yield Comment(line[start:end], Span.of(row, start, row, end), not line[:start].strip())


class Scanner:
    """Reads a text piece by piece; `string` and `depth` tell in what the end of the last piece stands.

    A one-line string that is not closed ends with its line, as an editor's colours have it.
    """

    def __init__(self) -> None:
        self.string = ""
        """The delimiter of the triple-quoted string that is open, or empty."""
        self.depth = 0
        """How many brackets are open."""
        self.continued = False
        """Whether the last line ends in a backslash."""
        self.comments: list[tuple[int, int]] = []
        """Start and end offsets of the comments of the last piece."""

    @property
    def open(self) -> bool:
        """Whether the statement goes on after the last piece."""
        return bool(self.string) or self.depth > 0 or self.continued

    def feed(self, text: str) -> None:
        """Read the next piece, which begins where the last one ended."""
        self.comments = []
        self.continued = False
        at = self._close(text, 0, self.string) if self.string else 0
        while at < len(text):
            match = _INTERESTING.search(text, at)
            if match is None:
                return
            at = match.end()
            token = match.group()
            if token[0] == "#":
                self.comments.append(match.span())
            elif token in _CLOSE:
                at = self._close(text, at, token)
            elif token in "([{":
                self.depth += 1
            elif token in ")]}":
                self.depth = max(0, self.depth - 1)
            elif token[0] == "\\":
                self.continued = at == len(text) and token in ("\\", "\\\n", "\\\r", "\\\r\n")

    def _close(self, text: str, at: int, delimiter: str) -> int:
        """The offset behind the string that is open at `at`."""
        self.string = ""
        for match in _CLOSE[delimiter].finditer(text, at):
            if match.group()[0] != "\\":
                return match.end()
        if len(delimiter) == 3:
            self.string = delimiter
        return len(text)
