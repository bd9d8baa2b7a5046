from __future__ import annotations

import ast

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.syntax import shorten
from kernel_ls.model import Fault, Location
from kernel_ls.pyeval.nodes import walk


class StaticAssert(Rule):
    """A `tl.static_assert` does not hold.

    What it finds:
        A `tl.static_assert` whose condition is false under the constants of this specialization.

    Why it is a fault:
        The kernel's author demands the condition; Triton refuses to compile the kernel otherwise. The related places
        tell which launch or config gave the values.

    Example:
        tl.static_assert(BLOCK % 16 == 0)      # launched with BLOCK=24

    Instead:
        Launch with a value that satisfies the condition.

    Triton versions:
        All.

    Fix and its safety:
        None: either the launch or the assertion is wrong.
    """

    code = "static-assert"
    summary = "a `tl.static_assert` does not hold"
    priority = 10

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.exception != "CompileTimeAssertionFailure":
            return None
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        condition = tree.source_of(call.args[0]) if call is not None and call.args else ""
        said = fault.text.strip()
        if said.startswith("<failed to evaluate assertion message"):
            said = "its text cannot be made while the kernel is compiled"
        message = f"The assertion `{shorten(condition)}` does not hold" if condition else "This assertion does not hold"
        message += f": {said}" if said and said != "None" else ""
        names = (
            {n.id for n in walk(call.args[0]) if isinstance(n, ast.Name)} if call is not None and call.args else set()
        )
        values: list[str] = []
        also: list[tuple[str, Location]] = []
        if context.is_kernel(fault.span.unit):
            for argument in context.specialization.arguments:
                if argument.name in names and argument.type == "constexpr" and isinstance(argument.value, dict):
                    if "v" in argument.value:
                        values.append(f"{argument.name} = {argument.value['v']!r}")
                    if argument.evidence.location is not None:
                        also.append((f"`{argument.name}` gets its value here", argument.evidence.location))
        if values:
            message += f" ({', '.join(values)})"
        return Match(fault.span, message.rstrip(".") + ".", also=tuple(also))
