from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import Operand, arguments, block, callee_name, is_float, is_integer, scalar
from kernel_ls.analysis.rules.loop_carried_type import DTYPE_NAMES, start_with
from kernel_ls.analysis.rules.syntax import UnitTree, contains_name, shorten
from kernel_ls.model import Fault, Fix, UnitSpan

_TEXT = re.compile(
    r"Input shapes should have M|are not compatible for matmul|Both inputs must be either 2D or 3D|"
    r"Both operands must be same dtype|Unsupported (?:lhs|rhs) dtype|lhs and rhs bitwidth|only int8 supported|"
    r"out_dtype=bfloat16 is unsupported|input_precision must be one of|Only one of input_precision|"
    r"max_num_imprecise_acc|dot(?:_scaled)? operands must be block|input and other must have equal|"
    r"accumulator (?:shape|dtype)|output shape is unexpected|Only float32 is supported for out_dtype|"
    r"NYI: [lr]hs_format|Unsupported [lr]hs_format|e2m1 format must be packed|Invalid float format|only mxfp4 inputs|"
    r"Reduction dimension should pack|Unexpected dtype for e\dm\d|[lr]hs_scale must be a tensor of shape|"
    r"Internal Error: Unexpected float format"
)
_MINIMUM = re.compile(r"M >= (\d+), N >= (\d+) and K >= (\d+)")
_DOTS = ("dot", "dot_scaled", "dot_fma", "mma_v2", "warpgroup_mma", "mfma", "wmma")


class DotOperands(Rule):
    """`tl.dot` is given blocks that it cannot multiply.

    What it finds:
        Blocks of another rank than two or three, inner dimensions that differ, sizes below the target's smallest
        matrix instruction, operands of two data types, and an accumulator whose shape or data type is not the
        result's.

    Why it is a fault:
        `tl.dot` becomes matrix instructions of fixed sizes and types. On NVIDIA every dimension is at least 16 (K at
        least 32 for 8-bit operands); pad smaller ones, or multiply and `tl.sum`. The result is f32 for floating point
        operands unless `out_dtype` says otherwise.

    Example:
        acc = tl.zeros((16, 16), tl.float16)
        acc = tl.dot(a, b, acc)

    Instead:
        acc = tl.zeros((16, 16), tl.float32)
        acc = tl.dot(a, b, acc)

    Triton versions:
        All. The smallest sizes depend on version and target; 3.5 gives a wrong accumulator an empty message.

    Fix and its safety:
        Converts one of two operands whose data types differ: an integer to the other's floating point type, else the
        second to the first's. An operand that is converted where it stands is converted to that type instead. An accumulator that is made of zeros starts with the product's type. Whether to pad or to
        transpose is the author's to say.
    """

    code = "dot-operands"
    summary = "blocks that `tl.dot` cannot multiply"
    priority = 26

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        name = callee_name(fault)
        bare = name in _DOTS and fault.exception == "AssertionError" and not fault.text.strip()
        if not _TEXT.search(fault.text) and not bare:
            return None
        if not _is_dot(name, fault, context):
            return None
        tree = context.tree(fault.span.unit)
        given = arguments(fault)
        left, right, acc = (
            _role(given, 0, "input", "a", "lhs"),
            _role(given, 1, "other", "b", "rhs"),
            _accumulator(given),
        )
        related = tuple(
            (f"`{shorten(o.source)}` is {o.type}", o.origin) for o in (left, right, acc) if o and o.origin is not None
        )
        place = _place(fault, tree)
        return Match(place, _message(fault, left, right, acc, bare), related)

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree, given = context.tree(fault.span.unit), arguments(fault)
        left, right = _role(given, 0, "input", "a", "lhs"), _role(given, 1, "other", "b", "rhs")
        acc = _accumulator(given)
        if left is None or right is None:
            return
        kinds = scalar(left.type), scalar(right.type)
        if kinds[0] != kinds[1] and all(kind in DTYPE_NAMES for kind in kinds):
            changed, kind = (left, kinds[1]) if is_integer(kinds[0]) and is_float(kinds[1]) else (right, kinds[0])
            node = tree.node_at(changed.span) if changed.span is not None else None
            if changed.span is not None and isinstance(node, ast.expr):
                dtype, already = DTYPE_NAMES[kind], _conversion(node)
                if already is not None:
                    yield context.fix(f"Convert to {dtype}", (tree.span(already), dtype))
                text = parenthesised(node, tree.text(changed.span))
                yield context.fix(
                    f"Convert `{shorten(changed.source)}` to {dtype}", (changed.span, f"{text}.to({dtype})")
                )
        held = block(acc.type) if acc is not None else None
        if acc is None or held is None or acc.origin is None or acc.origin.unit != tree.unit:
            return
        for first in (s for s in tree.assignments(acc.source) if isinstance(s, (ast.Assign, ast.AnnAssign))):
            if first.value is not None and contains_name(first.value, acc.source):
                continue
            wanted = "i32" if kinds[0] == "i8" else "f32"
            final = acc.type.replace(held.element, wanted)
            if first.value is not None and held.element != wanted:
                yield start_with(first.value, tree, acc.source, acc.type, final, context)


