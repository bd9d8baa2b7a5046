"""What the real Triton or its machine does to a worker is a state and an answer: memory, time, output, replaced files."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from installations import linked_installation, replace, script

from kernel_ls.compile.cache import ResultCache
from kernel_ls.compile.client import WorkerCompiler, WorkerState
from kernel_ls.compile.pool import CachedCompiler
from kernel_ls.model import CompileResult, FileReport, Status
from kernel_ls.project import Project
from kernel_ls.settings import Settings

HEAD = "import triton\nimport triton.language as tl\n\n\n"
FINE = HEAD + "@triton.jit\ndef fine(x_ptr, B: tl.constexpr):\n    tl.store(x_ptr + tl.arange(0, B), nothing)\n"


@pytest_asyncio.fixture
async def checked(tmp_path: Path) -> AsyncIterator[Callable[..., asyncio.Future[FileReport]]]:
    """Check a text by a worker of its own with the options that are given."""
    made: list[Project] = []

    def check(text: str, settings: Settings | None = None, **options: object) -> asyncio.Future[FileReport]:
        (tmp_path / "kernel.py").write_text(text, "utf-8")
        if not made:
            compiler = WorkerCompiler(sys.executable, cache_dir=tmp_path / "cache", **options)  # type: ignore[arg-type]
            made.append(Project(tmp_path, settings or Settings(), compiler=compiler))
            check.project = made[0]  # type: ignore[attr-defined]
        return asyncio.ensure_future(made[0].check(str(tmp_path / "kernel.py")))

    yield check
    for project in made:
        await project.close()


def codes(report: FileReport) -> list[str]:
    return [finding.code for finding in report.findings]


# ------------------------------------------------------------------------------------------- time, memory


async def test_a_kernel_that_eats_memory_is_stopped_with_a_finding_and_harms_no_other(checked) -> None:
    """Its result is of the machine, not of the kernel: it is told as such and never kept as one."""
    greedy = HEAD + (
        "@triton.jit\ndef greedy(x_ptr):\n    for i in tl.static_range(1000000):\n"
        "        tl.store(x_ptr, tl.load(x_ptr) + tl.load(x_ptr + i) + tl.load(x_ptr + 2 * i))\n"
    )
    assert codes(await checked(FINE, Settings(budget=60.0, deadline=120.0), memory_limit=1 << 40)) == ["undefined-name"]
    compiler = checked.project.compiler
    compiler._memory_limit = compiler._worker.memory + (6 << 20)
    report = await asyncio.wait_for(checked(greedy), 100)
    assert codes(report) == ["compiler-crash"]
    assert "MiB of memory" in report.findings[0].message
    assert [kernel.status for kernel in report.kernels] == ["crashed"]
    compiler._memory_limit = 1 << 40
    assert codes(await checked(FINE.replace("nothing", "other"))) == ["undefined-name"]


@pytest.mark.parametrize(
    "body",
    [
        "    while True:\n        n += 1\n    return n",
        "    for i in range(10 ** 12):\n        n += i\n    return n",
        "    return 10 ** 10 ** 10",
        "    return 'x' * 10 ** 12",
        "    return [0] * 10 ** 12",
        "    return endless(n + 1)",
        "    return 1 << 10 ** 12",
        "    return sum(i for i in range(10 ** 12))",
    ],
)
async def test_an_endless_evaluation_has_an_end(checked, body: str) -> None:
    text = HEAD + f"@triton.constexpr_function\ndef endless(n):\n{body}\n\n\n"
    text += "@triton.jit\ndef kernel(x_ptr):\n    N: tl.constexpr = endless(3)\n    tl.store(x_ptr + N, nothing)\n"
    report = await asyncio.wait_for(checked(text, Settings(budget=5.0)), 60)
    assert "undefined-name" in codes(report)
    assert {kernel.status for kernel in report.kernels} <= {"findings", "unknown"}


async def test_an_unrolled_loop_without_end_is_stopped_by_its_budget(checked) -> None:
    text = (
        HEAD
        + "@triton.jit\ndef kernel(x_ptr):\n    for i in tl.static_range(10 ** 9):\n        tl.store(x_ptr + i, i)\n"
    )
    report = await asyncio.wait_for(checked(text, Settings(budget=1.0)), 60)
    assert codes(report) == ["compiler-timeout"]
    assert "budget of 1 s" in report.findings[0].message
    assert [kernel.status for kernel in report.kernels] == ["timeout"]
    assert codes(await checked(FINE)) == ["undefined-name"]


async def test_what_a_kernel_prints_breaks_no_frame(checked) -> None:
    text = FINE + "    tl.static_print('on', 'stdout', x_ptr)\n    print('12', B)\n    tl.device_print('x', x_ptr)\n"
    report = await checked(text)
    assert "undefined-name" in codes(report)


# --------------------------------------------------------------------- an installation that goes wrong, or changes


@pytest.fixture
def installation(tmp_path: Path) -> tuple[str, Path]:
    """An interpreter whose Triton is a copy of links to the real one's files: a test may break or replace any of them."""
    return linked_installation(tmp_path)


