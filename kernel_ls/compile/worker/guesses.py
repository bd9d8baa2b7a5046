"""What an expression that failed most likely stands for, so that what depends on it is checked as well.

Only where the obvious correction leaves no choice: a name, an attribute or a keyword that is nearly another, an option
that is not known, an operation whose result has one possible type. Anything else has no value (UNKNOWN), and what reads
that is not judged.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from typing import Any

import triton.language as tl
from triton.language import core

from . import doubts, facts, reports, spans
from .given import Body, Given
from .unknown import UNKNOWN, Poisoned

NOTHING = object()
"""There is no value that could stand in."""

_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_OPTIONS = (
    (re.compile(r"eviction policy", re.IGNORECASE), "eviction_policy"),
    (re.compile(r"cache modifier", re.IGNORECASE), "cache_modifier"),
    (re.compile(r"padding option", re.IGNORECASE), "padding_option"),
    (re.compile(r"memory semantic", re.IGNORECASE), "sem"),
)
_BUILTINS = {"abs": "abs", "sum": "sum", "sorted": "sort"}
_MEMORY = {"load": 1, "store": 2}
"""How many arguments have to be known to look at the others."""
_ANYTHING = re.compile("")
_NO_POINTER = re.compile("Unsupported ptr type")
_OPTION = re.compile("|".join(pattern.pattern for pattern, _ in _OPTIONS), re.IGNORECASE)
_DOTS = re.compile(r"(?:^|\.)dot$")


def nearest(name: str, names: Iterable[str]) -> str:
    """The only name that another is surely a misspelling of, or an empty string."""
    found = difflib.get_close_matches(name, [n for n in names if n != name], n=2, cutoff=0.75)
    if len(name) < 3 or not found:
        return ""
    ratios = [difflib.SequenceMatcher(None, name, n).ratio() for n in found]
    return found[0] if len(found) == 1 or ratios[0] - ratios[1] > 0.02 else ""


def name(generator: Any, wanted: str) -> Any:
    """The value of the local or global name that a missing one is nearly."""
    held = {n: v for n, v in generator.lscope.items() if v is not UNKNOWN and n not in generator.after_loop}
    found = nearest(wanted, held)
    if found:
        return held[found]
    return getattr(tl, _BUILTINS.get(wanted, ""), NOTHING)


def is_stand_in(generator: Any, node: ast.expr) -> bool:
    """Whether a call is one of Python's `sorted`, which has the function of Triton's in its place and keeps a type."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) != 1:
        return False
    called = node.func.id
    return called == "sorted" and called not in generator.lscope and called not in generator.gscope


def value(generator: Any, node: ast.AST, error: BaseException) -> Any:
    """What stands in for an expression whose own evaluation raised an exception, or NOTHING."""
    cause = reports.innermost(error)
    if not spans.has_place(node):
        return NOTHING
    try:
        found = NOTHING if isinstance(cause, Poisoned) else _surely(generator, node, cause)
        if found is NOTHING:
            found = doubts.partly(generator, node, error)
    except Exception:
        # A guess that fails is no guess; the fault is reported without it.
        return NOTHING
    return NOTHING if found is UNKNOWN else found


def _surely(generator: Any, node: ast.AST, cause: BaseException) -> Any:
    try:
        if isinstance(node, ast.Attribute) and isinstance(cause, AttributeError):
            return _attribute(generator, node, cause)
        if isinstance(node, ast.Call):
            return _call(generator, node, reports.text_of(cause))
        if isinstance(node, ast.Lambda):
            return NOTHING if ast.unparse(node.args) else Body(node.body)
        if isinstance(node, ast.BinOp):
            return _operation(generator, node)
        if isinstance(node, ast.IfExp) and isinstance(cause, AssertionError):
            return _either(generator, node)
    except Exception:
        return NOTHING
    return NOTHING


def _attribute(generator: Any, node: ast.Attribute, error: AttributeError) -> Any:
    names = facts.meant(generator, node, error).get("candidates") or ()
    found = nearest(node.attr, names)
    if not found:
        return NOTHING
    again = ast.copy_location(ast.Attribute(Given(_known(generator, node.value)), found, ast.Load()), node)
    return generator.visit_Attribute(again)


def _call(generator: Any, node: ast.Call, text: str) -> Any:
    function = _known(generator, node.func)
    unexpected = _UNEXPECTED.search(text)
    dropped = unexpected.group(1) if unexpected is not None else ""
    for pattern, keyword in _OPTIONS:
        if pattern.search(text):
            dropped = dropped or keyword
    if dropped and any(k.arg == dropped for k in node.keywords):
        return _again(generator, node, function, [k for k in node.keywords if k.arg != dropped])
    if _DOTS.search(facts.name_of(generator, function, node.func)):
        return _product(generator, node)
    return NOTHING


def _again(generator: Any, node: ast.Call, function: Any, keywords: list[ast.keyword]) -> Any:
    given: list[ast.expr] = [Given(_known(generator, a)) for a in node.args]
    named = [ast.keyword(k.arg, Given(_known(generator, k.value))) for k in keywords]
    return generator.visit_Call(ast.copy_location(ast.Call(Given(function), given, named), node))


