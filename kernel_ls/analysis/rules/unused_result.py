from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Fault, Fix

_TEXT = re.compile(r"The result of (.+?) is not being used")


class UnusedResult(Rule):
    """A function is called for an effect that it does not have.

    What it finds:
        A statement that calls `tl.advance`, or another function that Triton marks so, and drops the result.

    Why it is a fault:
        The function changes nothing; it returns the changed value.

    Example:
        tl.advance(p, (0, BLOCK))

    Instead:
        p = tl.advance(p, (0, BLOCK))

    Triton versions:
        All since 3.0.

    Fix and its safety:
        Assigns the result to the first argument's variable.
    """

    code = "unused-result"
    summary = "a result is dropped"
    priority = 22

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _TEXT.search(fault.text)
        if found is None:
            return None
        return Match(fault.span, f"`{found.group(1)}` changes nothing by itself; assign its result to a variable.")

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        call = tree.call_at(match.span)
        if call is None:
            return
        target = call.args[0] if call.args else None
        if isinstance(call.func, ast.Attribute) and call.func.attr == "advance" and len(call.args) == 1:
            target = call.func.value
        if isinstance(target, ast.Name):
            yield context.fix(f"Assign to `{target.id}`", (tree.span(call), f"{target.id} = {tree.source_of(call)}"))
