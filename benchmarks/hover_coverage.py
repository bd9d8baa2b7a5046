"""How many names inside reached kernel code have a hover type, and whether it is the one that Triton's own generator holds.

    python -m benchmarks.hover_coverage [NAME ...] [--triton-python PATH] [--sample 500] [--seed 1] [--missing]

A name occurrence is a `Name` node or a parameter in a statement that the active specialization generated. Left out is
what Triton never evaluates: annotations, the arms and operands that a constant decided against, and the statements that it
rejects. The sample is of kernels that Triton accepts, and is compared with a second run, by Triton's own generator without
recovery, in another process (`hover_reference.py`).
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.corpora import ROOT, fetch, named
from kernel_ls.analysis.features.places import Place, name_place, place_of
from kernel_ls.analysis.features.snapshot import KernelView, Reading, Snapshot
from kernel_ls.analysis.kernels import functions
from kernel_ls.model import DEFAULT_TARGET, Job
from kernel_ls.project import Project
from kernel_ls.settings import Settings


@dataclass(frozen=True)
class Occurrence:
    """A name in a file, the types that hover shows, and the reading that says them."""

    path: str
    name: str
    place: Place
    types: tuple[str, ...]
    reading: Reading
    unit: str


def occurrences(reading: Reading) -> Iterator[Occurrence]:
    """The names of a file that an attempt generated."""
    for line, unit in reading.units.items():
        function = next((f for f in functions(reading.document) if f.node.lineno == line), None)
        if function is None or not reading.generated(function):
            continue
        nodes = [
            *(a for a in ast.walk(function.node.args) if isinstance(a, ast.arg)),
            *(n for statement in function.node.body for n in _names(statement, reading, _rejected(reading, unit))),
        ]
        for node in nodes:
            place = name_place(node) if isinstance(node, ast.arg) else place_of(node)
            name = node.arg if isinstance(node, ast.arg) else node.id
            yield Occurrence(reading.document.path, name, place, reading.types.get(place, ()), reading, unit)


def _rejected(reading: Reading, unit: str) -> set[int]:
    """Lines of a unit's file that a fault points to."""
    first = reading.program.origins[unit].first_line
    faults = [f.span for f in reading.attempt.result.faults if f.span.unit == unit]
    return {first + n for span in faults for n in range(span.line, span.end_line + 1)}


def _names(statement: ast.stmt, reading: Reading, rejected: set[int]) -> Iterator[ast.Name]:
    """The names of a statement and of those in it, as far as they were generated."""
    lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
    simple = not hasattr(statement, "body")
    failed = any(n in rejected for n in lines) if simple else statement.lineno in rejected
    if statement.lineno in reading.reached and statement.lineno not in reading.lost and not failed:
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr) and child is not getattr(statement, "annotation", None):
                yield from _evaluated(child, reading)
            elif isinstance(child, ast.withitem):
                yield from _evaluated(child.context_expr, reading)
    for field in ("body", "orelse"):
        for inner in getattr(statement, field, ()):
            yield from _names(inner, reading, rejected)


def _evaluated(node: ast.expr, reading: Reading) -> Iterator[ast.Name]:
    """The names of an expression that were evaluated: a constant may have decided against a part of it."""
    if isinstance(node, ast.Name):
        yield node
        return
    skipped: list[ast.expr] = []
    if isinstance(node, ast.IfExp):
        skipped = [arm for arm in (node.body, node.orelse) if not _any_told(arm, reading)]
    elif isinstance(node, ast.BoolOp):
        skipped = [value for value in node.values[1:] if not _any_told(value, reading)]
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not any(child is s for s in skipped):
            yield from _evaluated(child, reading)
        elif isinstance(child, ast.keyword):
            yield from _evaluated(child.value, reading)
        elif isinstance(child, ast.comprehension):
            yield from _evaluated(child.iter, reading)
            yield from _evaluated(child.target, reading)


def _any_told(node: ast.expr, reading: Reading) -> bool:
    return any(place_of(n) in reading.told for n in ast.walk(node) if isinstance(n, ast.expr))


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.py") if "triton" in p.read_text("utf-8", "replace"))


