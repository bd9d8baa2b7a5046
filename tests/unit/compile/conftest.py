"""Workers for the tests of their process side: the real ones, and one whose jobs misbehave on request."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from kernel_ls.model import DEFAULT_TARGET, Job, Program, Specialization

_DOUBLE = Path(__file__).with_name("misbehaving_worker.py")


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    """The tool's cache folder of one test."""
    return tmp_path / "cache"


@pytest.fixture
def misbehaving_python(tmp_path: Path) -> str:
    """An interpreter that runs the real worker loop, whose jobs do what their kernel's name says."""
    if sys.platform == "win32":
        pytest.skip("a shell script stands for the interpreter")
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{_DOUBLE}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def job(kernel: str, *, budget: float = 10.0, **unit: Any) -> Job:
    """A job for a worker that misbehaves: the kernel's name is the request, the unit's fields its parameters."""
    return Job(Program(kernel, {kernel: unit}), Specialization(()), DEFAULT_TARGET, budget_seconds=budget)