async def _project(folder: Path, python: str) -> Project:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / "kernel.py").write_text(FINE)
    compiler = WorkerCompiler(python, cache_dir=folder / "cache", retry_after=0)
    return Project(folder / "work", Settings(), compiler=compiler)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("_C/libtriton.so", None, "libtriton"),
        ("_C/libtriton.so", b"\x7fELF no library", "libtriton"),
        ("compiler/code_generator.py", "def f(:\n", "SyntaxError"),
        ("language/__init__.py", "import os\nos._exit(9)\n", "status 9"),
        ("language/__init__.py", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "SIGSEGV"),
        ("language/__init__.py", "import os\nos.abort()\n", "SIGABRT"),
        ("language/__init__.py", "raise SystemExit('no licence')\n", "no licence"),
    ],
)
async def test_an_installation_that_breaks_under_a_running_server_is_told_and_its_repair_seen(
    installation: tuple[str, Path], tmp_path: Path, file: str, content: str | bytes | None, said: str
) -> None:
    python, triton = installation
    project = await _project(tmp_path, python)
    path = str(tmp_path / "work" / "kernel.py")
    try:
        assert codes(await project.check(path)) == ["undefined-name"]
        states: list[WorkerState] = []
        project.on_state(states.append)
        kept = (triton / file).read_bytes()
        if content is None:
            (triton / file).unlink()
        else:
            replace(triton / file, content)
        # As an installer does: the package's own file is among those that are written.
        replace(triton / "__init__.py", (triton / "__init__.py").read_bytes())
        report = await project.check(path)
        assert [kernel.status for kernel in report.kernels] == ["unknown"]
        assert project.state.kind in ("failed", "no-triton")
        assert said in project.state.message
        assert project.state.next_step
        assert "Triton was replaced" in [state.message for state in states]
        replace(triton / file, kept)
        replace(triton / "__init__.py", (triton / "__init__.py").read_bytes())
        assert codes(await project.check(path)) == ["undefined-name"]
        assert project.state.kind == "ready"
    finally:
        await project.close()


async def test_an_upgraded_triton_is_the_one_that_answers_and_whose_interface_is_known(
    installation: tuple[str, Path], tmp_path: Path
) -> None:
    python, triton = installation
    project = await _project(tmp_path, python)
    path = str(tmp_path / "work" / "kernel.py")
    try:
        await project.check(path)
        before = project.environment
        assert before is not None
        text = (triton / "__init__.py").read_text()
        replace(triton / "__init__.py", text.replace(before.triton, "3.5.99"))
        language = (triton / "language" / "__init__.py").read_text()
        replace(triton / "language" / "__init__.py", language + "\nnothing = float32\n")
        (tmp_path / "work" / "kernel.py").write_text(FINE.replace("nothing", "tl.zeros([B], tl.nothing)"))
        assert codes(await project.check(path)) == []
        assert project.environment is not None
        assert project.environment.triton == "3.5.99"
    finally:
        await project.close()


