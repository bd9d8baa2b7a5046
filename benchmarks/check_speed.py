"""How much of a check's time is the code generator's own, cold and warm.

    python -m benchmarks.check_speed [LIBRARY ...] [--workers N] [--triton-python PATH]

For each library, in one run: `check` with an empty cache; the bare generator over the very jobs that this check had (the
same workers, nothing in between); `check` again with the results in the cache, in a project opened anew.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.corpora import fetch, named
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.discovery import Wanted, discover
from kernel_ls.model import Job
from kernel_ls.project import Project
from kernel_ls.settings import Settings, checked, load


async def main() -> None:
    """Measure and print a row a library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    print("| library | files | jobs | bare generator | cold check | ratio | warm check |")
    print("|---|---|---|---|---|---|---|")
    for corpus in named(arguments.names or ["fla-core"]):
        folder = fetch(corpus)
        with tempfile.TemporaryDirectory() as cache:
            given = {"python": arguments.triton_python, "cache": True, "cache_dir": cache}
            settings = checked(load(folder, command_line=given))
            jobs: list[Job] = []
            cold, files = await _check(folder, settings, arguments.workers, jobs)
            warm, _ = await _check(folder, settings, arguments.workers, [])
            bare = await _bare(arguments.triton_python, Path(cache), jobs, arguments.workers)
        print(
            f"| {corpus.name} | {files} | {len(jobs)} | {bare:.1f} s | {cold:.1f} s | {cold / bare:.2f} | {warm:.1f} s |",
            flush=True,
        )


async def _check(folder: Path, settings: Settings, workers: int, jobs: list[Job]) -> tuple[float, int]:
    """Seconds of a check of a whole folder; the distinct jobs that it asked for are added to `jobs`."""
    started = time.monotonic()
    project = Project(folder, settings, workers=workers)
    try:
        await project.open()
        await project.learn()
        paths = [path.as_posix() for path in discover([Wanted(folder)], root=folder).files]
        project.checks_as_well(paths)
        asked = project.compiler.check
        seen: set[str] = set()

        async def check(job: Job):  # type: ignore[no-untyped-def]
            if job.key not in seen:
                seen.add(job.key)
                jobs.append(job)
            return await asked(job)

        project.compiler.check = check  # type: ignore[method-assign]
        gate = asyncio.Semaphore(2 * workers)

        async def one(path: str) -> None:
            async with gate:
                await project.check(path)

        await asyncio.gather(*(one(path) for path in paths))
        return time.monotonic() - started, len(paths)
    finally:
        await project.close()


async def _bare(python: str, cache: Path, jobs: list[Job], workers: int) -> float:
    """Seconds that the workers take for the jobs alone, in the same order."""
    compilers = [WorkerCompiler(python, cache_dir=cache) for _ in range(workers)]
    for compiler in compilers:
        await compiler.environment()
    queue = iter(jobs)
    started = time.monotonic()

    async def work(compiler: WorkerCompiler) -> None:
        for job in queue:
            await compiler.check(job)

    await asyncio.gather(*(work(compiler) for compiler in compilers))
    seconds = time.monotonic() - started
    for compiler in compilers:
        await compiler.close()
    return seconds


if __name__ == "__main__":
    asyncio.run(main())
