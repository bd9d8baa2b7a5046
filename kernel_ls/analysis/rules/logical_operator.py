from __future__ import annotations

import ast
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import bitwise_operand
from kernel_ls.analysis.rules.syntax import UnitTree
from kernel_ls.model import Fault, Fix, Note, Severity, UnitSpan
from kernel_ls.pyeval.nodes import walk


class LogicalOperator(Rule):
    """`and` or `or` between blocks.

    What it finds:
        `and` and `or` of which a side is a block of more than one element.

    Why it is a fault:
        Python's `and` decides by a truth value, which a block has not. Triton takes the element-wise meaning, says
        that this is deprecated, and newer versions reject it.

    Example:
        inside = (r < rows) and (r < cols)

    Instead:
        inside = (r < rows) & (r < cols)

    Triton versions:
        A warning on the terminal, once, in 3.x; to become an error.

    Fix and its safety:
        Writes `&` or `|` with the parentheses that they need: they bind tighter than comparisons. Both sides are then
        combined bit by bit, which is the same for booleans; where a side is an integer it is not.
    """

    code = "logical-operator"
    summary = "`and` or `or` between blocks"
    severity = Severity.WARNING
    priority = 15

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        if note.kind != "warning" or "Logical operators 'and' and 'or'" not in note.text:
            return None
        tree = context.tree(note.span.unit)
        node = _boolean(note.span, tree)
        place = tree.span(node) if node is not None else note.span
        word, sign = ("and", "&") if node is None or isinstance(node.op, ast.And) else ("or", "|")
        return Match(
            place,
            f"`{word}` between blocks is deprecated; write `{sign}`, with each side in parentheses.",
            tags=("deprecated",),
        )

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        yield self.rewrite(match.span, context)

    def note_fixes(self, note: Note, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        yield self.rewrite(match.span, context)

    def rewrite(self, place: UnitSpan, context: RuleContext) -> Fix | None:
        """`&` or `|` between the operands of the boolean expression at `place`."""
        tree = context.tree(place.unit)
        node = _boolean(place, tree)
        if node is None:
            return None
        sign = "&" if isinstance(node.op, ast.And) else "|"
        text = _joined(node, tree)
        if isinstance(tree.parents.get(node), (ast.BinOp, ast.UnaryOp, ast.Compare)):
            text = f"({text})"
        return context.fix(f"Use `{sign}`", (place, text))


def _joined(node: ast.BoolOp, tree: UnitTree) -> str:
    sign = "&" if isinstance(node.op, ast.And) else "|"
    return f" {sign} ".join(_operand(v, tree) for v in node.values)


def _operand(node: ast.expr, tree: UnitTree) -> str:
    if isinstance(node, ast.BoolOp):
        return f"({_joined(node, tree)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"(not {bitwise_operand(node.operand, tree.source_of(node.operand))})"
    return bitwise_operand(node, tree.source_of(node))


def _boolean(span: UnitSpan, tree: UnitTree) -> ast.BoolOp | None:
    node = tree.node_at(span)
    if isinstance(node, ast.BoolOp):
        # `a and b or c` is one expression to rewrite: its parts would be reported again.
        above = tree.parents.get(node)
        while isinstance(above, ast.BoolOp):
            node, above = above, tree.parents.get(above)
        return node
    if node is not None:
        for inner in walk(node):
            if isinstance(inner, ast.BoolOp):
                return inner
    inside = [n for n in tree.nodes if isinstance(n, ast.BoolOp) and n.lineno == span.line]
    return inside[0] if inside else None
