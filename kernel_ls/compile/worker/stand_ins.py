"""What stands in a program for values that are not there: `Unknown` and `Opaque`, and the exceptions of their use.

The exceptions are `CompilationError`s because the code generator lets only those pass unchanged; everything else it wraps
into a new error with the text of the old one.
"""

from __future__ import annotations

import inspect
import types
from typing import Any, NoReturn

from triton.compiler.errors import CompilationError

from ...pyeval.limits import float_limits, integer_limits


class StandInUse(CompilationError):  # type: ignore[misc]
    """A kernel needed a value that is not there.

    Attributes:
        name: the dotted name that was used, as the user wrote it where that is known.
        reason: why there is no value, as a phrase.
    """

    def __init__(self, name: str, reason: str) -> None:
        # The base would format a source excerpt, of which there is none: the generator knows the place.
        Exception.__init__(self, f"{name}: {reason}" if reason else name)
        self.src = None
        self.node = None
        self.name = name
        self.reason = reason
        self.error_message = str(self.args[0])
        self.message = self.error_message

    def __str__(self) -> str:
        return self.error_message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.reason!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.reason))


class UnknownUse(StandInUse):
    """A kernel needed a value that cannot be known without running the file."""


class OpaqueUse(StandInUse):
    """A kernel called or computed with an object that exists and is not Triton's: a fault of the kernel."""


def _raises(method: str) -> Any:
    def use(self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise self._use(method)

    use.__name__ = method
    return use


_OPERATIONS = (
    *(
        "__call__",
        "__getitem__",
        "__iter__",
        "__len__",
        "__contains__",
        "__bool__",
        "__index__",
        "__int__",
        "__float__",
    ),
    *("__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__pos__", "__abs__", "__invert__"),
    *("__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__"),
    *("__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rmatmul__"),
    *("__and__", "__or__", "__xor__", "__lshift__", "__rshift__"),
    *("__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__"),
)


class Unknown:
    """A value that cannot be known statically. Every use raises `UnknownUse`; holding and passing it does not."""

    def __init__(self, name: str, reason: str) -> None:
        self._name = name
        self._reason = reason

    def _use(self, _operation: str) -> UnknownUse:
        return UnknownUse(self._name, self._reason)

    def __getattr__(self, attribute: str) -> Any:
        # The generator asks a global for its marks (`__triton_builtin__`, ...) when a name is read: that read is the use.
        if attribute.startswith("__") and not attribute.startswith("__triton"):
            raise AttributeError(attribute)
        raise self._use(attribute)

    def __eq__(self, other: object) -> bool:
        # `inspect` and Triton compare defaults with their marker for "none".
        if other is inspect.Parameter.empty:
            return False
        raise self._use("__eq__")

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<unknown {self._name}>"


_LIMITS = {
    "torch.finfo": float_limits,
    "torch.iinfo": integer_limits,
    "numpy.finfo": float_limits,
    "numpy.iinfo": integer_limits,
}


class Opaque:
    """An object that exists and is not Triton's, such as `numpy.sqrt`.

    Attributes of it are opaque too. It can be passed around and compared (two are equal if they have one name), as the
    generator does with a `torch.dtype` given for a constexpr; computing with it raises `OpaqueUse`, and so does calling it,
    unless everything that it is given is opaque as well (`torch.finfo(torch.float16)`): that Python computes, not the kernel.
    """

    def __init__(self, name: str, reason: str = "") -> None:
        self._name = name
        self._reason = reason

    def _use(self, _operation: str) -> OpaqueUse:
        return OpaqueUse(self._name, self._reason or "is not a Triton object")

    def __getattr__(self, attribute: str) -> Opaque:
        # Marks that Triton asks for (`__triton_builtin__`, `_must_use_result`) are not there, as on the real object.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return Opaque(f"{self._name}.{attribute}", self._reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        if not given or not all(isinstance(a, (Opaque, Unknown)) for a in given):
            raise self._use("__call__")
        limits = _LIMITS.get(self._name)
        if limits is not None and isinstance(given[0], Opaque):
            members = limits(given[0]._name.rpartition(".")[2])
            if members is not None:
                return types.SimpleNamespace(**members)
        shown = f"{self._name}({', '.join(map(repr, args))})"
        return Unknown(shown, f"what `{self._name}` gives is known only when it runs")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other._name == self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __bool__(self) -> bool:
        # Functions, modules, classes and dtypes are all true.
        return True

    def __repr__(self) -> str:
        return self._name


for _operation in _OPERATIONS:
    setattr(Unknown, _operation, _raises(_operation))
    if _operation not in ("__bool__", "__call__"):
        setattr(Opaque, _operation, _raises(_operation))
