"""`kernel-ls record` on real programs with the real Triton of each interpreter, without a GPU; and what is made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from interpreters import Interpreter

from kernel_ls.analysis.specialize.from_recorded import FILE, merged, records

PROGRAM = """
import os, subprocess, sys
import triton, triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"]
)
@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit
def scale(x_ptr, n, factor, bias, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, x * factor, mask=offs < n)


@triton.jit
def cast(x_ptr, to: tl.constexpr, mode: tl.constexpr):
    tl.store(x_ptr, tl.load(x_ptr).to(to))


class Tensor:
    shape = (100, 16)

    def __init__(self, address, dtype="torch.float16"):
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address

    def stride(self):
        return (16, 1)


def main():
    scale[lambda meta: (triton.cdiv(1600, meta["BLOCK"]),)](Tensor(4096), 1600, 2.0, None)
    scale[lambda meta: (triton.cdiv(1600, meta["BLOCK"]),)](Tensor(8192), 1600, 2.0, None)
    cast[(1, 2)](Tensor(4100, "torch.int64"), tl.float32, "up")
"""

GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy(x_ptr, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    offs = gl.arange(0, BLOCK, layout=layout)
    gl.store(x_ptr + offs, gl.load(x_ptr + offs))


class Tensor:
    dtype = "torch.bfloat16"
    shape = (64,)

    def data_ptr(self):
        return 64

    def stride(self):
        return (1,)


copy[(1,)](Tensor(), 1, 64, gl.BlockedLayout([1], [32], [4], [0]))
"""


def record(folder: Path, *command: str, options: tuple[str, ...] = ("--dry-run",)) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    full = [sys.executable, "-m", "kernel_ls", "record", *options, "--", *command]
    return subprocess.run(full, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def launches(folder: Path) -> list[dict[str, Any]]:
    """What is in the file of launches."""
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "kernels.py").write_text(PROGRAM + '\n\nif __name__ == "__main__":\n    main()\n')
    return tmp_path


def test_a_dry_run_records_each_configuration_as_triton_binds_it(folder: Path, triton_python: Interpreter) -> None:
    done = record(folder, triton_python.path, "kernels.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr.rstrip().endswith(f"recorded 3 distinct launches of 2 kernels in {folder / FILE}")
    cast, *scales = launches(folder)
    assert (cast["file"], cast["kernel"], cast["grid"]) == ("kernels.py", "cast", [1, 2])
    assert cast["args"] == [
        ["x_ptr", "*i64", None, False],
        ["to", "constexpr", {"k": "ref", "path": "triton.language.float32"}, False],
        ["mode", "constexpr", {"k": "lit", "v": "up"}, False],
    ]
    assert cast["tensors"] == {"x_ptr": {"shape": [100, 16], "strides": [16, 1], "dtype": "torch.int64"}}
    assert [(s["args"][4][2]["v"], s["args"][5][2]["v"], s["options"]["num_warps"], s["grid"]) for s in scales] == [
        (64, True, 2, [25]),
        (128, False, 4, [13]),
    ]
    assert scales[0]["args"][:4] == [
        ["x_ptr", "*fp16", None, True],
        ["n", "i32", None, True],
        ["factor", "fp32", None, False],
        ["bias", "constexpr", {"k": "lit", "v": None}, False],
    ]


def test_gluon_kernels_are_recorded(tmp_path: Path, triton_python: Interpreter) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "copy_gluon.py").write_text(GLUON)
    done = record(tmp_path, triton_python.path, "copy_gluon.py")
    assert done.returncode == 0, done.stderr
    (made,) = launches(tmp_path)
    assert made["args"] == [
        ["x_ptr", "*bf16", None, True],
        ["n", "constexpr", {"k": "lit", "v": 1}, False],
        ["BLOCK", "constexpr", {"k": "lit", "v": 64}, False],
        ["layout", "constexpr", None, False],
    ]


def test_a_program_that_fails_keeps_its_status_and_what_it_recorded(folder: Path) -> None:
    with (folder / "kernels.py").open("a") as file:
        file.write("    sys.exit(7)\n")
    done = record(folder, sys.executable, "kernels.py")
    assert done.returncode == 7
    assert len(launches(folder)) == 3


def test_child_processes_record_too_and_do_not_disturb_each_other(folder: Path) -> None:
    (folder / "many.py").write_text(
        "import subprocess, sys\n"
        "running = [subprocess.Popen([sys.executable, 'kernels.py']) for _ in range(4)]\n"
        "sys.exit(max(r.wait() for r in running))\n"
    )
    done = record(folder, sys.executable, "many.py")
    assert done.returncode == 0, done.stderr
    assert len(launches(folder)) == 3


