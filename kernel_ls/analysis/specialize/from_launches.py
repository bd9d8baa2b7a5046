"""Settings from launch sites: what the host code passes, as Triton would specialize it.

A fact from a launch is never changed afterwards, so that only what is certain becomes one: an argument of which the host
code does not tell enough has no fact at all, and is guessed like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernel_ls.analysis.kernels import JitFunction, Parameter
from kernel_ls.analysis.launches import DescriptorOf, Launch, LaunchArgument, LaunchIndex, NumberOf, TensorOf, TypeOf
from kernel_ls.model import Evidence, EvidenceKind, Json
from kernel_ls.pyeval import Unknown

from .settings import LAUNCH_OPTIONS, UNKNOWN_NUMBER, UNKNOWN_POINTEE, Fact, Setting, merged, number, to_wire

_MOST = 4
"""How many settings are made of all the launches of a kernel."""

_STATED = ("i1", "u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64")


def launched(kernel: JitFunction, index: LaunchIndex) -> tuple[Setting, ...]:
    """What the launches that an index knows say of a kernel's arguments."""
    value = index.workspace.function_value(kernel)
    options = value.options if value is not None else {}
    autotuned = value is not None and value.autotune is not None
    return settings_of(kernel, index.launches_of(kernel), options=options, autotuned=autotuned)


def settings_of(
    kernel: JitFunction,
    launches: Sequence[Launch],
    *,
    options: Mapping[str, Any] | None = None,
    autotuned: bool = False,
) -> tuple[Setting, ...]:
    """What launches say of a kernel's arguments: a few distinct settings, those that say most first.

    Args:
        kernel: the kernel.
        launches: launches of it, as `LaunchIndex.launches_of` gives them.
        options: arguments of its jit decorator (`do_not_specialize`).
        autotuned: whether an autotuner stands between launch and kernel: it chooses options, and sizes of descriptors' blocks.
    """
    fixed = _not_specialized(kernel, options or {})
    found = [_setting(kernel, launch, fixed, autotuned) for launch in launches if launch.style != "call"]
    told = _opened([s for s in merged(found) if s.facts])
    told.sort(key=_weight, reverse=True)
    chosen: list[Setting] = []
    for setting in told:
        if len(chosen) < _MOST and not any(_says_less(setting, other) for other in chosen):
            chosen.append(setting)
    return tuple(chosen)


def _opened(settings: Sequence[Setting]) -> list[Setting]:
    """The same settings, in which facts say what else the same launch may pass.

    A launch that is reached on several ways through the host code passes a tensor on one and None on another; which of
    these go together with which hangs on conditions that nobody knows, so that no single one is certain.
    """
    passed: dict[Any, dict[str, list[tuple[Any, Json]]]] = {}
    for setting in settings:
        known = passed.setdefault(setting.origin.location, {})
        for name, fact in setting.facts.items():
            each = (fact.type, fact.value)
            if each not in known.setdefault(name, []):
                known[name].append(each)
    for setting in settings:
        for name, known_values in passed[setting.origin.location].items():
            if name not in setting.facts and ("", None) not in known_values:
                known_values.append(("", None))
    opened = []
    for setting in settings:
        known = passed[setting.origin.location]
        facts = {
            name: replace(fact, others=tuple(o for o in known[name] if o != (fact.type, fact.value)))
            for name, fact in setting.facts.items()
        }
        opened.append(replace(setting, facts=facts))
    return opened


def _not_specialized(kernel: JitFunction, options: Mapping[str, Any]) -> frozenset[str]:
    listed = options.get("do_not_specialize")
    names = [p.name for p in kernel.parameters]
    if not isinstance(listed, (list, tuple)):
        return frozenset()
    return frozenset(names[x] if type(x) is int and 0 <= x < len(names) else str(x) for x in listed)


