"""What was found in a text, taken along to where its rows are after an edit.

What was found at a row that was kept is the same finding at its new row; what was found at an edited one has to be found
again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.rows import Edited, Moves, moves
from kernel_ls.model import CompileResult, Location, Program, UnitSpan

__all__ = ["Edited", "Moves", "between", "moved", "rows"]

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None), CompileResult, Program, JitFunction, ParsedDocument, UnitSpan})
"""What holds no place in a file, or one that is not taken along."""


@lru_cache(maxsize=32)
def between(before: ParsedDocument, after: ParsedDocument) -> Moves | None:
    """How rows moved from one document to another."""
    return moves(before.lines, after.lines)


def moved(value: T, by_path: Mapping[str, Moves]) -> T:
    """A frozen value of the model with every location in it at its new row; the value itself where nothing moved.

    Args:
        value: a dataclass, or a tuple, list or dict of such.
        by_path: how the rows of each file moved; other files did not.

    Raises:
        Edited: something in it lies in rows that were edited.
    """
    return _moved(value, by_path, {})  # type: ignore[no-any-return]


def _moved(value: Any, by_path: Mapping[str, Moves], known: dict[int, Any]) -> Any:
    """As `moved`; `known` has what was made of each dataclass, of which many stand in a value in several places."""
    kind = type(value)
    names = _known_fields.get(kind)
    if names is None:
        names = _fields(kind)
    if names:
        if id(value) in known:
            return known[id(value)]
        changed = None
        for name in names:
            old = getattr(value, name)
            new = old if type(old) in _PLAIN else _moved(old, by_path, known)
            if new is not old:
                changed = {**(changed or {}), name: new}
        made = known[id(value)] = dataclasses.replace(value, **changed) if changed else value
        return made
    if kind is Location:
        by = by_path.get(value.path)
        return value if by is None else by.location(value)
    if kind is tuple or kind is list:
        items = [item if type(item) in _PLAIN else _moved(item, by_path, known) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else kind(items)
    if isinstance(value, Mapping):
        pairs = {key: item if type(item) in _PLAIN else _moved(item, by_path, known) for key, item in value.items()}
        return value if all(pairs[key] is item for key, item in value.items()) else pairs
    return value


def rows(value: Any) -> dict[str, frozenset[int]]:
    """The files in which something of a value lies, and the (0-based) rows there."""
    found: dict[str, set[int]] = {}
    _rows(value, found)
    return {path: frozenset(inside) for path, inside in found.items()}


def _rows(value: Any, found: dict[str, set[int]]) -> None:
    kind = type(value)
    names = _fields(kind)
    if names:
        for name in names:
            inner = getattr(value, name)
            if type(inner) not in _PLAIN:
                _rows(inner, found)
    elif kind is Location:
        span = value.span
        found.setdefault(value.path, set()).update((span.start.line, span.end.line))
    elif kind is tuple or kind is list:
        for item in value:
            if type(item) not in _PLAIN:
                _rows(item, found)
    elif isinstance(value, Mapping):
        for item in value.values():
            _rows(item, found)


_known_fields: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    if kind not in _known_fields:
        apart = kind in _PLAIN or kind is Location or not dataclasses.is_dataclass(kind)
        _known_fields[kind] = () if apart else tuple(f.name for f in dataclasses.fields(kind))
    return _known_fields[kind]
