"""Reports of a check for people and programs: one module a format, each a pure function from a `CheckReport` to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernel_ls.report.base import CheckReport, Lines, count_text, url
from kernel_ls.report.concise import concise
from kernel_ls.report.full import full
from kernel_ls.report.github import github
from kernel_ls.report.json_report import json_report
from kernel_ls.report.sarif import sarif
from kernel_ls.report.statistics import statistics

FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "full": full,
    "concise": concise,
    "json": json_report,
    "sarif": sarif,
    "github": github,
}
"""The values of `--output-format`. `full` and `concise` carry rich's markup-free ANSI only through `full(..., colour=True)`."""

__all__ = [
    "FORMATS",
    "CheckReport",
    "Lines",
    "concise",
    "count_text",
    "full",
    "github",
    "json_report",
    "sarif",
    "statistics",
    "url",
]
