from __future__ import annotations

import ast
import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import event, spans
from kernel_ls.analysis.rules.syntax import UnitTree
from kernel_ls.model import Fault, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(r"Cannot have `return` statements inside `while` or `for`")
_VERIFIER = re.compile(
    r"tt\.return|func\.return|must be the last operation|expects? (?:region to end|parent op)|without terminator|"
    r"scf\.(?:while|for|yield|condition)|multiple blocks|expected to have a single block",
    re.IGNORECASE,
)


class ReturnInLoop(Rule):
    """A `return` stands inside a loop that runs on the GPU.

    What it finds:
        A `return` inside a `for` or `while` whose number of passes is known only when the kernel runs. Loops over
        `tl.static_range` are unrolled while compiling and may return.

    Why it is a fault:
        Such a loop becomes a structured loop in the compiled code, with one entry and one exit; there is no way out
        of its middle. A `return` at the top level, also under an `if`, is fine.

    Example:
        for i in range(n):
            if tl.load(x_ptr + i) == target:
                tl.store(out_ptr, i)
                return

    Instead:
        found = -1
        for i in range(n):
            found = tl.where((found < 0) & (tl.load(x_ptr + i) == target), i, found)
        tl.store(out_ptr, found, mask=found >= 0)

    Triton versions:
        All. Under a run-time `if` Triton points at the `if`; directly in a `while` it reports invalid IR with no
        position in the source.

    Fix and its safety:
        None: leaving a loop early has to be written as a condition of the loop or as a mask.
    """

    code = "return-in-loop"
    summary = "a `return` inside a run-time loop"
    priority = 14

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        if event(fault) == "return" and fault.facts.get("in_loop"):
            known = spans(fault.facts.get("spans"))
            return self._at(known[-1] if known else _return_near(fault.span, tree) or fault.span, tree)
        if _TEXT.search(fault.text):
            return self._at(_return_near(fault.span, tree) or fault.span, tree)
        if fault.phase == "verify" or "terminator" in fault.text:
            inside = _returns_in_loops(fault, context)
            if inside and (_VERIFIER.search(fault.text) or fault.exception == "AssertionError"):
                return self._at(inside[0], context.tree(inside[0].unit))
        return None

    def _at(self, place: UnitSpan, tree: UnitTree) -> Match:
        node = tree.node_at(place)
        loop = tree.enclosing(node, (ast.For, ast.While)) if node is not None else None
        related: tuple[tuple[str, UnitSpan], ...] = ()
        if loop is not None:
            head = tree.span(loop.test if isinstance(loop, ast.While) else loop.iter)  # type: ignore[attr-defined]
            related = (("the loop it would leave", head),)
        return Match(
            place, "A run-time loop cannot be left by `return`; make it a condition of the loop or a mask.", related
        )


def _return_near(span: UnitSpan, tree: UnitTree) -> UnitSpan | None:
    node = tree.node_at(span)
    if node is None:
        return None
    found = [n for n in walk(node) if isinstance(n, ast.Return)]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    return tree.span(found[0]) if found else None


def _returns_in_loops(fault: Fault, context: RuleContext) -> list[UnitSpan]:
    """Every `return` in a loop, in the fault's unit first and then wherever the kernel reaches."""
    units = [fault.span.unit, *(u for u in context.program.units if u != fault.span.unit)]
    found = []
    for unit in units:
        tree = context.tree(unit)
        for node in tree.nodes:
            if isinstance(node, ast.Return):
                loop = tree.enclosing(node, (ast.For, ast.While))
                if loop is not None and not _unrolled(loop):
                    found.append(tree.span(node))
    return found


def _unrolled(loop: ast.AST) -> bool:
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return False
    function = loop.iter.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return name == "static_range"
