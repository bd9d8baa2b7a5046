"""Values that `@triton.heuristics` computes from a launch's arguments, evaluated over what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernel_ls.analysis.environment import Abstract, Heuristics, Ref, Workspace
from kernel_ls.model import Evidence, EvidenceKind, Json
from kernel_ls.pyeval import Unknown

from .settings import Fact, to_wire

_TORCH_NAMES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "i1": "bool",
}  # fmt: skip


class TensorArgument(Abstract):
    """A tensor that a launch passes: not None, and no more than its element type is known."""

    def __init__(self, element: str = "") -> None:
        self.element = element

    def describe(self) -> str:
        return "a tensor"

    def attribute(self, name: str) -> Any:
        if name == "dtype" and self.element in _TORCH_NAMES:
            from kernel_ls.analysis.environment import Opaque

            return Opaque(f"torch.{_TORCH_NAMES[self.element]}")
        return Unknown("a tensor's attributes are known when the code runs")

    def compare(self, op: str, other: Any, reflected: bool) -> Any:
        if other is None and op in ("Is", "IsNot", "Eq", "NotEq"):
            return op in ("IsNot", "NotEq")
        return Unknown("a comparison with a tensor")


def compute(layers: Sequence[Heuristics], arguments: Mapping[str, Fact], workspace: Workspace) -> dict[str, Fact]:
    """The values of heuristics that follow from the arguments; those that do not are left out."""
    values: dict[str, Any] = {}
    for name, fact in arguments.items():
        values[name] = _host_value(fact)
    found: dict[str, Fact] = {}
    # The outermost heuristics are computed first, and their values are arguments of those further in.
    for layer in reversed(layers):
        if not isinstance(layer.values, Mapping):
            continue
        for name, function in layer.values.items():
            if not isinstance(name, str):
                continue
            wire = to_wire(workspace.call(function, (dict(values),), {}))
            if wire is None:
                continue
            evidence = Evidence(EvidenceKind.HEURISTIC, "computed by a heuristic", layer.location)
            found[name] = Fact("constexpr", evidence, wire)
            values[name] = _host_value(found[name])
    return found


def asked(layers: Sequence[Heuristics], arguments: Mapping[str, Fact], workspace: Workspace) -> frozenset[str]:
    """The run-time arguments of which a heuristic has another value when they are None: a launch may leave them out."""

    def values(left_out: Iterable[str]) -> list[tuple[str, Json]]:
        found = compute(layers, {**arguments, **dict.fromkeys(left_out, _LEFT_OUT)}, workspace)
        return sorted((name, fact.value) for name, fact in found.items())

    present = [name for name, fact in arguments.items() if fact.type != "constexpr"]
    before = values(())
    if not layers or values(present) == before:
        return frozenset()
    return frozenset(name for name in present if values((name,)) != before)


_LEFT_OUT = Fact("constexpr", Evidence(EvidenceKind.VARIANT, "left out"), {"k": "lit", "v": None})


def names(layers: Sequence[Heuristics]) -> frozenset[str]:
    """The parameters that heuristics give a value."""
    return frozenset(
        name for layer in layers if isinstance(layer.values, Mapping) for name in layer.values if isinstance(name, str)
    )


def _host_value(fact: Fact) -> Any:
    if fact.type == "constexpr":
        return _python(fact.value)
    if isinstance(fact.type, str) and fact.type.startswith(("*", "tensordesc")):
        return TensorArgument(fact.type[1:] if fact.type.startswith("*") else "")
    return Unknown("a number that is known when the code runs")


def _python(value: Json) -> Any:
    if not isinstance(value, dict):
        return Unknown("a constant that is not known")
    if value.get("k") == "lit":
        return value.get("v")
    if value.get("k") == "float":
        return float(value["v"])
    if value.get("k") == "ref":
        return Ref(str(value.get("path")))
    if value.get("k") in ("tuple", "list"):
        return tuple(_python(v) for v in value.get("items", ()))
    return Unknown("a constant that is not known")
