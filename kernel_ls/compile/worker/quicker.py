"""What Triton's frontend does anew at every node and every call, done once.

None of this changes what is generated: filters of warnings that are in force already, the signature of a function and the
syntax tree of a text are the same each time. Each is put in place only where the frontend is built as it is known here.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import types
import warnings
from collections.abc import Iterator
from typing import Any

from triton.compiler import code_generator
from triton.language import core
from triton.runtime.jit import JITFunction

_KEPT = 4096
"""Signatures that are kept, across jobs."""

TREES = 128
"""Trees that are kept, across jobs: those of one kernel follow each other, and a tree is a megabyte."""


class _Standing:
    """A module with some names of its own in front of it."""

    def __init__(self, module: types.ModuleType, **names: Any) -> None:
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Nothing:
    """`catch_warnings` of a visit: the only filters that it would set ignore what is ignored for the whole job."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        return None


_NOTHING = _Nothing()


def _simplefilter(action: str, category: type[Warning] = Warning, *more: Any, **other: Any) -> None:
    if action == "ignore" and issubclass(category, (DeprecationWarning, PendingDeprecationWarning)):
        return
    warnings.simplefilter(action, category, *more, **other)  # type: ignore[arg-type]


_signature = functools.lru_cache(maxsize=_KEPT)(inspect.signature)


@functools.lru_cache(maxsize=_KEPT)
def _bound_signature(function: types.FunctionType) -> inspect.Signature:
    return inspect.signature(types.MethodType(function, object()))


def signature_of(function: Any, *more: Any, **other: Any) -> inspect.Signature:
    """`inspect.signature`, once for each function."""
    if not more and not other:
        if type(function) is types.FunctionType:
            return _signature(function)
        if type(function) is types.MethodType and type(function.__func__) is types.FunctionType:
            return _bound_signature(function.__func__)
    return inspect.signature(function, *more, **other)


_stock_types = getattr(core, "_type_for_tuple_values", None)
_shapes: dict[tuple[int, ...], Any] = {}


def _types_of(values: Any, fields: Any = None) -> Any:
    """Types of a tuple's elements; those of a shape, which every tensor has one of, are made once for each shape."""
    if fields is not None:
        return _stock_types(values, fields)  # type: ignore[misc]
    key = []
    for value in values:
        number = value.value if type(value) is core.constexpr else None
        if type(number) is not int:
            return _stock_types(values, fields)  # type: ignore[misc]
        key.append(number)
    shape = tuple(key)
    found = _shapes.get(shape)
    if found is None:
        if len(_shapes) > _KEPT:
            _shapes.clear()
        found = _shapes[shape] = _stock_types(values, fields)  # type: ignore[misc]
    return found


@functools.lru_cache(maxsize=TREES)
def tree_of(source: str) -> ast.Module:
    """The tree of a text. Who asks for it reads it and changes nothing of it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text is not Python.
    """
    return ast.parse(source)


def _parse(function: Any) -> ast.Module:
    """Triton's `parse` of a jit function: the generator reads trees and changes none."""
    tree = tree_of(function._src)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise AssertionError
    return tree


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """For as long as a job is generated; filters for deprecation warnings have to be in force outside."""
    held: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        held.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    if getattr(code_generator, "warnings", None) is warnings:
        standing = _Standing(warnings, catch_warnings=lambda: _NOTHING, simplefilter=_simplefilter)
        put(code_generator, "warnings", standing)
    if getattr(code_generator, "inspect", None) is inspect:
        put(code_generator, "inspect", _Standing(inspect, signature=signature_of))
    if _stock_types is not None and list(inspect.signature(_stock_types).parameters) == ["values", "fields"]:
        put(core, "_type_for_tuple_values", _types_of)
    # A base of JITFunction's has it since Triton 3.5.
    parser = next((cls for cls in JITFunction.__mro__ if "parse" in vars(cls)), None)
    if parser is not None and _parses_own_text():
        put(parser, "parse", _parse)
    try:
        yield
    finally:
        for owner, name, value in reversed(held):
            setattr(owner, name, value)


@functools.lru_cache(maxsize=1)
def _parses_own_text() -> bool:
    try:
        return "ast.parse(self._src)" in inspect.getsource(JITFunction.parse)
    except (OSError, TypeError):
        return False
