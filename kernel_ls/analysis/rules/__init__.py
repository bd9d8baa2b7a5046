"""Faults and notes into findings: the registry of rules, and `explain`.

A rule is found by being there: every module of this package that defines a concrete `Rule` is part of the registry, so a
new rule is one new file. Rules are asked in the order of their `priority` and the first that recognises a fault explains
it; what none recognises becomes `frontend-error` with Triton's own message.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernel_ls.analysis.rules.base import Explanation, Match, Rule, RuleContext, whole_file
from kernel_ls.analysis.rules.surroundings import Surroundings, surroundings_of
from kernel_ls.model import CompileResult, Fault, Finding, Fix, Location, Note, Related, UnitSpan

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument

__all__ = [
    "Explanation",
    "Match",
    "Rule",
    "RuleContext",
    "check_surroundings",
    "explain",
    "explanations",
    "registry",
    "rule",
    "surroundings_of",
]


@lru_cache(maxsize=1)
def registry() -> Mapping[str, Rule]:
    """Every rule by code, in the order in which they are asked."""
    found: list[Rule] = []
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Rule)
                and value.__module__ == module.__name__
                and "code" in vars(value)
            ):
                found.append(value())
    found.sort(key=lambda r: (r.priority, r.code))
    return MappingProxyType({r.code: r for r in found})


def rule(code: str) -> Rule:
    """The rule of a code.

    Raises:
        KeyError: there is no rule of that code.
    """
    return registry()[code]


def explain(result: CompileResult, context: RuleContext) -> tuple[Finding, ...]:
    """The findings of one compiled specialization, without their fixes."""
    return tuple(e.finding for e in explanations(result, context))


def explanations(result: CompileResult, context: RuleContext) -> tuple[Explanation, ...]:
    """The findings of one compiled specialization with candidate fixes, in the order of the text.

    A fault and its place are explained once, however often generation met them.
    """
    made: dict[tuple[str, UnitSpan, str], Explanation] = {}
    causes: dict[tuple[str, str], tuple[str, UnitSpan, str]] = {}

    def add(by: Rule, match: Match, source: Fault | Note | None) -> None:
        key = (by.code, match.span, "" if by.code != "frontend-error" else match.message)
        if key in made:
            return
        if match.cause and (by.code, match.cause) in causes:
            first = made[causes[by.code, match.cause]]
            place = context.location(match.span)
            if place is not None:
                more = (*first.finding.related, Related("also here", place))
                made[causes[by.code, match.cause]] = replace(first, finding=replace(first.finding, related=more))
            return
        causes[by.code, match.cause] = key
        made[key] = _explanation(by, match, source, context)

    for fault in result.faults:
        by, match = _recognise(fault, context)
        add(by, match, fault)
    for note in result.notes:
        for by in registry().values():
            match_or_none = by.match_note(note, context)
            if match_or_none is not None:
                add(by, match_or_none, note)
                break
    for by in registry().values():
        for match in by.inspect(result, context):
            add(by, match, None)
    return tuple(sorted(made.values(), key=lambda e: (e.finding.location, e.finding.code)))


def check_surroundings(document: ParsedDocument, surroundings: Surroundings) -> tuple[Explanation, ...]:
    """The findings around the kernels of one document: launches, autotuners, heuristics, decorators, syntax."""
    found: list[Explanation] = []
    for by in registry().values():
        found.extend(by.check(document, surroundings))
    unique = {(e.finding.code, e.finding.location, e.finding.message): e for e in found}
    return tuple(sorted(unique.values(), key=lambda e: (e.finding.location, e.finding.code)))


def _recognise(fault: Fault, context: RuleContext) -> tuple[Rule, Match]:
    for by in registry().values():
        match = by.match(fault, context)
        if match is not None:
            return by, match
    message = fault.text.strip() or f"Triton's frontend failed here with {fault.exception} and no message."
    return rule("frontend-error"), Match(fault.span, message)


def _explanation(by: Rule, match: Match, source: Fault | Note | None, context: RuleContext) -> Explanation:
    location = context.location(match.span) or _kernel_location(context)
    related: list[Related] = []
    for text, span in match.related:
        place = context.location(span)
        if place is not None and place != location:
            related.append(Related(text, place))
    related += [Related(text, place) for text, place in match.also]
    for call in reversed(source.path if source is not None else ()):
        place = context.location(call)
        if place is not None and place != location:
            related.append(Related("called from here", place))
    original = ""
    fixes: tuple[Fix, ...] = ()
    if isinstance(source, Fault):
        original = source.text.strip()
        fixes = _fixes(by.fixes(source, match, context))
    elif isinstance(source, Note):
        fixes = _fixes(by.note_fixes(source, match, context))
    finding = Finding(
        code=by.code,
        severity=match.severity or by.severity,
        message=match.message,
        location=location,
        kernel=context.kernel,
        related=tuple(related),
        original=original if original != match.message else "",
        tags=match.tags,
    )
    return Explanation(finding, match.span, fixes, source if isinstance(source, Fault) else None)


def _fixes(candidates: Iterable[Fix | None]) -> tuple[Fix, ...]:
    unique: dict[tuple[object, ...], Fix] = {}
    for fix in candidates:
        if fix is not None:
            unique.setdefault(fix.edits, fix)
    return tuple(unique.values())


def _kernel_location(context: RuleContext) -> Location:
    """The kernel's own `def`, for what stands in no file of the user's."""
    tree = context.tree(context.program.kernel)
    if tree.function is not None:
        span = tree.span(tree.function)
        head = UnitSpan(span.unit, span.line, span.column, span.line, len(tree.lines[span.line - 1]))
        place = context.location(head)
        if place is not None:
            return place
    origins = list(context.program.origins.values())
    return whole_file(origins[0].path if origins else "")
