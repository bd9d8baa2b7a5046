"""Breaks working kernels of real libraries in known ways and counts what is found.

    python -m benchmarks.seeded_faults [LIBRARY ...] [--kernels N] [--at-once K] [--seed S] [--triton-python PATH]
                                       [--misses] [--unfixed] [--no-fixes]

Kernels that are clean without a fault get K faults on K of their lines, each made by another operator of `seeding`. A
fault counts as found if an error or warning stands on its line, whatever its code; the code is counted by itself.
A planted text that the code generator accepts under the kernel's own specialization is no fault and is left out.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import collections
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import seeding
from benchmarks.corpora import fetch, named
from kernel_ls.analysis.specialize import from_launches
from kernel_ls.checker import Checker, KernelCheck
from kernel_ls.discovery import Wanted, discover
from kernel_ls.model import Finding, Job, Severity, Status
from kernel_ls.project import Project
from kernel_ls.settings import checked, load


@dataclass
class Tally:
    """What became of the faults that were planted."""

    kernels: int = 0
    planted: int = 0
    found: int = 0
    coded: int = 0
    uncategorised: int = 0
    fixed: int = 0
    extra: int = 0
    by_operator: dict[str, list[int]] = field(default_factory=lambda: collections.defaultdict(lambda: [0, 0, 0]))
    missed: list[str] = field(default_factory=list)
    unfixed: list[str] = field(default_factory=list)


async def main() -> None:
    """Plant, check, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--triton-python", default=sys.executable)
    parser.add_argument("--misses", action="store_true", help="print what was not found and what was found beside")
    parser.add_argument("--unfixed", action="store_true", help="print what was found but has no proved fix")
    parser.add_argument("--no-fixes", action="store_true", help="do not prove fixes, which takes most of the time")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    tally = Tally()
    corpora = named(arguments.names or ["fla-core", "liger-kernel", "unsloth", "torchao"])
    for index, corpus in enumerate(corpora):
        share = (arguments.kernels - tally.kernels) // (len(corpora) - index)
        await _library(fetch(corpus), arguments, rng, tally, share)
    _print(tally, arguments.at_once)
    if arguments.misses:
        print("\n".join(tally.missed))
    if arguments.unfixed:
        print("\n".join(sorted(tally.unfixed)))


async def _library(folder: Path, arguments: argparse.Namespace, rng: random.Random, tally: Tally, wanted: int) -> None:
    given = {"python": arguments.triton_python, "cache": False}
    project = Project(folder, checked(load(folder, command_line=given)), workers=1)
    try:
        await project.open()
        await project.learn()
        candidates = []
        for path in discover([Wanted(folder)], root=folder).files:
            candidates += [(path.as_posix(), f.key) for f in project.checker.roots(path.as_posix())]
        rng.shuffle(candidates)
        done = 0
        for path, key in candidates:
            if done >= wanted:
                break
            function = next((f for f in project.checker.roots(path) if f.key == key), None)
            if function is None:
                continue
            check = await project.checker.check_kernel(function)
            if any(f.severity is not Severity.INFO for f in check.findings) or not check.trials:
                continue
            done += await _kernel(project, check, arguments, rng, tally)
    finally:
        await project.close()


