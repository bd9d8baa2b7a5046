"""The operations, builtins and methods of plain data: an allowlist, with the growth of every result bounded beforehand."""

from __future__ import annotations

import builtins as _builtins
import operator
import re
import string
from typing import TYPE_CHECKING, Any, Callable

from .values import Budget, Builtin, Closure, Method, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from .domain import Domain
    from .evaluator import Evaluator

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


def attribute(value: Any, name: str) -> Any:
    """An allowlisted attribute or method of plain data."""
    for kind in type(value).__mro__:
        if name in METHODS.get(kind.__name__, ()):
            return Method(value, name)
    if isinstance(value, (int, float, complex)) and name in ("real", "imag", "numerator", "denominator"):
        return guarded(getattr, value, name)
    if isinstance(value, (slice, range)) and name in ("start", "stop", "step"):
        return getattr(value, name)
    if not hasattr(type(value), name):
        raise Raised("AttributeError", f"a value of type {type(value).__name__} has no attribute {name!r}")
    return Unknown(f"the method `{name}` of {type(value).__name__} is not evaluated")


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


def _format_method(template: str, args: list[Any], kwargs: dict[str, Any], budget: Budget) -> Any:
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


# ------------------------------------------------------------------------------------------------- methods

METHODS: dict[str, frozenset[str]] = {
    "str": frozenset(
        "capitalize casefold count encode endswith find format index isalnum isalpha isascii isdecimal isdigit isidentifier "
        "islower isnumeric isspace istitle isupper join lower lstrip partition removeprefix removesuffix replace rfind rindex "
        "rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill ljust rjust center".split()
    ),
    "bytes": frozenset(("decode", "startswith", "endswith", "hex")),
    "int": frozenset(("bit_length", "bit_count", "conjugate", "is_integer", "as_integer_ratio")),
    "float": frozenset(("is_integer", "hex", "conjugate", "as_integer_ratio")),
    "tuple": frozenset(("count", "index")),
    "range": frozenset(("count", "index")),
    "list": frozenset(
        ("append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort")
    ),
    "dict": frozenset(("clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values")),
    "set": frozenset(
        "add clear copy difference discard intersection isdisjoint issubset issuperset pop remove "
        "symmetric_difference union update".split()
    ),
    "frozenset": frozenset(
        "copy difference intersection isdisjoint issubset issuperset symmetric_difference union".split()
    ),
}
_CLASS_METHODS = {
    ("dict", "fromkeys"),
    ("float", "fromhex"),
    ("int", "from_bytes"),
    ("str", "join"),
    ("str", "maketrans"),
}


def has_class_method(type_name: str, name: str) -> bool:
    """Whether `type_name.name` may be called: a class method, or a method taken from its class."""
    return (type_name, name) in _CLASS_METHODS or name in METHODS.get(type_name, ())


