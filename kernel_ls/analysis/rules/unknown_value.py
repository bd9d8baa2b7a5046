from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.syntax import UnitTree
from kernel_ls.model import CompileResult, Fault, Severity, UnitSpan


class UnknownValue(Rule):
    """A kernel needs a value that cannot be known without running the file.

    What it finds:
        A global that a kernel reads and whose value comes from something that is not evaluated: an environment
        variable, a device query, a function of a package that is not read.

    Why it is a fault:
        It is none. What depends on the value is not checked, and the kernel counts as unknown.

    Example:
        WIDTH = tl.constexpr(int(os.environ["WIDTH"]))

    Instead:
        Pin it (`# kernel-ls: spec WIDTH=64` above the kernel, for a parameter), or check with `--environment import`.

    Triton versions:
        All.

    Fix and its safety:
        None.
    """

    code = "unknown-value"
    summary = "a value that cannot be known without running the file"
    severity = Severity.INFO
    priority = 8

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if fault.exception != "UnknownUse":
            return None
        name = str(fault.facts.get("name") or context.text(fault.span))
        reason = str(fault.facts.get("reason") or "") or re.sub(r"\s+", " ", fault.text).strip()
        return Match(fault.span, _message(name, reason), cause=name)

    def inspect(self, result: CompileResult, context: RuleContext) -> Iterable[Match]:
        if any(f.exception == "UnknownUse" for f in result.faults):
            return
        for unit, name, reason in context.program.unknown:
            place = _first_use(name, context.tree(unit))
            if place is not None and _reached(place, result):
                yield Match(place, _message(name, reason), cause=name)


def _message(name: str, reason: str) -> str:
    because = f": {reason.rstrip('.')}" if reason and reason != name else ""
    return (
        f"The value of `{name}` cannot be known without running the file{because}. What depends on it is not checked."
    )


def _first_use(name: str, tree: UnitTree) -> UnitSpan | None:
    node = tree.find(lambda n: isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    return tree.span(node) if node is not None else None


def _reached(place: UnitSpan, result: CompileResult) -> bool:
    if not result.reached:
        return True
    return any(first <= place.line <= last for first, last in result.reached.get(place.unit, ()))
