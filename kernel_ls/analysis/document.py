"""Buffer text into a parsed document; never raises, and a broken function never hides the others.

Where the whole text does not parse, it is cut into chunks that each begin at a line which starts a statement at the chunk's
indentation. A chunk that does not parse is broken: inside a class or a function the same is done one level deeper, so that
its other members survive. Whatever stays broken is blanked out, line for line, so that every position keeps its place.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass, field
from functools import cached_property

from kernel_ls.analysis.positions import split_lines
from kernel_ls.model import Span

MAXIMUM = 10_000_000
"""Characters; a larger text is not parsed, since no kernel is that long and an editor would wait."""

_HEADER = re.compile(r"^(\s*)(?:async\s+)?(def|class)\s+(\w+)")
_STARTS = re.compile(
    r"(?:@|async\b|await\b|class\b|def\b|del\b|for\b|from\b|global\b|if\b|import\b|raise\b|return\b|try\b|while\b|with\b"
    r"|match\b|assert\b|pass\b|[A-Za-z_]\w*(?:\s*[.\[]|\s*=[^=]|\s*:|\s*\())"
)
_CONTINUES = re.compile(r"(?:elif\b|else\b|except\b|finally\b|case\b)")


@dataclass(frozen=True, slots=True)
class BrokenRegion:
    """A part of the text that does not parse: where, what Python's parser says, and the function or class it is in."""

    span: Span
    message: str
    enclosing: str = ""
    lines: tuple[int, int] = (0, 0)
    """The 0-based first and last line that were blanked out."""


@dataclass(frozen=True, eq=False)
class ParsedDocument:
    """A text and its syntax tree, which lacks what is listed in `broken`.

    Positions of `tree` are those of `text`: 1-based lines, 0-based UTF-8 byte columns.
    """

    path: str
    text: str
    tree: ast.Module
    broken: tuple[BrokenRegion, ...] = ()
    lines: list[str] = field(default_factory=list, repr=False)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node."""
        found: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                found[child] = node
        return found

    def line(self, number: int) -> str:
        """The 0-based line without its end; empty where there is none."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""


def parse(text: str, path: str = "<buffer>") -> ParsedDocument:
    """Parse a buffer. A byte-order mark counts as no character, as for Python; never raises."""
    if text.startswith("\ufeff"):
        text = text[1:]
    lines = split_lines(text)
    if len(text) > MAXIMUM:
        whole = Span.of(0, 0, 0, len(lines[0]))
        message = f"the file has more than {MAXIMUM // 1_000_000} million characters and is not checked"
        return ParsedDocument(path, text, _empty(), (BrokenRegion(whole, message, "", (0, len(lines) - 1)),), lines)
    tree, error = _try("\n".join(lines))
    if tree is not None:
        return ParsedDocument(path, text, tree, (), lines)
    kept = list(lines)
    broken: list[BrokenRegion] = []
    _isolate(kept, 0, len(lines), 0, "", broken)
    tree, again = _try("\n".join(kept))
    if tree is None:
        error = again or error
        broken = [_region(error, 0, len(lines) - 1, "", lines)]
        tree = _empty()
    return ParsedDocument(path, text, tree, tuple(broken), lines)


def _empty() -> ast.Module:
    return ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True, slots=True)
class _Error:
    message: str
    line: int = 1
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None


