"""Values of host code that exist only when it runs. Each has an identity, `id`, that is equal for equal computations.

Host
├── Symbol       anything
├── Tensor       a tensor
├── Number       an integer, float, bool or one of them
├── Sizes        a shape or strides of a rank that may not be known
├── Tensors      a sequence of tensors
├── Descriptor   a tensor descriptor
└── Context      the `ctx` of an autograd function
Launcher         a kernel with its grid, or with the method that launches it
HostMethod       a method of one of these
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from kernel_ls.analysis.environment import Abstract, FunctionValue

Kind = Literal["int", "float", "bool", "number"]


@dataclass(frozen=True, eq=False)
class Host(Abstract):
    """A value that is known only when the code runs."""

    id: int
    text: str

    def describe(self) -> str:
        return f"`{self.text}`" if self.text else "a value of the host code"


@dataclass(frozen=True, eq=False)
class Symbol(Host):
    """A value of which nothing is known at first."""


@dataclass(frozen=True, eq=False)
class Tensor(Host):
    """A tensor. `dtype` is a value (a torch dtype's name, a Symbol); `shape` a tuple or Sizes."""

    dtype: Any
    shape: Any = None
    contiguous: bool = False


@dataclass(frozen=True, eq=False)
class Number(Host):
    """A number. A bool may have a `predicate`: what it states, and whether it denies that."""

    kind: Kind
    predicate: Predicate | None = None
    wide: bool = False


@dataclass(frozen=True)
class Predicate:
    """A statement about values that a course of the code decides: `subject` relates to `object`."""

    key: tuple[Any, ...]
    negated: bool
    relation: str
    subject: Any = field(compare=False, default=None)
    object: Any = field(compare=False, default=None)

    def denied(self) -> Predicate:
        """The opposite."""
        return Predicate(self.key, not self.negated, self.relation, self.subject, self.object)


@dataclass(frozen=True, eq=False)
class Sizes(Host):
    """A shape or strides of a tensor whose rank is not known at first; `rank_id` is that of the tensor's shape."""

    rank_id: int


@dataclass(frozen=True, eq=False)
class Tensors(Host):
    """A sequence of tensors, such as `x.split(...)` gives."""

    dtype: Any


@dataclass(frozen=True, eq=False)
class Descriptor(Host):
    """A tensor descriptor on the host."""

    dtype: Any
    block: Any


@dataclass(frozen=True, eq=False)
class Context(Host):
    """The `ctx` of an autograd function: what is stored in it is what is read from it."""

    fields: dict[str, Any] = field(default_factory=dict)

    def is_object(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Launcher(Abstract):
    """`kernel[grid]`, `kernel.run` or `kernel.warmup`."""

    kernel: FunctionValue
    style: str
    grid: Any = None
    """The grid's syntax."""
    path: str = ""
    """The file that the grid's syntax is in."""

    def describe(self) -> str:
        return f"a launch of {self.kernel.describe()}"

    def truth(self) -> bool | None:
        return True


@dataclass(frozen=True, eq=False)
class HostMethod(Abstract):
    """A method of a host value."""

    receiver: Any
    name: str

    def describe(self) -> str:
        return f"the method `{self.name}`"

    def truth(self) -> bool | None:
        return True
