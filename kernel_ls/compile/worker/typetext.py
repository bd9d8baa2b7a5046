"""Types and values of the code generator, in the notation of ARCHITECTURE.md ("Types in text").

Works on the shapes of Triton's type objects (duck typing), because Gluon and user aggregates add kinds of their own.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

_CONSTEXPR_TYPE: Any = getattr(core, "constexpr_type", ())
_TUPLE_TYPE: Any = getattr(core, "tuple_type", ())
# Triton 3.3 has no type of constants.

_LONGEST = 200
"""Characters of a constant that are worth showing."""


def scalar_name(dtype: Any) -> str:
    """`f32`, `bf16`, `i1`, `u8`, `f8e4nv` for a scalar data type."""
    name = str(getattr(dtype, "name", dtype))
    if name.startswith("uint"):
        return "u" + name[4:]
    if name.startswith("int"):
        return "i" + name[3:]
    if name.startswith("fp"):
        return "f" + name[2:]
    return name


def type_text(kind: Any) -> str:
    """A Triton type in text; never raises."""
    try:
        return _type_text(kind)
    except Exception:  # a type of a version or a library that this file does not know
        return str(kind)


def _type_text(kind: Any) -> str:
    if kind is None:
        return "None"
    if isinstance(kind, _CONSTEXPR_TYPE):
        return _constant(kind.value)
    if isinstance(kind, _TUPLE_TYPE):
        inner = ", ".join(type_text(t) for t in kind.types)
        return f"({inner},)" if len(kind.types) == 1 else f"({inner})"
    if isinstance(kind, core.pointer_type):
        return "*" + _type_text(kind.element_ty)
    if isinstance(kind, core.block_type):
        sizes = "x".join(str(_plain(n)) for n in kind.shape)
        layout = getattr(kind, "layout", None)
        ending = f", {layout}" if layout is not None else ""
        separator = "x" if sizes else ""
        return f"tensor<{sizes}{separator}{_type_text(kind.element_ty)}{ending}>"
    block = getattr(kind, "block_type", None)
    if isinstance(block, core.block_type):
        inside = _type_text(block)[len("tensor<") : -1]
        layout = getattr(kind, "layout", None)
        if layout is not None and ", " not in inside:
            inside += f", {layout}"
        return f"tensordesc<{inside}>"
    if isinstance(kind, core.dtype):
        return scalar_name(kind)
    if hasattr(kind, "shape") and hasattr(kind, "element_ty"):
        sizes = "x".join(str(_plain(n)) for n in kind.shape)
        layout = getattr(kind, "layout", None)
        ending = f", {layout}" if layout is not None else ""
        return f"memdesc<{sizes}x{_type_text(kind.element_ty)}{ending}>"
    aggregate = getattr(kind, "base_cls", None)
    return str(kind) if aggregate is None else str(aggregate.__name__)


def _plain(value: Any) -> Any:
    while isinstance(value, core.constexpr):
        value = value.value
    return value


def _constant(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return "None"
    if isinstance(value, tuple):
        inner = ", ".join(_constant(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return f"constexpr[{constant_text(value)}]"


def constant_text(value: Any) -> str:
    """A constant's repr, shortened; data types by their Triton name."""
    value = _plain(value)
    if isinstance(value, core.dtype):
        return type_text(value)
    try:
        text = repr(value)
    except Exception:  # a class of the user's
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def is_constant(value: Any) -> bool:
    """Whether a value of the generator is known at compile time."""
    if isinstance(value, core.tuple):
        return all(is_constant(v) for v in value.values)
    if isinstance(value, core.constexpr):
        return True
    return not isinstance(value, core.base_value)


def describe(value: Any) -> str:
    """The type of a value as the generator holds it; never raises."""
    try:
        return _describe(value)
    except Exception:  # see type_text
        return type(value).__name__


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, core.constexpr):
        held = value.value
        if callable(held) and not isinstance(held, core.dtype):
            return _describe(held)
        return _constant(held)
    if isinstance(value, (core.tuple, tuple)):
        inner = ", ".join(describe(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, core.base_value):
        kind = getattr(value, "type", None)
        return type_text(kind) if kind is not None else type(value).__name__
    if isinstance(value, core.dtype):
        return f"dtype {type_text(value)}"
    if isinstance(value, (bool, int, float, str)):
        return _constant(value)
    if isinstance(value, type):
        return f"class {value.__name__}"
    if type(value).__name__ == "module":
        return f"module {value.__name__}"
    name = getattr(value, "__name__", None)
    if name is not None and callable(value):
        return f"function {name}"
    return type(value).__name__
