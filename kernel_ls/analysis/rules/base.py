"""What a rule is, what it sees, and what it answers.

A rule turns one kind of `Fault` or `Note` (or a fact about the code around kernels) into a finding with a code. Rules work
in *unit coordinates*, on the unit's own syntax tree, and never touch positions of the buffer: `explain` converts a
`Match` into a `Finding` once, at the end.
"""

from __future__ import annotations

import ast
import re
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kernel_ls.analysis import positions
from kernel_ls.analysis.rules.syntax import UnitTree, unit_tree
from kernel_ls.model import (
    DEFAULT_TARGET,
    CompileResult,
    Edit,
    Fault,
    Finding,
    Fix,
    Location,
    Note,
    Program,
    Related,
    Severity,
    Span,
    Specialization,
    Target,
    UnitSpan,
)

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.environment.bindings import Binding
    from kernel_ls.analysis.rules.surroundings import Surroundings

_LANGUAGES = ("triton.language", "triton.experimental.gluon.language")


@dataclass(frozen=True, slots=True)
class Match:
    """A rule's answer in unit coordinates.

    `related` explains the finding with other places, in reading order. `cause`, where set, names what went wrong
    independently of the place: later matches of the same rule and cause in one kernel become related places of the first.
    `severity`, where set, replaces the rule's. `subject` is whatever the rule's `fixes` needs.
    """

    span: UnitSpan
    message: str
    related: tuple[tuple[str, UnitSpan], ...] = ()
    severity: Severity | None = None
    cause: str = ""
    tags: tuple[str, ...] = ()
    also: tuple[tuple[str, Location], ...] = ()
    """Related places in buffer coordinates, for what lies outside every unit (a module's constant, a launch)."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A finding with what the checker needs to judge and to mend it.

    `span` is the finding's place in unit coordinates (None where it lies outside every unit); `fixes` are candidates in
    order of preference, *not yet proved*.
    """

    finding: Finding
    span: UnitSpan | None = None
    fixes: tuple[Fix, ...] = ()
    fault: Fault | None = None


@dataclass
class RuleContext:
    """What a rule may look at: the program, its files' documents, and under what the kernel was generated.

    `documents` gives the parsed document of a path, or None where it is not at hand.
    """

    program: Program
    documents: Callable[[str], ParsedDocument | None]
    specialization: Specialization = field(default_factory=lambda: Specialization(()))
    kernel: str = ""
    triton_version: str = ""
    target: Target = DEFAULT_TARGET
    binding: Callable[[str, str, int], Binding | None] | None = None
    """`environment.bindings.binding_of` without its workspace."""
    _trees: dict[str, UnitTree] = field(default_factory=dict, repr=False)

    def tree(self, unit: str) -> UnitTree:
        """The syntax tree of one unit's text (an empty one where the program has no such unit)."""
        if unit not in self._trees:
            source = self.program.units[unit].get("source", "") if unit in self.program.units else ""
            self._trees[unit] = unit_tree(unit, source)
        return self._trees[unit]

    def node(self, span: UnitSpan) -> ast.AST | None:
        """The innermost node at exactly `span`, or the smallest that contains it."""
        return self.tree(span.unit).node_at(span)

    def text(self, span: UnitSpan) -> str:
        """The unit's text under `span`."""
        return self.tree(span.unit).text(span)

    def location(self, span: UnitSpan) -> Location | None:
        """Where `span` stands in the user's files; None for a unit whose origin is not known."""
        origin = self.program.origins.get(span.unit)
        if origin is None:
            return None
        return positions.locate(origin, self.tree(span.unit).source, span)

    def edit(self, span: UnitSpan, text: str) -> Edit | None:
        """Replace what stands at `span` in the user's file by `text`."""
        location = self.location(span)
        return None if location is None else Edit(location, text)

    def fix(self, title: str, *edits: tuple[UnitSpan, str], choice: str = "", likely: bool = False) -> Fix | None:
        """A candidate fix from replacements in unit coordinates, or None where one of them has no place in a file.

        Rules write the language as `tl`; where the unit's file has another name for it, that name is used.
        """
        made = [self.edit(span, self._spelt(text, span.unit)) for span, text in edits]
        kept = [e for e in made if e is not None]
        title = self._spelt(title, edits[0][0].unit) if edits else title
        return Fix(title, tuple(kept), choice, likely) if kept and len(kept) == len(made) else None

    def _spelt(self, text: str, unit: str) -> str:
        known = self.program.units.get(unit, {}).get("globals") or {}
        if "tl." not in text or "tl" in known:
            return text
        for name, value in known.items():
            if isinstance(value, Mapping) and value.get("k") == "ref" and value.get("path") in _LANGUAGES:
                return re.sub(r"\btl\.", f"{name}.", text)
        return text

    def argument(self, name: str) -> str | None:
        """The kernel's argument type in this specialization, in Triton's signature notation."""
        for argument in self.specialization.arguments:
            if argument.name == name:
                return argument.type if isinstance(argument.type, str) else "tuple"
        return None

    def is_kernel(self, unit: str) -> bool:
        """Whether `unit` is the kernel itself rather than a helper that it reaches."""
        return unit == self.program.kernel


class Rule(ABC):
    """One kind of finding. A concrete rule is the only one of its module, whose name is the code with underscores.

    The class docstring is the rule's manual page (see `manual.py` for its headings). `priority` orders the rules that
    look at a fault, lowest first: 10 for what the worker itself has recognised, 30 for a particular operation or
    message, 60 for a family of messages, 80 for what an exception's type alone tells.
    """

    code: ClassVar[str]
    summary: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    priority: ClassVar[int] = 60
    quiet: ClassVar[bool] = False
    """Whether an editor shows it as a hint, without a mark among the problems: what holds of most kernels."""

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        """The rule's reading of a fault, or None where it is not this rule's."""
        return None

    def match_note(self, note: Note, context: RuleContext) -> Match | None:
        """The rule's reading of a warning or a printed line."""
        return None

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        """What the rule finds in a generated kernel that Triton accepted in silence."""
        return ()

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        """What the rule finds around kernels, without generating code."""
        return ()

    def note_fixes(self, note: Note, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        """As `fixes`, for what came from a warning."""
        return ()

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        """Candidate changes that would remove the finding, best first; the checker proves them before they are offered."""
        return ()


def finding_at(
    rule: Rule,
    location: Location,
    message: str,
    *,
    severity: Severity | None = None,
    related: Sequence[tuple[str, Location]] = (),
    kernel: str = "",
    original: str = "",
) -> Finding:
    """A finding of `rule` at a place in buffer coordinates."""
    return Finding(
        code=rule.code,
        severity=severity or rule.severity,
        message=message,
        location=location,
        kernel=kernel,
        related=tuple(Related(text, place) for text, place in related),
        original=original,
    )


def whole_file(path: str) -> Location:
    """The first position of a file, for what has no better place."""
    return Location(path, Span.of(0, 0, 0, 0))


def kernel_head(context: RuleContext) -> UnitSpan:
    """The first line of the kernel, `def` to its end, for what concerns the kernel as a whole."""
    tree = context.tree(context.program.kernel)
    if tree.function is None:
        return UnitSpan(context.program.kernel, 1, 0, 1, 0)
    line = tree.function.lineno
    return UnitSpan(tree.unit, line, tree.function.col_offset, line, len(tree.lines[line - 1].rstrip()))
