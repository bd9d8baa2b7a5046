from __future__ import annotations

import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import callee
from kernel_ls.model import Fault


class Recursion(Rule):
    """A jit function calls itself, directly or through others.

    What it finds:
        A call of a jit function that is already being compiled for the same call.

    Why it is a fault:
        Jit functions are compiled into the kernel; there is no call stack for them.

    Example:
        @triton.jit
        def power(x, n: tl.constexpr):
            return x * power(x, n - 1)

    Instead:
        @triton.jit
        def power(x, n: tl.constexpr):
            y = x
            for _ in tl.static_range(n - 1):
                y = y * x
            return y

    Triton versions:
        All. A recursion whose arguments change and that ends under a constexpr test is compiled as that many functions
        and is fine.

    Fix and its safety:
        None: write the recursion as a loop.
    """

    code = "recursion"
    summary = "a jit function calls itself"
    priority = 13

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        units = [call.unit for call in fault.path] + [fault.span.unit]
        recursive = fault.exception in ("RecursionError", "Recursion") or "maximum recursion depth" in fault.text
        if fault.exception == "KeyError" and re.search(r"__\w*__|\w+\.\w+", fault.text):
            recursive = recursive or callee(fault) in units
        if not recursive:
            return None
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        name = tree.source_of(call.func) if call is not None else callee(fault).split(":")[-1] or "this function"
        place = tree.span(call) if call is not None else fault.span
        return Match(place, f"`{name}` calls itself; jit functions are compiled into the kernel and cannot recurse.")
