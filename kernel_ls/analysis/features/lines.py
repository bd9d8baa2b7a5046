"""Which lines of TTIR a line of a kernel became.

The text is parsed with tree-sitter; each operation ends in its location, by which the worker's unit texts are found
(`<module:kernel>` is the file that Triton sees of a unit).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

import tree_sitter
import tree_sitter_mlir

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'"<([^"]*)>":(\d+):(\d+)')
_FILE_OF_TRITON = re.compile(r'"([^"<][^"]*)":(\d+):(\d+)')
_REFERENCE = re.compile(r"#loc\w*")
_VALUE = re.compile(r"%[\w$.-]+")
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


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_mlir.language())


def read(text: str) -> Module:
    """The operations of a module's text; what cannot be parsed is left out."""
    if not text:
        return Module()
    tree = tree_sitter.Parser(_language()).parse(text.encode())
    places = _Places(text)
    found: list[Operation] = []
    functions: dict[str, tuple[int, int]] = {}
    lines = text.split("\n")
    stack = [(tree.root_node, 0)]
    while stack:
        node, depth = stack.pop()
        children = node.named_children
        if node.type == "operation" and children and children[-1].type == "trailing_location":
            row, end_row = node.start_point[0], node.end_point[0]
            name = next((c for c in _custom(node) if c.type == "custom_op_name"), None)
            title = name.text.decode() if name is not None and name.text else ""
            symbol = next((c for c in _custom(node) if c.type == "symbol_ref_id"), None)
            called = symbol.text.decode().lstrip("@").strip('"') if symbol is not None and symbol.text else ""
            place = places((children[-1].text or b"").decode())
            if title == "tt.func":
                functions[called] = (row, end_row)
            shown = _LOCATION.sub("", lines[row]).strip()
            found.append(Operation(row, end_row, title, shown, *place, depth, called if title == "tt.call" else ""))
        if node.end_point[0] > node.start_point[0]:
            # What stands in one row holds no further operation with a row of its own.
            stack += [(child, depth + (node.type == "operation")) for child in reversed(children)]
        elif node.type not in ("operation", "custom_operation"):
            stack += [(child, depth) for child in reversed(children) if child.type == "operation"]
    found.sort(key=lambda o: (o.row, -o.end_row))
    return Module(tuple(_with_needs(found)), functions)


def _custom(node: tree_sitter.Node) -> Iterable[tree_sitter.Node]:
    return next((c.named_children for c in node.named_children if c.type == "custom_operation"), [])


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
        marked.append(
            Operation(
                operation.row,
                operation.end_row,
                operation.name,
                operation.text,
                operation.unit,
                operation.line,
                operation.column,
                operation.depth,
                operation.callee,
                needed,
            )
        )
    marked.reverse()
    return marked


def of_lines(module: Module, unit: str, first: int, last: int) -> tuple[Operation, ...]:
    """The operations that lines of a unit became, those in loops of theirs left out (1-based, both included)."""
    return tuple(o for o in module.operations if o.unit == unit and first <= o.line <= last and o.name != "tt.func")


def folded(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """What matters of some operations: nothing that nothing rests on, and no constants where there is anything else."""
    needed = [o for o in operations if o.needed]
    beside = [o for o in needed if o.name != "arith.constant"]
    return tuple(beside or needed)


def source_map(module: Module) -> list[tuple[int, int, str, int, int]]:
    """A row for each operation: first row, last row, unit, line, column."""
    return [(o.row, o.end_row, o.unit, o.line, o.column) for o in module.operations if o.line and o.unit]
