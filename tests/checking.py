"""Checking the files of a case with the real pipeline, worker and Triton."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from caselib import Reveal
from interpreters import Interpreter
from opening import open_workspace

from kernel_ls.analysis import positions
from kernel_ls.checker import Checker, CheckOptions, KernelCheck, merge
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.model import DEFAULT_TARGET, FileReport, Finding, Target, UnitSpan

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What a check of some files found: findings with their file's path relative to the folder, and reports by path."""

    findings: tuple[tuple[str, Finding], ...]
    reports: Mapping[str, FileReport]
    types: tuple[str, ...] = ()
    """How the types of revealed values differ from the expected, a sentence each."""


class Bench:
    """One interpreter's worker, kept for many checks, with the event loop that it lives in."""

    def __init__(self, interpreter: Interpreter, cache_dir: Path) -> None:
        self.interpreter = interpreter
        self._loop = asyncio.new_event_loop()
        self._compiler = WorkerCompiler(interpreter.path, cache_dir=cache_dir, start_deadline=120.0)

    def close(self) -> None:
        """End the worker."""
        self.run(self._compiler.close())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine of the bench's loop."""
        return self._loop.run_until_complete(asyncio.wait_for(work, 300))

    def check(
        self,
        folder: Path,
        paths: Iterable[str],
        *,
        targets: Iterable[str] = (),
        reveals: Iterable[Reveal] = (),
        fixes: bool = False,
    ) -> Outcome:
        """Check files of a folder, which is the workspace; with `fixes`, findings come with those that were proved."""
        return self.run(self._check(folder, tuple(paths), tuple(targets), tuple(reveals), fixes))

    async def _check(
        self, folder: Path, paths: tuple[str, ...], targets: tuple[str, ...], reveals: tuple[Reveal, ...], fixes: bool
    ) -> Outcome:
        options = CheckOptions(
            targets=tuple(Target.parse(t) for t in targets) or (DEFAULT_TARGET,),
            triton_version=self.interpreter.triton,
            collect=("reached", "types") if reveals else ("reached",),
            prove_fixes=fixes,
        )
        checker = Checker(self._compiler, await open_workspace(folder, self._compiler), options)
        reports = {path: await checker.check_file(str(folder / path)) for path in paths}
        findings = merge(finding for report in reports.values() for finding in report.findings)
        types: list[str] = []
        for path in sorted({reveal.file for reveal in reveals}):
            checks = [await checker.check_kernel(f) for f in checker.roots(str(folder / path))]
            types += _differing_types(folder / path, [r for r in reveals if r.file == path], checks)
        return Outcome(tuple((_relative(f, folder), f) for f in findings), reports, tuple(types))


def _relative(finding: Finding, folder: Path) -> str:
    path = Path(finding.location.path)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _differing_types(path: Path, reveals: list[Reveal], checks: list[KernelCheck]) -> list[str]:
    found: dict[tuple[int, int, int, int], list[str]] = {}
    for check in checks:
        for trial in check.trials:
            for unit, rows in trial.best.result.types.items():
                origin = check.program.origins.get(unit)
                if origin is None or Path(origin.path) != path:
                    continue
                for *place, types in rows:
                    span = positions.locate(origin, check.program.units[unit]["source"], UnitSpan(unit, *place)).span
                    key = (span.start.line, span.start.column, span.end.line, span.end.column)
                    seen = found.setdefault(key, [])
                    seen += [t for t in types if t not in seen]
    text = path.read_text("utf-8-sig")
    lines = text.splitlines()
    values: dict[int, ast.expr] = {}
    for node in ast.walk(ast.parse(text)):
        value = getattr(node, "value", None)
        if isinstance(node, ast.stmt) and isinstance(value, ast.expr):
            values[node.lineno] = value
    differing = []
    for reveal in reveals:
        where = f"{reveal.file}:{reveal.line}"
        value = values.get(reveal.line)
        if value is None:
            differing.append(f"{where}: no statement with a value starts on this line")
            continue
        assert value.end_lineno is not None
        assert value.end_col_offset is not None
        start = len(lines[value.lineno - 1].encode()[: value.col_offset].decode())
        end = len(lines[value.end_lineno - 1].encode()[: value.end_col_offset].decode())
        types = found.get((value.lineno - 1, start, value.end_lineno - 1, end), [])
        if " | ".join(types) != reveal.type:
            differing.append(f"{where}: the type is {' | '.join(types) or 'not known'}, expected {reveal.type}")
    return differing
