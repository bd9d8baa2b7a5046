from __future__ import annotations

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Note, Severity


class FrontendWarning(Rule):
    """Triton warns of something while it compiles the kernel.

    What it finds:
        Any warning of Triton's frontend that no other rule knows, such as an `if` on a block of one element.

    Why it is a fault:
        Triton takes the kernel and says on the terminal that something is odd, usually once in a process and easily
        missed.

    Example:
        if tl.load(x_ptr + tl.arange(0, 1)) > 0:
            ...

    Instead:
        Follow the warning.

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "frontend-warning"
    summary = "a warning of Triton's frontend"
    severity = Severity.WARNING
    priority = 90

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        if note.kind != "warning":
            return None
        return Match(note.span, " ".join(note.text.split()))
