"""The formats of `check`, each from one report that has every feature in it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kernel_ls.model import (
    Edit,
    FileReport,
    Finding,
    Fix,
    KernelReport,
    Location,
    Related,
    Severity,
    Span,
    Specialization,
)
from kernel_ls.report import FORMATS, CheckReport, concise, full, github, json_report, sarif, statistics
from kernel_ls.report.json_report import SCHEMA

BASE = Path("/project")
FILE, HELPER = "/project/a,b.py", "/elsewhere/helper.py"
TEXTS = {
    FILE: ["import triton", "\tä = loa(p)  # 漢", "second = (1 +", "    2)", "x" * 3],
    HELPER: ["def helper():", "    pass"],
}


def report() -> CheckReport:
    place = Location(FILE, Span.of(1, 5, 1, 8))
    typo = Finding(
        "undefined-name",
        Severity.ERROR,
        "`loa` is not defined; did you mean 100% `load`?",
        place,
        kernel="kernel",
        specialization={"p": "*fp32", "BLOCK": "64"},
        specializations=3,
        assumed=("p",),
        related=(Related("called from here", Location(HELPER, Span.of(1, 4, 1, 8))),),
        original="NameError('loa is not defined')\nat 2:4",
        fix=Fix("replace by `load`", (Edit(place, "load"),)),
    )
    multi = Finding("shape-mismatch", Severity.WARNING, "two\nlines", Location(FILE, Span.of(2, 9, 3, 6)))
    note = Finding("static-print", Severity.INFO, "64", Location(FILE, Span.of(9, 0, 9, 0)))
    kernel = KernelReport(FILE, "kernel", place, "findings", (Specialization(()),), 0.25)
    return CheckReport.of(
        [FileReport(FILE, (kernel,), (note, multi, typo)), FileReport(HELPER, (), (typo,))],
        triton="3.5.1",
        targets=["cuda:90"],
        lines=lambda path: TEXTS.get(path, []),
        base=BASE,
    )


def test_json_is_valid_against_the_schema_of_the_package() -> None:
    document = json.loads(json_report(report()))
    jsonschema.validate(document, json.loads(SCHEMA.read_text()), format_checker=jsonschema.FormatChecker())
    found = document["findings"][0]
    assert found["location"] == {"row": 2, "column": 6}
    assert found["end_location"] == {"row": 2, "column": 9}
    assert found["fix"]["edits"][0]["content"] == "load"
    assert document["kernels"] == [
        {"filename": FILE, "kernel": "kernel", "row": 2, "status": "findings", "specializations": 1, "seconds": 0.25}
    ]


def test_the_schema_refuses_what_is_not_a_report() -> None:
    document = json.loads(json_report(report()))
    schema = json.loads(SCHEMA.read_text())
    for damage in ({"version": 2}, {"targets": "cuda:90"}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | damage, schema)
    document["findings"][0]["location"]["row"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_a_fault_that_two_files_reach_is_one_finding() -> None:
    assert [f.code for f in report().findings] == ["undefined-name", "shape-mismatch", "static-print"]


def test_concise_is_one_line_a_finding() -> None:
    assert concise(report()).splitlines() == [
        "a,b.py:2:6: error[undefined-name] `loa` is not defined; did you mean 100% `load`?",
        "a,b.py:3:10: warning[shape-mismatch] two lines",
        "a,b.py:10:1: info[static-print] 64",
        "Checked 1 kernel in 2 files with Triton 3.5.1: 1 error, 1 warning, 1 note.",
    ]


def test_full_underlines_what_is_meant() -> None:
    lines = full(report()).splitlines()
    assert lines[0] == "error[undefined-name]: `loa` is not defined; did you mean 100% `load`?"
    source = next(line for line in lines if "loa(p)" in line)
    under = lines[lines.index(source) + 1]
    assert under.index("^") == source.index("loa(p)"), "a tab is as wide under the line as in it"
    assert under.count("^") == 3
    assert any(line.endswith("^^^^ called from here") for line in lines)
    assert "  = Triton says: NameError('loa is not defined')" in lines
    assert "    at 2:4" in lines
    assert "  = in: kernel[p=*fp32, BLOCK=64] and 5 more" in lines
    assert "  = help: replace by `load` (--fix does it)" in lines


def test_full_shows_every_line_of_a_short_span() -> None:
    lines = full(report()).splitlines()
    first = lines.index("3 | second = (1 +")
    assert lines[first + 1] == "  |          ^^^^"
    assert lines[first + 2] == "4 |     2)"
    assert lines[first + 3] == "  |     ^^"


def test_full_survives_a_place_behind_the_end_of_the_file() -> None:
    assert "a,b.py:10:1" in full(report())


def test_github_escapes_properties_and_data() -> None:
    first, second, _ = github(report()).splitlines()
    assert first == (
        "::error title=kernel-ls (undefined-name),file=a%2Cb.py,line=2,endLine=2,col=6,endColumn=9::"
        "`loa` is not defined; did you mean 100%25 `load`?%0ANameError('loa is not defined')%0Aat 2:4"
    )
    assert "col=" not in second, "the runner takes columns on one line only"


def test_sarif_has_rules_regions_and_fixes() -> None:
    document = json.loads(sarif(report()))
    assert document["version"] == "2.1.0"
    run = document["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%2Cb.py"
    assert place["region"] == {"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 9}
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///elsewhere/helper.py"
    assert first["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "load"
    assert {r["level"] for r in run["results"]} == {"error", "warning", "note"}


def test_statistics_counts_codes() -> None:
    assert statistics(report()).splitlines()[0] == "1  warning  shape-mismatch"
    assert len(statistics(report()).splitlines()) == 3


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_an_empty_report(name: str) -> None:
    empty = CheckReport.of([], triton="3.5.1", targets=["cuda:90"], lines=lambda _: [])
    text = FORMATS[name](empty)
    assert text.endswith("\n") or name == "github"
