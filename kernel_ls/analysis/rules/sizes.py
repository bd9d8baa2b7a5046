"""Which size was meant where a range's end will not do: the constexpr by which its statement steps, or the only one that fits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from kernel_ls.analysis.rules.base import RuleContext
from kernel_ls.analysis.rules.syntax import UnitTree, is_constexpr_annotation
from kernel_ls.model import Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

END = "end"
"""The choice that all ends of one range belong to."""

_MOST = 6
"""Constants of a function beyond which too many ends would have to be tried."""


def stepped(call: ast.Call, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """End a range at the constexpr by which its statement multiplies: `i * BLOCK + tl.arange(0, BLOCK)`."""
    statement = tree.statement(call)
    inside = set(walk(call))
    steps = {
        side.id
        for node in (walk(statement) if statement is not None else ())
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and node not in inside
        for side in (node.left, node.right)
        if isinstance(side, ast.Name) and side.id in _constants(tree, context)
    }
    if len(steps) == 1:
        (name,) = steps
        yield _ended(
            call, name, f"End the range at `{name}`, by which this statement steps", tree, context, likely=True
        )


def fitting(call: ast.Call, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """End a range at each constexpr of the function; what is made with the range tells which of them is meant."""
    names = list(_constants(tree, context))
    for name in names if len(names) <= _MOST else ():
        yield _ended(call, name, f"End the range at `{name}`, the only size that fits", tree, context)


def _constants(tree: UnitTree, context: RuleContext) -> Iterator[str]:
    """The constexpr parameters of a function that may be the size of a block."""
    arguments = tree.function.args if tree.function is not None else None
    if arguments is None:
        return
    held = {a.name: a.value for a in context.specialization.arguments if a.type == "constexpr"}
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if not is_constexpr_annotation(parameter.annotation):
            continue
        value = held.get(parameter.arg)
        size = value.get("v") if isinstance(value, Mapping) else None
        if context.is_kernel(tree.unit) and not (type(size) is int and size > 1 and size & (size - 1) == 0):
            continue
        yield parameter.arg


def _ended(
    call: ast.Call, end: str, title: str, tree: UnitTree, context: RuleContext, likely: bool = False
) -> Fix | None:
    written = tree.argument_node(call, "end", 1)
    if written is not None:
        return context.fix(title, (tree.span(written), end), choice=END, likely=likely)
    if len(call.args) != 1 or call.keywords:
        return None
    after = tree.span(call.args[0])
    place = UnitSpan(after.unit, after.end_line, after.end_column, after.end_line, after.end_column)
    return context.fix(title, (place, f", {end}"), choice=END, likely=likely)
