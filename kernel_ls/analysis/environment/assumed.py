"""Wire values as values of the environment: what somebody says that a name holds."""

from __future__ import annotations

from typing import Any

from kernel_ls.analysis.environment.values import Constexpr, Ref
from kernel_ls.model import Json
from kernel_ls.pyeval import Unknown


def of_wire(value: Json) -> Any:
    """A value of the environment; what is no constant is Unknown."""
    kind = value.get("k") if isinstance(value, dict) else None
    if kind == "lit":
        return value.get("v")
    if kind == "float":
        return float(value["v"])
    if kind in ("tuple", "list"):
        items = [of_wire(item) for item in value.get("items", ())]
        return tuple(items) if kind == "tuple" else items
    if kind == "constexpr":
        return Constexpr(of_wire(value.get("v")))
    if kind == "ref":
        return Ref(str(value.get("path")))
    return Unknown("it is no constant")
