"""A generator under each interpreter of the suite, asked over a pipe."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interpreters import Interpreter

import kernel_ls


class Generator:
    """Checks jobs under one interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        package = Path(kernel_ls.__file__).parent
        script = Path(__file__).with_name("generator_probe.py")
        self._process = subprocess.Popen(
            [interpreter.path, "-I", "-W", "ignore", str(script), str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"job": job}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the worker died"
        reply: dict[str, Any] = json.loads(line)
        return reply

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


@pytest.fixture(scope="module")
def generator(triton_python: Interpreter) -> Iterator[Generator]:
    made = Generator(triton_python)
    yield made
    made.close()