async def test_an_interpreter_that_goes_under_a_running_server_is_told_and_its_return_seen(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = script(tmp_path / "bin" / "python", f'exec "{sys.executable}" "$@"')
    project = await _project(tmp_path, python)
    path = str(tmp_path / "work" / "kernel.py")
    try:
        assert codes(await project.check(path)) == ["undefined-name"]
        (tmp_path / "bin").rename(tmp_path / "gone")
        os.kill(project.state.pid, 9)
        (tmp_path / "work" / "kernel.py").write_text(FINE.replace("nothing", "other"))
        report = await project.check(path)
        assert [kernel.status for kernel in report.kernels] == ["unknown"]
        assert project.state.kind == "failed"
        assert "no interpreter" in project.state.message
        assert project.state.next_step
        (tmp_path / "gone").rename(tmp_path / "bin")
        assert codes(await project.check(path)) == ["undefined-name"]
    finally:
        await project.close()


async def test_a_worker_that_starts_slowly_is_waited_for(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    python = script(tmp_path / "python", f'read _ < "{gate}"\nexec "{sys.executable}" "$@"')
    compiler = WorkerCompiler(python, cache_dir=tmp_path / "cache")
    seen: asyncio.Queue[WorkerState] = asyncio.Queue()
    compiler.on_state(seen.put_nowait)
    starting = asyncio.ensure_future(compiler.environment())
    assert (await asyncio.wait_for(seen.get(), 10)).kind == "starting"
    # Opening it for writing ends when the script reads from it.
    with await asyncio.to_thread(gate.open, "w") as stream:
        stream.write("go\n")
    assert (await starting).triton
    assert compiler.state.kind == "ready"
    await compiler.close()


# ------------------------------------------------------------------------------------------------ the cache


RESULT = CompileResult(Status.DONE, ttir="x" * 20_000)


def test_a_disk_without_room_turns_the_cache_off_and_nothing_else(tmp_path: Path) -> None:
    """In a process of its own, whose files may not grow: the system's own error for it."""
    code = (
        "import random, resource, signal, sys, pathlib\n"
        "from kernel_ls.compile.cache import ResultCache\n"
        "from kernel_ls.model import CompileResult, Status\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "cache = ResultCache(pathlib.Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "for n in range(300):\n"
        "    cache.put(str(n), CompileResult(Status.DONE, ttir=random.Random(n).randbytes(9000).hex()))\n"
        "print(cache.off)\n"
        "cache.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "is off" in done.stdout
    again = ResultCache(tmp_path)
    again.put("new", RESULT)
    assert again.get("new") == RESULT
    again.close()


async def test_a_cache_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    """A file stands where the folder would be: nothing of it can be made, whoever asks."""
    (tmp_path / "cache").write_text("in the way")
    compiler = CachedCompiler(
        WorkerCompiler(sys.executable, cache_dir=tmp_path / "cache"), ResultCache(tmp_path / "cache")
    )
    assert (await compiler.environment()).triton
    assert await compiler.api()
    (tmp_path / "kernel.py").write_text(FINE)
    project = Project(tmp_path, Settings(), compiler=compiler)
    assert codes(await project.check(str(tmp_path / "kernel.py"))) == ["undefined-name"]
    await project.close()


def test_several_processes_write_one_cache_at_once(tmp_path: Path) -> None:
    """As two servers and a terminal do; all read what each has written."""
    code = (
        "import sys, pathlib\n"
        "from kernel_ls.compile.cache import ResultCache\n"
        "from kernel_ls.model import CompileResult, Status\n"
        "cache = ResultCache(pathlib.Path(sys.argv[1]), max_bytes=10_000_000)\n"
        "for n in range(200):\n"
        "    cache.put(f'{sys.argv[2]}-{n}', CompileResult(Status.DONE, ttir=f'{n}'))\n"
        "    cache.get(f'a-{n}')\n"
        "assert cache.off == '', cache.off\n"
        "cache.close()\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "abc"]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    cache = ResultCache(tmp_path)
    lost = [key for name in "abc" for n in range(200) if cache.get(key := f"{name}-{n}") is None]
    # A lock that is not given up within a second costs the one result.
    assert len(lost) < 20
    cache.close()
    with sqlite3.connect(tmp_path / "results.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
