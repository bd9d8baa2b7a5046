"""How long hover, hints and completion take on a large file while a check of it runs, over a real connection.

    python -m benchmarks.feature_latency [FILE] [--requests 600] [--triton-python PATH]

The default file is the longest with a jit function in fla-core and liger-kernel. Every request is sent after an edit of a
kernel whose check has not ended; the cache is off, so that each check generates code.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from benchmarks.corpora import ROOT, fetch, named


def largest() -> Path:
    """The longest file with a jit function."""
    files = [p for corpus in named(["fla-core", "liger-kernel"]) for p in fetch(corpus).rglob("*.py")]
    return max((p for p in files if "triton.jit" in p.read_text("utf-8", "replace")), key=lambda p: len(p.read_bytes()))


class Editor:
    """A client that edits one file and asks about it."""

    def __init__(self, path: Path, python: str, seed: int) -> None:
        self.client = LanguageClient("benchmark", "1")
        self.path = path
        self.python = python
        self.uri = path.as_uri()
        self.text = path.read_text("utf-8")
        self.lines = self.text.split("\n")
        self.version = 1
        self.viewed: set[int] = set()
        self.random = random.Random(seed)
        self.places = self._places()

    def _places(self) -> list[tuple[int, int]]:
        """Names inside of functions that have jit above them."""
        found = []
        inside = False
        for number, line in enumerate(self.lines):
            if re.match(r"@triton\.jit", line):
                inside = True
            elif line and not line[0].isspace() and not line.startswith(("@", "def ", ")", "#")):
                inside = False
            if inside and line.startswith("    "):
                found += [(number, m.start()) for m in re.finditer(r"[A-Za-z_]\w*", line)]
        return found

    async def start(self) -> None:
        @self.client.feature("kernelLs/inactiveRegions")
        def viewed(params: Any) -> None:
            self.viewed.add(params.textDocument.version)

        @self.client.feature("kernelLs/status")
        def status(_params: Any) -> None:
            pass

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(_params: Any) -> None:
            pass

        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await self.client.start_io(
            sys.executable, "-m", "kernel_ls", "server", "--no-cache", "--python", self.python, env=environment
        )
        folder = lsp.WorkspaceFolder(self.path.parent.as_uri(), "corpus")
        await self.client.initialize_async(
            lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), workspace_folders=[folder])
        )
        self.client.initialized(lsp.InitializedParams())
        item = lsp.TextDocumentItem(self.uri, "python", 1, self.text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def edit(self) -> None:
        """Put a statement at the head of a kernel's body, or change it: its code has to be generated again."""
        self.version += 1
        number = self.mark
        old = self.lines[number]
        new = f"    marked = {self.version}"
        self.lines[number] = new
        place = lsp.Range(lsp.Position(number, 0), lsp.Position(number, len(old)))
        change = lsp.TextDocumentContentChangePartial(place, new)
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def prepare(self) -> None:
        """Make room for the statement that edits change: a line of its own at the head of the last kernel's body."""
        bodies = [n for n, line in enumerate(self.lines) if re.match(r"\)?.*\):\s*(#.*)?$", line) and self._is_jit(n)]
        self.mark = bodies[-1] + 1
        self.lines.insert(self.mark, "    marked = 0")
        self.version += 1
        where = lsp.Position(self.mark, 0)
        change = lsp.TextDocumentContentChangePartial(lsp.Range(where, where), "    marked = 0\n")
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        self.places = self._places()

    def _is_jit(self, number: int) -> bool:
        head = next((n for n in range(number, -1, -1) if self.lines[n].startswith("def ")), -1)
        return head > 0 and any("triton.jit" in line for line in self.lines[max(0, head - 3) : head])

    async def until_viewed(self) -> None:
        """Wait for the end of the check of the present version."""
        deadline = time.monotonic() + 300
        while self.version not in self.viewed:
            if time.monotonic() > deadline:
                raise SystemExit("the check did not end in 300 s")
            await asyncio.sleep(0.005)

    async def ask(self, kind: str) -> tuple[float, bool]:
        """Send one request; the milliseconds until its answer, and whether there was one."""
        line, column = self.random.choice(self.places)
        document = lsp.TextDocumentIdentifier(self.uri)
        position = lsp.Position(line, column)
        started = time.perf_counter()
        answer: Any
        if kind == "hover":
            answer = await self.client.text_document_hover_async(lsp.HoverParams(document, position))
        elif kind == "hints":
            visible = lsp.Range(lsp.Position(max(0, line - 30), 0), lsp.Position(line + 30, 0))
            answer = await self.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, visible))
        else:
            answer = await self.client.text_document_completion_async(lsp.CompletionParams(document, position))
            answer = answer.items
        return 1000 * (time.perf_counter() - started), bool(answer)


async def measure(path: Path, python: str, requests: int, seed: int) -> dict[str, list[tuple[float, bool]]]:
    """The latencies of requests by kind, all while a check ran."""
    editor = Editor(path, python, seed)
    await editor.start()
    await editor.until_viewed()
    editor.prepare()
    await editor.until_viewed()
    found: dict[str, list[tuple[float, bool]]] = {"hover": [], "hints": [], "completion": []}
    kinds = list(found)
    checks = 0
    while sum(map(len, found.values())) < requests:
        editor.edit()
        checks += 1
        while editor.version not in editor.viewed:
            kind = kinds[sum(map(len, found.values())) % 3]
            taken = await editor.ask(kind)
            found[kind].append(taken)
            await asyncio.sleep(0.02)
    print(f"{path.name}: {len(editor.lines)} lines, {checks} checks")
    await editor.client.shutdown_async(None)
    editor.client.exit(None)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    path = (arguments.file or largest()).absolute()
    found = asyncio.run(measure(path, arguments.triton_python, arguments.requests, arguments.seed))
    print("| request | count | answered | median ms | 99th percentile ms | longest ms |\n|---|---|---|---|---|---|")
    every = [taken for values in found.values() for taken in values]
    for kind, values in [*found.items(), ("all", every)]:
        times = sorted(t for t, _ in values)
        high = times[min(len(times) - 1, int(0.99 * len(times)))]
        answered = sum(a for _, a in values)
        print(f"| {kind} | {len(times)} | {answered} | {statistics.median(times):.1f} | {high:.1f} | {times[-1]:.1f} |")


if __name__ == "__main__":
    main()