def call_method(method: Method, args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    """Call an allowlisted method."""
    owner, name, budget, domain = method.owner, method.name, evaluator.budget, evaluator.domain
    if isinstance(owner, Builtin):
        if (owner.name, name) == ("dict", "fromkeys"):
            keys = evaluator.elements(args[0]) if args else []
            if isinstance(keys, Unknown):
                return keys
            return {k: (args[1] if len(args) > 1 else None) for k in keys if domain.is_hashable(k)}
        if args and name in METHODS.get(owner.name, ()) and is_instance(args[0], owner) is True:
            return call_method(Method(args[0], name), args[1:], kwargs, evaluator)
        return Unknown(f"`{owner.name}.{name}` is not evaluated")
    if isinstance(owner, dict):
        return _dict_method(owner, name, args, kwargs, evaluator)
    if isinstance(owner, list) and name in ("append", "extend", "insert", "sort"):
        return _list_method(owner, name, args, kwargs, evaluator)
    if isinstance(owner, str) and name == "format":
        return _format_method(owner, args, kwargs, budget)
    if isinstance(owner, str) and name == "join" and len(args) == 1:
        parts = evaluator.elements(args[0])
        if isinstance(parts, Unknown):
            return parts
        for part in parts:
            if isinstance(part, Unknown):
                return part
        if not all(isinstance(p, str) for p in parts):
            raise Raised("TypeError", "join: expected strings")
        budget.grow(sum(len(p) + len(owner) for p in parts))
        return owner.join(parts)
    for arg in (*args, *kwargs.values()):
        if isinstance(arg, Unknown):
            return arg
    if isinstance(owner, list) and name in ("clear", "copy", "pop", "reverse"):
        return guarded(getattr(owner, name), *args)
    if isinstance(owner, set) and name in ("add", "discard", "remove") and len(args) == 1:
        if not domain.is_hashable(args[0]):
            raise Undecided("a set is filled with objects that are not evaluated")
        budget.grow(len(owner) + 1)
        return guarded(getattr(owner, name), args[0])
    if not (is_deeply_plain(owner) and all(is_deeply_plain(a) for a in (*args, *kwargs.values()))):
        return Unknown(f"the method `{name}` is called with objects that are not evaluated")
    _bound_string_method(owner, name, args, budget)
    result = guarded(getattr(owner, name), *args, **kwargs)
    if isinstance(result, (str, bytes, list, tuple, set, frozenset)):
        budget.grow(len(result))
    return result


def _bound_string_method(owner: Any, name: str, args: list[Any], budget: Budget) -> None:
    if name in ("zfill", "ljust", "rjust", "center") and args and isinstance(args[0], int):
        budget.grow(args[0])
    elif name == "replace" and isinstance(owner, str) and len(args) >= 2 and all(isinstance(a, str) for a in args[:2]):
        budget.grow((owner.count(args[0]) + 1) * len(args[1]) + len(owner))
    elif isinstance(owner, set) and name == "update":
        budget.grow(len(owner) + sum(len(a) for a in args if isinstance(a, (list, tuple, set, dict, str))))


def _dict_method(
    owner: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator
) -> Any:
    domain = evaluator.domain
    if name in ("keys", "values", "items"):
        evaluator.budget.grow(len(owner))
        return list(getattr(owner, name)())
    if name in ("copy", "clear", "popitem"):
        return guarded(getattr(owner, name))
    if name in ("get", "pop", "setdefault"):
        if not args:
            raise Raised("TypeError", f"{name} takes a key")
        if isinstance(args[0], Unknown):
            return args[0]
        if not domain.is_hashable(args[0]):
            return Unknown("it is looked up by an object that is not evaluated")
        return guarded(getattr(owner, name), *args, **kwargs)
    if name == "update":
        if args:
            other = args[0]
            if isinstance(other, dict):
                owner.update(other)
            else:
                pairs = evaluator.elements(other)
                if isinstance(pairs, Unknown):
                    raise Undecided(pairs.reason)
                for pair in pairs:
                    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and domain.is_hashable(pair[0])):
                        raise Undecided("a dictionary is filled by something that is not known")
                    owner[pair[0]] = pair[1]
        owner.update(kwargs)
        evaluator.budget.grow(len(owner))
        return None
    return Unknown(f"the method `{name}` of dict is not evaluated")


