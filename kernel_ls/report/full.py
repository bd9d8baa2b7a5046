"""Findings for a person: the line in its file, what is under it, the other places that explain it, and what to do.

error[loop-carried-type]: `acc` is float16 before the loop and float32 after one pass
  --> kernels/softmax.py:14:9
   |
14 |         acc = acc + x.to(tl.float32)
   |         ^^^ float32 here
   |
... softmax.py:11:11: it starts as float16
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich.text import Text

from kernel_ls.model import Finding, Location, Severity
from kernel_ls.report.base import CheckReport, count_text

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_TAB = "    "
_MOST_LINES = 3
"""A span of more lines shows its first."""


def full(report: CheckReport) -> str:
    """The report as plain text."""
    return full_text(report).plain


def full_text(report: CheckReport) -> Text:
    """The report with styles, for a terminal."""
    text = Text()
    notes = [f for f in report.findings if f.severity is Severity.INFO]
    for finding in report.findings:
        if finding.severity is not Severity.INFO:
            text.append_text(_finding(finding, report))
            text.append("\n")
    for finding in notes:
        text.append_text(_note(finding, report))
    if notes:
        text.append("\n")
    bad = report.count(Severity.ERROR) or report.count(Severity.WARNING)
    text.append(count_text(report) + "\n", style="bold" if bad else "bold green")
    return text


def _note(finding: Finding, report: CheckReport) -> Text:
    """Information on a line of its own: there may be much of it, and none of it needs mending."""
    path = report.shown_path(finding.location.path)
    start = finding.location.span.start
    head = (f"{finding.severity.value}[{finding.code}]", _STYLES[finding.severity])
    text = Text.assemble(head, f" {path}:{start.line + 1}:{start.column + 1}: {' '.join(finding.message.split())}")
    if finding.assumed:
        text.append(f" (assumed: {', '.join(finding.assumed)})")
    return text.append("\n")


def _finding(finding: Finding, report: CheckReport) -> Text:
    style = _STYLES[finding.severity]
    first, *more = finding.message.splitlines() or [""]
    text = Text.assemble((f"{finding.severity.value}[{finding.code}]", style), (f": {first}\n", "bold"))
    for line in more:
        text.append(f"  {line}\n")
    gutter = max(len(str(place.span.start.line + _MOST_LINES)) for place in _places(finding))
    text.append_text(_frame(finding.location, "", report, gutter, style, "-->"))
    for related in dict.fromkeys(finding.related):
        text.append_text(_frame(related.location, related.message, report, gutter, "bold blue", ":::"))
    pad = " " * gutter
    for label, content in _notes(finding):
        lines = content.splitlines()
        text.append(f"{pad} = ", style="bold blue")
        text.append(f"{label}: ", style="bold")
        text.append(lines[0] + "\n")
        for line in lines[1:]:
            text.append(f"{pad}   {line}\n")
    return text


def _notes(finding: Finding) -> list[tuple[str, str]]:
    notes = []
    if finding.original.strip():
        notes.append(("Triton says", finding.original.strip()))
    if finding.specialization and finding.kernel:
        shown = ", ".join(f"{name}={value}" for name, value in finding.specialization.items())
        others = finding.specializations - 1
        notes.append(("in", f"{finding.kernel}[{shown}]" + (f" and {others} more" if others > 0 else "")))
    if finding.assumed:
        notes.append(("assumed", ", ".join(finding.assumed)))
    if finding.fix is not None:
        notes.append(("help", f"{finding.fix.title} (--fix does it)"))
    notes.append(("see", f"kernel-ls rule {finding.code}"))
    return notes


def _places(finding: Finding) -> list[Location]:
    return [finding.location, *(related.location for related in finding.related)]


def _frame(location: Location, label: str, report: CheckReport, gutter: int, style: str, arrow: str) -> Text:
    """The lines of a place with what is meant underlined; the label stands behind the underline."""
    span = location.span
    pad = " " * gutter
    where = f"{report.shown_path(location.path)}:{span.start.line + 1}:{span.start.column + 1}"
    text = Text.assemble((f"{pad}{arrow} ", "bold blue"), f"{where}\n")
    lines: Sequence[str] = report.lines(location.path)
    if span.start.line >= len(lines):
        if label:
            text.append(f"{pad}     {label}\n")
        return text
    last = min(span.end.line, len(lines) - 1)
    if last > span.start.line and span.end.column == 0:
        last -= 1
    if last - span.start.line >= _MOST_LINES:
        last = span.start.line
    text.append(f"{pad} |\n", style="bold blue")
    for number in range(span.start.line, last + 1):
        line = lines[number].rstrip("\r\n")
        start = span.start.column if number == span.start.line else len(line) - len(line.lstrip())
        end = span.end.column if number == span.end.line else len(line.rstrip())
        text.append(f"{number + 1:>{gutter}} | ", style="bold blue")
        text.append(_expanded(line) + "\n")
        text.append(f"{pad} | ", style="bold blue")
        before = _width(line[:start])
        under = max(1, _width(line[:end]) - before)
        text.append(" " * before + "^" * under, style=style)
        if label and number == last:
            text.append(f" {label}", style=style)
        text.append("\n")
    return text


def _expanded(line: str) -> str:
    # A form feed or another control character would tear the frame.
    return "".join(_TAB if c == "\t" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def _width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(_cells(c) for c in text)


def _cells(character: str) -> int:
    if character == "\t":
        return len(_TAB)
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
