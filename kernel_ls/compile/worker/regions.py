"""Reconciling scopes where regions end, before Triton's own checks look at them.

At the end of a loop body or an arm, Triton compares every name with what it was outside and stops at the first that
differs. Here the same comparison is made name by name as soon as the last statement of the body is generated; each
difference is a fault, and the scope gets a value back that Triton accepts, so that its check passes, the region is closed
and generation goes on. The conditions are Triton's (`_verify_loop_carried_variable` itself where it can be called), so
what Triton accepts is never touched.
"""

from __future__ import annotations

import ast
from typing import Any

from triton.language import core

from . import doubts, facts, spans, typetext, versions
from .unknown import UNKNOWN, doubt_of


class Region:
    """An `if` or a loop that is being generated.

    Attributes:
        node: the statement, as it is handed to Triton.
        liveins: the scope before it; None for what Triton decides or unrolls at compile time.
        ignore: names that Triton does not compare (the loop variable, in versions that do so).
        real: whether the pass over a loop's body is the one that is kept.
        inline: whether the passes are told apart here because Triton has no method for the first.
        start: the scope at the beginning of that pass.
        then: scope and definitions at the end of an `if`'s first arm.
        unknown: names that hold UNKNOWN after the region.
        settled: names that a fault gave a new type, with a value of it: what they hold after the region.
        doubted: names that hold something that is guessed, with what of it is (doubts.py).
        origins, marks: where names were assigned, and loop variables that are dead, before the region.
    """

    def __init__(self, node: ast.AST, origins: dict[str, Any], marks: set[str]) -> None:
        self.node: Any = node
        self.liveins: dict[str, Any] | None = None
        self.ignore: frozenset[str] = frozenset()
        self.real = False
        self.inline = False
        self.start: dict[str, Any] = {}
        self.then: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.lost_in_then: set[str] = set()
        self.unknown: set[str] = set()
        self.settled: dict[str, Any] = {}
        self.doubted: dict[str, int] = {}
        self.origins = dict(origins)
        self.marks = set(marks)

    def is_body(self, statements: Any) -> bool:
        """Whether these are the statements of the loop, or of the first arm."""
        return statements is self.node.body

    def is_orelse(self, statements: Any) -> bool:
        """Whether these are the statements of an `if`'s second arm."""
        return isinstance(self.node, ast.If) and statements is self.node.orelse


def begin(generator: Any, region: Region, statements: Any) -> None:
    """Before the statements of a body or an arm are generated."""
    if region.liveins is None and region.is_body(statements) and _is_run_time_loop(generator, region):
        # Triton 3.3 has no `_find_carries`: both passes are made by the loop's own method.
        region.inline = True
        generator.enter_loop(region, dict(generator.lscope), ())
    if region.liveins is None:
        return
    if generator.rec.doubting and region.is_body(statements):
        _carry_doubts(generator, region, region.liveins)
    if region.is_orelse(statements):
        generator.origins = dict(region.origins)
        generator.after_loop = set(region.marks)
    elif region.is_body(statements) and region.real:
        region.start = dict(generator.lscope)


def _carry_doubts(generator: Any, region: Region, liveins: dict[str, Any]) -> None:
    """What is doubtful before a region is so in it, where a loop has a value of its own for it, and after it."""
    for name, live in liveins.items():
        doubt = doubt_of(live)
        if doubt:
            region.doubted[name] = region.doubted.get(name, 0) | doubt
            if generator.lscope.get(name) is not live:
                doubts.stain(generator.lscope.get(name), doubt)


def finish(generator: Any, region: Region, statements: Any) -> None:
    """After the statements of a body or an arm were generated."""
    if region.liveins is None:
        return
    if isinstance(region.node, ast.If):
        if region.is_body(statements):
            _finish_then(generator, region, region.liveins)
        elif region.is_orelse(statements):
            _finish_else(generator, region, region.liveins)
    elif region.is_body(statements):
        _finish_body(generator, region, region.liveins)
        if region.inline and not region.real:
            generator.leave_dry_pass(region)


def _is_run_time_loop(generator: Any, region: Region) -> bool:
    loop = isinstance(region.node, (ast.For, ast.While))
    return loop and bool(generator.scf_stack) and generator.scf_stack[-1] is region.node


def _is_value(value: Any) -> bool:
    return isinstance(value, core.base_value)


def _put_back(generator: Any, name: str, value: Any) -> None:
    generator.lscope[name] = value
    generator.local_defs.pop(name, None)


