from __future__ import annotations

from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext, kernel_head
from kernel_ls.model import CompileResult, Status


class CompilerCrash(Rule):
    """The compiler itself dies on this kernel.

    What it finds:
        A kernel on which Triton's compiler crashes: an assertion or a memory fault in its own C++ code. The process
        that compiles is started again, and other kernels are not affected.

    Why it is a fault:
        A launch of the kernel would take the whole Python process with it.

    Example:
        None can be given: such faults are defects of one version.

    Instead:
        Comment out halves of the kernel until it compiles, and report what is left to Triton.

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "compiler-crash"
    summary = "the compiler dies on this kernel"
    priority = 5

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        if result.status is Status.CRASHED:
            said = " ".join(result.message.split()).rstrip(".")
            yield Match(kernel_head(context), f"Triton's compiler crashes on this kernel{': ' + said if said else ''}.")
