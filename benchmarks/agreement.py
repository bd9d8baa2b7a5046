"""How often zero-configuration inference agrees with launches that were recorded, parameter by parameter.

    python -m benchmarks.agreement [LIBRARY ...] [--show 20] [--triton-python PATH]

The functions of liger-kernel and fla are called on CPU tensors under `kernel-ls record --dry-run` (`agreement_drive.py`, in an
environment of its own with torch's CPU build and Triton 3.5.1). Each kernel that was launched is then checked without those
records. For every distinct way in which a kernel was launched, each parameter is compared: whether it is a pointer, an
integer, a float, a boolean, a descriptor or None, and what class of number a pointer leads to. Four figures:

- `covered`: some specialization that is checked has the parameter as it was passed;
- `nearest`: the one specialization that agrees with the launch at most parameters has it so;
- `nearest of tier 1`: the same without variants that can occur at run time, whose findings are warnings at most;
- `first`: the first specialization has it so.

What is annotated `tl.constexpr` agrees by itself and is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from benchmarks.corpora import ROOT, fetch, named
from kernel_ls.analysis.specialize.from_recorded import Recorded, RecordedArgument, records
from kernel_ls.model import Argument
from kernel_ls.project import Project
from kernel_ls.settings import Settings

ENVIRONMENT = ROOT / ".venvs" / "recording"
NEEDED = ("torch==2.13.0", "numpy", "packaging", "einops", "transformers")


def environment() -> Path:
    """The interpreter of the environment that records, which is made when it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *NEEDED], check=True)
        subprocess.run([*pip, "--no-deps", "triton==3.5.1"], check=True)
    return python


def record(library: str, folder: Path, output: Path) -> None:
    """Record what a library's functions launch."""
    command = [sys.executable, "-m", "kernel_ls", "record", "--dry-run", "--output", str(output), "--"]
    command += [str(environment()), str(ROOT / "benchmarks" / "agreement_drive.py"), library, str(folder)]
    subprocess.run(command, cwd=ROOT, check=False)


def kind(type_: object, value: object) -> str:
    """What sort of argument a type in Triton's notation is."""
    if isinstance(type_, (tuple, list)):
        return "tuple"
    text = str(type_)
    if text == "constexpr":
        held = value.get("v") if isinstance(value, dict) else None
        return "None" if held is None else "int" if isinstance(held, int) else "constant"
    if text.startswith("tensordesc") or text == "nvTmaDesc":
        return "descriptor"
    if text.startswith("*"):
        return f"pointer to {_number(text.lstrip('*').removeprefix('k'))}"
    return _number(text)


def _number(text: str) -> str:
    if text in ("i1", "u1"):
        return "bool"
    return "float" if text.startswith(("fp", "bf", "f")) else "int"


async def measure(library: str, python: str, show: int) -> None:
    """Print a library's row, and its disagreements."""
    folder = fetch(named([library])[0])
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "launches")
        record(library, folder, made)
        recorded = Recorded(records(made.read_text("utf-8")), ROOT.as_posix())
    project = Project(folder, replace(Settings(), python=python, cache=False), workers=2)
    await project.open()
    await project.learn()
    kernels = parameters = covered = whole = agreeing = strict = ways = 0
    wrong: Counter[str] = Counter()
    for path in sorted(p.as_posix() for p in folder.rglob("*.py")):
        known = [f.jit for f in project.workspace.functions(path) if recorded.launches_of(f.jit)]
        if not known:
            continue
        await project.check(path)
        for function in known:
            check = await project.checker.check_kernel(function)
            specializations = [t.best.specialization for t in check.trials if t.tier == 1]
            if not specializations:
                continue
            free = [p.name for p in function.parameters if not p.is_constexpr]
            guessed = [_kinds(s.arguments, free) for s in specializations]
            every = [_kinds(t.best.specialization.arguments, free) for t in check.trials]
            seen = {tuple(_kinds(r.arguments, free).items()) for r in recorded.launches_of(function)}
            kernels += 1
            ways += len(seen)
            for way in seen:
                nearest = max(guessed, key=lambda g: sum(g.get(n) == k for n, k in way))
                parameters += len(way)
                covered += sum(any(g.get(n) == k for g in every) for n, k in way)
                whole += max(sum(g.get(n) == k for n, k in way) for g in every)
                agreeing += sum(nearest.get(n) == k for n, k in way)
                strict += sum(guessed[0].get(n) == k for n, k in way)
                for name, passed in way:
                    if nearest.get(name) != passed:
                        wrong[f"{passed}, taken for {nearest.get(name)}"] += 1
                        if show > 0:
                            show -= 1
                            never = "" if any(g.get(name) == passed for g in every) else " (in every specialization)"
                            print(f"  {function.qualname}({name}): {passed}, taken for {nearest.get(name)}{never}")
    await project.close()
    shares = " | ".join(f"{100 * n / max(1, parameters):.1f} %" for n in (covered, whole, agreeing, strict))
    print(f"| {library} | {kernels} | {ways} | {parameters} | {shares} |")
    for what, count in wrong.most_common(12):
        print(f"|  | | | {count} | {what} | | | |", flush=True)


def _kinds(arguments: tuple[Argument, ...] | tuple[RecordedArgument, ...], names: list[str]) -> dict[str, str]:
    return {a.name: kind(a.type, a.value) for a in arguments if a.name in names}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", type=int, default=0, help="so many disagreements one by one")
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    print(
        "| library | kernels | ways | run-time parameters | covered | nearest | nearest of tier 1 | first |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for library in arguments.names or ["liger-kernel", "fla-core"]:
        asyncio.run(measure(library, arguments.triton_python, arguments.show))


if __name__ == "__main__":
    main()
