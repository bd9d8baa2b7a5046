from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import event, spans
from kernel_ls.analysis.rules.syntax import UnitTree, is_constexpr_annotation
from kernel_ls.model import Fault, Fix, UnitSpan

_ALREADY = re.compile(r"(\S+) is already defined\. constexpr cannot be reassigned")
_IN_LOOP = re.compile(r"cannot reassign constexpr (\S+) in the loop")


class ConstexprReassigned(Rule):
    """A name that is declared `tl.constexpr` is given a second value.

    What it finds:
        A second `NAME: tl.constexpr = ...` for a name that the function already has, and an assignment in a run-time
        loop to a parameter or variable that is annotated `tl.constexpr`.

    Why it is a fault:
        A constexpr is known while the kernel is compiled and is the same on every pass of a loop; Triton rejects the
        second value.

    Example:
        @triton.jit
        def kernel(x_ptr, BLOCK: tl.constexpr):
            BLOCK: tl.constexpr = 2 * BLOCK

    Instead:
        @triton.jit
        def kernel(x_ptr, BLOCK: tl.constexpr):
            WIDE: tl.constexpr = 2 * BLOCK

    Triton versions:
        All.

    Fix and its safety:
        The second value gets a name of its own, by which everything after it reads it, as Python would. Where that
        cannot be told from the text alone, in a loop for example, there is none.
    """

    code = "constexpr-reassigned"
    summary = "a `tl.constexpr` is given a second value"
    priority = 11

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        found = _ALREADY.search(fault.text)
        if found is not None:
            name = _plain(found.group(1))
            node = tree.node_at(fault.span)
            statement = tree.statement(node) if node is not None else None
            place = tree.span(statement.target) if isinstance(statement, ast.AnnAssign) else fault.span
            return Match(
                place,
                f"`{name}` is already defined; a `tl.constexpr` gets its value once. Use another name.",
                _first(name, tree, place),
            )
        constant = bool(fault.facts.get("constexpr")) or _IN_LOOP.search(fault.text) is not None
        if (event(fault) == "loop-carried" and constant) or _IN_LOOP.search(fault.text):
            in_loop = _IN_LOOP.search(fault.text)
            name = str(fault.facts.get("name") or (in_loop.group(1) if in_loop else ""))
            if not declared_constexpr(name, tree):
                return None
            known = spans(fault.facts.get("assign_spans"))
            place = known[0] if known else fault.span
            return Match(
                place,
                f"`{name}` is a `tl.constexpr` and a loop cannot change it. Copy it into an ordinary variable before the loop.",
                _first(name, tree, place),
            )
        return None

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        found = _ALREADY.search(fault.text)
        tree = context.tree(match.span.unit)
        target = tree.node_at(match.span)
        if found is not None and isinstance(target, ast.Name):
            yield _renamed(target, tree, context)


def _renamed(target: ast.Name, tree: UnitTree, context: RuleContext) -> Fix | None:
    """Another name for the second value of a constexpr, there and wherever it is read after that."""
    name, statement, function = target.id, tree.statement(target), tree.function
    if function is None or statement not in function.body:
        return None
    here = tree.span(statement)
    if any((s.lineno, s.col_offset) > (here.line, here.column) for s in tree.assignments(name)):
        return None
    taken = {n.id for n in tree.nodes if isinstance(n, ast.Name)} | {
        n.arg for n in tree.nodes if isinstance(n, ast.arg)
    }
    other = next(f"{name}_{n}" for n in range(2, len(taken) + 3) if f"{name}_{n}" not in taken)
    after = (here.end_line, here.end_column)
    reads = [n for n in tree.nodes if isinstance(n, ast.Name) and n.id == name and (n.lineno, n.col_offset) >= after]
    edits = [(tree.span(n), other) for n in (target, *reads)]
    return context.fix(f"Name the second value `{other}`", *edits)


def declared_constexpr(name: str, tree: UnitTree) -> bool:
    """Whether a unit's parameter or variable of that name is annotated `tl.constexpr`."""
    parameter = tree.parameter(name)
    if parameter is not None and is_constexpr_annotation(parameter.annotation):
        return True
    return any(isinstance(s, ast.AnnAssign) and is_constexpr_annotation(s.annotation) for s in tree.assignments(name))


def _first(name: str, tree: UnitTree, place: UnitSpan) -> tuple[tuple[str, UnitSpan], ...]:
    parameter = tree.parameter(name)
    if parameter is not None:
        return ((f"`{name}` is a parameter", tree.span(parameter)),)
    for statement in tree.assignments(name):
        span = tree.span(statement)
        if (span.line, span.column) < (place.line, place.column):
            return ((f"`{name}` gets its value here", span),)
    return ()


def _plain(text: str) -> str:
    return text.strip("'\"`(")
