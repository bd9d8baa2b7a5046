"""Values of which a fault has left a part only: a type whose shape, or whose element type, is a guess.

What depends on a fault is generated with such a value in the place of what the fault took away, as long as something is
known of it: what is loaded through a pointer has the pointer's element type wherever it points. A doubt goes on to
whatever is made of the value. A fault of an operation on a doubtful value is no fault (`excuses`) unless it would be one
whatever the value turned out to be, and types that a region compares differ only where no doubt explains it (`differ`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from triton.language import core

from . import facts, reports, spans
from .given import Given
from .unknown import UNKNOWN, Poisoned, doubt_of

ELEMENT = 1
"""The element type is a guess."""
SHAPE = 2
"""The shape, and whether there is one, is a guess."""
EITHER = ELEMENT | SHAPE

_MADE_OF_SHAPES = frozenset(("arange", "zeros", "full", "program_id", "num_programs"))
_CERTAIN = re.compile(
    r"unexpected keyword argument|missing \d+ required|takes \d+ positional|too many positional|multiple values for|"
    r"not \(currently\) implemented|'(?:MatMult|In|NotIn)' object has no attribute|"
    r"eviction policy|cache modifier|padding option|memory semantic|"
    r"unsupported AST node type|nested function definition",
    re.IGNORECASE,
)
"""Messages about what is written, whatever the values are."""
_AXIS = re.compile(r"invalid axis (\d+)")
_MOST_DIMENSIONS = 5
"""Dimensions that a block of a kernel may have; an axis from here on is wrong for any."""


def marked(generator: Any, value: core.tensor, doubt: int) -> Any:
    """A tensor of its own that stands for a value and of which something is not known."""
    made = core.tensor(value.handle, value.type)
    if doubt:
        generator.rec.doubting = True
        made._doubt = doubt
    return made


def stain(value: Any, doubt: int) -> None:
    """Doubt a value that no one else holds."""
    if doubt and isinstance(value, core.tensor):
        value._doubt = doubt | doubt_of(value)


def cloning(stock: Callable[[Any], Any], recorder: Any) -> Callable[[Any], Any]:
    """Triton's copying of a value for a region, which keeps what is doubtful so."""

    def clone(value: Any) -> Any:
        made = stock(value)
        if recorder.doubting:
            for old, new in zip(*(v.values if isinstance(v, core.tuple) else [v] for v in (value, made)), strict=True):
                stain(new, doubt_of(old))
        return made

    return clone


def inherit(generator: Any, node: ast.expr, value: Any) -> Any:
    """The value that a node was found to have, with the doubts of what it was made of.

    Raises:
        Poisoned: it says something at compile time of which a doubtful value knows nothing.
    """
    doubt = _behind(generator, node, value)
    if not doubt:
        return value
    _lose(generator)
    if isinstance(value, core.tuple):
        for item in value.values:
            stain(item, doubt)
    elif isinstance(value, core.tensor):
        return value if doubt_of(value) == doubt else marked(generator, value, doubt)
    elif isinstance(node, ast.Attribute) and not callable(value):
        told = ELEMENT if isinstance(value, core.dtype) and not value.is_block() else EITHER
        if doubt & told:
            raise Poisoned
    return value


def _behind(generator: Any, node: ast.expr, value: Any) -> int:
    if isinstance(node, ast.Call):
        return _behind_call(generator, node)
    if isinstance(node, ast.Compare):
        return _union(generator, node) & SHAPE
    doubt = _union(generator, node)
    if doubt & ELEMENT and isinstance(node, ast.BinOp) and _is_pointer(value):
        pointers = [v for v in (_value(generator, node.left), _value(generator, node.right)) if _is_pointer(v)]
        doubt &= ~ELEMENT if not any(doubt_of(v) & ELEMENT for v in pointers) else EITHER
    return doubt


def _behind_call(generator: Any, node: ast.Call) -> int:
    name = facts.name_of(generator, _value(generator, node.func), node.func).rpartition(".")[2]
    if name in _MADE_OF_SHAPES:
        return 0
    doubt = _union(generator, node)
    if name in ("load", "atomic_add", "atomic_xchg", "atomic_max", "atomic_min", "atomic_cas"):
        first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "pointer"), None)
        return doubt_of(_value(generator, first)) if first is not None else doubt
    if name in ("make_block_ptr", "advance") and node.args:
        return doubt_of(_value(generator, node.args[0])) & ELEMENT
    if name in ("to", "cast"):
        return doubt & ~ELEMENT
    return doubt


