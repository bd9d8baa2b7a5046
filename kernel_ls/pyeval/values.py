"""What an evaluation is made of beside the values of its code: Unknown, the budget, frames, and signals."""

from __future__ import annotations

import ast
import builtins
from typing import Any, Iterator, Protocol


class _Missing:
    """The absence of a value, where None is one."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


class Unknown:
    """A value that exists and cannot be known by evaluation. It propagates through every operation.

    Args:
        reason: why, in plain words, for a person who asks.
        name: the dotted name that could not be known, if there is one.
    """

    __slots__ = ("name", "reason")

    def __init__(self, reason: str, name: str = "") -> None:
        self.reason = reason
        self.name = name

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"


def is_unknown(value: Any) -> bool:
    """Whether `value` is Unknown itself (not a container that holds one)."""
    return isinstance(value, Unknown)


# ------------------------------------------------------------------------------------------------- signals


class Raised(Exception):
    """The evaluated code raised an exception: its type's name and its message."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    @property
    def reason(self) -> str:
        """The exception as a reason for an Unknown."""
        return f"evaluating it raises {self.kind}" + (f" ({self.message})" if self.message else "")

    def is_a(self, name: str) -> bool:
        """Whether `except name` would catch it; an exception class of the user's is caught by its own name only."""
        if name in (self.kind, "BaseException", "Exception"):
            return True
        caught, raised = getattr(builtins, name, None), getattr(builtins, self.kind, None)
        return isinstance(caught, type) and isinstance(raised, type) and issubclass(raised, caught)


class Undecided(Exception):
    """The code's course depends on something that is not known, or it uses what is not supported."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BudgetExceeded(Exception):
    """The evaluation took more steps, or made larger values, than it may."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ReturnSignal(Exception):
    """A `return` statement was executed."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class BreakSignal(Exception):
    """A `break` statement was executed."""


class ContinueSignal(Exception):
    """A `continue` statement was executed."""


# ------------------------------------------------------------------------------------------------- budget


class Budget:
    """What an evaluation may use up.

    Attributes:
        steps: syntax nodes that may still be evaluated.
        size: how many elements or characters one value may have.
        bits: how many bits one integer may have.
        depth: how many calls may be nested.
    """

    __slots__ = ("bits", "depth", "size", "steps")

    def __init__(self, steps: int = 100_000, size: int = 50_000, bits: int = 4096, depth: int = 32) -> None:
        self.steps = steps
        self.size = size
        self.bits = bits
        self.depth = depth

    def step(self, count: int = 1) -> None:
        """Use up steps.

        Raises:
            BudgetExceeded: none are left.
        """
        self.steps -= count
        if self.steps < 0:
            raise BudgetExceeded("it takes too many steps to evaluate")

    def grow(self, size: int) -> None:
        """Allow a value of `size` elements, and count the work of making it.

        Raises:
            BudgetExceeded: it would be too large, or too much has been made already.
        """
        if size > self.size:
            raise BudgetExceeded("it is too large to evaluate")
        self.step(size >> 4)

    def widen(self, bits: int) -> None:
        """Allow an integer of `bits` bits.

        Raises:
            BudgetExceeded: it would be too large.
        """
        if bits > self.bits:
            raise BudgetExceeded("it is an integer too large to evaluate")


# ------------------------------------------------------------------------------------------------- frames and callables


class Scope(Protocol):
    """Where global names are found: a dictionary, or anything that evaluates names when asked."""

    def get(self, name: str, default: Any = None, /) -> Any:
        """The value of a global name, or `default`."""


class Frame:
    """The names of one running function, class body, comprehension or module statement."""

    __slots__ = (
        "enclosing",
        "global_names",
        "globals",
        "kind",
        "locals",
        "node",
        "nonlocal_names",
        "pending",
        "yields",
    )

    def __init__(
        self,
        globals: Scope,  # noqa: A002 - Python's own name for it
        enclosing: Frame | None = None,
        kind: str = "function",
        locals: dict[str, Any] | None = None,  # noqa: A002
        node: ast.AST | None = None,
    ) -> None:
        self.globals = globals
        self.enclosing = enclosing
        self.kind = kind
        self.locals: dict[str, Any] = {} if locals is None else locals
        self.node = node
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.pending: list[Any] = []
        """Values that branches which may or may not be taken have returned."""
        self.yields: list[Any] | None = None

    def lookup(self, name: str) -> Any:
        """The value of a name here, in the enclosing functions, or among the globals; MISSING if there is none."""
        frame: Frame | None = self
        if name in self.global_names:
            # What this call itself has bound it to is seen by this call.
            if name in self.locals:
                return self.locals[name]
        else:
            while frame is not None:
                if name in frame.locals and (frame is self or frame.kind != "class"):
                    return frame.locals[name]
                frame = frame.enclosing
        return self.globals.get(name, MISSING)

    def owner(self, name: str) -> Frame:
        """The frame that an assignment to `name` binds it in."""
        if name in self.nonlocal_names:
            frame = self.enclosing
            while frame is not None:
                if name in frame.locals and frame.kind == "function":
                    return frame
                frame = frame.enclosing
        return self

    def enclosing_frames(self) -> Iterator[Frame]:
        """The frames around this one, innermost first."""
        frame = self.enclosing
        while frame is not None:
            yield frame
            frame = frame.enclosing


class Closure:
    """A function or lambda of the evaluated code, with what it closes over."""

    __slots__ = ("defaults", "frame", "name", "node")

    def __init__(self, node: Any, frame: Frame, defaults: dict[str, Any], name: str) -> None:
        self.node = node
        self.frame = frame
        self.defaults = defaults
        self.name = name

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class Builtin:
    """One of the allowlisted builtins, by name. Two of the same name are equal."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Builtin) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("Builtin", self.name))

    def __repr__(self) -> str:
        return f"<builtin {self.name}>"


class Method:
    """An allowlisted method of a plain value, bound to it."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def __repr__(self) -> str:
        return f"<method {self.name} of {type(self.owner).__name__}>"
