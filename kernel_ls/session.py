"""The only mutable state: which documents are open at which version, what was found for them, and what is to be checked next.

Nothing here knows a protocol or a clock of its own: texts come in as method calls, findings go out through `Client`, and time
is `Scheduler`'s, so that a test moves it by hand. All methods run in one event loop; none blocks.

The rules, one each:

- a check belongs to the versions of the texts that it read; findings in a text that has moved on are not shown;
- a newer edit of a document ends the check of that document that is running;
- one check at a time in a project, the document that was edited last first; a check that only refreshes a dependent gives way;
- how long an edit waits for the next follows what the last check cost (`Debounce`);
- what was checked again for no edit of its own (a helper's module changed) is a refresh, which the client hears of;
- what features show is read from the last snapshot, whatever runs, and led through the edits since (`views`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.specialize.from_recorded import FILE
from kernel_ls.checker import merge
from kernel_ls.compile.client import WorkerState
from kernel_ls.errors import KernelLsError
from kernel_ls.model import FileReport, Finding, Severity, digest
from kernel_ls.settings import Settings
from kernel_ls.views import Views

log = logging.getLogger("kernel_ls")

_UNUSABLE = ("failed", "no-triton")
_RETRY_SECONDS = 6.0
"""How long after a compiler could not be used it is tried again; each further time after twice as long."""

_LONGEST_RETRY_SECONDS = 60.0


# ------------------------------------------------------------------------------------ what it stands on


class Handle(Protocol):
    """A call that is to happen."""

    def cancel(self) -> None:
        """Let it not happen."""


class Scheduler(Protocol):
    """Time and tasks."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""

    def later(self, delay: float, call: Callable[[], None]) -> Handle:
        """Call `call` in `delay` seconds."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine beside everything else."""


class LoopScheduler:
    """The event loop's own time."""

    def now(self) -> float:
        """See `Scheduler`."""
        return asyncio.get_running_loop().time()

    def later(self, delay: float, call: Callable[[], None]) -> Handle:
        """See `Scheduler`."""
        return asyncio.get_running_loop().call_later(delay, call)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """See `Scheduler`."""
        return asyncio.get_running_loop().create_task(work)


class Client(Protocol):
    """Who is told."""

    def publish(self, path: str, version: int | None, findings: Sequence[Finding]) -> None:
        """The findings of a file; `version` is None for one that is not open."""

    def refreshed(self) -> None:
        """Findings of open documents changed without an edit of theirs: a client that pulls should ask again."""

    def viewed(self, path: str) -> None:
        """What features show of an open document is another than before."""

    def status(self, state: str, message: str) -> None:
        """What the compiler is doing."""

    def problem(self, message: str) -> None:
        """A sentence that the user should see once."""

    def began(self, path: str) -> None:
        """The first check of a document has begun, which may take a while."""

    def ended(self, path: str) -> None:
        """That check has ended, however it did."""


