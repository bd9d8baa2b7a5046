"""The methods of plain data: an allowlist, with the growth of every result bounded beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .plain import format_method, guarded, is_deeply_plain, is_instance
from .values import Budget, Builtin, Method, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from .evaluator import Evaluator

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
        return dict_method(owner, name, args, kwargs, evaluator)
    if isinstance(owner, list) and name in ("append", "extend", "insert", "sort"):
        return _list_method(owner, name, args, kwargs, evaluator)
    if isinstance(owner, str) and name == "format":
        return format_method(owner, args, kwargs, budget)
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


def dict_method(owner: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any], evaluator: Evaluator) -> Any:
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
        result = evaluator.call(Builtin("sorted"), (owner,), kwargs)
        # In an order that is not known, no element is.
        owner[:] = result if isinstance(result, list) else [result] * len(owner)
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
