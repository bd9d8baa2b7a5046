"""What values are, and what may be done with them.

`Domain` is complete for plain data (numbers, strings, tuples, lists, dictionaries, sets and functions of the evaluated
code); everything else it calls Unknown. A user with other values subclasses it and overrides the hooks for those, calling
`super()` for the rest. Hooks may return Unknown, and may raise `Raised` (the code raises), `Undecided` (its course cannot be
known) and `BudgetExceeded`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Sequence

from . import functions, methods, plain
from .values import MISSING, Budget, Builtin, Closure, Frame, Method, Raised, Undecided, Unknown

if TYPE_CHECKING:
    from .evaluator import Evaluator


class Domain:
    """The values of an evaluation and their operations.

    Attributes:
        explores: what happens at a branch whose test is not known. False: the evaluation ends as Unknown (a function's
            result must be certain). True: both branches are followed and their results joined, a loop's body is followed
            once, and a statement that cannot be evaluated makes the names that it binds Unknown and no more.
    """

    explores = False

    # ---------------------------------------------------------------------------------------------- names

    def builtin(self, name: str) -> Any:
        """The value of a name that is neither local nor global, or MISSING."""
        if (
            name in functions.FUNCTIONS
            or name in plain.TYPES
            or plain.is_exception(name)
            or name in plain.NOT_EVALUATED
        ):
            return Builtin(name)
        return plain.CONSTANTS.get(name, MISSING)

    def function(self, closure: Closure, decorators: Sequence[Any], frame: Frame, evaluator: Evaluator) -> Any:
        """The value of a `def` or lambda that was executed; `decorators` are the evaluated ones, outermost first."""
        value: Any = closure
        for decorator in reversed(decorators):
            value = evaluator.call(decorator, (value,), {})
        return value

    def class_(self, node: ast.ClassDef, frame: Frame, evaluator: Evaluator) -> Any:
        """The value of a `class` statement that was executed."""
        return Unknown(f"`{node.name}` is a class that is defined in a function")

    def imports(self, node: ast.Import | ast.ImportFrom, frame: Frame, evaluator: Evaluator) -> dict[str, Any]:
        """The names that an import statement binds, with their values."""
        return {
            (alias.asname or alias.name.split(".")[0]): Unknown(f"`{alias.name}` is imported when the code runs")
            for alias in node.names
        }

    def frame_call(self, name: str, frame: Frame) -> Any:
        """What a call of `locals`, `globals`, `vars` or `super` gives in a frame, or MISSING where it is an ordinary call."""
        if name == "locals" and frame.kind == "function":
            return dict(frame.locals)
        return MISSING

    # ---------------------------------------------------------------------------------------------- operations

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        if isinstance(value, Unknown):
            return value
        if name.startswith("__"):
            return Unknown(f"`{name}` is an attribute of Python's own machinery")
        if isinstance(value, Builtin):
            if methods.has_class_method(value.name, name):
                return Method(value, name)
        elif plain.is_plain(value):
            return methods.attribute(value, name)
        return Unknown(f"the attribute `{name}` of {self.describe(value)} is not known")

    def set_attribute(self, value: Any, name: str, to: Any) -> None:
        """`value.name = to`."""
        raise Undecided(f"setting the attribute `{name}` is not supported")

    def call(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], evaluator: Evaluator, node: ast.AST | None
    ) -> Any:
        """`function(*args, **kwargs)`. `node` is the call's syntax, if there is one."""
        if isinstance(function, Unknown):
            return function
        if isinstance(function, Closure):
            return evaluator.call_closure(function, args, kwargs)
        if isinstance(function, Builtin):
            return functions.call_builtin(function.name, list(args), kwargs, evaluator)
        if isinstance(function, Method):
            return methods.call_method(function, list(args), kwargs, evaluator)
        if plain.is_plain(function):
            raise Raised("TypeError", f"{self.describe(function)} is not callable")
        return Unknown(f"{self.describe(function)} is not evaluated")

    def unary(self, op: str, value: Any, budget: Budget) -> Any:
        """A unary operation; `op` is the name of the syntax node: `USub`, `UAdd`, `Invert`."""
        if isinstance(value, Unknown):
            return value
        return plain.unary(op, value)

    def binary(self, op: str, left: Any, right: Any, budget: Budget) -> Any:
        """A binary operation; `op` is the name of the syntax node: `Add`, `FloorDiv`, ..."""
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        return plain.binary(op, left, right, budget)

    def compare(self, op: str, left: Any, right: Any) -> Any:
        """One comparison; `op` is the name of the syntax node: `Eq`, `Is`, `NotIn`, ..."""
        for side in (left, right):
            if isinstance(side, Unknown):
                return side
        return plain.compare(op, left, right, self)

    def truth(self, value: Any) -> bool | None:
        """Whether `value` is true; None where it cannot be known."""
        if isinstance(value, Unknown):
            return None
        if isinstance(value, (Closure, Builtin, Method)):
            return True
        return bool(value) if plain.is_plain(value) else None

    def iterate(self, value: Any, budget: Budget) -> Sequence[Any] | Unknown:
        """The elements of `value`."""
        if isinstance(value, Unknown):
            return value
        if isinstance(value, (tuple, list, str, bytes, range, dict, set, frozenset)):
            budget.grow(plain.guarded(len, value))
            # A set's order depends on the run for strings: sorted by text it is the same in each.
            return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value)
        if plain.is_plain(value):
            raise Raised("TypeError", f"{self.describe(value)} is not iterable")
        return Unknown(f"the elements of {self.describe(value)} are not known")

    def subscript(self, value: Any, index: Any) -> Any:
        """`value[index]`."""
        for side in (value, index):
            if isinstance(side, Unknown):
                return side
        if isinstance(value, Builtin) and value.name in plain.TYPES:
            return value  # list[int] is list, as far as values go
        return plain.subscript(value, index, self)

    def set_subscript(self, value: Any, index: Any, to: Any, budget: Budget) -> None:
        """`value[index] = to`."""
        plain.set_subscript(value, index, to, self, budget)

    def delete_subscript(self, value: Any, index: Any) -> None:
        """`del value[index]`."""
        plain.delete_subscript(value, index, self)

    def enter(self, value: Any, evaluator: Evaluator) -> Any:
        """What `with value as name` binds. Leaving the block does nothing."""
        if self.explores:
            return Unknown("it comes from a `with` statement")
        raise Undecided("a `with` statement is not supported")

    def format(self, value: Any, conversion: str, spec: str, budget: Budget) -> Any:
        """One `{value!conversion:spec}` of a formatted string."""
        if isinstance(value, Unknown):
            return value
        return plain.format_value(value, conversion, spec, budget)

    def is_instance(self, value: Any, cls: Any) -> bool | Unknown:
        """`isinstance(value, cls)` for one class."""
        result: bool | Unknown = plain.is_instance(value, cls)
        return result

    def has_attribute(self, value: Any, name: str) -> bool | Unknown:
        """`hasattr(value, name)`."""
        if isinstance(value, Unknown):
            return value
        if plain.is_plain(value):
            return hasattr(type(value), name)
        return Unknown(f"whether {self.describe(value)} has `{name}` is not known")

    def is_hashable(self, value: Any) -> bool:
        """Whether `value` may be a key of a dictionary without running code of the user's."""
        return plain.is_hashable(value) or isinstance(value, (Builtin, Closure))

    # ---------------------------------------------------------------------------------------------- where nothing is certain

    def join(self, first: Any, second: Any) -> Any:
        """The value that a name has after a branch that may or may not have been taken."""
        if first is second or (plain.is_plain(first) and type(first) is type(second) and plain.same(first, second)):
            return first
        return Unknown("it depends on a condition that is not known")

    def widen(self, before: Any, after: Any) -> Any:
        """The value that a name has after a loop whose number of rounds is not known."""
        if before is after or (plain.is_plain(before) and type(before) is type(after) and plain.same(before, after)):
            return before
        return Unknown("it changes in a loop whose number of rounds is not known")

    def element(self, iterable: Any) -> Any:
        """Any one element of an iterable whose elements are not known."""
        return Unknown("it is an element of something that is not known")

    def describe(self, value: Any) -> str:
        """`value` in words, for a reason."""
        if isinstance(value, (Closure, Builtin)):
            return f"`{value.name}`"
        if isinstance(value, Method):
            return f"the method `{value.name}`"
        return "an object" if not plain.is_plain(value) else f"a value of type {type(value).__name__}"
