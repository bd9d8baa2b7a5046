"""What the names of a module hold once it is imported under the user's interpreter: for `--environment import` alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernel_ls.model import Json

_PROGRAM = Path(__file__).resolve().parent / "worker" / "importing.py"
DEADLINE = 60.0
"""Seconds that an import may take: `import torch` alone can take ten."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The values of those names that are constants, as wire values, and why there are none, if the import failed."""

    values: Mapping[str, Json] = field(default_factory=dict)
    problem: str = ""


async def import_values(
    python: str, root: str, module: str, names: Iterable[str], *, deadline: float = DEADLINE
) -> Imported:
    """Import a module in a process of its own and read some of its names. **Runs the module's code.** Never raises.

    Args:
        python: the user's interpreter.
        root: the folder in which the module's top package lies.
        module: its dotted name.
        names: the names wanted.
        deadline: seconds after which the process is killed.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            python,
            str(_PROGRAM),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=root,
        )
    except OSError as error:
        return Imported(problem=f"{python} cannot be started: {error.strerror or error}")
    request = json.dumps({"root": root, "module": module, "names": sorted(names)}).encode()
    try:
        answer, _ = await asyncio.wait_for(process.communicate(request), deadline)
    except asyncio.TimeoutError:
        return Imported(problem=f"importing {module} took longer than {deadline:g} s")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        told = json.loads(answer)
        values, problem = told["values"], str(told["error"])
    except (ValueError, KeyError, TypeError):
        return Imported(problem=f"importing {module} ended the interpreter (status {process.returncode})")
    return Imported(
        values if isinstance(values, dict) else {}, f"importing {module} failed: {problem}" if problem else ""
    )
