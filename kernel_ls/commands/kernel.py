"""Commands about one kernel: `specialize` and `ir`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from kernel_ls.analysis.features import lines
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.checker import KernelCheck, type_text, value_text
from kernel_ls.commands.common import not_yet, project_of, settings_of, split_place
from kernel_ls.commands.texts import load
from kernel_ls.errors import UsageError
from kernel_ls.model import Argument, Specialization, Status
from kernel_ls.project import Project


def specialize(arguments: argparse.Namespace) -> int:
    """Show what each parameter is taken to be, and on whose evidence; the exit status."""

    async def show(project: Project, functions: tuple[JitFunction, ...]) -> int:
        checks = [await project.checker.check_kernel(function) for function in functions]
        if arguments.format == "json":
            shown = [_as_json(check) for check in checks]
            sys.stdout.write(
                json.dumps({"version": 1, "kernels": shown}, indent=2, ensure_ascii=False, default=str) + "\n"
            )
        else:
            sys.stdout.write("\n".join(_as_text(check) for check in checks))
        return 0

    return asyncio.run(_with_kernels(arguments, show))


def ir(arguments: argparse.Namespace) -> int:
    """Print the TTIR of a kernel under its first specialization; the exit status."""
    if arguments.stage != "ttir":
        return not_yet(f"ir --stage {arguments.stage}")
    if arguments.diff is not None:
        return not_yet("ir --diff")
    if "::" not in arguments.place:
        raise UsageError(f"{arguments.place!r} is not of the form FILE::KERNEL")

    async def show(project: Project, functions: tuple[JitFunction, ...]) -> int:
        project.checker.options = replace(project.checker.options, collect=("ttir",))
        check = await project.checker.check_kernel(functions[0])
        results = [trial.best.result for trial in check.trials]
        trial = next((t for t in check.trials if t.best.result.ttir), None)
        ttir = trial.best.result.ttir if trial is not None else ""
        if ttir and arguments.line is not None:
            return _print_line(check, ttir, arguments.line)
        if ttir:
            sys.stdout.write(ttir if ttir.endswith("\n") else ttir + "\n")
            return 0
        errors = [f for f in check.findings if f.severity.value == "error"]
        message = next((r.message for r in results if r.status is not Status.DONE), "")
        why = message or f"it has {len(errors)} error{'' if len(errors) == 1 else 's'}, which `kernel-ls check` shows"
        sys.stderr.write(f"kernel-ls: {functions[0].qualname} has no TTIR: {why}\n")
        return 1 if errors else 2

    return asyncio.run(_with_kernels(arguments, show))


def _print_line(check: KernelCheck, ttir: str, row: int) -> int:
    """Print the operations that a row of the kernel's file, or of a helper in it, became; the exit status."""
    module = lines.read(ttir)
    shown: list[lines.Operation] = []
    for unit, origin in check.program.origins.items():
        line = origin.line(row - 1) if origin.path == check.function.path else None
        if line is not None:
            shown += lines.of_lines(module, unit, line, line)
    if not shown:
        raise UsageError(f"row {row} of {check.function.path} became nothing in {check.function.qualname}")
    for operation in lines.folded(shown):
        sys.stdout.write(operation.text + "\n")
    return 0


async def _with_kernels(
    arguments: argparse.Namespace, show: Callable[[Project, tuple[JitFunction, ...]], Awaitable[int]]
) -> int:
    path, kernel = split_place(arguments.place)
    load(path)
    project = project_of(path.parent, settings_of(arguments, path.parent))
    try:
        await project.open()
        name = path.as_posix()
        known = [f.jit for f in project.workspace.functions(name)]
        wanted = tuple(f for f in known if kernel in (f.qualname, f.name)) if kernel else project.checker.roots(name)
        if kernel and not wanted:
            raise UsageError(f"{path} has no kernel {kernel!r}")
        return await show(project, wanted)
    finally:
        await project.close()


def _as_json(check: KernelCheck) -> dict[str, object]:
    return {
        "filename": check.function.path,
        "kernel": check.function.qualname,
        "row": check.function.name_span.start.line + 1,
        "specializations": [
            {
                "tier": s.tier,
                "parameters": [
                    {
                        "name": a.name,
                        "type": type_text(a.type),
                        "value": value_text(a.value) if a.type == "constexpr" else None,
                        "divisible_by_16": a.divisible,
                        "evidence": a.evidence.kind.value,
                        "detail": a.evidence.detail,
                        "assumed": a.guessed,
                        "location": _place(a),
                    }
                    for a in s.arguments
                ],
                "options": dict(s.options),
            }
            for s in _specializations(check)
        ],
    }


def _place(argument: Argument) -> dict[str, object] | None:
    location = argument.evidence.location
    if location is None:
        return None
    start = location.span.start
    return {"filename": location.path, "row": start.line + 1, "column": start.column + 1}


def _as_text(check: KernelCheck) -> str:
    path = check.function.path
    lines = [f"{check.function.qualname}  {path}:{check.function.name_span.start.line + 1}"]
    specializations = _specializations(check)
    for number, specialization in enumerate(specializations, 1):
        tier = " (can occur at run time)" if specialization.tier == 2 else ""
        lines.append(f"  {number} of {len(specializations)}{tier}")
        rows = [(a.name, _what(a), _why(a)) for a in specialization.arguments]
        rows += [(name, str(value), "launch option") for name, value in specialization.options]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        lines += [f"    {name:<{widths[0]}}  {what:<{widths[1]}}  {why}".rstrip() for name, what, why in rows]
    return "\n".join([*lines, ""])


def _specializations(check: KernelCheck) -> list[Specialization]:
    return [trial.best.specialization for trial in check.trials]


def _what(argument: Argument) -> str:
    if argument.type == "constexpr":
        return f"constexpr {value_text(argument.value)}"
    return type_text(argument.type) + (" (divisible by 16)" if argument.divisible else "")


def _why(argument: Argument) -> str:
    evidence = argument.evidence
    place = ""
    if evidence.location is not None:
        place = f" {evidence.location.path}:{evidence.location.span.start.line + 1}"
    detail = f": {evidence.detail}" if evidence.detail else ""
    return f"{evidence.kind.value}{detail}{place}"
