from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import arguments, callee, is_constant
from kernel_ls.analysis.rules.syntax import dotted
from kernel_ls.model import Edit, Fault, Fix, Location, Position, Span

_REFERENCED = re.compile(r"Unsupported function referenced: <(?:function|bound method) ([\w.<>]+)")
_FORGOT = re.compile(r"Did you forget to add @triton\.(?:gluon\.)?jit")


class NotJitFunction(Rule):
    """A kernel calls a function of the user's that is not a jit function.

    What it finds:
        A call of an ordinary Python function from a kernel or from a helper.

    Why it is a fault:
        Triton compiles only functions that are decorated with `@triton.jit`. A function that computes constants from
        constants can be a `@triton.constexpr_function`, which is run while the kernel is compiled.

    Example:
        def round_up(n):
            return 1 << (n - 1).bit_length()

        @triton.jit
        def kernel(x_ptr, W: tl.constexpr):
            FULL: tl.constexpr = round_up(W)

    Instead:
        @triton.constexpr_function
        def round_up(n):
            return 1 << (n - 1).bit_length()

    Triton versions:
        All. Triton says `Unsupported function referenced` before it compiles anything, with no line.
        `triton.constexpr_function` exists since 3.4.

    Fix and its safety:
        Adds the decorator to the function: `@triton.jit`, or `@triton.constexpr_function` where every argument of this
        call is a constant. Host code can no longer call a function that becomes a jit function.
    """

    code = "not-jit-function"
    summary = "a kernel calls a function that is not a jit function"
    priority = 31

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        found = _REFERENCED.search(fault.text)
        host = callee(fault) in context.program.units and (context.program.units[callee(fault)].get("role") == "host")
        read = fault.facts.get("event") == "global" and bool(callee(fault))
        if (
            found is None
            and not read
            and not (host and (fault.exception in _HOST_EXCEPTIONS or _FORGOT.search(fault.text)))
        ):
            return None
        tree = context.tree(fault.span.unit)
        name = callee(fault).split(":")[-1] or (found.group(1).split(".")[-1] if found else "the function")
        call = tree.call_at(fault.span)
        if call is None or dotted(call.func).split(".")[-1] != name.split(".")[-1]:
            last = name.split(".")[-1]
            place = tree.find(lambda n: isinstance(n, ast.Call) and dotted(n.func).split(".")[-1] == last) or tree.find(
                lambda n: isinstance(n, ast.Name) and n.id == last
            )
        else:
            place = call
        constants = _all_constant(fault)
        remedy = "`@triton.constexpr_function`" if constants else "`@triton.jit`"
        span = tree.span(place) if place is not None else fault.span
        also: tuple[tuple[str, Location], ...] = ()
        definition = _definition(fault, context)
        if definition is not None:
            also = ((f"`{name}` is defined here", definition),)
        return Match(
            span,
            f"`{name}` is an ordinary Python function; decorate it with {remedy} to call it in a kernel.",
            also=also,
        )

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        definition = _definition(fault, context)
        if definition is None:
            return
        line = definition.span.start.line
        origin = context.program.origins[callee(fault)]
        indent = " " * (origin.indents[0] if origin.indents else 0)
        place = Location(definition.path, Span(Position(line, 0), Position(line, 0)))
        names = ["triton.constexpr_function", "triton.jit"] if _all_constant(fault) else ["triton.jit"]
        for name in names:
            yield Fix(f"Decorate with @{name}", (Edit(place, f"{indent}@{name}\n"),))


_HOST_EXCEPTIONS = ("HostFunction", "NotJitFunction", "OpaqueUse", "RuntimeError")


def _all_constant(fault: Fault) -> bool:
    given = arguments(fault)
    return bool(given) and all(a.value is not None or is_constant(a.type) for a in given)


def _definition(fault: Fault, context: RuleContext) -> Location | None:
    unit = callee(fault)
    origin = context.program.origins.get(unit)
    tree = context.tree(unit)
    if origin is None or tree.function is None:
        return None
    span = tree.span(tree.function)
    first = tree.lines[span.line - 1]
    return context.location(type(span)(unit, span.line, span.column, span.line, len(first)))
