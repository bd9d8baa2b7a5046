"""One line a finding: `path:row:column: severity[code] message`, which editors and grep understand."""

from __future__ import annotations

from kernel_ls.report.base import CheckReport, count_text


def concise(report: CheckReport) -> str:
    """The findings in order, then the count."""
    lines = []
    for finding in report.findings:
        start = finding.location.span.start
        message = " ".join(finding.message.split())
        lines.append(
            f"{report.shown_path(finding.location.path)}:{start.line + 1}:{start.column + 1}: "
            f"{finding.severity.value}[{finding.code}] {message}"
        )
    return "\n".join([*lines, count_text(report), ""])
