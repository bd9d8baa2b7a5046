"""The abstract values of usage inference: what an expression of a kernel owes to the kernel's parameters.

A value does not say what an expression *is* but which parameters it follows, and in which respect: the element type
(`kin`), the shape (`shape`), the constant it stands for (`value`), and whether it may be a pointer that came in
(`base`). The respects are kept apart because a guess about one of them says nothing about the others: that `n` is a
32-bit integer has no bearing on the type of `tl.load(p + i, mask=i < n)`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kernel_ls.model import Json


class Missing(enum.Enum):
    """The absence of a known constant (None is a constant)."""

    MISSING = 0


MISSING = Missing.MISSING

_NOBODY: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A parameter (`depth` 0), what a load through it gives (1), what a load through that gives (2), and so on.

    An element of a parameter that is a tuple has the parameter's name with an index: `args[0]`.
    """

    param: str
    depth: int = 0

    @property
    def pointee(self) -> Origin:
        """What a load through this origin gives."""
        return Origin(self.param, self.depth + 1)

    @property
    def root(self) -> str:
        """The parameter's own name, without an index."""
        return self.param.partition("[")[0]


@dataclass(slots=True)
class Abstract:
    """What is known of an expression's value without types.

    Nothing changes one that is made; it is not declared frozen because making a frozen one takes three times as long, and
    millions are made.

    Attributes:
        base: origins that this value is, up to additions of offsets; one of them may be a pointer.
        kin: origins whose element type this value's element type follows.
        shape: parameters that its shape follows.
        value: parameters that decide which constant (or None, or which function) it is.
        known: the constant itself, where no guess is needed for it.
        kind: `int`, `float`, `bool`, `pointer`, `dtype`, `descriptor`, `string`, `function`, or empty.
        items: the elements of a tuple or list.
        members: the fields of an instance, or of a namespace.
        target: the wire value of a function, class, module or Triton object.
        bound: the receiver, where this is a method.
        type_of: for a dtype, the origins whose element type it is.
        constant: whether nothing that exists only at run time went into it.
        factors: constexpr parameters that it is a multiple of, or a sum of multiples of: the sizes of blocks that it steps over.
    """

    base: frozenset[Origin] = _NOBODY
    kin: frozenset[Origin] = _NOBODY
    shape: frozenset[str] = _NOBODY
    value: frozenset[str] = _NOBODY
    known: Any = MISSING
    kind: str = ""
    items: tuple[Abstract, ...] | None = None
    members: tuple[tuple[str, Abstract], ...] | None = None
    target: Any = None
    bound: Abstract | None = None
    type_of: frozenset[Origin] = _NOBODY
    constant: bool = False
    factors: frozenset[str] = _NOBODY

    @property
    def depends(self) -> frozenset[str]:
        """Every parameter whose type, shape or value this value's type, shape or constant follows."""
        if not (self.items or self.members):
            if not (self.kin or self.type_of or self.base):
                return union((self.shape, self.value))
            found = {o.root for o in self.kin}
            if self.type_of:
                found.update(o.root for o in self.type_of)
            if self.base and self.base is not self.kin:
                found.update(o.root for o in self.base)
            return frozenset(found).union(self.shape, self.value)
        found = {o.root for o in self.kin} | {o.root for o in self.type_of} | {o.root for o in self.base}
        found |= self.shape | self.value
        for item in self.items or ():
            found |= item.depends
        for _, member in self.members or ():
            found |= member.depends
        return frozenset(found)

    @property
    def is_known(self) -> bool:
        """Whether the constant is known."""
        return self.known is not MISSING

    def member(self, name: str) -> Abstract | None:
        """The field of that name, if it is one."""
        for key, value in self.members or ():
            if key == name:
                return value
        return None


NOTHING = Abstract()
"""A value of which nothing is known, and that follows no parameter."""

NONE = Abstract(known=None, constant=True)


def literal(value: Any) -> Abstract:
    """The abstract value of a Python constant."""
    kind = ""
    if isinstance(value, bool):
        kind = "bool"
    elif isinstance(value, int):
        kind = "int"
    elif isinstance(value, float):
        kind = "float"
    elif isinstance(value, str):
        kind = "string"
    return Abstract(known=value, kind=kind, constant=True)


def sequence(items: Iterable[Abstract]) -> Abstract:
    """A tuple of `items`."""
    held = tuple(items)
    known: Any = MISSING
    if all(i.is_known for i in held):
        known = tuple(i.known for i in held)
    return Abstract(
        items=held,
        known=known,
        constant=all(i.constant for i in held),
        value=frozenset().union(*(i.value for i in held)) if held else _NOBODY,
    )


