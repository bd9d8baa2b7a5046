"""Types, constants and conversions shown in the text of a kernel, where the text itself does not say them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kernel_ls.analysis.features import nodes, notation
from kernel_ls.analysis.features.hover import evidence_text
from kernel_ls.analysis.features.places import name_place, place_of
from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Location, Position, Span

Level = Literal["off", "types", "all"]


@dataclass(frozen=True, slots=True)
class Hint:
    """A text beside a place of the snapshot's text.

    `anchor` is the span that it speaks of: where that was edited, the hint is gone. `target` is where a click leads.
    """

    position: Position
    label: str
    kind: Literal["type", "value", "conversion"]
    anchor: Span
    tooltip: str = ""
    target: Location | None = None
    before: bool = False
    """Whether it stands before the place rather than behind it."""


def hints(
    snapshot: Snapshot, first: int, last: int, chosen: Mapping[str, str], level: Level = "types"
) -> tuple[Hint, ...]:
    """The hints between two 0-based lines of the snapshot's text, both included."""
    if level == "off":
        return ()
    found: list[Hint] = []
    for function in snapshot.functions:
        if function.span.end.line < first or function.span.start.line > last:
            continue
        reading = snapshot.active(function, chosen)
        if reading is not None:
            found += _of_function(function, reading, level, (first, last))
    return tuple(h for h in found if first <= h.position.line <= last)


def _of_function(function: JitFunction, reading: Reading, level: Level, rows: tuple[int, int]) -> Iterator[Hint]:
    lines = function.document.lines
    yield from _parameters(function, reading)
    said = {a.arg: reading.types.get(name_place(a), ()) for a in _arguments(function)}
    for statement in nodes.statements(function.node.body):
        if statement.lineno not in reading.reached:
            continue
        for target, value in _targets(statement):
            types = reading.at(target)
            if not types or not _worth_it(target, types, value, said.get(target.id)):
                continue
            said[target.id] = types
            span = nodes.span(lines, place_of(target))
            if isinstance(statement, ast.AnnAssign):
                # The annotation says the type; what it does not say is the value.
                whole = nodes.span(lines, place_of(statement))
                if all(notation.constant(t) is not None for t in types):
                    yield Hint(whole.end, f" = {_values(types)}", "value", whole)
                continue
            yield Hint(span.end, f": {notation.shown(types, 2)}", "type", span, target=_definition(reading, value))
        if level == "all" and rows[0] <= (statement.end_lineno or 0) - 1 and statement.lineno - 1 <= rows[1]:
            yield from _conversions(statement, reading, lines)


def _parameters(function: JitFunction, reading: Reading) -> Iterator[Hint]:
    own = reading.units.get(function.node.lineno) == reading.program.kernel
    known = {a.name: a for a in reading.specialization.arguments} if own else {}
    defaults = {p.name: p.default for p in function.parameters}
    for node in _arguments(function):
        types = reading.types.get(name_place(node), ())
        if not types:
            continue
        argument = known.get(node.arg)
        tooltip = evidence_text(argument) if argument is not None else "What the callers of this helper pass."
        target = argument.evidence.location if argument is not None else None
        whole = nodes.span(function.document.lines, place_of(node))
        constant = all(notation.constant(t) is not None for t in types)
        default = defaults.get(node.arg)
        if constant and default is not None and ast.unparse(default) == _values(types):
            continue  # the default says it
        if node.annotation is not None:
            if constant:
                yield Hint(whole.end, f" = {_values(types)}", "value", whole, tooltip, target)
        elif constant:
            yield Hint(whole.end, f" = {_values(types)}", "value", whole, tooltip, target)
        else:
            yield Hint(whole.end, f": {notation.shown(types, 2)}", "type", whole, tooltip, target)


def _arguments(function: JitFunction) -> list[ast.arg]:
    arguments = function.node.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _values(types: tuple[str, ...]) -> str:
    shown = notation.shown(types, 3)
    return notation.constant(shown) or shown


def _targets(statement: ast.stmt) -> Iterator[tuple[ast.Name, ast.expr | None]]:
    """The names that a statement assigns, with the value."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from ((n, statement.value) for n in _names(target))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target, statement.value
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        yield statement.target, None
    elif isinstance(statement, ast.For):
        yield from ((n, None) for n in _names(statement.target))


def _names(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _names(item)


def _worth_it(target: ast.Name, types: tuple[str, ...], value: ast.expr | None, before: tuple[str, ...] | None) -> bool:
    """Whether a type says what the text does not: not for `_`, for what a number says, nor the same a second time."""
    if target.id == "_" or not all(notation.is_value(t) for t in types):
        return False
    if isinstance(value, ast.Constant):
        return False
    return before != types


def _definition(reading: Reading, value: ast.expr | None) -> Location | None:
    """The helper whose call gives a value, where it is one."""
    if not isinstance(value, ast.Call):
        return None
    for text in reading.at(value.func):
        name = text.removeprefix("function ").rpartition(".")[2]
        for unit, wire in reading.program.units.items():
            origin = reading.program.origins.get(unit)
            if wire.get("name") == name and wire.get("role") in ("jit", "gluon") and origin is not None:
                return Location(origin.path, Span.of(origin.first_line, 0, origin.first_line, 0))
    return None


def _conversions(statement: ast.stmt, reading: Reading, lines: list[str]) -> Iterator[Hint]:
    """Broadcasts and promotions that an operator makes without being asked."""
    for node in nodes.head(statement):
        if isinstance(node, ast.BinOp):
            left, right = node.left, node.right
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
        else:
            continue
        result = reading.at(node)
        one, other = reading.at(left), reading.at(right)
        if not result or not one or not other:
            continue
        text = conversion(one[0], other[0], result[0], comparing=isinstance(node, ast.Compare))
        if text:
            span = nodes.span(lines, place_of(node))
            yield Hint(span.end, f" ⟨{text}⟩", "conversion", span, "What this operator does to its operands.")


def conversion(left: str, right: str, result: str, *, comparing: bool = False) -> str:
    """What an operator does to its operands, `f16 * f32 -> f32` or a broadcast of shapes; empty where it is nothing."""
    one, other, made = notation.tensor(left), notation.tensor(right), notation.tensor(result)
    parts = []
    if one is not None and other is not None and made is not None and one.sizes != other.sizes:
        shapes = ["x".join(map(str, t.sizes)) or "scalar" for t in (one, other, made)]
        parts.append(f"{shapes[0]}, {shapes[1]} -> {shapes[2]}")
    kinds = [notation.element(t) for t in (left, right)]
    plain = notation.constant(left) is None and notation.constant(right) is None
    if plain and kinds[0] != kinds[1] and not any(k.startswith("*") for k in kinds):
        parts.append(f"{kinds[0]}, {kinds[1]}" + ("" if comparing else f" -> {notation.element(result)}"))
    return "; ".join(parts)
