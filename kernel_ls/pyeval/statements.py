"""Statements: control flow, definitions, and what happens where the course cannot be known."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterable, Sequence

from .expressions import Expressions
from .functions import ExceptionValue
from .values import (
    MISSING,
    BreakSignal,
    Builtin,
    ContinueSignal,
    Frame,
    Raised,
    ReturnSignal,
    Undecided,
    Unknown,
)


class Statements(Expressions):
    """The part of the evaluator that executes statements."""

    def run(self, statements: Iterable[ast.stmt], frame: Frame) -> None:
        """Execute statements in order.

        Raises:
            ReturnSignal, BreakSignal, ContinueSignal: control leaves the list.
            Raised, Undecided, BudgetExceeded: as the operations do. Where branches are explored, a statement whose effect
                cannot be known only makes the names that it binds Unknown.
        """
        for statement in statements:
            self.statement(statement, frame)

    def statement(self, node: ast.stmt, frame: Frame) -> None:
        """Execute one statement."""
        self.budget.step()
        method: Callable[[Any, Frame], None] | None = getattr(self, "_do_" + type(node).__name__, None)
        if not self.domain.explores:
            if method is None:
                raise Undecided(f"a `{type(node).__name__}` statement is not supported")
            method(node, frame)
            return
        try:
            if method is None:
                raise Undecided(f"a `{type(node).__name__}` statement is not supported")
            method(node, frame)
        except Undecided as undecided:
            for name in bound_names([node]):
                frame.owner(name).locals[name] = Unknown(undecided.reason)

    # ---------------------------------------------------------------------------------------------- simple

    def _do_Expr(self, node: ast.Expr, frame: Frame) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value, frame)

    def _do_Pass(self, node: ast.Pass, frame: Frame) -> None:
        pass

    def _do_Assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.expression(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def _do_AnnAssign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value, frame), frame)

    def _do_AugAssign(self, node: ast.AugAssign, frame: Frame) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            before = frame.lookup(target.id)
            if before is MISSING:
                raise Raised("NameError", f"name {target.id!r} is not defined")
        elif isinstance(target, ast.Attribute):
            before = self.domain.attribute(self.expression(target.value, frame), target.attr)
        else:
            before = self.domain.subscript(self.expression(target.value, frame), self.expression(target.slice, frame))
        more = self.expression(node.value, frame)
        if isinstance(before, list) and isinstance(node.op, ast.Add):
            # `+=` extends a list in place, which others that hold it see.
            elements = self.elements(more)
            if isinstance(elements, Unknown):
                raise Undecided(elements.reason)
            self.budget.grow(len(before) + len(elements))
            before.extend(elements)
            after: Any = before
        else:
            after = self.domain.binary(type(node.op).__name__, before, more, self.budget)
        self.assign(target, after, frame)

    def _do_Return(self, node: ast.Return, frame: Frame) -> None:
        raise ReturnSignal(None if node.value is None else self.expression(node.value, frame))

    def _do_Break(self, node: ast.Break, frame: Frame) -> None:
        raise BreakSignal

    def _do_Continue(self, node: ast.Continue, frame: Frame) -> None:
        raise ContinueSignal

    def _do_Global(self, node: ast.Global, frame: Frame) -> None:
        frame.global_names.update(node.names)

    def _do_Nonlocal(self, node: ast.Nonlocal, frame: Frame) -> None:
        frame.nonlocal_names.update(node.names)

    def _do_Delete(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.locals.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, index = self.expression(target.value, frame), self.expression(target.slice, frame)
                self.domain.delete_subscript(owner, index)
            else:
                raise Undecided("an attribute is deleted")

    def _do_Assert(self, node: ast.Assert, frame: Frame) -> None:
        if self.domain.truth(self.expression(node.test, frame)) is False:
            message = self._attempt(node.msg, frame) if node.msg is not None else ""
            raise Raised("AssertionError", message if isinstance(message, str) else "")

    def _do_Raise(self, node: ast.Raise, frame: Frame) -> None:
        if node.exc is None:
            raise Raised("RuntimeError", "re-raised")
        value = self._attempt(node.exc, frame)
        if isinstance(value, ExceptionValue):
            raise Raised(value.kind, value.message)
        if isinstance(value, Builtin):
            raise Raised(value.name)
        name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        raise Raised(name.id if isinstance(name, ast.Name) else getattr(name, "attr", "Exception"))

    # ---------------------------------------------------------------------------------------------- definitions

    def _do_FunctionDef(self, node: ast.FunctionDef, frame: Frame) -> None:
        closure = self.closure(node, frame, node.name)
        decorators = [self._attempt(d, frame) for d in node.decorator_list]
        value = self.domain.function(closure, decorators, frame, self)  # type: ignore[arg-type]
        frame.owner(node.name).locals[node.name] = value

    def _do_AsyncFunctionDef(self, node: ast.AsyncFunctionDef, frame: Frame) -> None:
        frame.locals[node.name] = Unknown(f"`{node.name}` is a coroutine")

    def _do_ClassDef(self, node: ast.ClassDef, frame: Frame) -> None:
        frame.owner(node.name).locals[node.name] = self.domain.class_(node, frame, self)  # type: ignore[arg-type]

    def _do_Import(self, node: ast.Import, frame: Frame) -> None:
        frame.locals.update(self.domain.imports(node, frame, self))  # type: ignore[arg-type]

    def _do_ImportFrom(self, node: ast.ImportFrom, frame: Frame) -> None:
        frame.locals.update(self.domain.imports(node, frame, self))  # type: ignore[arg-type]

    # ---------------------------------------------------------------------------------------------- branches

    def _do_If(self, node: ast.If, frame: Frame) -> None:
        test = self.expression(node.test, frame)
        truth = self.domain.truth(test)
        if truth is None and not self.domain.explores:
            self.decide(test)
        if truth is None:
            self.explore((node.body, node.orelse), frame)
        else:
            self.run(node.body if truth else node.orelse, frame)

    def explore(self, branches: Sequence[Sequence[ast.stmt]], frame: Frame) -> None:
        """Follow every branch from the same names, and join the names that they leave.

        A branch that raises is not followed further; a value that one returns is remembered until the function ends.
        """
        before = dict(frame.locals)
        after: list[dict[str, Any]] = []
        signals: list[Exception] = []
        for branch in branches:
            frame.locals = dict(before)
            try:
                self.run(branch, frame)
            except (Raised, ReturnSignal, BreakSignal, ContinueSignal) as signal:
                signals.append(signal)
                continue
            after.append(frame.locals)
        if not after:
            frame.locals = before
            returned = [s for s in signals if isinstance(s, ReturnSignal)]
            frame.pending.extend(s.value for s in returned[:-1])
            raise returned[-1] if returned else signals[0]
        frame.pending.extend(s.value for s in signals if isinstance(s, ReturnSignal))
        frame.locals = self._joined(after)

    def _joined(self, branches: list[dict[str, Any]]) -> dict[str, Any]:
        result = branches[0]
        for other in branches[1:]:
            for name, value in other.items():
                if name not in result:
                    result[name] = value
                elif result[name] is not value:
                    result[name] = self.domain.join(result[name], value)
        return result

    def _do_Try(self, node: ast.Try, frame: Frame) -> None:
        try:
            try:
                self.run(node.body, frame)
            except Raised as raised:
                handler = self._handler(node.handlers, raised)
                if handler is None:
                    raise
                if handler.name:
                    frame.locals[handler.name] = ExceptionValue(raised.kind, raised.message)
                self.run(handler.body, frame)
            else:
                self.run(node.orelse, frame)
        finally:
            if node.finalbody:
                self.run(node.finalbody, frame)

    _do_TryStar = _do_Try

    @staticmethod
    def _handler(handlers: list[ast.ExceptHandler], raised: Raised) -> ast.ExceptHandler | None:
        for handler in handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            for kind in kinds:
                if kind is None:
                    return handler
                name = kind.id if isinstance(kind, ast.Name) else getattr(kind, "attr", "")
                if raised.is_a(name):
                    return handler
        return None

    def _do_With(self, node: ast.With, frame: Frame) -> None:
        for item in node.items:
            value = self.domain.enter(self.expression(item.context_expr, frame), self)  # type: ignore[arg-type]
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, frame)
        self.run(node.body, frame)

    # ---------------------------------------------------------------------------------------------- loops

    def _do_For(self, node: ast.For, frame: Frame) -> None:
        iterable = self.expression(node.iter, frame)
        elements = self.elements(iterable)
        if isinstance(elements, Unknown):
            if not self.domain.explores:
                raise Undecided(elements.reason)
            self._once(node.body, frame, (node.target, self.domain.element(iterable)))
            return
        for element in elements:
            self.budget.step()
            self.assign(node.target, element, frame)
            try:
                self.run(node.body, frame)
            except ContinueSignal:
                continue
            except BreakSignal:
                return
        self.run(node.orelse, frame)

    def _do_While(self, node: ast.While, frame: Frame) -> None:
        while True:
            self.budget.step()
            test = self.expression(node.test, frame)
            truth = self.domain.truth(test)
            if truth is None:
                if not self.domain.explores:
                    self.decide(test)
                self._once(node.body, frame, None)
                return
            if not truth:
                self.run(node.orelse, frame)
                return
            try:
                self.run(node.body, frame)
            except ContinueSignal:
                continue
            except BreakSignal:
                return

    def _once(self, body: Sequence[ast.stmt], frame: Frame, target: tuple[ast.expr, Any] | None) -> None:
        """Follow a loop's body once, where the number of its rounds is not known."""
        before = dict(frame.locals)
        if target is not None:
            self.assign(target[0], target[1], frame)
        try:
            self.run(body, frame)
        except (BreakSignal, ContinueSignal, Raised):
            pass
        except ReturnSignal as signal:
            frame.pending.append(signal.value)
        for name, value in frame.locals.items():
            if name in before and before[name] is not value:
                frame.locals[name] = self.domain.widen(before[name], value)

    # ---------------------------------------------------------------------------------------------- match

    def _do_Match(self, node: Any, frame: Frame) -> None:
        subject = self.expression(node.subject, frame)
        for case in node.cases:
            matched = self._matches(case.pattern, subject, frame)
            if matched and case.guard is not None:
                matched = self.domain.truth(self.expression(case.guard, frame))
            if matched is None:
                if not self.domain.explores:
                    raise Undecided("it depends on a `match` that is not known")
                self.explore([c.body for c in node.cases], frame)
                return
            if matched:
                self.run(case.body, frame)
                return

    def _matches(self, pattern: Any, subject: Any, frame: Frame) -> bool | None:
        kind = type(pattern).__name__
        if kind == "MatchValue":
            return self.domain.truth(self.domain.compare("Eq", subject, self.expression(pattern.value, frame)))
        if kind == "MatchSingleton":
            return self.domain.truth(self.domain.compare("Is", subject, pattern.value))
        if kind == "MatchAs":
            if pattern.pattern is not None:
                matched = self._matches(pattern.pattern, subject, frame)
                if not matched:
                    return matched
            if pattern.name:
                frame.locals[pattern.name] = subject
            return True
        if kind == "MatchOr":
            results = [self._matches(p, subject, frame) for p in pattern.patterns]
            return True if True in results else None if None in results else False
        if kind == "MatchSequence" and isinstance(subject, (tuple, list)):
            if any(type(p).__name__ == "MatchStar" for p in pattern.patterns):
                return None
            if len(subject) != len(pattern.patterns):
                return False
            results = [self._matches(p, s, frame) for p, s in zip(pattern.patterns, subject)]
            return False if False in results else None if None in results else True
        return None


def bound_names(statements: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    names: set[str] = set()
    stack: list[ast.AST] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(a.asname or a.name.split(".")[0] for a in node.names if a.name != "*")
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif type(node).__name__ in ("MatchAs", "MatchStar") and getattr(node, "name", None):
            names.add(node.name)  # type: ignore[attr-defined]
        stack.extend(ast.iter_child_nodes(node))
    return names
