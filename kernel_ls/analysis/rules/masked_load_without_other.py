from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.dataflow import Flow, argument, flow_of, is_reached, jit_units
from kernel_ls.analysis.rules.syntax import dotted, shorten
from kernel_ls.model import CompileResult, Severity, UnitSpan
from kernel_ls.pyeval.nodes import walk

_NEUTRAL = {
    "sum": "0.0",
    "xor_sum": "0",
    "cumsum": "0.0",
    "dot": "0.0",
    "max": '-float("inf")',
    "argmax": '-float("inf")',
    "softmax": '-float("inf")',
    "min": 'float("inf")',
    "argmin": 'float("inf")',
    "cumprod": "1.0",
}
"""Functions that combine elements, and what changes nothing in them."""

_AXES = {0: ":, None", 1: "None, :"}
"""How a condition is written that varies along an axis of a block of two dimensions."""


class MaskedLoadWithoutOther(Rule):
    """What a masked load leaves out takes part in a reduction.

    What it finds:
        `tl.load(..., mask=...)` without `other`, of which the value reaches `tl.sum`, `tl.max`, `tl.min`, `tl.dot` and the
        like, with nothing but element-wise operations in between. A mask that does not vary along the axis that is reduced
        is in order.

    Why it is a fault:
        What lanes hold that a mask leaves out is not defined: often zero, not always, and zero is the wrong value for a
        maximum of negative numbers.

    Example:
        x = tl.load(x_ptr + offs, mask=offs < n)
        best = tl.max(x, axis=0)

    Instead:
        x = tl.load(x_ptr + offs, mask=offs < n, other=-float("inf"))
        best = tl.max(x, axis=0)

    Triton versions:
        All.

    Fix and its safety:
        None: which value changes nothing depends on what happens to it before the reduction.
    """

    code = "masked-load-without-other"
    summary = "what a masked load leaves out takes part in a reduction"
    severity = Severity.INFO
    priority = 70

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        for unit in jit_units(context):
            flow = flow_of(unit, context)
            if flow is None:
                continue
            told: set[ast.Call] = set()
            for name, reduction, load in _reduced(flow):
                if load in told or not is_reached(reduction, flow.tree, result):
                    continue
                told.add(load)
                yield _match(flow, name, reduction, load)


def _match(flow: Flow, name: str, reduction: ast.Call, load: ast.Call) -> Match:
    tree = flow.tree
    mask = argument(load, "mask", 1)
    shown = f" `{shorten(tree.source_of(mask))}`" if mask is not None else ""
    related: tuple[tuple[str, UnitSpan], ...] = ((f"`{name}` takes them in here", tree.span(reduction)),)
    return Match(
        tree.span(load),
        f"Lanes that the mask{shown} leaves out have no certain value, and `{name}` takes them in; pass "
        f"`other={_NEUTRAL[name]}`.",
        related,
    )


def _reduced(flow: Flow) -> Iterator[tuple[str, ast.Call, ast.Call]]:
    for call, taken, origin in flow.taken:
        name = dotted(call.func).split(".")[-1] if dotted(call.func) else getattr(call.func, "attr", "")
        if name not in _NEUTRAL:
            continue
        axis = _axis(name, call, taken)
        for load in sorted(origin.bare, key=lambda n: (n.lineno, n.col_offset)):
            if _varies(load, axis, flow):
                yield name, call, load


def _axis(name: str, call: ast.Call, taken: ast.expr) -> int | None:
    """The axis along which a call combines an argument, where that is written as a number."""
    if name == "dot":
        if len(call.args) < 2 or taken not in call.args[:2]:
            return None if taken not in call.args else -1
        return 1 if taken is call.args[0] else 0
    is_method = taken not in call.args
    found = argument(call, "axis", 0 if is_method else 1)
    return found.value if isinstance(found, ast.Constant) and type(found.value) is int else None


def _varies(load: ast.Call, axis: int | None, flow: Flow) -> bool:
    """Whether a load's mask may leave out lanes along an axis."""
    if axis == -1:
        return False  # The accumulator of a dot: each element stands for itself.
    mask = argument(load, "mask", 1)
    if axis not in _AXES or mask is None:
        return True
    text = " ".join(ast.unparse(part) for part in _parts(mask, flow))
    if not any(mark in text for mark in _AXES.values()):
        return True
    return _AXES[axis] in text


def _parts(node: ast.expr, flow: Flow, depth: int = 3) -> Iterator[ast.expr]:
    """An expression and those that its names were assigned."""
    yield node
    if depth:
        for name in walk(node):
            if isinstance(name, ast.Name) and name.id in flow.written:
                yield from _parts(flow.written[name.id], flow, depth - 1)
