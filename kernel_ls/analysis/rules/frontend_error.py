from __future__ import annotations

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Fault


class FrontendError(Rule):
    """Triton rejects the kernel for a reason that no rule knows yet.

    What it finds:
        Any error of Triton's frontend that none of the other rules recognises. The message is Triton's.

    Why it is a fault:
        The kernel does not compile.

    Example:
        Whatever no other rule explains.

    Instead:
        Follow Triton's message, and report the case: a rule is missing.

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "frontend-error"
    summary = "an error of Triton's frontend that no rule knows yet"
    priority = 100

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        text = " ".join(fault.text.split())
        return Match(fault.span, text or f"Triton's frontend failed here with {fault.exception} and no message.")
