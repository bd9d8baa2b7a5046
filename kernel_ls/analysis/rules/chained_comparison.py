from __future__ import annotations

import ast
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import is_block, operands
from kernel_ls.model import Fault, Fix
from kernel_ls.pyeval.nodes import walk


class ChainedComparison(Rule):
    """Two comparisons in one: `a < b < c`.

    What it finds:
        A comparison with more than one operator in a kernel.

    Why it is a fault:
        Python means `a < b and b < c`, which needs a truth value; Triton's frontend takes one comparison at a time.

    Example:
        if 0 < pid < 8:
            x = x * 2

    Instead:
        if (0 < pid) & (pid < 8):
            x = x * 2

    Triton versions:
        All.

    Fix and its safety:
        Splits the comparison and joins the halves with `&`. The middle expression is written twice, which changes
        nothing, since expressions in a kernel have no side effects but loads' and atomics'; where the middle contains
        a call the fix is not offered.
    """

    code = "chained-comparison"
    summary = "`a < b < c` in a kernel"
    priority = 20

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        node = context.node(fault.span)
        if "multiple comparison" not in fault.text and not (
            isinstance(node, ast.Compare) and len(node.ops) > 1 and fault.exception == "UnsupportedLanguageConstruct"
        ):
            return None
        tree = context.tree(fault.span.unit)
        if not isinstance(node, ast.Compare) and node is not None:
            node = next((n for n in walk(node) if isinstance(n, ast.Compare) and len(n.ops) > 1), None)
        place = tree.span(node) if isinstance(node, ast.Compare) else fault.span
        text = tree.text(place)
        shown = f"`{text}`" if len(text) <= 40 else "This comparison"
        return Match(place, f"{shown} compares twice at once, which a kernel cannot; join two comparisons with `&`.")

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        node = tree.node_at(match.span)
        if not isinstance(node, ast.Compare):
            return
        middle = node.comparators[:-1]
        if any(isinstance(n, (ast.Call, ast.NamedExpr)) for m in middle for n in walk(m)):
            return
        parts = [node.left, *node.comparators]
        pieces = []
        for left, operator, right in zip(parts, node.ops, parts[1:], strict=False):
            pieces.append(f"({tree.source_of(left)} {_SIGNS.get(type(operator), '==')} {tree.source_of(right)})")
        joined = " & ".join(pieces)
        parent = tree.parents.get(node)
        if isinstance(parent, (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare)):
            joined = f"({joined})"
        yield context.fix("Split the comparison", (match.span, joined))
        if operands(fault) and not any(is_block(o.type) for o in operands(fault)):
            yield context.fix("Split the comparison with `and`", (match.span, " and ".join(p[1:-1] for p in pieces)))


_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
}
