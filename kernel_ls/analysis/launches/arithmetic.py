"""Operations on host values: numbers that are not known, tensors, and symbols that may be either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment import Opaque, Ref

from . import dtypes
from .values import Host, Kind, Number, Predicate, Sizes, Symbol, Tensor

if TYPE_CHECKING:
    from .course import CourseDomain
    from .domain import HostDomain

_SIGNS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "LShift": "<<",
    "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "MatMult": "@",
}  # fmt: skip
_INVERSE = {"NotEq": "Eq", "IsNot": "Is", "GtE": "Lt", "LtE": "Gt", "NotIn": "In"}


def key_of(value: Any) -> Any:
    """What makes an operand the same: an identity, or a constant."""
    if isinstance(value, Host):
        return ("#", value.id)
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *(key_of(v) for v in value))
    if isinstance(value, (Opaque, Ref)):
        return ("name", value.name if isinstance(value, Opaque) else value.path)
    if value is None or isinstance(value, (bool, int, float, str)):
        return ("=", type(value).__name__, value)
    return ("id", id(value))


def kind_of(value: Any) -> Kind | None:
    """What kind of number a value is, if it is one."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "float" if isinstance(value, float) else None


def text_of(value: Any) -> str:
    """A value in a few characters, for reasons."""
    text = value.text if isinstance(value, Host) else repr(value) if isinstance(value, (int, float, str)) else "..."
    return text if len(text) <= 40 else "..."


def binary(domain: HostDomain, op: str, left: Any, right: Any) -> Any:
    """`left op right`, where one of them is a host value."""
    world = domain.world
    id_ = world.identity("binary", op, key_of(left), key_of(right))
    text = f"{text_of(left)} {_SIGNS.get(op, op)} {text_of(right)}"
    sides = [domain.as_tensor(left), domain.as_tensor(right)]
    if any(s is not None for s in sides):
        return Tensor(id_, text, _tensor_dtype(op, left, right, sides))
    kinds = (kind_of(left), kind_of(right))
    if None not in kinds:
        return Number(id_, text, _number_kind(op, kinds[0], kinds[1], right))  # type: ignore[arg-type]
    if isinstance(left, Sizes) or isinstance(right, Sizes):
        return Symbol(id_, text)
    return Symbol(id_, text)


def _tensor_dtype(op: str, left: Any, right: Any, sides: list[Tensor | None]) -> Any:
    first, second = sides
    if first is not None and second is not None:
        names = dtypes.name_of(first.dtype), dtypes.name_of(second.dtype)
        if names[0] is not None and names[1] is not None:
            # Of two of one kind a tensor without dimensions counts less, so that only equal ones are certain.
            mixed = dtypes.is_float(names[0]) != dtypes.is_float(names[1])
            name = dtypes.promoted(names[0], names[1]) if mixed or names[0] == names[1] else None
        else:
            return first.dtype if key_of(first.dtype) == key_of(second.dtype) and op != "Div" else None
    else:
        tensor = first or second
        assert tensor is not None
        kind = kind_of(right if first is not None else left)
        name = dtypes.name_of(tensor.dtype)
        if name is None or kind is None:
            return tensor.dtype if kind in ("int", "bool") and op not in ("Div", "Pow") else None
        if not dtypes.is_float(name):
            name = None if kind == "number" else "float32" if kind == "float" else "int64" if name == "bool" else name
    if name is not None and op == "Div" and not dtypes.is_float(name):
        name = "float32"
    return dtypes.torch_dtype(name) if name is not None else None


def _number_kind(op: str, left: Kind, right: Kind, exponent: Any) -> Kind:
    if "float" in (left, right):
        return "float"
    if op == "Div":
        return "float"
    if "number" in (left, right):
        return "number"
    if op == "Pow":
        return "int" if isinstance(exponent, int) and exponent >= 0 else "number"
    if op in ("BitAnd", "BitOr", "BitXor") and left == right == "bool":
        return "bool"
    return "int"


def unary(domain: HostDomain, op: str, value: Any) -> Any:
    """`op value` of a host value."""
    id_ = domain.world.identity("unary", op, key_of(value))
    text = f"{'-' if op == 'USub' else '~'}{text_of(value)}"
    tensor = domain.as_tensor(value)
    if tensor is not None:
        return Tensor(id_, text, tensor.dtype, tensor.shape)
    if isinstance(value, Number):
        return Number(id_, text, "int" if value.kind == "bool" else value.kind)
    return Symbol(id_, text)


def compare(domain: HostDomain, op: str, left: Any, right: Any) -> Any:
    """A comparison with a host value: a bool with what it states, or what is known already."""
    negated = op in _INVERSE
    op = _INVERSE.get(op, op)
    if op == "Lt":
        op, left, right = "Gt", right, left
    if op == "Eq" and (left is None or right is None):
        op = "Is"
    if op == "Is" and (left is None or right is None):
        return _is_none(domain, right if left is None else left, negated)
    if op in ("Eq", "Gt") and (domain.as_tensor(left) is not None or domain.as_tensor(right) is not None):
        id_ = domain.world.identity("compare", op, key_of(left), key_of(right))
        return Tensor(id_, f"{text_of(left)} == {text_of(right)}", dtypes.BOOL)
    if op in ("Eq", "Is") and key_of(left) == key_of(right):
        return not negated
    if op == "Gt" and key_of(left) == key_of(right):
        return negated
    if op == "Eq" and kind_of(left) is not None and isinstance(right, (str, Opaque, Ref)):
        return negated
    keys = sorted((key_of(left), key_of(right)), key=repr) if op in ("Eq", "Is") else [key_of(left), key_of(right)]
    relation = "equal" if op in ("Eq", "Is") else "in" if op == "In" and isinstance(right, (list, tuple)) else "order"
    predicate = Predicate((op, *keys), negated, relation, left, right)
    return statement(domain, predicate, f"{text_of(left)} {op} {text_of(right)}")


def _is_none(domain: HostDomain, value: Any, negated: bool) -> Any:
    if not isinstance(value, Symbol) or value.id in domain.world.objects:
        return negated
    return statement(domain, Predicate(("None", value.id), negated, "none", value), f"{text_of(value)} is None")


def statement(domain: CourseDomain, predicate: Predicate, text: str) -> Any:
    """A bool that states something; True or False where that was decided before."""
    known = domain.world.known(predicate)
    if known is not None:
        return known
    id_ = domain.world.identity("predicate", predicate.key, predicate.negated)
    return Number(id_, text, "bool", predicate)
