"""A project that works in a thread of its own, so that who serves an editor never waits for a check.

Evaluating a file's environment or planning a large kernel holds Python for hundreds of milliseconds; an event loop that
did it between two requests would let every request wait as long. So the project lives in the event loop of its own
thread, everything it does is done there, and the session sees it as an `Engine`: texts are posted in order, answers are
awaited, and what a check leaves for features (`Snapshot`) is frozen and read from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.compile.client import WorkerState
from kernel_ls.model import FileReport, Finding, Fix
from kernel_ls.project import Project
from kernel_ls.settings import Settings
from kernel_ls.sources import FileSystemProvider

COLLECT = ("reached", "types")
"""What an editor wants to know of every kernel. The TTIR needs every pass over loops that Triton makes: it follows when nobody types."""

_BREATH_SECONDS = 0.03
"""How long after a check what features read is computed ahead: first, who serves the client sends the findings."""

_IDLE_SECONDS = 0.5
"""How long after a check the TTIR is generated."""

_WORKERS = min(2, os.cpu_count() or 1)
"""Workers of a folder: the specializations of a kernel are generated side by side. Each holds some 150 MB."""

T = TypeVar("T")


class Background:
    """See the module's docstring. An `Engine` of `session`.

    Args:
        folder: the project's root.
        settings: the settings in force.

    Raises:
        InterpreterNotFound: there is no such interpreter.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings = settings
        self._project = Project(folder, settings, workers=_WORKERS, collect=COLLECT)
        self._disk = FileSystemProvider([folder.as_posix()])
        self._buffers: dict[str, str] = {}
        self._snapshots: dict[str, Snapshot | None] = {}
        self._warming: asyncio.Task[None] | None = None
        self._learning: asyncio.Task[None] | None = None
        self._stale = True
        """Whether files changed on disk since the folder was looked through."""
        self._starting: asyncio.Task[None] | None = None
        self._checked: set[str] = set()
        self._told: list[Callable[[frozenset[str]], None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name=f"kernel-ls {folder.name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _post(self, call: Callable[..., object], *arguments: object) -> None:
        # The loop has ended where the session is closing.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    # -------------------------------------------------------------------------------------------- checking

    async def check(self, path: str) -> FileReport:
        """See `session.Engine`."""
        report, snapshot = await self._do(self._examine(path))
        self._snapshots[path] = snapshot
        return report

    async def _examine(self, path: str) -> tuple[FileReport, Snapshot | None]:
        before = self._project.triton_stamp
        if self._warming is not None:
            self._warming.cancel()
        report, snapshot = await self._project.examine(path)
        if before and self._project.triton_stamp != before:
            # The other files' findings are of the Triton before.
            self._tell(frozenset(self._checked - {path}))
        if snapshot is not None:
            earlier = self._snapshots.get(path)
            if earlier is not None:
                snapshot.follow(earlier)
            self._warming = asyncio.ensure_future(self._warm(snapshot))
        self._checked.add(path)
        if self._learning is None:
            # The first findings may all come from the cache; what is typed next will not.
            self._starting = asyncio.ensure_future(self._project.start())
            # The first findings do not wait for the rest of the folder; what it says of them is added later.
            self._learning = asyncio.ensure_future(self._learn())
        return report, snapshot

    async def _learn(self) -> None:
        while self._stale:
            self._stale = False
            await self._project.learn()
        self._tell(self._project.outdated())

    def _tell(self, paths: frozenset[str]) -> None:
        for tell in self._told if paths else ():
            tell(paths)

    def snapshot(self, path: str) -> Snapshot | None:
        """See `session.Engine`."""
        return self._snapshots.get(path)

    async def surroundings(self, path: str) -> tuple[Finding, ...]:
        """See `session.Engine`."""
        return await self.ask(lambda project: project.surroundings(path))

    async def fixes(self, path: str, first: int, last: int) -> list[tuple[Finding, Fix]]:
        """See `Project.fixes`."""
        return await self._do(self._project.fixes(path, first, last))

    async def _warm(self, snapshot: Snapshot) -> None:
        """Compute ahead what features read, letting the next check go first between two steps."""
        await asyncio.sleep(_BREATH_SECONDS)
        for _ in snapshot.warm():
            await asyncio.sleep(0)
        await asyncio.sleep(_IDLE_SECONDS)
        for number, view in enumerate(snapshot.kernels):
            if view.trials and view.function.path == snapshot.path:
                await self._project.ttir(snapshot.reading(number, view.index()))

    async def ttir(self, reading: Reading) -> None:
        """See `session.Engine`."""
        await self._do(self._project.ttir(reading))

    async def ask(self, question: Callable[[Project], T]) -> T:
        """Let the project's thread answer a question about the project."""

        async def answer() -> T:
            self._project.look_again()
            return question(self._project)

        return await self._do(answer())

    # --------------------------------------------------------------------------------------------- changes

    def put(self, path: str, text: str) -> bool:
        """See `session.Engine`."""
        before = self._text(path)
        self._buffers[path] = text
        self._post(self._put, path, text)
        return before != text

    def _put(self, path: str, text: str) -> None:
        self._project.put(path, text)
        self._tell(self._project.outdated(path))

    def drop(self, path: str) -> bool:
        """See `session.Engine`."""
        before = self._buffers.pop(path, None)
        self._snapshots.pop(path, None)
        self._post(self._drop, path)
        return before is not None and before != self._text(path)

    def _drop(self, path: str) -> None:
        self._project.drop(path)
        self._checked.discard(path)
        self._tell(self._project.outdated(path))
        # It may have been saved while it was open, which nobody has looked at on disk.
        self._learn_again()

    def touch(self, paths: Iterable[str]) -> None:
        """See `session.Engine`."""
        self._post(self._touch, list(paths))

    def _touch(self, paths: list[str]) -> None:
        self._project.touch(paths)
        self._learn_again()

    def _learn_again(self) -> None:
        # What changes while the folder is looked through is looked at again after it.
        self._stale = True
        if self._learning is not None and self._learning.done():
            self._learning = asyncio.ensure_future(self._learn())

    def _text(self, path: str) -> str | None:
        return self._buffers[path] if path in self._buffers else self._disk.read(path)

    # ---------------------------------------------------------------------------------------------- worker

    @property
    def state(self) -> WorkerState:
        """See `session.Engine`."""
        return self._project.state

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """See `session.Engine`. The callback is called in the caller's event loop."""
        loop = asyncio.get_running_loop()

        def forward(state: WorkerState) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(callback, state)

        return self._project.on_state(forward)

    def on_learned(self, callback: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        """See `session.Engine`. The callback is called in the caller's event loop."""
        loop = asyncio.get_running_loop()

        def forward(paths: frozenset[str]) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(callback, paths)

        self._told.append(forward)
        return lambda: self._told.remove(forward)

    async def restart(self) -> None:
        """See `session.Engine`."""
        await self._do(self._project.restart())

    async def _end(self) -> None:
        for task in (self._warming, self._learning, self._starting):
            if task is not None:
                task.cancel()
        await self._project.close()

    async def close(self) -> None:
        """End the workers and the thread."""
        await self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, 5.0)
