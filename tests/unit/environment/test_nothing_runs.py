"""A workspace whose every corner writes a mark when Python executes it: reading it writes none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from traps import write

from kernel_ls.analysis.environment import Workspace
from kernel_ls.sources import FileSystemProvider


def test_reading_every_corner_runs_nothing(tmp_path: Path) -> None:
    path = write(tmp_path)
    modules = set(sys.modules)
    found = Workspace(FileSystemProvider([str(tmp_path)]))
    module = found.module(path.as_posix())
    assert module is not None
    for name in module.names():
        found.lookup(path.as_posix(), name)
    functions = found.functions(path.as_posix())
    assert {f.jit.name for f in functions} >= {"kernel", "helper"}
    for function in functions:
        found.program(function.jit)
        for layer in function.heuristics:
            for heuristic in layer.values.values() if isinstance(layer.values, dict) else ():
                found.call(heuristic, ({},), {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fake.py", "marking.py", "package", "traps.py"]
    assert not {"marking", "traps", "package"} & (set(sys.modules) - modules)


def test_the_traps_do_snap_when_python_runs_them(tmp_path: Path) -> None:
    path = write(tmp_path)
    subprocess.run([sys.executable, str(path)], cwd=tmp_path, check=False, capture_output=True, timeout=60)
    marks = (tmp_path / "marks.txt").read_text()
    for corner in (
        "metaclass",
        "class body",
        "__init_subclass__",
        "operator",
        "decorator",
        "config function",
        "default",
        "annotation",
    ):
        assert corner in marks
    for corner in (
        "package __init__",
        "star",
        "inner",
        "module __getattr__",
        "f-string",
        "comprehension",
        "eval",
        "exec",
        "lambda",
    ):
        assert corner in marks
