"""Host code in memory, and the launches that are found in it."""

from __future__ import annotations

from typing import Any

from kernel_ls.analysis.environment import MemoryProvider, Workspace
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.launches import Launch, LaunchIndex
from kernel_ls.analysis.specialize.from_launches import launched
from kernel_ls.analysis.specialize.settings import Setting
from kernel_ls.pyeval import Unknown

PATH = "/project/main.py"
HEADER = """
import functools
import math
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    pass
"""


def index(main: str, header: str = HEADER, **files: str) -> LaunchIndex:
    """An index over `main.py` (its imports and a kernel `kernel(x, y, n, BLOCK)` before it) and other files."""
    texts = {f"/project/{name}.py": text for name, text in files.items()}
    return LaunchIndex(Workspace(MemoryProvider({PATH: header + main, **texts})))


def launches(main: str, name: str = "kernel", **more: Any) -> tuple[Launch, ...]:
    """The launches of a kernel in `main.py`."""
    return tuple(launch for launch in index(main, **more).of_document(PATH) if launch.kernel.name == name)


def passed(main: str, argument: str = "x", **more: Any) -> list[Any]:
    """What the launches pass for a parameter, each value once; `?` where it is not known."""
    found: list[Any] = []
    for launch in launches(main, **more):
        given = launch.argument(argument)
        value = "missing" if given is None else "?" if isinstance(given.value, Unknown) else given.value
        if value not in found:
            found.append(value)
    return found


def value(expression: str, before: str = "pass", parameters: str = "a, b") -> list[Any]:
    """What is known of an expression in host code, on each of its courses."""
    body = "\n".join("    " + line for line in before.splitlines())
    return passed(f"\ndef launch({parameters}):\n{body}\n    kernel[(1,)]({expression}, a, 1, 64)\n")


def function(found: LaunchIndex, name: str = "kernel", path: str = PATH) -> JitFunction:
    """A kernel of a file."""
    return next(f.jit for f in found.workspace.functions(path) if f.jit.name == name)


def settings(main: str, name: str = "kernel", **more: Any) -> tuple[Setting, ...]:
    """The settings that the launches of a kernel give."""
    found = index(main, **more)
    return launched(function(found, name), found)
