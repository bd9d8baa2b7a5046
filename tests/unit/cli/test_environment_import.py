"""`check --environment import`: what reading cannot tell is known, and the code runs only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from interpreters import Interpreter

TEXT = """\
import os
import triton
import triton.language as tl

(open("mark", "w")).close()
N = tl.constexpr(int(os.popen("echo 48").read()))


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, N), 0.0)
"""


def _check(folder: Path, python: Interpreter, *more: str) -> str:
    command = [sys.executable, "-m", "kernel_ls", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(
        [*command, "--python", python.path, *more, "kernels.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout


def test_a_global_that_only_running_tells_is_known_after_an_import(tmp_path: Path, triton_python: Interpreter) -> None:
    (tmp_path / "kernels.py").write_text(TEXT)
    static = _check(tmp_path, triton_python)
    assert "info[unknown-value]" in static
    assert not (tmp_path / "mark").exists()
    imported = _check(tmp_path, triton_python, "--environment", "import")
    assert (tmp_path / "mark").exists()
    assert "error[power-of-two] 48 is not a power of two" in imported
    assert "unknown-value" not in imported
