"""The evaluator's front: evaluate an expression, execute statements, call a function; never raise but by request."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence

from .domain import Domain
from .statements import Statements
from .values import (
    MISSING,
    Budget,
    BudgetExceeded,
    Closure,
    Frame,
    Raised,
    ReturnSignal,
    Scope,
    Undecided,
    Unknown,
)


class Evaluator(Statements):
    """Evaluates syntax trees over the values of a domain, within a budget that is shared by all its calls.

    Args:
        domain: the values and their operations; plain data where none is given.
        budget: what may be used up.
    """

    def __init__(self, domain: Domain | None = None, budget: Budget | None = None) -> None:
        self.domain = domain or Domain()
        self.budget = budget or Budget()

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression. What it raises, and what cannot be known, is Unknown with the reason."""
        try:
            return self.expression(node, frame)
        except (Raised, Undecided, BudgetExceeded) as stop:
            return Unknown(stop.reason)
        except RecursionError:
            return Unknown("it is nested too deeply to evaluate")

    def execute(self, statements: Sequence[ast.stmt], frame: Frame) -> Unknown | None:
        """Execute statements for the names that they leave in `frame`; what stopped them early, or None.

        A `return` among them ends the execution, as the end of a function would.
        """
        try:
            self.run(statements, frame)
        except ReturnSignal:
            return None
        except (Raised, Undecided, BudgetExceeded) as stop:
            return Unknown(stop.reason)
        except RecursionError:
            return Unknown("it is nested too deeply to evaluate")
        return None

    def call_function(
        self,
        node: ast.FunctionDef | ast.Lambda,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        globals: Scope | None = None,  # noqa: A002 - Python's own name for it
        defaults: Mapping[str, Any] | None = None,
    ) -> Any:
        """What a pure function returns for these arguments, or Unknown with the reason.

        Args:
            node: the function's syntax.
            args, kwargs: its arguments.
            globals: where names that are not local are looked up, before the builtins.
            defaults: values of parameters' defaults, by name; those not given are evaluated from their syntax.
        """
        frame = Frame({} if globals is None else globals)
        name = getattr(node, "name", "<lambda>")
        try:
            closure = self.closure(node, frame, name)
            closure.defaults.update(defaults or {})
            return self.call_closure(closure, args, dict(kwargs or {}))
        except (Raised, Undecided, BudgetExceeded) as stop:
            return Unknown(stop.reason, name)
        except RecursionError:
            return Unknown("it is nested too deeply to evaluate", name)

    def call_closure(self, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function of the evaluated code.

        Raises:
            Raised, Undecided, BudgetExceeded: as its body does.
        """
        frame = self.bind(closure, args, kwargs)
        node = closure.node
        if self.budget.depth <= 0:
            raise BudgetExceeded("its calls are nested too deeply to evaluate")
        self.budget.depth -= 1
        try:
            if isinstance(node, ast.Lambda):
                return self.expression(node.body, frame)
            if _is_generator(node):
                frame.yields = []
            result: Any = None
            try:
                self.run(node.body, frame)
            except ReturnSignal as signal:
                result = signal.value
            except Raised:
                # The path that goes on raises; another, which may be the one that is taken, has returned.
                if not frame.pending:
                    raise
                result = frame.pending.pop(0)
            if frame.yields is not None:
                return frame.yields
            values = [*frame.pending, result]
            joined = values[0]
            for value in values[1:]:
                joined = self.domain.join(joined, value)
            return joined
        finally:
            self.budget.depth += 1

    def bind(self, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Frame:
        """The frame in which a call of `closure` runs: its parameters bound to the arguments.

        Raises:
            Raised: a TypeError, where the arguments do not fit the parameters.
        """
        spec: ast.arguments = closure.node.args
        frame = Frame(closure.frame.globals, closure.frame, "function", node=closure.node)
        bound = frame.locals
        positional = [*spec.posonlyargs, *spec.args]
        for parameter, value in zip(positional, args):
            bound[parameter.arg] = value
        extra = tuple(args[len(positional) :])
        if spec.vararg is not None:
            bound[spec.vararg.arg] = extra
        elif extra:
            raise Raised("TypeError", f"{closure.name}() takes {len(positional)} arguments but {len(args)} were given")
        names = {p.arg for p in (*spec.args, *spec.kwonlyargs)}
        rest: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key in names:
                if key in bound:
                    raise Raised("TypeError", f"{closure.name}() got several values for {key!r}")
                bound[key] = value
            else:
                rest[key] = value
        if spec.kwarg is not None:
            bound[spec.kwarg.arg] = rest
        elif rest:
            raise Raised("TypeError", f"{closure.name}() got an unexpected argument {next(iter(rest))!r}")
        for parameter in (*positional, *spec.kwonlyargs):
            if parameter.arg not in bound:
                default = closure.defaults.get(parameter.arg, MISSING)
                if default is MISSING:
                    raise Raised("TypeError", f"{closure.name}() is missing its argument {parameter.arg!r}")
                bound[parameter.arg] = default
        return frame


def _is_generator(node: ast.FunctionDef) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        current = stack.pop()
        if isinstance(current, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(current))
    return False