def _list_method(owner: list[Any], name: str, args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if name == "sort":
        owner[:] = call_builtin("sorted", [owner], kwargs, evaluator)
        return None
    if name == "extend" and len(args) == 1:
        more = evaluator.elements(args[0])
        if isinstance(more, Unknown):
            raise Undecided(more.reason)
        evaluator.budget.grow(len(owner) + len(more))
        owner.extend(more)
        return None
    evaluator.budget.grow(len(owner) + 1)
    return guarded(getattr(owner, name), *args)


# ------------------------------------------------------------------------------------------------- builtins

Implementation = Callable[[list[Any], dict[str, Any], "Evaluator"], Any]
FUNCTIONS: dict[str, Implementation] = {}


def builtin(name: str) -> Callable[[Implementation], Implementation]:
    """Register the implementation of an allowlisted builtin."""

    def register(function: Implementation) -> Implementation:
        FUNCTIONS[name] = function
        return function

    return register


def call_builtin(name: str, args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    """Call an allowlisted builtin function or type, or make an exception."""
    if name in FUNCTIONS:
        try:
            return FUNCTIONS[name](args, kwargs, evaluator)
        except (IndexError, TypeError, ValueError) as error:
            raise Raised("TypeError", f"{name}: {error}"[:200]) from None
    if is_exception(name):
        return ExceptionValue(name, str(args[0]) if args and isinstance(args[0], str) else "")
    return Unknown(f"`{name}` is not evaluated")


class ExceptionValue:
    """An exception that the evaluated code made, raised or not."""

    __slots__ = ("kind", "message")

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message


def first_unknown(values: Any) -> Unknown | None:
    """The first Unknown among `values`, if any."""
    for value in values:
        if isinstance(value, Unknown):
            return value
    return None


def _simple(name: str) -> None:
    """A builtin that is Python's own where all its arguments are plain data."""
    python = getattr(_builtins, name)

    def run(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
        unknown = first_unknown((*args, *kwargs.values()))
        if unknown is not None:
            return unknown
        if not all(is_deeply_plain(a) for a in (*args, *kwargs.values())):
            return Unknown(f"`{name}` is called with an object that is not evaluated")
        if name == "int" and args and isinstance(args[0], (str, bytes)):
            evaluator.budget.widen(len(args[0]) * 4)
        return guarded(python, *args, **kwargs)

    FUNCTIONS[name] = run


for _name in ("int", "float", "complex", "abs", "divmod", "chr", "ord", "bin", "hex", "oct", "slice", "ascii"):
    _simple(_name)


@builtin("round")
def _round(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    unknown = first_unknown((*args, *kwargs.values()))
    if unknown is not None:
        return unknown
    digits = args[1] if len(args) > 1 else kwargs.get("ndigits")
    if not (args and isinstance(args[0], (int, float)) and (digits is None or isinstance(digits, int))):
        return Unknown("`round` of an object that is not evaluated")
    evaluator.budget.widen(abs(digits or 0))
    return guarded(round, args[0], digits)


@builtin("pow")
def _pow(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if len(args) == 2:
        return evaluator.domain.binary("Pow", args[0], args[1], evaluator.budget)
    if len(args) == 3 and all(isinstance(a, int) for a in args):
        return guarded(pow, *args)
    return Unknown("`pow` of objects that are not evaluated")


@builtin("bool")
def _bool(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if not args:
        return False
    truth = evaluator.domain.truth(args[0])
    if truth is None:
        return args[0] if isinstance(args[0], Unknown) else Unknown("the truth of an object that is not evaluated")
    return truth


@builtin("str")
def _str(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return evaluator.domain.format(args[0], "s", "", evaluator.budget) if args else ""


@builtin("repr")
def _repr(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return evaluator.domain.format(args[0], "r", "", evaluator.budget)


@builtin("format")
def _format(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    spec = args[1] if len(args) > 1 else ""
    return (
        evaluator.domain.format(args[0], "", spec, evaluator.budget) if isinstance(spec, str) else Unknown("a format")
    )


@builtin("len")
def _len(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if isinstance(args[0], (str, bytes, tuple, list, dict, set, frozenset, range)):
        return guarded(len, args[0])
    elements = evaluator.elements(args[0])
    return elements if isinstance(elements, Unknown) else len(elements)


@builtin("range")
def _range(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    unknown = first_unknown(args)
    if unknown is not None:
        return unknown
    if not all(isinstance(a, int) for a in args):
        return Unknown("a range with bounds that are not known")
    return guarded(range, *args)


def _collect(name: str, make: Callable[[list[Any]], Any], hashed: bool = False) -> None:
    def run(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
        elements = evaluator.elements(args[0]) if args else []
        if isinstance(elements, Unknown):
            return elements
        if hashed and not all(evaluator.domain.is_hashable(e) for e in elements):
            return Unknown("a set of objects that are not evaluated")
        return make(list(elements))

    FUNCTIONS[name] = run


_collect("list", list)
_collect("tuple", tuple)
_collect("set", set, hashed=True)
_collect("frozenset", frozenset, hashed=True)
_collect("iter", list)
_collect("reversed", lambda elements: elements[::-1])


@builtin("dict")
def _dict(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    result: dict[Any, Any] = {}
    if args and isinstance(args[0], Unknown):
        return args[0]
    try:
        _dict_method(result, "update", args, kwargs, evaluator)
    except Undecided as undecided:
        return Unknown(undecided.reason)
    return result


@builtin("zip")
def _zip(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    columns = [evaluator.elements(a) for a in args]
    unknown = first_unknown(columns)
    return unknown if unknown is not None else list(zip(*columns))


@builtin("enumerate")
def _enumerate(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    elements = evaluator.elements(args[0])
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if isinstance(elements, Unknown) or not isinstance(start, int):
        return elements if isinstance(elements, Unknown) else Unknown("an enumeration whose start is not known")
    return list(enumerate(elements, start))


@builtin("map")
def _map(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    columns = [evaluator.elements(a) for a in args[1:]]
    unknown = first_unknown(columns)
    return unknown if unknown is not None else [evaluator.call(args[0], row, {}) for row in zip(*columns)]


@builtin("filter")
def _filter(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    elements = evaluator.elements(args[1])
    if isinstance(elements, Unknown):
        return elements
    kept = []
    for element in elements:
        truth = evaluator.domain.truth(element if args[0] is None else evaluator.call(args[0], (element,), {}))
        if truth is None and not evaluator.domain.explores:
            return Unknown("it is filtered by something that is not known")
        if truth is not False:
            kept.append(element)
    return kept


@builtin("any")
def _any(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return _quantify(args[0], True, evaluator)


@builtin("all")
def _all(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return _quantify(args[0], False, evaluator)


def _quantify(iterable: Any, decisive: bool, evaluator: Evaluator) -> Any:
    elements = evaluator.elements(iterable)
    if isinstance(elements, Unknown):
        return elements
    undecided = False
    for element in elements:
        truth = evaluator.domain.truth(element)
        if truth is decisive:
            return decisive
        undecided = undecided or truth is None
    return Unknown("it depends on values that are not known") if undecided else not decisive


@builtin("sum")
def _sum(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    elements = evaluator.elements(args[0])
    if isinstance(elements, Unknown):
        return elements
    total = args[1] if len(args) > 1 else kwargs.get("start", 0)
    for element in elements:
        total = evaluator.domain.binary("Add", total, element, evaluator.budget)
    return total


def _ordered(name: str) -> None:
    python = getattr(_builtins, name)

    def run(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
        elements = evaluator.elements(args[0]) if len(args) == 1 else list(args)
        if isinstance(elements, Unknown):
            return elements
        if not elements:
            if name == "sorted":
                return []
            if "default" in kwargs:
                return kwargs["default"]
            raise Raised("ValueError", f"{name}() of nothing")
        key = kwargs.get("key")
        keys = list(elements) if key is None else [evaluator.call(key, (e,), {}) for e in elements]
        unknown = first_unknown(keys)
        if unknown is not None:
            return unknown
        if not all(is_deeply_plain(k) for k in keys):
            return Unknown("an order of objects that are not evaluated")
        order = range(len(keys))
        if name == "sorted":
            backwards = evaluator.domain.truth(kwargs.get("reverse", False))
            return [elements[i] for i in guarded(sorted, order, key=keys.__getitem__, reverse=bool(backwards))]
        return elements[guarded(python, order, key=keys.__getitem__)]

    FUNCTIONS[name] = run


for _name in ("min", "max", "sorted"):
    _ordered(_name)


@builtin("isinstance")
def _isinstance(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    classes = args[1] if isinstance(args[1], tuple) else (args[1],)
    undecided: Any = None
    for cls in classes:
        if isinstance(cls, Unknown):
            undecided = cls
            continue
        result = evaluator.domain.is_instance(args[0], cls)
        if result is True:
            return True
        if result is not False:
            undecided = result
    return False if undecided is None else undecided


@builtin("callable")
def _callable(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if isinstance(args[0], (Builtin, Closure, Method)):
        return True
    return False if is_plain(args[0]) else Unknown("whether an object can be called is not known")


@builtin("type")
def _type(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if len(args) == 1 and is_plain(args[0]) and type(args[0]).__name__ in TYPES:
        return Builtin(type(args[0]).__name__)
    return Unknown("the type of an object that is not evaluated")


@builtin("getattr")
def _getattr(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if len(args) < 2 or not isinstance(args[1], str):
        return Unknown("an attribute whose name is not known")
    if len(args) == 3:
        has = evaluator.domain.has_attribute(args[0], args[1])
        if has is False:
            return args[2]
    return evaluator.domain.attribute(args[0], args[1])


@builtin("hasattr")
def _hasattr(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if not isinstance(args[1], str):
        return Unknown("an attribute whose name is not known")
    return evaluator.domain.has_attribute(args[0], args[1])


@builtin("setattr")
def _setattr(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    if not isinstance(args[1], str) or args[1].startswith("__"):
        raise Undecided("it sets an attribute whose name is not known")
    evaluator.domain.set_attribute(args[0], args[1], args[2])


@builtin("next")
def _next(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    # Iterators are evaluated to lists, which suits the one use that pure code makes of `next`: the first match.
    elements = evaluator.elements(args[0])
    if isinstance(elements, Unknown):
        return elements
    if elements:
        return elements[0]
    if len(args) > 1:
        return args[1]
    raise Raised("StopIteration", "")


@builtin("print")
def _print(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return None


@builtin("id")
def _id(args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
    return Unknown("the identity of an object")
