from __future__ import annotations

import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.syntax import shorten
from kernel_ls.model import Fault, Note, Severity

_REMOVED = re.compile(r"\bhave been removed\b|\bhas been removed\b|is no longer supported|was removed in")
_DEPRECATED = re.compile(r"deprecat|will be removed|will error out in a future|no longer", re.IGNORECASE)
_BLOCK_POINTERS = re.compile(r"Block pointers have been removed")


class DeprecatedApi(Rule):
    """Something that Triton is about to remove, or has removed.

    What it finds:
        A use of which the installed Triton warns that it is deprecated (a warning), and of a function that it has
        removed (an error).

    Why it is a fault:
        The kernel compiles today and stops compiling with an upgrade; where the function is gone it does not compile.

    Example:
        p = tl.make_block_ptr(base, shape=(n,), strides=(1,), offsets=(0,), block_shape=(B,), order=(0,))

    Instead:
        desc = tl.make_tensor_descriptor(base, shape=(n,), strides=(1,), block_shape=(B,))
        x = desc.load((0,))

    Triton versions:
        What is deprecated differs between versions; block pointers work up to 3.8 and are gone in 3.9.

    Fix and its safety:
        None.
    """

    code = "deprecated-api"
    summary = "something that Triton removes"
    severity = Severity.WARNING
    priority = 18

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if not _REMOVED.search(fault.text):
            return None
        version = f" {context.triton_version}" if context.triton_version else ""
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        name = f"`{tree.source_of(call.func)}`" if call is not None else "This function"
        text = " ".join(fault.text.split()).rstrip(".")
        message = f"{name} is gone in Triton{version}: {text[:1].lower() + text[1:]}."
        if _BLOCK_POINTERS.search(fault.text):
            message = f"Triton{version} has no block pointers any more; use `tl.make_tensor_descriptor`."
        return Match(fault.span, message, severity=Severity.ERROR, cause=text)

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        if note.kind != "warning" or not _DEPRECATED.search(note.text):
            return None
        text = " ".join(note.text.split())
        tree = context.tree(note.span.unit)
        call = tree.call_at(note.span)
        if "tl.where with a non-boolean condition" in text and call is not None and call.args:
            shown = shorten(tree.source_of(call.args[0]))
            text = f"The condition `{shown}` of `tl.where` is no boolean, which Triton is going to reject; compare it: `{shown} != 0`."
        return Match(note.span, text, tags=("deprecated",))
