from __future__ import annotations

import ast
import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import operands
from kernel_ls.analysis.rules.syntax import UnitTree, dotted, shorten
from kernel_ls.model import Fault, UnitSpan

_OPERATION = re.compile(r"'([\w.]+)' op (.*)", re.DOTALL)


class InvalidIr(Rule):
    """The generated code does not pass the compiler's own check.

    What it finds:
        An operation that Triton's frontend let through and the verifier of the intermediate representation rejects,
        such as a Gluon layout for another number of warps than the kernel is compiled with.

    Why it is a fault:
        The kernel does not compile. The message is the verifier's, about an operation rather than about the source.

    Example:
        layout: ttgl.constexpr = ttgl.BlockedLayout([1], [32], [8], [0])    # 8 warps
        kernel[grid](x, num_warps=4)

    Instead:
        layout: ttgl.constexpr = ttgl.BlockedLayout([1], [32], [4], [0])

    Triton versions:
        All. Triton prints the module on the terminal and raises an error with no position.

    Fix and its safety:
        None.
    """

    code = "invalid-ir"
    summary = "the generated code does not pass the compiler's check"
    priority = 75

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.phase != "verify" and "error encountered during parsing" not in fault.text:
            return None
        text = " ".join(fault.text.split())
        place = fault.span
        related: list[tuple[str, UnitSpan]] = []
        tree = context.tree(fault.span.unit)
        layout = next(
            (o for o in operands(fault) if o.origin is not None and "Layout" in (o.type + (o.value or ""))), None
        )
        if "warps" in text and layout is not None and layout.origin is not None:
            related.append(("used here", fault.span))
            place = layout.origin
        elif "layout" in text:
            definition = _layout_used_at(fault.span, tree)
            if definition is not None:
                related.append(("used here", fault.span))
                place = definition
        found = _OPERATION.search(text)
        if found is not None:
            message = (
                f"The compiler rejects the generated `{found.group(1)}`: {shorten(found.group(2), 200).rstrip('.')}."
            )
        elif text and "error encountered during parsing" not in text:
            message = f"The compiler rejects the generated code: {shorten(text, 200).rstrip('.')}."
        else:
            message = "The compiler rejects the code generated for this kernel."
        return Match(place, message, tuple(related))


def _layout_used_at(span: UnitSpan, tree: UnitTree) -> UnitSpan | None:
    """The only definition of the layout that a call at a place takes: a wrong layout is mended where it is made.

    The verifier says where an operation's last operand begins, which may be in the middle of the call.
    """
    start = (span.line, span.column)
    around = [
        n
        for n in tree.nodes
        if isinstance(n, ast.Call)
        and (n.lineno, n.col_offset) <= start < (n.end_lineno or n.lineno, n.end_col_offset or 0)
    ]
    for call in sorted(around, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        for node in [*(k.value for k in call.keywords), *call.args]:
            if not isinstance(node, ast.Name):
                continue
            made = tree.assignments(node.id)
            value = getattr(made[0], "value", None) if len(made) == 1 else None
            if isinstance(value, ast.Call) and dotted(value.func).endswith("Layout"):
                return tree.span(made[0])
    return None
