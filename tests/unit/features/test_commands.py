"""The commands `hover`, `hints`, `ir --line` and `stubs`, as a script runs them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import Interpreter
from unit.features.test_views import TEXT


def _run(*arguments: str, python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernel_ls", *arguments, "--python", python, "--cache-dir", str(folder / "cache")]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(TEXT)
    return tmp_path


def test_hover_prints_what_an_editor_shows(kernels: Path, triton_python: Interpreter) -> None:
    done = _run("hover", "kernels.py:10:5", python=triton_python.path, folder=kernels)
    assert done.returncode == 0
    assert done.stdout.startswith("```python\nx: tensor<64xf32>\n```")
    done = _run("hover", "kernels.py:10:5", "--format", "json", python=triton_python.path, folder=kernels)
    answer = json.loads(done.stdout)
    assert (answer["location"], answer["end_location"]) == ({"row": 10, "column": 5}, {"row": 10, "column": 6})


def test_hover_where_nothing_is_known_says_so(kernels: Path, triton_python: Interpreter) -> None:
    done = _run("hover", "kernels.py:1:1", python=triton_python.path, folder=kernels)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing is known there" in done.stderr


def test_hints_are_printed_a_line_each(kernels: Path, triton_python: Interpreter) -> None:
    done = _run("hints", "kernels.py", python=triton_python.path, folder=kernels)
    assert "kernels.py:10:6: x: tensor<64xf32>" in done.stdout.splitlines()


def test_the_ir_of_a_line(kernels: Path, triton_python: Interpreter) -> None:
    done = _run("ir", "kernels.py::kernel", "--line", "10", python=triton_python.path, folder=kernels)
    assert done.returncode == 0
    assert "tt.load" in done.stdout
    assert "tt.store" not in done.stdout
    done = _run("ir", "kernels.py::kernel", "--line", "1", python=triton_python.path, folder=kernels)
    assert done.returncode == 2
    assert "became nothing" in done.stderr


def test_stubs_are_python_and_lists_of_names_are_left_open(tmp_path: Path, triton_python: Interpreter) -> None:
    done = _run("stubs", "typings", python=triton_python.path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "typings").rglob("*.pyi"))
    for file in files:
        ast.parse(file.read_text())
    language = (tmp_path / "typings" / "triton" / "language" / "__init__.pyi").read_text()
    assert "def load(pointer: Any, mask: Any = ..., " in language
    assert "class constexpr" not in language
    assert "def __getattr__(name: str) -> Any: ..." in language
    again = _run("stubs", "typings", python=triton_python.path, folder=tmp_path)
    assert again.returncode == 0


def test_stubs_overwrite_nothing_that_is_not_theirs(tmp_path: Path, triton_python: Interpreter) -> None:
    (tmp_path / "typings" / "triton").mkdir(parents=True)
    (tmp_path / "typings" / "triton" / "__init__.pyi").write_text("mine: int\n")
    done = _run("stubs", "typings", python=triton_python.path, folder=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "typings" / "triton" / "__init__.pyi").read_text() == "mine: int\n"
