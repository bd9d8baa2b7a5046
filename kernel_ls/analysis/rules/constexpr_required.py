from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.facts import Operand, arguments, callee_name, is_runtime, operands
from kernel_ls.analysis.rules.sizes import fitting, stepped
from kernel_ls.analysis.rules.syntax import UnitTree, is_constexpr_annotation, shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_TEXTS = re.compile(
    r"must be of type tl\.constexpr|must have type `constexpr`|used as tl\.static_range (?:start|end|step|stop)? ?value is not a constexpr|"
    r"must be a constant int|could not be determined at compile-time|Expected a list of constant integers|"
    r"Tensor descriptor last dim must be 1 but got (?:\S*tensor|<|[a-z]+\d+\[)|must be a constexpr|is not a constexpr|"
    r"values element \d+ must have type|tensor' object cannot be interpreted as an integer|"
    r"must be (?:an int|integers|a string|a constant) but got (?:a )?<class '[\w.]*tensor'>"
)
_SHAPE = re.compile(r"Shape element \d+ must have type `constexpr\[int\]`, got `constexpr\[(.*?)\]?`?$", re.DOTALL)
_FORGOT = re.compile(r"Did you forget to add @triton\.(?:gluon\.)?jit|'tensor' object has no attribute 'value'")


class ConstexprRequired(Rule):
    """A value that must be known while the kernel is compiled exists only when it runs.

    What it finds:
        A run-time value in the bounds of `tl.arange` or `tl.static_range`, in a shape, in a block shape, as the last
        stride of a tensor descriptor, as an axis, or in a `tl.static_assert`.

    Why it is a fault:
        Shapes and unrolled loops shape the compiled code itself. A parameter that is annotated `tl.constexpr` is known
        when the kernel is compiled; an ordinary parameter, a loaded value and `tl.program_id` are not.

    Example:
        @triton.jit
        def iota(dst, length):
            offs = tl.arange(0, length)

    Instead:
        @triton.jit
        def iota(dst, length: tl.constexpr):
            offs = tl.arange(0, length)

    Triton versions:
        All. With a run-time last stride of a tensor descriptor 3.5 suggests adding `@triton.jit`, which does not help.

    Fix and its safety:
        Annotates the parameter with `tl.constexpr`. Every new value then compiles the kernel anew, and a launch must
        pass a plain Python value. A variable that is made of constants gets the annotation where it is assigned. A range
        whose end is computed ends at the `tl.constexpr` by which its statement steps, or at the only one that fits.
    """

    code = "constexpr-required"
    summary = "a run-time value where a constant is needed"
    priority = 30

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        element = _tuple_index(fault, context)
        if element is not None:
            return element
        shape = _SHAPE.search(fault.text)
        if shape is not None and "tensor" not in shape.group(1):
            return None
        culprit = _culprit(fault)
        if not (_TEXTS.search(fault.text) or shape is not None):
            if not (_FORGOT.search(fault.text) and culprit is not None and fault.node in ("Call", "For", "")):
                return None
            if _from_subscript(fault, context):
                return None
        tree = context.tree(fault.span.unit)
        place, text = _place(fault, culprit, tree)
        related: list[tuple[str, UnitSpan]] = []
        parameter = _parameter(place, tree, culprit)
        if parameter is not None and not is_constexpr_annotation(parameter.annotation):
            related.append((f"annotate it: `{parameter.arg}: tl.constexpr`", tree.span(parameter)))
        elif culprit is not None and culprit.origin is not None:
            related.append(("its value comes from here", culprit.origin))
        kind = f" ({culprit.type})" if culprit is not None and culprit.type else ""
        where = _purpose(fault, tree)
        message = f"`{shorten(text)}`{kind} is known only when the kernel runs; {where} must be a `tl.constexpr`."
        return Match(place, message, tuple(related))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        parameter = _parameter(match.span, tree, _culprit(fault))
        if parameter is not None and parameter.annotation is None:
            span = tree.span(parameter)
            yield context.fix(f"Annotate `{parameter.arg}` with tl.constexpr", (span, f"{parameter.arg}: tl.constexpr"))
        for target in _made_of_constants(match.span, tree):
            name = tree.source_of(target)
            yield context.fix(f"Declare `{name}` as tl.constexpr", (tree.span(target), f"{name}: tl.constexpr"))
        call, culprit = tree.call_at(fault.span), tree.node_at(match.span)
        if call is not None and callee_name(fault) == "arange" and culprit is tree.argument_node(call, "end", 1):
            yield from stepped(call, tree, context)
            yield from fitting(call, tree, context)


def _made_of_constants(place: UnitSpan, tree: UnitTree) -> list[ast.Name]:
    """Variables in an expression that are bound once, to what may be a constant: they lack the annotation."""
    found = []
    node = tree.node_at(place)
    for name in dict.fromkeys(n.id for n in walk(node or tree.module) if isinstance(n, ast.Name)):
        bound = tree.assignments(name)
        if len(bound) == 1 and isinstance(bound[0], ast.Assign) and isinstance(bound[0].targets[0], ast.Name):
            if len(bound[0].targets) == 1 and _names_constexpr(bound[0].value, tree):
                found.append(bound[0].targets[0])
    return found


