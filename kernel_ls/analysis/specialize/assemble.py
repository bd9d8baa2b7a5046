"""From a setting and choices to a whole specialization: every parameter gets a type or a value, and a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kernel_ls.analysis import positions
from kernel_ls.analysis.environment import Heuristics, Workspace
from kernel_ls.analysis.kernels import JitFunction, Parameter
from kernel_ls.model import Argument, Evidence, EvidenceKind, Json, Location, Program, Specialization, UnitSpan

from . import guesses, heuristics
from .flow import Given
from .guesses import Candidate
from .settings import UNKNOWN_NUMBER, UNKNOWN_POINTEE, Fact, Setting
from .usage import Usage, Use
from .values import MISSING, Origin

_TILE_FALLBACK = guesses.TILE


@dataclass(frozen=True, eq=False)
class Kernel:
    """What the assembly of one kernel's specializations needs.

    Attributes:
        base: facts from annotations and defaults, which any setting's facts replace.
        pointers: parameters that evidence shows to be tensors, of whatever element type.
        passed: for each parameter of which launches say several things, these.
    """

    function: JitFunction
    program: Program
    workspace: Workspace
    usage: Usage
    layers: Sequence[Heuristics]
    base: Mapping[str, Fact]
    pointers: frozenset[str] = frozenset()
    passed: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)

    @cached_property
    def computed(self) -> frozenset[str]:
        """Parameters that heuristics give a value."""
        return heuristics.names(self.layers)

    @cached_property
    def domains(self) -> Mapping[str, tuple[Candidate, ...]]:
        """What each parameter may be if nothing but its use is known, the likeliest first."""
        return {p.name: self._domain(p) for p in self.function.parameters}

    def _domain(self, parameter: Parameter) -> tuple[Candidate, ...]:
        guessed = self._guesses(parameter)
        if parameter.name not in self.passed:
            return guessed
        found: list[Candidate] = []
        for fact in self.passed[parameter.name]:
            if fact.type == UNKNOWN_POINTEE:
                found += self.pointees(parameter.name, "a tensor at its launches")[:3]
            elif fact.type in ("", UNKNOWN_NUMBER):
                found += [c for c in guessed if c.type != "constexpr" or not fact.type or parameter.is_constexpr]
            else:
                found.append(Candidate(fact.type, fact.value, detail=fact.evidence.detail))
        if {Use.ADDRESS, Use.DESCRIPTOR} & self.usage.uses(parameter.name):
            # Through None, there is no access: what else is passed comes first.
            found.sort(key=lambda c: c.same == guesses.NONE.same)
        return tuple({c.same: c for c in found}.values())

    def _guesses(self, parameter: Parameter) -> tuple[Candidate, ...]:
        if parameter.is_constexpr:
            return guesses.constant(self.usage, parameter.name)
        if parameter.name in self.pointers:
            return self.pointees(parameter.name, "a tensor at its launches")
        return guesses.runtime(self.usage, parameter.name)

    def pointees(self, name: str, evident: str) -> tuple[Candidate, ...]:
        """What a parameter may be that is known to be a tensor."""
        return guesses.pointer(self.usage, Origin(name), evident)

    def location(self, span: UnitSpan | None) -> Location | None:
        """Where a span of a unit stands in the user's files."""
        if span is None or span.unit not in self.program.origins or span.unit not in self.program.units:
            return None
        return positions.locate(self.program.origins[span.unit], self.program.units[span.unit]["source"], span)

    def evidence(self, candidate: Candidate) -> Evidence:
        """A candidate's reason as evidence."""
        return Evidence(candidate.kind, candidate.detail, self.location(candidate.span))


