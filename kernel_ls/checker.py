"""The pipeline for one file: specialize, compile, repair guesses, merge into findings.

    kernels of the file -> for each: program + plan -> trials (an attempt, then repairs of its guesses) -> verdict -> FileReport

`Checker` holds no state that changes what it answers: results come from a `Compiler` (which may answer from a cache), and
everything else from the workspace's current text. Cancelling the awaiting task stops the work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from kernel_ls.analysis import rules, specialize
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.edits import apply_edits
from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.environment.bindings import binding_of
from kernel_ls.analysis.environment.modules import Standing
from kernel_ls.analysis.host_text import NO_HOST_TEXT, HostText, head, host_text
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.launches import LaunchIndex
from kernel_ls.analysis.pins import pins_of
from kernel_ls.analysis.proof import choices, mends
from kernel_ls.analysis.specialize import from_launches
from kernel_ls.analysis.specialize.from_recorded import Recorded
from kernel_ls.analysis.verdict import Attempt, Shown, Trial, best_attempt, conclude
from kernel_ls.compile.ahead import Ahead
from kernel_ls.compile.client import Compiler
from kernel_ls.kept import Kept, lasts
from kernel_ls.model import (
    DEFAULT_TARGET,
    CompileResult,
    FileReport,
    Finding,
    Fix,
    Job,
    KernelReport,
    Program,
    Severity,
    Specialization,
    Status,
    Target,
)

Progress = Literal["kernel"]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What a check may spend and what it is for."""

    targets: tuple[Target, ...] = (DEFAULT_TARGET,)
    triton_version: str = ""
    budget_seconds: float = 10.0
    """Wall time that the generator may use for one specialization."""
    repair_attempts: int = 24
    """How many other guesses may be tried for one specialization that does not compile."""
    kernel_seconds: float = 20.0
    """Wall time after which no further guess is tried for a kernel."""
    collect: tuple[str, ...] = ("reached",)
    prove_fixes: bool = False
    """Whether findings come with a fix that was proved, which takes checks of its own for each."""
    concurrency: int = 1
    """How many kernels of one file are checked at a time; the compiler decides how many really run."""


@dataclass(frozen=True, slots=True)
class KernelCheck:
    """One kernel's check in full, for features that show more than findings."""

    function: JitFunction
    program: Program
    trials: tuple[Trial, ...]
    findings: tuple[Finding, ...]
    report: KernelReport

    def candidates(self, finding: Finding) -> tuple[Fix, ...]:
        """Changes that may mend a finding of this kernel, best first, not proved."""
        for trial in self.trials:
            for shown in trial.best.shown:
                same = shown.finding.code == finding.code and shown.finding.location == finding.location
                if same and shown.fixes:
                    return shown.fixes
        return ()

    def hidden(self) -> frozenset[tuple[str, int]]:
        """Files and 0-based lines of statements that could not be judged, since they depend on a fault."""
        found: set[tuple[str, int]] = set()
        for trial in self.trials:
            for unit, ranges in trial.best.result.lost.items():
                origin = self.program.origins.get(unit)
                if origin is not None:
                    for first, last in ranges:
                        found.update((origin.path, origin.row(n)) for n in range(first, last + 1))
        return frozenset(found)


