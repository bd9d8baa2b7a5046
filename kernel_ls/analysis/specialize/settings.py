"""What is known of a kernel's arguments from evidence: pins, launches, autotuners, annotations, defaults.

A `Setting` is one consistent set of such facts; whatever it leaves open is guessed afterwards. Facts of a better kind replace
those of a worse one, parameter by parameter.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernel_ls.analysis.environment import Autotune, ConfigValue, Constexpr, InstanceValue, Opaque, Ref
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.pins import Pin, PinValue
from kernel_ls.model import Evidence, EvidenceKind, Json, Location
from kernel_ls.pyeval import Unknown

UNKNOWN_POINTEE = "*"
"""The type of a fact that says: a tensor, of an element type that is not known."""

UNKNOWN_NUMBER = "number"
"""The type of a fact that says: a number that is no constant, integral or not."""

_CONFIGS = 4
"""How many autotuner configurations are looked at."""

LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about one argument.

    Attributes:
        type: as in `Argument`, or UNKNOWN_POINTEE, or UNKNOWN_NUMBER.
        value: the wire value of a constant.
        evidence: on what the fact rests.
        divisible: whether the value is known to be divisible by 16.
        varies: whether the value is an integer that is not known, and so may be 1.
        others: what else the same launch may pass, as (type, value), where the host code does not tell which it is; an
            empty type stands for anything.
    """

    type: Any
    evidence: Evidence
    value: Json = None
    divisible: bool = False
    varies: bool = False
    others: tuple[tuple[Any, Json], ...] = ()


_BY_USE = Evidence(EvidenceKind.USE, "inferred from the kernel's text")


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts by parameter, launch options, and what the whole rests on."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    origin: Evidence = _BY_USE

    def with_facts(self, facts: Mapping[str, Fact], options: Mapping[str, Json] | None = None) -> Setting:
        """The same setting with more facts; those it has stay."""
        return replace(self, facts={**facts, **self.facts}, options={**(options or {}), **self.options})


# ------------------------------------------------------------------------------------------------- wire values


