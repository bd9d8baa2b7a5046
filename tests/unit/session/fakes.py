"""A checker that waits at a gate, a clock that a test moves by hand, and a client that keeps what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from kernel_ls.compile.client import WorkerState
from kernel_ls.model import FileReport, Finding, Location, Severity, Span
from kernel_ls.session import Session
from kernel_ls.settings import Settings


class HandClock:
    """A scheduler whose time stands still until the test moves it."""

    def __init__(self) -> None:
        self.time = 0.0
        self.calls: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0
        self._cancelled: set[int] = set()

    def now(self) -> float:
        return self.time

    def later(self, delay: float, call: Callable[[], None]) -> Any:
        self._serial += 1
        serial = self._serial
        self.calls.append((self.time + delay, serial, call))

        class Handle:
            def cancel(_self) -> None:
                self._cancelled.add(serial)

        return Handle()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def move(self, seconds: float) -> None:
        """Let time pass: what is due is called, in order."""
        self.time += seconds
        due = sorted(c for c in self.calls if c[0] <= self.time + 1e-9)
        self.calls = [c for c in self.calls if c not in due]
        for _, serial, call in due:
            if serial not in self._cancelled:
                call()


def finding(path: str, line: int, text: str = "x", *, code: str = "undefined-name") -> Finding:
    return Finding(code, Severity.ERROR, text, Location(path, Span.of(line, 0, line, 1)))


class FakeEngine:
    """Finds `undefined-name` on each line that says `bad`; `bad@PATH` puts it in the first line of another file.

    A line `use PATH` is a dependency. With the gate closed a check waits until the test opens it.
    """

    def __init__(self, folder: Path, settings: Settings, clock: HandClock) -> None:
        self.folder = folder
        self.settings = settings
        self.clock = clock
        self.buffers: dict[str, str] = {}
        self.disk: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.started: list[tuple[str, str]] = []
        self.finished: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self.seconds = 0.0
        self.closed = False
        self.restarts = 0
        self.failure: Exception | None = None
        self.shown = WorkerState("stopped")
        self.callbacks: list[Callable[[WorkerState], None]] = []

    def text(self, path: str) -> str:
        return self.buffers.get(path, self.disk.get(path, ""))

    async def check(self, path: str) -> FileReport:
        text = self.text(path)
        self.started.append((path, text))
        try:
            # A check reads its text when it begins; what it finds later is of that text.
            await asyncio.sleep(0)
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(path)
            raise
        if self.failure is not None:
            raise self.failure
        self.clock.time += self.seconds
        self.finished.append((path, text))
        found, uses = [], []
        for number, line in enumerate(text.splitlines()):
            if line == "bad":
                found.append(finding(path, number))
            elif line.startswith("bad@"):
                found.append(finding(line[4:], 0, f"from {path}"))
            elif line.startswith("use "):
                uses.append(line[4:])
                if "broken" in self.text(line[4:]):
                    found.append(finding(path, number, "helper"))
        return FileReport(path, (), tuple(found), tuple(uses))

    def snapshot(self, _path: str) -> None:
        return None

    def surroundings(self, path: str) -> tuple[Finding, ...]:
        return tuple(
            finding(path, n, code="syntax-error")
            for n, line in enumerate(self.text(path).splitlines())
            if line == "syntax"
        )

    def put(self, path: str, text: str) -> bool:
        before = self.text(path)
        self.buffers[path] = text
        return before != text

    def drop(self, path: str) -> bool:
        before = self.text(path)
        self.buffers.pop(path, None)
        return before != self.text(path)

    def touch(self, paths: Iterable[str]) -> None:
        pass

    @property
    def state(self) -> WorkerState:
        return self.shown

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def on_learned(self, callback: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        self.learned = callback
        return lambda: None

    def enter(self, state: WorkerState) -> None:
        self.shown = state
        for callback in self.callbacks:
            callback(state)

    async def restart(self) -> None:
        self.restarts += 1

    async def close(self) -> None:
        self.closed = True


class FakeClient:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.published: list[tuple[str, int | None, tuple[Finding, ...]]] = []
        self.refreshes = 0
        self.viewings: list[str] = []
        self.states: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.running: set[str] = set()

    def publish(self, path: str, version: int | None, findings: Sequence[Finding]) -> None:
        self.published.append((path, version, tuple(findings)))

    def refreshed(self) -> None:
        self.refreshes += 1

    def viewed(self, path: str) -> None:
        self.viewings.append(path)

    def status(self, state: str, message: str) -> None:
        self.states.append((state, message))

    def problem(self, message: str) -> None:
        self.problems.append(message)

    def began(self, path: str) -> None:
        self.running.add(path)

    def ended(self, path: str) -> None:
        self.running.discard(path)

    def last(self, path: str) -> tuple[int | None, list[tuple[str, int]]]:
        """The version and the (code, line) pairs that the user sees for a file."""
        for shown, version, findings in reversed(self.published):
            if shown == path:
                return version, [(f.code, f.location.span.start.line) for f in findings]
        raise AssertionError(f"nothing was published for {path}")


class Bench:
    """A session with everything fake around it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.client = FakeClient()
        self.engines: dict[Path, FakeEngine] = {}
        self.settings: dict[Path, Settings] = {}
        self.made: list[FakeEngine] = []
        self.refuse: Exception | None = None
        self.session = Session(
            self.client,
            lambda folder: self.settings.get(folder, Settings()),
            self._open,
            root_of=lambda path: path.parent,
            scheduler=self.clock,
        )

    def _open(self, folder: Path, settings: Settings) -> FakeEngine:
        if self.refuse is not None:
            raise self.refuse
        engine = FakeEngine(folder, settings, self.clock)
        self.engines[folder] = engine
        self.made.append(engine)
        return engine

    @property
    def engine(self) -> FakeEngine:
        return self.made[-1]

    async def settle(self) -> None:
        """Let every task run as far as it gets."""
        for _ in range(30):
            await asyncio.sleep(0)
