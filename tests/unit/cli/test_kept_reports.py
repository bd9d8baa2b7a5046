"""Reports that are kept: an unchanged file's is answered from the cache, and any change that could matter makes it anew."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from interpreters import Interpreter

from kernel_ls.checker import Checker
from kernel_ls.discovery import Wanted, discover
from kernel_ls.kept_reports import _load
from kernel_ls.model import FileReport
from kernel_ls.project import Project
from kernel_ls.settings import checked, load

KERNEL = """\
import triton
import triton.language as tl

try:
    from sizes import SIZE
except ImportError:
    SIZE = tl.constexpr(16)
from helpers import double


@triton.jit
def kernel(x_ptr, n):
    offs = tl.arange(0, SIZE)
    total = tl.zeros((SIZE,), tl.float16)
    for _ in range(n):
        total += tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, double(total))
"""
HELPERS = "import triton\n\n\n@triton.jit\ndef double(x):\n    return x * 2\n"
LAUNCH = "import torch\nfrom kernels import kernel\n\n\ndef go():\n    x = torch.empty(16, dtype=torch.float16)\n    kernel[(1,)](x, 4)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "kernels.py").write_text(KERNEL)
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "launch.py").write_text(LAUNCH)
    return folder


async def _reports(
    folder: Path, python: Interpreter, monkeypatch: pytest.MonkeyPatch, *, cache: bool = True
) -> tuple[dict[str, FileReport], int]:
    """The reports of a run over a folder, and how many files it really checked."""
    given = {"python": python.path, "cache_dir": str(folder.parent / "cache"), "cache": cache}
    project = Project(folder, checked(load(folder, command_line=given)))
    counted = 0
    real = Checker.examine

    async def examine(checker: Checker, path: str, **options: Any) -> Any:
        nonlocal counted
        counted += 1
        return await real(checker, path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Checker, "examine", examine)
        try:
            await project.open()
            await project.learn()
            paths = [path.as_posix() for path in discover([Wanted(folder)], root=folder).files]
            project.checks_as_well(paths)
            project.keep_reports()
            return {path: await project.check(path) for path in paths}, counted
        finally:
            await project.close()


def _shown(reports: dict[str, FileReport]) -> dict[str, object]:
    return {path: (r.findings, [(k.name, k.status) for k in r.kernels]) for path, r in reports.items()}


async def test_an_unchanged_folder_is_not_checked_again(
    folder: Path, triton_python: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await _reports(folder, triton_python, monkeypatch)
    second, checks = await _reports(folder, triton_python, monkeypatch)
    assert checks == 0
    assert second == first


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kernels.py", KERNEL.replace("range(n)", "range(m)")),
        ("helpers.py", HELPERS.replace("x * 2", "x * two")),
        ("launch.py", LAUNCH.replace("float16", "float32")),
        ("sizes.py", "import triton.language as tl\nSIZE = tl.constexpr(24)\n"),
        ("more.py", LAUNCH.replace("float16", "float32")),
        ("pyproject.toml", '[tool.kernel-ls]\nignore = ["undefined-name"]\n'),
    ],
)
async def test_a_change_that_matters_is_seen(
    name: str, text: str, folder: Path, triton_python: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _reports(folder, triton_python, monkeypatch)
    (folder / name).write_text(text)
    kept, checks = await _reports(folder, triton_python, monkeypatch)
    fresh, _ = await _reports(folder, triton_python, monkeypatch, cache=False)
    assert checks > 0
    assert _shown(kept) == _shown(fresh)


UNRELATED = "import triton\nfrom helpers import double\n\n\n@triton.jit\ndef other(x_ptr):\n    double(x_ptr)\n\n\ndef use(x):\n    other[(1,)](x)\n"


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        # What is passed to a kernel that is checked again has to be read.
        ("helpers.py", HELPERS.replace("x * 2", "x * 3"), {"launch.py"}),
        ("kernels.py", KERNEL.replace("range(n)", "range(n + 1)"), {"launch.py"}),
        ("launch.py", LAUNCH.replace("float16", "float32"), {"launch.py"}),
        # A file more may be what an import finds from now on.
        ("more.py", LAUNCH.replace("float16", "float32"), {"kernels.py", "launch.py", "more.py", "unrelated.py"}),
    ],
)
async def test_what_an_edit_does_not_matter_to_is_not_learnt_again(
    name: str,
    text: str,
    read: set[str],
    folder: Path,
    triton_python: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "unrelated.py").write_text(UNRELATED)
    await _reports(folder, triton_python, monkeypatch)
    (folder / name).write_text(text)
    learnt: set[str] = set()
    real = Checker.survey

    def survey(checker: Checker, paths: Iterable[str]) -> None:
        learnt.update(Path(path).name for path in paths)
        real(checker, paths)

    with monkeypatch.context() as patched:
        patched.setattr(Checker, "survey", survey)
        kept, _ = await _reports(folder, triton_python, monkeypatch)
    fresh, _ = await _reports(folder, triton_python, monkeypatch, cache=False)
    assert _shown(kept) == _shown(fresh)
    assert learnt == read


class _Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return (open, ("trap", "w"))


def test_a_planted_entry_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _load(pickle.dumps(_Trap())) is None
    assert _load(b"no pickle") is None
    assert list(tmp_path.iterdir()) == []
