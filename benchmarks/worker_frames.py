"""Malformed frames to a real worker: each has one answer, and the worker goes on."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import kernel_ls
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.model import CompileResult, Job
from kernel_ls.project import Project
from kernel_ls.settings import Settings
from tests.lsp.malformed import frame

PACKAGE = Path(kernel_ls.__file__).parent
SECONDS = 30.0

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def helper(x, FACTOR: tl.constexpr):
    return x * FACTOR


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in tl.static_range(2):
        tl.store(x_ptr + o, helper(tl.load(x_ptr + o, mask=o < n), 2), mask=o < n)
"""


class _Recording(WorkerCompiler):
    """Keeps the jobs that it is given."""

    jobs: list[dict[str, Any]]

    async def check(self, job: Job) -> CompileResult:
        """See `Compiler`."""
        self.jobs.append(job.wire())
        return await super().check(job)


async def real_job(python: str, folder: Path) -> dict[str, Any]:
    """A job as a worker really gets it."""
    place = folder / "one"
    place.mkdir(exist_ok=True)
    (place / "kernel.py").write_text(KERNEL, "utf-8")
    compiler = _Recording(python, cache_dir=folder / "cache")
    compiler.jobs = []
    project = Project(place, Settings(), compiler=compiler)
    try:
        await project.check(str(place / "kernel.py"))
    finally:
        await project.close()
    return compiler.jobs[0]


async def malformed_frames(python: str, folder: Path, count: int, seed: int) -> tuple[int, list[str]]:
    """Send so many frames, each after the answer to the one before; how many were answered, and what went wrong."""
    rng = random.Random(seed)
    job = {**await real_job(python, folder), "budget": 0.5}
    bootstrap = (PACKAGE / "compile" / "worker" / "bootstrap.py").read_text("utf-8")
    worker = await asyncio.create_subprocess_exec(
        *(python, "-c", bootstrap, str(PACKAGE)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 24,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    answered = 0
    problems: list[str] = []
    for _ in range(count):
        sent = frame(rng, job)
        try:
            worker.stdin.write(sent)
            await worker.stdin.drain()
            header = await asyncio.wait_for(worker.stdout.readline(), SECONDS)
            json.loads(await worker.stdout.readexactly(int(header)))
        except (ValueError, OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
            problems.append(f"a worker after {answered} frames: {error!r} for {sent[:2000]!r}; {worker.returncode}")
            break
        answered += 1
    worker.stdin.close()
    if problems:
        worker.kill()
    await worker.wait()
    return answered, problems
