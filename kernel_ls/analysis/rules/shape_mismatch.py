from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import Operand, arguments, block, brief, callee_name, shape_text
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, UnitSpan

_TEXT = re.compile(
    r"incompatible dimensions|rank mismatch|the expanded size of the tensor|cannot change total number|"
    r"total elements mismatch|must have the same shape|must have the same rank|must have equal (?:ranks|batch shapes)|"
    r"cannot be block type if pointer argument is not a block|Block shape\(.*\) and value shape\(.*\) mismatch|"
    r"expected (?:value|accumulator) shape|Expected pointer argument to have shape|tensors? of equal rank|"
    r"source shape .* (?:and destination shape|does not match)|must match the corresponding source dim|"
    r"does not match the length of values|requires tensors of the same shape|shape(?:s)? .*must match|"
    r"match (?:pointer|memdesc|output) (?:shape|rank)|Expected `offsets` argument to have shape|"
    r"rank must match|Incompatible scale shape|must be the same shape|exceeds source shape|"
    r"[Ee]xpected last dimension to be 2|Expected scale shape|to match pointer shape|"
    r"must have the same length as input shape|requires a non-scalar tensor"
)
_UNPACK = re.compile(r"Cannot splat a block tensor")


class ShapeMismatch(Rule):
    """Blocks whose shapes do not go together.

    What it finds:
        An operation on two blocks whose shapes neither agree nor broadcast, a block stored through a scalar pointer,
        a mask or value that does not fit the pointers, and a reshape to another number of elements.

    Why it is a fault:
        Two blocks go together where, counted from the right, their sizes are equal or one of them is 1. Unlike NumPy
        and PyTorch, Triton adds missing dimensions on the left only.

    Example:
        x = tl.load(x_ptr + tl.arange(0, 64))
        y = tl.load(y_ptr + tl.arange(0, 32))
        z = x * y

    Instead:
        z = x[:, None] * y[None, :]

    Triton versions:
        All.

    Fix and its safety:
        `[:, None]` behind a block of one dimension, where its size is the other's number of rows and not that of its
        columns. Two ranges of different ends both get the end that is a name rather than a number, or the only one that
        fits. Else which of the shapes is meant is the author's to say.
    """

    code = "shape-mismatch"
    summary = "blocks whose shapes do not go together"
    priority = 45

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if not (_TEXT.search(fault.text) or (_UNPACK.search(fault.text))):
            return None
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        given = [o for o in arguments(fault) if block(o.type) is not None]
        related = [
            (f"`{shorten(o.source)}` is {o.type}", place) for o in given if (place := o.origin or o.span) is not None
        ]
        text = fault.text
        if "cannot be block type if pointer argument is not a block" in text:
            return _scalar_pointer(fault, context)
        if "cannot change total number" in text or "total elements mismatch" in text:
            return Match(fault.span, "The new shape has another number of elements than the block.", tuple(related))
        if "rank mismatch" in text and len(given) < 2:
            sizes = " and ".join(shape_text(tuple(int(n) for n in re.findall(r"\d+", s))) for s in _shapes(text))
            return Match(
                fault.span,
                f"The shapes {sizes} have different numbers of dimensions." if sizes else _plain(text),
                tuple(related),
            )
        name = callee_name(fault)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp)) or len(given) == 2:
            pair = given[:2]
            if len(pair) == 2:
                message = f"{_named(pair[0])} and {_named(pair[1])} do not go together: {_reason(pair[0], pair[1])}."
                return Match(fault.span, message, tuple(related))
        if len(given) > 2 and name in ("load", "store", "atomic_add", "where"):
            message = f"The arguments of `{name}` have shapes that do not go together: " + ", ".join(
                f"`{shorten(o.source, 24)}` is {o.type}" for o in given
            )
            return Match(fault.span, message + ".", tuple(related))
        return Match(fault.span, _plain(text), tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        if not isinstance(tree.node_at(fault.span), (ast.BinOp, ast.Compare, ast.AugAssign)):
            return
        given = [o for o in arguments(fault) if block(o.type) is not None]
        if len(given) == 2:
            yield from _one_end(_range_of(given[0], tree), _range_of(given[1], tree), tree, context)
        for flat, wide in ((a, b) for a in given for b in given if a is not b):
            one, two = block(flat.type), block(wide.type)
            if one is None or two is None or flat.span is None or (len(one.shape), len(two.shape)) != (1, 2):
                continue
            node = tree.node_at(flat.span)
            if one.shape[0] == two.shape[0] != two.shape[1] and isinstance(node, ast.expr):
                text = f"{parenthesised(node, tree.text(flat.span))}[:, None]"
                yield context.fix(f"Use `{shorten(text)}`", (flat.span, text))


def _range_of(o: Operand, tree: UnitTree) -> ast.Call | None:
    """The `tl.arange` that an operand is, or that the variable was bound to which it is."""
    place = o.span if o.origin is None else o.origin
    node = tree.node_at(place) if place is not None and place.unit == tree.unit else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        node = node.value
    ranges = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "arange"
    return node if ranges and isinstance(node, ast.Call) and len(node.args) == 2 else None


def _one_end(
    first: ast.Call | None, second: ast.Call | None, tree: UnitTree, context: RuleContext
) -> Iterable[Fix | None]:
    """Of two ranges that start alike, the end of one for both: a name's rather than a number's, else the one that fits."""
    if first is None or second is None or ast.dump(first.args[0]) != ast.dump(second.args[0]):
        return
    ends = first.args[1], second.args[1]
    for changed, kept in (ends, ends[::-1]):
        if isinstance(changed, ast.Constant) or not isinstance(kept, ast.Constant):
            text = tree.source_of(kept)
            yield context.fix(f"End both ranges at `{text}`", (tree.span(changed), text), choice="end")


def _scalar_pointer(fault: Fault, context: RuleContext) -> Match:
    tree = context.tree(fault.span.unit)
    call = tree.call_at(fault.span)
    what = "mask" if "Mask" in fault.text else "value" if "Value" in fault.text else "other"
    role = {"mask": ("mask", 2 if callee_name(fault) == "store" else 1), "value": ("value", 1), "other": ("other", 2)}[
        what
    ]
    pointer = arguments(fault)[0] if arguments(fault) else None
    value = next((o for o in arguments(fault) if o.role in (role[0], f"arg{role[1]}")), None)
    place = fault.span
    if call is not None:
        node = tree.argument_node(call, role[0], role[1])
        place = tree.span(node) if node is not None else fault.span
    shown = f" ({value.type})" if value is not None and value.type else ""
    to = f"`{shorten(pointer.source)}` ({pointer.type})" if pointer is not None else "the pointer"
    message = f"The {what}{shown} is a block but {to} is a single pointer; add the offsets to it."
    related: list[tuple[str, UnitSpan]] = []
    if pointer is not None and pointer.span is not None:
        related.append(("the pointer", pointer.span))
    if value is not None and value.origin is not None:
        related.append((f"`{shorten(value.source)}` comes from here", value.origin))
    return Match(place, message, tuple(related))


def _named(o: Operand) -> str:
    return f"`{shorten(o.source)}` ({brief(o.type)})" if o.source else brief(o.type)


def _reason(first: Operand, second: Operand) -> str:
    a, b = block(first.type), block(second.type)
    if a is None or b is None:
        return "their shapes differ"
    if len(a.shape) != len(b.shape):
        longer = max(len(a.shape), len(b.shape))
        padded = [(1,) * (longer - len(s)) + s for s in (a.shape, b.shape)]
    else:
        padded = [a.shape, b.shape]
    for index, (m, n) in enumerate(zip(padded[0], padded[1], strict=True)):
        if m != n and 1 not in (m, n):
            return f"dimension {index} is {m} and {n}"
    return f"{shape_text(a.shape)} and {shape_text(b.shape)}"


def _shapes(text: str) -> list[str]:
    return re.findall(r"[\[(]['\d, constexpr\[\]]*\d['\d, constexpr\[\]]*[\])]", text)[-2:]


def _plain(text: str) -> str:
    text = re.sub(r"'?constexpr\[(\d+)\]'?", r"\1", brief(text.strip().rstrip(".")))
    return f"Shapes do not go together: {text[:1].lower() + text[1:]}." if text else "Shapes do not go together."
