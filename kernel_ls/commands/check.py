"""`kernel-ls check`: files in, a report out."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import watchfiles
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kernel_ls.analysis.edits import apply_fixes, unified_diff
from kernel_ls.commands.common import folder_of, not_yet, project_of, say, settings_of
from kernel_ls.commands.texts import decode, load
from kernel_ls.discovery import Found, discover, parse_argument
from kernel_ls.errors import InputError, UsageError
from kernel_ls.memory import seldom
from kernel_ls.model import FileReport, Severity
from kernel_ls.project import Project
from kernel_ls.report import FORMATS, CheckReport, statistics
from kernel_ls.report.full import full_text

_FIX_PASSES = 4
"""How often a file is mended and checked again: a fix may lay bare what its finding hid."""


def run(arguments: argparse.Namespace) -> int:
    """Check; the exit status.

    Raises:
        KernelLsError: the job could not be done.
    """
    if arguments.deep:
        return not_yet("check --deep")
    if arguments.watch and (arguments.fix or arguments.diff or "-" in arguments.paths):
        raise UsageError("--watch goes with neither --fix, --diff nor standard input")
    seldom()
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    stdin = "-" in arguments.paths
    if stdin and len(arguments.paths) > 1:
        raise UsageError("`-` reads standard input and goes with no other file")
    if arguments.stdin_filename and not stdin:
        raise UsageError("--stdin-filename goes with `-`")
    wanted = [] if stdin else [parse_argument(text) for text in arguments.paths or ["."]]
    stdin_path = Path(os.path.normpath(Path(arguments.stdin_filename or "stdin.py").absolute()))
    folder = (stdin_path.parent if stdin_path.parent.is_dir() else Path.cwd()) if stdin else folder_of(wanted)
    settings = settings_of(arguments, folder)
    found = Found()
    if stdin:
        found.files[stdin_path] = None
    else:
        found = discover(wanted, exclude=settings.exclude, root=folder)
        for path in list(found.files):
            try:
                load(path)
            except InputError as error:
                found.errors.append(error)
                del found.files[path]
    for unread in found.errors:
        say(str(unread))
    if found.errors and not found.files:
        return 2
    workers = settings.jobs or os.cpu_count() or 1
    project = project_of(
        folder,
        settings,
        workers=max(1, min(workers, 2 * len(found.files) or 1)),
        prove_fixes=True,
        imports=arguments.environment == "import",
    )
    try:
        if stdin:
            project.put(
                stdin_path.as_posix(), decode(sys.stdin.buffer.read(), arguments.stdin_filename or "standard input")
            )
        run = _Run(project, arguments, found)
        if found.files:
            await project.open()
            await project.learn()
            project.checks_as_well(path.as_posix() for path in found.files)
            if not (arguments.watch or arguments.fix or arguments.diff or stdin):
                project.keep_reports()
        if arguments.watch:
            return await run.watch(lambda: discover(wanted, exclude=settings.exclude, root=folder))
        status = await run.once()
        for problem in project.import_problems.values():
            say(problem)
        return 2 if found.errors else status
    finally:
        await project.close()


class _Run:
    """One run of `check` over a set of files."""

    def __init__(self, project: Project, arguments: argparse.Namespace, found: Found) -> None:
        self.project = project
        self.arguments = arguments
        self.found = found
        self.reports: dict[str, FileReport] = {}

    async def once(self) -> int:
        """Check everything, mend if asked to, print; the exit status."""
        await self.check(list(self.found.files))
        self._insist_on_kernels()
        if self.arguments.fix or self.arguments.diff:
            originals = await self._mend()
            if self.arguments.diff:
                for path, (before, after) in sorted(originals.items()):
                    sys.stdout.write(unified_diff(before, after, self.report().shown_path(path)))
                return self._status(self.report()) if not originals else (0 if self.arguments.exit_zero else 1)
            if "-" in self.arguments.paths:
                # Standard output is the mended text, so that an editor can filter a buffer through it.
                (stdin,) = self.found.files
                sys.stdout.write(self.project.sources.read(stdin.as_posix()) or "")
                return self._status(self.report())
            for path, (_, after) in originals.items():
                Path(path).write_text(after, "utf-8", newline="")
            if originals:
                say(f"mended {len(originals)} file{'s' if len(originals) > 1 else ''}")
        return self.print()

    async def check(self, paths: Sequence[Path]) -> None:
        """Check files, several at a time, with a bar on a terminal."""
        gate = asyncio.Semaphore(2 * (self.project.settings.jobs or os.cpu_count() or 1))

        async def one(path: Path, done: Callable[[], None]) -> None:
            async with gate:
                name = path.as_posix()
                self.reports[name] = await self.project.check(name, self.found.files.get(path))
            done()

        console = Console(stderr=True)
        if len(paths) < 2 or not console.is_terminal:
            await asyncio.gather(*(one(path, lambda: None) for path in paths))
            return
        columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("checking", total=len(paths))
            await asyncio.gather(*(one(path, lambda: progress.advance(task)) for path in paths))

    def report(self) -> CheckReport:
        """What has been found so far."""
        environment = self.project.environment
        return CheckReport.of(
            self.reports.values(),
            triton=environment.triton if environment else "",
            targets=[str(t) for t in self.project.settings.targets],
            lines=self.project.lines,
        )

    def print(self) -> int:
        """Write the report; the exit status."""
        report = self.report()
        if self.arguments.statistics:
            sys.stdout.write(statistics(report))
        elif self.arguments.output_format == "full":
            # Frames are as wide as their lines: what does not fit is the terminal's to wrap.
            Console(soft_wrap=True, highlight=False).print(full_text(report), end="")
        else:
            sys.stdout.write(FORMATS[self.arguments.output_format](report))
        sys.stdout.flush()
        return self._status(report)

    async def watch(self, rediscover: Callable[[], Found]) -> int:
        """Check again whatever changes, until the user ends it."""
        await self.check(list(self.found.files))
        folders = {Path(a.partition("::")[0]).absolute() for a in self.arguments.paths or ["."]}
        self._show_watched()
        async for changes in watchfiles.awatch(
            *folders, self.project.folder, watch_filter=watchfiles.PythonFilter(), recursive=True, debounce=200
        ):
            changed = {Path(path).as_posix() for _, path in changes}
            self.project.touch(changed)
            self.found = rediscover()
            names = {path.as_posix(): path for path in self.found.files}
            self.reports = {name: report for name, report in self.reports.items() if name in names}
            stale = [
                path
                for name, path in names.items()
                if name in changed or name not in self.reports or changed & set(self.reports[name].dependencies)
            ]
            if stale:
                await self.check(stale)
                self._show_watched()
        return 0

    def _show_watched(self) -> None:
        if sys.stdout.isatty():
            Console().clear()
        self.print()
        say("watching for changes (Ctrl-C ends it)")

    def _insist_on_kernels(self) -> None:
        for path, kernels in self.found.files.items():
            known = {k.name for k in self.reports[path.as_posix()].kernels}
            known |= {name.rpartition(".")[2] for name in known}
            for kernel in sorted((kernels or set()) - known):
                raise UsageError(f"{path} has no kernel {kernel!r}")

    def _status(self, report: CheckReport) -> int:
        return 1 if report.count(Severity.ERROR) and not self.arguments.exit_zero else 0

    async def _mend(self) -> dict[str, tuple[str, str]]:
        """Apply the proved fixes as long as there are some; for each changed path the text before and after."""
        originals: dict[str, tuple[str, str]] = {}
        for _ in range(_FIX_PASSES):
            texts = apply_fixes(self.report().findings, self.project.sources.read)
            if not texts:
                break
            for path, text in texts.items():
                before = originals[path][0] if path in originals else self.project.sources.read(path) or ""
                originals[path] = (before, text)
                self.project.put(path, text)
            await self.check(list(self.found.files))
        return {path: texts for path, texts in originals.items() if texts[0] != texts[1]}
