from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import block, event, is_float, is_integer, notation, scalar, to_span
from kernel_ls.analysis.rules.loop_carried_type import DTYPE_NAMES
from kernel_ls.analysis.rules.syntax import UnitTree
from kernel_ls.model import Fault, Fix, UnitSpan

_MISMATCH = re.compile(r"Mismatched type for (\S+) between then block \((.+)\) and else block \((.+)\)", re.DOTALL)
_INITIAL = re.compile(
    r"initial value for `(\S+)` is of type (.+?), but the (then|else) block redefines it as (.+)", re.DOTALL
)


class BranchType(Rule):
    """The two ways through a run-time `if` leave a variable with two types.

    What it finds:
        A name that the arms of an `if` on a run-time value bind to values of different data type, shape or kind, and a
        name whose type an arm changes while the other way leaves it as it was.

    Why it is a fault:
        After the `if` the name is one value in the compiled code, with one type, whichever way the program went. An
        `if` on a `tl.constexpr` has no such limit: only the arm that holds is compiled.

    Example:
        if flag > 0:
            y = x.to(tl.float16)
        else:
            y = x.to(tl.float32)

    Instead:
        if flag > 0:
            y = x.to(tl.float16).to(tl.float32)
        else:
            y = x.to(tl.float32)

    Triton versions:
        All. Triton points at the `if`.

    Fix and its safety:
        Converts the later assignment to the other's type. The value is then rounded to that type.
    """

    code = "branch-type"
    summary = "the arms of a run-time `if` give a variable two types"
    priority = 12

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if str(fault.facts.get("kind") or "if") == "ternary":
            return None
        if event(fault) != "branch" and not (_MISMATCH.search(fault.text) or _INITIAL.search(fault.text)):
            return None
        name, then_type, else_type, initial = _read(fault)
        tree = context.tree(fault.span.unit)
        then_span, else_span = to_span(fault.facts.get("then_span")), to_span(fault.facts.get("else_span"))
        if then_span is None and else_span is None:
            then_span, else_span = _arms(fault, name, tree)
        start = to_span(fault.facts.get("initial_span"))
        related: list[tuple[str, UnitSpan]] = []
        place = else_span or then_span or fault.span
        if then_span is not None and else_span is not None:
            related.append((f"`{name}` is {then_type} in the other arm" if then_type else "the other arm", then_span))
            message = f"`{name}` is {then_type} in one arm of the `if` and {else_type} in the other"
            if initial and then_type == initial:
                message = f"`{name}` is {initial} before the `if` and in its first arm, and {else_type} here"
            elif initial and else_type == initial:
                place, related = then_span, []
                message = f"`{name}` is {initial} before the `if` and becomes {then_type} in this arm"
        else:
            changed = then_type if then_span is not None else else_type
            message = f"`{name}` is {initial or 'of another type'} before the `if` and becomes {changed} in this arm"
        if start is not None:
            related.append((f"`{name}` is {initial} before the `if`" if initial else "bound before the `if`", start))
        node = tree.node_at(fault.span)
        branch = tree.enclosing(node, ast.If) if node is not None else None
        if isinstance(branch, ast.If):
            related.append(("the `if` is decided when the kernel runs", tree.span(branch.test)))
        return Match(place, message + "; a variable has one type after a run-time `if`.", tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        _, then_type, else_type, initial = _read(fault)
        tree = context.tree(fault.span.unit)
        then_span, else_span = to_span(fault.facts.get("then_span")), to_span(fault.facts.get("else_span"))
        start = to_span(fault.facts.get("initial_span"))
        assigned = [(then_span, then_type), (else_span, else_type), (start, initial)]
        # A constant that stands for a float is written as one: nothing is rounded.
        for span, kind in assigned:
            value = _value_of(span, tree)
            others = [t for s, t in assigned if s is not None and s != span and t]
            plain = isinstance(value, ast.Constant) and type(value.value) is int and is_integer(kind)
            if value is not None and plain and any(is_float(t) and block(t) is None for t in others):
                text = tree.source_of(value)
                yield context.fix(f"Write {text}.0", (tree.span(value), f"{text}.0"))
        wanted = initial or then_type
        changed = else_type if else_type != wanted else then_type
        first, then = block(wanted), block(changed)
        if (first.shape if first else ()) != (then.shape if then else ()):
            return
        value = _value_of(match.span, tree)
        if value is not None and scalar(changed) in DTYPE_NAMES:
            yield _converted(value, wanted, tree, context)
        other = _value_of(then_span, tree)
        if other is not None and not initial and match.span != then_span:
            yield _converted(other, changed, tree, context)


def _value_of(span: UnitSpan | None, tree: UnitTree) -> ast.expr | None:
    """What is assigned to a single name at a place."""
    statement = tree.statement(tree.node_at(span) or tree.module) if span is not None else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.value
    return None


def _converted(value: ast.expr, kind: str, tree: UnitTree, context: RuleContext) -> Fix | None:
    """A value converted to the element type of a type in text."""
    if scalar(kind) not in DTYPE_NAMES:
        return None
    dtype, text = DTYPE_NAMES[scalar(kind)], tree.source_of(value)
    return context.fix(f"Convert to {dtype}", (tree.span(value), f"{parenthesised(value, text)}.to({dtype})"))


def _read(fault: Fault) -> tuple[str, str, str, str]:
    facts = fault.facts
    name, initial = str(facts.get("name") or ""), str(facts.get("initial") or "")
    then_type, else_type = str(facts.get("then") or ""), str(facts.get("else") or "")
    found = _MISMATCH.search(fault.text)
    if found is not None:
        name = name or found.group(1)
        then_type, else_type = then_type or notation(found.group(2)), else_type or notation(found.group(3))
    found = _INITIAL.search(fault.text)
    if found is not None:
        name, initial = name or found.group(1), initial or notation(found.group(2))
        if found.group(3) == "then":
            then_type = then_type or notation(found.group(4))
        else:
            else_type = else_type or notation(found.group(4))
    return name, then_type, else_type, initial


def _arms(fault: Fault, name: str, tree: UnitTree) -> tuple[UnitSpan | None, UnitSpan | None]:
    """The last assignment of the name in either arm, read from the text."""
    node = tree.node_at(fault.span)
    branch = tree.enclosing(node, ast.If) if node is not None else None
    if not isinstance(branch, ast.If):
        return None, None
    then, other = (
        [s for statement in arm for s in tree.assignments(name, statement)] for arm in (branch.body, branch.orelse)
    )
    return (tree.span(then[-1]) if then else None), (tree.span(other[-1]) if other else None)
