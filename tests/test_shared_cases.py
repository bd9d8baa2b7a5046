"""The plain Python files of ../shared/cases beside the repository, where there are any: marks are `# expect: SEVERITY [code]`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from caselib import Expectation, Mismatch, match, read_shared_marks
from checking import Bench

SHARED = Path(__file__).resolve().parents[2] / "shared" / "cases"
FILES = [
    path
    for folder in ((SHARED, SHARED / "reports") if SHARED.is_dir() else ())
    for path in sorted(folder.glob("*.py"))
    if not path.name.startswith("helpers_")  # checked through the kernels that call them
]

WAITING: dict[str, str] = {
    "ra3_block_ptr_valid": "Triton 3.5.1 accepts the kernel: an error there would be a false alarm. It is one on 3.9.0.",
}
"""Files whose marks are not met yet, each with the reason; a file that is met in full fails until it is taken out."""


@pytest.mark.skipif(not FILES, reason="there is no folder ../shared/cases beside the repository")
@pytest.mark.parametrize("path", FILES or [SHARED], ids=lambda path: path.stem)
def test_shared_case(bench: Bench, path: Path, tmp_path: Path) -> None:
    """The marked lines have their findings, and no other line has an error or warning."""
    if bench.interpreter.minor != "3.5":
        pytest.skip("the marks hold for Triton 3.5")
    # A copy, since the folder may be read-only, and so that files of other cases are no part of the workspace.
    folder = tmp_path / "cases"
    folder.mkdir()
    shutil.copy(path, folder)
    for helper in path.parent.glob("helpers_*.py"):
        shutil.copy(helper, folder)
    outcome = bench.check(folder, [path.name])
    files = {path.name} | {Path(d).name for d in outcome.reports[path.name].dependencies if Path(d).parent == folder}
    expectations: list[Expectation] = []
    for name in sorted(files):
        expectations += read_shared_marks(name, (folder / name).read_text("utf-8"))
    mismatch: Mismatch = match(expectations, outcome.findings, bench.interpreter.triton, info=False)
    if path.stem in WAITING:
        assert mismatch, f"{path.name} is met now: take it out of WAITING"
        pytest.xfail(WAITING[path.stem])
    assert not mismatch, f"{path}\n{mismatch}"