def _union(generator: Any, node: ast.AST) -> int:
    found = 0
    for _, child in facts.children(node):
        if spans.has_place(child):
            found |= doubt_of(_value(generator, child))
    return found


def excuses(generator: Any, node: ast.AST, error: BaseException) -> bool:
    """Whether what went wrong at a node may be the doing of a value that is a guess."""
    cause = reports.innermost(error)
    if isinstance(cause, Poisoned):
        return False
    doubt = _union(generator, node)
    if not doubt:
        return False
    text = reports.text_of(cause)
    if _CERTAIN.search(text) or (isinstance(node, ast.Attribute) and isinstance(cause, AttributeError)):
        return False
    axis = _AXIS.search(text)
    if axis is not None:
        return int(axis.group(1)) < _MOST_DIMENSIONS
    if isinstance(node, ast.IfExp):
        return not differ(_value(generator, node.body), _value(generator, node.orelse))
    if isinstance(node, ast.BinOp):
        return not _float_for_offset(_value(generator, node.left), _value(generator, node.right))
    if "same dtype" in text or "Unsupported ptr type" in text:
        return bool(doubt & ELEMENT)
    return True


def differ(one: Any, other: Any) -> bool:
    """Whether the types of two values differ in something that is not in doubt. Without doubt it is for Triton to say."""
    doubt = doubt_of(one) | doubt_of(other)
    if not doubt:
        return True
    if not isinstance(one, core.tensor) or not isinstance(other, core.tensor):
        return False
    if not doubt & ELEMENT and one.type.scalar != other.type.scalar:
        return True
    return not doubt & SHAPE and shape(one) != shape(other)


def _float_for_offset(left: Any, right: Any) -> bool:
    pointer, other = (left, right) if _is_pointer(left) else (right, left)
    if not _is_pointer(pointer) or not isinstance(other, core.tensor) or doubt_of(other) & ELEMENT:
        return False
    return bool(other.dtype.is_floating())


def _lose(generator: Any) -> None:
    """What is being generated rests on a guess: nothing it is found to be in order by."""
    statement = generator.statements[-1] if generator.statements else None
    if statement is not None and spans.has_place(statement):
        generator.rec.lose(str(generator.unit), spans.header_lines(statement))


# ------------------------------------------------------------------------------------------------ partly known values


def partly(generator: Any, node: ast.AST, error: BaseException) -> Any:
    """A value of which something is known, for an expression that has none; UNKNOWN where nothing is."""
    found = _partly(generator, node)
    if isinstance(found, core.base_value) and isinstance(reports.innermost(error), Poisoned):
        _lose(generator)
    return found


