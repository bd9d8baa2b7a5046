"""How long after an edit its findings are there, over a real connection, against the bare generator's time.

    python -m benchmarks.edit_latency [--edits 1000] [--files 10] [--seed 1] [--triton-python PATH]

The files are the largest of the corpora that define a kernel. Statements are typed into random kernels letter by letter,
half-typed states included, then changed and taken away again; every fifth edit is one that changes no kernel: a comment, a
blank line, a letter in a docstring. Each edit is sent when the findings of the one before were published. The same texts
are then checked again in this process to learn which jobs each edit needed that no earlier one had, and Triton's stock
generator is timed over those (the fastest of three runs). What is left of the latency is the server's own.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from benchmarks.corpora import ROOT, fetch, named
from benchmarks.stock import stock
from kernel_ls.model import Job
from kernel_ls.project import Project
from kernel_ls.settings import checked, load

LIBRARIES = ["fla-core", "liger-kernel", "torchao", "unsloth", "conch-triton-kernels", "gemlite"]
STATEMENTS = ("typed_one = 2 * 3", "typed_two = tl.program_id(0)", "typed_three = tl.arange(0, 64)")


def largest(count: int) -> list[tuple[Path, Path]]:
    """The largest files that define a kernel, with the folders of their corpora."""
    found = [(p, fetch(c)) for c in named(LIBRARIES) for p in fetch(c).rglob("*.py")]
    found = [(p, folder) for p, folder in found if _bodies(p.read_text("utf-8", "replace"))]
    return sorted(found, key=lambda f: -f[0].stat().st_size)[:count]


def _bodies(text: str) -> list[tuple[int, int, str]]:
    """For each kernel of a text: the first and last row (0-based) of its body, and its indent."""
    if "triton.jit" not in text:
        return []
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    found = []
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in node.decorator_list):
            body = [s for s in node.body if not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Constant)]
            if body:
                first = body[0].lineno - 1
                indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
                found.append((first, body[-1].lineno - 1, indent))
    return found


@dataclass
class Edit:
    """One state of a file's text: after which edit, whether a kernel changed, and how long its findings took."""

    path: Path
    text: str
    changes_kernel: bool
    latency: float = 0.0
    bare: float = 0.0
    jobs: int = 0


@dataclass
class Typist:
    """Makes the texts of one file, one edit from the other."""

    path: Path
    chance: random.Random
    texts: list[str] = field(default_factory=list)

    def edits(self) -> Iterator[Edit]:
        """Edits without end."""
        text = self.path.read_text("utf-8")
        while True:
            first, last, indent = self.chance.choice(_bodies(text))
            lines = text.split("\n")
            row = self.chance.choice(
                [n for n in range(first, last + 1) if lines[n].startswith(indent + lines[n].strip()[:1])]
            )
            statement = self.chance.choice(STATEMENTS)
            typed = 0
            lines.insert(row, indent.rstrip("\n"))
            yield Edit(self.path, "\n".join(lines), changes_kernel=False)
            while typed < len(statement):
                if self.chance.random() < 0.2:
                    yield from self._beside(lines)
                typed += self.chance.choice((1, 1, 2, 4))
                lines[row] = indent + statement[:typed]
                yield Edit(self.path, "\n".join(lines), changes_kernel=True)
            del lines[row]
            # What was typed beside stays: to take it back as well would be an edit in two places at once.
            text = "\n".join(lines)
            yield Edit(self.path, text, changes_kernel=True)

    def _beside(self, lines: list[str]) -> Iterator[Edit]:
        kind = self.chance.choice(("comment", "blank", "end"))
        if kind == "comment":
            row = self.chance.choice([n for n, line in enumerate(lines) if not line.strip()])
            lines[row] = "# a word"
            yield Edit(self.path, "\n".join(lines), changes_kernel=False)
            lines[row] = ""
        elif kind == "blank":
            lines.append("")
        else:
            lines[-1:] = ["# the end", ""]
        yield Edit(self.path, "\n".join(lines), changes_kernel=False)


