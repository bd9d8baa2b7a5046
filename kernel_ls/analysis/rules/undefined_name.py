from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.facts import event, spans
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(r"(?:name )?['\"]?([^\s'\"]+)['\"]? is not defined")


class UndefinedName(Rule):
    """A name is read that nothing has bound.

    What it finds:
        A name that is no parameter, variable, global or builtin of the kernel; a name that is bound only under a
        constexpr test that is false in this specialization; a name that only one arm of a run-time `if`, or only the
        body of a loop, binds.

    Why it is a fault:
        There is no value to read. Under a run-time `if` the name would have a value on one way only, so Triton forgets
        it after the `if`. Only the builtins len, list, range, float, int, isinstance, getattr, hasattr, print, min
        and max exist in a kernel.

    Example:
        if HAS_BIAS:
            bias = tl.load(bias_ptr + offs)
        x += bias

    Instead:
        if HAS_BIAS:
            bias = tl.load(bias_ptr + offs)
            x += bias

    Triton versions:
        All.

    Fix and its safety:
        Renames to the nearest name in scope, where one is near, or to Triton's function for a builtin of Python's. It is
        a guess at what was meant.
    """

    code = "undefined-name"
    summary = "a name that nothing has bound"
    priority = 14

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _TEXT.search(fault.text)
        if event(fault) != "name" and not (fault.exception in ("NameError", "UnboundLocalError") and found):
            return None
        name = _name(fault)
        tree = context.tree(fault.span.unit)
        related: list[tuple[str, UnitSpan]] = []
        under = spans(fault.facts.get("bound_under")) or tuple(_tests_that_bind(name, tree))
        branch = spans(fault.facts.get("bound_in_branch"))
        test = tree.node_at(branch[0]) if branch and branch[0].unit == tree.unit else None
        loop = _loop_that_binds(name, tree, fault.span)
        if loop is not None and (not branch or _heads_loop(test, tree)):
            related.append(("bound only in this loop", loop))
            message = f"`{name}` is bound only inside a loop; give it a value before the loop."
        elif branch:
            related.append(("bound only under this test", branch[0]))
            message = (
                f"`{name}` is bound only in one arm of `if {shorten(context.text(branch[0]))}`, which is decided when the "
                f"kernel runs; give it a value on the other way too."
            )
        elif spans(fault.facts.get("bound_under")):
            related.append(("this test is false here", under[0]))
            message = f"`{name}` is bound only under `if {shorten(context.text(under[0]))}`, which is false here."
        elif under:
            related.append(("bound only under this test", under[0]))
            message = f"`{name}` is bound only under `if {shorten(context.text(under[0]))}`."
        else:
            near = _suggestion(fault, tree)
            message = f"`{name}` is not defined."
            if near:
                message = f"`{name}` is not defined; did you mean `{near}`?"
            elif name in _PYTHON_BUILTINS:
                message = f"Python's `{name}` does not exist in a kernel."
        place = fault.span
        node = tree.node_at(fault.span)
        if not (isinstance(node, ast.Name) and node.id == name) and node is not None:
            inside = [n for n in walk(node) if isinstance(n, ast.Name) and n.id == name]
            if inside:
                place = tree.span(min(inside, key=lambda n: (n.lineno, n.col_offset)))
        return Match(place, message, tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        if match.related:
            return
        near = _suggestion(fault, context.tree(fault.span.unit))
        if near:
            yield context.fix(f"Rename to `{near}`", (match.span, near))
        own = _TRITONS.get(_name(fault))
        if own is not None:
            yield context.fix(f"Use {own}", (match.span, own))


_TRITONS = {"abs": "tl.abs", "sum": "tl.sum", "sorted": "tl.sort"}
"""Builtins of Python that the language has under its own name."""

_PYTHON_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "callable",
        "chr",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "format",
        "frozenset",
        "getattr",
        "hash",
        "id",
        "input",
        "iter",
        "map",
        "next",
        "object",
        "open",
        "ord",
        "pow",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
    ]
)


def _name(fault: Fault) -> str:
    found = _TEXT.search(fault.text)
    return str(fault.facts.get("name") or (found.group(1) if found else ""))


def _suggestion(fault: Fault, tree: UnitTree) -> str:
    name = _name(fault)
    candidates = [str(c) for c in fault.facts.get("candidates") or ()]
    if not candidates:
        candidates = [n.id for n in tree.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        candidates += [n.arg for n in tree.nodes if isinstance(n, ast.arg)]
    return nearest(name, candidates)


def _heads_loop(node: ast.AST | None, tree: UnitTree) -> bool:
    """Whether a node is the target or the test of a loop."""
    return node is not None and isinstance(tree.parents.get(node), (ast.For, ast.While))


def _tests_that_bind(name: str, tree: UnitTree) -> list[UnitSpan]:
    """The tests of the `if`s under which, and nowhere else, the unit binds `name`."""
    bindings = tree.assignments(name)
    found = []
    for statement in bindings:
        branch = tree.enclosing(tree.parents.get(statement, statement), ast.If)
        if not isinstance(branch, ast.If):
            return []
        found.append(tree.span(branch.test))
    return found


def _loop_that_binds(name: str, tree: UnitTree, reading: UnitSpan) -> UnitSpan | None:
    bindings = tree.assignments(name)
    for statement in bindings:
        if isinstance(statement, ast.For) and name in {n.id for n in walk(statement.target) if isinstance(n, ast.Name)}:
            loop: ast.AST | None = statement
        else:
            loop = tree.enclosing(tree.parents.get(statement, statement), (ast.For, ast.While))
        if isinstance(loop, (ast.For, ast.While)) and tree.span(loop).end_line < reading.line:
            return tree.span(loop.iter if isinstance(loop, ast.For) else loop.test)
    return None