def _tuple_index(fault: Fault, context: RuleContext) -> Match | None:
    """An element of a tuple that a run-time value chooses."""
    tree = context.tree(fault.span.unit)
    node = tree.node_at(fault.span)
    if not isinstance(node, ast.Subscript) or fault.exception != "AssertionError":
        return None
    owner = next((o for o in operands(fault) if o.role == "value"), None)
    index = next((o for o in operands(fault) if o.role == "index"), None)
    if owner is None or index is None or not owner.type.startswith("(") or not is_runtime(index.type):
        return None
    message = f"`{shorten(index.source)}` ({index.type}) is known only when the kernel runs; the index of a tuple must be a `tl.constexpr`."
    parameter = _parameter(index.span or fault.span, tree, index)
    related = (
        ((f"annotate it: `{parameter.arg}: tl.constexpr`", tree.span(parameter)),) if parameter is not None else ()
    )
    return Match(index.span or fault.span, message, related)


def _culprit(fault: Fault) -> Operand | None:
    """The operand that exists only at run time, where only one can be meant."""
    runtime = [o for o in arguments(fault) if o.value is None and is_runtime(o.type)]
    name = callee_name(fault)
    if name in ("arange", "static_range", "zeros", "full", "static_assert"):
        return runtime[0] if runtime else None
    if name in ("make_tensor_descriptor", "make_block_ptr"):
        wanted = [o for o in runtime if o.role in ("strides", "block_shape", "arg2", "arg3")]
        return wanted[0] if wanted else None
    scalars = [o for o in runtime if not o.type.startswith(("*", "tensor<"))]
    return next(iter(scalars or runtime), None)


def _from_subscript(fault: Fault, context: RuleContext) -> bool:
    return isinstance(context.node(fault.span), ast.Subscript)


def _place(fault: Fault, culprit: Operand | None, tree: UnitTree) -> tuple[UnitSpan, str]:
    if culprit is not None and culprit.span is not None and culprit.span.unit == fault.span.unit:
        return culprit.span, culprit.source or tree.text(culprit.span)
    call = tree.call_at(fault.span)
    node = tree.node_at(fault.span)
    if call is None and isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        call = node.iter
    if call is not None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in ("make_tensor_descriptor", "make_block_ptr"):
            for parameter, position in (("strides", 2), ("block_shape", 3 if name == "make_tensor_descriptor" else 4)):
                given = tree.argument_node(call, parameter, position)
                if isinstance(given, (ast.List, ast.Tuple)) and given.elts:
                    return tree.span(given.elts[-1]), tree.source_of(given.elts[-1])
        unknown = [a for a in call.args if not isinstance(a, ast.Constant)]
        plain = [a for a in unknown if not _names_constexpr(a, tree)]
        for candidate in plain or unknown:
            inner = candidate.elts if isinstance(candidate, (ast.List, ast.Tuple)) else [candidate]
            for element in inner:
                if not isinstance(element, ast.Constant) and not _names_constexpr(element, tree):
                    return tree.span(element), tree.source_of(element)
        return tree.span(call), tree.source_of(call)
    return fault.span, tree.text(fault.span)


def _names_constexpr(node: ast.expr, tree: UnitTree) -> bool:
    """Whether every name in the expression is a constexpr parameter (or no local of the unit at all)."""
    for name in (n.id for n in walk(node) if isinstance(n, ast.Name)):
        parameter = tree.parameter(name)
        if parameter is not None and not is_constexpr_annotation(parameter.annotation):
            return False
        if parameter is None and tree.assignments(name):
            return False
    return True


def _parameter(place: UnitSpan, tree: UnitTree, culprit: Operand | None) -> ast.arg | None:
    node = tree.node_at(place)
    if isinstance(node, ast.Name):
        parameter = tree.parameter(node.id)
        if parameter is not None and not tree.assignments(node.id):
            return parameter
    if node is not None and (culprit is None or not isinstance(node, ast.Name)):
        names = [n.id for n in walk(node) if isinstance(n, ast.Name)]
        plain = [p for p in map(tree.parameter, names) if p is not None and not is_constexpr_annotation(p.annotation)]
        if len({p.arg for p in plain}) == 1:
            return plain[0]
    return None


def _purpose(fault: Fault, tree: UnitTree) -> str:
    name = callee_name(fault)
    node = tree.node_at(fault.span)
    if (
        isinstance(node, ast.For)
        and isinstance(node.iter, ast.Call)
        and "static_range" in tree.source_of(node.iter.func)
    ):
        name = "static_range"
    call = tree.call_at(fault.span)
    if not name and call is not None and isinstance(call.func, ast.Attribute):
        name = call.func.attr
    return {
        "arange": "the bounds of `tl.arange`",
        "static_range": "the bounds of `tl.static_range`",
        "zeros": "a block's shape",
        "full": "a block's shape",
        "make_tensor_descriptor": "a descriptor's last stride and block shape",
        "make_block_ptr": "a block pointer's block shape and order",
        "static_assert": "what `tl.static_assert` tests",
        "reshape": "a block's shape",
        "view": "a block's shape",
        "broadcast_to": "a block's shape",
        "expand_dims": "an axis",
    }.get(name, f"this argument of `{name}`" if name else "it")
