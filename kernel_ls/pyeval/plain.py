"""The operations on plain data, with the growth of every result bounded beforehand."""

from __future__ import annotations

import builtins as _builtins
import operator
import re
import string
from typing import TYPE_CHECKING, Any, Callable

from .values import Budget, Builtin, Closure, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from .domain import Domain

SCALARS = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis))
CONTAINERS = (tuple, list, dict, set, frozenset)
_PLAIN = frozenset((*SCALARS, *CONTAINERS, range, slice))
CONSTANTS: dict[str, Any] = {"Ellipsis": Ellipsis, "__debug__": True}
NOT_EVALUATED = frozenset(
    "open input eval exec compile __import__ globals vars super property staticmethod classmethod memoryview bytearray "
    "hash dir delattr issubclass breakpoint help exit quit aiter anext".split()
)
"""Builtins that exist and whose calls give Unknown."""

TYPES: dict[str, Any] = {
    t.__name__: t
    for t in (int, float, bool, str, bytes, complex, tuple, list, dict, set, frozenset, range, slice, object, type)
}


def is_plain(value: Any) -> bool:
    """Whether `value` is plain data, of exactly one of Python's own types (what it holds may be anything)."""
    return type(value) in _PLAIN


def is_deeply_plain(value: Any, depth: int = 8) -> bool:
    """Whether `value` and everything in it is plain data, so that any operation on it runs Python's own code only."""
    kind = type(value)
    if kind in (tuple, list, set, frozenset):
        return depth > 0 and all(is_deeply_plain(v, depth - 1) for v in value)
    if kind is dict:
        return depth > 0 and all(
            is_deeply_plain(k, depth - 1) and is_deeply_plain(v, depth - 1) for k, v in value.items()
        )
    return kind in _PLAIN


def is_hashable(value: Any) -> bool:
    """Whether `value` is plain data that can be a key."""
    if type(value) in (tuple, frozenset):
        return all(is_hashable(v) for v in value)
    return type(value) in SCALARS or type(value) is range


