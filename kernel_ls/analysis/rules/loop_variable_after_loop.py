from __future__ import annotations

import ast

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import to_span
from kernel_ls.model import Fault, UnitSpan


class LoopVariableAfterLoop(Rule):
    """A loop's variable is read after the loop.

    What it finds:
        `k` read after `for k in range(...)`, where nothing has assigned it in between.

    Why it is a fault:
        In Python `k` keeps its last value. In the compiled code it has none: Triton gives it a poison value, on which
        any result is possible, and says nothing.

    Example:
        for k in range(0, n):
            tl.store(dst + k, k)
        tl.store(dst + n, k)

    Instead:
        for k in range(0, n):
            tl.store(dst + k, k)
        tl.store(dst + n, n - 1)

    Triton versions:
        All that were tried; newer ones may reject it.

    Fix and its safety:
        None: the last value depends on the bounds, and there is none where the loop does not run.
    """

    code = "loop-variable-after-loop"
    summary = "a loop's variable is read after the loop"
    priority = 8

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.exception != "LoopVariableAfterLoop":
            return None
        tree = context.tree(fault.span.unit)
        name = str(fault.facts.get("name") or tree.text(fault.span))
        loop = to_span(fault.facts.get("loop_span"))
        if loop is None:
            before = [
                n
                for n in tree.nodes
                if isinstance(n, ast.For)
                and isinstance(n.target, ast.Name)
                and n.target.id == name
                and n.lineno < fault.span.line
            ]
            loop = tree.span(before[-1].target) if before else None
        elif isinstance(node := tree.node_at(loop), ast.For):
            loop = tree.span(node.target)
        related: tuple[tuple[str, UnitSpan], ...] = ((f"the loop over `{name}`", loop),) if loop is not None else ()
        return Match(
            fault.span,
            f"`{name}` has no value after its loop: Triton leaves it undefined and says nothing. Compute it from the bounds.",
            related,
        )