def test_a_sitecustomize_of_the_user_is_run_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.MARK = 'was run'\n")
    (folder / "marked.py").write_text("print(MARK)\nimport kernels\nkernels.main()\n")
    monkeypatch.setenv("PYTHONPATH", str(own))
    done = record(folder, sys.executable, "marked.py")
    assert done.stdout == "was run\n"
    assert len(launches(folder)) == 3


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("print('no Triton')", 0, "no launch was recorded: does"),
        ("raise SystemExit(3)", 3, "no launch was recorded: does"),
        ("import kernels; kernels.scale[(1,)](1)", 1, "no launch was recorded"),
    ],
)
def test_a_program_that_launches_nothing_is_told(folder: Path, text: str, status: int, says: str) -> None:
    done = record(folder, sys.executable, "-c", text)
    assert done.returncode == status
    assert says in done.stderr.splitlines()[-1]
    assert not (folder / FILE).exists()


def test_without_a_gpu_and_without_a_dry_run_the_programs_own_error_is_shown(folder: Path) -> None:
    done = record(folder, sys.executable, "kernels.py", options=())
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("(with no GPU, use --dry-run)?")


def test_recorded_launches_rank_above_launch_sites(folder: Path) -> None:
    def specialized() -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "kernel_ls", "specialize", "kernels.py::scale", "--format", "json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=120)
        found: list[dict[str, Any]] = json.loads(done.stdout)["kernels"][0]["specializations"]
        return found

    before = {a["name"]: a for a in specialized()[0]["parameters"]}
    assert before["x_ptr"]["evidence"] == "use"
    assert record(folder, sys.executable, "kernels.py").returncode == 0
    after = {a["name"]: a for a in specialized()[0]["parameters"]}
    assert (after["x_ptr"]["type"], after["x_ptr"]["evidence"]) == ("*fp16", "recorded launch")
    # The kernel changes: what it had then and has still is believed, what it has no more is left out.
    text = (folder / "kernels.py").read_text()
    (folder / "kernels.py").write_text(text.replace("n, factor, bias,", "n, factor, offset,"))
    changed = {a["name"]: a for a in specialized()[0]["parameters"]}
    assert changed["x_ptr"]["evidence"] == "recorded launch"
    assert changed["offset"]["evidence"] != "recorded launch"


def test_a_second_run_replaces_the_launches_of_the_kernels_that_it_launches() -> None:
    def line(kernel: str, type_: str, file: str = "/root/a/k.py") -> str:
        fields = {"v": 1, "file": file, "kernel": kernel, "args": [["x", type_, None, True]], "options": {}}
        return json.dumps(fields) + "\n"

    first = merged("", line("one", "*fp16") + line("two", "*fp16"), "/root/a")
    assert {record.file for record in records(first).launches} == {"k.py"}
    second = merged(first, line("two", "*fp32") + line("two", "*fp32"), "/root/a")
    assert [(r.kernel, r.arguments[0].type) for r in records(second).launches] == [("one", "*fp16"), ("two", "*fp32")]
    elsewhere = merged("", line("one", "*fp16", "/other/k.py"), "/root/a")
    assert records(elsewhere).launches[0].file == "/other/k.py"


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"v": 2, "file": "k.py", "kernel": "k", "args": [], "options": {}}',
        '{"v": 1, "file": 3, "kernel": "k", "args": [], "options": {}}',
        '{"v": 1, "file": "k.py", "kernel": "k", "args": [["x", "__import__(\'os\')", null, true]], "options": {}}',
        '{"v": 1, "file": "k.py", "kernel": "k", "args": [["x"]], "options": {}}',
        '{"v": 1, "file": "k.py", "kernel": "k", "args": {}, "options": {}}',
        "[" * 5000,
    ],
)
def test_a_damaged_line_is_left_out(line: str) -> None:
    good = '{"v": 1, "file": "k.py", "kernel": "k", "args": [["x", "*fp16", null, true]], "options": {"num_warps": 4}}'
    found = records(f"{line}\n{good}\n")
    assert found.bad == 1
    assert [launch.kernel for launch in found.launches] == ["k"]


def test_a_constant_that_names_no_number_type_of_tritons_is_no_constant() -> None:
    line = {
        "v": 1,
        "file": "k.py",
        "kernel": "k",
        "args": [["d", "constexpr", {"k": "ref", "path": "os.system"}, False]],
        "options": {"num_warps": "many", "unknown": 1},
    }
    (launch,) = records(json.dumps(line)).launches
    assert launch.arguments[0].value is None
    assert launch.options == (("num_warps", "many"),)