def assemble(
    kernel: Kernel,
    setting: Setting,
    choices: Mapping[str, Candidate] | None = None,
    tier: int = 1,
) -> Specialization:
    """The specialization that a setting gives, with `choices` in place of the first guesses."""
    chosen = dict(choices or {})
    facts: dict[str, Fact] = {**kernel.base, **setting.facts}
    for name, stated in kernel.base.items():
        # A number's annotated type is what Triton takes whatever is passed, 1 included; only None stays what it is.
        if stated.evidence.kind is EvidenceKind.ANNOTATION and facts[name].value != guesses.NONE.value:
            facts[name] = stated
    # A choice replaces a guess or a default, never evidence.
    for name in list(chosen):
        if name in facts and facts[name].evidence.kind is not EvidenceKind.DEFAULT:
            if facts[name].type not in (UNKNOWN_POINTEE, UNKNOWN_NUMBER):
                del chosen[name]
    parameters = [p.name for p in kernel.function.parameters]
    filled: dict[str, Fact] = {}
    dims: dict[str, Candidate] = {}
    for name in parameters:
        fact = facts.get(name)
        if name in chosen:
            fact = None
        if fact is None or fact.type in (UNKNOWN_POINTEE, UNKNOWN_NUMBER):
            if fact is None and name in kernel.computed and name not in chosen:
                continue
            candidate = chosen.get(name) or _first(kernel, name, fact)
            if candidate.dims is not None:
                dims[name] = candidate
            filled[name] = _fact(kernel, candidate, fact)
        else:
            filled[name] = fact
    computed = heuristics.compute(kernel.layers, filled, kernel.workspace) if kernel.layers else {}
    for name in parameters:
        if name in computed and (name not in setting.facts or name not in filled):
            filled[name] = computed[name]
        elif name not in filled:
            filled[name] = _fact(kernel, chosen.get(name) or kernel.domains[name][0], None)
    for name, candidate in dims.items():
        filled[name] = replace(filled[name], type=descriptor(candidate, filled))
    arguments = tuple(
        Argument(
            name,
            filled[name].type,
            filled[name].evidence,
            filled[name].value,
            filled[name].divisible,
            open=bool(filled[name].others),
        )
        for name in parameters
    )
    return Specialization(arguments, tuple(sorted(setting.options.items())), 1 if tier == 1 else 2, setting.origin)


def _first(kernel: Kernel, name: str, fact: Fact | None) -> Candidate:
    if fact is not None and fact.type == UNKNOWN_POINTEE:
        return kernel.pointees(name, fact.evidence.detail or "a tensor")[0]
    if fact is not None and fact.type == UNKNOWN_NUMBER:
        return guesses.scalar(kernel.usage, Origin(name))[0]
    return kernel.domains[name][0]


def _fact(kernel: Kernel, candidate: Candidate, fact: Fact | None) -> Fact:
    evidence = kernel.evidence(candidate)
    if fact is not None and fact.evidence.location is not None:
        evidence = replace(evidence, location=fact.evidence.location)
    pointer = isinstance(candidate.type, str) and candidate.type.startswith("*")
    return Fact(candidate.type, evidence, candidate.value, divisible=pointer)


def descriptor(candidate: Candidate, filled: Mapping[str, Fact]) -> str:
    """A descriptor's type with the sizes of its block: the constants that its offsets are multiples of."""
    element = candidate.type[candidate.type.index("<") + 1 : -1]
    sizes = []
    for names in candidate.dims or ():
        blank = _size(candidate.blank, filled) if isinstance(candidate.blank, str) else candidate.blank
        found = [size for name in names if (size := _size(name, filled)) is not None]
        sizes.append(found[-1] if found else blank or _TILE_FALLBACK)
    return f"tensordesc<{element}[{', '.join(map(str, sizes))}]>"


def _size(name: str, filled: Mapping[str, Fact]) -> int | None:
    value = filled[name].value if name in filled and filled[name].type == "constexpr" else None
    number = value.get("v") if isinstance(value, dict) else None
    fits = isinstance(number, int) and not isinstance(number, bool) and number >= 1 and number & (number - 1) == 0
    return number if fits else None


def given_of(specialization: Specialization) -> dict[str, Given]:
    """A specialization as usage inference takes it: which constants are known."""
    found = {}
    for argument in specialization.arguments:
        if argument.type == "constexpr":
            known, target = python_value(argument.value)
            found[argument.name] = Given(constexpr=True, known=known, target=target)
        else:
            pointer = isinstance(argument.type, str) and argument.type.startswith("*")
            found[argument.name] = Given(pointer=pointer)
    return found


def python_value(value: Json) -> tuple[Any, Json]:
    """A constant as a Python value, or MISSING, and what is left as a wire value."""
    if not isinstance(value, dict):
        return MISSING, None
    if value.get("k") == "lit":
        return value.get("v"), None
    if value.get("k") == "unknown":
        return MISSING, None
    return MISSING, value


def element_of(type_: Any) -> str:
    """The element type of a pointer or descriptor, or empty."""
    if not isinstance(type_, str):
        return ""
    match = re.match(r"^\*+k?(\w+)$|^tensordesc<(\w+)", type_)
    return (match.group(1) or match.group(2)) if match else ""
