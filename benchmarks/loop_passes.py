"""The checking pass against Triton's own generation, on the kernels with the deepest loops.

    python -m benchmarks.loop_passes [LIBRARY ...] [--kernels 10] [--repeat 5] [--triton-python PATH]

Of every kernel's first specialization that Triton accepts, those are taken in which loops are nested most deeply (of these
the longest). The stock generator and the checking pass run over the same jobs, the fastest run of each counts; findings and
types of the checking pass are compared with those of a pass that generates loop bodies as often as Triton does.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.corpora import fetch, named
from benchmarks.stock import stock
from kernel_ls.analysis import specialize
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.model import DEFAULT_TARGET, Job
from kernel_ls.project import Project
from kernel_ls.settings import Settings

LIBRARIES = ["fla-core", "liger-kernel", "unsloth", "torchao", "gemlite", "conch-triton-kernels"]


def depth(node: ast.AST) -> int:
    """How deeply loops are nested in a node, those that are unrolled left out."""
    inside = max((depth(child) for child in ast.iter_child_nodes(node)), default=0)
    unrolled = isinstance(node, ast.For) and "static_range" in ast.unparse(node.iter)
    return inside + (isinstance(node, (ast.For, ast.While)) and not unrolled)


async def jobs_of(library: str, python: str) -> list[tuple[int, int, Job]]:
    """A job for each kernel of a library, with the depth of its loops and its length."""
    folder = fetch(named([library])[0])
    project = Project(folder, replace(Settings(), python=python, cache=False))
    await project.open()
    found = []
    for file in sorted(folder.rglob("*.py")):
        if "triton.jit" not in file.read_text("utf-8", "replace"):
            continue
        for jit in project.checker.roots(file.as_posix()):
            deep = depth(jit.node)
            if deep > 1:
                program = project.workspace.program(jit)
                planned = specialize.plan(jit, program, project.workspace).specializations[0]
                found.append((deep, len(ast.dump(jit.node)), Job(program, planned, DEFAULT_TARGET, ("reached",))))
    await project.close()
    return found


async def measure(libraries: list[str], kernels: int, repeat: int, python: str) -> None:
    """Print a row for each kernel."""
    found = [job for library in libraries for job in await jobs_of(library, python)]
    found.sort(key=lambda f: (-f[0], -f[1]))
    print("| kernel | loops deep | Triton's generation ms | checking pass ms | faster | findings and types |")
    print("|---|---|---|---|---|---|")
    ratios: list[float] = []
    totals = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as cache:
        compiler = WorkerCompiler(python, cache_dir=Path(cache))
        for deep, _, job in found:
            if len(ratios) == kernels:
                break
            by_triton = stock(python, [job], repeat=repeat)[0][0]
            if not by_triton["accepted"]:
                continue
            once = [await compiler.check(job) for _ in range(repeat)]
            seconds = min(result.seconds for result in once)
            typed = await compiler.check(replace(job, collect=("reached", "types")))
            # What wants the module is generated as Triton does it.
            full = await compiler.check(replace(job, collect=("reached", "types", "ttir")))
            same = (typed.faults, typed.types, typed.reached) == (full.faults, full.types, full.reached)
            totals[0] += by_triton["seconds"]
            totals[1] += seconds
            ratios.append(by_triton["seconds"] / seconds)
            name = job.program.kernel.rpartition(":")[2]
            row = f"| {name} | {deep} | {1000 * by_triton['seconds']:.1f} | {1000 * seconds:.1f} | {ratios[-1]:.2f} |"
            print(f"{row} {'equal' if same else 'DIFFER'} |", flush=True)
        await compiler.close()
    print(f"| all | | {1000 * totals[0]:.1f} | {1000 * totals[1]:.1f} | {totals[0] / totals[1]:.2f} | |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    libraries = arguments.names or LIBRARIES
    asyncio.run(measure(libraries, arguments.kernels, arguments.repeat, arguments.triton_python))


if __name__ == "__main__":
    main()
