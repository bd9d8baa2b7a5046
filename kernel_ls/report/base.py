"""What every format reports on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from kernel_ls.analysis.rules import manual
from kernel_ls.checker import merge
from kernel_ls.model import FileReport, Finding, KernelReport, Severity

Lines: TypeAlias = Callable[[str], Sequence[str]]
"""The lines of a file without their ends; empty where it cannot be read."""


@dataclass(frozen=True)
class CheckReport:
    """The outcome of one run of `check`.

    Attributes:
        triton: the version that checked.
        targets: what was checked for, as in `cuda:90`.
        kernels: every kernel of the files, in order.
        findings: of all files, one a cause, in order of place.
        lines: the texts that findings are shown in.
        base: the folder that shown paths are relative to.
    """

    triton: str
    targets: tuple[str, ...]
    kernels: tuple[KernelReport, ...]
    findings: tuple[Finding, ...]
    lines: Lines = field(default=lambda _path: ())
    base: Path = field(default_factory=Path.cwd)
    files: int = 0

    @staticmethod
    def of(
        reports: Iterable[FileReport], *, triton: str, targets: Sequence[str], lines: Lines, base: Path | None = None
    ) -> CheckReport:
        """Put the reports of files together: a fault in a helper that several files reach is one finding."""
        found = sorted(reports, key=lambda r: r.path)
        return CheckReport(
            triton=triton,
            targets=tuple(targets),
            kernels=tuple(sorted((k for r in found for k in r.kernels), key=lambda k: (k.path, k.location.span))),
            findings=merge(f for r in found for f in r.findings),
            lines=lines,
            base=base or Path.cwd(),
            files=len(found),
        )

    def count(self, severity: Severity) -> int:
        """How many findings are of a severity."""
        return sum(f.severity is severity for f in self.findings)

    def shown_path(self, path: str) -> str:
        """A path relative to `base` where it lies below it, as people and CI want to read it."""
        place = Path(path)
        return str(place.relative_to(self.base)) if place.is_relative_to(self.base) else path

    def uri(self, path: str) -> str:
        """A path as a relative URI reference, or an absolute file URI."""
        place = Path(path)
        if place.is_relative_to(self.base):
            return quote(place.relative_to(self.base).as_posix())
        return place.as_uri() if os.path.isabs(path) else path  # noqa: PTH117


def url(code: str) -> str:
    """The manual page of a finding code."""
    return manual.url(code)


def count_text(report: CheckReport) -> str:
    """The closing line: `Checked 7 kernels in 2 files: 3 errors, 1 warning.`"""
    counts = [
        plural(report.count(severity), word)
        for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note"))
        if report.count(severity)
    ]
    unsure = [
        f"{plural(n, 'kernel')} {word}"
        for status, word in (
            ("unknown", "could not be checked"),
            ("crashed", "crashed the compiler"),
            ("timeout", "took too long"),
        )
        if (n := sum(k.status == status for k in report.kernels))
    ]
    checked = f"Checked {plural(len(report.kernels), 'kernel')} in {plural(report.files, 'file')}"
    with_triton = f" with Triton {report.triton}" if report.triton else ""
    outcome = ", ".join(counts) or "all clean"
    if not report.kernels and not counts:
        return f"No kernels in {plural(report.files, 'file')}."
    return f"{checked}{with_triton}: {outcome}{'; ' + ', '.join(unsure) if unsure else ''}."


def plural(count: int, word: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
