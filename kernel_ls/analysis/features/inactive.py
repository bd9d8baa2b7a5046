"""Statements that no specialization in use generates, as an editor greys what `#ifdef` takes away."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_ls.analysis.features import nodes, notation
from kernel_ls.analysis.features.places import place_of
from kernel_ls.analysis.features.snapshot import Reading, Snapshot
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Span
from kernel_ls.pyeval.nodes import walk


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of statements that are not generated, and what decided that.

    `test` is the constant's own text and `value` its value (the values, where specializations differ).
    """

    span: Span
    test: str
    value: str

    @property
    def reason(self) -> str:
        """The decision in a sentence."""
        if not self.value:
            return f"Not generated: {self.test}."
        return f"Not generated: `{self.test}` is {self.value} in every specialization in use."


def inactive(snapshot: Snapshot, chosen: Mapping[str, str]) -> tuple[Region, ...]:
    """The regions of a snapshot's text that no specialization in use generates.

    In use are those of tier 1, or the one that the user chose for its kernel.
    """
    found: list[Region] = []
    for function in snapshot.functions:
        readings = list(_in_use(snapshot, function, chosen))
        if readings:
            found += _of_block(function.node.body, function, readings)
    return tuple(sorted(found, key=lambda r: r.span))


def _in_use(snapshot: Snapshot, function: JitFunction, chosen: Mapping[str, str]) -> Iterator[Reading]:
    for number, view in enumerate(snapshot.kernels):
        picked = chosen.get(view.name, "")
        for trial, specialization in enumerate(view.specializations):
            wanted = specialization.key == picked if picked else specialization.tier == 1
            if wanted:
                reading = snapshot.reading(number, trial)
                if reading.generated(function):
                    yield reading


def _of_block(body: Sequence[ast.stmt], function: JitFunction, readings: list[Reading]) -> Iterator[Region]:
    for number, statement in enumerate(body):
        here = [r for r in readings if statement.lineno in r.reached]
        if not here:
            # The rest of the block was not reached by those that reached its beginning.
            ending = _ending(body[:number], readings)
            if ending is not None:
                yield _region(body[number:], function, *ending)
            return
        if isinstance(statement, ast.If):
            yield from _of_if(statement, function, here)
        else:
            for name in ("body", "orelse"):
                inner = getattr(statement, name, [])
                if inner and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    yield from _of_block(inner, function, here)


def _of_if(node: ast.If, function: JitFunction, readings: list[Reading]) -> Iterator[Region]:
    for arm, wanted in ((node.body, True), (node.orelse, False)):
        if not arm:
            continue
        inside = [r for r in readings if arm[0].lineno in r.reached]
        if inside:
            yield from _of_block(arm, function, inside)
            continue
        decided = [r for r in readings if _is_constant(r, node.test)]
        if decided and len(decided) == len(readings) and _decides(readings, node.test, wanted):
            yield _region(arm, function, ast.unparse(node.test), _values(readings, node.test))


def _is_constant(reading: Reading, test: ast.expr) -> bool:
    types = reading.at(test)
    return bool(types) and all(notation.constant(t) is not None for t in types)


def _decides(readings: list[Reading], test: ast.expr, arm: bool) -> bool:
    """Whether the constant leads past the arm: what was not reached because of a fault is not greyed."""
    for reading in readings:
        for text in reading.at(test):
            value = notation.constant(text)
            truth = value not in ("False", "0", "None", "''", "0.0", "()")
            if truth == arm:
                return False
    return True


def _values(readings: list[Reading], test: ast.expr) -> str:
    """The values that a test has, and those of the names in it where it is more than one name."""
    values = dict.fromkeys(str(notation.constant(t)) for r in readings for t in r.at(test))
    shown = " or ".join(list(values)[:3])
    names = []
    for name in (n for n in walk(test) if isinstance(n, ast.Name)):
        held = dict.fromkeys(
            str(notation.constant(t)) for r in readings for t in r.at(name) if notation.constant(t) is not None
        )
        if held and name is not test:
            names.append(f"{name.id}={' or '.join(list(held)[:3])}")
    return f"{shown} ({', '.join(dict.fromkeys(names))})" if names else shown


def _ending(before: Sequence[ast.stmt], readings: list[Reading]) -> tuple[str, str] | None:
    """What ended a block early: a `return`, itself or in an arm that a constant chose."""
    for statement in reversed(before):
        if isinstance(statement, ast.Return):
            return "it stands behind `return`", ""
        if isinstance(statement, ast.If) and all(_is_constant(r, statement.test) for r in readings):
            returns = any(isinstance(n, ast.Return) for n in walk(statement))
            if returns:
                return ast.unparse(statement.test), _values(readings, statement.test)
        break
    return None


def _region(statements: Sequence[ast.stmt], function: JitFunction, test: str, value: str) -> Region:
    lines = function.document.lines
    first, last = place_of(statements[0]), place_of(statements[-1])
    start = nodes.span(lines, first).start
    end = nodes.span(lines, last).end
    return Region(Span(start, end), test, value)
