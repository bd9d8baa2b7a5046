"""Diagnostics of Triton's C++, which go to file descriptor 2 as `file:line:column: error: ...`, as faults."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from .recorder import Recorder
from .spans import WireSpan

_DIAGNOSTIC = re.compile(
    r"^(?:loc\()?.*?\"?(?P<file><.+?>)\"?:(?P<line>\d+):(?P<column>\d+).*?: (?P<kind>error|note): (?P<text>.*)$"
)
_NOWHERE = re.compile(r"^.*?\b(?P<kind>error|note): (?P<text>.*)$")
_MOST = 1_000_000
"""Bytes of diagnostics that are read; a verifier may print the module."""


@contextlib.contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """Send file descriptor 2 to a file meanwhile; gives a function that says, after the block, what was written."""
    text = ""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: text
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            text = file.read(_MOST).decode(errors="replace")


def first_line(recorder: Recorder, unit: str) -> WireSpan:
    """The `def` line of a unit, for what has no better place."""
    return [unit, 1, 0, 1, len(recorder.sources.get(unit, "").split("\n")[0].encode())]


def record(recorder: Recorder, text: str, kernel: str, first_column: int) -> None:
    """Record each error of a verifier's output, with the notes that follow it; columns are counted from `first_column`."""
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        match = _DIAGNOSTIC.match(line)
        unit = recorder.unit_of(match.group("file")) if match is not None else None
        if match is not None and unit is not None:
            span = _span(recorder, unit, int(match.group("line")), int(match.group("column")) - first_column)
        else:
            match = _NOWHERE.match(line)
            if match is None:
                continue
            span = first_line(recorder, kernel)
        if match.group("kind") == "error":
            found.append({"span": span, "text": match.group("text"), "notes": []})
        elif found:
            # Long notes are dumps of operations; their first line says which.
            found[-1]["notes"].append({"span": span, "text": match.group("text")[:500]})
    if not found:
        found.append({"span": first_line(recorder, kernel), "text": "the generated IR is not valid", "notes": []})
    for item in found:
        facts = {"event": "verify", "operands": [], "callee": "", "notes": item["notes"]}
        recorder.fault(item["span"], "VerifierError", item["text"], "Module", facts, "verify")


def _span(recorder: Recorder, unit: str, line: int, column: int) -> WireSpan:
    lines = recorder.sources.get(unit, "").split("\n")
    end = len(lines[line - 1].encode()) if 1 <= line <= len(lines) else column
    return [unit, line, max(0, min(column, end)), line, end]
