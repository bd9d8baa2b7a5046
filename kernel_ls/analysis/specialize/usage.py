"""How a kernel uses its parameters, over everything it calls, and what hangs on each of them.

The facts come from `flow`, which follows values through the units of a program; this module holds them and answers
questions about them. Nothing here decides what a parameter is: `guesses` does, from these facts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_ls.model import UnitSpan

from .values import Origin


class Use(enum.Enum):
    """One way to use a value. The text finishes the sentence "it is ..."."""

    ADDRESS = "the pointer of a memory access"
    DESCRIPTOR = "used as a tensor descriptor"
    POINTER_CAST = "cast to a pointer"
    ELEMENT_TYPE = "asked for the type it points to"
    STORED = "stored"
    INDEX = "an index or a loop bound"
    INTEGER = "used in integer arithmetic"
    BITS = "used in bitwise operations"
    SHIFT = "the number of bits of a shift"
    MASK = "used as a mask"
    FLOAT = "used in floating-point arithmetic"
    MATRIX = "multiplied as a matrix"
    NUMBER = "used in arithmetic"
    WITH = "combined with other values"
    CAST = "converted to another type"
    SIZE = "the size of a block"
    UNROLL = "the bound of an unrolled loop"
    CONSTANT = "an argument that has to be constant"
    UNIT = "the last stride of a tensor descriptor, which has to be 1"
    DTYPE = "used as an element type"
    TEST = "tested for truth"
    NONE = "compared with None"
    STRING = "compared with a string"
    COMPARED = "compared with a number"
    OPTION = "passed as an option"
    CALLED = "called"
    TUPLE = "indexed or unpacked"
    MEMBER = "asked for an attribute"


@dataclass(frozen=True, slots=True)
class Mark:
    """One use of a value that came in through a parameter, and where."""

    use: Use
    span: UnitSpan
    detail: Any = None
    """STRING, COMPARED: the constant; OPTION: function and argument; MEMBER: the name; DESCRIPTOR: the rank, and per
    dimension the constants in its offset; WITH: the origins of the other side; CAST, STORED: `int`, `float`, `bool` or empty."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a test that the generator decides: where the test stands, and which way it went."""

    span: UnitSpan
    taken: bool


@dataclass(frozen=True, slots=True)
class Test:
    """A test on constants alone, and the parameters it hangs on."""

    span: UnitSpan
    params: frozenset[str]


@dataclass
class Usage:
    """The facts about one kernel.

    Attributes:
        marks: the uses of each origin, in order met.
        depends: per unit, the parameters that the type, shape or constant of each expression hangs on.
        same_type: pairs of origins whose element types have to be equal, as the kernel says itself.
        tests: tests decided at compile time.
        arms: the sides of such tests that were followed.
        guards: for each pointer parameter, the constexpr parameters under whose test every access through it stands.
        related: sets of constexpr parameters that one assertion or division relates.
    """

    marks: dict[Origin, list[Mark]] = field(default_factory=dict)
    depends: dict[str, dict[tuple[int, int, int, int], frozenset[str]]] = field(default_factory=dict)
    same_type: set[tuple[Origin, Origin]] = field(default_factory=set)
    tests: dict[UnitSpan, Test] = field(default_factory=dict)
    arms: set[Arm] = field(default_factory=set)
    guards: dict[str, frozenset[str]] = field(default_factory=dict)
    related: set[frozenset[str]] = field(default_factory=set)
    truncated: bool = False

    def of(self, origin: Origin | str) -> Sequence[Mark]:
        """The marks of an origin; a name means the parameter itself."""
        return self.marks.get(Origin(origin) if isinstance(origin, str) else origin, ())

    def uses(self, origin: Origin | str) -> frozenset[Use]:
        """The distinct uses of an origin."""
        return frozenset(m.use for m in self.of(origin))

    def first(self, origin: Origin | str, *uses: Use) -> Mark | None:
        """The first mark of one of `uses`, in the order in which the uses are named."""
        for use in uses:
            for mark in self.of(origin):
                if mark.use is use:
                    return mark
        return None

    def details(self, origin: Origin | str, use: Use) -> tuple[Any, ...]:
        """The distinct details of the marks of one use, in order met."""
        found: list[Any] = []
        for mark in self.of(origin):
            if mark.use is use and mark.detail not in found:
                found.append(mark.detail)
        return tuple(found)

    def hangs_on(self, spans: Iterable[UnitSpan]) -> frozenset[str]:
        """The parameters that the expressions within `spans` hang on."""
        found: frozenset[str] = frozenset()
        for span in spans:
            for (line, column, end_line, end_column), params in self.depends.get(span.unit, {}).items():
                inside = (span.line, span.column) <= (line, column)
                if inside and (end_line, end_column) <= (span.end_line, span.end_column):
                    found |= params
        return found


Assignment = Mapping[str, Any]
"""Python constants of constexpr parameters by name."""
