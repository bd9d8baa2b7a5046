"""Calls of Python's builtins, of `math` and of Triton's host functions with host values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernel_ls.pyeval import MISSING

from . import shapes, torch_calls
from .arithmetic import key_of, kind_of, text_of
from .values import Host, Number, Sizes, Symbol, Tensor, Tensors

if TYPE_CHECKING:
    from .domain import HostDomain

_INTEGERS = frozenset(("len", "hash", "id", "ord"))
_MATH_INTEGERS = frozenset(("ceil", "floor", "gcd", "lcm", "isqrt", "trunc", "prod", "comb", "factorial"))


def _is_host(value: Any) -> bool:
    return isinstance(value, Host) or (isinstance(value, (tuple, list)) and any(isinstance(v, Host) for v in value))


def call(domain: HostDomain, name: str, args: list[Any]) -> Any:
    """A builtin of host values; MISSING where the evaluator's own answer serves."""
    if name in ("isinstance", "hasattr", "getattr", "setattr", "print", "any", "all", "enumerate", "zip", "callable"):
        return MISSING
    args = [domain.lift(domain.world.resolve(a)) for a in args]
    if not any(_is_host(a) for a in args):
        return MISSING
    world = domain.world
    id_ = world.identity("builtin", name, *(key_of(a) for a in args))
    text = f"{name}({', '.join(text_of(a) for a in args)})"
    first = args[0]
    if name == "len":
        if isinstance(first, Sizes):
            rank = domain.rank(first)
            return rank if rank is not None else Number(world.identity("rank", first.rank_id), text, "int")
        return MISSING if isinstance(first, (tuple, list)) else Number(id_, text, "int")
    if name in ("int", "float", "bool"):
        if name == "bool":
            return domain.truth(first)
        if isinstance(first, Number) and first.kind == name:
            return first
        return Number(id_, text, name)  # type: ignore[arg-type]
    if name in ("min", "max", "sum", "abs", "round", "pow", "divmod"):
        return _reduced(domain, id_, text, name, args)
    if name == "range":
        return Symbol(id_, text)
    if name in ("tuple", "list"):
        if isinstance(first, Sizes):
            elements = shapes.elements_of(domain, first)
            return first if elements is None else tuple(elements) if name == "tuple" else elements
        return (
            MISSING if isinstance(first, (tuple, list)) else first if isinstance(first, Tensors) else Symbol(id_, text)
        )
    if name in _INTEGERS:
        return Number(id_, text, "int")
    if name in (
        "str",
        "repr",
        "type",
        "iter",
        "next",
        "reversed",
        "sorted",
        "dict",
        "set",
        "frozenset",
        "map",
        "filter",
    ):
        return MISSING if not isinstance(first, Host) else Symbol(id_, text)
    return MISSING


def _reduced(domain: HostDomain, id_: int, text: str, name: str, args: list[Any]) -> Any:
    items: Sequence[Any] = args
    if len(args) == 1 and name in ("min", "max", "sum"):
        if isinstance(args[0], Sizes):
            return Number(id_, text, "int")
        if not isinstance(args[0], (tuple, list)):
            return Symbol(id_, text)
        items = [domain.world.resolve(v) for v in args[0]]
    if name == "divmod":
        return (Number(id_, text, "int"), Number(domain.world.fresh(), text, "int"))
    if any(isinstance(i, Tensor) for i in items):
        return Tensor(id_, text, None)
    kinds = {kind_of(i) for i in items}
    if None in kinds:
        return Symbol(id_, text)
    if kinds <= {"int", "bool"} and name != "pow":
        return Number(id_, text, "int")
    if name == "round":
        return Number(id_, text, "int" if len(args) == 1 else "float")
    return Number(id_, text, "float" if kinds == {"float"} else "number")


def of_ref(domain: HostDomain, path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of an object of Triton's or of a standard module; MISSING where the environment's own answer serves."""
    made = torch_calls.descriptor(domain, path, args, kwargs)
    if made is not MISSING:
        return made
    values = [domain.world.resolve(domain.lift(v)) for v in (*args, *kwargs.values())]
    if not any(_is_host(v) for v in values):
        return MISSING
    name = path.rpartition(".")[2]
    id_ = domain.world.identity("call", path, *(key_of(v) for v in values))
    text = f"{name}({', '.join(text_of(v) for v in values)})"
    if path.startswith("triton.") and name in ("cdiv", "next_power_of_2"):
        return Number(id_, text, "int")
    if path.startswith("math."):
        return Number(id_, text, "int" if name in _MATH_INTEGERS else "bool" if name.startswith("is") else "float")
    if path == "triton.reinterpret" and len(values) >= 2:
        return Tensor(id_, text, values[1] if not isinstance(values[1], Host) else None)
    return MISSING
