"""Importing a module for the values of its names: what comes back, and what a module that misbehaves costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreters import Interpreter

from kernel_ls.compile.importing import Imported, import_values

HEADER = "import triton\nimport triton.language as tl\n"


async def _imported(folder: Path, python: Interpreter, text: str, *names: str, deadline: float = 60.0) -> Imported:
    (folder / "module.py").write_text(text)
    return await import_values(python.path, folder.as_posix(), "module", names, deadline=deadline)


async def test_constants_come_back_as_wire_values(tmp_path: Path, triton_python: Interpreter) -> None:
    text = (
        HEADER + "import os\nN = tl.constexpr(len(os.sep) + 15)\nPAIR = (1, 2.5)\nINF = float('inf')\n"
        "T = [tl.float16][0]\nOTHER = object()\nclass Group:\n    SIZE = 4\nprint('noise')\n"
    )
    found = await _imported(tmp_path, triton_python, text, "N", "PAIR", "INF", "T", "OTHER", "Group.SIZE", "missing")
    assert found.problem == ""
    assert found.values == {
        "N": {"k": "constexpr", "v": {"k": "lit", "v": 16}},
        "PAIR": {"k": "tuple", "items": [{"k": "lit", "v": 1}, {"k": "lit", "v": 2.5}]},
        "INF": {"k": "float", "v": "inf"},
        "T": {"k": "ref", "path": "triton.language.float16"},
        "Group.SIZE": {"k": "lit", "v": 4},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise RuntimeError('no device')", "importing module failed: RuntimeError: no device"),
        ("import nowhere_to_be_found", "importing module failed: ModuleNotFoundError"),
        ("raise SystemExit(3)", "importing module failed: SystemExit: 3"),
        ("import os\nos._exit(7)", "importing module ended the interpreter (status 7)"),
        ("import time\ntime.sleep(600)", "importing module took longer than 1 s"),
    ],
)
async def test_a_module_that_cannot_be_imported_is_a_sentence(
    text: str, problem: str, tmp_path: Path, triton_python: Interpreter
) -> None:
    found = await _imported(tmp_path, triton_python, text, "N", deadline=1.0 if "sleep" in text else 60.0)
    assert found.values == {}
    assert found.problem.startswith(problem)


async def test_no_interpreter_is_a_sentence(tmp_path: Path) -> None:
    found = await import_values(str(tmp_path / "python"), str(tmp_path), "module", ["N"])
    assert "cannot be started" in found.problem
