"""Jobs that are started before anybody asks for them: what was planned last is generated while the next plan is made.

An edit of a kernel's body seldom changes with which specializations it is checked, and to find that out takes about as long
as to generate one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kernel_ls.compile.client import Compiler
from kernel_ls.model import CompileResult, Job

_MOST = 4
"""How many jobs are started for one kernel."""

_TURNS = 4
"""Turns of the event loop in which a job gets to an idle worker."""


class Ahead:
    """Jobs in flight by what they are.

    Args:
        compiler: who compiles.
    """

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._started: dict[str, asyncio.Task[CompileResult]] = {}

    async def start(self, jobs: Sequence[Job]) -> None:
        """Send jobs to idle workers, those first that are likeliest to be asked for."""
        new = [job for job in jobs[:_MOST] if job.key not in self._started]
        for job in new:
            self._started[job.key] = asyncio.ensure_future(self._compiler.check(job))
        for _ in range(_TURNS if new else 0):
            await asyncio.sleep(0)

    async def check(self, job: Job) -> CompileResult:
        """The result of a job, started by now or not. A caller that is cancelled gives up the job."""
        task = self._started.pop(job.key, None)
        return await (self._compiler.check(job) if task is None else task)

    def leave(self, jobs: Sequence[Job], *, cancel: bool) -> None:
        """Forget what was started and nobody asked for.

        Args:
            jobs: what was to be started.
            cancel: end it, too; else it runs to its end, since to stop one costs a worker.
        """
        for job in jobs:
            task = self._started.pop(job.key, None)
            if task is not None:
                task.add_done_callback(_ignore)
                if cancel:
                    task.cancel()


def _ignore(task: asyncio.Task[CompileResult]) -> None:
    """If nobody asks, nobody is told; who asks later meets with it again."""
    if not task.cancelled():
        task.exception()
