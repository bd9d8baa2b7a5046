"""The table of situations names cases and rules that there are, and a case expects the code that it is listed with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from caselib import Case, read_cases

from kernel_ls.analysis import rules

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "situations.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| kind")
]
CASES: dict[tuple[str, str], Case] = {
    (path.name, case.name): case
    for path in sorted((ROOT / "tests" / "cases").glob("*.md"))
    for case in read_cases(path)
}


@pytest.mark.parametrize(("kind", "case", "codes"), ROWS, ids=lambda cell: cell[:60])
def test_a_situation_has_a_case_that_expects_its_codes(kind: str, case: str, codes: str) -> None:
    file, _, name = case.partition(", ")
    assert (file, name) in CASES, kind
    listed = set(re.findall(r"`([a-z-]+)`", codes))
    assert listed <= set(rules.registry())
    assert listed <= {e.code for e in CASES[file, name].expectations}


def test_there_are_about_sixty() -> None:
    assert len(ROWS) >= 60
