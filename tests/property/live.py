"""A session over a folder with the real checker and worker, driven step by step, and a fresh one to compare it with."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernel_ls import settings
from kernel_ls.background import Background
from kernel_ls.model import Finding
from kernel_ls.session import Debounce, Session, Superseded

SECONDS = 60.0

KERNELS = """\
import triton
import triton.language as tl

from helpers import SCALE, doubled

LIMIT = 4


@triton.jit
def scaled(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, doubled(x) * SCALE, mask=offs < n)


@triton.jit
def wrong(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = 0
    for i in range(0, n):
        acc += tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, acc * LIMIT + nothing)
"""

HELPERS = """\
import triton
import triton.language as tl

SCALE = tl.constexpr(0.5)


@triton.jit
def doubled(x):
    return x * 2


@triton.jit
def dotted(a, b):
    return tl.dot(a, b)
"""

LAUNCH = """\
import torch

from kernels import scaled, wrong


def run(x):
    scaled[(1,)](x, x.numel(), BLOCK=128)
    wrong[(1,)](x, 4, BLOCK=48)
"""

USES = """\
import triton
import triton.language as tl
from helpers import dotted


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    at = o[:, None] * N + o[None, :]
    tl.store(c_ptr + at, dotted(tl.load(a_ptr + at), tl.load(b_ptr + at)))
"""

FILES = {"kernels.py": KERNELS, "helpers.py": HELPERS, "launch.py": LAUNCH, "uses.py": USES}
PROJECT = '[project]\nname = "project"\n'


class Screen:
    """What a client shows: the last findings of each file, and what was said of the compiler."""

    def __init__(self) -> None:
        self.shown: dict[str, tuple[int | None, tuple[Finding, ...]]] = {}
        self.states: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.said = asyncio.Event()

    def publish(self, path: str, version: int | None, findings: Sequence[Finding]) -> None:
        self.shown[path] = (version, tuple(findings))
        self.said.set()

    def refreshed(self) -> None:
        pass

    def viewed(self, path: str) -> None:
        pass

    def status(self, state: str, message: str) -> None:
        self.states.append((state, message))
        self.said.set()

    def problem(self, message: str) -> None:
        self.problems.append(message)

    def began(self, path: str) -> None:
        pass

    def ended(self, path: str) -> None:
        pass


@dataclass
class Live:
    """A session of one folder. Paths are names in it."""

    root: Path
    cache: Path
    python: str = sys.executable
    screen: Screen = field(default_factory=Screen)
    texts: dict[str, str] = field(default_factory=dict)
    """The open documents."""
    version: int = 0

    def __post_init__(self) -> None:
        def load(folder: Path) -> settings.Settings:
            line = {"cache-dir": str(self.cache), "python": self.python}
            return settings.load(folder, client={}, command_line=line, client_python="")

        self.session = Session(
            self.screen, load, Background, root_of=lambda path: self.root, debounce=Debounce(cheap=1e9)
        )
        self.session.folders_changed([self.root])

    def path(self, name: str) -> str:
        """A file's path as the session knows it."""
        return (self.root / name).as_posix()

    @property
    def engine(self) -> Background | None:
        """What checks the folder, once a document was opened."""
        found = self.session.engine_of(self.path("kernels.py"))
        assert found is None or isinstance(found, Background)
        return found

    # ------------------------------------------------------------------------------------------ what people do

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file, with its text on disk unless another is given."""
        if text is None:
            file = self.root / name
            text = file.read_text("utf-8") if file.is_file() else ""
        self.version += 1
        self.texts[name] = text
        self.session.opened(self.path(name), self.version, text)

    def edit(self, name: str, text: str) -> None:
        """Give an open document another text."""
        self.version += 1
        self.texts[name] = text
        self.session.changed(self.path(name), self.version, text)

    def close(self, name: str) -> None:
        """Close a document."""
        del self.texts[name]
        self.session.closed(self.path(name))

    def save(self, name: str) -> None:
        """Write a document to disk, as an editor does that watches files."""
        self.write(name, self.texts[name])
        self.session.saved(self.path(name))

    def write(self, name: str, text: str | None) -> None:
        """Write or delete a file on disk; whoever watches is told."""
        file = self.root / name
        if text is None:
            file.unlink(missing_ok=True)
        else:
            with file.open("w", encoding="utf-8", newline="") as stream:
                stream.write(text)
        self.session.files_changed([self.path(name)])

    def rename(self, old: str, new: str) -> None:
        """Rename a file on disk."""
        if (self.root / old).is_file():
            (self.root / old).replace(self.root / new)
        self.session.files_changed([self.path(old), self.path(new)])

    def kill_worker(self) -> None:
        """End the worker as the system would."""
        pid = self.engine.state.pid if self.engine is not None else 0
        if pid:
            os.kill(pid, signal.SIGKILL)

    # ------------------------------------------------------------------------------------------ what is shown

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that the session says."""
        while not holds():
            self.screen.said.clear()
            await self.screen.said.wait()

    async def settled(self) -> None:
        """Wait until nothing is to be checked or learned any more."""
        while True:
            before = dict(self.screen.shown)
            await asyncio.wait_for(self._current(), SECONDS)
            if self.engine is not None:
                await asyncio.wait_for(self._learned(self.engine), SECONDS)
            await asyncio.wait_for(self._current(), SECONDS)
            if before == self.screen.shown:
                return

    async def _current(self) -> None:
        for name in list(self.texts):
            while True:
                try:
                    await self.session.findings(self.path(name))
                except Superseded:
                    continue
                break
        # Refreshes that a finished check asked for are in the queue by now.
        await asyncio.sleep(0)
        documents = self.session._documents.values()
        if not all(document.is_current for document in documents):
            await self._current()

    @staticmethod
    async def _learned(engine: Background) -> None:
        async def wait() -> None:
            if engine._learning is not None:
                await asyncio.gather(engine._learning, return_exceptions=True)

        await engine._do(wait())
        # What it told was put into this loop before.
        await asyncio.sleep(0)

    def shown(self) -> dict[str, list[str]]:
        """The findings of the open documents, whole, by name."""
        found = {name: self.screen.shown.get(self.path(name), (None, ()))[1] for name in self.texts}
        return {name: sorted(repr(f) for f in findings) for name, findings in found.items()}

    async def fresh(self) -> dict[str, list[str]]:
        """What a session that has just begun shows for the same texts."""
        other = Live(self.root, self.cache, self.python)
        for name, text in self.texts.items():
            other.open(name, text)
        await other.settled()
        shown = other.shown()
        await other.session.close()
        return shown