def _product(generator: Any, node: ast.Call) -> Any:
    """What a dot gives: its accumulator's type, or a block of the outer sizes."""
    if any(isinstance(a, ast.Starred) for a in node.args) or len(node.args) < 2:
        return NOTHING
    left, right = (_known(generator, a) for a in node.args[:2])
    written = node.args[2] if len(node.args) > 2 else next((k.value for k in node.keywords if k.arg == "acc"), None)
    acc = _known(generator, written) if written is not None else None
    shape = _outer(left, right)
    if isinstance(acc, core.tensor):
        return acc if _shape(acc) == shape else NOTHING
    # Of a float and an integer the integer is the one to be converted.
    floats = _is_float(left) or _is_float(right)
    return _empty(generator, shape, core.float32) if shape is not None and floats else NOTHING


def _operation(generator: Any, node: ast.BinOp) -> Any:
    left, right = _known(generator, node.left), _known(generator, node.right)
    if isinstance(node.op, ast.MatMult):
        shape = _outer(left, right)
        return _empty(generator, shape, core.float32) if shape is not None and _is_float(left) else NOTHING
    for pointer, other in ((left, right), (right, left)):
        # A pointer and an offset of a wrong type: what was meant is a pointer of the shape that both have together.
        if _is_pointer(pointer) and isinstance(other, core.tensor) and not _is_pointer(other):
            if not _shape(other) or _shape(other) == _shape(pointer):
                return pointer
            if not _shape(pointer):
                return _empty(generator, _shape(other), pointer.dtype)
    return NOTHING


def _either(generator: Any, node: ast.IfExp) -> Any:
    """Of two values the one that is no constant, or the first of two that differ in their elements only."""
    then, other = _known(generator, node.body), _known(generator, node.orelse)
    if not isinstance(then, core.tensor):
        then, other = other, then
    if not isinstance(then, core.tensor) or (isinstance(other, core.tensor) and _shape(then) != _shape(other)):
        return NOTHING
    return _empty(generator, _shape(then), then.dtype)


def accesses(generator: Any, node: ast.Call, function: Any) -> Iterable[tuple[ast.Call, re.Pattern[str]]]:
    """An access to memory some of whose arguments have no value, with others in their place, to be looked at by itself.

    First with the pointer as it is, where that is known, then with a pointer in it, for the sake of the options. Each
    comes with what a message has to say to be about what is known.
    """
    named = facts.name_of(generator, function, node.func).rpartition(".")[2]
    count = _MEMORY.get(named, 0)
    if not count or len(node.args) < count:
        return
    words = [k for k in node.keywords if k.arg in [option for _, option in _OPTIONS]]
    held = [generator.values.get(facts.place(a), UNKNOWN) for a in node.args[:count]]
    if held[0] is not UNKNOWN and len(node.args) == count:
        given = [a if v is not UNKNOWN else Given(core.constexpr(0)) for a, v in zip(node.args, held)]  # noqa: B905
        whole = all(value is not UNKNOWN for value in held)
        yield ast.copy_location(ast.Call(node.func, given, words), node), _ANYTHING if whole else _NO_POINTER
    # Whether an option is one of those that there are does not hang on the pointer: any will do.
    pointer = next((v for v in generator.lscope.values() if _is_pointer(v) and not _shape(v)), None)
    if words and pointer is not None:
        filled: list[ast.expr] = [Given(pointer), *(Given(core.constexpr(0)) for _ in range(count - 1))]
        yield ast.copy_location(ast.Call(node.func, filled, words), node), _OPTION


def operations(generator: Any, node: ast.BinOp | ast.Compare) -> Iterable[ast.expr]:
    """An operation some of whose operands have no value, with others in their place, to be looked at by itself.

    An operator that Triton does not have is none for any operands; what is added to a pointer has to be an integer.
    """
    zero = Given(core.constexpr(0))
    if isinstance(node, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            yield ast.copy_location(ast.Compare(zero, list(node.ops), [zero]), node)
        return
    if isinstance(node.op, ast.MatMult):
        yield ast.copy_location(ast.BinOp(zero, node.op, zero), node)
        return
    right = generator.values.get(facts.place(node.right))
    pointer = _pointer_in(generator, node.left)
    if isinstance(node.op, ast.Add) and isinstance(right, core.tensor) and pointer is not None:
        yield ast.copy_location(ast.BinOp(Given(pointer), node.op, node.right), node)


def _pointer_in(generator: Any, node: ast.expr) -> Any:
    """The single pointer to which a sum adds offsets."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        node = node.left
    held = generator.values.get(facts.place(node)) if spans.has_place(node) else None
    return held if _is_pointer(held) and not _shape(held) else None


def _known(generator: Any, node: ast.AST) -> Any:
    """The value that a node had.

    Raises:
        KeyError: it was not evaluated.
    """
    found = generator.values[facts.place(node)]
    if found is UNKNOWN:
        raise KeyError(node)
    return found


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(int(core._unwrap_if_constexpr(n)) for n in value.shape) if value.type.is_block() else ()


def _outer(left: Any, right: Any) -> tuple[int, ...] | None:
    if not (isinstance(left, core.tensor) and isinstance(right, core.tensor)):
        return None
    first, second = _shape(left), _shape(right)
    return (*first[:-1], second[-1]) if len(first) == len(second) and len(first) in (2, 3) else None


def _is_float(value: Any) -> bool:
    return isinstance(value, core.tensor) and bool(value.dtype.is_floating())


def _is_pointer(value: Any) -> bool:
    return isinstance(value, core.tensor) and bool(value.type.scalar.is_ptr())


def _empty(generator: Any, shape: tuple[int, ...], element: Any) -> Any:
    """A value of a type without a content; where a fault was, no module is kept."""
    kind = core.block_type(element, list(shape)) if shape else element
    return core.tensor(generator.builder.create_poison(kind.to_ir(generator.builder)), kind)
