"""Calls of the user's pure Python functions while a kernel is generated, in the bounded evaluator instead of Python.

The evaluator knows plain data; `_TritonDomain` adds the objects that a program holds here: Triton's own, and those that
were made of its units. Between the two, `_inward` and `_outward` translate what each side has its own form of: builtins,
functions of the evaluated code, and values that are not known.
"""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import triton.language as tl

from ...pyeval import (
    MISSING,
    Budget,
    BudgetExceeded,
    Builtin,
    Closure,
    Domain,
    Evaluator,
    Frame,
    Raised,
    Undecided,
)
from ...pyeval import Unknown as NotKnown
from .references import JITCallable, attribute_allowed, read_attribute
from .stand_ins import Opaque, OpaqueUse, StandInUse, Unknown, UnknownUse

BODY = "__kernel_ls_body__"
"""Attribute of a function of the program: its definition, globals, and an object with its defaults."""

_STEPS = 1_000_000
_NESTED = 64
_MAX_COMBINATORIC = 10_000

_UNARY: dict[str, Callable[[Any], Any]] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
_GROWING = {operator.pow: "Pow", operator.mul: "Mult", operator.lshift: "LShift", operator.add: "Add"}
"""Functions whose result may be far larger than their arguments: done by the evaluator, which bounds it."""

