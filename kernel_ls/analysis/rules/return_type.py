from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import block, described_type, notation, scalar, spans
from kernel_ls.analysis.rules.loop_carried_type import DTYPE_NAMES
from kernel_ls.model import Fault, Fix

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
        Writes an integer constant as a float where the other value is one, or converts the later value to the first
        one's data type.
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
            here_text, other = described_type(types[-1]), described_type(types[0])
            message = (
                f"This `return` gives {here_text} where another gives {other}; a jit function has one result type."
            )
        else:
            message = "This `return` gives another type than the other one; a jit function has one result type."
        return Match(place, message.replace("void", "nothing"), related)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        places, types = spans(fault.facts.get("spans")), [str(t) for t in fault.facts.get("types") or ()]
        here = tree.node_at(match.span)
        if len(places) != len(types) or len(types) < 2 or not isinstance(here, ast.Return) or here.value is None:
            return
        first = tree.node_at(places[0])
        kinds = _kind(types[0]), _kind(types[-1])
        pairs = ((here.value, kinds[0]), (first.value if isinstance(first, ast.Return) else None, kinds[1]))
        for value, other in pairs:
            if isinstance(value, ast.Constant) and type(value.value) is int and other == "f32":
                yield context.fix(f"Write {value.value}.0", (tree.span(value), f"{value.value}.0"))
        one, two = block(kinds[0]), block(kinds[1])
        same = (one.shape if one else ()) == (two.shape if two else ())
        if same and scalar(kinds[0]) in DTYPE_NAMES and not isinstance(here.value, ast.Constant):
            dtype, text = DTYPE_NAMES[scalar(kinds[0])], tree.source_of(here.value)
            converted = f"{parenthesised(here.value, text)}.to({dtype})"
            yield context.fix(f"Convert to {dtype}", (tree.span(here.value), converted))


def _kind(type_text: str) -> str:
    """The type that a returned value has at run time: a constant becomes a value of its own."""
    found = re.fullmatch(r"constexpr\[(.+)\]", type_text)
    if found is None:
        return type_text
    return "i32" if re.fullmatch(r"-?\d+", found.group(1)) else "f32"
