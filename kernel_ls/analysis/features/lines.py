"""Which lines of TTIR a line of a kernel became.

MLIR prints an operation a row, what is inside of it in rows of their own, and ends each in its location, by which the
worker's unit texts are found (`<module:kernel>` is the file that Triton sees of a unit). So rows are read, not parsed:
tree-sitter's MLIR grammar was measured at 150 ms for the TTIR of a large kernel, during which no other thread runs and no
request is answered; reading the rows takes a twentieth of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'"<([^"]*)>":(\d+):(\d+)')
_FILE_OF_TRITON = re.compile(r'"([^"<][^"]*)":(\d+):(\d+)')
_REFERENCE = re.compile(r"#loc\w*")
_VALUE = re.compile(r"%[\w$.-]+")
_NAME = re.compile(r'(?:%[^=]* = )?"?([a-z_]\w*(?:\.\w+)*)"?')
_CALLEE = re.compile(r'@(?:"([^"]*)"|([\w$.]+))')
_LOCATION = re.compile(r"\s*loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_PURE = ("arith.", "math.", "ub.", "tt.make_range", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.get_program_id")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: the rows (0-based) it stands in, its text without locations, and the line it came from.

    `unit` is empty for what Triton's own library made. `needed` tells whether anything but a check of overflow rests on it.
    """

    row: int
    end_row: int
    name: str
    text: str
    unit: str
    line: int
    column: int
    depth: int
    callee: str = ""
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Module:
    """A module's operations in order, and the rows of each of its functions by symbol."""

    operations: tuple[Operation, ...] = ()
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)


@lru_cache(maxsize=16)
def read(text: str) -> Module:
    """The operations of a module's text as MLIR prints it; a row that is of another form is left out."""
    places = _Places(text)
    found: list[Operation] = []
    functions: dict[str, tuple[int, int]] = {}
    open_: list[int] = []
    for row, line in enumerate(text.split("\n")):
        stripped = line.strip()
        if not stripped or stripped[0] in "#^/":
            continue
        closes, opens = stripped[0] == "}", stripped[-1] == "{"
        if closes:
            if not opens and open_:
                index = open_.pop()
                unit, at, column = places(_last_location(stripped))
                found[index] = replace(found[index], end_row=row, unit=unit, line=at, column=column)
                if found[index].name == "tt.func":
                    functions[found[index].callee] = (found[index].row, row)
            continue
        name = _NAME.match(stripped)
        if name is None:
            continue
        callee = _CALLEE.search(stripped) if name[1] in ("tt.func", "tt.call") else None
        place = ("", 0, 0) if opens else places(_last_location(stripped))
        called = (callee[1] or callee[2]) if callee is not None else ""
        shown = _LOCATION.sub("", stripped)
        found.append(Operation(row, row, name[1], shown, *place, len(open_), called))
        if opens:
            open_.append(len(found) - 1)
    return Module(tuple(_with_needs(found)), functions)


def _last_location(row: str) -> str:
    at = row.rfind(" loc(")
    return row[at:] if at >= 0 else ""


class _Places:
    """Locations by their text, aliases followed: (unit, line, column)."""

    def __init__(self, text: str) -> None:
        self._aliases = dict(_ALIAS.findall(text))
        self._known: dict[str, tuple[str, int, int]] = {}

    def __call__(self, location: str) -> tuple[str, int, int]:
        known = self._known.get(location)
        if known is None:
            self._known[location] = ("", 0, 0)  # a location that refers to itself ends there
            known = self._known[location] = self._find(location)
        return known

    def _find(self, location: str) -> tuple[str, int, int]:
        file = _FILE.search(location)
        if file is not None:
            return (file[1], int(file[2]), int(file[3]))
        if _FILE_OF_TRITON.search(location):
            return ("", 0, 0)
        for alias in _REFERENCE.findall(location):
            place = self(self._aliases.get(alias, ""))
            if place[1]:
                return place
        return ("", 0, 0)


def _with_needs(operations: list[Operation]) -> list[Operation]:
    """Mark what nothing rests on: Triton checks overflow in wider integers, and drops that when it is not asked for."""
    used: set[str] = set()
    marked: list[Operation] = []
    for operation in reversed(operations):
        made, _, rest = operation.text.partition(" = ")
        results = _VALUE.findall(made) if rest else []
        pure = operation.name.startswith(_PURE)
        needed = not pure or any(r.split(":")[0] in used for r in results)
        if needed:
            used.update(_VALUE.findall(rest or operation.text))
        marked.append(operation if needed else replace(operation, needed=False))
    marked.reverse()
    return marked


def of_lines(module: Module, unit: str, first: int, last: int) -> tuple[Operation, ...]:
    """The operations that lines of a unit became, those in loops of theirs left out (1-based, both included)."""
    return tuple(o for o in module.operations if o.unit == unit and first <= o.line <= last and o.name != "tt.func")


def of_function(module: Module, symbol: str) -> tuple[Operation, ...]:
    """The operations of one function of a module, folded to what matters."""
    rows = module.functions.get(symbol)
    if rows is None:
        return ()
    return folded(o for o in module.operations if rows[0] < o.row < rows[1])


def folded(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """What matters of some operations: nothing that nothing rests on, and no constants where there is anything else."""
    needed = [o for o in operations if o.needed]
    beside = [o for o in needed if o.name != "arith.constant"]
    return tuple(beside or needed)


def source_map(module: Module) -> list[tuple[int, int, str, int, int]]:
    """A row for each operation: first row, last row, unit, line, column."""
    return [(o.row, o.end_row, o.unit, o.line, o.column) for o in module.operations if o.line and o.unit]
