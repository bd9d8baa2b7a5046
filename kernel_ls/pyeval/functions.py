"""The builtin functions and types: an allowlist over values of any domain."""

from __future__ import annotations

import builtins as _builtins
from typing import TYPE_CHECKING, Any, Callable

from .methods import dict_method
from .plain import TYPES, guarded, is_deeply_plain, is_exception, is_plain
from .values import Builtin, Closure, Method, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from .evaluator import Evaluator

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
        dict_method(result, "update", args, kwargs, evaluator)
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