class Editor:
    """A client whose edits are timed."""

    def __init__(self, python: str, cache: str) -> None:
        self.client = LanguageClient("benchmark", "1")
        self.python, self.cache = python, cache
        self.published: dict[tuple[str, int | None], float] = {}
        self.news = asyncio.Event()

    async def start(
        self, folder: Path, told: Callable[[lsp.PublishDiagnosticsParams], object] = lambda _params: None
    ) -> None:
        """Start a server on a folder; `told` is called with all that is published."""

        @self.client.feature("kernelLs/inactiveRegions")
        @self.client.feature("kernelLs/status")
        def ignored(_params: Any) -> None:
            pass

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.setdefault((params.uri, params.version), time.perf_counter())
            told(params)
            self.news.set()

        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": self.cache}
        command = (sys.executable, "-m", "kernel_ls", "server", "--python", self.python)
        await self.client.start_io(*command, env=environment)
        workspace = lsp.WorkspaceFolder(folder.as_uri(), "corpus")
        await self.client.initialize_async(
            lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), workspace_folders=[workspace])
        )
        self.client.initialized(lsp.InitializedParams())

    async def wait(self, uri: str, version: int) -> float:
        """When the findings of a version were published."""
        deadline = time.monotonic() + 300
        while (uri, version) not in self.published:
            self.news.clear()
            if time.monotonic() > deadline:
                raise SystemExit(f"no findings of version {version} in 300 s")
            await asyncio.wait_for(self.news.wait(), 300)
        return self.published[uri, version]

    async def stop(self) -> None:
        """End the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


def _difference(before: str, after: str) -> lsp.TextDocumentContentChangePartial:
    """One change of whole rows that makes one text of the other, as an editor would send it."""
    old, new = before.split("\n"), after.split("\n")
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    if first == len(old) - last and first == len(new) - last:
        place = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        return lsp.TextDocumentContentChangePartial(place, "")
    if first + last >= min(len(old), len(new)) and first > 0 and last == 0:
        first -= 1
    end = (
        lsp.Position(len(old) - last, 0) if last else lsp.Position(len(old) - 1, len(old[-1].encode("utf-16-le")) // 2)
    )
    inserted = "\n".join(new[first : len(new) - last])
    if last and len(new) - last > first:
        inserted += "\n"
    return lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(first, 0), end), inserted)


async def typed(path: Path, folder: Path, edits: int, seed: int, python: str, cache: str) -> list[Edit]:
    """Type into one file over a connection; the edits with their latencies."""
    editor = Editor(python, cache)
    await editor.start(folder)
    uri, version = path.as_uri(), 1
    text = path.read_text("utf-8")
    editor.client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", version, text))
    )
    await editor.wait(uri, version)
    await asyncio.sleep(5.0)  # the folder is looked through beside the first check
    done = []
    for edit in Typist(path, random.Random(seed)).edits():
        version += 1
        change = _difference(text, edit.text)
        text = edit.text
        started = time.perf_counter()
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        edit.latency = await editor.wait(uri, version) - started
        done.append(edit)
        if len(done) >= edits:
            break
    await editor.stop()
    return done


async def measured(path: Path, folder: Path, edits: list[Edit], python: str) -> None:
    """Fill in how long the bare generator takes for what each edit needed anew."""
    settings = checked(load(folder, command_line={"python": python, "cache": False}))
    project = Project(folder, settings)
    await project.open()
    await project.learn()
    known: set[str] = set()
    asked: list[list[Job]] = []
    stock_check = project.compiler.check

    async def check(job: Job) -> Any:
        if job.key not in known:
            known.add(job.key)
            asked[-1].append(job)
        return await stock_check(job)

    project.compiler.check = check  # type: ignore[method-assign]
    for text in [path.read_text("utf-8"), *(e.text for e in edits)]:
        asked.append([])
        project.put(path.as_posix(), text)
        await project.check(path.as_posix())
    await project.close()
    jobs = [job for some in asked[1:] for job in some]
    results = iter(stock(python, jobs, repeat=3)[0])
    for edit, some in zip(edits, asked[1:], strict=True):
        edit.jobs = len(some)
        edit.bare = sum(next(results)["seconds"] for _ in some)


def _row(name: str, values: list[float]) -> str:
    ordered = sorted(1000 * v for v in values) or [0.0]
    high = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"| {name} | {len(values)} | {statistics.median(ordered):.1f} | {high:.1f} | {ordered[-1]:.1f} |"


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--triton-python", default=sys.executable)
    arguments = parser.parse_args()
    python = arguments.triton_python
    every: list[Edit] = []
    print(
        "| file | lines | edits | jobs | median latency ms | bare ms | median of the rest ms |\n|---|---|---|---|---|---|---|"
    )
    for number, (path, folder) in enumerate(largest(arguments.files)):
        share = arguments.edits // arguments.files
        with tempfile.TemporaryDirectory() as cache:
            edits = asyncio.run(typed(path, folder, share, arguments.seed + number, python, cache))
        asyncio.run(measured(path, folder, edits, python))
        every += edits
        latency, bare = (1000 * statistics.median(v) for v in ([e.latency for e in edits], [e.bare for e in edits]))
        rest = 1000 * statistics.median(e.latency - e.bare for e in edits)
        lines = edits[0].text.count("\n") + 1
        jobs = sum(e.jobs for e in edits)
        print(
            f"| {path.name} | {lines} | {len(edits)} | {jobs} | {latency:.1f} | {bare:.1f} | {rest:.1f} |", flush=True
        )
    changing = [e for e in every if e.jobs]
    idle = [e for e in every if not e.changes_kernel]
    print("\n| milliseconds | edits | median | 99th percentile | longest |\n|---|---|---|---|---|")
    print(_row("to published findings, where code was generated", [e.latency for e in changing]))
    print(_row("of that, the bare generator", [e.bare for e in changing]))
    print(_row("of that, the rest", [e.latency - e.bare for e in changing]))
    print(_row("the rest, over all edits", [e.latency - e.bare for e in every]))
    print(_row("to published findings, no kernel changed", [e.latency for e in idle]))
    print(f"\njobs generated for edits that changed no kernel: {sum(e.jobs for e in idle)}")


if __name__ == "__main__":
    main()
