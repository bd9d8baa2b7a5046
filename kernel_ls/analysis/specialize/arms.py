"""Which values of free constants to generate, so that every arm of a compile-time test is generated once.

Greedy: of a bounded pool of assignments (all first guesses, every flag off, one change at a time) the one that reaches
the most arms, then those that reach arms not reached yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernel_ls.model import EvidenceKind, Specialization

from .assemble import Kernel, assemble, given_of
from .flow import reached_arms
from .guesses import NONE, Candidate
from .settings import Setting
from .usage import Arm, Use

_POOL = 28
"""Assignments that are looked at."""

_VALUES = 6
"""Values that are looked at for one parameter."""


def cover(kernel: Kernel, setting: Setting, limit: int) -> tuple[Specialization, ...]:
    """Specializations of a setting that differ in free constants, the most representative first."""
    base = assemble(kernel, setting)
    free = choices(kernel, base)
    if not free:
        return (base,)
    seen = {base.key}
    reached: dict[str, frozenset[Arm]] = {}
    pool: list[Specialization] = [base]
    for assignment in _assignments(free):
        made = assemble(kernel, setting, assignment)
        if made.key not in seen:
            seen.add(made.key)
            pool.append(made)
        if len(pool) >= _POOL:
            break
    for made in pool:
        reached[made.key] = reached_arms(kernel.program, given_of(made))
    covered = set(reached[base.key])
    chosen = [base]
    while len(chosen) < limit:
        best = max(pool, key=lambda s: len(reached[s.key] - covered))
        if not reached[best.key] - covered:
            break
        covered |= reached[best.key]
        chosen.append(best)
    return tuple(chosen)


def choices(kernel: Kernel, base: Specialization) -> Mapping[str, tuple[Candidate, ...]]:
    """The parameters that evidence leaves open and that decide tests, with the values worth a try."""
    deciding = (
        frozenset().union(*(t.params for t in kernel.usage.tests.values())) if kernel.usage.tests else frozenset()
    )
    found: dict[str, tuple[Candidate, ...]] = {}
    for argument in base.arguments:
        name = argument.name
        open_ = argument.guessed or argument.evidence.kind is EvidenceKind.DEFAULT
        if not open_ or name in kernel.pointers:
            continue
        parameter = kernel.function.parameter(name)
        if parameter is not None and not parameter.is_constexpr:
            if Use.NONE in kernel.usage.uses(name) or _guarded(kernel, name):
                found[name] = (NONE,)
            continue
        if name in deciding:
            found[name] = kernel.domains[name][:_VALUES]
    return found


def _guarded(kernel: Kernel, name: str) -> bool:
    """Whether every access through a pointer stands under a test that a heuristic decides."""
    return bool(kernel.usage.guards.get(name, frozenset()) & kernel.computed)


def _assignments(free: Mapping[str, tuple[Candidate, ...]]) -> Iterator[dict[str, Candidate]]:
    """The pool: everything off, one change at a time, one on at a time, then values side by side."""
    off = {name: _off(values) for name, values in free.items()}
    yield {n: c for n, c in off.items() if c is not None}
    for name, values in free.items():
        for value in values:
            yield {name: value}
    for name, values in free.items():
        for value in values:
            yield {**{n: c for n, c in off.items() if c is not None}, name: value}
    for index in range(1, 4):
        yield {n: v[index % len(v)] for n, v in free.items()}


def _off(values: tuple[Candidate, ...]) -> Candidate | None:
    for wanted in (False, None, 0):
        for candidate in values:
            value = candidate.value
            if isinstance(value, dict) and value.get("k") == "lit" and value.get("v") is wanted:
                return candidate
    return None
