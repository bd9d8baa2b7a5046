"""How often each code was found."""

from __future__ import annotations

from collections import Counter

from kernel_ls.report.base import CheckReport


def statistics(report: CheckReport) -> str:
    """A line a code, the most frequent first: count, severity, code."""
    counts = Counter((f.code, f.severity.value) for f in report.findings)
    width = max((len(str(n)) for n in counts.values()), default=1)
    return "".join(
        f"{count:>{width}}  {severity:<7}  {code}\n"
        for (code, severity), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
