from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernel_ls.analysis.rules.base import Explanation, Rule, finding_at
from kernel_ls.model import Location

if TYPE_CHECKING:
    from kernel_ls.analysis.document import BrokenRegion, ParsedDocument
    from kernel_ls.analysis.rules.surroundings import Surroundings


class SyntaxErrorRule(Rule):
    """A part of the file is no Python.

    What it finds:
        Statements that Python's parser rejects, each at the place where it complains. The rest of the file is checked as
        if they were not there; a kernel that holds one is left out.

    Why it is a fault:
        The file cannot be imported, so that no kernel of it can be launched.

    Example:
        x = tl.load(x_ptr +)

    Instead:
        x = tl.load(x_ptr + offs)

    Triton versions:
        All. What counts is the Python that kernel-ls runs under: a newer one's syntax is named in the message.

    Fix and its safety:
        None.
    """

    code = "syntax-error"
    summary = "text that is no Python"
    priority = 5

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        for region in document.broken:
            place = Location(document.path, region.span)
            yield Explanation(finding_at(self, place, _message(region)))


def _message(region: BrokenRegion) -> str:
    text = region.message.strip().rstrip(".")
    what = f"{text[:1].upper()}{text[1:]}"
    if not region.enclosing:
        return f"{what}."
    if region.is_definition:
        return f"{what}; `{region.enclosing}` is not checked."
    return f"{what}; a part of `{region.enclosing}` is not checked."
