from __future__ import annotations

import ast

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Fault


class IgnoredFilter(Rule):
    """A comprehension's `if` is ignored.

    What it finds:
        `[v for v in values if test]` in a kernel.

    Why it is a fault:
        Triton generates the elements and never looks at the test: the result holds every element, and nothing is said.

    Example:
        big = [v for v in (10, 20, 30, 40) if v >= 30]

    Instead:
        Filter before the kernel and pass the result as a constexpr, or write the elements out.

    Triton versions:
        Up to 3.8. From 3.9 the filter is applied.

    Fix and its safety:
        None.
    """

    code = "ignored-filter"
    summary = "a comprehension's `if` is ignored"
    priority = 8

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.exception != "IgnoredFilter":
            return None
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        if isinstance(node, ast.ListComp) and node.generators and node.generators[0].ifs:
            node = node.generators[0].ifs[0]
        place = tree.span(node) if isinstance(node, ast.expr) else fault.span
        return Match(
            place,
            f"This Triton ignores the comprehension's `if {tree.text(place)}`: every element is kept.",
        )