async def _kernel(
    project: Project, check: KernelCheck, arguments: argparse.Namespace, rng: random.Random, tally: Tally
) -> bool:
    """Plant faults into one kernel and check it; whether there was a place for them."""
    function, count = check.function, arguments.at_once
    seeds = seeding.choose(function.node, count, rng, _reached(check))
    if len(seeds) < count:
        return False
    text, places = seeding.apply("\n".join(function.document.lines), seeds)
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    shadow = Checker(
        project.compiler,
        project.workspace.with_texts({function.path: text}),
        project.checker.options,
    )
    functions = shadow.workspace.functions(function.path)
    broken = next((f.jit for f in functions if f.jit.key == function.key), None)
    if broken is None:
        return False
    if count == 1 and await _accepted(shadow, broken, check):
        return False
    again = await shadow.check_kernel(broken, launches=from_launches.launched(function, project.checker.launches))
    findings = [f for f in again.findings if f.severity is not Severity.INFO]
    tally.kernels += 1
    where = f"{Path(function.path).name}::{function.name}"
    lines = frozenset().union(*places)
    for seed, where_to_look in zip(seeds, places, strict=True):
        here = [f for f in findings if f.location.path == function.path]
        hits = [f for f in here if f.location.span.start.line + 1 in where_to_look]
        tally.planted += 1
        tally.by_operator[seed.operator][0] += 1
        if not hits:
            shown = [f"{f.code}@{f.location.span.start.line + 1}/{f.severity.value}" for f in again.findings]
            tally.missed.append(f"missed {seed.operator} {where}:{seed.line} {seed.text!r}; found {shown}")
            continue
        tally.found += 1
        tally.by_operator[seed.operator][1] += 1
        tally.coded += any(f.code in seed.codes for f in hits)
        tally.uncategorised += all(f.code == "frontend-error" for f in hits)
        fixed = not arguments.no_fixes and await _is_fixed(shadow, again, hits)
        tally.fixed += fixed
        tally.by_operator[seed.operator][2] += fixed
        if not fixed:
            tried = [(f.code, f.message[:100], [c.title for c in again.candidates(f)]) for f in hits]
            tally.unfixed.append(f"unfixed {seed.operator} {where}:{seed.line} {seed.text!r}; {tried}")
        if not any(f.code in seed.codes for f in hits):
            tally.missed.append(f"code {seed.operator} {where}:{seed.line} {seed.text!r}; {[f.code for f in hits]}")
    for finding in findings:
        if finding.location.path != function.path or finding.location.span.start.line + 1 not in lines:
            tally.extra += 1
            tally.missed.append(
                f"extra {finding.code} {where}:{finding.location.span.start.line + 1} {finding.message[:90]};"
                f" planted {[(s.operator, s.line, s.text) for s in seeds]}"
            )
    return True


async def _accepted(shadow: Checker, broken: object, check: KernelCheck) -> bool:
    """Whether the generator accepts the planted text as it accepted the kernel: then it is no fault."""
    program = shadow.workspace.program(broken)  # type: ignore[arg-type]
    for trial in check.trials:
        job = Job(program, trial.best.specialization, shadow.options.targets[0], ("reached",))
        result = await shadow.compiler.check(job)
        if result.status is Status.DONE and (result.faults or result.notes):
            return False
    return True


async def _is_fixed(shadow: Checker, again: KernelCheck, hits: list[Finding]) -> bool:
    for finding in hits:
        if await shadow.fixes(again, finding, most=1):
            return True
    return False


def _reached(check: KernelCheck) -> set[int]:
    """The 1-based lines of the kernel's own text that were generated in its first specialization."""
    program, found = check.program, set()
    origin = program.origins[program.kernel]
    for first, last in check.trials[0].best.result.reached.get(program.kernel, ()):
        found.update(origin.first_line + n for n in range(first, last + 1))
    return found


def _print(tally: Tally, at_once: int) -> None:
    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:.1f} %" if whole else "-"

    print(f"{tally.planted} faults in {tally.kernels} kernels, {at_once} at once")
    print(f"recall at the line   {share(tally.found, tally.planted)}")
    print(f"with the right code  {share(tally.coded, tally.planted)}")
    print(f"extra findings       {tally.extra} ({share(tally.extra, tally.found + tally.extra)} of all)")
    print(f"uncategorised        {share(tally.uncategorised, tally.planted)}")
    print(f"with a proved fix    {share(tally.fixed, tally.planted)}")
    print("by operator: found of planted, with a proved fix")
    for name, (planted, found, fixed) in sorted(tally.by_operator.items()):
        print(f"  {name:24} {found}/{planted}  {fixed}")


if __name__ == "__main__":
    asyncio.run(main())