def _try(text: str) -> tuple[ast.Module | None, _Error]:
    """Parse, with every way to fail as an error value (nesting and null bytes included)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), _Error("")
    except SyntaxError as error:
        return None, _Error(error.msg, error.lineno or 1, max((error.offset or 1) - 1, 0), error.end_lineno, error.end_offset)
    except (ValueError, TypeError) as error:
        return None, _Error(str(error))
    except (RecursionError, MemoryError):
        return None, _Error("nested too deeply to be parsed")


def _isolate(kept: list[str], first: int, last: int, indent: int, enclosing: str, broken: list[BrokenRegion]) -> None:
    """Blank out what does not parse among the lines `[first, last)`, whose statements are indented by `indent`."""
    for start, end in _chunks(kept, first, last, indent):
        chunk = kept[start:end]
        # An indented chunk is parsed under a header of its own, on the same number of lines.
        tree, error = _try(_dressed(chunk, indent))
        if tree is not None:
            continue
        shift = 0 if indent == 0 else 1
        header = next((i for i in range(start, end) if _HEADER.match(kept[i])), None)
        if header is not None and _deeper(kept, start, end, header, enclosing, broken):
            continue
        name = _HEADER.match(kept[header]).group(3) if header is not None else ""  # type: ignore[union-attr]
        qualified = ".".join(n for n in (enclosing, name) if n)
        placed = _Error(error.message, error.line - shift + start, error.column, None, None)
        if error.end_line is not None and error.end_column is not None:
            placed = _Error(error.message, placed.line, error.column, error.end_line - shift + start, error.end_column - 1)
        broken.append(_region(placed, start, end - 1, qualified, kept))
        for index in range(start, end):
            kept[index] = ""
        if indent:
            kept[start] = " " * indent + "pass"


def _dressed(chunk: list[str], indent: int) -> str:
    return "\n".join(chunk) if indent == 0 else "\n".join(["if True:", *chunk, " " * indent + "pass"])


def _deeper(kept: list[str], start: int, end: int, header: int, enclosing: str, broken: list[BrokenRegion]) -> bool:
    """Isolate the fault inside a class or function whose own header parses; whether that was enough."""
    match = _HEADER.match(kept[header])
    assert match is not None
    opened = _header_end(kept, header, end)
    if opened is None:
        return False
    base = len(match.group(1))
    body = [i for i in range(opened + 1, end) if kept[i].strip()]
    if not body:
        return False
    inner = len(kept[body[0]]) - len(kept[body[0]].lstrip())
    # Only what holds members can lose one of them; a plain function's body is one piece.
    members = any(_HEADER.match(kept[i]) or kept[i].lstrip().startswith("@") for i in body)
    if inner <= base or not members:
        return False
    saved = kept[start:end]
    found: list[BrokenRegion] = []
    qualified = ".".join(n for n in (enclosing, match.group(3)) if n)
    _isolate(kept, body[0], end, inner, qualified, found)
    if _try(_dressed(kept[start:end], base))[0] is None:
        kept[start:end] = saved
        return False
    broken.extend(found)
    return True


def _header_end(kept: list[str], header: int, end: int) -> int | None:
    """The line on which a `def` or `class` header ends, None where it never parses."""
    for last in range(header, min(header + 200, end)):
        text = "\n".join(kept[header : last + 1]).strip()
        if text.endswith(":") and _try(text + " pass")[0] is not None:
            return last
        if last > header and _HEADER.match(kept[last]):
            return None
    return None


def _chunks(lines: list[str], first: int, last: int, indent: int) -> list[tuple[int, int]]:
    """`[start, end)` ranges that each begin with a statement at `indent`; decorators stay with what they decorate."""
    starts = []
    decorated = False
    for index in range(first, last):
        line = lines[index]
        body = line.lstrip(" \t\f")
        if not body or body.startswith("#"):
            continue
        width = len(line) - len(body)
        if width > indent or _CONTINUES.match(body) or not _STARTS.match(body):
            continue
        if width < indent:
            continue
        if not decorated:
            starts.append(index)
        decorated = body.startswith("@")
    if not starts or starts[0] != first:
        starts.insert(0, first)
    return [(a, b) for a, b in zip(starts, [*starts[1:], last], strict=True) if any(line.strip() for line in lines[a:b])]


def _region(error: _Error, first: int, last: int, enclosing: str, lines: list[str]) -> BrokenRegion:
    line = min(max(error.line - 1, 0), max(len(lines) - 1, 0))
    text = lines[line] if lines else ""
    # SyntaxError counts characters, from one.
    column = min(max(error.column, 0), len(text))
    end_line, end_column = line, len(text)
    if error.end_line is not None and error.end_column is not None and error.end_line - 1 == line:
        end_column = min(max(error.end_column, column), len(text))
    if end_column <= column:
        column, end_column = max(0, min(column, len(text) - 1)), len(text)
    message = error.message or "the text does not parse"
    if "f-string" in message or "type parameter" in message:
        message += f" (read by Python {sys.version_info.major}.{sys.version_info.minor}, the server's own)"
    return BrokenRegion(Span.of(line, column, end_line, end_column), message, enclosing, (first, last))


