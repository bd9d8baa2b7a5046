"""The interpreters whose Triton the suite runs on: the suite's own, and those of KERNEL_LS_TEST_PYTHONS.

The variable holds paths separated as the system separates them (`os.pathsep`). With KERNEL_LS_TEST_OTHERS_ONLY=1 the
suite's own interpreter is left out, as `scripts/matrix` wants it.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass

_PROBE = "from importlib.metadata import version; print(version('triton'))"


@dataclass(frozen=True)
class Interpreter:
    """A Python executable and the version of the Triton in its environment."""

    path: str
    triton: str

    @property
    def minor(self) -> str:
        """The version without its patch: `3.9`."""
        return ".".join(self.triton.split(".")[:2])

    def __str__(self) -> str:
        return f"triton-{self.triton}"


@functools.cache
def interpreters() -> tuple[Interpreter, ...]:
    """Probe the interpreters; one that is named but has no Triton fails the run rather than silently testing less."""
    own = [] if os.environ.get("KERNEL_LS_TEST_OTHERS_ONLY") else [sys.executable]
    others = [path for path in os.environ.get("KERNEL_LS_TEST_PYTHONS", "").split(os.pathsep) if path]
    found = []
    for path in own + others:
        # -P, safe path, is new in 3.11; -I does what is needed on all: no working folder, no PYTHON* variables.
        probe = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, check=False, timeout=60)
        if probe.returncode != 0:
            raise RuntimeError(f"{path} has no Triton to test with:\n{probe.stderr}")
        found.append(Interpreter(path, probe.stdout.strip()))
    return tuple(found)