class Checker:
    """Checks files of one workspace with one compiler."""

    def __init__(self, compiler: Compiler, workspace: Workspace, options: CheckOptions | None = None) -> None:
        self.compiler = compiler
        self.workspace = workspace
        self.options = options or CheckOptions()
        self.launches = LaunchIndex(workspace)
        """Launch sites; whoever knows more files of the workspace adds them to its `known_paths` and indexes them."""
        self.checked_elsewhere: frozenset[str] = frozenset()
        """Files that are checked as well, so that what they find in others' helpers is known."""
        self.recorded = Recorded()
        """Launches that were recorded in the workspace."""
        self._checks: Kept[tuple[tuple[Trial, ...], tuple[Finding, ...], KernelReport]] = Kept(
            workspace.document, lambda path: self._host_text(path).code
        )
        self._planned: dict[tuple[str, str], tuple[object, tuple[Specialization, ...]]] = {}
        """For each kernel, what its last check rested on beside its text, and with what it was checked, in order."""
        self._ahead = Ahead(compiler)
        self._around: Kept[tuple[rules.Explanation, ...]] = Kept(
            workspace.document, lambda path: self._host_text(path).whole, most=64
        )

    # ------------------------------------------------------------------------------------------ files

    async def check_file(self, path: str, *, kernels: set[str] | None = None) -> FileReport:
        """Check every kernel of a file, or those whose qualified names are in `kernels`.

        Findings may lie in other files, where a helper of another module is at fault.
        """
        report, _ = await self.examine(path, kernels=kernels)
        return report

    async def examine(
        self, path: str, *, kernels: set[str] | None = None
    ) -> tuple[FileReport, tuple[KernelCheck, ...]]:
        """Check a file as `check_file` does; the report, and each kernel's check in full.

        Among the checks are those of other files' kernels through which helpers of this one are checked.
        """
        document = self.workspace.document(path)
        findings: list[Finding] = list(self.surroundings(path))
        roots = [f for f in self.roots(path) if kernels is None or f.qualname in kernels or f.name in kernels]
        if kernels is None:
            roots += self.callers(path)
        gate = asyncio.Semaphore(max(1, self.options.concurrency))

        async def one(function: JitFunction) -> KernelCheck:
            async with gate:
                return await self.check_kernel(function)

        checks = await asyncio.gather(*(one(f) for f in roots)) if document is not None else []
        for check in checks:
            found = await self.with_fixes(check) if self.options.prove_fixes else check.findings
            own = check.function.path == path
            findings.extend(f for f in found if own or f.location.path == path)
        report = FileReport(
            path=path,
            kernels=tuple(c.report for c in checks if c.function.path == path),
            findings=merge(findings),
            dependencies=tuple(sorted(self.workspace.dependencies(path) - {path})),
        )
        return report, tuple(checks)

    def surroundings(self, path: str) -> tuple[Finding, ...]:
        """Findings that need no generated code: syntax, launches, autotuners, heuristics, decorators."""
        document = self.workspace.document(path)
        if document is None:
            return ()
        explained = self._explained(path, document)
        if not self.options.prove_fixes:
            return tuple(e.finding for e in explained)
        return tuple(replace(e.finding, fix=self._proved_around(e, explained)) for e in explained)

    def fixes_around(self, path: str) -> list[tuple[Finding, Fix]]:
        """The proved fixes of the findings around the kernels of a file."""
        document = self.workspace.document(path)
        if document is None:
            return []
        explained = self._explained(path, document)
        proved = [(e.finding, self._proved_around(e, explained)) for e in explained if e.fixes]
        return [(finding, fix) for finding, fix in proved if fix is not None]

    def _explained(self, path: str, document: ParsedDocument) -> tuple[rules.Explanation, ...]:
        key = self.workspace.epoch, document.broken
        kept = self._around.get(path, key)
        if kept is not None:
            self.workspace.read_for(path, kept[1])
            return kept[0]
        around = rules.surroundings_of(document, self.workspace, self.launches)
        found = rules.check_surroundings(document, around)
        self._around.put(path, key, None, found, self.workspace.dependencies(path))
        return found

    def _host_text(self, path: str) -> HostText:
        document = self.workspace.document(path)
        return host_text(document) if document is not None else NO_HOST_TEXT

    def _proved_around(self, explanation: rules.Explanation, explained: Sequence[rules.Explanation]) -> Fix | None:
        """The first candidate that is seen to mend a finding around kernels."""
        path = explanation.finding.location.path
        before = [e.finding for e in explained]
        for fix in explanation.fixes:
            shadow = self._with(fix)
            after = shadow.surroundings(path) if shadow is not None else None
            if after is not None and mends(explanation.finding, fix.edits, before, after, ()):
                return fix
        return None

    def _with(self, fix: Fix) -> Checker | None:
        """A checker of the text that a fix would make; None where the fix does not fit the text."""
        texts = {}
        for path in {edit.location.path for edit in fix.edits}:
            document = self.workspace.document(path)
            if document is None:
                return None
            texts[path] = apply_edits("\n".join(document.lines), [e for e in fix.edits if e.location.path == path])
        options = replace(self.options, prove_fixes=False)
        return Checker(self.compiler, self.workspace.with_texts(texts), options)

    async def with_fixes(self, check: KernelCheck) -> tuple[Finding, ...]:
        """A kernel's findings, each with the first fix that is seen to mend it: code is generated again with the change."""
        found = []
        for finding in check.findings:
            fixes = await self.fixes(check, finding, most=1) if finding.severity is not Severity.INFO else []
            found.append(replace(finding, fix=fixes[0]) if fixes else finding)
        return tuple(found)

    async def fixes(self, check: KernelCheck, finding: Finding, *, most: int = 8) -> list[Fix]:
        """The changes that are seen to mend a finding of a kernel, best first, and no more than `most`.

        Of several answers to one question it is the one that leaves the fewest findings, if only one does or is likely.
        """
        found: list[Fix] = []
        for choice in choices(check.candidates(finding)):
            left = [(n, fix) for fix in choice if (n := await self._left(check, finding, fix)) is not None]
            fewest = min((n for n, _ in left), default=0)
            best = [fix for n, fix in left if n == fewest]
            found += best if len(best) == 1 else [fix for fix in best if fix.likely][:1]
            if len(found) >= most:
                break
        return found

    async def _left(self, check: KernelCheck, finding: Finding, fix: Fix) -> int | None:
        """How many findings a kernel that has a change made is left with; None if the change does not mend what it is for.

        It mends a finding if that is gone and nothing new is there instead.
        """
        shadow = self._with(fix)
        if shadow is None:
            return None
        functions = shadow.workspace.functions(check.function.path)
        function = next((f.jit for f in functions if f.jit.key == check.function.key), None)
        if function is None:
            return None
        launches = None
        if _signature(function) == _signature(check.function):
            # What host code passes is the same, as far as it is about this kernel; to follow it again would take long.
            launches = self.launched(check.function)
        again = await shadow.check_kernel(function, launches=launches)
        done = all(t.best.result.status is Status.DONE for t in again.trials)
        if not done or not mends(finding, fix.edits, check.findings, again.findings, check.hidden()):
            return None
        return sum(f.severity is not Severity.INFO for f in again.findings)

    def launched(self, function: JitFunction) -> tuple[specialize.Setting, ...]:
        """What is passed to a kernel: recorded launches first, then what host code says."""
        return (*self.recorded.settings_of(function), *from_launches.launched(function, self.launches))

    def survey(self, paths: Iterable[str]) -> None:
        """Learn what the kernels of some files call, so that a helper which they use is not checked by itself."""
        for path in paths:
            self.workspace.calls(path)

    def roots(self, path: str) -> tuple[JitFunction, ...]:
        """The jit functions of a file to check by themselves: its kernels, and helpers that no kernel calls.

        Kernels of other files count as far as those files have been read. What stands under a test that is false here is
        no part of the program.
        """
        functions = [f.jit for f in self.workspace.functions(path)]
        functions = [f for f in functions if self.workspace.standing(f) is not Standing.DEAD]
        programs = {f.key: self.workspace.program(f) for f in functions}
        covered: set[str] = set()
        for other in self.workspace.dependents(path):
            covered |= self.workspace.calls(other)
        called = covered | self.workspace.calls(path)
        roots = [f for f in functions if programs[f.key].kernel not in called]
        for function in roots:
            covered.update(programs[function.key].units)
        # Functions that call each other in a ring have no root: then the first of them is one.
        for function in functions:
            if programs[function.key].kernel not in covered:
                roots.append(function)
                covered.update(programs[function.key].units)
        return tuple(sorted(roots, key=lambda f: f.span.start))

    def callers(self, path: str) -> list[JitFunction]:
        """Kernels of other files through which those helpers of a file are checked that none of its own kernels calls."""
        functions = {self.workspace.program(f.jit).kernel for f in self.workspace.functions(path)}
        for root in self.roots(path):
            functions -= set(self.workspace.program(root).units)
        found: list[JitFunction] = []
        for other in sorted(self.workspace.dependents(path) - self.checked_elsewhere):
            if not functions & self.workspace.calls(other):
                continue
            for root in self.roots(other):
                reached = functions & set(self.workspace.program(root).units)
                if reached and len(found) < _CALLERS:
                    functions -= reached
                    found.append(root)
        return found

    # ------------------------------------------------------------------------------------------ kernels

    async def check_kernel(
        self, function: JitFunction, *, launches: Sequence[specialize.Setting] | None = None
    ) -> KernelCheck:
        """Check one kernel under its specializations, for every target.

        Args:
            function: the kernel.
            launches: what its launches say, where that is known already.
        """
        started = time.monotonic()
        program = self.workspace.program(function)
        if launches is None:
            launches = self.launched(function)
        standing = self.workspace.standing(function)
        inputs = tuple(launches), pins_of(function)
        owner = function.path, function.key
        key = self.workspace.epoch, program.key, head(function), standing, self.options, function.dialect
        kept = self._checks.get(owner, key, inputs)
        if kept is not None:
            self.workspace.read_for(function.path, kept[1])
            return KernelCheck(function, program, *kept[0])
        planned = self._planned.get(owner, ((), ()))
        ahead = [self._job(program, s, t) for t in self.options.targets for s in planned[1] if planned[0] == inputs]
        trials: list[Trial] = []
        try:
            await self._ahead.start(ahead)
            plan = specialize.plan(function, program, self.workspace, launches=launches)
            for target in self.options.targets:
                trials += await self._trials(function, program, plan, target, started)
        except BaseException:
            self._ahead.leave(ahead, cancel=True)
            raise
        self._ahead.leave(ahead, cancel=False)
        findings = conclude(trials, describe, guessing=not launches and not plan.is_kernel)
        if standing is Standing.UNDECIDED:
            # Whether there is such a kernel hangs on how the module is loaded.
            findings = tuple(
                replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f for f in findings
            )
        report = KernelReport(
            path=function.path,
            name=function.qualname,
            location=function.name_location,
            status=_status(findings, trials),
            specializations=tuple(t.best.specialization for t in trials),
            seconds=time.monotonic() - started,
        )
        # A search that time ended may get further next time.
        in_time = time.monotonic() - started < self.options.kernel_seconds
        if in_time and all(lasts(attempt.result) for trial in trials for attempt in trial.attempts):
            files = self.workspace.dependencies(function.path)
            self._checks.put(owner, key, inputs, (tuple(trials), findings, report), files)
        self._planned[owner] = inputs, tuple(a.specialization for t in trials if t.tier == 1 for a in t.attempts)
        return KernelCheck(function, program, tuple(trials), findings, report)

    async def _trials(
        self, function: JitFunction, program: Program, plan: specialize.Plan, target: Target, started: float
    ) -> list[Trial]:
        """Every planned specialization: one after the other until one compiles, whose guesses the rest, side by side, begin with."""
        trials: list[Trial] = []
        learned: Mapping[str, specialize.Learned] = {}
        left = list(plan.specializations)
        while left and not learned:
            trials.append(await self._trial(function, program, plan, left.pop(0), target, started))
            if trials[-1].best.is_settled:
                trial = trials[-1]
                learned = specialize.learned(trial.attempts[0].specialization, trial.best.specialization)
                break
        carried = [specialize.carry(plan, learned, planned) for planned in (*left, *plan.variants)]
        following = (self._trial(function, program, plan, p, target, started) for p in carried[: len(left)])
        trials += await asyncio.gather(*following)
        if any(t.best.result.status is not Status.DONE for t in trials):
            return trials
        variants = (self._attempt(function, program, v, target, plan) for v in carried[len(left) :])
        trials += [Trial((attempt,), attempt, tier=2) for attempt in await asyncio.gather(*variants)]
        return trials

    async def _trial(
        self,
        function: JitFunction,
        program: Program,
        plan: specialize.Plan,
        first: Specialization,
        target: Target,
        started: float,
    ) -> Trial:
        """Compile a planned specialization, and other guesses for as long as it does not compile and some are left."""
        attempts = [await self._attempt(function, program, first, target, plan)]
        tried = {first.key}
        unmoved = 0
        while (
            not attempts[-1].is_clean
            and attempts[-1].result.status is Status.DONE
            and len(attempts) <= self.options.repair_attempts
            and time.monotonic() - started < self.options.kernel_seconds
            and unmoved < _UNMOVED
        ):
            best = best_attempt(attempts)
            following = specialize.repair(plan, best.specialization, best.result.faults, tried)
            if following is None:
                break
            tried.add(following.key)
            attempts.append(await self._attempt(function, program, following, target, plan))
            unmoved = 0 if attempts[-1].badness < best.badness else unmoved + 1
        else:
            # Still finding other faults when time was up: who knows what the next guess would have done.
            conclusive = attempts[-1].is_clean or unmoved >= _UNMOVED
            return Trial(tuple(attempts), best_attempt(attempts), conclusive=conclusive)
        return Trial(tuple(attempts), best_attempt(attempts))

    def _job(self, program: Program, specialization: Specialization, target: Target) -> Job:
        return Job(program, specialization, target, self.options.collect, self.options.budget_seconds)

    async def _attempt(
        self,
        function: JitFunction,
        program: Program,
        specialization: Specialization,
        target: Target,
        plan: specialize.Plan,
    ) -> Attempt:
        result = await self._ahead.check(self._job(program, specialization, target))
        context = rules.RuleContext(
            program=program,
            documents=self.workspace.document,
            specialization=specialization,
            kernel=function.qualname,
            triton_version=self.options.triton_version,
            target=target,
            binding=partial(binding_of, self.workspace),
        )
        shown = [
            Shown(
                explanation.finding,
                explanation.span,
                _guesses_behind(explanation, specialization, plan),
                explanation.fixes,
            )
            for explanation in rules.explanations(result, context)
        ]
        return Attempt(specialization, result, tuple(shown))


