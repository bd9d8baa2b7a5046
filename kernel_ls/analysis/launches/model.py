"""What is known of a launch: who is launched, from where, with which arguments.

One call in the text may give several `Launch`es: host code takes one course or another before it, and each course that was
followed is one *case* of the call, whose arguments belong together.

    Launch ── arguments: LaunchArgument ── value: plain data | Ref | Opaque | FunctionValue
                                                | TensorOf | NumberOf | DescriptorOf | TypeOf | Unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.model import Location
from kernel_ls.pyeval import Unknown

Style = Literal["subscript", "run", "warmup", "ASTSource", "call"]


@dataclass(frozen=True, slots=True)
class TensorOf:
    """A tensor; `element` is Triton's name of its element type (`fp16`), or None where that is not known."""

    element: str | None = None


@dataclass(frozen=True, slots=True)
class NumberOf:
    """A number that is not the same at every launch. `kind` is `number` where it may be integral or not."""

    kind: Literal["int", "float", "bool", "number"]
    wide: bool = False
    """An address, which needs 64 bits."""


@dataclass(frozen=True, slots=True)
class DescriptorOf:
    """A tensor descriptor: element type and sizes of its block, each None where it is not known."""

    element: str | None = None
    block: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TypeOf:
    """An argument of which the text states the type, as `ASTSource`'s signature does."""

    type: str


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """One argument of a launch.

    Attributes:
        name: the parameter that it is for; None where an unpacked argument before it hides that.
        value: what is known of it; `Unknown` with a reason where that is nothing.
        location: where it is written; the call itself, where it comes from elsewhere (a `functools.partial`).
        keyword: whether it is passed by name.
        source: its text.
    """

    name: str | None
    value: Any
    location: Location
    keyword: bool = False
    source: str = ""

    @property
    def is_known(self) -> bool:
        """Whether something is known of it."""
        return not isinstance(self.value, Unknown)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a jit function, in one course of the host code.

    Attributes:
        kernel: the jit function, as its document has it.
        location: the call.
        style: how it is launched; `call` is a call without a grid, which Triton rejects.
        grid: the grid as written, or None.
        arguments: those for the kernel's parameters, in order of the call.
        options: `num_warps` and other arguments that are no parameters: their values.
        function: qualified name of the function that launches; empty at the top of a module.
        incomplete: whether unpacked arguments (`*args`, `**kwargs`) could not be resolved.
        case: counts the cases of one call, the one that knows most first.
    """

    kernel: JitFunction
    location: Location
    style: Style
    grid: Location | None = None
    arguments: tuple[LaunchArgument, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    function: str = ""
    incomplete: bool = False
    case: int = 0

    @property
    def path(self) -> str:
        """The file that launches."""
        return self.location.path

    def argument(self, name: str) -> LaunchArgument | None:
        """The argument for a parameter."""
        return next((a for a in self.arguments if a.name == name), None)

    @property
    def known(self) -> int:
        """Of how many arguments something is known."""
        return sum(a.is_known for a in self.arguments)

    def is_of(self, kernel: JitFunction) -> bool:
        """Whether it launches a kernel, be it of an earlier parse of the same text."""
        return self.kernel.path == kernel.path and self.kernel.key == kernel.key
