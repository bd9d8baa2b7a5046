"""What is shown at a name or expression of a kernel: its type, where that comes from, and what the line became."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_ls.analysis.features import library, lines, nodes, notation
from kernel_ls.analysis.features.places import Place, name_place, place_of
from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.positions import octets
from kernel_ls.model import Argument, Location, Position, Span, Specialization
from kernel_ls.pyeval.nodes import walk

_OTHERS = 3
"""How many differing specializations are shown."""

_TTIR_LINES = 12
_HELPERS = 2
_HELPER_LINES = 6
_DOC_LINES = 14


@dataclass(frozen=True, slots=True)
class Hover:
    """What is shown at a span of the snapshot's text, as Markdown."""

    span: Span
    text: str


def hover(
    snapshot: Snapshot, position: Position, chosen: Mapping[str, str], *, last_good: bool = False
) -> Hover | None:
    """What is known at a position of the snapshot's text; None where nothing is.

    Args:
        snapshot: what the last check knows.
        position: a place in the snapshot's text.
        chosen: the specialization that the user chose, by a kernel's name.
        last_good: whether the kernel is broken now, so that the answer is of an earlier text.
    """
    function = snapshot.function_at(position.line + 1)
    if function is None:
        return None
    readings = list(snapshot.readings(function, chosen))
    if not readings:
        return None
    active = readings[0]
    own = _of_definition(snapshot, function, active, position)
    if own is not None:
        return own
    path = nodes.at(function, position)
    reading = active
    node: ast.AST | None = None
    place: Place = place_of(function.node)
    types: tuple[str, ...] = ()
    for reading in readings:
        node, place, types = _shown_node(path, reading, function)
        if types:
            break
    if node is None or not types:
        return None
    elsewhere = reading is not active
    usual, active = active, reading
    label = _label(node)
    blocks = _head(snapshot, node, path, label, types, active)
    blocks += _parameter(node, label, function, active)
    blocks += _carried(node, path, label, active)
    if elsewhere:
        blocks.append(f"Not generated in the active specialization, but with {difference(active, usual)}.")
    blocks += _others(place, types, active, [r for r in readings if r is not active])
    blocks += _ttir(path, function, active)
    if last_good:
        blocks.append("*Last good: the kernel does not compile as it stands now.*")
    return Hover(nodes.span(function.document.lines, place), "\n\n".join(b for b in blocks if b))


def _shown_node(
    path: list[ast.AST], reading: Reading, function: JitFunction
) -> tuple[ast.AST | None, Place, tuple[str, ...]]:
    """The innermost node that has a type, and its type."""
    for depth in range(len(path) - 1, -1, -1):
        node = path[depth]
        place = place_of(node)
        if isinstance(node, ast.arg):
            place = name_place(node)
        if isinstance(node, ast.keyword) and node.arg is not None and depth == len(path) - 1:
            # At the name of an argument: what is passed for it.
            name = (place[0], place[1], place[0], place[1] + len(node.arg.encode()))
            return node, name, reading.types.get(place_of(node.value), ())
        if isinstance(node, ast.stmt):
            return None, place, ()
        types = reading.types.get(place, ())
        if types:
            return node, place, types
        if isinstance(node, (ast.Name, ast.arg, ast.Attribute)):
            # A name without a type says nothing, rather than what stands around it.
            return None, place, ()
    return None, place_of(function.node), ()


