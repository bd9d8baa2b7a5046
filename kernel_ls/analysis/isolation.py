"""Which statements of a text do not parse, and the tree of all the others.

Statements of a block begin at lines with the block's indentation. Each is tried alone; one that fails is first read on
(a string may hold lines that look like statements), then searched inside (a class, an outer function, an `if`), and at
last blanked as a whole. Then the rest parses at its own lines. A function without functions in it is never kept in part:
half a kernel would give findings that the whole does not have.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, replace

from kernel_ls.analysis.comments import Scanner
from kernel_ls.model import Span

_CLAUSE = r"(?:else|elif|except|finally)\b"
_WORD = re.compile(r"@|(?!" + _CLAUSE + r")[^\W\d]")
_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\b")
_NAMED = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)")
_COMPOUND = re.compile(r"(?:async|def|class|if|try|for|while|with|match|case|" + _CLAUSE + r")\b")
# Words that begin a statement and cannot stand in brackets.
_HARD = re.compile(
    r"@|(?:def|class|import|return|while|with|try|raise|del|pass|assert|global|break|continue)\b|from\s+[\w.]+\s+import\b"
)
_ON_LINE = re.compile(r"\bon line (\d+)")
_MAX_DEPTH = 16

_NEWER = (
    ("TryStar", re.compile(r"^\s*except\s*\*"), "3.11", "`except*`"),
    ("TypeAlias", re.compile(r"^\s*type\s+\w+\s*(?:\[.*\])?\s*="), "3.12", "a `type` statement"),
    ("TypeAlias", re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\["), "3.12", "type parameters"),
    ("TypeAlias", re.compile(r"\b[fF][rR]?(['\"])[^'\"{}]*\{[^{}]*\1"), "3.12", "a quote nested in an f-string"),
    ("TemplateStr", re.compile(r"\bt[rR]?['\"]"), "3.14", "a template string"),
)


@dataclass(frozen=True, slots=True)
class BrokenRegion:
    """A part of the text that does not parse.

    `span` is where Python's parser complains. `enclosing` is the qualified name of the function or class that is left out
    (`is_definition`: it exists, though nothing is known of it), else of what the statement is in; empty at the top level.
    """

    span: Span
    message: str
    enclosing: str = ""
    lines: tuple[int, int] = (0, 0)
    """The 0-based first and last line that the tree lacks because of it."""
    is_definition: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a text does not parse: message, 0-based place in code points."""

    message: str
    span: Span


def attempt(source: str) -> ast.Module | Failure:
    """Parse a text, or say why it does not parse. Raises nothing, warns of nothing."""
    try:
        with warnings.catch_warnings():
            # An invalid escape is the file's business, and would go to the server's stderr.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as e:
        line = max((e.lineno or 1) - 1, 0)
        column = max((e.offset or 1) - 1, 0)
        end_line, end_column = (e.end_lineno or 0) - 1, (e.end_offset or 0) - 1
        if (end_line, end_column) <= (line, column):
            end_line, end_column = line, column + 1
        return Failure(e.msg or "invalid syntax", Span.of(line, column, end_line, end_column))
    except (RecursionError, MemoryError):
        return Failure("nested too deeply for Python's parser", Span.of(0, 0, 0, 1))
    except ValueError as e:
        wrong = "a null byte" if "null" in str(e) else "a character that no encoding has (a lone surrogate)"
        place = re.search("\0" if "null" in str(e) else "[\ud800-\udfff]", source)
        before = source[: place.start()] if place else ""
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        return Failure(f"the text holds {wrong}", Span.of(line, column, line, column + 1))


def isolate(lines: list[str]) -> tuple[ast.Module, tuple[BrokenRegion, ...]]:
    """The tree of everything in `lines` that parses, and the parts that do not, in order."""
    work = _Isolation(lines)
    work.block(0, len(lines), "", "", 0)
    tree = attempt("\n".join(work.kept))
    if isinstance(tree, Failure) and not work.broken:
        # What no statement holds: a stray character between them.
        line = min(tree.span.start.line, len(lines) - 1)
        work.broken.append(BrokenRegion(tree.span, tree.message, "", (line, line)))
        work.kept[line] = ""
        tree = attempt("\n".join(work.kept))
    if isinstance(tree, Failure):
        # Every statement parses alone; only together they nest too deeply or run into each other.
        tree = work.assemble()
    return tree, tuple(work.broken)


