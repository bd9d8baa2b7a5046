from __future__ import annotations

import ast
import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import notation, spans
from kernel_ls.model import Fault

_TEXTS = (
    re.compile(r"Inconsistent return types: (.+) and (.+)", re.DOTALL),
    re.compile(r"Return type mismatch:? (.+) and (.+)", re.DOTALL),
    re.compile(r"(?:[Rr]eturn types? |return values? ).*?(?:mismatch|incompatible|inconsistent|differ)", re.DOTALL),
)


class ReturnType(Rule):
    """The `return` statements of a helper give values of different types.

    What it finds:
        A second `return` of a jit function whose value has another type, shape or number of elements than the first
        one's, or that returns nothing where the first returns a value.

    Why it is a fault:
        A jit function becomes one function with one result type.

    Example:
        @triton.jit
        def pick(x, flag):
            if flag > 0:
                return x
            return 0

    Instead:
        @triton.jit
        def pick(x, flag):
            return tl.where(flag > 0, x, 0.0)

    Triton versions:
        All.

    Fix and its safety:
        None: which type is meant is the author's to say.
    """

    code = "return-type"
    summary = "a helper returns values of different types"
    priority = 30

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = next((m for p in _TEXTS if (m := p.search(fault.text))), None)
        if found is None:
            return None
        facts_types = [str(t) for t in fault.facts.get("types") or ()]
        types = [t for t in facts_types if t] or [notation(t) for t in found.groups()]
        tree = context.tree(fault.span.unit)
        known = spans(fault.facts.get("spans"))
        returns = [tree.span(n) for n in tree.nodes if isinstance(n, ast.Return)]
        node = tree.node_at(fault.span)
        here = tree.enclosing(node, ast.Return) if node is not None else None
        place = tree.span(here) if here is not None else (known[-1] if known else (returns or [fault.span])[-1])
        related = tuple(("the other `return`", s) for s in (known or tuple(returns)) if s < place)[:1]
        if len(types) >= 2:
            message = (
                f"This `return` gives {types[-1]} where another gives {types[0]}; a jit function has one result type."
            )
        else:
            message = "This `return` gives another type than the other one; a jit function has one result type."
        return Match(place, message.replace("void", "nothing"), related)