def _label(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.arg or "" if isinstance(node, ast.keyword) else ""


def _head(
    snapshot: Snapshot, node: ast.AST, path: list[ast.AST], label: str, types: tuple[str, ...], reading: Reading
) -> list[str]:
    shown = notation.shown(types)
    text = types[0] if types else ""
    if isinstance(node, ast.keyword):
        return [_code(f"{label}={shown}")] if types else []
    if text.startswith("function ") or (isinstance(node, ast.Attribute) and _is_called(node, path)):
        owner = reading.at(node.value) if isinstance(node, ast.Attribute) else ()
        dotted = library.resolved(node, snapshot.imports, owner)
        found = library.entry(snapshot.api, dotted) if dotted else None
        if found is not None and "signature" in found:
            return _of_triton(dotted, found, path, reading)
        helper = _of_helper(reading, text.removeprefix("function "))
        if helper:
            return helper
    return [_code(f"{label}: {shown}" if label else shown)]


def _is_called(node: ast.AST, path: list[ast.AST]) -> bool:
    return any(isinstance(outer, ast.Call) and outer.func is node for outer in path)


def _of_triton(dotted: str, found: Mapping[str, object], path: list[ast.AST], reading: Reading) -> list[str]:
    blocks = [_code(library.signature(dotted, found))]
    call = next((n for n in reversed(path) if isinstance(n, ast.Call)), None)
    if call is not None and reading.at(call):
        blocks[0] = _code(f"{library.signature(dotted, found)} -> {notation.shown(reading.at(call))}")
    constraint = library.constraint(dotted)
    if constraint:
        blocks.append(constraint)
    doc = str(found.get("doc", "")).strip().split("\n")
    if doc != [""]:
        blocks.append("\n".join(doc[:_DOC_LINES] + (["…"] if len(doc) > _DOC_LINES else [])))
    return blocks


def _of_helper(reading: Reading, name: str) -> list[str]:
    """A jit helper with the signatures that it was instantiated with."""
    units = [u for u, wire in reading.program.units.items() if str(wire.get("name", "")) == name.rpartition(".")[2]]
    for unit in units:
        wire = reading.program.units[unit]
        if wire.get("role") not in ("jit", "gluon"):
            continue
        first = str(wire.get("source", "")).split("\n")[0].rstrip()
        signatures = [str(i) for i in reading.instances(unit)]
        shown = "\n".join(signatures[:6]) or first
        origin = reading.program.origins.get(unit)
        where = f"Defined in `{origin.path.rpartition('/')[2]}`, line {origin.first_line + 1}" if origin else ""
        count = len(signatures)
        return [_code(shown), f"Jit helper, instantiated in {count} way{'' if count == 1 else 's'}. {where}".strip()]
    return []


def _of_definition(snapshot: Snapshot, function: JitFunction, reading: Reading, position: Position) -> Hover | None:
    """At the name behind `def`: the active specialization of a kernel, the instances of a helper."""
    if not function.name_span.contains(position):
        return None
    unit = reading.units.get(function.node.lineno, "")
    if unit != reading.program.kernel:
        blocks = _of_helper(reading, function.name)
        return Hover(function.name_span, "\n\n".join(blocks)) if blocks else None
    view = snapshot.view(function.qualname)
    rows = [f"{a.name}: {notation.argument(a)}" for a in reading.specialization.arguments]
    count = len(view.trials) if view is not None else 1
    blocks = [_code("\n".join(rows)), f"Active specialization of {count}: {describe(reading.specialization)}"]
    return Hover(function.name_span, "\n\n".join(blocks))


def describe(specialization: Specialization) -> str:
    """On what a specialization rests, in a phrase."""
    origin = specialization.origin
    place = where(origin.location)
    detail = origin.detail or origin.kind.value
    return f"{detail} ({place})" if place and place not in detail else detail


def where(location: Location | None) -> str:
    """A place in short: the file's name and the row."""
    if location is None:
        return ""
    return f"{location.path.rpartition('/')[2]}:{location.span.start.line + 1}"


def _parameter(node: ast.AST, label: str, function: JitFunction, reading: Reading) -> list[str]:
    """The evidence behind a parameter of a kernel."""
    if not isinstance(node, (ast.Name, ast.arg)) or function.parameter(label) is None:
        return []
    if reading.units.get(function.node.lineno) != reading.program.kernel:
        return ["Parameter of a helper: its type is that of what its callers pass."]
    argument = next((a for a in reading.specialization.arguments if a.name == label), None)
    return [evidence_text(argument)] if argument is not None else []


def evidence_text(argument: Argument) -> str:
    """On what a fact about a parameter rests, in a sentence."""
    evidence = argument.evidence
    place = where(evidence.location)
    detail = f": {evidence.detail}" if evidence.detail else ""
    guess = " (assumed)" if argument.guessed else ""
    divisible = ", divisible by 16" if argument.divisible else ""
    return f"From {evidence.kind.value}{detail}{f' ({place})' if place else ''}{guess}{divisible}"


def _carried(node: ast.AST, path: list[ast.AST], label: str, reading: Reading) -> list[str]:
    """The types before and after a loop that carries the name, where they differ."""
    if not isinstance(node, ast.Name):
        return []
    for loop in (n for n in path if isinstance(n, (ast.For, ast.While))):
        for fault in reading.attempt.result.faults:
            facts = fault.facts
            if facts.get("event") != "loop-carried" or facts.get("name") != label:
                continue
            span = facts.get("loop_span") or [None, 0]
            origin = reading.program.origins.get(str(span[0]))
            if origin is not None and origin.row(span[1]) + 1 == loop.lineno:
                return [
                    f"Carried by the loop: `{facts.get('initial')}` before it, `{facts.get('final')}` after a pass."
                ]
        outer = path[0]
        stores = [n for n in walk(outer) if isinstance(n, ast.Name) and n.id == label and isinstance(n.ctx, ast.Store)]
        inside = any(loop.lineno <= n.lineno <= (loop.end_lineno or 0) for n in stores)
        before = any(n.lineno < loop.lineno for n in stores) or any(
            isinstance(n, ast.arg) and n.arg == label for n in walk(outer)
        )
        if inside and before and not (isinstance(loop, ast.For) and loop.target is node):
            return [f"Carried by the loop `{ast.unparse(loop).split(chr(10))[0]}`"]
    return []


def _others(place: Place, types: tuple[str, ...], active: Reading, readings: list[Reading]) -> list[str]:
    """What other specializations hold, where that differs; each type once."""
    seen = {types}
    rows: list[str] = []
    for reading in readings:
        other = reading.types.get(place, ())
        if not other or other in seen:
            continue
        seen.add(other)
        rows.append(f"- `{notation.shown(other)}` with {difference(reading, active)}")
    return ["Otherwise:\n" + "\n".join(rows[:_OTHERS])] if rows else []


def difference(reading: Reading, active: Reading) -> str:
    """What tells a specialization from the active one, in short."""
    if reading.program.kernel != active.program.kernel:
        return f"`{reading.program.kernel.rpartition(':')[2]}`"
    usual = {a.name: notation.argument(a) for a in active.specialization.arguments}
    changed = [a for a in reading.specialization.arguments if usual.get(a.name) != notation.argument(a)]
    constants = sorted(changed, key=lambda a: a.type != "constexpr")
    shown = ", ".join(f"{a.name}={_value(notation.argument(a))}" for a in constants[:4])
    return (shown + (", …" if len(constants) > 4 else "")) or describe(reading.specialization)


def _value(text: str) -> str:
    return notation.constant(text) or text


def _ttir(path: list[ast.AST], function: JitFunction, reading: Reading) -> list[str]:
    """The TTIR that the statement became, without what it is folded to."""
    module = reading.parsed
    statement = next((n for n in reversed(path) if isinstance(n, ast.stmt)), None)
    unit = reading.units.get(function.node.lineno)
    if module is None or statement is None or unit is None or isinstance(statement, ast.FunctionDef):
        return []
    found = list(ttir_of(reading, unit, statement))
    if not found:
        return []
    shown = [o.text.removesuffix("{").rstrip() for o in found[:_TTIR_LINES]]
    if len(found) > _TTIR_LINES:
        shown.append(f"… {len(found) - _TTIR_LINES} more")
    return ["TTIR\n```mlir\n" + "\n".join(shown) + "\n```", *_expanded(found, module)]


def _expanded(operations: list[lines.Operation], module: lines.Module) -> list[str]:
    """What the helpers that some operations call became, those of Triton's own library by name alone."""
    blocks: list[str] = []
    names: dict[str, None] = {}
    for callee in dict.fromkeys(o.callee for o in operations if o.callee):
        name = callee.partition("__")[0]
        body = lines.of_function(module, callee)
        if len(blocks) < _HELPERS and any(o.unit for o in body):
            shown = [o.text.removesuffix("{").rstrip() for o in body[:_HELPER_LINES]]
            if len(body) > _HELPER_LINES:
                shown.append(f"… {len(body) - _HELPER_LINES} more")
            blocks.append(f"In `{name}`\n```mlir\n" + "\n".join(shown) + "\n```")
        else:
            names.setdefault(f"`{name}`")
    return [*blocks, *([f"In helpers: {', '.join(names)}"] if names else [])]


def ttir_of(reading: Reading, unit: str, statement: ast.stmt) -> Iterator[lines.Operation]:
    """The operations that the head of a statement became, folded to what matters."""
    origin = reading.program.origins[unit]
    body = getattr(statement, "body", None)
    last = (body[0].lineno - 1 if body else statement.end_lineno) or statement.lineno
    last = max(last, statement.lineno)
    inside = [line for row in range(statement.lineno - 1, last) if (line := origin.line(row)) is not None]
    if inside:
        yield from lines.folded(lines.of_lines(reading.module, unit, inside[0], inside[-1]))


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def column_of(function: JitFunction, position: Position) -> int:
    """The UTF-8 byte column of a position."""
    return octets(function.document.line(position.line), position.column)
