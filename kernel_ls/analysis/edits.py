"""Applying fixes to texts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from kernel_ls.model import Edit, Finding, Position


def apply_fixes(findings: Iterable[Finding], read: Callable[[str], str | None]) -> dict[str, str]:
    """The new texts of all files that fixes change. A fix whose edits meet those of an earlier one waits for the next pass."""
    chosen: dict[str, list[Edit]] = {}
    for finding in findings:
        if finding.fix is None:
            continue
        if all(not _meets(edit, chosen.get(edit.location.path, ())) for edit in finding.fix.edits):
            for edit in finding.fix.edits:
                edits = chosen.setdefault(edit.location.path, [])
                if edit not in edits:
                    edits.append(edit)
    texts = {}
    for path, edits in chosen.items():
        text = read(path)
        if text is not None:
            texts[path] = apply_edits(text, edits)
    return texts


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text with edits of it made; they do not overlap."""
    # Lines end as Python's and the protocol's do; a form feed or U+2028 is a character like any other.
    starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]

    def offset(position: Position) -> int:
        if position.line >= len(starts):
            return len(text)
        return min(starts[position.line] + position.column, len(text))

    for edit in sorted(edits, key=lambda e: e.location.span, reverse=True):
        span = edit.location.span
        text = text[: offset(span.start)] + edit.text + text[offset(span.end) :]
    return text


def unified_diff(before: str, after: str, name: str) -> str:
    """What changed, as `diff -u` shows it."""
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
    )


def _meets(edit: Edit, others: Iterable[Edit]) -> bool:
    return any(
        edit != other
        and edit.location.span.start <= other.location.span.end
        and other.location.span.start <= edit.location.span.end
        for other in others
    )
