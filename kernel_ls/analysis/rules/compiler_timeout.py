from __future__ import annotations

from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext, kernel_head
from kernel_ls.model import CompileResult, Status


class CompilerTimeout(Rule):
    """The compiler takes too long on this kernel.

    What it finds:
        A kernel whose code could not be generated within the time limit.

    Why it is a fault:
        The usual cause is a `tl.static_range` loop, or nested loops, with many passes: each pass is compiled again.

    Example:
        for i in tl.static_range(0, 4096):
            ...

    Instead:
        for i in range(0, 4096):
            ...

    Triton versions:
        All. Nested run-time loops take much longer up to 3.8.

    Fix and its safety:
        None. The limit is the setting `timeout`.
    """

    code = "compiler-timeout"
    summary = "the compiler takes too long on this kernel"
    priority = 5

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        if result.status is Status.TIMEOUT or result.truncated:
            said = " ".join((result.message or result.truncated).split()).rstrip(".")
            yield Match(
                kernel_head(context),
                f"Triton takes too long to generate this kernel{': ' + said if said else ''}. Look for unrolled loops.",
            )