# ------------------------------------------------------------------------------------------------ loops


def _finish_body(generator: Any, region: Region, liveins: dict[str, Any]) -> None:
    for name, live in liveins.items():
        if name in region.ignore:
            continue
        value = generator.lscope.get(name, live)
        expected = region.start.get(name, live) if region.real else live
        if _is_value(live):
            if value is UNKNOWN:
                region.unknown.add(name)
                _put_back(generator, name, expected)
            elif name in region.settled:
                _put_back(generator, name, expected)
            elif value is not expected:
                complaint = _loop_complaint(generator, name, value, live)
                if _doubted(region, name, value, live) and complaint is not None and not doubts.differ(value, live):
                    region.doubted[name] = doubts.EITHER
                    _put_back(generator, name, expected)
                elif complaint is not None:
                    _loop_fault(generator, region, name, live, value, complaint)
                    region.settled[name] = _after_fault(live, value)
                    _put_back(generator, name, expected)
        elif name in generator.local_defs:
            if live is not UNKNOWN and value is not UNKNOWN and name not in region.settled:
                complaint = _loop_complaint(generator, name, value, live) if region.inline else None
                complaint = complaint or f"Loop carried variable {name} is not a triton value"
                _loop_fault(generator, region, name, live, value, complaint)
                region.settled[name] = value
            _put_back(generator, name, live)


def _doubted(region: Region, name: str, *values: Any) -> int:
    """What is guessed of the values that a name has on its ways through a region, which is kept for after it."""
    found = 0
    for value in values:
        found |= doubt_of(value)
    if found:
        region.doubted[name] = region.doubted.get(name, 0) | found
    return found


def _after_fault(live: Any, value: Any) -> Any:
    """What a name holds after a loop that changed its type: the new type, which the obvious fix starts it with.

    Nothing is known where the shape changes: no fix is obvious.
    """
    if not isinstance(live, core.tensor) or not isinstance(value, core.tensor):
        return value
    before, after = ([str(n) for n in getattr(v.type, "shape", ())] for v in (live, value))
    return value if before == after or not before or not after else UNKNOWN


def _described(value: Any) -> str:
    """A value's type, or what is certain of it."""
    return (
        typetext.describe(value)
        if not isinstance(value, core.tensor) or not doubt_of(value)
        else typetext.type_text(value.type.scalar)
    )


def _loop_complaint(generator: Any, name: str, value: Any, live: Any) -> str | None:
    try:
        generator._verify_loop_carried_variable(name, value, live)
    except AssertionError as error:
        return str(error)
    return None


def _loop_fault(generator: Any, region: Region, name: str, live: Any, value: Any, text: str) -> None:
    unit, node = generator.unit, region.node
    found = [spans.of(unit, n) for n in reversed(spans.assignments_of(name, node.body))]
    origin = region.origins.get(name)
    final = _described(value)
    given = {
        **facts.basic(generator, node, "loop-carried"),
        "name": name,
        "initial": _described(live),
        "final": final,
        "initial_span": origin[0] if origin is not None else None,
        "assign_spans": found,
        "initial_value": facts.constant(live) if not isinstance(live, core.tensor) else (origin[2] if origin else None),
        "constexpr": not isinstance(live, core.tensor) and typetext.is_constant(live),
        "loop": "while" if isinstance(node, ast.While) else "for",
        "loop_span": spans.of(unit, node),
    }
    span = found[0] if found else spans.of(unit, node)
    generator.rec.fault(span, "AssertionError", text, type(node).__name__, given)


# ------------------------------------------------------------------------------------------------ branches


def _handles(value: Any) -> list[Any] | None:
    """The IR values behind a value; None for what has none and cannot be merged."""
    found: list[Any] = []
    try:
        value._flatten_ir(found)
    except AttributeError:
        return None
    return found


def _unchanged(one: Any, other: Any) -> bool:
    if one is other:
        return True
    first, second = _handles(one), _handles(other)
    return first is not None and first == second


def _same(value: Any, live: Any) -> bool:
    return type(value) is type(live) and bool(value.type == live.type)


