"""Features on a document as it stands now: answers of its last snapshot, led through the edits made since.

Positions in and out are those of the present text. What was edited since has no answer; a kernel that does not parse now
is answered from the last snapshot in which it did, marked as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_ls.analysis.features import completion, hints, hover, inactive, lenses, signature
from kernel_ls.analysis.features.snapshot import KernelView, Reading, Snapshot
from kernel_ls.analysis.features.trail import Trail
from kernel_ls.model import Position, Span


@dataclass(frozen=True, eq=False)
class View:
    """One document as features see it.

    Attributes:
        snapshot: what the last check knows.
        trail: the edits since.
        lines: the present text.
        chosen: the specialization that the user chose, by a kernel's qualified name.
        older: the last snapshot of kernels that this one lacks because they do not parse, as a view of its own.
    """

    snapshot: Snapshot
    trail: Trail = field(default_factory=Trail)
    lines: Sequence[str] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    older: View | None = None

    def hover(self, position: Position) -> hover.Hover | None:
        """What is shown at a position."""
        place = self.trail.back(position)
        found = None
        if place is not None:
            found = hover.hover(self.snapshot, place, self.chosen, last_good=self._is_last_good(place))
        if found is not None:
            span = self.trail.now(found.span)
            return replace(found, span=span) if span is not None else None
        return self.older.hover(position) if self.older is not None else None

    def _is_last_good(self, place: Position) -> bool:
        """Whether the text that is shown is of a kernel that does not parse any more (it is then another view's `older`)."""
        function = self.snapshot.function_at(place.line + 1)
        return function is not None and function.qualname in self._gone

    @property
    def _gone(self) -> frozenset[str]:
        return frozenset(k.name for k in self.snapshot.kernels if k.stale)

    def hints(self, first: int, last: int, level: hints.Level) -> tuple[hints.Hint, ...]:
        """The hints between two lines, both included."""
        start, end = self._before(first), self._before(last)
        found = []
        for hint in hints.hints(self.snapshot, start, end, self.chosen, level):
            anchor = self.trail.now(hint.anchor)
            if anchor is not None:
                at = anchor.start if hint.before else anchor.end
                found.append(replace(hint, anchor=anchor, position=at))
        return tuple(h for h in found if first <= h.position.line <= last)

    def _before(self, line: int) -> int:
        """A line of the snapshot's text near the one that a present line came from."""
        for near in (line, *(n for d in range(1, 40) for n in (line - d, line + d) if n >= 0)):
            place = self.trail.back(Position(near, 0))
            if place is not None:
                return max(0, place.line + (line - near))
        return line

    def inactive(self) -> tuple[inactive.Region, ...]:
        """The regions that no specialization in use generates; what was edited since is shown as active."""
        found = []
        for region in inactive.inactive(self.snapshot, self.chosen):
            span = self.trail.now(region.span)
            if span is not None:
                found.append(replace(region, span=span))
        return tuple(found)

    def lenses(self) -> tuple[lenses.Lens, ...]:
        """The lenses above the kernels; they stay where their `def` is, whatever is edited in it."""
        found = []
        names: set[str] = set()
        for lens in lenses.lenses(self.snapshot, self.chosen):
            names.add(str(lens.arguments[1]))
            line = self.trail.line_now(lens.span.start.line)
            if line is not None:
                found.append(replace(lens, span=Span.of(line, 0, line, 0)))
        if self.older is not None:
            found += [lens for lens in self.older.lenses() if lens.arguments[1] not in names]
        return tuple(found)

    def complete(self, position: Position) -> tuple[completion.Item, ...]:
        """What may stand at a position."""
        found = completion.complete(self.snapshot, self.lines, position, self.trail, self.chosen)
        if found or self.older is None:
            return found
        older = self.older
        return completion.complete(older.snapshot, self.lines, position, older.trail, self.chosen)

    def signature(self, position: Position) -> signature.Signature | None:
        """The signature that is being given arguments at a position."""
        found = signature.signature(self.snapshot, self.lines, position, self.trail, self.chosen)
        if found is None and self.older is not None:
            older = self.older
            found = signature.signature(older.snapshot, self.lines, position, older.trail, self.chosen)
        return found

    def kernel(self, name: str) -> KernelView | None:
        """A kernel by its qualified name."""
        found = self.snapshot.view(name)
        return found if found is not None or self.older is None else self.older.kernel(name)

    def kernel_at(self, position: Position) -> KernelView | None:
        """The kernel that a position is in, or that reaches the helper that it is in."""
        place = self.trail.back(position) or Position(self._before(position.line), 0)
        function = self.snapshot.function_at(place.line + 1)
        if function is None:
            return None
        own = self.snapshot.view(function.qualname)
        if own is not None:
            return own
        reading = self.snapshot.active(function, self.chosen)
        wanted = reading.program.kernel if reading is not None else None
        return next((k for k in self.snapshot.kernels if k.program.kernel == wanted), None)

    def reading(self, name: str) -> Reading | None:
        """What the active specialization of a kernel says."""
        for number, kernel in enumerate(self.snapshot.kernels):
            if kernel.name == name and kernel.function.path == self.snapshot.path and kernel.trials:
                return self.snapshot.reading(number, kernel.index(self.chosen.get(name, "")))
        return self.older.reading(name) if self.older is not None else None
