from __future__ import annotations

from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.dataflow import flow_of, is_reached
from kernel_ls.analysis.rules.syntax import shorten
from kernel_ls.model import CompileResult, Severity


class OffsetOverflow(Rule):
    """An offset is computed in 32 bits, which large tensors pass.

    What it finds:
        A program's or a loop's number that is multiplied by an integer argument, such as a stride, where the product is
        added to a pointer and neither has 64 bits. The first such product of a kernel is named.

    Why it is a fault:
        Integers that fit are passed as i32, and the product of two i32 is an i32. From 2**31 elements on it wraps, and the
        kernel reads and writes elsewhere, in silence.

    Example:
        row = tl.program_id(0)
        tl.store(x_ptr + row * stride, 0.0)

    Instead:
        row = tl.program_id(0).to(tl.int64)
        tl.store(x_ptr + row * stride, 0.0)

    Triton versions:
        All.

    Fix and its safety:
        None. 64-bit arithmetic costs registers, which is wasted where tensors are small.
    """

    code = "offset-overflow"
    quiet = True
    summary = "an offset is computed in 32 bits, which large tensors pass"
    severity = Severity.INFO
    priority = 70

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        flow = flow_of(context.program.kernel, context)
        for product in flow.offsets if flow is not None else ():
            assert flow is not None
            if not is_reached(product, flow.tree, result):
                continue
            text = shorten(flow.tree.source_of(product))
            yield Match(
                flow.tree.span(product),
                f"`{text}` is computed in 32 bits and wraps from 2**31 elements on; make a factor 64 bits wide with "
                f"`.to(tl.int64)`, if tensors get that large.",
            )
            return
