"""Where the rows of a text went in an edit.

Between two texts of a file rows are kept at the beginning and at the end, and what lies between was edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_ls.model import Location, Position, Span


class Edited(Exception):
    """A place lies in rows that were edited."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How the (0-based) rows of a text moved: those before `first` not at all, those from `last` on by `by`."""

    first: int
    last: int
    by: int

    def row(self, row: int) -> int:
        """The new row of an old one.

        Raises:
            Edited: it was edited.
        """
        if row < self.first:
            return row
        if row >= self.last:
            return row + self.by
        raise Edited

    def location(self, place: Location) -> Location:
        """The same place in the new text.

        Raises:
            Edited: it was edited.
        """
        start, end = place.span.start, place.span.end
        # An end at the beginning of a row belongs to the row before it.
        last = end.line - 1 if end.column == 0 and end.line > start.line else end.line
        first, moved = self.row(start.line), self.row(last) + end.line - last
        if (first, moved) == (start.line, end.line):
            return place
        return Location(place.path, Span(Position(first, start.column), Position(moved, end.column)))


def moves(before: Sequence[str], after: Sequence[str]) -> Moves | None:
    """How rows moved from one text to another; None where the texts are the same."""
    short = min(len(before), len(after))
    first = 0
    while first < short and before[first] == after[first]:
        first += 1
    if first == len(before) == len(after):
        return None
    kept = 0
    while kept < short - first and before[-1 - kept] == after[-1 - kept]:
        kept += 1
    return Moves(first, len(before) - kept, len(after) - len(before))