def is_exception(name: str) -> bool:
    """Whether `name` is one of Python's exception classes."""
    found = getattr(_builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def same(first: Any, second: Any) -> bool:
    """Whether two values of one plain type are equal; False where comparing them is not safe."""
    return is_deeply_plain(first) and is_deeply_plain(second) and bool(first == second)


# ------------------------------------------------------------------------------------------------- operators

_UNARY: dict[str, Callable[[Any], Any]] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def guarded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call an operation of Python's own, its exceptions turned into the evaluated code's.

    Raises:
        Raised: the operation raised.
    """
    try:
        return function(*args, **kwargs)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Raised(type(error).__name__, str(error)[:200]) from None


def unary(op: str, value: Any) -> Any:
    """A unary operation on plain data."""
    if not is_plain(value):
        return Unknown("an operation on an object that is not evaluated")
    return guarded(_UNARY[op], value)


def binary(op: str, left: Any, right: Any, budget: Budget) -> Any:
    """A binary operation on plain data, refused beforehand where its result would be too large."""
    if not (is_plain(left) and is_plain(right)):
        return Unknown("an operation on an object that is not evaluated")
    if op == "MatMult":
        raise Raised("TypeError", "unsupported operand types for @")
    if isinstance(left, int) and isinstance(right, int):
        _bound_integers(op, left, right, budget)
    elif op == "Add" and isinstance(left, (str, bytes, tuple, list)) and isinstance(right, (str, bytes, tuple, list)):
        budget.grow(len(left) + len(right))
    elif op == "Mult":
        for sequence, count in ((left, right), (right, left)):
            if isinstance(sequence, (str, bytes, tuple, list)) and isinstance(count, int):
                budget.grow(len(sequence) * max(count, 0))
    elif op == "Mod" and isinstance(left, (str, bytes)):
        _bound_format(left if isinstance(left, str) else left.decode("latin-1"), budget)
        if not is_deeply_plain(right):
            return Unknown("it formats an object that is not evaluated")
    elif op == "Pow" and (isinstance(left, complex) or isinstance(right, complex)):
        return Unknown("a power of complex numbers")
    elif isinstance(left, (dict, set, frozenset)) and not (is_deeply_plain(left) and is_deeply_plain(right)):
        return _merge(op, left, right)
    return guarded(_BINARY[op], left, right)


def _merge(op: str, left: Any, right: Any) -> Any:
    if op == "BitOr" and type(left) is dict and type(right) is dict:
        return {**left, **right}
    return Unknown("an operation on a collection of objects that are not evaluated")


def _bound_integers(op: str, left: int, right: int, budget: Budget) -> None:
    if op == "LShift" and right > 0:
        budget.widen(left.bit_length() + min(right, budget.bits + 1))
    elif op == "Pow" and right > 0 and abs(left) > 1:
        budget.widen(left.bit_length() * min(right, budget.bits + 1))
    elif op == "Mult":
        budget.widen(left.bit_length() + right.bit_length())


def _bound_format(template: str, budget: Budget) -> None:
    """Refuse a format whose widths alone could make a large string."""
    if "*" in template or re.search(r"\d{5,}", template):
        raise Undecided("it formats with a width that is too large")
    budget.grow(len(template))


def compare(op: str, left: Any, right: Any, domain: Domain) -> Any:
    """One comparison; containers that hold other objects are compared through the domain, element by element."""
    if op in ("Is", "IsNot"):
        if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
            same_object = left is right
        else:
            same_object = left is right or (type(left) is type(right) and isinstance(left, Builtin) and left == right)
            if not same_object and is_plain(left) and is_plain(right) and isinstance(left, (int, str, float, tuple)):
                return Unknown("whether two equal values are one object is not known")
        return same_object if op == "Is" else not same_object
    if op in ("In", "NotIn"):
        found = _contains(right, left, domain)
        return found if isinstance(found, Unknown) or op == "In" else not found
    if op in ("Eq", "NotEq"):
        equal = _equal(left, right, domain)
        return equal if isinstance(equal, Unknown) or op == "Eq" else not equal
    if is_deeply_plain(left) and is_deeply_plain(right):
        return guarded(_COMPARE[op], left, right)
    return Unknown("a comparison of objects that are not evaluated")


def _equal(left: Any, right: Any, domain: Domain) -> Any:
    if is_deeply_plain(left) and is_deeply_plain(right):
        return bool(left == right)
    if isinstance(left, (Builtin, Closure)) or isinstance(right, (Builtin, Closure)):
        return left is right or (isinstance(left, Builtin) and left == right)
    if is_plain(left) and is_plain(right):
        if isinstance(left, (tuple, list)) and type(left) is type(right):
            if len(left) != len(right):
                return False
            result: Any = True
            for a, b in zip(left, right):
                equal = domain.truth(domain.compare("Eq", a, b))
                if equal is False:
                    return False
                if equal is None:
                    result = Unknown("a comparison of objects that are not evaluated")
            return result
        if type(left) is not type(right):
            return False
    if left is None or right is None:
        return Unknown("whether an object that is not evaluated equals None") if left is not right else True
    return Unknown("a comparison of objects that are not evaluated")


def _contains(container: Any, item: Any, domain: Domain) -> Any:
    if is_deeply_plain(container) and is_deeply_plain(item):
        return guarded(operator.contains, container, item)
    if isinstance(container, (dict, set, frozenset)):
        if not domain.is_hashable(item):
            return Unknown("whether it is among objects that are not evaluated")
        return item in container
    if isinstance(container, (tuple, list)):
        undecided = False
        for element in container:
            equal = domain.truth(domain.compare("Eq", element, item))
            if equal:
                return True
            undecided = undecided or equal is None
        return Unknown("whether it is among objects that are not evaluated") if undecided else False
    return Unknown("whether an object that is not evaluated contains it")


# ------------------------------------------------------------------------------------------------- subscripts and attributes


def subscript(value: Any, index: Any, domain: Domain) -> Any:
    """`value[index]` of plain data."""
    if isinstance(value, dict):
        if not domain.is_hashable(index):
            return Unknown("it is looked up by an object that is not evaluated")
        if index not in value:
            raise Raised("KeyError", repr(index) if is_deeply_plain(index) else "")
        return value[index]
    if isinstance(value, (tuple, list, str, bytes, range)) and is_plain(index):
        if isinstance(index, slice) and not all(part is None or isinstance(part, int) for part in _parts(index)):
            return Unknown("a slice with bounds that are not known")
        return guarded(operator.getitem, value, index)
    if is_plain(value) and is_plain(index):
        raise Raised("TypeError", f"a value of type {type(value).__name__} cannot be subscripted")
    return Unknown("an element of an object that is not evaluated")


def _parts(index: slice) -> tuple[Any, Any, Any]:
    return (index.start, index.stop, index.step)


def set_subscript(value: Any, index: Any, to: Any, domain: Domain, budget: Budget) -> None:
    """`value[index] = to` of plain data."""
    if isinstance(value, dict):
        if not domain.is_hashable(index):
            raise Undecided("a dictionary is filled by keys that are not known")
        budget.grow(len(value) + 1)
        value[index] = to
    elif isinstance(value, list) and isinstance(index, int):
        guarded(operator.setitem, value, index, to)
    else:
        raise Undecided("an element of an object that is not evaluated is set")


def delete_subscript(value: Any, index: Any, domain: Domain) -> None:
    """`del value[index]` of plain data."""
    if (isinstance(value, dict) and domain.is_hashable(index)) or (isinstance(value, list) and isinstance(index, int)):
        guarded(operator.delitem, value, index)
    else:
        raise Undecided("an element of an object that is not evaluated is deleted")


def is_instance(value: Any, cls: Any) -> Any:
    """`isinstance` of plain data and Python's own types."""
    if isinstance(value, Unknown):
        return value
    if isinstance(cls, Builtin) and cls.name in TYPES:
        if cls.name == "object":
            return True
        if is_plain(value):
            return isinstance(value, TYPES[cls.name])
        if isinstance(value, Closure):
            return False
        if isinstance(value, Builtin):
            return cls.name == "type" and value.name in TYPES
    if cls is None and value is None:
        return True
    return Unknown("whether a value is an instance of a class that is not evaluated")


# ------------------------------------------------------------------------------------------------- formatted strings


def format_value(value: Any, conversion: str, spec: str, budget: Budget) -> Any:
    """`{value!conversion:spec}` of plain data."""
    if isinstance(value, (Builtin, Closure)) and not spec:
        return value.name
    if not is_deeply_plain(value):
        return Unknown("it formats an object that is not evaluated")
    _bound_format(spec, budget)
    if conversion == "r":
        value = repr(value)
    elif conversion == "a":
        value = ascii(value)
    elif conversion == "s":
        value = str(value)
    text = guarded(format, value, spec)
    budget.grow(len(text))
    return text


def format_method(template: str, args: list[Any], kwargs: dict[str, Any], budget: Budget) -> Any:
    """`template.format(...)` with plain fields only: no attribute, no index."""
    parts = []
    position = 0
    for literal, field, spec, conversion in guarded(lambda: list(string.Formatter().parse(template))):
        parts.append(literal)
        if field is None:
            continue
        if field == "":
            field = str(position)
            position += 1
        if "{" in (spec or ""):
            return Unknown("a format within a format")
        if field.isdigit():
            if int(field) >= len(args):
                raise Raised("IndexError", "format: too few arguments")
            value = args[int(field)]
        elif field.isidentifier():
            if field not in kwargs:
                raise Raised("KeyError", repr(field))
            value = kwargs[field]
        else:
            return Unknown("a format that reads attributes")
        text = format_value(value, conversion or "", spec or "", budget)
        if isinstance(text, Unknown):
            return text
        parts.append(text)
    budget.grow(sum(len(p) for p in parts))
    return "".join(parts)
