from __future__ import annotations

import ast
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.dataflow import Loop, flow_of, is_reached
from kernel_ls.analysis.rules.syntax import shorten
from kernel_ls.model import CompileResult, Severity


class NegativeStep(Rule):
    """A loop counts down by a step that is known only when the kernel runs.

    What it finds:
        `range(a, b, step)` where `step` is no constant, and is written as something negative, or the loop goes down to a
        constant such as 0 or -1.

    Why it is a fault:
        A loop runs as long as its variable is below the end, whatever the sign of a step that the compiler does not know: a
        loop that should count down runs not at all, and nothing is said. A constant step may be negative: then the loop is
        turned around.

    Example:
        for k in range(n, 0, -step):
            tl.store(dst + k, k)

    Instead:
        for k in range(0, n, step):
            tl.store(dst + n - k, n - k)

    Triton versions:
        All: measured in the code that 3.5.1 and 3.9.0 generate.

    Fix and its safety:
        None.
    """

    code = "negative-step"
    summary = "a loop counts down by a step that is known only when the kernel runs"
    severity = Severity.INFO
    priority = 70

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        flow = flow_of(context.program.kernel, context)
        for loop in flow.loops if flow is not None else ():
            assert flow is not None
            step = _downward(loop)
            if step is not None and is_reached(loop.node, flow.tree, result):
                text = shorten(flow.tree.source_of(step))
                yield Match(
                    flow.tree.span(step),
                    f"The step `{text}` is known only when the kernel runs: where it is negative the loop runs not at all. "
                    f"Count up, or make it a constexpr.",
                )


def _downward(loop: Loop) -> ast.expr | None:
    """The step of a loop that is meant to count down by what is no constant."""
    if len(loop.bounds) < 3:
        return None
    (_, _), (end, _), (step, origin) = loop.bounds[:3]
    if not origin.runtime:
        return None
    if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub):
        return step
    down = isinstance(end, ast.UnaryOp) and isinstance(end.op, ast.USub) and isinstance(end.operand, ast.Constant)
    return step if down or (isinstance(end, ast.Constant) and end.value == 0) else None