async def survey(folder: Path, python: str) -> list[Occurrence]:
    """Every name in reached kernel code of a folder, once."""
    project = Project(folder, replace(Settings(), python=python, cache=False), collect=("reached", "types"))
    found: dict[tuple[str, Place], Occurrence] = {}
    try:
        await project.learn()
        for path in _files(folder):
            _, snapshot = await project.examine(str(path))
            for number, view in enumerate(snapshot.kernels if snapshot else ()):
                for occurrence in _of_kernel(project, snapshot, number, view):
                    key = (occurrence.path, occurrence.place)
                    if key not in found or (not found[key].types and occurrence.types):
                        found[key] = occurrence
    finally:
        await project.close()
    return list(found.values())


def _of_kernel(project: Project, snapshot: Snapshot | None, number: int, view: KernelView) -> Iterator[Occurrence]:
    if snapshot is None or not view.trials:
        return
    active = view.index()
    yield from occurrences(snapshot.reading(number, active))
    others = {o.path for o in view.program.origins.values()} - {snapshot.path}
    for other in sorted(others):
        document = project.workspace.document(other)
        if document is not None:
            yield from occurrences(Reading(view.trials[active].best, view.program, document))


def compare(sample: list[Occurrence], python: str) -> list[tuple[Occurrence, list[str]]]:
    """The occurrences of which Triton's own generator holds other types, with those types."""
    jobs: dict[int, tuple[Reading, list[Occurrence]]] = {}
    for occurrence in sample:
        jobs.setdefault(id(occurrence.reading.attempt), (occurrence.reading, []))[1].append(occurrence)
    differing = []
    for reading, wanted in jobs.values():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "job.json"
            file.write_text(json.dumps(Job(reading.program, reading.specialization, DEFAULT_TARGET).wire()))
            script = ROOT / "benchmarks" / "hover_reference.py"
            done = subprocess.run([python, str(script), str(file)], capture_output=True, text=True)
        held = json.loads(done.stdout) if done.returncode == 0 else {}
        if done.returncode != 0:
            print(done.stderr[-500:], file=sys.stderr)
        for occurrence in wanted:
            origin = reading.program.origins[occurrence.unit]
            line, column, end_line, end = occurrence.place
            indent = origin.indents[line - origin.first_line - 1]
            first = origin.first_line
            key = f"{occurrence.unit}:{line - first}:{column - indent}:{end_line - first}:{end - indent}"
            types = held.get(key, [])
            if sorted(types) != sorted(occurrence.types):
                differing.append((occurrence, types))
    return differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="corpora, or `examples`")
    parser.add_argument("--triton-python", default=sys.executable)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missing", action="store_true", help="list names without a type")
    arguments = parser.parse_args()
    every: list[Occurrence] = []
    print("| code | names in reached kernel code | with a type | share |\n|---|---|---|---|")
    for name in arguments.names or ["fla-core", "liger-kernel", "examples"]:
        folder = ROOT / "examples" if name == "examples" else fetch(named([name])[0])
        found = asyncio.run(survey(folder, arguments.triton_python))
        typed = sum(1 for o in found if o.types)
        print(f"| {name} | {len(found)} | {typed} | {100 * typed / max(1, len(found)):.2f} % |", flush=True)
        if arguments.missing:
            for occurrence in [o for o in found if not o.types][:60]:
                print(f"  {occurrence.path}:{occurrence.place[0]}:{occurrence.place[1]} {occurrence.name}")
        every += found
    typed_ones = [o for o in every if o.types and not o.reading.attempt.result.faults]
    sample = random.Random(arguments.seed).sample(typed_ones, min(arguments.sample, len(typed_ones)))
    differing = compare(sample, arguments.triton_python)
    for occurrence, types in differing:
        print(
            f"  {occurrence.path}:{occurrence.place[0]}:{occurrence.place[1]} {occurrence.name}: {occurrence.types} but {types}"
        )
    same = len(sample) - len(differing)
    print(
        f"of {len(sample)} names, {same} have the types that Triton's own generator holds, {len(differing)} have others"
    )


if __name__ == "__main__":
    main()
