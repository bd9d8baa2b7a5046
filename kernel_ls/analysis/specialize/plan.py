"""The plan for one kernel: which specializations to compile, and what is known of how it uses its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_ls.analysis.environment import Workspace
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.pins import pins_of
from kernel_ls.model import Argument, Evidence, EvidenceKind, Program, Specialization

from . import arms, flow, guesses, heuristics, names
from .assemble import Kernel, assemble
from .flow import Given
from .settings import UNKNOWN_POINTEE, Fact, Setting, from_annotations, from_autotune, from_defaults, from_pins, merged
from .usage import Usage, Use

TIER_ONE = 8
TIER_TWO = 8
_SETTINGS = 4
"""How many settings from launches are kept."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What to compile for one kernel.

    Attributes:
        specializations: what the evidence says happens, the most representative first; distinct.
        variants: what can happen at run time beside it (tier 2); distinct.
        usage: how the kernel uses its parameters.
        kernel: what repairs are made from.
    """

    specializations: tuple[Specialization, ...]
    variants: tuple[Specialization, ...]
    usage: Usage
    kernel: Kernel = field(repr=False)

    @property
    def is_kernel(self) -> bool:
        """Whether it reaches memory through a parameter, as a kernel does; what does not is called with blocks by others."""
        reaching = {Use.ADDRESS, Use.DESCRIPTOR, Use.TUPLE}
        return any(self.usage.uses(p.name) & reaching for p in self.kernel.function.parameters)


def plan(
    jit: JitFunction,
    program: Program,
    workspace: Workspace,
    *,
    launches: Sequence[Setting] = (),
    limit: int = TIER_ONE,
    variants: int = TIER_TWO,
) -> Plan:
    """Decide what to compile. Never fails: what nothing is known of is guessed.

    Args:
        jit: the kernel.
        program: its closed program.
        workspace: where decorators, pins and other modules are found.
        launches: what launches of the kernel pass, best evidence first (`launches.settings_of`).
        limit: the most specializations of tier 1.
        variants: the most of tier 2.
    """
    unit = program.units.get(program.kernel, {})
    resolved = next((f for f in workspace.functions(jit.path) if f.jit.key == jit.key), None)
    pinned = from_pins(pins_of(jit), jit)
    given_settings = list(pinned or launches)[:_SETTINGS] or [Setting()]
    configs = from_autotune(resolved.autotune if resolved else None)
    settings = merged(_with_configs(given_settings, configs))
    base = {**from_defaults(jit, unit.get("defaults", {})), **from_annotations(jit)}
    tensors = frozenset(n for s in settings for n, f in [*s.facts.items(), *base.items()] if f.type == UNKNOWN_POINTEE)
    usage = flow.infer(program, _given(jit, settings, tensors))
    kernel = Kernel(
        jit, program, workspace, usage, resolved.heuristics if resolved else (), base, tensors, _passed(settings)
    )
    chosen = told = [assemble(kernel, s) for s in settings[: max(1, limit // 2)]]
    if not pinned:
        covering = arms.cover(kernel, settings[0], limit)
        chosen = [chosen[0], *covering[1:], *chosen[1:]]
    specializations = _distinct(chosen)[:limit]
    found = [] if pinned else [*_sparse(kernel, zip(settings, told, strict=False)), *_ones(kernel, specializations)]
    known = {s.key for s in specializations}
    return Plan(specializations, tuple(s for s in _distinct(found) if s.key not in known)[:variants], usage, kernel)


def _sparse(kernel: Kernel, told: Iterable[tuple[Setting, Specialization]]) -> Iterator[Specialization]:
    """Variants in which everything that a launch may leave out is left out, and what goes with that is off.

    A launch may leave out what it passes None for on some way through the host code, and what a heuristic asks about. That all
    of it is left out at once is a guess, so that what hangs on it is one too.
    """
    for setting, specialization in told:
        facts = {a.name: Fact(a.type, a.evidence, a.value) for a in specialization.arguments}
        asked = heuristics.asked(kernel.layers, facts, kernel.workspace) if kernel.layers else frozenset()
        changed: dict[str, Fact] = {}
        for name, fact in facts.items():
            others = setting.facts[name].others if name in setting.facts else ()
            for value in (None, False):
                off = ("constexpr", {"k": "lit", "v": value})
                if off in others or (value is None and name in asked):
                    why = f"its launch may pass {value}" if off in others else "a heuristic asks whether it is None"
                    evidence = Evidence(EvidenceKind.VARIANT, why, fact.evidence.location)
                    changed[name] = Fact(off[0], evidence, off[1])
                    break
        if changed:
            listed = ", ".join(f"`{name}`" for name in list(changed)[:3])
            origin = Evidence(EvidenceKind.VARIANT, f"a launch leaves out {listed}", setting.origin.location)
            made = assemble(kernel, replace(setting, facts={**setting.facts, **changed}, origin=origin), tier=2)
            arguments = tuple(
                a if (a.type, a.value) == (facts[a.name].type, facts[a.name].value) else replace(a, open=True)
                for a in made.arguments
            )
            yield replace(made, arguments=arguments)


def _with_configs(settings: Iterable[Setting], configs: Sequence[Setting]) -> list[Setting]:
    """Every setting with the first configuration, then the first setting with the others."""
    held = list(settings)
    if not configs:
        return held
    found = [s.with_facts(configs[0].facts, configs[0].options) for s in held]
    found += [held[0].with_facts(c.facts, c.options) for c in configs[1:]]
    return found


def _passed(settings: Iterable[Setting]) -> dict[str, tuple[Fact, ...]]:
    """What launches may pass for each parameter of which they say several things."""
    found: dict[str, dict[str, Fact]] = {}
    for setting in settings:
        for name, fact in setting.facts.items():
            if fact.others:
                known = found.setdefault(name, {})
                for type_, value in ((fact.type, fact.value), *fact.others):
                    known.setdefault(repr((type_, value)), replace(fact, type=type_, value=value, others=()))
    return {name: tuple(facts.values()) for name, facts in found.items()}


def _given(jit: JitFunction, settings: Sequence[Setting], tensors: frozenset[str]) -> dict[str, Given]:
    given = {}
    for parameter in jit.parameters:
        pointer: bool | None = True if parameter.name in tensors else None
        for setting in settings:
            fact = setting.facts.get(parameter.name)
            if pointer is None and fact is not None and isinstance(fact.type, str) and not parameter.is_constexpr:
                if fact.type.startswith("*"):
                    pointer = True
                elif fact.type != "constexpr" and not fact.type.startswith("tensordesc"):
                    pointer = False
        given[parameter.name] = Given(constexpr=parameter.is_constexpr, pointer=pointer)
    return given


def _distinct(specializations: Iterable[Specialization]) -> tuple[Specialization, ...]:
    found: dict[str, Specialization] = {}
    for each in specializations:
        found.setdefault(each.key, each)
    return tuple(found.values())


# ------------------------------------------------------------------------------------------------- variants


def _ones(kernel: Kernel, planned: Sequence[Specialization]) -> list[Specialization]:
    """What else a launch makes of an integer: one that is 1 is a constant."""
    first = planned[0]
    stated = {n for n, f in kernel.base.items() if f.evidence.kind is EvidenceKind.ANNOTATION}
    fixed = _not_specialized(kernel) | stated
    found: list[Specialization] = []
    ones = [a.name for a in first.arguments if _can_be_one(kernel, a) and a.name not in fixed]
    for name in ones[: TIER_TWO - 1]:
        found.append(
            _changed(first, {name: ({"k": "lit", "v": 1}, f"`{name}` is 1 at a launch: Triton makes it a constant")})
        )
    if len(ones) > 1:
        every = {n: ({"k": "lit", "v": 1}, "it is 1 at a launch: Triton makes it a constant") for n in ones}
        found.append(_changed(first, every))
    return found


def _not_specialized(kernel: Kernel) -> frozenset[str]:
    """Parameters that the decorator keeps from being specialized by value."""
    options = kernel.program.units.get(kernel.program.kernel, {}).get("options", {})
    listed = options.get("do_not_specialize") or ()
    order = [p.name for p in kernel.function.parameters]
    if not isinstance(listed, (list, tuple)):
        return frozenset()
    return frozenset(
        order[x] if isinstance(x, int) and not isinstance(x, bool) and 0 <= x < len(order) else str(x) for x in listed
    )


def _can_be_one(kernel: Kernel, argument: Argument) -> bool:
    if argument.type not in ("i32", "i64") or argument.divisible:
        return False
    evidence = argument.evidence
    if evidence.kind in (EvidenceKind.LAUNCH, EvidenceKind.RECORDED):
        return "stride" in evidence.detail or names.stride_like(argument.name)
    return names.stride_like(argument.name) and Use.UNROLL not in kernel.usage.uses(argument.name)


def _changed(specialization: Specialization, changes: Mapping[str, tuple[object, str]]) -> Specialization:
    arguments = tuple(
        replace(
            a,
            type="constexpr",
            value=changes[a.name][0],
            divisible=False,
            evidence=Evidence(EvidenceKind.VARIANT, changes[a.name][1], a.evidence.location),
        )
        if a.name in changes
        else a
        for a in specialization.arguments
    )
    reason = Evidence(EvidenceKind.VARIANT, "; ".join(f"{n}: {changes[n][1]}" for n in list(changes)[:2]))
    return replace(specialization, arguments=arguments, tier=2, origin=reason)


__all__ = ["Plan", "guesses", "plan"]
