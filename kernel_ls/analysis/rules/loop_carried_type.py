from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.constexpr_reassigned import declared_constexpr
from kernel_ls.analysis.rules.edits import parenthesised
from kernel_ls.analysis.rules.facts import (
    block,
    event,
    is_float,
    is_integer,
    is_pointer,
    notation,
    scalar,
    spans,
    to_span,
)
from kernel_ls.analysis.rules.syntax import UnitTree, bound_names, is_constexpr_annotation
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_CHANGED = re.compile(
    r"Loop-carried variable (\S+) has initial type (.+?) but is re-assigned to (.+?) in loop!", re.DOTALL
)
_KIND = re.compile(r"Loop carried variable (\S+) changed type, was (.+?) but is now (.+)", re.DOTALL)
_NOT_VALUE = re.compile(r"Loop carried variable (\S+) is not a triton value")
_CONSTEXPR = re.compile(r"cannot reassign constexpr (\S+) in the loop")

DTYPE_NAMES = {
    "f16": "tl.float16",
    "bf16": "tl.bfloat16",
    "f32": "tl.float32",
    "f64": "tl.float64",
    "f8e5": "tl.float8e5",
    "f8e4nv": "tl.float8e4nv",
    "f8e4b15": "tl.float8e4b15",
    "f8e5b16": "tl.float8e5b16",
    "f8e4b8": "tl.float8e4b8",
    "i1": "tl.int1",
    "i8": "tl.int8",
    "i16": "tl.int16",
    "i32": "tl.int32",
    "i64": "tl.int64",
    "u8": "tl.uint8",
    "u16": "tl.uint16",
    "u32": "tl.uint32",
    "u64": "tl.uint64",
}