def isolate_part(lines: list[str], first: int, last: int) -> tuple[ast.Module, tuple[BrokenRegion, ...]] | None:
    """As `isolate` for the lines from `first` to before `last`, where every statement outside of them parses.

    None where the part cannot be told from what follows it: a string stays open at its end, or a bracket that the statement
    behind it may stand in.
    """
    scanner = Scanner()
    scanner.feed("\n".join(lines[first:last]) + "\n")
    if scanner.open and (
        scanner.string or scanner.continued or (last < len(lines) and not _cannot_be_inside(lines[last]))
    ):
        return None
    work = _Isolation(lines)
    work.block(first, last, "", "", 0)
    tree = attempt("\n" * first + "\n".join(work.kept[first:last]))
    if isinstance(tree, Failure) or not work.broken:
        return None
    return tree, tuple(work.broken)


class _Isolation:
    """One run over one text. `kept` is the text as it stands, broken lines blanked."""

    def __init__(self, lines: list[str]) -> None:
        self.original = lines
        self.kept = list(lines)
        self.broken: list[BrokenRegion] = []
        # What may be read twice: ten texts' worth, so that a hostile text costs a small multiple of a good one.
        self.budget = 10 * sum(len(line) + 1 for line in lines) + 100_000

    # ----------------------------------------------------------------------------------------- statements

    def block(self, start: int, end: int, indent: str, prefix: str, depth: int) -> None:
        """Blank the statements of a block that do not parse. `prefix` is what names in it are qualified with."""
        chunks = self._chunks(start, end, indent)
        at = 0
        previous: tuple[int, int] | None = None
        while at < len(chunks):
            first, last = chunks[at]
            at += 1
            failure = self._failure(first, last, indent)
            if failure is not None:
                further = self._read_on(chunks, at - 1, indent)
                if further > at:
                    at, last = further, chunks[further - 1][1]
                    failure = self._failure(first, last, indent)
            if failure is not None and not self._search_inside(first, last, indent, prefix, depth):
                begin = self._keep_head(first, last, indent)
                if begin == first and previous is not None and self._continues(first, last, indent, previous):
                    begin = previous[0]
                self._blank(begin, last, failure, indent, prefix)
                last = max(begin, first)
            previous = (first, last) if first < last else None

    def _chunks(self, start: int, end: int, indent: str) -> list[tuple[int, int]]:
        """The line ranges of a block's statements; decorators belong to their function."""
        bounds: list[int] = []
        decorated = False
        for number in range(start, end):
            line = self.kept[number]
            if not line.startswith(indent) or not _WORD.match(line, len(indent)):
                continue
            at_sign = line.startswith("@", len(indent))
            if decorated and (at_sign or _DEFINITION.match(line, len(indent))):
                decorated = at_sign
                continue
            decorated = at_sign
            bounds.append(number)
        if not bounds or bounds[0] != start:
            bounds.insert(0, start)
        return list(zip(bounds, [*bounds[1:], end], strict=True))

    def _failure(self, start: int, end: int, indent: str) -> Failure | None:
        """Why lines of a block do not parse by themselves, in the buffer's lines; None where they do."""
        taken = self.kept[start:end]
        if not any(_is_code(line) for line in taken):
            return None
        source = "\n".join(taken) + "\n"
        outcome = attempt("if 1:\n" + source if indent else source)
        if isinstance(outcome, ast.Module):
            return None
        shift = start - 1 if indent else start
        message = _ON_LINE.sub(lambda m: f"on line {int(m.group(1)) + shift}", outcome.message)
        lines = [min(max(p.line + shift, start), end - 1) for p in (outcome.span.start, outcome.span.end)]
        span = Span.of(lines[0], outcome.span.start.column, lines[1], outcome.span.end.column)
        return Failure(_with_hint(message, self.original[span.start.line]), self._clamp(span))

    def _clamp(self, span: Span) -> Span:
        """A span inside the text, not empty where its line is not."""
        (line, column), (end_line, end_column) = (
            (p.line, min(p.column, len(self.original[p.line]))) for p in (span.start, span.end)
        )
        if (end_line, end_column) <= (line, column):
            code = len(self.original[line].rstrip())
            column = min(column, max(code - 1, 0))
            end_line, end_column = line, min(column + 1, len(self.original[line]))
        return Span.of(line, column, end_line, end_column)

    def _read_on(self, chunks: list[tuple[int, int]], at: int, indent: str) -> int:
        """How far the statement of chunk `at` goes (as an index behind its last chunk), where a string or a bracket of
        it holds lines that look like statements.

        What is only half typed would read on as well, to the next string's first quotes. It is told by that string's
        chunk, which parses alone, while the end of a real one does not.
        """
        first, last = chunks[at]
        scanner = Scanner()
        scanner.feed("\n".join(self.kept[first:last]) + "\n")
        following = at + 1
        while scanner.open and following < len(chunks) and self.budget > 0:
            begin, end = chunks[following]
            if not scanner.string and _cannot_be_inside(self.kept[begin][len(indent) :]):
                break
            piece = "\n".join(self.kept[begin:end]) + "\n"
            self.budget -= len(piece)
            scanner.feed(piece)
            following += 1
        if scanner.string or following == at + 1:
            return at + 1
        if self._failure(first, chunks[following - 1][1], indent) is None:
            return following
        if self._failure(*chunks[following - 1], indent) is None:
            return at + 1
        for begin, end in chunks[at + 1 : following - 1]:
            decorated = self.kept[begin].startswith("@", len(indent))
            if decorated and self._failure(begin, end, indent) is None:
                return at + 1
        return following

    # ----------------------------------------------------------------------------------------- inside a statement

    def _search_inside(self, start: int, end: int, indent: str, prefix: str, depth: int) -> bool:
        """Blank only parts of a compound statement, if that mends it."""
        head = next((n for n in range(start, end) if not self._is_decorator_part(n, indent)), None)
        if depth >= _MAX_DEPTH or head is None or self.budget <= 0:
            return False
        line = self.kept[head]
        if not line.startswith(indent) or not _COMPOUND.match(line, len(indent)):
            return False
        if not self._holds_definitions(head, end):
            return False
        self.budget -= sum(len(text) for text in self.kept[start:end])
        named = _NAMED.match(line, len(indent))
        if named is not None:
            prefix += named.group(2) + (".<locals>." if named.group(1) == "def" else ".")
        saved, found = self.kept[start:end], len(self.broken)
        for body, stop in self._bodies(head, end, indent):
            self._search_body(body, stop, indent, prefix, depth)
        if len(self.broken) > found and self._failure(start, end, indent) is None:
            return True
        self.kept[start:end] = saved
        del self.broken[found:]
        return False

    def _holds_definitions(self, head: int, end: int) -> bool:
        """Whether functions or classes are defined inside a statement; what a string holds is none."""
        scanner = Scanner()
        for number in range(head, end):
            line = self.kept[number]
            if number > head and not scanner.string and _DEFINITION.match(line.lstrip(" \t\x0c")):
                return True
            scanner.feed(line + "\n")
        return False

    def _is_decorator_part(self, number: int, indent: str) -> bool:
        """Whether a line before a definition's first one belongs to its decorators (or is empty)."""
        line = self.kept[number]
        return not line.startswith(indent) or not _WORD.match(line, len(indent)) or line.startswith("@", len(indent))

    def _bodies(self, head: int, end: int, indent: str) -> list[tuple[int, int]]:
        """The line ranges of the bodies of a compound statement's clauses."""
        found: list[tuple[int, int]] = []
        at = head
        while at < end:
            line = self.kept[at]
            if not (line.startswith(indent) and _COMPOUND.match(line, len(indent))):
                at += 1
                continue
            scanner = Scanner()
            while at < end:
                text = self.kept[at] + "\n"
                scanner.feed(text)
                code = text[: scanner.comments[0][0]] if scanner.comments else text
                at += 1
                if not scanner.open:
                    break
            if not code.rstrip().endswith(":"):
                continue
            body = at
            while at < end and not self._at_clause(at, indent):
                at += 1
            found.append((body, at))
        return found

    def _at_clause(self, number: int, indent: str) -> bool:
        line = self.kept[number]
        return line.startswith(indent) and re.match(_CLAUSE, line[len(indent) :]) is not None

    def _search_body(self, start: int, end: int, indent: str, prefix: str, depth: int) -> None:
        first = next((n for n in range(start, end) if _is_code(self.kept[n])), None)
        if first is None:
            return
        line = self.kept[first]
        inner = line[: len(line) - len(line.lstrip(" \t\x0c"))]
        if not inner.startswith(indent) or len(inner) <= len(indent):
            return
        self.block(first, end, inner, prefix, depth + 1)
        if not any(_is_code(text) for text in self.kept[first:end]):
            self.kept[first] = inner + "pass"

    # ----------------------------------------------------------------------------------------- giving up

    def _keep_head(self, start: int, end: int, indent: str) -> int:
        """Where the broken part begins: a statement that parses up to a stray line at its own indentation stays."""
        tries = 0
        for number in range(start + 1, end):
            line = self.kept[number]
            if not _is_code(line) or line[: len(indent) + 1].startswith(indent + " ") or line.startswith(indent + "\t"):
                continue
            tries += 1
            if self._failure(start, number, indent) is None and not self._has_code_inside(number, end, indent):
                return number
            if tries == 3:
                break
        return start

    def _has_code_inside(self, start: int, end: int, indent: str) -> bool:
        """Whether code that is indented further than the block follows a line: then what is above goes on there."""
        return any(_is_code(text) and _is_deeper(text, indent) for text in self.kept[start + 1 : end])

    def _continues(self, start: int, end: int, indent: str, previous: tuple[int, int]) -> bool:
        """Whether a broken statement is the rest of the function above it, cut in two by an unindented line."""
        head = self.kept[start][len(indent) :]
        if head.startswith("@") or _COMPOUND.match(head):
            return False
        above = [self.kept[n][len(indent) :] for n in range(*previous) if self.kept[n].startswith(indent)]
        return any(_NAMED.match(text) for text in above) and self._has_code_inside(start, end, indent)

    def _blank(self, start: int, end: int, failure: Failure, indent: str, prefix: str) -> None:
        named = None
        for number in range(start, end):
            line = self.kept[number]
            if line.startswith(indent) and (named := _NAMED.match(line, len(indent))):
                break
        around = prefix.removesuffix(".").removesuffix(".<locals>")
        enclosing = prefix + named.group(2) if named is not None else around
        last = end - 1
        while last > start and not self.original[last].strip():
            last -= 1
        for number in range(start, end):
            self.kept[number] = ""
        if named is None and self.broken and not self.broken[-1].is_definition:
            before = self.broken[-1]
            between = self.original[before.lines[1] + 1 : start]
            if before.enclosing == enclosing and not any(_is_code(text) for text in between):
                # One finding for a stretch of text that is no Python at all.
                self.broken[-1] = replace(before, lines=(before.lines[0], last))
                return
        self.broken.append(BrokenRegion(failure.span, failure.message, enclosing, (start, last), named is not None))

    def assemble(self) -> ast.Module:
        """The statements that parse alone, each at its own lines."""
        body: list[ast.stmt] = []
        for first, last in self._chunks(0, len(self.kept), ""):
            outcome = attempt("\n".join(self.kept[first:last]) + "\n")
            if isinstance(outcome, ast.Module):
                ast.increment_lineno(outcome, first)
                body += outcome.body
        return ast.Module(body=body, type_ignores=[])


def _cannot_be_inside(statement: str) -> bool:
    """Whether a line begins a statement that no bracket can hold (`if` and `for` also stand in comprehensions)."""
    return bool(_HARD.match(statement) or (_COMPOUND.match(statement) and statement.rstrip().endswith(":")))


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _is_deeper(line: str, indent: str) -> bool:
    return line.startswith(indent) and line[len(indent) : len(indent) + 1] in (" ", "\t")


def _with_hint(message: str, line: str) -> str:
    """The parser's message, with what to do where the line is written in a newer Python than the server's own."""
    for marker, pattern, version, feature in _NEWER:
        if not hasattr(ast, marker) and pattern.search(line):
            return f"{message}: {feature} needs Python {version}, and kernel-ls runs under an older one"
    return message