class Engine(Protocol):
    """What checks one folder's files; `project.Project` outside of tests."""

    settings: Settings

    async def check(self, path: str) -> FileReport:
        """Check a file as its text is now."""

    def snapshot(self, path: str) -> Snapshot | None:
        """What the last check of a file left for features."""

    def surroundings(self, path: str) -> tuple[Finding, ...] | Awaitable[tuple[Finding, ...]]:
        """The findings that need no generated code."""

    def put(self, path: str, text: str) -> bool:
        """Show a buffer's text in place of a file's; whether that is another text."""

    def drop(self, path: str) -> bool:
        """Let the disk's text show again; whether that is another text."""

    def touch(self, paths: Iterable[str]) -> None:
        """Files changed on disk."""

    async def ttir(self, reading: Reading) -> None:
        """Generate the TTIR of what a snapshot has."""

    @property
    def state(self) -> WorkerState:
        """What the compiler is doing."""

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """Call at each change of state."""

    def on_learned(self, callback: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        """Call when the folder has been looked through, with the files of which more is known than when they were checked."""

    async def restart(self) -> None:
        """Replace the workers."""

    async def close(self) -> None:
        """End everything."""


LoadSettings = Callable[[Path], Settings]
"""The settings in force for a folder now."""

OpenEngine = Callable[[Path, Settings], Engine]
"""Make the engine of a folder; raises KernelLsError where that cannot be."""


@dataclass(frozen=True, slots=True)
class Debounce:
    """How long an edit waits for the next one: a share of what the last check of the document cost.

    A document whose checks are cheap is checked at once: waiting would cost more than it saves.
    """

    cheap: float = 0.06
    share: float = 0.5
    most: float = 0.5

    def delay(self, cost: float) -> float:
        """Seconds to wait, for the last check's cost in seconds (0 where there was none)."""
        return 0.0 if cost < self.cheap else min(self.most, cost * self.share)


# --------------------------------------------------------------------------------------------- its parts


@dataclass
class _Document:
    path: str
    version: int
    text: str
    folder: Path
    serial: int = 0
    """Counts everything that makes its findings stale: edits of its own and of what it depends on."""
    report: FileReport | None = None
    checked: int = -1
    """The serial that `report` is of."""
    read: Mapping[str, int] = field(default_factory=dict)
    """The versions of the open documents when `report`'s check began."""
    cost: float = 0.0
    timer: Handle | None = None
    waiters: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def is_current(self) -> bool:
        return self.checked == self.serial


@dataclass
class _Folder:
    path: Path
    engine: Engine
    stop: Callable[[], object]
    queue: list[tuple[str, bool]] = field(default_factory=list)
    """What is to be checked, next first; whether for an edit of its own."""
    running: tuple[str, bool] | None = None
    task: asyncio.Task[None] | None = None
    retry: Handle | None = None
    """The next look at a compiler that could not be used."""


class Session:
    """All open documents of one client.

    Args:
        client: who is told.
        load_settings: reads the settings of a folder.
        open_engine: makes what checks a folder.
        root_of: the folder that a file outside of every workspace folder belongs to.
        scheduler: time and tasks.
        debounce: how long edits wait.
    """

    def __init__(
        self,
        client: Client,
        load_settings: LoadSettings,
        open_engine: OpenEngine,
        *,
        root_of: Callable[[Path], Path],
        scheduler: Scheduler | None = None,
        debounce: Debounce | None = None,
    ) -> None:
        self._client = client
        self._load_settings = load_settings
        self._open_engine = open_engine
        self._root_of = root_of
        self._scheduler = scheduler or LoopScheduler()
        self._debounce = debounce or Debounce()
        self._documents: dict[str, _Document] = {}
        self._workspace: list[Path] = []
        self._folders: dict[Path, _Folder] = {}
        self._broken: dict[Path, str] = {}
        self._outside: dict[str, set[str]] = {}
        """For each file that is not open and has findings shown: the documents whose checks found them."""
        self._closing: set[asyncio.Task[None]] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self.views = Views()
        """What features read."""
        self._closed = False
        self._status: tuple[str, str] = ("", "")

    # ------------------------------------------------------------------------------------------- documents

    def opened(self, path: str, version: int, text: str) -> None:
        """A document was opened."""
        if self._outside.pop(path, None):
            # What other files' checks found in it comes again as findings of its version.
            self._client.publish(path, None, ())
        document = _Document(path, version, text, self._folder_of(path))
        self._documents[path] = document
        self.views.opened(path, text)
        folder = self._folder(document.folder)
        if folder is None:
            return
        changed = folder.engine.put(path, text)
        self._show_surroundings(document, folder)
        self._request(document, delay=0.0, own=True)
        if changed:
            # There may be no such file, so that others looked for it in vain.
            self._refresh_dependents({path}, unknown_too=True)

    def changed(self, path: str, version: int, text: str) -> None:
        """A document has another text."""
        document = self._documents.get(path)
        if document is None or version <= document.version:
            return
        document.version = version
        if document.text == text:
            # Nothing to find anew; what was found holds for this version as well.
            if document.is_current:
                document.read = {**document.read, path: version}
                self._publish_around(document)
            return
        document.text = text
        self.views.changed(path, text)
        folder = self._folder(document.folder)
        if folder is None:
            return
        folder.engine.put(path, text)
        # The first edit after a pause is checked at once; who goes on typing waits for the next.
        delay = 0.0 if document.is_current else self._debounce.delay(document.cost)
        self._request(document, delay=delay, own=True)
        self._refresh_dependents({path})

    def closed(self, path: str) -> None:
        """A document was closed: its findings go, and its text on disk is what others see."""
        document = self._documents.pop(path, None)
        if document is None:
            return
        self._forget(document)
        self.views.closed(path)
        self._client.publish(path, None, ())
        self._withdraw(path)
        folder = self._folders.get(document.folder)
        if folder is not None and folder.engine.drop(path):
            self._refresh_dependents({path}, unknown_too=True)
        self._release_unused()

    def saved(self, path: str) -> None:
        """A document was saved: the disk has what the buffer had, so that nothing changes for a check."""
        log.debug("saved %s", path)

    def files_changed(self, paths: Iterable[str]) -> None:
        """Files appeared, changed or went on disk, renamed ones included."""
        touched = {p for p in paths if p not in self._documents}
        # Recorded launches decide what kernels are checked with, as host code does.
        python = {p for p in touched if p.endswith((".py", FILE))}
        if any(Path(p).name == "pyproject.toml" for p in touched):
            self.settings_changed()
        if not python:
            return
        for folder in self._folders.values():
            folder.engine.touch(python)
        # What could not be found may be found now, so that a file nobody depends on yet counts as well.
        self._refresh_dependents(python, unknown_too=True)

    # ---------------------------------------------------------------------------------- folders, settings

    def folders_changed(self, folders: Sequence[Path]) -> None:
        """The workspace's folders are these."""
        self._workspace = list(folders)
        moved = [d for d in self._documents.values() if d.folder != self._folder_of(d.path)]
        for document in moved:
            self._move(document, self._folder_of(document.path))
        self._release_unused()

    def settings_changed(self) -> None:
        """Settings may have changed: where they did, what they decide is decided anew and open documents are checked again."""
        stale = {p for p, f in self._folders.items() if self._load_settings(p) != f.engine.settings} | set(self._broken)
        for path in stale & set(self._folders):
            self._end(path)
        self._broken.clear()
        for document in self._documents.values():
            if document.folder in stale:
                self._move(document, document.folder)

    async def restart_workers(self) -> None:
        """Replace every worker by a fresh one and check everything again: the user's command."""
        for folder in list(self._folders.values()):
            await folder.engine.restart()
        if self._broken:
            self.settings_changed()
        for document in self._documents.values():
            self._request(document, delay=0.0, own=False)

    def _move(self, document: _Document, folder: Path) -> None:
        old = self._folders.get(document.folder)
        if old is not None and document.folder != folder:
            self._forget(document, keep_waiters=True)
            old.engine.drop(document.path)
        document.folder = folder
        new = self._folder(folder)
        if new is not None:
            new.engine.put(document.path, document.text)
            self._request(document, delay=0.0, own=False)

    def _folder_of(self, path: str) -> Path:
        place = Path(path)
        if not place.is_absolute():
            # A buffer that has no file yet: it is about what the workspace is about.
            return self._workspace[0] if self._workspace else Path.cwd()
        inside = [f for f in self._workspace if place.is_relative_to(f)]
        return max(inside, key=lambda f: len(f.parts)) if inside else self._root_of(place)

    def _folder(self, path: Path) -> _Folder | None:
        known = self._folders.get(path)
        if known is not None:
            return known
        try:
            engine = self._open_engine(path, self._load_settings(path))
        except KernelLsError as error:
            if self._broken.get(path) != str(error):
                self._broken[path] = str(error)
                self._client.problem(str(error))
                self._client.status("failed", str(error))
            for document in self._documents.values():
                if document.folder == path:
                    document.report, document.checked = FileReport(document.path), document.serial
                    self._wake(document)
            return None
        stops = (engine.on_state(lambda _state: self._state_changed(path)), engine.on_learned(self._learned))
        folder = _Folder(path, engine, lambda: [stop() for stop in stops])
        self._folders[path] = folder
        for problem in engine.settings.problems:
            self._client.problem(f"{problem.message}; the default is used")
        self._report_state()
        return folder

    def _learned(self, paths: frozenset[str]) -> None:
        """More is known of some files: where their kernels are launched, and who calls their helpers."""
        for path in paths & self._documents.keys():
            self._request(self._documents[path], delay=0.0, own=False)

    def _release_unused(self) -> None:
        """End the workers of folders that are neither the workspace's nor hold an open document."""
        used = {d.folder for d in self._documents.values()} | set(self._workspace)
        for path in [p for p in self._folders if p not in used]:
            self._end(path)

    def _end(self, path: Path) -> None:
        folder = self._folders.pop(path)
        folder.stop()
        if folder.retry is not None:
            folder.retry.cancel()
        folder.queue.clear()
        if folder.task is not None:
            folder.task.cancel()
        task = self._scheduler.spawn(folder.engine.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End everything; nothing is published any more."""
        self._closed = True
        for document in self._documents.values():
            self._forget(document)
        for path in list(self._folders):
            self._end(path)
        await asyncio.gather(*self._closing, return_exceptions=True)

    # ------------------------------------------------------------------------------------------ scheduling

    def _request(self, document: _Document, *, delay: float, own: bool) -> None:
        """Let a document be checked; what runs for an older text of it ends."""
        document.serial += 1
        if document.timer is not None:
            document.timer.cancel()
            document.timer = None
        folder = self._folders.get(document.folder)
        if folder is None:
            return
        if folder.running is not None and folder.task is not None and folder.running[0] == document.path:
            log.debug("superseded %s", document.path)
            folder.task.cancel()
        if delay > 0:

            def ripe() -> None:
                document.timer = None
                self._enqueue(document, own)

            document.timer = self._scheduler.later(delay, ripe)
        else:
            self._enqueue(document, own)

    def _enqueue(self, document: _Document, own: bool) -> None:
        folder = self._folders.get(document.folder)
        if folder is None or self._documents.get(document.path) is not document:
            return
        own = own or (document.path, True) in folder.queue
        folder.queue = [entry for entry in folder.queue if entry[0] != document.path]
        if own:
            folder.queue.insert(0, (document.path, True))
            running = folder.running
            if running is not None and not running[1] and running[0] != document.path and folder.task is not None:
                # Someone waits for this one, and for the other nobody does: it starts over later.
                folder.queue.append(running)
                folder.task.cancel()
        else:
            folder.queue.append((document.path, False))
        self._start(folder)

    def _start(self, folder: _Folder) -> None:
        if folder.task is None and folder.queue and not self._closed and self._folders.get(folder.path) is folder:
            path, own = folder.queue.pop(0)
            folder.running = (path, own)
            folder.task = self._scheduler.spawn(self._run(folder, path, own))
            folder.task.add_done_callback(lambda _task: self._ran(folder))

    def _ran(self, folder: _Folder) -> None:
        folder.task = folder.running = None
        self._start(folder)

    async def _run(self, folder: _Folder, path: str, own: bool) -> None:
        document = self._documents.get(path)
        if document is None or document.is_current:
            return
        serial = document.serial
        versions = {p: d.version for p, d in self._documents.items()}
        first = document.report is None
        started = self._scheduler.now()
        log.debug("checking %s, version %s", path, document.version)
        if first:
            self._client.began(path)
        try:
            report = await folder.engine.check(path)
        except asyncio.CancelledError:
            raise
        except KernelLsError as error:
            self._client.problem(str(error))
            report = FileReport(path)
        except Exception:
            # A defect in a rule must cost this answer, not the server.
            log.exception("the check of %s failed", path)
            self._client.problem(f"internal error while checking {Path(path).name}; the log has the details")
            report = FileReport(path, findings=document.report.findings if document.report else ())
        finally:
            if first:
                self._client.ended(path)
        if self._closed or self._documents.get(path) is not document or document.serial != serial:
            return
        document.cost = self._scheduler.now() - started
        before = document.report
        document.report, document.checked, document.read = report, serial, versions
        log.debug(
            "checked %s, version %s in %.3f s: %d findings", path, document.version, document.cost, len(report.findings)
        )
        self.views.took(path, folder.engine.snapshot(path))
        # First: who waits has its answer, whatever becomes of what is sent.
        self._wake(document)
        self._publish_around(document)
        self._client.viewed(path)
        if not own and (before is None or before.findings != report.findings):
            self._client.refreshed()

    def _refresh_dependents(self, paths: set[str], *, unknown_too: bool = False) -> None:
        """Check the open documents again whose last check read one of the files."""
        for document in self._documents.values():
            if document.path in paths or document.report is None:
                continue
            if paths & set(document.report.dependencies) or unknown_too:
                self._request(document, delay=self._debounce.delay(document.cost), own=False)

    def _forget(self, document: _Document, *, keep_waiters: bool = False) -> None:
        if document.timer is not None:
            document.timer.cancel()
            document.timer = None
        folder = self._folders.get(document.folder)
        if folder is not None:
            folder.queue = [entry for entry in folder.queue if entry[0] != document.path]
            if folder.running is not None and folder.running[0] == document.path and folder.task is not None:
                folder.task.cancel()
        if not keep_waiters:
            self._wake(document)

    # ------------------------------------------------------------------------------------------- answering

    def choose(self, path: str, kernel: str, key: str) -> bool:
        """The user chose a kernel's specialization by its key, or none by an empty one; whether that changes anything."""
        changed = self.views.choose(path, kernel, key)
        if changed:
            self._client.viewed(path)
        return changed

    def version(self, path: str) -> int | None:
        """The version of an open document."""
        document = self._documents.get(path)
        return document.version if document is not None else None

    async def findings(self, path: str) -> tuple[tuple[Finding, ...], str] | None:
        """The findings of an open document as it is now, once they are known, and a digest of them.

        None where the document was closed meanwhile. Raises `Superseded` where it was edited meanwhile.
        """
        document = self._documents.get(path)
        if document is None:
            return None
        version = document.version
        while not document.is_current:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            document.waiters.append(waiter)
            await waiter
            if self._documents.get(path) is not document:
                return None
            if document.version != version:
                raise Superseded
        findings = self.shown(path)
        return findings, digest([repr(f) for f in findings])

    def report(self, path: str) -> FileReport | None:
        """The last report of an open document, whichever version it is of."""
        document = self._documents.get(path)
        return document.report if document is not None else None

    def engine_of(self, path: str) -> Engine | None:
        """What checks a file, if it runs."""
        folder = self._folders.get(self._folder_of(path))
        return folder.engine if folder is not None else None

    def shown(self, path: str) -> tuple[Finding, ...]:
        """The findings that stand for a file: of every check that read its present text."""
        found: list[Finding] = []
        own = self._documents.get(path)
        for document in self._documents.values():
            if document.report is None or not document.is_current:
                continue
            if own is not None and document is not own and document.read.get(path, own.version) != own.version:
                continue
            found += (f for f in document.report.findings if f.location.path == path)
        return merge(found)

    def _publish_around(self, document: _Document) -> None:
        """Publish a document's findings, and those that its check found in other files."""
        self._client.publish(document.path, document.version, self.shown(document.path))
        report = document.report
        elsewhere = {f.location.path for f in report.findings if f.severity is not Severity.INFO} if report else set()
        elsewhere.discard(document.path)
        for path in elsewhere:
            other = self._documents.get(path)
            if other is None:
                self._outside.setdefault(path, set()).add(document.path)
                self._client.publish(path, None, self.shown(path))
            elif other.is_current:
                self._client.publish(path, other.version, self.shown(path))
                self._client.refreshed()
        self._withdraw(document.path, keep=elsewhere)

    def _withdraw(self, found_by: str, keep: Iterable[str] = ()) -> None:
        """Take back what a document's earlier check showed in files that are not open."""
        for path, finders in list(self._outside.items()):
            if found_by in finders and path not in keep:
                finders.discard(found_by)
                if path not in self._documents:
                    self._client.publish(path, None, self.shown(path))
                if not finders:
                    del self._outside[path]

    def _show_surroundings(self, document: _Document, folder: _Folder) -> None:
        """What needs no generated code is shown at once when a document is opened.

        Not after an edit: until the check ends, that would take away what the edit left standing.
        """
        try:
            findings = folder.engine.surroundings(document.path)
        except Exception:
            log.exception("the surroundings of %s could not be checked", document.path)
            return
        if isinstance(findings, tuple):
            self._publish_surroundings(document, findings)
            return
        waited, serial = findings, document.serial

        async def show() -> None:
            try:
                found = await waited
            except Exception:
                log.exception("the surroundings of %s could not be checked", document.path)
                return
            # Until the first check has ended, or the text has moved on: then there is something better to show.
            current = self._documents.get(document.path) is document and document.serial == serial + 1
            if current and document.report is None and not self._closed:
                self._publish_surroundings(document, found)

        task = self._scheduler.spawn(show())
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    def _publish_surroundings(self, document: _Document, findings: Iterable[Finding]) -> None:
        own = [f for f in findings if f.location.path == document.path]
        if own:
            self._client.publish(document.path, document.version, own)

    def _wake(self, document: _Document) -> None:
        for waiter in document.waiters:
            if not waiter.done():
                waiter.set_result(None)
        document.waiters.clear()

    def _state_changed(self, path: Path) -> None:
        """A compiler changed its state. One that cannot be used is tried again from time to time: Triton may be installed by then."""
        self._report_state()
        folder = self._folders.get(path)
        if folder is None:
            return
        kind = folder.engine.state.kind
        if kind in _UNUSABLE and folder.retry is None:
            self._try_again(folder, _RETRY_SECONDS)
        elif kind in ("ready", "busy") and folder.retry is not None:
            folder.retry.cancel()
            folder.retry = None

    def _try_again(self, folder: _Folder, delay: float) -> None:
        def ripe() -> None:
            folder.retry = None
            if self._folders.get(folder.path) is folder and folder.engine.state.kind in _UNUSABLE:
                self._try_again(folder, min(2 * delay, _LONGEST_RETRY_SECONDS))
                # By itself: the checks may all be answered by a cache, and the failure would be shown for good.
                task = self._scheduler.spawn(folder.engine.restart())
                self._asides.add(task)
                task.add_done_callback(self._asides.discard)
                for document in self._documents.values():
                    if document.folder == folder.path:
                        self._request(document, delay=0.0, own=False)

        folder.retry = self._scheduler.later(delay, ripe)

    def _report_state(self) -> None:
        states = [folder.engine.state for folder in self._folders.values()]
        if not states:
            return
        order = ("failed", "no-triton", "restarting", "starting", "busy", "ready", "stopped")
        state = min(states, key=lambda s: order.index(s.kind))
        message = f"{state.message}: {state.next_step}" if state.message and state.next_step else state.message
        if not message and state.triton:
            message = f"Triton {state.triton} of {state.python}"
        if self._status != (state.kind, message) and not self._closed:
            self._status = (state.kind, message)
            self._client.status(state.kind, message)


class Superseded(Exception):
    """The document was edited while its findings were waited for."""
