"""From what each specialization showed to one finding a cause, with a severity that says how certain it is.

The rules (design.md, invariants 6 and 7):

- one cause, one finding: the same code at the same place is one finding however many specializations show it;
- an **error** holds in every specialization on the evidence that reaches the place;
- a **warning** holds in some of them only, or in a variant that can occur at run time (tier 2);
- what hangs on a guessed fact, and goes away under another guess, is **information** that names the guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kernel_ls.model import (
    CompileResult,
    EvidenceKind,
    Finding,
    Fix,
    Severity,
    Specialization,
    Status,
    UnitSpan,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One finding as one attempt showed it: the finding, its place in unit coordinates, and the guesses it hangs on."""

    finding: Finding
    span: UnitSpan | None
    hangs_on: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    """Changes that may mend it, best first, not proved."""

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """What makes two findings the same cause: the code and where it points."""
        start = self.finding.location.span.start
        return (self.finding.code, self.finding.location.path, start.line, start.column)


_MOST_GUESSES = 10
"""Guessed parameters behind one finding beyond which a bounded search says nothing of their combinations."""

_ALL = 1 << 30
"""More statements than any kernel has."""


@dataclass(frozen=True)
class Attempt:
    """One specialization that was compiled, and what it showed."""

    specialization: Specialization
    result: CompileResult
    shown: tuple[Shown, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether it compiled without an error."""
        return self.result.status is Status.DONE and not any(s.finding.severity is Severity.ERROR for s in self.shown)

    @property
    def is_settled(self) -> bool:
        """Whether no guess has a part in what is left of errors."""
        wrong = [s for s in self.shown if s.finding.severity is Severity.ERROR]
        return self.result.status is Status.DONE and not any(s.hangs_on for s in wrong)

    @cached_property
    def badness(self) -> tuple[int, int, int]:
        """How far from compiling: not finished, then fewest statements that were generated and are in order, then errors.

        Counting errors alone would prefer a wrong guess at the head of a kernel, which leaves little that could show one.
        """
        failed = 0 if self.result.status is Status.DONE else 1
        errors = [s for s in self.shown if s.finding.severity is Severity.ERROR]
        if not errors:
            return (failed, -_ALL, 0)
        wrong = [(s.span.unit, s.span.line) for s in errors if s.span is not None]
        good = 0
        for unit, found in self.result.reached.items():
            lost = self.result.lost.get(unit, ())
            for lines in found:
                at_fault = any(u == unit and lines[0] <= line <= lines[1] for u, line in wrong)
                good += not at_fault and lines not in lost
        return (failed, -good, len(errors))

    @cached_property
    def identities(self) -> frozenset[tuple[str, str, int, int]]:
        """What it showed."""
        return frozenset(s.identity for s in self.shown)

    def reaches(self, span: UnitSpan | None) -> bool:
        """Whether this attempt generated the statement at `span` from known values (or cannot tell)."""
        if span is None or not self.result.reached:
            return True
        if any(first <= span.line <= last for first, last in self.result.lost.get(span.unit, ())):
            return False
        return any(first <= span.line <= last for first, last in self.result.reached.get(span.unit, ()))

    def generates(self, span: UnitSpan | None) -> bool:
        """Whether this attempt generated the statement at `span`, be it from values that a fault has made doubtful."""
        return span is None or any(a <= span.line <= b for a, b in self.result.reached.get(span.unit, ()))

    def shows(self, identity: tuple[str, str, int, int]) -> bool:
        """Whether this attempt showed that finding."""
        return any(s.identity == identity for s in self.shown)


@dataclass(frozen=True, slots=True)
class Trial:
    """All attempts at one planned specialization; the first is the plan's own, the rest are repairs of its guesses."""

    attempts: tuple[Attempt, ...]
    best: Attempt
    tier: int = 1
    conclusive: bool = True
    """Whether the search ended because nothing else was left to try, or nothing tried made a difference."""


@dataclass
class _Case:
    shown: Shown
    trials: list[Trial] = field(default_factory=list)


def best_attempt(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt nearest to compiling; the earlier one where two are equal, since plans put the likeliest first."""
    return min(attempts, key=lambda a: a.badness)


def conclude(
    trials: Sequence[Trial], describe: Callable[[Specialization], dict[str, str]], *, guessing: bool = False
) -> tuple[Finding, ...]:
    """Merge the trials of one kernel into findings.

    Args:
        trials: every planned specialization with its attempts, tier 1 before tier 2.
        describe: a specialization as `{parameter: type or value}` for reports.
        guessing: whether not even the kinds of the arguments are known, so that a search through guesses proves nothing.
    """
    cases: dict[tuple[str, str, int, int], _Case] = {}
    for trial in trials:
        for shown in trial.best.shown:
            case = cases.setdefault(shown.identity, _Case(shown))
            if trial not in case.trials:
                case.trials.append(trial)
    return tuple(_judge(case, trials, describe, guessing) for case in cases.values())


def _judge(
    case: _Case, trials: Sequence[Trial], describe: Callable[[Specialization], dict[str, str]], guessing: bool
) -> Finding:
    shown = case.shown
    finding = shown.finding
    identity = shown.identity
    first = [t for t in case.trials if t.tier == 1]
    severity = finding.severity
    assumed: tuple[str, ...] = ()
    # The same statement is in order under other constants: where these are guessed, nothing is known of the combination.
    elsewhere = any(t.best.reaches(shown.span) and not t.best.shows(identity) for t in trials if t.tier == 1)
    if severity is Severity.ERROR:
        if not first or not all(t.best.shows(identity) for t in trials if t.tier == 1 and t.best.reaches(shown.span)):
            severity = Severity.WARNING
    if severity is not Severity.INFO and shown.hangs_on and (guessing or elsewhere or not _robust(case, identity)):
        severity = Severity.INFO
        assumed = shown.hangs_on
    witness = case.trials[0].best.specialization
    if severity is not Severity.INFO and not first and elsewhere and witness.assumed:
        # Of what may be left out, nobody knows what is left out together.
        left_out = tuple(a.name for a in witness.arguments if a.open and a.evidence.kind is EvidenceKind.VARIANT)
        if left_out:
            severity, assumed = Severity.INFO, left_out
    return replace(
        finding,
        severity=severity,
        assumed=assumed,
        specialization=describe(witness),
        specializations=len(case.trials),
    )


def _robust(case: _Case, identity: tuple[str, str, int, int]) -> bool:
    """Whether other guesses were tried and none of them came nearer to compiling without the finding.

    A single attempt proves nothing: then nothing else could be tried, and the finding stays a guess's.
    """
    if len(case.shown.hangs_on) > _MOST_GUESSES:
        return False
    span = case.shown.span
    # Variants are compiled once, with the guesses that their model ended with.
    for trial in [t for t in case.trials if t.tier == 1] or case.trials:
        rivals = [a for a in trial.attempts if a.result.status is Status.DONE and a is not trial.best]
        if (
            not trial.conclusive
            or not rivals
            or any(
                a.badness <= trial.best.badness
                and (a.reaches(span) or (a.generates(span) and not trial.best.reaches(span)))
                for a in rivals
                if not a.shows(identity)
            )
        ):
            return False
    return True
