"""What it costs to ask the generator for types and for TTIR beside faults.

    python -m benchmarks.collect_cost [NAME] [--jobs 24] [--repeat 4] [--triton-python PATH]

Each job is generated several times with each kind of collection, in random order; the fastest of each counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from dataclasses import replace

from benchmarks.corpora import fetch, named
from kernel_ls.analysis import specialize
from kernel_ls.model import DEFAULT_TARGET, Job, Program, Specialization
from kernel_ls.project import Project
from kernel_ls.settings import Settings

KINDS = (("reached",), ("reached", "types"), ("reached", "types", "ttir"))


async def measure(name: str, python: str, count: int, repeat: int) -> None:
    """Print a row for each kind of collection."""
    folder = fetch(named([name])[0])
    project = Project(folder, replace(Settings(), python=python, cache=False))
    await project.open()
    chance = random.Random(2)
    files = [f for f in folder.rglob("*.py") if "triton.jit" in f.read_text("utf-8", "replace")]
    chance.shuffle(files)
    jobs: list[tuple[Program, Specialization]] = []
    for file in files:
        for jit in project.checker.roots(file.as_posix())[:2]:
            program = project.workspace.program(jit)
            jobs.append((program, specialize.plan(jit, program, project.workspace).specializations[0]))
        if len(jobs) >= count:
            break
    fastest: dict[tuple[tuple[str, ...], int], float] = {}
    size = dict.fromkeys(KINDS, 0)
    for turn in range(repeat):
        for number, (program, specialization) in enumerate(jobs):
            for kind in chance.sample(KINDS, len(KINDS)):
                result = await project.compiler.check(Job(program, specialization, DEFAULT_TARGET, kind))
                key = (kind, number)
                fastest[key] = min(fastest.get(key, result.seconds), result.seconds)
                if turn == 0:
                    size[kind] += len(json.dumps([dict(result.types), result.ttir]))
    await project.close()
    print(f"| collected ({len(jobs)} kernels of {name}) | seconds | more | bytes a kernel |\n|---|---|---|---|")
    base = sum(seconds for (kind, _), seconds in fastest.items() if kind == KINDS[0])
    for kind in KINDS:
        seconds = sum(s for (k, _), s in fastest.items() if k == kind)
        print(f"| {', '.join(kind)} | {seconds:.3f} | {100 * (seconds / base - 1):.1f} % | {size[kind] // len(jobs)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="fla-core")
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.name, arguments.triton_python, arguments.jobs, arguments.repeat))


if __name__ == "__main__":
    main()
