from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import Operand, arguments, callee_name, is_integer, is_pointer
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.analysis.rules.unread import unread_parameters, unread_variables
from kernel_ls.model import Fault, Fix, Location, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(
    r"Unsupported ptr type (.+) in `tl\.|Pointer argument of store instruction is|Expected `base` to be a pointer type|"
    r"base must be a pointer type|ptr must be a scalar pointer|expected ptr to be a tensor|Expected base to be a pointer|"
    r"isinstance\(base\.d?type, (?:tl|ttgl)\.pointer_type\)",
)
_INSIDE = re.compile(
    r"'(?:dtype|block_type|constexpr_type|constexpr|int|NoneType)' object has no attribute '(?:element_ty|is_ptr|type|handle|dtype)'"
)
_MEMORY = re.compile(r"^(?:load|store|atomic_\w+|make_block_ptr|make_tensor_descriptor|advance|buffer_\w+)$")


class PointerExpected(Rule):
    """A memory operation is given something that is no pointer.

    What it finds:
        `tl.load`, `tl.store`, an atomic, `tl.make_block_ptr` or `tl.make_tensor_descriptor` on an integer, a float, a
        loaded value, a constant or None.

    Why it is a fault:
        These take a pointer or a block of pointers: a tensor argument, or one plus offsets.

    Example:
        x = tl.load(offs)

    Instead:
        x = tl.load(x_ptr + offs)

    Triton versions:
        All.

    Fix and its safety:
        Adds an offset to the only pointer parameter that nothing reads, or takes that with a variable that nothing reads
        either, or such a variable alone, where only one of these fits. Else which pointer is meant is the author's to say.
    """

    code = "pointer-expected"
    summary = "a memory operation on something that is no pointer"
    priority = 30

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        name = callee_name(fault)
        inside = _INSIDE.search(fault.text) is not None and _MEMORY.match(name) is not None
        bare = fault.exception == "AssertionError" and not fault.text.strip() and name == "make_tensor_descriptor"
        pointer = _pointer(fault)
        if not _TEXT.search(fault.text):
            if (
                not (inside or bare)
                or pointer is None
                or is_pointer(pointer.type)
                or pointer.type.startswith("tensordesc")
            ):
                return None
        tree = context.tree(fault.span.unit)
        call = tree.call_at(fault.span)
        place = fault.span
        if call is not None:
            first = tree.argument_node(call, "pointer", 0) or tree.argument_node(call, "base", 0)
            if first is None and isinstance(call.func, ast.Attribute):
                first = call.func.value
            place = tree.span(first) if first is not None else fault.span
        text = shorten(tree.text(place))
        kind = pointer.type if pointer is not None and pointer.type else ""
        is_what = "None" if pointer is not None and "None" in (pointer.type, pointer.value) else kind or "no pointer"
        operation = f"`tl.{name}`" if name else "a memory operation"
        message = f"`{text}` is {is_what}; {operation} needs a pointer or a block of pointers."
        related: list[tuple[str, UnitSpan]] = []
        if pointer is not None and pointer.origin is not None:
            related.append((f"`{shorten(pointer.source)}` comes from here", pointer.origin))
        return Match(place, message, tuple(related), also=_evidence(place, tree, context))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree, given = context.tree(match.span.unit), _pointer(fault)
        if given is None or given.span != match.span or not is_integer(given.type):
            return
        for name in unread_parameters(tree):
            title = f"Add it to `{name}`, which nothing reads"
            yield context.fix(title, (match.span, f"{name} + {tree.text(match.span)}"), choice="pointer")
            for offsets in unread_variables(tree):
                title = f"Take `{name} + {offsets}`, which nothing reads"
                yield context.fix(title, (match.span, f"{name} + {offsets}"), choice="pointer")
        for name in unread_variables(tree):
            title = f"Take `{name}`, which nothing reads"
            yield context.fix(title, (match.span, name), choice="pointer")


def _pointer(fault: Fault) -> Operand | None:
    given = arguments(fault)
    for o in given:
        if o.role in ("pointer", "ptr", "base", "arg0"):
            return o
    # A method's own object, unless that is the module `tl` of `tl.load`.
    return next((o for o in given if not o.type.startswith("module ")), None)


def _evidence(place: UnitSpan, tree: UnitTree, context: RuleContext) -> tuple[tuple[str, Location], ...]:
    """Where it was learnt what the arguments in the expression are."""
    if not context.is_kernel(place.unit):
        return ()
    node = tree.node_at(place)
    names = {n.id for n in walk(node) if isinstance(n, ast.Name)} if node is not None else set()
    return tuple(
        (f"`{a.name}` is {a.type} ({a.evidence.kind.value})", a.evidence.location)
        for a in context.specialization.arguments
        if a.name in names and a.evidence.location is not None
    )