def _finish_then(generator: Any, region: Region, liveins: dict[str, Any]) -> None:
    region.lost_in_then = {n for n, v in generator.lscope.items() if v is UNKNOWN and not _is_value(liveins.get(n))}
    at_once = not region.node.orelse or versions.each_arm_is_compared_with_the_outside()
    for name, live in liveins.items():
        if not _is_value(live):
            continue
        value = generator.lscope.get(name, live)
        if value is UNKNOWN:
            region.unknown.add(name)
            _put_back(generator, name, live)
        elif name in region.settled:
            _put_back(generator, name, live)
        elif at_once and not _unchanged(value, live) and _doubted(region, name, value, live):
            if not _same(value, live):
                if doubts.differ(value, live):
                    _initial_fault(generator, region, name, live, value, "then")
                _put_back(generator, name, live)
        elif at_once and not _unchanged(value, live) and not _same(value, live):
            _initial_fault(generator, region, name, live, value, "then")
            _put_back(generator, name, live)
    region.then = (dict(generator.lscope), dict(generator.local_defs))


def _finish_else(generator: Any, region: Region, liveins: dict[str, Any]) -> None:
    then_scope, then_defs = region.then
    merged = set()
    for name, live in liveins.items():
        if not _is_value(live):
            continue
        value, other = generator.lscope.get(name, live), then_scope.get(name, live)
        if value is UNKNOWN:
            region.unknown.add(name)
        if name in region.unknown or name in region.settled:
            _put_back(generator, name, other)
        elif not _unchanged(value, other):
            doubtful = _doubted(region, name, value, other, live)
            wrong = next((arm for arm, v in (("then", other), ("else", value)) if not _same(v, live)), None)
            if wrong is None:
                merged.add(name)
                continue
            if not doubtful or doubts.differ(other if wrong == "then" else value, live):
                _initial_fault(generator, region, name, live, other if wrong == "then" else value, wrong, other, value)
            _put_back(generator, name, other)
    for name in sorted(then_defs.keys() & generator.local_defs.keys()):
        if name in merged:
            continue
        value, other = generator.local_defs[name], then_defs[name]
        complaint = _merge_complaint(name, other, value)
        doubtful = _doubted(region, name, value, other)
        if complaint is not None and doubtful and not doubts.differ(value, other):
            generator.local_defs.pop(name)
            region.unknown.add(name)
        elif complaint is not None:
            _branch_fault(generator, region, name, complaint, other, value, None)
            generator.local_defs.pop(name)
            region.unknown.add(name)
    for name, value in list(generator.lscope.items()):
        lost_here = value is UNKNOWN and liveins.get(name) is not UNKNOWN
        if lost_here and (name in then_defs or name in region.lost_in_then):
            region.unknown.add(name)
        elif name in region.lost_in_then and liveins.get(name) is not UNKNOWN and name in generator.local_defs:
            generator.local_defs.pop(name)
            region.unknown.add(name)


def _merge_complaint(name: str, then: Any, other: Any) -> str | None:
    try:
        kinds = then.type, other.type
    except AttributeError as error:
        return str(error)
    if type(then) is type(other) and kinds[0] == kinds[1]:
        return None
    return f"Mismatched type for {name} between then block ({kinds[0]}) and else block ({kinds[1]})"


def _initial_fault(
    generator: Any, region: Region, name: str, live: Any, value: Any, arm: str, then: Any = None, other: Any = None
) -> None:
    text = f"initial value for `{name}` is of type {live}, but the {arm} block redefines it as {value}"
    if then is None:
        then, other = value, live
    _branch_fault(generator, region, name, text, then, other, live)
    region.settled[name] = live


def _branch_fault(
    generator: Any, region: Region, name: str, text: str, then: Any, other: Any, initial: Any | None
) -> None:
    unit, node = generator.unit, region.node
    if getattr(node, "_made_up", False) or doubt_of(generator.values.get(facts.place(node.test))):
        return  # the test is made up, or may be something else than it seems: its arms need not meet
    arms = {}
    for arm, statements in (("then", node.body), ("else", node.orelse)):
        found = spans.assignments_of(name, statements)
        arms[arm] = spans.of(unit, found[-1]) if found else None
    origin = region.origins.get(name) if initial is not None else None
    given = {
        **facts.basic(generator, node, "branch"),
        "kind": "if",
        "name": name,
        "then": _described(then),
        "else": _described(other),
        "then_span": arms["then"],
        "else_span": arms["else"],
        "initial": _described(initial) if initial is not None else None,
        "initial_span": origin[0] if origin is not None else None,
    }
    generator.rec.fault(arms["else"] or arms["then"] or spans.of(unit, node), "AssertionError", text, "If", given)