def _conversion(node: ast.expr) -> ast.expr | None:
    """The data type that an operand is converted to where it stands, as `x.to(tl.int8)` is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Attribute):
            return node.args[0]
    return None


def _is_dot(name: str, fault: Fault, context: RuleContext) -> bool:
    if name:
        return any(part in name for part in ("dot", "mma", "mfma"))
    text = context.text(fault.span)
    return "dot" in text or "mma" in text or "mfma" in text or not text


def _role(given: tuple[Operand, ...], position: int, *roles: str) -> Operand | None:
    for o in given:
        if o.role in roles or o.role == f"arg{position}":
            return o
    return given[position] if position < len(given) else None


def _accumulator(given: tuple[Operand, ...]) -> Operand | None:
    return next((o for o in given if o.role in ("acc", "arg2")), None)


def _place(fault: Fault, tree: UnitTree) -> UnitSpan:
    call = tree.call_at(fault.span)
    return tree.span(call) if call is not None else fault.span


def _message(fault: Fault, left: Operand | None, right: Operand | None, acc: Operand | None, bare: bool) -> str:
    text = fault.text
    a, b = (left.type if left else ""), (right.type if right else "")
    both = f"{a} and {b}" if a and b else "its operands"
    least = _MINIMUM.search(text)
    if least is not None:
        return (
            f"`tl.dot` of {both} is smaller than the target's matrix instruction: M >= {least.group(1)}, "
            f"N >= {least.group(2)} and K >= {least.group(3)} are needed."
        )
    if "not compatible for matmul" in text or "equal reduction dimensions" in text:
        first, second = block(a), block(b)
        if first is not None and second is not None:
            return (
                f"`tl.dot` cannot multiply {a} by {b}: the first has {first.shape[-1]} columns, "
                f"the second {second.shape[-2] if len(second.shape) > 1 else 1} rows."
            )
    if "either 2D or 3D" in text or "equal ranks" in text or "must be block" in text:
        return f"`tl.dot` takes two blocks of two (or three) dimensions, not {both}."
    if "same dtype" in text or "bitwidth" in text:
        return f"`tl.dot` needs operands of one data type, not {scalar(a) or 'one'} and {scalar(b) or 'another'}; convert one with `.to(...)`."
    if bare or "accumulator" in text or "output shape" in text:
        if left is None or right is None or acc is None or not acc.type:
            if acc is None and not ("accumulator" in text or "output shape" in text):
                return f"`tl.dot` takes two blocks, not {both}."
            return "The accumulator's shape or data type is not the result's; pass `out_dtype=` or convert the accumulator."
        first, second, third = block(a), block(b), block(acc.type)
        if first is not None and second is not None and len(first.shape) > 1 and len(second.shape) > 1:
            shape = (*first.shape[:-1], second.shape[-1])
            if third is None or third.shape != shape:
                return f"The accumulator `{shorten(acc.source)}` is {acc.type}, but the product has shape {shape}."
        return (
            f"The accumulator `{shorten(acc.source)}` is {acc.type}, but this dot gives another data type (f32 unless "
            f"`out_dtype` says otherwise)."
        )
    return (
        f"`tl.dot` cannot take these: {text.strip().rstrip('.')}."
        if text.strip()
        else f"`tl.dot` cannot multiply {both}."
    )
