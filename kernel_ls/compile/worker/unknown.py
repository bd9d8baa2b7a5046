"""What stands for a value that a fault has taken away, so that one cause gives one fault.

UNKNOWN is what a name holds after the statement that should have bound it failed. It is no Triton value and never
becomes IR: reading it raises `Poisoned`, which the recovery of the statement that reads it swallows.
"""

from __future__ import annotations

from typing import Any

from triton.compiler.errors import CompilationError
from triton.language import core


class _Unknown:
    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN = _Unknown()


def doubt_of(value: Any) -> int:
    """What is only guessed of a value that a fault left a part of (see doubts.py); 0 for a value that is as it is."""
    if isinstance(value, core.tensor):
        return int(getattr(value, "_doubt", 0))
    found = 0
    if isinstance(value, core.tuple):
        for item in value.values:
            found |= doubt_of(item)
    return found


class Poisoned(CompilationError):  # type: ignore[misc]
    """A value was needed that an earlier fault has taken away. A `CompilationError`, so that Triton does not wrap it."""

    def __init__(self) -> None:
        super().__init__(None, None, "depends on an earlier fault")


class FaultedType:
    """The return type of a function that has none because of a fault: a call of it has no value.

    Args:
        failure: what ended the generation of a library function; it is raised again for each call of it.
    """

    def __init__(self, failure: BaseException | None = None) -> None:
        self._failure = failure

    def _unflatten_ir(self, handles: Any, cursor: int) -> Any:  # noqa: ARG002 - the shape of Triton's types
        if self._failure is not None:
            raise self._failure
        raise Poisoned

    def mangle(self) -> str:
        """As every type of Triton's can."""
        return "faulted"


class ReturnTypes(dict[str, Any]):
    """Return types by mangled function name, which also knows the functions that failed or are not finished."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, BaseException] = {}
        self.recursive: set[str] = set()

    def __missing__(self, name: str) -> Any:
        if name in self.failures:
            return FaultedType(self.failures[name])
        self.recursive.add(name)
        raise RecursionError("a jit function calls itself with the same types; recursion is not supported")
