"""Places of a snapshot's text in the text as it is now, through the edits made since.

An edit is known by what it left alone: the text before it and the text behind it. A span that an edit touched has no place
on the other side, so that nothing stale is shown: what was changed since says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernel_ls.analysis.positions import split_lines
from kernel_ls.model import Position, Span


@dataclass(frozen=True, slots=True)
class Hunk:
    """One edit: the text from `start` to `old_end` became the text from `start` to `new_end`."""

    start: Position
    old_end: Position
    new_end: Position

    def forward(self, position: Position) -> Position | None:
        """Where a place before the edit stands after it; None inside of what was replaced."""
        return _moved(position, self.start, self.old_end, self.new_end)

    def back(self, position: Position) -> Position | None:
        """Where a place after the edit stood before it."""
        return _moved(position, self.start, self.new_end, self.old_end)


def _moved(position: Position, start: Position, end: Position, to: Position) -> Position | None:
    if position <= start:
        return position
    if position < end:
        return None
    column = position.column + (to.column - end.column if position.line == end.line else 0)
    return Position(position.line + to.line - end.line, column)


def difference(before: Sequence[str], after: Sequence[str]) -> Hunk | None:
    """The smallest edit that makes one text (its lines) another; None where they are equal."""
    if before == after:
        return None
    most = min(len(before), len(after))
    head = _common(before, after, most)
    tail = _common(before[::-1], after[::-1], most - head)
    old_last, new_last = len(before) - tail, len(after) - tail
    # Lines [head, old_last) became [head, new_last): narrowed to what differs within the first and the last of them.
    if head in (old_last, new_last):
        # Whole lines came or went: the end of the line before them is where.
        if head > 0:
            start = Position(head - 1, len(before[head - 1]))
            return Hunk(start, _line_end(before, old_last - 1), _line_end(after, new_last - 1))
        return Hunk(Position(0, 0), Position(old_last, 0), Position(new_last, 0))
    column = _common(before[head], after[head], min(len(before[head]), len(after[head])))
    old_line, new_line = before[old_last - 1], after[new_last - 1]
    room = min(
        len(old_line) - (column if old_last - 1 == head else 0), len(new_line) - (column if new_last - 1 == head else 0)
    )
    behind = _common(old_line[::-1], new_line[::-1], room)
    return Hunk(
        Position(head, column),
        Position(old_last - 1, len(old_line) - behind),
        Position(new_last - 1, len(new_line) - behind),
    )


def _line_end(lines: Sequence[str], line: int) -> Position:
    return Position(line, len(lines[line]))


def _common(one: Sequence[str], other: Sequence[str], most: int) -> int:
    """How many items two sequences have in common at their beginning, `most` at most."""
    low, high = 0, most
    while low < high:
        # Slices compare in C: fewer steps than an item at a time.
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class Trail:
    """The edits between a snapshot's text and the text as it is now, oldest first."""

    hunks: tuple[Hunk, ...] = ()

    @staticmethod
    def between(texts: Sequence[str]) -> Trail:
        """The trail through the texts that a document had, the first being the snapshot's."""
        lines = [split_lines(text) for text in texts]
        found = [difference(a, b) for a, b in pairwise(lines)]
        return Trail(tuple(h for h in found if h is not None))

    def then(self, hunk: Hunk | None) -> Trail:
        """This trail and one more edit."""
        return self if hunk is None else Trail((*self.hunks, hunk))

    def back(self, position: Position) -> Position | None:
        """Where a place of the present text stood in the snapshot's; None where it is in text that came since."""
        place: Position | None = position
        for hunk in reversed(self.hunks):
            if place is None:
                return None
            place = hunk.back(place)
        return place

    def now(self, span: Span) -> Span | None:
        """Where a span of the snapshot's text stands now; None where it was touched since.

        Text that was put right before or behind the span counts as touching it: `x` that became `x1` is another name.
        """
        for hunk in self.hunks:
            if hunk.start <= span.end and span.start <= hunk.old_end:
                return None
            start, end = hunk.forward(span.start), hunk.forward(span.end)
            if start is None or end is None:
                return None
            span = Span(start, end)
        return span

    def line_now(self, line: int) -> int | None:
        """Where a line of the snapshot's text is now, whatever became of the text in it."""
        at = Position(line, 0)
        for hunk in self.hunks:
            moved = hunk.forward(at)
            if moved is None:
                return None
            at = Position(moved.line, 0)
        return at.line
