"""GitHub workflow commands: each finding becomes an annotation of the pull request's lines."""

from __future__ import annotations

from kernel_ls.model import Severity
from kernel_ls.report.base import CheckReport

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(report: CheckReport) -> str:
    """One command a finding; `%`, line ends and, in properties, `:` and `,` are escaped as the runner wants them."""
    lines = []
    for finding in report.findings:
        span = finding.location.span
        properties = {
            "title": f"kernel-ls ({finding.code})",
            "file": report.shown_path(finding.location.path).replace("\\", "/"),
            "line": str(span.start.line + 1),
            "endLine": str(max(span.start.line, span.end.line) + 1),
        }
        # The runner takes columns only where start and end are on one line.
        if span.start.line == span.end.line:
            properties["col"] = str(span.start.column + 1)
            properties["endColumn"] = str(max(span.start.column, span.end.column) + 1)
        text = finding.message + (f"\n{finding.original}" if finding.original else "")
        shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        lines.append(f"::{_COMMANDS[finding.severity]} {shown}::{_data(text)}")
    return "\n".join([*lines, ""]) if lines else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
