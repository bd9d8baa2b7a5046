"""One folder of code that is checked under one set of settings: its texts, its environment, its compiler, its checker.

The CLI opens one project for a run, the session one for each workspace folder. What both show the user (suppressions,
`select`, `ignore`, per-file ignores) is decided here, so that an editor and a terminal never differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pathspec

from kernel_ls.analysis import rules, suppressions
from kernel_ls.analysis.environment import TritonApi, Workspace
from kernel_ls.analysis.features.snapshot import KernelView, Reading, Snapshot
from kernel_ls.analysis.specialize.from_recorded import FILE, Recorded, records
from kernel_ls.analysis.symbols import Symbol, symbols
from kernel_ls.checker import Checker, CheckOptions, KernelCheck
from kernel_ls.compile import interpreter, remembered
from kernel_ls.compile.cache import ResultCache
from kernel_ls.compile.client import Compiler, WorkerCompiler, WorkerState
from kernel_ls.compile.importing import import_values
from kernel_ls.compile.pool import CachedCompiler, CompilerPool
from kernel_ls.compile.process import PythonEnvironment
from kernel_ls.errors import KernelLsError
from kernel_ls.kept_learnt import LearntStore
from kernel_ls.kept_reports import ReportStore, own_stamp
from kernel_ls.model import FileReport, Finding, Fix, Job, KernelReport, Severity, digest
from kernel_ls.neighbours import Neighbours
from kernel_ls.settings import Settings
from kernel_ls.sources import FileSystemProvider

ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


class Project:
    """A folder's code, checked on demand.

    Args:
        folder: the project's root; imports are looked up there first, patterns of settings are relative to it.
        settings: the settings in force.
        workers: how many worker processes may run at a time.
        prove_fixes: whether reports come with fixes.
        environment_mode: `import` also imports modules whose names cannot be known by reading. **Runs their code.**
        collect: what the generator is asked for beside faults (`CheckOptions.collect`).
        compiler: who compiles; by default worker processes under the interpreter that the settings mean. Owned.

    Raises:
        InterpreterNotFound: there is no such interpreter.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        workers: int = 1,
        compiler: Compiler | None = None,
        prove_fixes: bool = False,
        environment_mode: Literal["static", "import"] = "static",
        collect: tuple[str, ...] = ("reached",),
    ) -> None:
        self.collect = collect
        self.folder = folder
        self.settings = settings
        self.prove_fixes = prove_fixes
        self.environment_mode = environment_mode
        self._imported: dict[str, str | None] = {}
        """The text of each file when its module was imported."""
        self.import_problems: dict[str, str] = {}
        """Why the module of a file could not be imported."""
        self.environment: PythonEnvironment | None = None
        """The interpreter's, once it is known."""
        self._stamp: tuple[int, ...] = ()
        """Of the Triton that `environment` and the workspace are of."""
        self.problem: KernelLsError | None = None
        """Why there is no usable Triton, or None."""
        self.interpreter = interpreter.Interpreter("", "given")
        self._cache: ResultCache | None = None
        self._workers: list[WorkerCompiler] = []
        self._recorded = ""
        """The text of the recorded launches that the checker knows."""
        self.compiler = compiler or self._make_compiler(workers)
        self.sources = FileSystemProvider([folder.as_posix()], steady=True)
        self._store: ReportStore | None = None
        self._learnt: LearntStore | None = None
        self._read: dict[str, str | None] = {}
        self._checks: dict[str, tuple[KernelCheck, ...]] = {}
        """What the last check of a file saw of its kernels."""
        self._named: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        """For each checked file: the names of its jit functions, and the files that held one when it was checked."""
        self.neighbours = Neighbours(folder, settings.exclude)
        self.workspace = Workspace(self.sources)
        self.checker = Checker(self.compiler, self.workspace, self._options())
        self._opening = asyncio.Lock()
        self._known_codes = frozenset((*rules.registry(), suppressions.UNUSED))
        self._ignores = [
            (pathspec.PathSpec.from_lines("gitignore", [pattern]), frozenset(codes))
            for pattern, codes in settings.per_file_ignores
        ]

    def _make_compiler(self, workers: int) -> Compiler:
        settings = self.settings
        self.interpreter = interpreter.resolve(
            setting=settings.python, client=settings.client_python, folders=[self.folder]
        )
        cache_dir = settings.cache_folder
        self._workers = [
            WorkerCompiler(self.interpreter.path, cache_dir=cache_dir, start_deadline=settings.start_deadline)
            for _ in range(max(1, workers))
        ]
        compiler: Compiler = self._workers[0]
        if len(self._workers) > 1:
            compiler = CompilerPool(list(self._workers))
        if settings.cache:
            self._cache = ResultCache(cache_dir, max_bytes=settings.cache_size << 20)
            compiler = CachedCompiler(compiler, self._cache)
        return compiler

    def _options(self) -> CheckOptions:
        settings = self.settings
        return CheckOptions(
            targets=settings.targets,
            triton_version=self.environment.triton if self.environment else "",
            budget_seconds=settings.budget,
            kernel_seconds=settings.deadline,
            concurrency=max(1, len(self._workers)),
            prove_fixes=self.prove_fixes,
            collect=self.collect,
        )

    # ------------------------------------------------------------------------------------------ checking

    async def open(self) -> None:
        """Learn what the interpreter and its Triton are, again where they were replaced.

        Raises:
            KernelLsError: there is no usable Triton.
        """
        async with self._opening:
            try:
                environment = await self.compiler.environment()
                stamp = remembered.stamp(environment)
                if self.environment == environment and self._stamp == stamp:
                    self.problem = None
                    return
                manifest = await self.compiler.api()
            except KernelLsError as error:
                self.problem = error
                raise
            self.problem = None
            self.environment, self._stamp = environment, stamp
            self.sources.set_python_path(environment.path)
            self.workspace = Workspace(self.sources, TritonApi(manifest), self.settings.targets[0])
            self.checker = Checker(self.compiler, self.workspace, self._options())
            self._recorded = ""
            self._read_records()

    @property
    def triton_stamp(self) -> tuple[int, ...]:
        """Tells the Triton that findings are of from one that is installed in its place; empty before the first is known."""
        return self._stamp

    async def check(self, path: str, kernels: set[str] | None = None) -> FileReport:
        """Check a file, or some kernels of it, with everything that hides findings applied.

        Without a usable Triton the findings around the kernels are all there is, and every kernel is `unknown`.
        """
        kept = self._kept_report(path) if kernels is None else None
        if kept is not None:
            return kept
        report, _ = await self.examine(path, kernels)
        if kernels is None:
            self._keep(path, report)
        return report

    def _kept_report(self, path: str) -> FileReport | None:
        store = self._store
        return store.get(path) if store is not None else None

    def _keep(self, path: str, report: FileReport) -> None:
        if self._store is None:
            return
        names = {f.jit.name for f in self.workspace.functions(path)}
        others = {path}
        if names:
            others |= self.neighbours.naming(names) | self.workspace.dependents(path)
        read = {file for other in others for file in self.workspace.dependencies(other)}
        if self._learnt is not None:
            self._learnt.keep(path, self.workspace, self.checker.launches)
        self._store.put(path, report, read | {self.records_path}, names)

    def keep_reports(self) -> None:
        """Keep whole reports in the cache, and answer from there: for a run whose texts do not change while it lasts."""
        environment = self.environment
        if self._cache is None or environment is None or self.environment_mode == "import":
            return
        stamp = Path(environment.triton_path, "__init__.py")
        built = stamp.stat().st_mtime_ns if stamp.is_file() else 0
        context = [
            environment.executable,
            environment.triton,
            environment.triton_path,
            built,
            repr(self._options()),
            repr(self.settings),
            self.neighbours.files(),
            own_stamp(),
        ]
        whole = digest([*context, sorted(self.checker.checked_elsewhere)])
        self._store = ReportStore(self._cache, whole, self.sources.read, self.neighbours.naming)
        self._learnt = LearntStore(self._cache, digest(context), self._store.digest)

    async def examine(self, path: str, kernels: set[str] | None = None) -> tuple[FileReport, Snapshot | None]:
        """Check a file as `check` does; the report, and what features read (None without a usable Triton)."""
        try:
            await self.open()
        except KernelLsError:
            return self._without_triton(path), None
        report, checks = await self._examine(path, kernels)
        if remembered.stamp(self.environment) != self._stamp:
            # Triton was replaced in the middle: what was found may be of the one and of the other.
            try:
                await self.open()
            except KernelLsError:
                return self._without_triton(path), None
            report, checks = await self._examine(path, kernels)
        self._checks[path] = checks
        # Where its functions are called or launched decides what they are checked with.
        more = {self.records_path} if self.checker.recorded.kernels else set()
        report = replace(report, dependencies=tuple(sorted({*report.dependencies, *self._named[path][1], *more})))
        self._remember(report.dependencies)
        own = next((c.function.document for c in checks if c.function.path == path), None)
        document = own or self.workspace.document(path)
        snapshot = None
        if document is not None:
            views = tuple(KernelView(c.function, c.program, c.trials) for c in checks)
            snapshot = Snapshot(document, views, self.workspace.api)
        return self.shown(report, whole=kernels is None), snapshot

    async def _examine(self, path: str, kernels: set[str] | None) -> tuple[FileReport, tuple[KernelCheck, ...]]:
        self._refresh()
        self._read_records()
        names = frozenset(f.jit.name for f in self.workspace.functions(path))
        self._named[path] = (names, self._naming(names, path))
        await self._read_neighbours(path)
        if self.environment_mode == "import":
            await self._import(path)
        return await self.checker.examine(path, kernels=kernels)

    async def ttir(self, reading: Reading) -> None:
        """Generate the TTIR of what a snapshot has, if it compiles and has none yet."""
        if reading.ttir or not reading.attempt.is_clean:
            return
        job = Job(reading.program, reading.specialization, self.settings.targets[0], ("ttir",), self.settings.budget)
        result = await self.compiler.check(job)
        if result.ttir:
            reading.take_ttir(result.ttir)

    @property
    def records_path(self) -> str:
        """Where the launches of the folder are recorded."""
        return (self.folder / FILE).as_posix()

    def _read_records(self) -> None:
        text = self.sources.read(self.records_path) or ""
        if text != self._recorded:
            self._recorded = text
            self.checker.recorded = Recorded(records(text), self.folder.as_posix())

    def checks_as_well(self, paths: Iterable[str]) -> None:
        """Say which files are checked in the same run, so that no kernel is checked for the sake of another file's helper."""
        self.checker.checked_elsewhere = frozenset(paths)

    async def learn(self) -> bool:
        """Look through the folder for files that may launch or call jit functions of others; whether anything changed.

        The work is done in a thread, so that checks go on meanwhile.
        """
        return await asyncio.to_thread(self.neighbours.refresh)

    def _naming(self, names: frozenset[str], path: str) -> frozenset[str]:
        """The files beside one that hold one of these names, and so may launch or call what it defines; open ones as they are now."""
        if not names:
            return frozenset()
        buffers = self.sources.buffers
        on_disk = {other for other in self.neighbours.naming(names) if other not in buffers}
        in_buffers = {other for other, text in buffers.items() if any(name in text for name in names)}
        return frozenset((on_disk | in_buffers) - {path})

    def outdated(self, edited: str = "") -> frozenset[str]:
        """The checked files, but for the one that was edited, whose functions other files name now than when they were checked.

        A file is told of once a change.
        """
        found = set()
        for path, (names, naming) in self._named.items():
            if path != edited and (now := self._naming(names, path)) != naming:
                self._named[path] = (names, now)
                found.add(path)
        return frozenset(found)

    async def _read_neighbours(self, path: str) -> None:
        """Read the files that may launch or call what a file defines. Others' work goes on between two of them."""
        functions = [f.jit for f in self.workspace.functions(path)]
        launches = self.checker.launches
        for other in sorted(self._naming(frozenset(f.name for f in functions), path)):
            if self._learnt is not None:
                self._learnt.recall(other, self.workspace)
            surveyed = self.workspace.knows_calls(other)
            if surveyed and (launches.is_indexed(other) or launches.launches_none(other, functions)):
                continue
            self.checker.survey([other])
            if not launches.launches_none(other, functions):
                launches.of_document(other)
            if self._learnt is not None:
                self._learnt.keep(other, self.workspace, launches)
            await asyncio.sleep(0)

    async def _import(self, path: str) -> None:
        """Import the modules that hold globals of a file's kernels of which reading does not tell the value."""
        wanted: dict[str, set[str]] = {}
        for function in self.workspace.functions(path):
            program = self.workspace.program(function.jit)
            for unit, name, _ in program.unknown:
                origin = program.origins.get(unit)
                if origin is not None:
                    wanted.setdefault(origin.path, set()).add(name)
        for file, names in wanted.items():
            text = self.sources.read(file)
            if self._imported.get(file) == text:
                continue
            self._imported[file] = text
            module, root = self.workspace.module_name(file), self.workspace.root_of(file)
            found = await import_values(self.interpreter.path, root, module, names)
            if found.problem:
                self.import_problems[file] = found.problem
            self.workspace.assume(file, found.values)

    def surroundings(self, path: str) -> tuple[Finding, ...]:
        """The findings that need no generated code, at once."""
        self._refresh()
        return self._filtered(self.checker.surroundings(path), path, whole=False)

    async def fixes(self, path: str, first: int, last: int) -> list[tuple[Finding, Fix]]:
        """The fixes of what the last check found on some (0-based) lines of a file, each proved now.

        Nothing where the file has another text by now.
        """
        found: list[tuple[Finding, Fix]] = []
        self.look_again()
        document = self.workspace.document(path)
        for check in self._checks.get(path, ()):
            if check.function.path == path and check.function.document is not document:
                continue
            for finding in check.findings:
                if self._meets(finding, path, first, last):
                    found += [(finding, fix) for fix in await self.checker.fixes(check, finding)]
        found += [(f, fix) for f, fix in self.checker.fixes_around(path) if self._meets(f, path, first, last)]
        return found

    def _meets(self, finding: Finding, path: str, first: int, last: int) -> bool:
        span = finding.location.span
        here = finding.location.path == path and span.start.line <= last and span.end.line >= first
        return here and self._wanted(finding)

    def shown(self, report: FileReport, *, whole: bool) -> FileReport:
        """A report with suppressions and settings applied; a kernel whose findings all went is clean."""
        findings = self._filtered(report.findings, report.path, whole=whole)
        kept = {f.kernel for f in findings if f.severity is not Severity.INFO}
        had = {f.kernel for f in report.findings if f.severity is not Severity.INFO}
        kernels = tuple(
            replace(k, status="clean") if k.status == "findings" and k.name in had - kept else k for k in report.kernels
        )
        return replace(report, findings=findings, kernels=kernels)

    def _without_triton(self, path: str) -> FileReport:
        document = self.workspace.document(path)
        kernels = tuple(
            KernelReport(path, f.qualname, f.name_location, "unknown")
            for f in (self.checker.roots(path) if document is not None else ())
        )
        return FileReport(path, kernels, self.surroundings(path), ())

    def _filtered(self, findings: Sequence[Finding], path: str, *, whole: bool) -> tuple[Finding, ...]:
        kept = suppressions.apply(
            findings, self.workspace.document, paths=[path] if whole else (), known=self._known_codes
        )
        return tuple(f for f in kept if self._wanted(f))

    def _wanted(self, finding: Finding) -> bool:
        if not self.settings.wants(finding.code):
            return False
        if finding.severity is Severity.INFO and not self.settings.include_info:
            return False
        return finding.code == "syntax-error" or not any(
            finding.code in codes and spec.match_file(self.relative(finding.location.path))
            for spec, codes in self._ignores
        )

    def relative(self, path: str) -> str:
        """A path as patterns see it: relative to the project where it lies there, with `/` between parts."""
        place = Path(path)
        return place.relative_to(self.folder).as_posix() if place.is_relative_to(self.folder) else place.as_posix()

    def lines(self, path: str) -> Sequence[str]:
        """The lines of a file as it is now, without their ends; none where it cannot be read."""
        document = self.workspace.document(path)
        return document.lines if document is not None else ()

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """The kernels and helpers of a file."""
        return symbols([f.jit for f in self.workspace.functions(path)], self.checker.roots(path))

    # ------------------------------------------------------------------------------------------ changes

    def put(self, path: str, text: str) -> bool:
        """Show a buffer's text in place of a file's; whether that is another text than before."""
        before = self.sources.read(path)
        self.sources.open(path, text)
        return self._note(path, before)

    def drop(self, path: str) -> bool:
        """Let the disk's text of a file show again; whether that is another text than before."""
        before = self.sources.read(path)
        self.sources.close(path)
        self._checks.pop(path, None)
        self._named.pop(path, None)
        return self._note(path, before)

    def touch(self, paths: Iterable[str]) -> None:
        """Files changed on disk, appeared or went."""
        self.sources.changed()
        for path in paths:
            self.workspace.invalidate(path)

    def _note(self, path: str, before: str | None) -> bool:
        changed = self.sources.read(path) != before
        if changed:
            self.workspace.invalidate(path)
        return changed

    def _refresh(self) -> None:
        """Look at the disk again, since nobody has to tell that a file changed there."""
        if self._store is not None:
            return
        self.look_again()
        for path, text in list(self._read.items()):
            now = self.sources.read(path)
            if now != text:
                self._read[path] = now
                self.sources.changed()
                self.workspace.invalidate(path)

    def look_again(self) -> None:
        """Read the disk anew: whoever asks for something that no check precedes says so first."""
        self.sources.look_again()

    def _remember(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._read[path] = self.sources.read(path)

    # ------------------------------------------------------------------------------------------- worker

    @property
    def state(self) -> WorkerState:
        """What the compiler is doing."""
        return self.compiler.state

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """Call `callback` at each change of the compiler's state; the returned function ends that."""
        return self.compiler.on_state(callback)

    async def start(self) -> None:
        """Start the workers ahead of the first job that no cache answers. A failure to start shows in `state`."""
        for worker in self._workers:
            await worker.start()

    async def restart(self) -> None:
        """Replace the workers by fresh ones and look at the interpreter again."""
        self.environment = None
        for worker in self._workers:
            await worker.restart()

    @property
    def cache(self) -> ResultCache | None:
        """The cache in use."""
        return self._cache

    async def close(self) -> None:
        """End the workers and release the cache."""
        await self.compiler.close()
        if self._cache is not None:
            self._cache.close()


def root_of(path: Path) -> Path:
    """The root of the project that a file or folder belongs to: the nearest folder upwards that looks like one, else its own."""
    start = path if path.is_dir() else path.parent
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in ROOT_MARKS):
            return folder
    return start
