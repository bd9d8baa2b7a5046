"""Whether a change mends what it is offered for: what a check found before it, against what a check finds after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kernel_ls.model import Edit, Finding, Fix, Location, Position, Severity, Span

Place = tuple[str, int]
"""A file and a 0-based line of it."""


def mends(
    finding: Finding,
    edits: Sequence[Edit],
    before: Iterable[Finding],
    after: Iterable[Finding],
    hidden: Iterable[Place],
) -> bool:
    """Whether a finding is gone and nothing came in its place.

    Args:
        finding: what the edits are to mend.
        edits: the change.
        before: the findings of the text without the change, `finding` among them.
        after: those of the text with it, in its own coordinates.
        hidden: lines of the text before that could not be judged because they depend on a fault. What shows there once
            the fault is gone was there all along.
    """
    known = Counter(_identity(f, moved(f.location, edits)) for f in before if f.severity is not Severity.INFO)
    found = Counter(_identity(f, f.location) for f in after if f.severity is not Severity.INFO)
    target = _identity(finding, moved(finding.location, edits))
    if found[target] >= max(known[target], 1):
        return False
    laid_bare = {_line(moved(Location(path, _start(line)), edits)) for path, line in hidden}
    return all((path, line) in laid_bare for _, path, line in (found - known).elements())


def choices(fixes: Iterable[Fix]) -> list[list[Fix]]:
    """Candidates in their order, those that are answers to one question together at the place of the first of them."""
    groups: dict[object, list[Fix]] = {}
    for index, fix in enumerate(fixes):
        groups.setdefault(fix.choice or index, []).append(fix)
    return list(groups.values())


def moved(location: Location, edits: Sequence[Edit]) -> Location:
    """A place of the text before the edits in the text after them. Columns within an edited line are not followed."""
    line = location.span.start.line
    delta = 0
    for edit in edits:
        if edit.location.path == location.path and edit.location.span.end <= location.span.start:
            delta += edit.text.count("\n") - (edit.location.span.end.line - edit.location.span.start.line)
    return Location(location.path, _start(line + delta))


def _identity(finding: Finding, location: Location) -> tuple[str, str, int]:
    return (finding.code, *_line(location))


def _line(location: Location) -> Place:
    return (location.path, location.span.start.line)


def _start(line: int) -> Span:
    return Span(Position(line, 0), Position(line, 0))
