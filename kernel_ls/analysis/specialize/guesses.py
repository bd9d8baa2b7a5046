"""From how a parameter is used to what it is likely to be, and to what else it may be.

A guess is a list of candidates, the likeliest first: the first goes into the plan, the others are what repair may try.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernel_ls.model import EvidenceKind, Json, UnitSpan

from . import names
from .usage import Mark, Usage, Use
from .values import Origin

FLOAT, INT, BOOL = "float", "int", "bool"

POINTEES = {
    FLOAT: ("fp32", "fp16", "bf16", "fp8e4nv"),
    INT: ("i32", "i64", "i8", "u8", "i16"),
    BOOL: ("i1", "i8", "u8"),
}
"""Element types of each class, the likeliest first. Single precision comes first because the functions of `tl.math` take it
and half precision may not meet it in a loop."""

TILE = 32
"""Size of a block where nothing tells: enough for a matrix multiplication, small enough to generate fast."""

EXTENT = 64
"""Value of a constant that is used in arithmetic alone: a number of columns, heads, a head's size."""

UNROLLED = 2
"""Bound of an unrolled loop."""

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "input_precision": ("ieee", "tf32", "tf32x3"),
    "eviction_policy": ("", "evict_first", "evict_last"),
    "cache_modifier": ("", ".ca", ".cg"),
    "padding_option": ("zero", "nan"),
    "sem": ("relaxed", "acq_rel"),
    "scope": ("gpu", "cta", "sys"),
    "lhs_format": ("e4m3", "e5m2", "e2m1", "bf16"),
    "rhs_format": ("e4m3", "e5m2", "e2m1", "bf16"),
    "fp_downcast_rounding": ("rtne", "rtz"),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a parameter may be, and why.

    `dims` holds, for a descriptor, per dimension the parameters whose values are likely its block's size; `blank` is the
    size, or the parameter of that value, of dimensions for which there are none.
    """

    type: Any
    value: Json = None
    kind: EvidenceKind = EvidenceKind.USE
    detail: str = ""
    span: UnitSpan | None = None
    dims: tuple[tuple[str, ...], ...] | None = None
    blank: int | str = 1

    @property
    def same(self) -> tuple[str, str]:
        """What makes two candidates equal, their reasons aside."""
        return (str(self.type), repr(self.value) + repr(self.dims) + repr(self.blank))


def lit(value: Any) -> Json:
    """The wire value of a literal."""
    return {"k": "lit", "v": value}


def dtype(name: str) -> Json:
    """The wire value of one of Triton's element types by its long name."""
    return {"k": "ref", "path": f"triton.language.{name}"}


NONE = Candidate("constexpr", lit(None), detail="None")


# ------------------------------------------------------------------------------------------------- run-time values


def pointee_class(usage: Usage, origin: Origin) -> tuple[str, EvidenceKind, str, UnitSpan | None]:
    """The class of what a pointer points to, and why."""
    found = _class_by_use(usage, origin.pointee)
    if found is None:
        for first, second in sorted(usage.same_type):
            for one, other in ((first, second), (second, first)):
                if one == origin.pointee and found is None:
                    found = _class_by_use(usage, other)
    if found is not None:
        return found[0], EvidenceKind.USE, found[1], found[2]
    if names.integer_pointee_like(origin.root):
        return INT, EvidenceKind.NAME, "its name is one of indices or lengths", None
    return FLOAT, EvidenceKind.USE, "the pointer of a memory access, of no particular type", None


def _class_by_use(usage: Usage, loaded: Origin) -> tuple[str, str, UnitSpan | None] | None:
    uses = usage.uses(loaded)
    if Use.POINTER_CAST in uses:
        return "i64", "what it loads is cast to a pointer", _span(usage, loaded, Use.POINTER_CAST)
    for use, kind, phrase in (
        (Use.INDEX, INT, "what it loads is an index"),
        (Use.MATRIX, FLOAT, "what it loads is multiplied as a matrix"),
        (Use.INTEGER, INT, "what it loads is used in integer arithmetic"),
        (Use.FLOAT, FLOAT, "what it loads is used in floating-point arithmetic"),
        (Use.BITS, INT, "what it loads is used in bitwise operations"),
        (Use.MASK, BOOL, "what it loads is used as a mask"),
        (Use.TEST, BOOL, "what it loads is tested"),
    ):
        if use in uses:
            return kind, phrase, _span(usage, loaded, use)
    casts = usage.details(loaded, Use.CAST)
    if INT in casts and FLOAT not in casts:
        return INT, "what it loads is converted to an integer", _span(usage, loaded, Use.CAST)
    if BOOL in casts:
        return BOOL, "what it loads is converted to a boolean", _span(usage, loaded, Use.CAST)
    stored = usage.details(loaded, Use.STORED)
    if FLOAT in stored:
        return FLOAT, "a floating-point number is stored through it", _span(usage, loaded, Use.STORED)
    if stored and set(stored) <= {INT}:
        return INT, "an integer is stored through it", _span(usage, loaded, Use.STORED)
    if stored and set(stored) <= {BOOL}:
        return BOOL, "a boolean is stored through it", _span(usage, loaded, Use.STORED)
    compared = usage.details(loaded, Use.COMPARED)
    if any(isinstance(v, int) and not isinstance(v, bool) and v not in (0, 1) for v in compared):
        return INT, "what it loads is compared with an integer", _span(usage, loaded, Use.COMPARED)
    return None


