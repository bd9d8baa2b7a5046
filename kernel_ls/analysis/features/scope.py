"""What is known at a cursor in text that is being written: the function around it, names and their types, what is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from kernel_ls.analysis.features import library, notation
from kernel_ls.analysis.features.context import Call
from kernel_ls.analysis.features.places import place_of
from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.features.trail import Trail
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Position
from kernel_ls.pyeval.nodes import walk


class Scope:
    """The function around the cursor and what is known of it."""

    def __init__(self, function: JitFunction, reading: Reading, line: int) -> None:
        self.function = function
        self.reading = reading
        self.line = line
        """The 1-based line of the snapshot's text that the cursor is at or behind."""

    @staticmethod
    def at(
        snapshot: Snapshot, lines: Sequence[str], position: Position, trail: Trail, chosen: Mapping[str, str]
    ) -> Scope | None:
        """The scope at a place of the present text; a line that came since belongs to what stands above it."""
        for number in range(position.line, max(-1, position.line - 200), -1):
            place = trail.back(Position(number, 0))
            if place is None and number < len(lines):
                place = trail.back(Position(number, len(lines[number])))
            if place is None:
                continue
            function = snapshot.function_at(place.line + 1)
            if function is None:
                # An indented line below a function's last may still be meant for it.
                text = lines[position.line] if position.line < len(lines) else ""
                if text[:1].strip() or number < position.line - 3 or snapshot.document.line(place.line).strip():
                    return None
                continue
            reading = snapshot.active(function, chosen)
            return None if reading is None else Scope(function, reading, place.line + 1)
        return None

    @property
    def _known(self) -> dict[str, list[tuple[int, int, bool, tuple[str, ...]]]]:
        """Every name of the function: line and column of each place where its type is known, and whether it is bound there."""
        key = ("scope", self.function.node.lineno)
        found = self.reading.memo.get(key)
        if found is None:
            found = self.reading.memo[key] = self._survey()
        return cast("dict[str, list[tuple[int, int, bool, tuple[str, ...]]]]", found)

    def _survey(self) -> dict[str, list[tuple[int, int, bool, tuple[str, ...]]]]:
        found: dict[str, list[tuple[int, int, bool, tuple[str, ...]]]] = {}
        for node in walk(self.function.node):
            if isinstance(node, ast.Name):
                name, bound, place = node.id, isinstance(node.ctx, ast.Store), place_of(node)
            elif isinstance(node, ast.arg):
                end = node.col_offset + len(node.arg.encode())
                name, bound, place = node.arg, True, (node.lineno, node.col_offset, node.lineno, end)
            else:
                continue
            types = self.reading.types.get(place, ())
            if types or bound:
                found.setdefault(name, []).append((place[0], place[1], bound, types))
        for places in found.values():
            places.sort()
        return found

    def types_of(self, name: str) -> tuple[str, ...]:
        """The types of a name as it is known at the cursor: where it was bound or read last before it, else first after."""
        places = [p for p in self._known.get(name, ()) if p[3]]
        before = [p for p in places if p[0] <= self.line]
        if before:
            return before[-1][3]
        return places[0][3] if places else ()

    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The names in scope with their types."""
        for name, places in self._known.items():
            if name != "_" and any(bound and line <= self.line for line, _, bound, _ in places):
                types = self.types_of(name)
                if types:
                    yield name, types


def module_of(snapshot: Snapshot, dotted: str) -> str:
    """The module of Triton's that a dotted name stands for; empty where it is none."""
    if not dotted:
        return ""
    head, _, rest = dotted.partition(".")
    base = snapshot.imports.get(head)
    if base is None:
        return ""
    path = f"{base}.{rest}" if rest else base
    found = library.entry(snapshot.api, path)
    return path if path.startswith("triton") and found is not None and found.get("kind") in ("module", "class") else ""


def called_path(snapshot: Snapshot, call: Call, scope: Scope | None) -> str:
    """The dotted name of Triton's that is called; empty where it is none."""
    head, _, method = call.name.rpartition(".")
    path = module_of(snapshot, head)
    if path:
        return f"{path}.{method}"
    if not head:
        bound = snapshot.imports.get(method, "")
        return bound if bound.startswith("triton") else ""
    types = scope.types_of(head) if scope is not None and head.isidentifier() else ()
    for text in types[:1]:
        if notation.tensor(text) is not None or not text.startswith(("constexpr", "function", "module", "(")):
            return f"{library.TENSOR}.{method}"
    return ""


def called_function(snapshot: Snapshot, call: Call) -> JitFunction | None:
    """The kernel or helper of this file that is called."""
    return next((f for f in snapshot.functions if f.name == call.name), None)
