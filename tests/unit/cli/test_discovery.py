"""Which files a run checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_ls.discovery import Wanted, discover, parse_argument, walk
from kernel_ls.errors import UsageError


def write(root: Path, name: str, text: str = "import triton\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(folder: Path, **options: object) -> list[str]:
    return [p.relative_to(folder).as_posix() for p in walk(folder, **options)]  # type: ignore[arg-type]


def test_only_python_files_that_may_hold_kernels(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "pkg/c.py", "stub.pyi", "note.txt"):
        write(tmp_path, name)
    write(tmp_path, "plain.py", "import os\n")
    write(tmp_path, "gluon.py", "from x import gluon\n")
    assert names(tmp_path) == ["a.py", "b.py", "gluon.py", "pkg/c.py"]


@pytest.mark.parametrize("folder", [".venv", "node_modules", "__pycache__", ".git"])
def test_folders_that_hold_no_code_of_the_project_are_skipped(tmp_path: Path, folder: str) -> None:
    write(tmp_path, f"{folder}/x.py")
    write(tmp_path, "a.py")
    assert names(tmp_path) == ["a.py"]


def test_an_environment_is_told_by_its_mark_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, "my-env/lib/x.py")
    write(tmp_path, "my-env/pyvenv.cfg", "")
    assert names(tmp_path) == []


def test_gitignore_files_nest_and_the_nearest_decides(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "build/\n*_generated.py\n/top.py\n")
    write(tmp_path, "pkg/.gitignore", "!kept_generated.py\nlocal.py\n")
    for name in ("top.py", "pkg/top.py", "pkg/local.py", "local.py", "build/x.py", "pkg/build/x.py"):
        write(tmp_path, name)
    for name in ("a_generated.py", "pkg/a_generated.py", "pkg/kept_generated.py"):
        write(tmp_path, name)
    assert names(tmp_path) == ["local.py", "pkg/kept_generated.py", "pkg/top.py"]


def test_gitignore_files_above_a_folder_count_up_to_its_repository(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.py\n")
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    write(repository, ".gitignore", "skipped.py\n")
    write(repository, "pkg/skipped.py")
    write(repository, "pkg/a.py")
    assert names(repository / "pkg") == ["a.py"]


def test_excluded_patterns_are_relative_to_the_project(tmp_path: Path) -> None:
    for name in ("a.py", "tests/b.py", "pkg/tests/c.py", "pkg/d.py"):
        write(tmp_path, name)
    assert names(tmp_path / "pkg", exclude=["/pkg/tests"], root=tmp_path) == ["d.py"]
    assert names(tmp_path, exclude=["tests/"]) == ["a.py", "pkg/d.py"]


def test_a_file_that_is_named_is_checked_whoever_ignores_it(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.py\n")
    path = write(tmp_path, "a.py", "import os\n")
    assert list(discover([Wanted(path)], exclude=["*.py"], root=tmp_path).files) == [path]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, "pkg/a.py")
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path)
    assert names(tmp_path) == ["pkg/a.py"]


def test_kernels_of_a_file_add_up_and_the_whole_file_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py")
    one, two = (parse_argument(f"{path}::{k}") for k in ("one", "two"))
    assert discover([one, two]).files == {path: {"one", "two"}}
    assert discover([one, Wanted(path), two]).files == {path: None}


def test_arguments_that_cannot_be_meant(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    for text in (f"{tmp_path}/none.py", f"{tmp_path}::kernel", f"{tmp_path}/a.py::"):
        with pytest.raises(UsageError):
            parse_argument(text)