def to_wire(value: Any) -> Json | None:
    """A value of the environment as plain data; None where it cannot be (and is no `None` itself)."""
    if isinstance(value, Constexpr):
        return to_wire(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return {"k": "lit", "v": value}
    if isinstance(value, float):
        if not math.isfinite(value):
            return {"k": "float", "v": str(value)}
        return {"k": "lit", "v": value}
    if isinstance(value, Ref):
        return {"k": "ref", "path": value.path}
    if isinstance(value, (tuple, list)):
        items = [to_wire(v) for v in value]
        if any(i is None for i in items):
            return None
        return {"k": "tuple" if isinstance(value, tuple) else "list", "items": items}
    if (
        isinstance(value, InstanceValue)
        and value.member
        and isinstance(value.fields.get("value"), (bool, int, float, str))
    ):
        # An enum member of a mixed class is its value to Triton; of a plain one, only equality is asked of it.
        return {"k": "lit", "v": value.fields["value"]}
    if isinstance(value, (Opaque, Unknown)):
        return None
    return None


_TORCH_DTYPES = {
    "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32", "float64": "fp64",
    "double": "fp64", "int8": "i8", "int16": "i16", "short": "i16", "int32": "i32", "int": "i32", "int64": "i64",
    "long": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip


def torch_element(name: str) -> str | None:
    """Triton's element type for a torch dtype's dotted name, or None."""
    head, _, tail = name.rpartition(".")
    return _TORCH_DTYPES.get(tail) if head in ("torch", "") else None


def integer_type(value: int) -> str:
    """The signature type of an integer argument."""
    if -(2**31) <= value < 2**31:
        return "i32"
    return "i64" if value < 2**63 else "u64"


# ------------------------------------------------------------------------------------------------- pins


def from_pins(pins: Sequence[Pin], function: JitFunction) -> tuple[Setting, ...]:
    """One setting for each `spec` line."""
    found = []
    for pin in pins:
        if pin.kind != "spec":
            continue
        facts = {}
        for name, value in pin.values:
            parameter = function.parameter(name)
            fact = _pinned(value, parameter is not None and parameter.is_constexpr)
            if fact is not None:
                facts[name] = fact
        options = {name: value.literal[1] for name, value in pin.options if value.literal[0]}
        found.append(Setting(facts, options, Evidence(EvidenceKind.PIN, "pinned", pin.location)))
    return tuple(found)


_ELEMENTS = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "int1", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp8e5": "float8e5", "fp8e4nv": "float8e4nv",
}  # fmt: skip
"""Short names of element types to their long names in `triton.language`."""


def _pinned(value: PinValue, constexpr: bool) -> Fact | None:
    evidence = Evidence(EvidenceKind.PIN, f"pinned to {value.text}", value.location)
    is_literal, literal = value.literal
    if is_literal and (constexpr or literal is None):
        wire = to_wire(literal)
        return Fact("constexpr", evidence, wire) if wire is not None else None
    if constexpr:
        name = value.text.rpartition(".")[2]
        name = _ELEMENTS.get(name, name)
        if re.fullmatch(r"(b?float|u?int)\d+\w*", name):
            return Fact("constexpr", evidence, {"k": "ref", "path": f"triton.language.{name}"})
        return None
    if value.is_type:
        return Fact(value.text, evidence, divisible=value.text.startswith("*"))
    if is_literal:
        return number(literal, evidence)
    return None


def number(value: Any, evidence: Evidence, specialize: bool = True) -> Fact | None:
    """A run-time argument whose value is known, as Triton specializes it; None for what is no number."""
    if value is None:
        return Fact("constexpr", evidence, {"k": "lit", "v": None})
    if isinstance(value, bool):
        return Fact("i1", evidence)
    if isinstance(value, int):
        if value == 1 and specialize:
            return Fact("constexpr", evidence, {"k": "lit", "v": 1})
        return Fact(integer_type(value), evidence, divisible=specialize and value % 16 == 0)
    if isinstance(value, float):
        return Fact("fp32", evidence)
    return None


# ------------------------------------------------------------------------------------------------- autotuners


def from_autotune(autotune: Autotune | None) -> tuple[Setting, ...]:
    """Settings of a few configurations: the first, then those whose values are of a kind not seen yet, then any that differ."""
    if autotune is None:
        return ()
    left = [c for c in autotune.known_configs() if isinstance(c.kwargs, Mapping)]
    chosen: list[ConfigValue] = []
    for describe in (_kinds, _values):
        seen = {pair for config in chosen for pair in describe(config)}
        while left and len(chosen) < _CONFIGS:
            best = max(left, key=lambda c: len(describe(c) - seen))
            if chosen and not describe(best) - seen:
                break
            if describe is _values and len(_values(best) - seen) < 2:
                break
            left.remove(best)
            chosen.append(best)
            seen |= describe(best)
    return tuple(_of_config(c, autotune.location) for c in chosen)


def _values(config: ConfigValue) -> set[tuple[str, str]]:
    """The value of each meta-parameter."""
    return {(name, str(to_wire(value))) for name, value in dict(config.kwargs).items()}


def _kinds(config: ConfigValue) -> set[tuple[str, str]]:
    """Of what kind each meta-parameter's value is: sizes that are powers of two of 16 or more are all alike to the generator."""
    found = set()
    for name, value in dict(config.kwargs).items():
        kind = str(to_wire(value))
        if isinstance(value, int) and not isinstance(value, bool) and value > 2:
            kind = f"{'power' if value & (value - 1) == 0 else 'odd'} {'small' if value < 16 else 'large'}"
        found.add((name, kind))
    return found


def _of_config(config: ConfigValue, fallback: Location | None) -> Setting:
    location = config.location or fallback
    evidence = Evidence(EvidenceKind.AUTOTUNE, "an autotuner's configuration", location)
    facts = {}
    for name, value in dict(config.kwargs).items():
        wire = to_wire(value)
        if wire is not None and isinstance(name, str):
            facts[name] = Fact("constexpr", evidence, wire)
    options = {}
    for name in LAUNCH_OPTIONS:
        value = config.options.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            options[name] = value
    return Setting(facts, options, evidence)


# ------------------------------------------------------------------------------------------------- annotations, defaults

_ANNOTATED = re.compile(r"^(?:tl\.|triton\.language\.)?(?:(u?int)(\d+)|(float|bfloat)(\d+))$")


def from_annotations(function: JitFunction) -> dict[str, Fact]:
    """Types that the kernel's own annotations fix, as Triton reads them: by the annotation's text."""
    found = {}
    for parameter in function.parameters:
        if parameter.annotation is None or parameter.is_constexpr:
            continue
        node = parameter.annotation
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
        type_ = annotated_type(text.strip())
        if type_ is not None:
            location = Location(function.path, parameter.span)
            found[parameter.name] = Fact(type_, Evidence(EvidenceKind.ANNOTATION, f"annotated as {text}", location))
    return found


def annotated_type(text: str) -> str | None:
    """The type that an annotation's text stands for, or None where it says nothing of the type.

    `int`, `bool`, `float` and `tl.tensor` are for readers alone: Triton takes no type from them, but a plain `int` is one.
    """
    if re.fullmatch(r"\*?k?(?:[iu](?:1|8|16|32|64)|fp(?:8\w+|16|32|64)|bf16)", text):
        return text.replace("*k", "*")
    if re.fullmatch(r"u?1", text):
        return "i1"
    match = _ANNOTATED.match(text)
    if match is not None:
        if match.group(1):
            return ("u" if match.group(1) == "uint" else "i") + match.group(2)
        return ("bf" if match.group(3) == "bfloat" else "fp") + match.group(4)
    if text in ("tl.pointer_type", "triton.language.pointer_type", "tl.tensor", "torch.Tensor", "Tensor"):
        return UNKNOWN_POINTEE if "ointer" in text or "orch" in text else None
    return {"float": "fp32", "int": "i32", "bool": "i1"}.get(text)


def from_defaults(function: JitFunction, defaults: Mapping[str, Json]) -> dict[str, Fact]:
    """Values of parameters that have a default, as wire values."""
    found = {}
    for parameter in function.parameters:
        wire = defaults.get(parameter.name)
        if not isinstance(wire, dict) or wire.get("k") in ("unknown", "opaque"):
            continue
        evidence = Evidence(EvidenceKind.DEFAULT, "its default", Location(function.path, parameter.span))
        if parameter.is_constexpr:
            found[parameter.name] = Fact("constexpr", evidence, wire)
        elif wire.get("k") == "lit":
            fact = number(wire.get("v"), evidence)
            if fact is not None:
                found[parameter.name] = fact
    return found


def merged(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """The distinct ones, in order."""
    seen: list[Setting] = []
    keys: set[str] = set()
    for setting in settings:
        shown = {n: (f.type, f.value) for n, f in setting.facts.items()}
        key = repr((sorted(shown.items(), key=lambda i: i[0]), sorted(setting.options.items())))
        if key not in keys:
            keys.add(key)
            seen.append(setting)
    return tuple(seen)