def _setting(kernel: JitFunction, launch: Launch, fixed: frozenset[str], autotuned: bool) -> Setting:
    facts: dict[str, Fact] = {}
    for argument in launch.arguments:
        parameter = kernel.parameter(argument.name) if argument.name is not None else None
        fact = fact_of(argument, parameter, fixed, autotuned) if parameter is not None else None
        if parameter is not None and fact is not None:
            facts[parameter.name] = fact
    chosen: dict[str, Json] = {}
    for name in LAUNCH_OPTIONS:
        value = launch.options.get(name)
        if type(value) is int and value > 0:
            chosen[name] = value
    where = f"launched in `{launch.function}`" if launch.function else "launched"
    return Setting(facts, chosen, Evidence(EvidenceKind.LAUNCH, where, launch.location))


def fact_of(argument: LaunchArgument, parameter: Parameter, fixed: frozenset[str], autotuned: bool) -> Fact | None:
    """What one argument says of its parameter, or None where that is nothing certain."""
    value = argument.value
    shown = argument.source if len(argument.source) <= 60 else argument.source[:57] + "..."
    detail = f"its launch passes `{shown}`" if shown else "passed at its launch"
    evidence = Evidence(EvidenceKind.LAUNCH, detail, argument.location)
    if isinstance(value, Unknown):
        return None
    if parameter.is_constexpr:
        return _constant(value, evidence)
    specialize = parameter.name not in fixed
    if isinstance(value, TensorOf):
        # An allocation of torch begins at a multiple of 16 bytes; a view into one need not, which only costs speed.
        if value.element is None:
            return Fact(UNKNOWN_POINTEE, evidence, divisible=True)
        return Fact(f"*{value.element}", evidence, divisible=True)
    if isinstance(value, NumberOf):
        if value.kind == "number":
            return Fact(UNKNOWN_NUMBER, evidence)
        if value.kind == "int":
            return Fact("i64" if value.wide else "i32", evidence, varies=specialize and not value.wide)
        return number(1.0 if value.kind == "float" else True, evidence)
    if isinstance(value, DescriptorOf):
        if value.element is None or value.block is None or autotuned:
            return None
        return Fact(f"tensordesc<{value.element}{list(value.block)}>", evidence)
    if isinstance(value, TypeOf):
        if value.type.startswith("*") or value.type in _STATED:
            return Fact(value.type, evidence, divisible=value.type.startswith("*"))
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return number(value, evidence, specialize)
    return None


def _constant(value: Any, evidence: Evidence) -> Fact | None:
    if isinstance(value, (TensorOf, NumberOf, DescriptorOf, TypeOf)):
        return None
    wire = to_wire(value)
    return Fact("constexpr", evidence, wire) if wire is not None else None


def _weight(setting: Setting) -> float:
    """How much a setting says: a type of an element more than that something is a tensor, None a little less."""
    total = 0.0
    for fact in setting.facts.values():
        total += 0.5 if fact.type in (UNKNOWN_POINTEE, UNKNOWN_NUMBER) else 1
        if fact.type == "constexpr" and fact.value == {"k": "lit", "v": None}:
            total -= 0.8
    return total


def _says_less(setting: Setting, other: Setting) -> bool:
    """Whether everything that a setting says is said by another as well, so that it adds nothing."""
    for name, fact in setting.facts.items():
        held = other.facts.get(name)
        if held is None:
            return False
        if fact.type == UNKNOWN_POINTEE and isinstance(held.type, str) and held.type.startswith("*"):
            continue
        if fact.type == UNKNOWN_NUMBER and held.type in ("i32", "i64", "fp32", UNKNOWN_NUMBER):
            continue
        if fact.varies and held.type == fact.type:
            continue
        if (fact.type, fact.value, fact.divisible) != (held.type, held.value, held.divisible):
            return False
    return all(other.options.get(k) == v for k, v in setting.options.items()) or not setting.options


__all__ = ["fact_of", "launched", "settings_of"]