# ---------------------------------------------------------------------------------------------- pure parts


def _signature(function: JitFunction) -> tuple[tuple[str, bool], ...]:
    return tuple((p.name, p.is_constexpr) for p in function.parameters)


_CALLERS = 6
"""How many kernels of other files are checked for the helpers of one."""

_UNMOVED = 12
"""Other guesses in a row that bring a kernel no nearer to compiling: then no guess is to blame."""


def _guesses_behind(
    explanation: rules.Explanation, specialization: Specialization, plan: specialize.Plan
) -> tuple[str, ...]:
    """The guessed parameters that a finding hangs on."""
    if explanation.fault is not None:
        return specialize.hangs_on_guess(explanation.fault, specialization, plan.usage)
    if explanation.finding.code == "frontend-warning" and explanation.span is not None:
        # A warning that Triton gives about a value is only as good as the value.
        behind = plan.usage.hangs_on([explanation.span])
        return tuple(name for name in specialization.assumed if name in behind)
    return ()


def describe(specialization: Specialization) -> dict[str, str]:
    """A specialization as reports show it: a type for each run-time argument, a value for each constant."""
    shown = {
        a.name: value_text(a.value) if a.type == "constexpr" else type_text(a.type) for a in specialization.arguments
    }
    shown.update({name: str(value) for name, value in specialization.options})
    return shown


