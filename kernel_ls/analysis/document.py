"""Buffer text into a parsed document; never raises, and a broken function never hides the others.

Where Python's parser takes the whole text, that is all there is to it. Where it does not, `isolation` finds the smallest
statements that do not parse, and the tree holds all the others at their own places.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise

from kernel_ls.analysis import isolation
from kernel_ls.analysis.comments import Comment, comments
from kernel_ls.analysis.isolation import BrokenRegion
from kernel_ls.analysis.node_memo import once
from kernel_ls.analysis.positions import split_lines
from kernel_ls.analysis.reparse import Reparsed, reparse
from kernel_ls.analysis.rows import moves
from kernel_ls.model import Span
from kernel_ls.pyeval.nodes import walk

__all__ = ["MAXIMUM", "BrokenRegion", "ParsedDocument", "parse"]

MAXIMUM = 10_000_000
"""Characters; a larger text is not parsed, since no kernel is that long and an editor would wait."""


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
    memo: dict[str, object] = field(default_factory=dict, repr=False)
    """What pure functions of this document have computed once, by the function's name."""

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The parent of every node."""
        found: dict[ast.AST, ast.AST] = {}
        for statement in self.tree.body:
            found[statement] = self.tree
            found.update(once(statement, "parents", partial(_parents, statement)))
        return found

    @cached_property
    def comments(self) -> tuple[Comment, ...]:
        """Every comment, in order. A string that a broken statement leaves open hides none behind that statement."""
        if "#" not in self.text:
            return ()
        return tuple(_comments(self.lines, self.broken, (0, len(self.lines))))

    def comments_of(self, first: int, last: int) -> tuple[Comment, ...]:
        """The comments in a range of (0-based) rows, the last one excluded."""
        starts = self._comment_rows
        return self.comments[bisect_left(starts, first) : bisect_left(starts, last)]

    @cached_property
    def _comment_rows(self) -> list[int]:
        return [comment.span.start.line for comment in self.comments]

    @cached_property
    def broken_names(self) -> frozenset[str]:
        """Qualified names of functions and classes that do not parse: they exist, though nothing is known of them."""
        return frozenset(b.enclosing for b in self.broken if b.is_definition)

    def line(self, number: int) -> str:
        """The 0-based line without its end; empty where there is none."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""


def _comments(lines: list[str], broken: Sequence[BrokenRegion], part: tuple[int, int]) -> Iterator[Comment]:
    """The comments in some rows, the last one excluded, which begin and end between two statements."""
    cuts = set(part)
    for region in broken:
        cuts |= {region.lines[0], region.lines[1] + 1}
    for first, last in pairwise(sorted(cuts)):
        yield from comments(lines[first:last], first)


def _comments_after(before: ParsedDocument, lines: list[str], again: Reparsed) -> tuple[Comment, ...]:
    """The comments of a text that an edit made, for the most part those from before."""
    first, stop = again.part
    by = len(lines) - len(before.lines)
    above = before.comments_of(0, first)
    below = before.comments_of(stop - by, len(before.lines))
    if by:
        below = tuple(comment.moved(by) for comment in below)
    return (*above, *_comments(lines, again.broken, again.part), *below)


def _parents(statement: ast.stmt) -> dict[ast.AST, ast.AST]:
    return {child: node for node in walk(statement) for child in ast.iter_child_nodes(node)}


def parse(text: str, path: str = "<buffer>", before: ParsedDocument | None = None) -> ParsedDocument:
    """Parse a buffer. A byte-order mark counts as no character, as for Python; never raises.

    Args:
        text: the buffer.
        path: its file.
        before: what the buffer was parsed to before an edit; statements that the edit left alone keep their nodes.
    """
    if text.startswith("\ufeff"):
        text = text[1:]
    lines = split_lines(text)
    if len(text) > MAXIMUM:
        whole = Span.of(0, 0, 0, len(lines[0]))
        message = f"the file has more than {MAXIMUM // 1_000_000} million characters and is not checked"
        region = BrokenRegion(whole, message, "", (0, len(lines) - 1))
        return ParsedDocument(path, text, ast.Module(body=[], type_ignores=[]), (region,), lines)
    by = moves(before.lines, lines) if before is not None else None
    if before is not None and by is not None and len(before.text) <= MAXIMUM:
        again = reparse(before.tree, before.broken, lines, by)
        if again is not None:
            document = ParsedDocument(path, text, again.tree, again.broken, lines)
            if "comments" in vars(before):
                vars(document)["comments"] = _comments_after(before, lines, again)
            return document
    outcome = isolation.attempt("\n".join(lines))
    if isinstance(outcome, ast.Module):
        return ParsedDocument(path, text, outcome, (), lines)
    tree, broken = isolation.isolate(lines)
    return ParsedDocument(path, text, tree, broken, lines)