def of_wire(value: Json) -> Abstract:
    """The abstract value of a wire value (ARCHITECTURE.md, "Values")."""
    if not isinstance(value, dict):
        return NOTHING
    kind = value.get("k")
    if kind == "lit":
        return literal(value.get("v"))
    if kind == "float":
        return Abstract(known=float(value["v"]), kind="float", constant=True)
    if kind == "constexpr":
        return of_wire(value.get("v"))
    if kind in ("tuple", "list"):
        return sequence(of_wire(v) for v in value.get("items", ()))
    if kind == "instance":
        fields = value.get("fields")
        if isinstance(fields, dict):
            held = tuple((str(k), of_wire(v)) for k, v in fields.items())
            return Abstract(members=held, target=value, constant=True)
        return Abstract(target=value, constant=True)
    if kind == "ref" and is_dtype_path(str(value.get("path", ""))):
        return Abstract(kind="dtype", target=value, constant=True)
    if kind in ("fn", "class", "ref", "module"):
        return Abstract(kind="function" if kind == "fn" else "", target=value, constant=True)
    return Abstract(constant=kind == "opaque", target=value)


DTYPES = frozenset(
    [
        "void",
        "int1",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "float8e5",
        "float8e5b16",
        "float8e4nv",
        "float8e4b8",
        "float8e4b15",
    ]
)


def is_dtype_path(path: str) -> bool:
    """Whether a dotted path names one of Triton's element types."""
    return path.startswith("triton.") and path.rpartition(".")[2] in DTYPES


def join(*values: Abstract) -> Abstract:
    """A value that may be any of `values`."""
    distinct = [v for i, v in enumerate(values) if v not in values[:i]]
    if not distinct:
        return NOTHING
    first = distinct[0]
    if len(distinct) == 1:
        return first
    items: tuple[Abstract, ...] | None = None
    if all(v.items is not None and len(v.items) == len(first.items or ()) for v in distinct):
        items = tuple(join(*column) for column in zip(*(v.items or () for v in distinct), strict=True))
    members: tuple[tuple[str, Abstract], ...] | None = None
    names = [tuple(k for k, _ in v.members or ()) for v in distinct]
    if first.members is not None and all(n == names[0] for n in names):
        members = tuple((name, join(*(v.member(name) or NOTHING for v in distinct))) for name in names[0])
    kinds = {v.kind for v in distinct if not (v.is_known and v.known is None)}
    return Abstract(
        base=union(v.base for v in distinct),
        kin=union(v.kin for v in distinct),
        shape=union(v.shape for v in distinct),
        value=union(v.value for v in distinct),
        known=first.known if all(v.known == first.known and v.is_known for v in distinct) else MISSING,
        kind=kinds.pop() if len(kinds) == 1 else "",
        items=items,
        members=members,
        target=first.target if all(v.target == first.target for v in distinct) else None,
        bound=first.bound if all(v.bound == first.bound for v in distinct) else None,
        type_of=union(v.type_of for v in distinct),
        constant=all(v.constant for v in distinct),
        factors=union(v.factors for v in distinct),
    )


def union(sets: Iterable[frozenset[Any]]) -> frozenset[Any]:
    """The union, without building a set where there is one or none."""
    result: frozenset[Any] = _NOBODY
    for each in sets:
        if each and each is not result:
            result = each if not result else result | each
    return result


def following(values: Iterable[Abstract], **changes: Any) -> Abstract:
    """A value that follows `values` in element type, shape and constant, and is none of them."""
    held = tuple(values)
    constant = all(v.constant for v in held)
    result = Abstract(
        kin=union(v.kin for v in held),
        shape=union(v.shape for v in held),
        # A value that exists at run time is no constant, whatever constants went into it.
        value=union(v.value for v in held) if constant else _NOBODY,
        constant=constant,
    )
    for name, change in changes.items():
        setattr(result, name, change)
    return result


def replace(value: Abstract, /, **changes: Any) -> Abstract:
    """A value with some attributes changed, as `dataclasses.replace` makes it, at a third of its cost."""
    made = Abstract(
        *(value.base, value.kin, value.shape, value.value, value.known, value.kind, value.items, value.members),
        *(value.target, value.bound, value.type_of, value.constant, value.factors),
    )
    for name, change in changes.items():
        setattr(made, name, change)
    return made
