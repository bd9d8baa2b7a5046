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

_WITHOUT_PLACES = (str, int, float, bool, type(None), CompileResult, Program, JitFunction, ParsedDocument, UnitSpan)


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
    return _moved(value, by_path)  # type: ignore[no-any-return]


def _moved(value: Any, by_path: Mapping[str, Moves]) -> Any:
    if isinstance(value, _WITHOUT_PLACES):
        return value
    if isinstance(value, Location):
        by = by_path.get(value.path)
        return value if by is None else by.location(value)
    if isinstance(value, (tuple, list)):
        items = [_moved(item, by_path) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)
    if isinstance(value, Mapping):
        pairs = {key: _moved(item, by_path) for key, item in value.items()}
        return value if all(pairs[key] is item for key, item in value.items()) else pairs
    names = _fields(type(value))
    if not names:
        return value
    changed = {}
    for name in names:
        old = getattr(value, name)
        new = _moved(old, by_path)
        if new is not old:
            changed[name] = new
    return dataclasses.replace(value, **changed) if changed else value


def rows(value: Any) -> dict[str, frozenset[int]]:
    """The files in which something of a value lies, and the (0-based) rows there."""
    found: dict[str, set[int]] = {}
    _rows(value, found)
    return {path: frozenset(inside) for path, inside in found.items()}


def _rows(value: Any, found: dict[str, set[int]]) -> None:
    if isinstance(value, _WITHOUT_PLACES):
        return
    if isinstance(value, Location):
        span = value.span
        found.setdefault(value.path, set()).update((span.start.line, span.end.line))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _rows(item, found)
    elif isinstance(value, Mapping):
        for item in value.values():
            _rows(item, found)
    else:
        for name in _fields(type(value)):
            _rows(getattr(value, name), found)


_known_fields: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    if kind not in _known_fields:
        _known_fields[kind] = tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()
    return _known_fields[kind]