def pointer(usage: Usage, origin: Origin, evident: str = "", location: UnitSpan | None = None) -> tuple[Candidate, ...]:
    """Candidates for a parameter that is a pointer. `evident` says what shows that it is one, if that is no guess."""
    kind, evidence, why, span = pointee_class(usage, origin)
    classes = (kind, *(c for c in (FLOAT, INT, BOOL) if c != kind)) if kind in POINTEES else (FLOAT, INT)
    order = [] if kind in POINTEES else [kind]
    order += POINTEES[classes[0]][:3] if classes[0] in POINTEES else []
    order += [POINTEES[c][0] for c in classes[1:]]
    order += [e for c in classes for e in POINTEES[c] if e not in order]
    text = f"{evident}; {why}" if evident else why
    return tuple(Candidate("*" + element, kind=evidence, detail=text, span=location or span) for element in order)


def scalar(usage: Usage, origin: Origin) -> tuple[Candidate, ...]:
    """Candidates for a parameter that is a number."""
    uses = usage.uses(origin)
    integral = usage.first(origin, Use.INDEX, Use.INTEGER, Use.SIZE, Use.UNROLL, Use.CONSTANT, Use.BITS)
    as_int = Candidate("i32", detail="a number", span=_any(usage, origin))
    as_float = Candidate("fp32", detail="a number", span=_any(usage, origin))
    if integral is not None:
        found = replace(as_int, detail=integral.use.value, span=integral.span)
        return (found, replace(found, type="i64"), as_float)
    mark = usage.first(origin, Use.FLOAT)
    if mark is not None:
        found = replace(as_float, detail=mark.use.value, span=mark.span)
        return (found, as_int, replace(found, type="fp64"))
    if Use.POINTER_CAST in uses:
        mark = usage.first(origin, Use.POINTER_CAST)
        return (Candidate("i64", detail="cast to a pointer", span=mark.span if mark else None), as_int)
    if names.float_like(origin.root) and not names.stride_like(origin.root):
        return (replace(as_float, kind=EvidenceKind.NAME, detail="its name is one of a real number"), as_int)
    if _meets_floats(usage, origin):
        return (replace(as_float, detail="combined with floating-point numbers"), as_int)
    return (as_int, as_float, replace(as_int, type="i64"))


def _meets_floats(usage: Usage, origin: Origin) -> bool:
    """Whether everything that a number is multiplied with or added to is floating point."""
    others: set[Origin] = set()
    for detail in usage.details(origin, Use.WITH):
        others |= set(detail)
    loaded = [o for o in others if o.depth > 0]
    return bool(loaded) and all((found := _class_by_use(usage, o)) is not None and found[0] == FLOAT for o in loaded)


