"""Asking `stock_generator.py`, from the process of a benchmark."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernel_ls.model import Job

SCRIPT = Path(__file__).with_name("stock_generator.py")


def stock(
    python: str, jobs: Sequence[Job], *, repeat: int = 1, processes: int = 1
) -> tuple[list[dict[str, Any]], float]:
    """What the stock generator says of each job, and the wall time of all.

    Args:
        python: the interpreter whose Triton is meant.
        jobs: what to generate.
        repeat: runs of each job; the fastest counts.
        processes: how many share the work; the wall time is that of them side by side.
    """
    shares = [list(range(n, len(jobs), processes)) for n in range(processes)]

    def run(share: list[int]) -> list[dict[str, Any]]:
        text = "".join(json.dumps([repeat, jobs[n].wire()]) + "\n" for n in share)
        with tempfile.TemporaryFile("w+") as given:
            given.write(text)
            given.seek(0)
            done = subprocess.run([python, str(SCRIPT)], stdin=given, stdout=subprocess.PIPE, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    started = time.perf_counter()
    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(run, shares))
    wall = time.perf_counter() - started
    found: list[dict[str, Any]] = [{} for _ in jobs]
    for share, answer in zip(shares, answers, strict=True):
        for number, result in zip(share, answer, strict=True):
            found[number] = result
    return found, wall
