"""A worker that hangs, crashes, prints or cannot import Triton is a state and an answer, never a dead server."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import time
from pathlib import Path

import pytest
from interpreters import Interpreter

from kernel_ls.compile.client import WorkerCompiler, WorkerState
from kernel_ls.compile.pool import CompilerPool
from kernel_ls.compile.process import WorkerProcess
from kernel_ls.errors import (
    InterpreterBroken,
    InterpreterNotFound,
    ProtocolError,
    TritonBroken,
    TritonMissing,
    WorkerKilled,
    WorkerStartError,
)
from kernel_ls.model import Status

from .conftest import job


async def until_written(mark: Path) -> int:
    """Wait until a job says that it runs; its process id."""
    while not mark.exists() or not mark.read_text():
        await asyncio.sleep(0.002)
    return int(mark.read_text())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
async def compiler(misbehaving_python: str, cache_dir: Path):
    made = WorkerCompiler(misbehaving_python, cache_dir=cache_dir, grace=0.3, cancel_grace=0.1)
    yield made
    await made.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"


async def test_the_handshake_tells_of_python_and_triton(triton_python: Interpreter, cache_dir: Path) -> None:
    compiler = WorkerCompiler(triton_python.path, cache_dir=cache_dir)
    try:
        environment = await compiler.environment()
        assert environment.triton == triton_python.triton
        assert Path(environment.triton_path, "__init__.py").is_file()
        assert {"cuda", "hip"} <= set(environment.targets)
        assert "" not in environment.path
        assert not any("kernel_ls/compile" in entry for entry in environment.path)
        assert compiler.state.kind == "ready"
        assert compiler.state.triton == triton_python.triton
        assert alive(compiler.state.pid)
    finally:
        await compiler.close()
    assert compiler.state.kind == "stopped"


async def test_a_second_server_knows_the_environment_without_a_worker(cache_dir: Path) -> None:
    first = WorkerCompiler(sys.executable, cache_dir=cache_dir)
    known = await first.environment()
    await first.close()
    second = WorkerCompiler(sys.executable, cache_dir=cache_dir)
    assert await second.environment() == known
    assert second.state.pid == 0
    await second.close()


async def test_prints_do_not_break_frames(compiler: WorkerCompiler) -> None:
    result = await compiler.check(job("print"))
    assert result.status is Status.DONE
    assert result.ttir.startswith("print ")


async def test_a_job_that_reads_stdin_gets_nothing(compiler: WorkerCompiler) -> None:
    result = await compiler.check(job("read"))
    assert (result.status, result.ttir) == (Status.DONE, "")
    assert (await compiler.check(job("fine"))).status is Status.DONE


async def test_a_killed_worker_comes_back_and_the_answer_arrives(compiler: WorkerCompiler, tmp_path: Path) -> None:
    mark = tmp_path / "running"
    task = asyncio.create_task(compiler.check(job("wait-once", mark=str(mark))))
    os.kill(await until_written(mark), signal.SIGKILL)
    result = await task
    assert result.status is Status.DONE
    assert compiler.state.kind == "ready"


async def test_a_job_that_aborts_twice_is_a_crash_that_names_the_signal(compiler: WorkerCompiler) -> None:
    result = await compiler.check(job("abort"))
    assert result.status is Status.CRASHED
    assert "SIGABRT" in result.message
    assert "out of registers" in result.message
    assert (await compiler.check(job("fine"))).status is Status.DONE


async def test_a_job_that_kills_its_worker_once_is_answered(compiler: WorkerCompiler, tmp_path: Path) -> None:
    result = await compiler.check(job("abort-once", mark=str(tmp_path / "once")))
    assert result.status is Status.DONE


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("exit", "status 3"),
        ("raise", "ValueError: a defect"),
        ("sys.exit", "SystemExit: 7"),
        ("unsendable", "cannot be sent"),
        ("odd", "span"),
        ("close-stdout", "closed its pipe"),
    ],
)
async def test_a_job_that_goes_wrong_is_answered_and_harms_no_other(
    compiler: WorkerCompiler, kernel: str, said: str
) -> None:
    result = await compiler.check(job(kernel))
    assert result.status is Status.CRASHED
    assert said in result.message
    assert (await compiler.check(job("fine"))).status is Status.DONE


async def test_a_hang_is_a_timeout(compiler: WorkerCompiler, tmp_path: Path) -> None:
    mark = tmp_path / "running"
    await compiler.start()
    result = await compiler.check(job("hang", budget=0.2, mark=str(mark)))
    assert result.status is Status.TIMEOUT
    assert "0.5 s" in result.message
    assert not alive(int(mark.read_text()))
    assert (await compiler.check(job("fine"))).status is Status.DONE


async def test_a_superseded_job_is_stopped(compiler: WorkerCompiler, tmp_path: Path) -> None:
    mark = tmp_path / "running"
    task = asyncio.create_task(compiler.check(job("hang", mark=str(mark))))
    pid = await until_written(mark)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.05, "the caller had to wait"
    assert (await compiler.check(job("fine"))).status is Status.DONE
    assert not alive(pid)


async def test_a_superseded_job_that_ends_in_time_costs_no_restart(compiler: WorkerCompiler, tmp_path: Path) -> None:
    mark = tmp_path / "running"
    task = asyncio.create_task(compiler.check(job("wait", mark=str(mark))))
    pid = await until_written(mark)
    task.cancel()
    mark.unlink()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await compiler.check(job("fine"))).ttir == f"fine {pid}"


async def test_a_job_cancelled_while_it_waits_is_never_sent(compiler: WorkerCompiler, tmp_path: Path) -> None:
    mark, other = tmp_path / "running", tmp_path / "other"
    running = asyncio.create_task(compiler.check(job("wait", mark=str(mark))))
    await until_written(mark)
    waiting = asyncio.create_task(compiler.check(job("hang", mark=str(other))))
    await asyncio.sleep(0)
    waiting.cancel()
    mark.unlink()
    assert (await running).status is Status.DONE
    assert (await compiler.check(job("fine"))).status is Status.DONE
    assert not other.exists()


async def test_an_idle_worker_that_dies_is_seen(compiler: WorkerCompiler) -> None:
    await compiler.start()
    seen: asyncio.Queue[WorkerState] = asyncio.Queue()
    compiler.on_state(seen.put_nowait)
    os.kill(compiler.state.pid, signal.SIGKILL)
    state = await asyncio.wait_for(seen.get(), 5)
    assert state.kind == "restarting"
    assert "SIGKILL" in state.message
    assert (await compiler.check(job("fine"))).status is Status.DONE


async def test_a_worker_that_grew_is_replaced(misbehaving_python: str, cache_dir: Path) -> None:
    compiler = WorkerCompiler(misbehaving_python, cache_dir=cache_dir, recycle_bytes=400 << 20)
    first = (await compiler.check(job("fine"))).ttir
    assert (await compiler.check(job("fine"))).ttir == first
    assert (await compiler.check(job("grow", bytes=400 << 20))).status is Status.DONE
    assert (await compiler.check(job("fine"))).ttir != first
    await compiler.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the ceiling is Linux's")
async def test_a_job_over_the_memory_ceiling_fails_alone(misbehaving_python: str, cache_dir: Path) -> None:
    compiler = WorkerCompiler(misbehaving_python, cache_dir=cache_dir, memory_limit=600 << 20)
    result = await compiler.check(job("grow", bytes=2 << 30))
    assert result.status is Status.CRASHED
    assert "600 MiB" in result.message
    assert (await compiler.check(job("fine"))).status is Status.DONE
    await compiler.close()


async def test_closing_answers_the_job_in_flight(misbehaving_python: str, cache_dir: Path, tmp_path: Path) -> None:
    compiler = WorkerCompiler(misbehaving_python, cache_dir=cache_dir)
    mark = tmp_path / "running"
    task = asyncio.create_task(compiler.check(job("hang", mark=str(mark))))
    pid = await until_written(mark)
    await compiler.close()
    assert (await task).status is Status.CRASHED
    assert not alive(pid)
    assert (await compiler.check(job("fine"))).status is Status.UNAVAILABLE
    await compiler.close()


@pytest.mark.parametrize("killed", [False, True])
async def test_closing_at_the_moment_when_a_worker_is_ready_ends_it(
    misbehaving_python: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """Or when its start has failed and would be repeated."""
    compiler = WorkerCompiler(misbehaving_python, cache_dir=cache_dir)
    real, started, closing = WorkerProcess.start, [], []

    async def start(*arguments: object, **options: object) -> WorkerProcess:
        started.append(await real(*arguments, **options))  # type: ignore[arg-type]
        if killed:
            await started[-1].kill()
        closing.append(asyncio.ensure_future(compiler.close()))
        if killed:
            raise WorkerKilled("killed")
        return started[-1]

    monkeypatch.setattr(WorkerProcess, "start", staticmethod(start))
    result = await compiler.check(job("fine"))
    assert result.status is Status.UNAVAILABLE
    await asyncio.wait_for(closing[0], 10)
    assert len(started) == 1
    assert not alive(started[0].pid)


def test_no_process_outlives_the_event_loop(misbehaving_python: str, cache_dir: Path, tmp_path: Path) -> None:
    mark = tmp_path / "running"

    async def main() -> int:
        compiler = WorkerCompiler(misbehaving_python, cache_dir=cache_dir)
        task = asyncio.create_task(compiler.check(job("hang", mark=str(mark))))
        pid = await until_written(mark)
        del task
        return pid

    assert not alive(asyncio.run(main()))


def test_a_worker_ends_when_its_server_is_gone(misbehaving_python: str, cache_dir: Path, tmp_path: Path) -> None:
    mark = tmp_path / "running"

    async def main() -> int:
        worker = await WorkerProcess.start(misbehaving_python, cache_dir=cache_dir, deadline=30)
        request = asyncio.ensure_future(worker.request("check", job("hang", mark=str(mark)).wire(), 60))
        pid = await until_written(mark)
        # What the system does to the pipes of a server that was killed.
        worker._process._transport.get_pipe_transport(0).close()  # type: ignore[attr-defined]
        await asyncio.wait_for(worker.wait(), 10)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        await worker.kill()
        return pid

    assert not alive(asyncio.run(main()))


async def test_a_pool_runs_jobs_beside_each_other(misbehaving_python: str, cache_dir: Path, tmp_path: Path) -> None:
    pool = CompilerPool.of_workers(2, misbehaving_python, cache_dir=cache_dir)
    marks = [tmp_path / "one", tmp_path / "two"]
    tasks = [asyncio.create_task(pool.check(job("wait", mark=str(mark)))) for mark in marks]
    pids = {await asyncio.wait_for(until_written(mark), 20) for mark in marks}
    assert len(pids) == 2
    for mark in marks:
        mark.unlink()
    assert [(await task).status for task in tasks] == [Status.DONE, Status.DONE]
    await pool.close()
    assert pool.state.kind == "stopped"


async def test_a_replaced_triton_is_loaded_anew(compiler: WorkerCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    first = (await compiler.check(job("fine"))).ttir
    assert (await compiler.check(job("fine"))).ttir == first
    seen: list[WorkerState] = []
    end = compiler.on_state(seen.append)
    # As after `pip install` beside the running server: other sizes and times of the same files.
    monkeypatch.setattr("kernel_ls.compile.remembered.stamp", lambda _environment: (1, 2))
    assert (await compiler.check(job("fine"))).ttir != first
    assert ("restarting", "Triton was replaced") in [(state.kind, state.message) for state in seen]
    end()


# ------------------------------------------------------------------------------------- bad interpreters


@pytest.fixture
def python_without(tmp_path: Path):
    """Make an interpreter that finds, in place of Triton, what the test puts there."""

    def make(text: str | None) -> str:
        package = tmp_path / "site" / "triton"
        package.mkdir(parents=True)
        if text is not None:
            (package / "__init__.py").write_text(text)
        script = tmp_path / "bad-python"
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "site"}" exec "{sys.executable}" -S "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return str(script)

    return make


async def test_an_interpreter_without_triton_is_told_with_the_next_step(cache_dir: Path, tmp_path: Path) -> None:
    script = tmp_path / "bare-python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    compiler = WorkerCompiler(str(script), cache_dir=cache_dir)
    with pytest.raises(TritonMissing) as caught:
        await compiler.environment()
    assert "pip install triton" in caught.value.next_step
    assert compiler.state.kind == "no-triton"
    assert "pip install triton" in compiler.state.next_step
    result = await compiler.check(job("fine"))
    assert result.status is Status.UNAVAILABLE
    assert "has no Triton" in result.message
    await compiler.close()


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (None, TritonMissing, "without the package"),
        ("import no_such_module_at_all", TritonBroken, "no_such_module_at_all"),
        ("raise RuntimeError('libtriton.so: undefined symbol')", TritonBroken, "undefined symbol"),
        ("import os\nos.abort()", TritonBroken, "SIGABRT"),
        ("import os\nos._exit(5)", InterpreterBroken, "status 5"),
    ],
)
async def test_a_broken_triton_is_told(python_without, cache_dir: Path, text, error, said: str) -> None:
    with pytest.raises(error, match=said):
        await WorkerProcess.start(python_without(text), cache_dir=cache_dir, deadline=30)


async def test_a_start_that_takes_too_long_is_told(python_without, cache_dir: Path) -> None:
    with pytest.raises(WorkerStartError, match="did not answer"):
        await WorkerProcess.start(python_without("import time\ntime.sleep(60)"), cache_dir=cache_dir, deadline=1.0)


async def test_what_is_no_interpreter_is_told(cache_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(InterpreterNotFound):
        await WorkerProcess.start(str(tmp_path / "nothing"), cache_dir=cache_dir, deadline=5)
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(InterpreterBroken, match="does not start"):
        await WorkerProcess.start(str(text), cache_dir=cache_dir, deadline=5)
    with pytest.raises(InterpreterBroken, match="before it answered"):
        await WorkerProcess.start("/bin/false", cache_dir=cache_dir, deadline=5)


@pytest.mark.parametrize("said", ["Python 2.7.18", "5\\nhello", "2\\n{}", '27\\n{"id":1,"result":[1,2,3]}'])
async def test_what_answers_and_is_no_worker_is_told(cache_dir: Path, tmp_path: Path, said: str) -> None:
    script = tmp_path / "odd-python"
    script.write_text(f"#!/bin/sh\nprintf '{said}\\n'\nsleep 60\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises((ProtocolError, WorkerStartError)):
        await WorkerProcess.start(str(script), cache_dir=cache_dir, deadline=0.5)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_worker_that_is_killed_while_it_starts_is_started_once_more(
    cache_dir: Path, tmp_path: Path, times: int
) -> None:
    """Its Triton is not to blame."""
    log = tmp_path / "starts"
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\necho x >> "{log}"\n[ $(wc -l < "{log}") -le {times} ] && kill -9 $$\nexec "{sys.executable}" "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    compiler = WorkerCompiler(str(script), cache_dir=cache_dir, retry_after=0)
    if times == 2:
        with pytest.raises(WorkerKilled, match="SIGKILL"):
            await compiler.environment()
        assert compiler.state.kind == "failed"
        assert "memory" in compiler.state.next_step
    assert (await compiler.environment()).triton
    assert compiler.state.kind == "ready"
    await compiler.close()


async def test_a_failed_start_is_not_tried_at_every_job(cache_dir: Path, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\necho x >> "{log}"\nexec "{sys.executable}" -S -E "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    compiler = WorkerCompiler(str(script), cache_dir=cache_dir, retry_after=1000)
    for _ in range(5):
        assert (await compiler.check(job("fine"))).status is Status.UNAVAILABLE
    assert log.read_text().count("x") == 1
    await compiler.restart()
    assert log.read_text().count("x") == 2
    await compiler.close()
