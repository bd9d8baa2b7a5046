from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import harmless, parenthesised
from kernel_ls.analysis.rules.facts import block, described_type, is_float, is_integer, notation, scalar
from kernel_ls.analysis.rules.loop_carried_type import DTYPE_NAMES, shape_of
from kernel_ls.analysis.rules.syntax import UnitTree, dotted
from kernel_ls.model import Fault, Fix, UnitSpan

_TEXT = re.compile(r"Ternary expression with dynamic condition has inconsistent types (.+) and (.+)", re.DOTALL)


class TernaryType(Rule):
    """`a if c else b` on a run-time condition chooses between two types.

    What it finds:
        A conditional expression whose condition is a run-time value and whose two values differ in data type or shape.

    Why it is a fault:
        The result is one value in the compiled code and has one type. Where the condition is a constexpr only one of
        the two values is compiled, and they may differ.

    Example:
        scale = 1 if n > 8 else 0.5

    Instead:
        scale = 1.0 if n > 8 else 0.5

    Triton versions:
        All.

    Fix and its safety:
        Writes an integer constant as a float, or converts the second value to the first one's type. `tl.zeros` of
        another shape or type is made of the other value's. Where neither value touches memory, `tl.where` gives both a
        common type and shape.
    """

    code = "ternary-type"
    summary = "a conditional expression chooses between two types at run time"
    priority = 12

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _TEXT.search(fault.text)
        if found is None and str(fault.facts.get("kind") or "") != "ternary":
            return None
        then, other = _types(fault)
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        expression = tree.enclosing(node, ast.IfExp) if node is not None else None
        related: tuple[tuple[str, UnitSpan], ...] = ()
        if isinstance(expression, ast.IfExp):
            related = (
                (f"this is {then}", tree.span(expression.body)),
                (f"this is {other}", tree.span(expression.orelse)),
            )
        message = f"This expression is {described_type(then)} or {described_type(other)}, depending on a run-time condition; both must have one type."
        return Match(fault.span if expression is None else tree.span(expression), message, related)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(fault.span.unit)
        node = tree.node_at(match.span)
        if not isinstance(node, ast.IfExp):
            return
        then, other = _types(fault)
        if block(then) == block(other) or (block(then) is not None and block(other) is not None):
            yield from _alike(node, then, other, tree, context)
        yield from _zeros_alike(node, then, other, tree, context)
        if harmless(node.body) and harmless(node.orelse):
            parts = ", ".join(tree.source_of(n) for n in (node.test, node.body, node.orelse))
            yield context.fix("Use tl.where", (match.span, f"tl.where({parts})"))


def _alike(node: ast.IfExp, then: str, other: str, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """One of two values made what the other is."""
    for value, mine, theirs in ((node.body, then, other), (node.orelse, other, then)):
        if isinstance(value, ast.Constant) and type(value.value) is int and is_integer(mine) and is_float(theirs):
            yield context.fix(f"Write {value.value}.0", (tree.span(value), f"{value.value}.0"))
    if scalar(then) in DTYPE_NAMES and scalar(other) in DTYPE_NAMES and not isinstance(node.orelse, ast.Constant):
        dtype, text = DTYPE_NAMES[scalar(then)], tree.source_of(node.orelse)
        converted = f"{parenthesised(node.orelse, text)}.to({dtype})"
        yield context.fix(f"Convert to {dtype}", (tree.span(node.orelse), converted))


def _zeros_alike(node: ast.IfExp, then: str, other: str, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """A block of zeros of the other value's shape and type, by the names of its sizes; a number where that is none."""
    for value, theirs in ((node.orelse, then), (node.body, other)):
        zeros = isinstance(value, ast.Call) and dotted(value.func).endswith(".zeros")
        if not zeros or scalar(theirs) not in DTYPE_NAMES:
            continue
        sizes, dtype = block(theirs), DTYPE_NAMES[scalar(theirs)]
        if sizes is not None:
            shape = shape_of(sizes.shape, tree, context)
            yield context.fix(f"Make the zeros {theirs}", (tree.span(value), f"tl.zeros({shape}, {dtype})"))
        elif theirs in ("f32", "i32"):
            text = "0.0" if is_float(theirs) else "0"
            yield context.fix(f"Write {text}", (tree.span(value), text))


def _types(fault: Fault) -> tuple[str, str]:
    then, other = str(fault.facts.get("then") or ""), str(fault.facts.get("else") or "")
    found = _TEXT.search(fault.text)
    if found is not None:
        then, other = then or notation(found.group(1)), other or notation(found.group(2))
    return then or "one type", other or "another"
