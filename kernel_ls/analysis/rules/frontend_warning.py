from __future__ import annotations

import ast
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Fix, Note, Severity


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
        `.item()` for a condition that is a block of one element, which means the same.
    """

    code = "frontend-warning"
    summary = "a warning of Triton's frontend"
    severity = Severity.WARNING
    priority = 90

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        if note.kind != "warning":
            return None
        text = " ".join(note.text.split())
        tree = context.tree(note.span.unit)
        node = tree.node_at(note.span)
        holder = tree.enclosing(node, ast.If) if node is not None else None
        if text.startswith("If conditional called with multidimensional Tensor") and isinstance(holder, ast.If):
            test = tree.source_of(holder.test)
            return Match(tree.span(holder.test), f"`{test}` is a block of one element; write `({test}).item()`.")
        return Match(note.span, text)

    def note_fixes(self, note: Note, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        if match.message.endswith(".item()`."):
            yield context.fix("Take the only element", (match.span, f"({context.text(match.span)}).item()"))
