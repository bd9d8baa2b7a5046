"""The JSON report, version 1: `schema.json` beside this file says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernel_ls.model import Edit, Finding, Fix, Position
from kernel_ls.report.base import CheckReport, url

VERSION = 1
SCHEMA = Path(__file__).with_name("schema.json")


def json_report(report: CheckReport) -> str:
    """The whole report as one JSON object."""
    return json.dumps(as_json(report), indent=2, ensure_ascii=False, default=str) + "\n"


def as_json(report: CheckReport) -> dict[str, Any]:
    """The report as plain data; rows and columns are 1-based, columns count code points."""
    return {
        "version": VERSION,
        "triton": report.triton,
        "targets": list(report.targets),
        "kernels": [
            {
                "filename": kernel.path,
                "kernel": kernel.name,
                "row": kernel.location.span.start.line + 1,
                "status": kernel.status,
                "specializations": len(kernel.specializations),
                "seconds": round(kernel.seconds, 6),
            }
            for kernel in report.kernels
        ],
        "findings": [finding_as_json(finding) for finding in report.findings],
    }


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """One finding as plain data."""
    span = finding.location.span
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "original": finding.original,
        "filename": finding.location.path,
        "location": place(span.start),
        "end_location": place(span.end),
        "kernel": finding.kernel,
        "specialization": dict(finding.specialization),
        "specializations": finding.specializations,
        "assumed": list(finding.assumed),
        "related": [
            {
                "message": related.message,
                "filename": related.location.path,
                "location": place(related.location.span.start),
                "end_location": place(related.location.span.end),
            }
            for related in finding.related
        ],
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "url": url(finding.code),
    }


def place(position: Position) -> dict[str, int]:
    """A position as reports count: from 1."""
    return {"row": position.line + 1, "column": position.column + 1}


def _fix(fix: Fix) -> dict[str, Any]:
    return {"title": fix.title, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    span = edit.location.span
    return {
        "filename": edit.location.path,
        "location": place(span.start),
        "end_location": place(span.end),
        "content": edit.text,
    }
