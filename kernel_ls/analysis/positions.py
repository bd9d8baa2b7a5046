"""The only place with coordinate arithmetic.

Three coordinate systems meet here (see `kernel_ls.model`): Python's `ast` over a buffer (1-based lines, 0-based UTF-8 byte
columns), the buffer itself (`Span`: 0-based, code points) and a unit's text (`UnitSpan`: 1-based lines, UTF-8 bytes, dedented,
decorators cut). LSP's encodings are the fourth; `to_units` and `from_units` serve `convert.py`.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from kernel_ls.analysis.node_memo import inside, once
from kernel_ls.model import Location, Position, Span, UnitOrigin, UnitSpan

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class _Placed(Protocol):
    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


def split_lines(text: str) -> list[str]:
    r"""The lines as Python's parser counts them: ended by `\n`, `\r\n` or `\r` and by nothing else; ends cut."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def points(line: str, column: int) -> int:
    """Code points in the first `column` UTF-8 bytes of a line; a column behind its end counts as its end."""
    if line.isascii():
        return min(column, len(line))
    return len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))


def octets(line: str, column: int) -> int:
    """UTF-8 bytes in the first `column` code points of a line."""
    return len(line[:column].encode("utf-8", "surrogatepass"))


def to_units(line: str, column: int, encoding: Encoding) -> int:
    """A column of code points in the units of an LSP position encoding."""
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    prefix = line[:column]
    if encoding == "utf-8":
        return len(prefix.encode("utf-8", "surrogatepass"))
    return sum(2 if ord(c) > 0xFFFF else 1 for c in prefix)


def from_units(line: str, column: int, encoding: Encoding) -> int:
    """A column of an LSP position encoding in code points; one inside a character counts as its start."""
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    if encoding == "utf-8":
        return points(line, column)
    passed = 0
    for index, character in enumerate(line):
        passed += 2 if ord(character) > 0xFFFF else 1
        if passed > column:
            return index
    return len(line)


def span_of(node: ast.AST | _Placed, lines: Sequence[str]) -> Span:
    """The buffer span of a node of the buffer's own tree."""
    first, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    last = getattr(node, "end_lineno", None) or first
    end = getattr(node, "end_col_offset", None)
    last_line = lines[last - 1] if 0 < last <= len(lines) else ""
    first_line = lines[first - 1] if 0 < first <= len(lines) else ""
    return Span.of(
        first - 1,
        points(first_line, column),
        last - 1,
        len(last_line) if end is None else points(last_line, end),
    )


def locate(origin: UnitOrigin, source: str, span: UnitSpan) -> Location:
    """Where a span of a unit's text stands in the user's file.

    Args:
        origin: where the unit's text was taken from.
        source: the unit's text.
        span: unit coordinates; lines outside the text count as its last line.
    """
    lines = source.split("\n")

    def place(line: int, column: int) -> Position:
        index = min(max(line - 1, 0), len(lines) - 1)
        indent = origin.indents[index] if index < len(origin.indents) else 0
        return Position(origin.row(index + 1), indent + points(lines[index], max(column, 0)))

    start = place(span.line, span.column)
    end = place(span.end_line, span.end_column)
    return Location(origin.path, Span(start, max(start, end)))


def to_unit(origin: UnitOrigin, source: str, unit: str, position: Position) -> UnitSpan | None:
    """The empty unit span at a buffer position, or None where the position lies outside the unit's text."""
    lines = source.split("\n")
    line = origin.line(position.line)
    if line is None or line > len(lines):
        return None
    index = line - 1
    indent = origin.indents[index] if index < len(origin.indents) else 0
    column = position.column - indent
    if column < 0 or column > len(lines[index]):
        return None
    at = octets(lines[index], column)
    return UnitSpan(unit, index + 1, at, index + 1, at)


def build_unit(document: ParsedDocument, node: ast.FunctionDef | ast.ClassDef) -> tuple[str, UnitOrigin]:
    """A function's text as Triton parses it but for comments and empty lines, and where it stands.

    Triton takes `inspect.getsourcelines` (the block from the first decorator on), dedents it, and cuts what stands before
    the `def` (`JITCallable.__init__`). Where its own pattern does not find a `def` (a type parameter list, say), the text
    starts at the node's line all the same. A class's text starts at its `class` line. What an author says in comments is
    nothing to the generator, so that it is no part of a unit, nor of a key.
    """
    return once(node, f"unit {document.path}", lambda: _build_unit(document, node))


def _build_unit(document: ParsedDocument, node: ast.FunctionDef | ast.ClassDef) -> tuple[str, UnitOrigin]:
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    texts = {row: document.lines[row] for row in range(first, min(last, len(document.lines)))}
    for comment in document.comments_of(first, last):
        row, column = comment.span.start.line, comment.span.start.column
        texts[row] = texts[row][:column].rstrip()
    inside = _inside_strings(node)
    rows = [row for row, text in texts.items() if row in inside or (text and not text.isspace())]
    kept = textwrap.dedent("\n".join(texts[row] for row in rows)).split("\n")
    indents = tuple(max(0, len(texts[row]) - len(line)) if line else 0 for row, line in zip(rows, kept, strict=True))
    return "\n".join(kept), UnitOrigin(document.path, first, indents, tuple(rows))


def _inside_strings(node: ast.AST) -> set[int]:
    """The 0-based rows that a string begins before: an empty one of these is part of the string."""
    found: set[int] = set()
    for kind in (ast.Constant, ast.JoinedStr):
        for inner in inside(node, kind):
            if (inner.end_lineno or 0) > inner.lineno:
                found.update(range(inner.lineno, inner.end_lineno or 0))
    return found
