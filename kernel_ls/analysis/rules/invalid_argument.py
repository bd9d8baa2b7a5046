from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.facts import (
    arguments,
    block,
    brief,
    callee,
    callee_name,
    described_type,
    is_float,
    notation,
    operands,
    plain_layouts,
)
from kernel_ls.analysis.rules.incompatible_operands import floor_division
from kernel_ls.analysis.rules.syntax import UnitTree, shorten
from kernel_ls.model import Fault, Fix, UnitSpan
from kernel_ls.pyeval.nodes import walk

_LOOP = re.compile(
    r"For loop bounds and step must all be ints, are \((.+?), (.+?), (.+?)\)|For (?:lower|upper) bound must be|For step must be"
)
_AXIS = re.compile(
    r"axis|dims must be a permutation|duplicate axes|invalid slice dimension|sliced in axis", re.IGNORECASE
)
_OPTION = re.compile(
    r"(Cache modifier|Eviction policy|Padding option|Memory semantic|rounding mode|propagate_nan|cache_policy|semantics)",
    re.IGNORECASE,
)

# Which argument a message is about, where it says: (message, parameter, position or None).
_ARGUMENTS: tuple[tuple[re.Pattern[str], str, int | None], ...] = (
    (re.compile(r"Cache modifier|cache_modifier", re.IGNORECASE), "cache_modifier", None),
    (re.compile(r"Eviction policy|eviction_policy", re.IGNORECASE), "eviction_policy", None),
    (re.compile(r"Padding option|padding_option", re.IGNORECASE), "padding_option", None),
    (re.compile(r"`other` cannot be provided"), "other", 2),
    (re.compile(r"boundary_check", re.IGNORECASE), "boundary_check", None),
    (re.compile(r"program_id axis|num_programs axis"), "axis", 0),
    (
        re.compile(
            r"reduction axis|scan axis|gather axis|invalid axis|expected reduction axis|axis \S+ (?:is )?out of"
        ),
        "axis",
        1,
    ),
    (re.compile(r"arange's end argument|arange must fit"), "end", 1),
    (re.compile(r"Memory semantic|semantics", re.IGNORECASE), "sem", None),
    (re.compile(r"[Rr]ounding"), "fp_downcast_rounding", None),
    (re.compile(r"dtype must be specified"), "dtype", 2),
    (re.compile(r"permutation of \(0, 1"), "order", 5),
    (re.compile(r"is not string|ascii string"), "prefix", 0),
)


class InvalidArgument(Rule):
    """A function of Triton is given a value that it does not accept.

    What it finds:
        An axis that the block does not have, loop bounds that are no integers, an unknown cache modifier or eviction
        policy, `other=` without `mask=`, a bad `boundary_check`, a block pointer whose parts disagree, a layout that
        does not fit, and the like.

    Why it is a fault:
        Triton checks these while it compiles and rejects the call.

    Example:
        total = tl.sum(x, axis=1)      # x has one dimension

    Instead:
        total = tl.sum(x, axis=0)

    Triton versions:
        All. Several such faults have an empty message in 3.5.

    Fix and its safety:
        `//` for `/` in a loop's bounds; the only axis of a block that has one, or the only one that fits what is made of
        the result; the word for an option that is nearly the
        one given; a comma for a tuple of one element in a block pointer's arguments.
    """

    code = "invalid-argument"
    summary = "a value that a function of Triton does not accept"
    priority = 70

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        tree = context.tree(fault.span.unit)
        node = tree.node_at(fault.span)
        if _LOOP.search(fault.text):
            return _loop_bound(fault, node, tree)
        if isinstance(node, ast.Subscript) and fault.exception == "IndexError":
            return _element(fault, node, tree)
        by_triton = (
            callee(fault).startswith(("triton", "tl.", "ttgl.", "gl.")) or _FAMILY.search(fault.text) is not None
        )
        if not by_triton or fault.phase != "generate" or fault.exception not in _REJECTIONS:
            return None
        place = _argument_place(fault, tree)
        name = callee_name(fault)
        return Match(place, _message(fault, name, place, tree), _related(fault, place))

    def fixes(self, fault: Fault, match: Match, context: RuleContext) -> Iterable[Fix | None]:
        tree = context.tree(match.span.unit)
        node = tree.node_at(match.span)
        if node is None:
            return
        if _LOOP.search(fault.text):
            for division in walk(node):
                if isinstance(division, ast.BinOp) and isinstance(division.op, ast.Div):
                    yield floor_division(division, tree, context)
            return
        yield from _axes(fault, node, tree, context)
        yield _near_option(fault, node, context)
        if isinstance(node, ast.Call) and callee_name(fault) == "make_block_ptr":
            edits = [
                (tree.span(k.value), f"{tree.source_of(k.value)},")
                for k in node.keywords
                if k.arg in ("shape", "strides", "offsets", "order", "block_shape") and _in_parentheses(k.value, tree)
            ]
            if edits:
                yield context.fix("Write tuples of one element", *edits)


