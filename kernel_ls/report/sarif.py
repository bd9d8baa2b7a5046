"""SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import json
from typing import Any

from kernel_ls import __version__
from kernel_ls.analysis import rules
from kernel_ls.analysis.rules import manual
from kernel_ls.model import Finding, Fix, Location, Severity, digest
from kernel_ls.report.base import CheckReport, url

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(report: CheckReport) -> str:
    """The findings as one run."""
    codes = sorted({f.code for f in report.findings})
    index = {code: number for number, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": "kernel-ls",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.code], report) for finding in report.findings],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    known = rules.registry().get(code)
    shown: dict[str, Any] = {"id": code}
    if manual.HOST:
        # The format wants an absolute address.
        shown["helpUri"] = url(code)
    if known is not None:
        shown["help"] = {"text": known.summary, "markdown": manual.markdown(known)}
        shown["shortDescription"] = {"text": known.summary}
        shown["defaultConfiguration"] = {"level": _LEVELS[known.severity]}
    return shown


def _result(finding: Finding, rule_index: int, report: CheckReport) -> dict[str, Any]:
    text = finding.message + (f"\n{finding.original}" if finding.original else "")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding.location, report)],
        # Steady under edits elsewhere in the file, so that a service recognises an old finding.
        "partialFingerprints": {
            "kernelLs/v1": digest([finding.code, report.uri(finding.location.path), finding.kernel, finding.message])
        },
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": related.message}, **_location(related.location, report)}
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.specialization:
        result["properties"] = {"kernel": finding.kernel, "specialization": dict(finding.specialization)}
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix, report)]
    return result


def _location(location: Location, report: CheckReport) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": report.uri(location.path)},
            "region": _region(location),
        }
    }


def _region(location: Location) -> dict[str, int]:
    span = location.span
    return {
        "startLine": span.start.line + 1,
        "startColumn": span.start.column + 1,
        "endLine": span.end.line + 1,
        "endColumn": span.end.column + 1,
    }


def _fix(fix: Fix, report: CheckReport) -> dict[str, Any]:
    by_path: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.location.path, []).append(
            {"deletedRegion": _region(edit.location), "insertedContent": {"text": edit.text}}
        )
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": report.uri(path)}, "replacements": replacements}
            for path, replacements in by_path.items()
        ],
    }