def runtime(usage: Usage, name: str, *, index: str = "") -> tuple[Candidate, ...]:
    """Candidates for a parameter whose value exists only at run time, by its use and its name."""
    origin = Origin(index or name)
    uses = usage.uses(origin)
    if Use.DESCRIPTOR in uses:
        return _descriptor(usage, origin)
    unit = usage.first(origin, Use.UNIT)
    if unit is not None and not index:
        # A launch that passes 1 makes it a constant, and no other is possible.
        one = Candidate("constexpr", lit(1), detail=Use.UNIT.value, span=unit.span)
        return (one, *scalar(usage, origin))
    elements = usage.details(origin, Use.TUPLE)
    if Use.TUPLE in uses and not index:
        return _tuple(usage, name, elements)
    addressed = usage.first(origin, Use.ADDRESS, Use.ELEMENT_TYPE)
    if addressed is not None:
        found = pointer(usage, origin)
        if names.says_pointer(name):
            return found
        return (*found[:4], Candidate("i32", detail="a number", span=addressed.span), *found[4:])
    numbers = scalar(usage, origin)
    if not uses & {
        Use.NUMBER,
        Use.INDEX,
        Use.INTEGER,
        Use.FLOAT,
        Use.SIZE,
        Use.UNROLL,
        Use.BITS,
        Use.POINTER_CAST,
        Use.WITH,
    }:
        # Nothing is done with it that tells a pointer from a number.
        as_pointer = tuple(
            replace(c, kind=EvidenceKind.NAME, detail="its name is a pointer's") for c in pointer(usage, origin)[:3]
        )
        if names.pointer_like(name):
            return (*as_pointer, *numbers, NONE)
        return (*numbers, *as_pointer, NONE)
    return (*numbers, NONE)


def _descriptor(usage: Usage, origin: Origin) -> tuple[Candidate, ...]:
    details = [d for d in usage.details(origin, Use.DESCRIPTOR) if d is not None]
    mark = usage.first(origin, Use.DESCRIPTOR)
    dims: tuple[tuple[str, ...], ...] = details[0][1] if details else ((), ())
    kind, _, why, _ = pointee_class(usage, origin)
    order = POINTEES[kind if kind in POINTEES else FLOAT]
    first = Candidate(
        f"tensordesc<{order[0]}>",
        detail=f"used as a tensor descriptor; {why}",
        span=mark.span if mark else None,
        dims=dims,
    )
    # A dimension that the kernel does not step over in blocks is taken one by one, or whole.
    sizes = [o.param for o in usage.marks if o.depth == 0 and Use.SIZE in usage.uses(o)]
    blanks: list[int | str] = [1, *sizes, TILE] if not all(dims) else [1]
    shapes = [replace(first, blank=blank) for blank in blanks]
    return (*shapes, *(replace(first, type=f"tensordesc<{element}>") for element in ("fp16", "bf16", "i32", "i8")))


def _tuple(usage: Usage, name: str, elements: Iterable[Any]) -> tuple[Candidate, ...]:
    count = max([e for e in elements if isinstance(e, int) and e >= 0], default=1) + 1
    mark = usage.first(name, Use.TUPLE)
    if usage.first(Origin(name), Use.ADDRESS, Use.ELEMENT_TYPE) is not None:
        # Indexed by the variable of an unrolled loop, and loaded from: all are pointers.
        element = pointer(usage, Origin(name))[0].type
        parts = tuple(element for _ in range(count))
    else:
        parts = tuple(runtime(usage, name, index=f"{name}[{i}]")[0].type for i in range(count))
    first = Candidate(parts, detail="indexed as a tuple", span=mark.span if mark else None)
    longer = [parts[-1:] * (size - count) for size in (2, 4, 8) if size > count]
    return (first, *(replace(first, type=(*parts, *more)) for more in longer))


# ------------------------------------------------------------------------------------------------- constants


