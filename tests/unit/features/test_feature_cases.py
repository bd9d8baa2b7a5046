"""The cases of features, each on every Triton that the suite has, through the real worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from caselib import rewrite_answer, specifier
from checking import Bench
from unit.features.feature_cases import FeatureCase, answer, check, read

FOLDER = Path(__file__).resolve().parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in read(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(bench: Bench, case: FeatureCase, tmp_path: Path) -> None:
    """The feature's whole answer is the case's."""
    if not specifier(case.versions).contains(bench.interpreter.triton, prereleases=True):
        pytest.skip(f"the answer is that of Triton {case.versions}")
    said = answer(case, check(bench, tmp_path, case.files))
    if os.environ.get("UPDATE_CASES"):
        text = case.source.read_text("utf-8")
        case.source.write_text(rewrite_answer(text, case.name, f"{case.kind} {case.versions}".strip(), said), "utf-8")
    else:
        assert said == case.answer
