"""How long the server takes from its start to the first findings: with an empty cache, and again with what the first left.

    python -m benchmarks.start_up [--runs 7] [--triton-python PATH]

The file is the matrix product of `examples`, with a name misspelt so that there is a finding of the generator. What is timed
begins before the process is made and ends when the finding has been published; the import of Triton in the worker is part of
it. The median of the runs counts; each pair of runs has a cache of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types as lsp

from benchmarks.corpora import ROOT
from benchmarks.edit_latency import Editor

EXAMPLE = ROOT / "examples" / "matmul.py"


async def first_findings(folder: Path, python: str, cache: str) -> float:
    """Seconds from before the start of a server to the first finding of the generator."""
    path = folder / "matmul.py"
    editor = Editor(python, cache)
    found = asyncio.Event()
    started = time.perf_counter()
    await editor.start(folder, lambda params: found.set() if params.diagnostics else None)
    item = lsp.TextDocumentItem(path.as_uri(), "python", 1, path.read_text("utf-8"))
    editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await asyncio.wait_for(found.wait(), 120)
    taken = time.perf_counter() - started
    await editor.stop()
    return taken


async def measure(runs: int, python: str) -> None:
    """Print both medians."""
    cold, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "project")
            folder.mkdir()
            text = EXAMPLE.read_text("utf-8")
            (folder / "matmul.py").write_text(text.replace("tl.dot(", "tl.dott(", 1), "utf-8")
            cold.append(await first_findings(folder, python, f"{place}/cache"))
            warm.append(await first_findings(folder, python, f"{place}/cache"))
    print("| start to first findings | median s | fastest s | slowest s |\n|---|---|---|---|")
    for name, taken in (("empty cache", cold), ("second start", warm)):
        print(f"| {name} | {statistics.median(taken):.2f} | {min(taken):.2f} | {max(taken):.2f} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.runs, arguments.triton_python))


if __name__ == "__main__":
    main()
