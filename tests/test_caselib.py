"""The case harness itself: what it reads, and that it fails when it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from caselib import (
    CaseError,
    Expectation,
    apply_edits,
    match,
    read_cases,
    read_marks,
    read_shared_marks,
    rewrite_answer,
)

from kernel_ls.model import Edit, Finding, Location, Severity, Span

ERROR = Expectation("case.py", 3, Severity.ERROR, "undefined-name")


def finding(
    code: str = "undefined-name", line: int = 3, severity: Severity = Severity.ERROR, column: int = 5
) -> Finding:
    """A finding at a 1-based line and column."""
    return Finding(
        code, severity, "`x` is not defined", Location("/w/case.py", Span.of(line - 1, column - 1, line - 1, 9))
    )


def test_equal_sets_match() -> None:
    assert not match([ERROR], [("case.py", finding())], "3.5.1")


@pytest.mark.parametrize(
    "found",
    [
        [],
        [("case.py", finding(code="unknown-attribute"))],
        [("case.py", finding(line=4))],
        [("case.py", finding(severity=Severity.WARNING))],
        [("other.py", finding())],
    ],
)
def test_an_unmet_expectation_fails(found: list[tuple[str, Finding]]) -> None:
    assert match([ERROR], found, "3.5.1").unmet


@pytest.mark.parametrize(
    "extra", [finding(line=9), finding(), finding(severity=Severity.WARNING, code="deprecated-api")]
)
def test_an_unexpected_finding_fails(extra: Finding) -> None:
    """Also a second finding of the same kind on a line that expects one."""
    assert match([ERROR], [("case.py", finding()), ("case.py", extra)], "3.5.1").unexpected


def test_information_takes_part_where_it_is_expected_or_asked_for() -> None:
    note = ("case.py", finding(code="static-print", severity=Severity.INFO, line=7))
    wanted = Expectation("case.py", 7, Severity.INFO, "static-print")
    assert not match([], [note], "3.5.1")
    assert match([], [note], "3.5.1", info=True).unexpected
    assert not match([wanted], [note], "3.5.1")
    assert match([wanted], [note, note], "3.5.1").unexpected
    assert not match([wanted], [note, note], "3.5.1", info=False).unexpected


def test_the_particular_expectation_takes_its_finding_first() -> None:
    loose = Expectation("case.py", 3, Severity.ERROR)
    exact = Expectation("case.py", 3, Severity.ERROR, "undefined-name", column=5)
    found = [("case.py", finding()), ("case.py", finding(code="power-of-two"))]
    assert not match([loose, exact], found, "3.5.1")


def test_marks_are_read_with_column_text_and_versions() -> None:
    text = 'x = 1  # error: 5 [a-b] "part" # warning[<3.9]: [c]\n# info: [d]\n# error[3.9]: [e]\ny\nz  # reveal: tensor<4xi32>\n'
    expectations, reveals = read_marks("case.py", text)
    assert [str(e) for e in expectations] == [
        'case.py:1:5: error[a-b] "part"',
        "case.py:1: warning[c]",
        "case.py:4: info[d]",
        "case.py:4: error[e]",
    ]
    assert [e.holds_on("3.5.1") for e in expectations] == [True, True, True, False]
    assert [e.holds_on("3.9.0") for e in expectations] == [True, False, True, True]
    assert [(r.line, r.type) for r in reveals] == [(5, "tensor<4xi32>")]


@pytest.mark.parametrize("mark", ["# error: undefined-name", "# warning: [a] trailing", "# error: ['a']"])
def test_a_mark_that_cannot_be_read_is_an_error(mark: str) -> None:
    with pytest.raises(CaseError):
        read_marks("case.py", f"x = 1  {mark}\n")


def test_shared_marks_are_read() -> None:
    text = "a  # expect: error\nb  # expect: warning [logical-operator]\nc  # expect-deep: error\n"
    assert [str(e) for e in read_shared_marks("f.py", text)] == [
        "f.py:1: error[any code]",
        "f.py:2: warning[logical-operator]",
    ]
    with pytest.raises(CaseError):
        read_shared_marks("f.py", "a  # expect: bad\n")


CASES = """\
# Theme

## First one

Why.

```toml
triton = ">=3.6"
newline = "crlf"
tabs = true
bom = true
```

```py
def f():
    x$0y  # error: [undefined-name]
```

```py path=lib/helpers.py
z  # warning: [deprecated-api]
```

```fix
old
```

## Second

```py
fine
```
"""


def test_a_file_of_cases_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theme.md"
    path.write_text(CASES)
    first, second = read_cases(path)
    assert (first.id, second.id) == ("theme-first-one", "theme-second")
    assert first.settings.triton == ">=3.6"
    assert [(e.file, e.line) for e in first.expectations] == [("case.py", 2), ("lib/helpers.py", 1)]
    assert first.cursor is not None
    assert (first.cursor[0], first.cursor[1].line, first.cursor[1].column) == ("case.py", 1, 5)
    assert first.encoded()["case.py"] == b"\xef\xbb\xbfdef f():\r\n\txy  # error: [undefined-name]\r\n"
    assert second.files == {"case.py": "fine\n"}


@pytest.mark.parametrize(
    "broken",
    [
        CASES.replace("```fix", "```hover"),
        CASES.replace("newline", "newlines"),
        CASES.replace("path=lib/helpers.py", ""),
        CASES.replace("## Second", "## First one"),
        CASES.removesuffix("```\n"),
    ],
)
def test_a_case_that_is_not_written_as_one_is_an_error(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "theme.md"
    path.write_text(broken)
    with pytest.raises(CaseError):
        read_cases(path)


def test_an_answer_is_rewritten_in_its_own_case() -> None:
    assert rewrite_answer(CASES, "First one", "fix", "new\ntext\n") == CASES.replace("old\n", "new\ntext\n")
    with pytest.raises(CaseError):
        rewrite_answer(CASES, "Second", "fix", "new\n")


def test_edits_are_applied_to_the_text_they_were_made_for() -> None:
    edits = [
        Edit(Location("f", Span.of(0, 4, 0, 5)), "22"),
        Edit(Location("f", Span.of(1, 0, 2, 0)), ""),
        Edit(Location("f", Span.of(0, 0, 0, 1)), "ä"),
    ]
    assert apply_edits("a = 1\nb\nc\n", edits) == "ä = 22\nc\n"