def constant(usage: Usage, name: str) -> tuple[Candidate, ...]:
    """Candidates for a constexpr parameter of which nothing but its use is known."""
    origin = Origin(name)
    uses = usage.uses(origin)

    def of(
        values: Iterable[Any], use: Use | None, phrase: str, kind: EvidenceKind = EvidenceKind.USE
    ) -> tuple[Candidate, ...]:
        mark = usage.first(origin, use) if use is not None else None
        span = mark.span if mark is not None else None
        held = [v if isinstance(v, dict) else lit(v) for v in values]
        return tuple(Candidate("constexpr", v, kind, phrase, span) for v in held)

    none = (NONE,) if Use.NONE in uses else ()
    if Use.STRING in uses:
        return (*of(usage.details(origin, Use.STRING), Use.STRING, "compared with a string"), *none)
    if Use.CALLED in uses:
        missing = {"k": "unknown", "reason": f"which function is passed for `{name}` is not known", "name": name}
        return (*of([missing], Use.CALLED, "called"), *none)
    if Use.DTYPE in uses:
        named = [d for d in usage.details(origin, Use.COMPARED) if isinstance(d, str)]
        order = [dtype(n) for n in ("float32", "float16", "bfloat16", "int32", "int64")]
        order += [{"k": "ref", "path": path} for path in named if {"k": "ref", "path": path} not in order]
        return (*of(order, Use.DTYPE, "used as an element type"), *none)
    for detail in usage.details(origin, Use.OPTION):
        if isinstance(detail, tuple) and detail[-1] in _OPTIONS:
            return (*of(_OPTIONS[detail[-1]], Use.OPTION, f"passed as `{detail[-1]}`"), *none)
    if Use.UNIT in uses:
        return of((1,), Use.UNIT, Use.UNIT.value)
    sized = uses & {Use.SIZE, Use.UNROLL, Use.MATRIX, Use.CONSTANT}
    arithmetic = uses & {Use.NUMBER, Use.INDEX, Use.INTEGER, Use.BITS, Use.WITH}
    compared = [v for v in usage.details(origin, Use.COMPARED) if isinstance(v, (int, float))]
    if sized or Use.INDEX in uses or Use.INTEGER in uses:
        return (*_sizes(usage, origin, of, compared), *none)
    if Use.FLOAT in uses or (names.float_like(name) and arithmetic and not compared):
        return (*of((0.5, 1.0, 1), Use.FLOAT, "used in floating-point arithmetic"), *none)
    if compared:
        if all(isinstance(v, bool) for v in compared):
            return (*of((True, False), Use.COMPARED, "compared with a boolean"), *none)
        numbers = [v for v in compared if not isinstance(v, bool)]
        other = max(numbers) + 1
        if isinstance(other, float):
            return (*of((*numbers, other), Use.COMPARED, "compared with a number"), *none)
        order = [*dict.fromkeys([*numbers, other, EXTENT, *(v - 1 for v in numbers if v > 0)])]
        return (*of(order, Use.COMPARED, "compared with a number"), *none)
    if Use.TEST in uses and not arithmetic:
        return (*of((True, False), Use.TEST, "tested for truth"), *none)
    if none:
        return (*none, *of((EXTENT,), None, "a number"))
    if not uses and names.boolean_like(name):
        return of((True, False), None, "its name is a flag's", EvidenceKind.NAME)
    if arithmetic and (names.boolean_like(name) or Use.TEST in uses):
        return of((True, False, EXTENT, 1), Use.NUMBER, "tested, and used in arithmetic")
    if arithmetic:
        return (*of((EXTENT, 16, 1, 2, 1.0, True), Use.NUMBER, "used in arithmetic"),)
    return of(
        (True, EXTENT, dtype("float32")) if names.boolean_like(name) else (EXTENT, True),
        None,
        "not used in a way that tells",
    )


def _sizes(usage: Usage, origin: Origin, of: Any, compared: list[Any]) -> tuple[Candidate, ...]:
    uses = usage.uses(origin)
    direct = any(m.use is Use.SIZE and m.detail for m in usage.of(origin))
    unrolled = any(m.use is Use.UNROLL and m.detail == "bound" for m in usage.of(origin))
    numbers = [v for v in compared if isinstance(v, int) and not isinstance(v, bool)]
    near = [v for n in numbers if 0 < n <= 1024 for v in (n, n * 2)]
    if Use.SHIFT in uses:
        order, use, phrase = [4, 2, 1, 8], Use.SHIFT, "the number of bits of a shift"
    elif unrolled:
        order, use, phrase = [UNROLLED, 4, 1, 16, 8], Use.UNROLL, "the bound of an unrolled loop"
    elif direct:
        order, use, phrase = [TILE, 64, 16, 128, *near, 2, 256], Use.SIZE, "the size of a block"
    elif Use.SIZE in uses:
        order, use, phrase = [TILE, 64, 16, 2, 1, 4, 128, *near], Use.SIZE, "part of the size of a block"
    elif Use.CONSTANT in uses and Use.NUMBER not in uses:
        order, use, phrase = [0, 1, 2, 16], Use.CONSTANT, "an argument that has to be constant"
    elif set(numbers) and max(numbers) <= 8:
        order, use, phrase = [*numbers, max(numbers) + 1, 2, EXTENT], Use.COMPARED, "compared with a number"
    else:
        order, use, phrase = [EXTENT, *near, TILE, 16, 2, 1, 128, 4], Use.INDEX, "a number used in integer arithmetic"
    if Use.TEST in uses:
        order.append(0)
    return tuple(of(dict.fromkeys(order), use, phrase))


def _span(usage: Usage, origin: Origin, use: Use) -> UnitSpan | None:
    mark = usage.first(origin, use)
    return mark.span if mark is not None else None


def _any(usage: Usage, origin: Origin) -> UnitSpan | None:
    marks: tuple[Mark, ...] | list[Mark] = list(usage.of(origin))
    return marks[0].span if marks else None
