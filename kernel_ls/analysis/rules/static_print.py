from __future__ import annotations

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Note, Severity


class StaticPrint(Rule):
    """What a `tl.static_print` prints while the kernel is compiled.

    What it finds:
        The output of `tl.static_print`, at its line.

    Why it is a fault:
        It is none; the text would otherwise go to a terminal that nobody reads.

    Example:
        tl.static_print("BLOCK is", BLOCK)

    Instead:
        Nothing needs to be changed.

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "static-print"
    summary = "what a `tl.static_print` prints"
    severity = Severity.INFO
    priority = 15

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        if note.kind != "print":
            return None
        return Match(note.span, note.text.rstrip("\n") or "(an empty line)")
