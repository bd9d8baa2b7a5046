"""The cases of tests/cases, each on every Triton that the suite has, through the real pipeline and worker.

UPDATE_CASES=1 rewrites the answer blocks (`fix`) instead of comparing them; the change is to be read as a diff.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from caselib import Case, CaseError, apply_edits, match, read_cases, rewrite_answer, specifier
from checking import Bench

from kernel_ls.model import Finding

FOLDER = Path(__file__).resolve().parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(bench: Bench, case: Case, tmp_path: Path) -> None:
    """What is found is what the case expects: no more, no less."""
    triton = bench.interpreter.triton
    if not specifier(case.settings.triton).contains(triton, prereleases=True):
        pytest.skip(f"a case about Triton {case.settings.triton}")
    written = _write(case, tmp_path)
    paths = [path for path in case.files if path.endswith(".py")]
    outcome = bench.check(
        tmp_path, paths, targets=case.settings.targets, reveals=case.reveals, fixes="fix" in case.answers
    )
    mismatch = match(case.expectations, outcome.findings, triton, info=case.settings.info)
    mismatch = replace(mismatch, types=outcome.types)
    assert not mismatch, f"{case.source.name}, {case.name!r}, on Triton {triton}\n{mismatch}"
    assert _contents(tmp_path) == written, "checking a file writes nothing and runs nothing"
    for kind, expected in case.answers.items():
        answer = _fixed(case, outcome.findings, tmp_path)
        if os.environ.get("UPDATE_CASES"):
            text = case.source.read_text("utf-8")
            case.source.write_text(rewrite_answer(text, case.name, kind, answer), "utf-8")
        else:
            assert answer == expected


def test_there_are_cases() -> None:
    assert len(CASES) > 50


def test_a_case_that_expects_the_wrong_thing_fails(bench: Bench, tmp_path: Path) -> None:
    """The whole path from Markdown to the worker can say no, in both directions."""
    path = tmp_path / "wrong.md"
    path.write_text(
        "## Wrong\n\n```py\nimport triton\nimport triton.language as tl\n\n\n"
        "# kernel-ls: spec x_ptr=*fp32\n@triton.jit\ndef kernel(x_ptr):\n"
        "    tl.store(x_ptr, nowhere)\n    tl.store(x_ptr, 1.0)  # error: [undefined-name]\n"
        "    y = tl.load(x_ptr)  # reveal: f16\n```\n"
    )
    (case,) = read_cases(path)
    folder = tmp_path / "files"
    folder.mkdir()
    _write(case, folder)
    outcome = bench.check(folder, case.files, reveals=case.reveals)
    mismatch = match(case.expectations, outcome.findings, bench.interpreter.triton)
    assert [text.split(":")[1] for text in mismatch.unmet] == ["9"]
    assert [text.split(":")[1] for text in mismatch.unexpected] == ["8"]
    assert outcome.types == ("case.py:10: the type is f32, expected f16",)


def _write(case: Case, folder: Path) -> dict[str, bytes]:
    for path, data in case.encoded().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return _contents(folder)


def _contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _fixed(case: Case, findings: tuple[tuple[str, Finding], ...], folder: Path) -> str:
    """The first file after the fix at the cursor, or after all fixes; a fix may change another file than its finding's."""
    name = case.cursor[0] if case.cursor else next(iter(case.files))
    fixes = [f.fix for file, f in findings if f.fix and (case.cursor is None or (file == name and _at_cursor(case, f)))]
    edits = [edit for fix in fixes for edit in fix.edits if edit.location.path == str(folder / name)]
    if not edits:
        raise CaseError(f"{case.name}: no finding here has a fix")
    return apply_edits(case.files[name], edits)


def _at_cursor(case: Case, finding: Finding) -> bool:
    return case.cursor is None or finding.location.span.contains(case.cursor[1])
