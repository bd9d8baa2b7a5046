"""The recovering generator finds every fault of a kernel once, none in what Triton accepts, and makes the same IR."""

from __future__ import annotations

import re
from typing import Any

import pytest

from . import jobs, kernels
from .conftest import Generator

_MARK = re.compile(r"# fault(?P<limit><3\.9|>=3\.9)?: (?P<name>\w+)")


def _text(name: str) -> str:
    return kernels.HEADER + {**kernels.KERNELS, **kernels.SILENT}[name].lstrip("\n")


def _job(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    text = _text(name)
    spec = re.search(r"# spec: (.*)", text)
    assert spec is not None
    return text, jobs.job(text, "k", spec.group(1), **more)


def _expected(text: str, minor: str) -> list[tuple[int, str]]:
    found = []
    newer = tuple(map(int, minor.split("."))) >= (3, 9)
    for number, line in enumerate(text.split("\n"), 1):
        mark = _MARK.search(line)
        if mark is not None and mark.group("limit") in (None, ">=3.9" if newer else "<3.9"):
            found.append((number, mark.group("name")))
    return found


@pytest.mark.parametrize("name", [*kernels.KERNELS, *kernels.SILENT])
def test_every_fault_is_found_once_and_nothing_else(generator: Generator, name: str) -> None:
    text, job = _job(name)
    result = generator(job)
    assert jobs.lines_of(result, job, text) == _expected(text, generator.interpreter.minor)


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_the_verdict_is_that_of_the_stock_generator_and_so_is_the_ir(generator: Generator, name: str) -> None:
    _, job = _job(name, collect=("ttir", "types", "reached"))
    result = generator(job)
    silent = {"IgnoredFilter", "LoopVariableAfterLoop"}
    if [f for f in result["faults"] if f["exception"] not in silent]:
        assert "error" in result["stock"]
    else:
        assert result["stock"].get("ttir") == result["ttir"]