def type_text(type_: object) -> str:
    """Triton's signature notation, tuples in parentheses."""
    if isinstance(type_, (tuple, list)):
        return "(" + ", ".join(type_text(t) for t in type_) + ")"
    return str(type_)


def value_text(value: object) -> str:
    """A wire value as its author would write it."""
    return specialize.value_text(value)


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding a cause over all kernels of a file: a helper's fault that several kernels reach is one finding.

    The most severe wins; the others' kernels add to its count of specializations.
    """
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    by_cause: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.location.path, finding.location.span.start, finding.location.span.end)
        seen = by_cause.get(key)
        if seen is None:
            by_cause[key] = finding
            continue
        kept = min(seen, finding, key=lambda f: order[f.severity])
        by_cause[key] = replace(kept, specializations=seen.specializations + finding.specializations)
    return tuple(sorted(by_cause.values(), key=lambda f: (f.location, f.code)))


def _status(
    findings: Sequence[Finding], trials: Sequence[Trial]
) -> Literal["clean", "findings", "unknown", "crashed", "timeout"]:
    results: list[CompileResult] = [t.best.result for t in trials]
    if any(r.status is Status.CRASHED for r in results):
        return "crashed"
    if any(r.status is Status.TIMEOUT or r.truncated for r in results):
        return "timeout"
    if any(f.severity is not Severity.INFO for f in findings):
        return "findings"
    if any(r.status is Status.UNAVAILABLE for r in results) or any(f.code == "unknown-value" for f in findings):
        return "unknown"
    return "clean"