def _partly(generator: Any, node: ast.AST) -> Any:
    if isinstance(node, ast.BinOp):
        return _operation(generator, node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sides = [_look(generator, n) for n in (node.left, node.comparators[0])]
        known = next((v for v in sides if isinstance(v, core.tensor)), None)
        return UNKNOWN if known is None else _of_type(generator, shape(known), core.int1, SHAPE)
    if isinstance(node, ast.Subscript):
        owner = _value(generator, node.value)
        return (
            marked(generator, owner, doubt_of(owner) | SHAPE)
            if isinstance(owner, core.tensor) and doubt_of(owner)
            else UNKNOWN
        )
    if isinstance(node, ast.Call):
        function = _value(generator, node.func)
        name = facts.name_of(generator, function, node.func).rpartition(".")[2]
        known_of = _CALLS.get(name)
        return known_of(generator, node) if known_of is not None else UNKNOWN
    return UNKNOWN


def _operation(generator: Any, node: ast.BinOp) -> Any:
    """Of a sum with a pointer the pointer's type, and else that of what is known, which the other side may change."""
    left, right = _look(generator, node.left), _look(generator, node.right)
    for pointer in (left, right):
        if _is_pointer(pointer):
            return marked(generator, pointer, doubt_of(pointer) | SHAPE)
    if isinstance(left, core.tensor) and isinstance(right, core.tensor):
        return _fitted(generator, node, left, right)
    known = left if isinstance(left, core.tensor) else right
    return marked(generator, known, EITHER) if isinstance(known, core.tensor) else UNKNOWN


def _fitted(generator: Any, node: ast.BinOp, left: Any, right: Any) -> Any:
    """Two values whose shapes do not go together, the one that is in doubt or the second as if it had the other's."""
    if doubt_of(left) & SHAPE and not doubt_of(right) & SHAPE:
        sides = _of_type(generator, shape(right), left.type.scalar, 0), right
    else:
        sides = left, _of_type(generator, shape(left), right.type.scalar, 0)
    again = ast.copy_location(ast.BinOp(Given(sides[0]), node.op, Given(sides[1])), node)
    made = generator.visit_BinOp(again)
    return (
        marked(generator, made, doubt_of(left) | doubt_of(right) | SHAPE) if isinstance(made, core.tensor) else UNKNOWN
    )


def _range(generator: Any, node: ast.Call) -> Any:
    end = node.args[1] if len(node.args) > 1 else None
    size = end.value if isinstance(end, ast.Constant) and type(end.value) is int and 0 < end.value < 65536 else 16
    return _of_type(generator, (1 << (size - 1).bit_length(),), core.int32, SHAPE)


def _load(generator: Any, node: ast.Call) -> Any:
    """What is loaded has the pointer's element type, and the shape of a mask or the pointer's."""
    if not node.args:
        return UNKNOWN
    pointer = _value(generator, node.args[0])
    mask = next((k.value for k in node.keywords if k.arg == "mask"), node.args[1] if len(node.args) > 1 else None)
    held = _look(generator, mask) if mask is not None else None
    sizes = shape(held) if isinstance(held, core.tensor) else shape(pointer) if _is_pointer(pointer) else ()
    if not _is_pointer(pointer):
        return _of_type(generator, sizes, core.float32, EITHER)
    inside = pointer.type.scalar.element_ty
    if inside.is_block():
        return _of_type(generator, tuple(int(n) for n in inside.shape), inside.element_ty, doubt_of(pointer))
    return _of_type(generator, sizes, pointer.type.scalar.element_ty, doubt_of(pointer) | SHAPE)


def _conversion(generator: Any, node: ast.Call) -> Any:
    """What is converted to a type has it."""
    method = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    written = node.args[0:1] if method else node.args[1:2]
    kind = _look(generator, written[0]) if written else UNKNOWN
    kind = core._unwrap_if_constexpr(kind)
    if not isinstance(kind, core.dtype) or not (kind.is_floating() or kind.is_int()):
        return UNKNOWN
    owner = node.func.value if isinstance(node.func, ast.Attribute) and method else node.args[0]
    held = _value(generator, owner)
    return _of_type(generator, shape(held) if isinstance(held, core.tensor) else (), kind, SHAPE)


def _block_pointer(generator: Any, node: ast.Call) -> Any:
    """A block pointer has the type of its base and of its block, wherever it points."""
    names = ("base", "shape", "strides", "offsets", "block_shape", "order")
    written = {**dict(zip(names, node.args, strict=False)), **{str(k.arg): k.value for k in node.keywords}}
    base, block, order = (
        _look(generator, written[n]) if n in written else UNKNOWN for n in ("base", "block_shape", "order")
    )
    if any(value is UNKNOWN for value in (base, block, order)):
        return UNKNOWN
    anywhere = core.tuple([core.constexpr(0) for _ in core._unwrap_shape(block)])
    given = [base, anywhere, anywhere, anywhere, block, order]
    return generator.visit_Call(ast.copy_location(ast.Call(node.func, [Given(v) for v in given], []), node))


def _product(generator: Any, node: ast.Call) -> Any:
    """A dot of which one side is not known: f32 of floats, which an accumulator of integers cannot take."""
    if len(node.args) < 2:
        return UNKNOWN
    left, right = (_look(generator, a) for a in node.args[:2])
    written = node.args[2] if len(node.args) > 2 else next((k.value for k in node.keywords if k.arg == "acc"), None)
    acc = _look(generator, written) if written is not None else None
    known = next((v for v in (left, right) if isinstance(v, core.tensor) and not doubt_of(v) & ELEMENT), None)
    if known is None:
        return marked(generator, acc, EITHER) if isinstance(acc, core.tensor) else UNKNOWN
    if isinstance(acc, core.tensor):
        if known.dtype.is_floating() and acc.dtype.is_int() and not doubt_of(acc) and len(shape(acc)) == 2:
            inner = shape(known)[-1] if known is left else shape(known)[0]
            sides = (_of_type(generator, s, known.dtype, 0) for s in ((shape(acc)[0], inner), (inner, shape(acc)[1])))
            _try(generator, node, [*sides, acc])
        return marked(generator, acc, EITHER if doubt_of(acc) else SHAPE)
    if not known.dtype.is_floating() or any(k.arg == "out_dtype" for k in node.keywords):
        return UNKNOWN
    return _of_type(generator, shape(known), core.float32, SHAPE)


def _try(generator: Any, node: ast.Call, arguments: list[Any]) -> None:
    """Say what is wrong with a call whatever its arguments are, these for example."""
    again = ast.copy_location(ast.Call(node.func, [Given(a) for a in arguments], []), node)
    try:
        generator.visit_Call(again)
    except Exception as error:
        reports.report(generator, error, generator.statements[-1], (node,))


def _zeros(generator: Any, node: ast.Call) -> Any:
    if len(node.args) != 1:
        return UNKNOWN
    sizes = core._unwrap_shape(_look(generator, node.args[0]))
    sizes = tuple(int(n) for n in (sizes if isinstance(sizes, (list, tuple)) else (sizes,)))
    return _of_type(generator, sizes, core.float32, ELEMENT)


def _selection(generator: Any, node: ast.Call) -> Any:
    known = [v for a in node.args[1:3] if isinstance(v := _look(generator, a), core.tensor)]
    return marked(generator, known[0], EITHER) if known else UNKNOWN


def _reduction(generator: Any, node: ast.Call) -> Any:
    """Over an axis that there is not: of a block of one dimension a scalar, else who knows of what shape."""
    owner = _value(generator, node.args[0]) if node.args else UNKNOWN
    if not isinstance(owner, core.tensor):
        return UNKNOWN
    sizes = shape(owner)
    sure = len(sizes) == 1 and not doubt_of(owner) & SHAPE
    small = owner.type.scalar.is_int() and owner.type.scalar.int_bitwidth < 32
    element = core.int32 if small else owner.type.scalar
    return _of_type(generator, sizes[1:], element, doubt_of(owner) | (0 if sure else SHAPE))


_CALLS = {
    "arange": _range,
    "load": _load,
    "to": _conversion,
    "cast": _conversion,
    "zeros": _zeros,
    "make_block_ptr": _block_pointer,
    "dot": _product,
    "where": _selection,
    "sum": _reduction,
    "max": _reduction,
    "min": _reduction,
}


def _look(generator: Any, node: ast.expr) -> Any:
    """The value of a part of what failed, which may not have been looked at yet; UNKNOWN where it has none."""
    if isinstance(node, ast.Constant):
        return core.constexpr(node.value)
    if facts.place(node) not in generator.values and generator.statements:
        generator.look_at_part(generator.statements[-1], node)
    return _value(generator, node)


def _value(generator: Any, node: Any) -> Any:
    return generator.values.get(facts.place(node), UNKNOWN) if spans.has_place(node) else UNKNOWN


def shape(value: Any) -> tuple[int, ...]:
    """A tensor's sizes, none for a scalar."""
    return tuple(int(core._unwrap_if_constexpr(n)) for n in value.shape) if value.type.is_block() else ()


def _is_pointer(value: Any) -> bool:
    return isinstance(value, core.tensor) and bool(value.type.scalar.is_ptr())


def _of_type(generator: Any, sizes: tuple[int, ...], element: Any, doubt: int) -> Any:
    """A value of a type without a content; where a fault was, no module is kept."""
    kind = core.block_type(element, list(sizes)) if sizes else element
    return marked(generator, core.tensor(generator.builder.create_poison(kind.to_ir(generator.builder)), kind), doubt)
