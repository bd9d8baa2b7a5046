from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import arguments, callee_name
from kernel_ls.analysis.rules.sizes import END, fitting, stepped
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, Location, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXT = re.compile(r"must (?:all )?be (?:a )?(?:positive )?powers? of (?:2|two)", re.IGNORECASE)
_ELEMENT = re.compile(r"Shape element (\d+)")


class PowerOfTwo(Rule):
    """A size that is not a power of two.

    What it finds:
        A range of `tl.arange`, a dimension of a block, or a number of warps that is not a power of two.

    Why it is a fault:
        Triton spreads a block over threads by splitting it in halves, so every dimension of a block is a power of two.
        Data of another length is handled by a mask.

    Example:
        offs = tl.arange(0, 1000)

    Instead:
        offs = tl.arange(0, 1024)
        x = tl.load(x_ptr + offs, mask=offs < 1000)

    Triton versions:
        All.

    Fix and its safety:
        Of a number that is written out: ends a range at the `tl.constexpr` by which its statement steps, or at the only
        one that fits what is made with it, or writes the next power of two. What lies beyond the data then needs a mask.
        Where a launch gives the size, use `triton.next_power_of_2(n)` there.
    """

    code = "power-of-two"
    summary = "a size that is not a power of two"
    priority = 28

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if not _TEXT.search(fault.text):
            return None
        tree = context.tree(fault.span.unit)
        place = fault.span
        call = tree.call_at(fault.span)
        value = _range(fault)
        element = _ELEMENT.search(fault.text)
        if element is not None and call is not None:
            shape = next((a for a in call.args if isinstance(a, (ast.Tuple, ast.List))), None)
            index = int(element.group(1))
            if shape is not None and index < len(shape.elts):
                place = tree.span(shape.elts[index])
                value = _size(fault, shape, index, tree)
        shown = f"{value} is not a power of two" if value else "This size is not a power of two"
        if "num_warps" in fault.text:
            shown = "`num_warps` must be a power of two"
            return Match(place, shown + ".")
        message = f"{shown}; every dimension of a block must be one."
        following = _next_power(value)
        if following:
            message += f" Use {following} and a mask."
        related, also = _where_from(fault, place, tree, context)
        return Match(place, message, related, also=also)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(fault.span.unit)
        call, node = tree.call_at(fault.span), tree.node_at(match.span)
        ranges = call is not None and callee_name(fault) == "arange"
        written = tree.argument_node(call, "end", 1) if call is not None and ranges else node
        if call is None or not isinstance(written, ast.Constant) or type(written.value) is not int:
            return
        if ranges:
            yield from stepped(call, tree, context)
        following = _next_power(str(written.value))
        if following and (not ranges or _range(fault) == str(written.value)):
            title = f"Use {following}, the next power of two; mask what is beyond {written.value}"
            yield context.fix(title, (tree.span(written), following), choice=END, likely=True)
        if ranges:
            yield from fitting(call, tree, context)


def _size(fault: Fault, shape: ast.Tuple | ast.List, index: int, tree: UnitTree) -> str:
    """One size of a shape that is written out, as far as its value is known."""
    written = shape.elts[index]
    if isinstance(written, ast.Constant):
        return str(written.value)
    known = next((o.value for o in arguments(fault) if o.span == tree.span(shape) and o.value is not None), "")
    sizes = re.findall(r"-?\d+", known)
    return sizes[index] if len(sizes) == len(shape.elts) else ""


def _range(fault: Fault) -> str:
    given = [o for o in arguments(fault) if o.value is not None]
    numbers = [int(o.value) for o in given if o.value is not None and re.fullmatch(r"-?\d+", o.value)]
    if len(numbers) >= 2 and len(given) == len(numbers):
        return str(numbers[1] - numbers[0])
    if numbers:
        return str(numbers[-1])
    # The shape is given as a tuple: of its sizes the first that is not a power of two.
    sizes = [
        int(n)
        for o in given
        if o.value is not None and o.value.startswith(("(", "["))
        for n in re.findall(r"\d+", o.value)
    ]
    return next((str(n) for n in sizes if n & (n - 1) or n == 0), "")


def _next_power(value: str) -> str:
    if not value.isdigit():
        return ""
    return str(1 << max(int(value) - 1, 0).bit_length())


def _where_from(
    fault: Fault, place: UnitSpan, tree: UnitTree, context: RuleContext
) -> tuple[tuple[tuple[str, UnitSpan], ...], tuple[tuple[str, Location], ...]]:
    """The parameter behind the size and, where the kernel's own, the launch or config that gave its value."""
    node = tree.node_at(place)
    names = [n.id for n in walk(node) if isinstance(n, ast.Name)] if node is not None else []
    related: list[tuple[str, UnitSpan]] = []
    also: list[tuple[str, Location]] = []
    for name in dict.fromkeys(names):
        parameter = tree.parameter(name)
        if parameter is None:
            continue
        given = next((a for a in context.specialization.arguments if a.name == name), None)
        if context.is_kernel(place.unit) and given is not None and given.evidence.location is not None:
            also.append((f"`{name}` gets its value here ({given.evidence.kind.value})", given.evidence.location))
        elif not context.is_kernel(place.unit):
            related.append((f"`{name}` is a parameter", tree.span(parameter)))
    for o in arguments(fault):
        if o.origin is not None:
            related.append((f"`{shorten(o.source)}` comes from here", o.origin))
    return tuple(related), tuple(also)