class LoopCarriedType(Rule):
    """A loop gives a variable another type than it had before the loop.

    What it finds:
        A name that is bound before a run-time `for` or `while` and assigned inside it to a value of another data type,
        shape or kind. The finding stands at the assignment in the loop; where the name started is related.

    Why it is a fault:
        A run-time loop becomes one loop in the compiled code, whose carried values have one type each. Python's
        habit of letting `acc = 0` become a float on the first `+=` does not exist there. An integer argument that
        equals 1 is a constant to Triton, so a kernel can compile for every stride but 1.

    Example:
        acc = 0
        for k in range(n):
            acc += tl.load(x_ptr + k)      # x_ptr points to fp32: acc becomes f32

    Instead:
        acc = 0.0
        for k in range(n):
            acc += tl.load(x_ptr + k)

    Triton versions:
        All. The text of Triton's own message differs between versions and it points at the loop, not at the
        assignment.

    Fix and its safety:
        Starts the variable with the loop's type (`0` becomes `0.0`, a `dtype=` becomes the wider one), or converts
        back in the loop with `.to(...)`. The first keeps precision; the second keeps the variable's type and loses
        what that type cannot hold. An integer argument that the loop changes gets its type as an annotation, with
        which Triton does not make it a constant where it is 1.
    """

    code = "loop-carried-type"
    summary = "a loop changes the type of a variable"
    priority = 12

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if event(fault) != "loop-carried" and not _message(fault.text):
            return None
        name, initial, final = described(fault)
        tree = context.tree(fault.span.unit)
        place = _assignment(fault, name, tree)
        starts = to_span(fault.facts.get("initial_span"))
        related: list[tuple[str, UnitSpan]] = []
        if starts is not None:
            related.append((f"`{name}` is {initial} before the loop" if initial else "bound before the loop", starts))
        else:
            parameter = tree.parameter(name)
            if parameter is not None:
                related.append((f"`{name}` is a parameter", tree.span(parameter)))
        message = _sentence(fault, name, initial, final, tree)
        return Match(place, message, tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        name, initial, final = described(fault)
        tree = context.tree(fault.span.unit)
        start = to_span(fault.facts.get("initial_span"))
        statement = tree.statement(tree.node_at(start) or tree.module) if start is not None else None
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        yield _annotated(name, fault, tree, context)
        if value is not None and initial and final:
            yield start_with(value, tree, name, initial, final, context)
        loop_statement = tree.statement(tree.node_at(match.span) or tree.module)
        yield _convert_in_loop(loop_statement, tree, name, initial, final, context)


def _message(text: str) -> re.Match[str] | None:
    for pattern in (_CHANGED, _KIND, _NOT_VALUE, _CONSTEXPR):
        found = pattern.search(text)
        if found is not None:
            return found
    return None


def described(fault: Fault) -> tuple[str, str, str]:
    """The variable's name, its type before the loop and the type that the loop gives it."""
    found = _message(fault.text)
    name = str(fault.facts.get("name") or (found.group(1) if found else "the variable"))
    initial, final = str(fault.facts.get("initial") or ""), str(fault.facts.get("final") or "")
    if not initial and not final and found is not None and found.re in (_CHANGED, _KIND):
        initial, final = notation(found.group(2)), notation(found.group(3))
    return name, initial, final


def _assignment(fault: Fault, name: str, tree: UnitTree) -> UnitSpan:
    """The assignment to point at: the last one in the loop, found in the text where the facts lack it."""
    known = spans(fault.facts.get("assign_spans"))
    if known:
        return known[0]
    node = tree.node_at(fault.span)
    loop = tree.enclosing(node, (ast.For, ast.While)) if node is not None else None
    if loop is not None:
        inside = [s for s in tree.assignments(name, loop) if s is not loop]
        if inside:
            return tree.span(inside[-1])
    return fault.span


def _sentence(fault: Fault, name: str, initial: str, final: str, tree: UnitTree) -> str:
    constant = bool(fault.facts.get("constexpr")) or initial.startswith("constexpr")
    value = fault.facts.get("initial_value")
    if constant:
        parameter = tree.parameter(name)
        if parameter is not None and not declared_constexpr(name, tree):
            shown = value if value is not None else "1"
            return (
                f"`{name}` is assigned in the loop, but where the argument is {shown} Triton makes it a constant, which a "
                f"loop cannot change. Mark it with `do_not_specialize` or copy it into another variable first."
            )
        if value in ("None", None) and "None" in (initial, str(value)):
            return f"`{name}` is None before the loop and {final or 'a value'} in it; a loop cannot change a variable's type."
        shown = f"the constant {value}" if value is not None else "a constant"
        return f"`{name}` is {shown} before the loop and is assigned in it; a loop cannot change a constant."
    if initial == "None":
        return f"`{name}` is None before the loop and becomes {final} in it; give it a value of that type first."
    if not initial or not final:
        return f"`{name}` changes its type in the loop; a loop's variables keep one type."
    first, then = block(initial), block(final)
    message = f"`{name}` is {initial} before the loop and becomes {final} here; a loop's variable keeps one type."
    if first is not None and then is not None and first.shape != then.shape:
        return message + " The shapes differ."
    if value is not None and is_integer(initial) and is_float(final):
        return message + f" Start it with `{value}.0`."
    return message


def _annotated(name: str, fault: Fault, tree: UnitTree, context: RuleContext) -> Fix | None:
    """Write down the type of an integer argument that Triton makes a constant where it is 1: then it stays a value."""
    parameter, final = tree.parameter(name), str(fault.facts.get("final") or "")
    constant = bool(fault.facts.get("constexpr")) or str(fault.facts.get("initial") or "").startswith("constexpr")
    if not constant or parameter is None or parameter.annotation is not None or not context.is_kernel(tree.unit):
        return None
    dtype = DTYPE_NAMES.get(final if is_integer(final) and block(final) is None else "i32", "tl.int32")
    return context.fix(f"Annotate `{name}` with {dtype}", (tree.span(parameter), f"{name}: {dtype}"))


def start_with(
    value: ast.expr, tree: UnitTree, name: str, initial: str, final: str, context: RuleContext
) -> Fix | None:
    """Give the variable the loop's type from the start."""
    if is_pointer(initial) or is_pointer(final):
        return None
    span = tree.span(value)
    text = tree.source_of(value)
    if isinstance(value, ast.Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
        if block(final) is None:
            if is_float(final) and scalar(final) == "f32":
                return context.fix(f"Start `{name}` with {text}.0", (span, f"{text}.0"))
            if scalar(final) in DTYPE_NAMES:
                dtype = DTYPE_NAMES[scalar(final)]
                return context.fix(f"Start `{name}` as {dtype}", (span, f"tl.full((), {text}, {dtype})"))
    sizes = block(final)
    if sizes is None or scalar(final) not in DTYPE_NAMES:
        return None
    dtype = DTYPE_NAMES[scalar(final)]
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        shape = shape_of(sizes.shape, tree, context)
        return context.fix(f"Start `{name}` as a block of {dtype}", (span, f"tl.full({shape}, {text}, {dtype})"))
    first = block(initial)
    if first is None or first.shape != sizes.shape or scalar(initial) not in DTYPE_NAMES:
        return None
    old = DTYPE_NAMES[scalar(initial)].removeprefix("tl.")
    for node in walk(value):
        if isinstance(node, ast.Attribute) and node.attr == old:
            module = tree.source_of(node.value)
            return context.fix(f"Start `{name}` as {dtype}", (tree.span(node), f"{module}.{dtype.removeprefix('tl.')}"))
    return context.fix(
        f"Convert `{name}` to {dtype} before the loop", (span, f"{parenthesised(value, text)}.to({dtype})")
    )


def shape_of(sizes: Iterable[int], tree: UnitTree, context: RuleContext) -> str:
    """A shape as its author would write it, sizes by the names of constants where these are the only ones of their value."""
    named = [_named_size(n, tree, context) for n in sizes]
    return "(" + ", ".join(named) + ("," if len(named) == 1 else "") + ")"


def _named_size(size: int, tree: UnitTree, context: RuleContext) -> str:
    """A size by the name of the only constexpr parameter of the kernel that has this value, else as a number."""
    if context.is_kernel(tree.unit):
        named = [
            a.name
            for a in context.specialization.arguments
            if a.type == "constexpr" and isinstance(a.value, Mapping) and a.value.get("v") == size
        ]
        if len(named) == 1 and is_constexpr_annotation(getattr(tree.parameter(named[0]), "annotation", None)):
            return named[0]
    return str(size)


def _convert_in_loop(
    statement: ast.stmt | None, tree: UnitTree, name: str, initial: str, final: str, context: RuleContext
) -> Fix | None:
    """Convert back to the type that the variable had before the loop."""
    if statement is None or name not in bound_names(statement) or scalar(initial) not in DTYPE_NAMES:
        return None
    first, then = block(initial), block(final)
    if (first.shape if first else ()) != (then.shape if then else ()) or scalar(final) not in DTYPE_NAMES:
        return None
    dtype = DTYPE_NAMES[scalar(initial)]
    title = f"Convert to {dtype} in the loop"
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        text = tree.source_of(statement.value)
        symbol = tree.text(tree.span(statement))[: -len(text) or None]
        if isinstance(statement.op, (ast.Add, ast.Sub)) and "=" in symbol and is_float(final) == is_float(initial):
            converted = f"{parenthesised(statement.value, text)}.to({dtype})"
            return context.fix(title, (tree.span(statement.value), converted))
        operator = symbol.split("=")[0].replace(name, "", 1).strip()
        value = parenthesised(statement.value, text)
        return context.fix(title, (tree.span(statement), f"{name} = ({name} {operator} {value}).to({dtype})"))
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        text = tree.source_of(statement.value)
        return context.fix(title, (tree.span(statement.value), f"{parenthesised(statement.value, text)}.to({dtype})"))
    return None