_NUMERIC = frozenset({"abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "range", "round", "sum"})
"""Builtins that see through a constexpr, which compares and converts as its value does."""

_COMBINATORIC = frozenset({"factorial", "comb", "perm", "prod", "lcm"})


def call(
    node: ast.FunctionDef, args: Sequence[Any], kwargs: Mapping[str, Any], scope: Mapping[str, Any], function: Any
) -> Any:
    """What a call of a function of the program gives.

    Args:
        node: its definition.
        args, kwargs: arguments of the call.
        scope: its globals.
        function: a function object with its signature, defaults and name.

    Raises:
        UnknownUse: it depends on what is not known, or exceeds the budget.
        Exception: what the function itself raises, of the builtin type or, for others, a RuntimeError that names it.
    """
    evaluator = Evaluator(_TritonDomain(), Budget(steps=_STEPS, depth=_NESTED))
    try:
        closure = _closure(node, scope, function)
        inward = {name: _inward(value) for name, value in kwargs.items()}
        result = evaluator.call_closure(closure, [_inward(value) for value in args], inward)
        return _outward(result, evaluator, function.__qualname__)
    except (Undecided, BudgetExceeded) as stop:
        raise UnknownUse(function.__qualname__, stop.reason) from None
    except RecursionError:
        raise UnknownUse(function.__qualname__, "its calls are nested too deeply to evaluate") from None
    except Raised as raised:
        raise _exception(raised) from None


def _exception(raised: Raised) -> Exception:
    kind = getattr(builtins, raised.kind, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, (UnicodeError, StopIteration)):
        return kind(raised.message) if raised.message else kind()
    return RuntimeError(f"{raised.kind}: {raised.message}" if raised.message else raised.kind)


def _closure(node: ast.FunctionDef, scope: Mapping[str, Any], function: Any) -> Closure:
    frame = Frame(_Globals(scope))
    defaults = {
        parameter.name: _inward(parameter.default)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is not inspect.Parameter.empty
    }
    return Closure(node, frame, defaults, node.name)


class _Globals:
    """A unit's globals, as the evaluator sees them."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._scope = scope

    def get(self, name: str, default: Any = None, /) -> Any:
        """The value of a global name, or `default`."""
        return _inward(self._scope[name]) if name in self._scope else default


# ------------------------------------------------------------------------------------------- translation

_BUILTINS = {id(value): name for name, value in vars(builtins).items() if callable(value)}


def _inward(value: Any) -> Any:
    if isinstance(value, Unknown):
        return NotKnown(object.__getattribute__(value, "_reason"), object.__getattribute__(value, "_name"))
    if isinstance(value, (types.BuiltinFunctionType, type)) and _BUILTINS.get(id(value)):
        made = Domain().builtin(_BUILTINS[id(value)])
        return value if made is MISSING else made
    if type(value) in (tuple, list):
        return type(value)(_inward(item) for item in value)
    if type(value) is dict:
        return {key: _inward(item) for key, item in value.items()}
    return value


def _outward(value: Any, evaluator: Evaluator, name: str) -> Any:
    """The value as the generator takes it.

    Raises:
        UnknownUse: it, or something in it, is not known.
    """
    if isinstance(value, NotKnown):
        raise UnknownUse(value.name or name, value.reason)
    if isinstance(value, Builtin):
        return getattr(builtins, value.name)
    if isinstance(value, Closure):

        def function(*args: Any, **kwargs: Any) -> Any:
            inward = {key: _inward(item) for key, item in kwargs.items()}
            return _outward(
                evaluator.call_closure(value, [_inward(item) for item in args], inward), evaluator, value.name
            )

        return function
    if type(value) in (tuple, list, set, frozenset):
        return type(value)(_outward(item, evaluator, name) for item in value)
    if type(value) is dict:
        return {key: _outward(item, evaluator, name) for key, item in value.items()}
    return value


# ------------------------------------------------------------------------------------------------ domain


class _TritonDomain(Domain):
    """Plain data, Triton's objects, and the classes and functions of the program."""

    def attribute(self, value: Any, name: str) -> Any:
        if not _is_real(value):
            return super().attribute(value, name)
        if not attribute_allowed(name):
            return NotKnown(f"`{name}` is an attribute of Python's own machinery")
        return self._attempt(lambda: _inward(read_attribute(value, name)))

    def set_attribute(self, value: Any, name: str, to: Any) -> None:
        # Only what the program made may be changed by it, never Triton's modules and classes.
        mine = _is_real(value) and not isinstance(
            value, (type, types.ModuleType, types.FunctionType, JITCallable, Opaque)
        )
        home = getattr(type(value), "__module__", "")
        if not mine or not attribute_allowed(name) or home == "triton" or home.startswith("triton."):
            raise Undecided(f"setting the attribute `{name}` is not supported")
        if isinstance(to, NotKnown):
            raise Undecided(to.reason)
        result = self._attempt(lambda: setattr(value, name, to))
        if isinstance(result, NotKnown):
            raise Undecided(result.reason)

    def call(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator, node: ast.AST | None
    ) -> Any:
        if isinstance(function, Builtin) and function.name in _NUMERIC:
            args = [_inward(_plain(argument)) for argument in args]
        if not _is_real(function):
            return super().call(function, args, kwargs, evaluator, node)
        if isinstance(function, types.MethodType) or type(function).__name__ == "BoundConstexprFunction":
            args, function = [function.__self__, *args], function.__func__
        body = getattr(function, BODY, None) or getattr(getattr(function, "fn", None), BODY, None)
        if body is not None and not isinstance(function, type):
            if isinstance(function, JITCallable):
                args = [_plain(argument) for argument in args]
                kwargs = {key: _plain(argument) for key, argument in kwargs.items()}
            return evaluator.call_closure(_closure(*body), args, kwargs)
        if isinstance(function, Opaque):
            return NotKnown(f"{function!r} is not run")
        if isinstance(function, types.BuiltinFunctionType) and function in _GROWING and len(args) == 2 and not kwargs:
            return self.binary(_GROWING[function], args[0], args[1], evaluator.budget)
        if getattr(function, "__module__", "") == "math" and getattr(function, "__name__", "") in _COMBINATORIC:
            numbers = [item for arg in args for item in (arg if isinstance(arg, (tuple, list)) else [arg])]
            if any(isinstance(number, int) and abs(number) > _MAX_COMBINATORIC for number in numbers):
                raise BudgetExceeded("it is an integer too large to evaluate")
        try:
            given = [_outward(argument, evaluator, "an argument") for argument in args]
            named = {key: _outward(argument, evaluator, key) for key, argument in kwargs.items()}
        except UnknownUse as use:
            return NotKnown(use.reason, use.name)
        return self._attempt(lambda: _inward(function(*given, **named)))

    def unary(self, op: str, value: Any, budget: Budget) -> Any:
        if isinstance(value, tl.constexpr):
            return self._wrapped(super().unary(op, _inward(value.value), budget))
        if not _is_real(value):
            return super().unary(op, value, budget)
        return self._attempt(lambda: _UNARY[op](value))

    def binary(self, op: str, left: Any, right: Any, budget: Budget) -> Any:
        if isinstance(left, tl.constexpr) or isinstance(right, tl.constexpr):
            inner = self.binary(op, _inward(_plain(left)), _inward(_plain(right)), budget)
            return self._wrapped(inner)
        if _is_real(left) or _is_real(right):
            # Enumerators with an integer behind them compute as that integer, and as large.
            if isinstance(left, enum.IntEnum) or isinstance(right, enum.IntEnum):
                return super().binary(op, _integer(left), _integer(right), budget)
            if isinstance(left, NotKnown) or isinstance(right, NotKnown) or op not in _BINARY:
                return left if isinstance(left, NotKnown) else NotKnown("an operation on objects that is not evaluated")
            return self._attempt(lambda: _BINARY[op](left, right))
        return super().binary(op, left, right, budget)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        if isinstance(left, NotKnown) or isinstance(right, NotKnown):
            return super().compare(op, left, right)
        if op in ("Is", "IsNot"):
            if _is_real(left) or _is_real(right):
                return (left is right) == (op == "Is")
            return super().compare(op, left, right)
        if op in ("In", "NotIn"):
            container = _plain(right)
            if _is_real(left) or _is_real(container):
                return self._contains(op, left, container)
            return super().compare(op, _plain(left), container)
        if isinstance(left, tl.constexpr) or isinstance(right, tl.constexpr):
            return self._wrapped(self.compare(op, _inward(_plain(left)), _inward(_plain(right))))
        if _is_real(left) or _is_real(right):
            if op in ("Eq", "NotEq") and (
                isinstance(left, (Builtin, Closure)) or isinstance(right, (Builtin, Closure))
            ):
                return op == "NotEq"
            return self._attempt(lambda: _COMPARE[op](left, right))
        return super().compare(op, left, right)

    def _contains(self, op: str, item: Any, container: Any) -> Any:
        elements = self.iterate(container, Budget())
        if isinstance(elements, NotKnown):
            return elements
        for element in elements:
            equal = self.compare("Eq", element, item)
            if isinstance(equal, NotKnown):
                return equal
            if self.truth(equal):
                return op == "In"
        return op == "NotIn"

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, tl.constexpr):
            return self.truth(_inward(value.value))
        if not _is_real(value):
            return super().truth(value)
        if isinstance(value, (Opaque, type, types.FunctionType, types.ModuleType, JITCallable, enum.Enum, tuple)):
            return bool(value)
        return True if isinstance(value, tl.dtype) else None

    def iterate(self, value: Any, budget: Budget) -> Any:
        if isinstance(value, tl.constexpr):
            return self.iterate(_inward(value.value), budget)
        iterable = isinstance(value, tuple) or (isinstance(value, type) and issubclass(value, enum.Enum))
        if _is_real(value) and (iterable or isinstance(value, getattr(tl, "tuple", ()))):
            return [_inward(item) for item in value]
        return super().iterate(value, budget)

    def subscript(self, value: Any, index: Any) -> Any:
        value, index = _inward(_plain(value)), _inward(_plain(index))
        iterable = isinstance(value, tuple) or (isinstance(value, type) and issubclass(value, enum.Enum))
        if _is_real(value) and (iterable or isinstance(value, getattr(tl, "tuple", ()))):
            return self._attempt(lambda: _inward(value[index]))
        if isinstance(value, dict) and _is_real(index) and self.is_hashable(index):
            return self._attempt(lambda: value[index])
        return super().subscript(value, index)

    def format(self, value: Any, conversion: str, spec: str, budget: Budget) -> Any:
        if isinstance(value, (tl.dtype, tl.constexpr, enum.Enum)):
            text = repr(value) if conversion == "r" else str(value)
            return super().format(text, "", spec, budget)
        return super().format(value, conversion, spec, budget)

    def is_instance(self, value: Any, cls: Any) -> Any:
        if isinstance(value, NotKnown) or isinstance(cls, NotKnown):
            return super().is_instance(value, cls)
        real = getattr(builtins, cls.name, None) if isinstance(cls, Builtin) else cls
        if (_is_real(value) or _is_real(cls)) and isinstance(real, type) and not isinstance(value, (Builtin, Closure)):
            return isinstance(value, real)
        return super().is_instance(value, cls)

    def has_attribute(self, value: Any, name: str) -> Any:
        if not _is_real(value):
            return super().has_attribute(value, name)
        try:
            read_attribute(value, name)
        except AttributeError:
            return False
        except StandInUse as use:
            return NotKnown(use.reason, use.name)
        return True

    def is_hashable(self, value: Any) -> bool:
        if not _is_real(value):
            return super().is_hashable(value)
        if isinstance(value, tuple):
            return all(self.is_hashable(item) for item in value)
        return isinstance(value, (tl.dtype, enum.Enum, Opaque, type, types.FunctionType))

    def describe(self, value: Any) -> str:
        if isinstance(value, Opaque):
            return repr(value)
        if _is_real(value):
            return f"`{getattr(value, '__name__', None) or type(value).__name__}`"
        return super().describe(value)

    @staticmethod
    def _wrapped(value: Any) -> Any:
        return value if isinstance(value, NotKnown) else tl.constexpr(value)

    @staticmethod
    def _attempt(action: Callable[[], Any]) -> Any:
        """Do something with real objects; what it raises is raised by the evaluated code."""
        try:
            return action()
        except (Raised, Undecided, BudgetExceeded):
            raise
        except OpaqueUse as use:
            return NotKnown(f"{use.name} is not run", use.name)
        except StandInUse as use:
            return NotKnown(use.reason, use.name)
        except Exception as error:
            raise Raised(type(error).__name__, str(error)) from None


_EVALUATOR = Evaluator.__module__.rpartition(".")[0]
_PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice)


def _is_real(value: Any) -> bool:
    """Whether it is an object that the evaluator does not know by itself."""
    return type(value) not in _PLAIN_TYPES and type(value).__module__.rpartition(".")[0] != _EVALUATOR


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, enum.IntEnum) else value