def _axes(fault: Fault, node: ast.AST, tree: UnitTree, context: RuleContext) -> Iterable[Fix | None]:
    """The axis of a block that has only one, or of those that there are the only one that fits what is made of the result."""
    kinds = [k for o in arguments(fault) if (k := block(o.type)) is not None]
    written = node.operand if isinstance(node, ast.UnaryOp) else node
    ranks = {len(k.shape) for k in kinds}
    if not _AXIS.search(fault.text) or len(ranks) != 1 or not isinstance(written, ast.Constant):
        return
    for axis in range(ranks.pop()):
        yield context.fix(f"Use axis {axis}", (tree.span(node), str(axis)), choice="axis")


def _near_option(fault: Fault, node: ast.AST, context: RuleContext) -> Fix | None:
    """A word for an option that is nearly one of those that there are."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not _OPTION.search(fault.text):
        return None
    near = nearest(node.value, _WORDS, few=True)
    return context.fix(f"Use `{near}`", (context.tree(fault.span.unit).span(node), f'"{near}"')) if near else None


_WORDS = (
    *(".ca", ".cg", ".cv", ".cs", ".wb", ".wt"),
    *("evict_first", "evict_last", "zero", "nan"),
    *("acquire", "release", "acq_rel", "relaxed", "gpu", "cta", "sys", "rtne", "rtz"),
)
_OPTION_WORD = re.compile(
    r"(?P<kind>[Ee]viction policy|[Cc]ache modifier|[Pp]adding option|[Mm]emory semantic) '?(?P<word>[\w.]+)'?(?: not supported)?"
)
_DISTRIBUTED = re.compile(r"expected \w+ (?:\w+ )?input to be a distributed_type but got: (.+)", re.DOTALL)
_INTERNAL = re.compile(
    r"^'\w+' object has no attribute|^'\w+' object is not (?:iterable|subscriptable|callable)|object at 0x"
)
_REJECTIONS = (
    "ValueError",
    "AssertionError",
    "TypeError",
    "NotImplementedError",
    "RuntimeError",
    "IndexError",
    "KeyError",
    "OverflowError",
    "AttributeError",
    "CompilationError",
)
_FAMILY = re.compile(
    r"expected |must be |must have |not supported|Unsupported|unsupported|requires |invalid |cannot |Expected |does not |"
    r"only supports|Layout mismatch|is not trivial|out of range|exceeds|layout|`\w+`"
)


def _loop_bound(fault: Fault, node: ast.AST | None, tree: UnitTree) -> Match:
    bounds: list[ast.expr] = []
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        bounds = list(node.iter.args) + [k.value for k in node.iter.keywords if k.arg in ("arg1", "arg2", "step")]
    found = _LOOP.search(fault.text)
    kinds = list(found.groups()) if found is not None and found.group(1) else []
    place = tree.span(node.iter) if isinstance(node, ast.For) else fault.span
    kind = ""
    if kinds and bounds:
        ordered = [0, 1, 2] if len(bounds) > 1 else [1]
        for bound, index in zip(bounds, ordered, strict=False):
            if not re.fullmatch(r"u?int\d+", kinds[index]):
                place, kind = tree.span(bound), kinds[index]
                break
    for o in operands(fault):
        if not kind and o.span is not None and is_float(o.type):
            place, kind = o.span, o.type
    text = shorten(tree.text(place))
    shown = f"is {kind.replace('fp', 'f')}" if kind else "is no integer"
    hint = " Use `//` to divide." if "/" in text and "//" not in text else ""
    return Match(
        place, f"`{text}` {shown}; the bounds and the step of a loop must be integers.{hint}", _related(fault, place)
    )


def _element(fault: Fault, node: ast.Subscript, tree: UnitTree) -> Match:
    """An element of a tuple that is not there."""
    owner = next((o for o in operands(fault) if o.role == "value"), None)
    kind = f" ({owner.type})" if owner is not None and owner.type else ""
    index, text = shorten(tree.source_of(node.slice)), shorten(tree.source_of(node.value))
    return Match(tree.span(node), f"`{text}`{kind} has no element {index}.", _related(fault, tree.span(node)))


def _argument_place(fault: Fault, tree: UnitTree) -> UnitSpan:
    call = tree.call_at(fault.span)
    if call is None:
        return fault.span
    for pattern, parameter, position in _ARGUMENTS:
        if pattern.search(fault.text):
            is_method = isinstance(call.func, ast.Attribute) and not isinstance(call.func.value, ast.Name)
            at = position - 1 if position and is_method else position
            node = tree.argument_node(call, parameter, at)
            if node is not None:
                return tree.span(node)
    return tree.span(call)


def _message(fault: Fault, name: str, place: UnitSpan, tree: UnitTree) -> str:
    text = plain_layouts(" ".join(fault.text.split()).rstrip("."))
    call = tree.call_at(fault.span)
    shown = f"`{tree.source_of(call.func)}`" if call is not None else f"`{name}`" if name else "This operation"
    given = arguments(fault)
    if _AXIS.search(text):
        kinds = [o for o in given if o.type.startswith("tensor<")]
        of = f" of {brief(kinds[0].type)}" if kinds else ""
        where = shorten(tree.text(place))
        rank = len(found.shape) if kinds and (found := block(kinds[0].type)) is not None else 0
        if place != fault.span and where:
            there = "which has axis 0 only" if rank == 1 else f"which has axes 0 to {rank - 1}"
            if not rank and "invalid axis" in text:
                return f"There is no axis {where} here."  # of a block whose shape a fault has taken away
            return f"There is no axis {where}{of}" + (f", {there}." if rank else f": {text[:1].lower() + text[1:]}.")
    if "boundary_check" in tree.text(fault.span) and fault.exception == "AssertionError" and not text:
        return f"{shown}: `boundary_check` must name dimensions of the block, each once, counted from 0."
    word = _OPTION_WORD.search(fault.text)
    if word is not None:
        given_as = (
            {k.arg: k.value for k in call.keywords if isinstance(k.value, ast.Constant)} if call is not None else {}
        )
        named = next(
            (f"`{n}`" for n, v in given_as.items() if v.value == word.group("word")), word.group("kind").lower()
        )
        near = nearest(word.group("word"), _WORDS, few=True)
        return f"{shown} knows no {named} `{word.group('word')}`." + (f" Did you mean `{near}`?" if near else "")
    if text.endswith("is not string") and given:
        return f"The first argument of {shown} must be a text, and {given[0].described} is none."
    wanted = _DISTRIBUTED.search(fault.text)
    if wanted is not None:
        kind = notation(wanted.group(1).removeprefix("triton.language.").replace("float", "fp"))
        return f"{shown} takes a block with a layout, not {described_type(kind)}."
    if name == "make_block_ptr" and "__iter__" not in text and _bare_scalars(call, tree):
        return f"{shown}: {', '.join(_bare_scalars(call, tree))} must be tuples; `(n)` is just `n`, write `(n,)`."
    if not text or _INTERNAL.search(text):
        listed = brief(", ".join(o.described for o in given[:4]))
        return f"{shown} does not accept these arguments{': ' + listed if listed else ''}."
    if re.fullmatch(r"\w+", text):
        return f"{shown} failed on its arguments ({fault.exception}: {text})."
    return f"{shown}: {text[:1].lower() + text[1:] if not text[:2].isupper() else text}."


def _bare_scalars(call: ast.Call | None, tree: UnitTree) -> list[str]:
    if call is None:
        return []
    return [
        f"`{k.arg}`"
        for k in call.keywords
        if k.arg in ("shape", "strides", "offsets", "order", "block_shape") and _in_parentheses(k.value, tree)
    ]


def _in_parentheses(node: ast.expr, tree: UnitTree) -> bool:
    """Whether an expression that is no tuple stands in parentheses of its own, as in `shape=(n)`."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return False
    span = tree.span(node)
    line = tree.lines[span.line - 1] if span.line <= len(tree.lines) else b""
    end = tree.lines[span.end_line - 1] if span.end_line <= len(tree.lines) else b""
    return line[: span.column].rstrip().endswith(b"(") and end[span.end_column :].lstrip().startswith(b")")


def _related(fault: Fault, place: UnitSpan) -> tuple[tuple[str, UnitSpan], ...]:
    return tuple(
        (f"`{shorten(o.source)}` is {o.type}", o.origin)
        for o in operands(fault)
        if o.origin is not None and o.origin != place and o.role != "func"
    )
