"""How long a check of a library takes: cold against Triton's stock generator, and warm.

    python -m benchmarks.check_speed [LIBRARY ...] [--workers N] [--triton-python PATH]

For each library, in one run: `check` with an empty cache; Triton's stock generator over the very jobs that this check had, in
as many processes; then in a project opened anew each time, as a second `kernel-ls check` is: after a statement was added to
a kernel of one file, and with nothing changed.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.corpora import fetch, named
from benchmarks.stock import stock
from kernel_ls.discovery import Wanted, discover
from kernel_ls.memory import seldom
from kernel_ls.model import Job
from kernel_ls.project import Project
from kernel_ls.settings import checked, load


async def main() -> None:
    """Measure and print a row a library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    seldom()
    python, workers = arguments.triton_python, arguments.workers
    print("| library | files | jobs | stock generator | cold check | ratio | one file edited | unchanged |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus in named(arguments.names or ["fla-core"]):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, corpus.name)
            shutil.copytree(fetch(corpus), folder)
            given = {"python": python, "cache": True, "cache_dir": f"{place}/cache"}
            jobs: list[Job] = []
            cold, files = await _check(folder, given, workers, jobs)
            _, bare = stock(python, jobs, processes=workers)
            _edit(folder)
            edited, _ = await _check(folder, given, workers, [])
            unchanged, _ = await _check(folder, given, workers, [])
        print(
            f"| {corpus.name} | {files} | {len(jobs)} | {bare:.1f} s | {cold:.1f} s | {cold / bare:.2f} "
            f"| {edited:.1f} s | {unchanged:.1f} s |",
            flush=True,
        )


async def _check(folder: Path, given: dict[str, Any], workers: int, jobs: list[Job]) -> tuple[float, int]:
    """Seconds of a check of a whole folder, as the command does it; the jobs that it asked for are added to `jobs`."""
    started = time.monotonic()
    project = Project(folder, checked(load(folder, command_line=given)), workers=workers)
    try:
        await project.open()
        await project.learn()
        paths = [path.as_posix() for path in discover([Wanted(folder)], root=folder).files]
        project.checks_as_well(paths)
        project.keep_reports()
        asked = project.compiler.check
        seen: set[str] = set()

        async def check(job: Job) -> Any:
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


def _edit(folder: Path) -> None:
    """Add a statement to the first kernel of the file with the median size among those that hold one."""
    files = sorted(
        (p for p in folder.rglob("*.py") if "@triton.jit" in p.read_text("utf-8")), key=lambda p: p.stat().st_size
    )
    path = files[len(files) // 2]
    text = path.read_text("utf-8")
    kernel = next(
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in n.decorator_list)
    )
    lines = text.split("\n")
    lines.insert(kernel.body[-1].lineno - 1, " " * kernel.body[-1].col_offset + "added = 1")
    path.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
