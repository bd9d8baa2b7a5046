"""A bounded evaluator of pure Python: what a piece of code would give, without letting Python run it.

    domain.py      what values are and what may be done with them; `Domain` is the hook that its users extend
    plain.py, methods.py, functions.py   the allowlisted operations, methods and builtins of plain data
    expressions.py, statements.py, evaluator.py   walking the syntax tree within a budget
    values.py      Unknown, the budget, frames, and the signals that travel through an evaluation

Nothing here calls `exec`, `eval`, `compile`, `__import__`, or `getattr` on an object that is not plain data. The server
evaluates modules and host code with it over abstract values; the worker evaluates `@triton.constexpr_function` bodies over
Triton's objects. Standard library only; readable by Python 3.9.
"""

from .domain import Domain
from .evaluator import Evaluator
from .values import (
    MISSING,
    Budget,
    BudgetExceeded,
    Builtin,
    Closure,
    Frame,
    Method,
    Raised,
    Undecided,
    Unknown,
    is_unknown,
)

__all__ = [
    "MISSING",
    "Budget",
    "BudgetExceeded",
    "Builtin",
    "Closure",
    "Domain",
    "Evaluator",
    "Frame",
    "Method",
    "Raised",
    "Undecided",
    "Unknown",
    "is_unknown",
]
