"""The evaluator of one course through host code: every test is decided, every launch is noted."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kernel_ls.analysis.environment import FunctionValue, Ref
from kernel_ls.analysis.environment.domain import module_of
from kernel_ls.pyeval import MISSING, Budget, BudgetExceeded, Closure, Frame, Raised, Undecided, Unknown
from kernel_ls.pyeval.values import BreakSignal, ContinueSignal, ReturnSignal

from . import hints, shapes
from .domain import HostDomain, launchable
from .notes import Given, LaunchNotes
from .values import Launcher, Sizes
from .world import is_constant

_ROUNDS = 64
"""How many rounds of a loop over known elements are followed."""

_WHILE = 12
"""How many rounds of a `while` whose test is known are followed."""


class HostEvaluator(LaunchNotes):
    """Evaluates host code in one world."""

    domain: HostDomain

    def __init__(self, domain: HostDomain, budget: Budget, generators: dict[ast.AST, bool] | None = None) -> None:
        super().__init__(domain, budget)
        self.generators = {} if generators is None else generators
        """Which functions are generators, as far as they were asked for."""
        domain.evaluator = self
        self.noted = []
        self.caller = None
        self.silent = 0
        self.entered: set[ast.AST] = set()
        """Functions whose bodies were followed."""
        self.defined: list[FunctionValue] = []
        """Functions that were defined within functions."""

    # ---------------------------------------------------------------------------------------------- expressions

    def expression(self, node: ast.expr, frame: Frame) -> Any:
        value = super().expression(node, frame)
        self.domain.here = node
        if isinstance(value, Unknown):
            return self.domain.lift(value, node.id if isinstance(node, ast.Name) else "")
        return self.domain.world.resolve(value)

    def _Name(self, node: ast.Name, frame: Frame) -> Any:
        current: Frame | None = frame
        while current is not None:
            if current.kind != "module" and node.id in current.locals:
                return super()._Name(node, frame)
            current = current.enclosing
        value = self.domain.thaw(super()._Name(node, frame))
        module = module_of(frame)
        others = module.alternatives.get(node.id, ()) if module is not None else ()
        if others and is_constant(value) and all(is_constant(o) for o in others):
            return self.domain.world.settled(("module", module.path if module else "", node.id), [value, *others])
        return value

    def _JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        value = super()._JoinedStr(node, frame)
        return self.domain.symbol(ast.unparse(node)[:40]) if isinstance(value, Unknown) else value

    def _UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        if not isinstance(node.op, ast.Not):
            return super()._UnaryOp(node, frame)
        want = self.domain.want
        self.domain.want = None if want is None else not want
        try:
            return super()._UnaryOp(node, frame)
        finally:
            self.domain.want = want

    def _BoolOp(self, node: ast.BoolOp, frame: Frame) -> Any:
        # For `a and b` to be false one of them has to be, and that is the last: what stands before it only guards it.
        decisive = isinstance(node.op, ast.Or)
        want = self.domain.want
        try:
            for operand in node.values[:-1]:
                self.domain.want = want if want is not decisive else None
                value = self.expression(operand, frame)
                if self.domain.truth(value) is decisive:
                    return value
            self.domain.want = want
            return self.expression(node.values[-1], frame)
        finally:
            self.domain.want = want

    def _Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        owner = self.expression(node.value, frame)
        if launchable(owner, "__getitem__") is not None:
            kernel = launchable(owner, "__getitem__")
            assert kernel is not None
            module = module_of(frame)
            return Launcher(kernel, "subscript", node.slice, module.path if module is not None else "")
        return self.domain.subscript(owner, self.expression(node.slice, frame))

    def _Call(self, node: ast.Call, frame: Frame) -> Any:
        want, self.domain.want = self.domain.want, None
        try:
            function = self.expression(node.func, frame)
            if isinstance(node.func, ast.Name) and node.func.id in ("locals", "globals", "vars", "super"):
                special = self.special_call(node, frame)
                if special is not MISSING:
                    return special
            args, kwargs, known, incomplete = self._given(node, frame)
            if isinstance(function, Launcher) or (isinstance(function, FunctionValue) and function.is_kernel_code):
                return self.launch(function, node, frame, args, kwargs, known, incomplete)
            if isinstance(function, Ref) and function.path.rpartition(".")[2] == "ASTSource":
                return self.source(node, frame, args, kwargs)
            if incomplete and isinstance(function, FunctionValue):
                # Which arguments it gets is not known, so that nothing certain follows from its body.
                return self.domain.symbol(f"{function.qualname}(...)")
            caller, self.caller = self.caller, frame
            try:
                return self.call(function, tuple(a.value for a in args), {k: v.value for k, v in kwargs.items()}, node)
            finally:
                self.caller = caller
        finally:
            self.domain.want = want

    def _given(self, node: ast.Call, frame: Frame) -> tuple[list[Given], dict[str, Given], int, bool]:
        args: list[Given] = []
        incomplete = False
        known: int | None = None
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                args.append(Given(self.expression(argument, frame), argument))
                continue
            value = self.expression(argument.value, frame)
            elements = self.elements(value)
            if isinstance(elements, Unknown):
                incomplete = True
                known = len(args) if known is None else known
            else:
                args.extend(Given(self.domain.world.resolve(e), argument) for e in elements)
        kwargs: dict[str, Given] = {}
        for keyword in node.keywords:
            value = self.expression(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = Given(value, keyword.value)
            elif isinstance(value, dict) and all(isinstance(k, str) for k in value):
                kwargs.update({k: Given(self.domain.world.resolve(v), keyword.value) for k, v in value.items()})
            else:
                incomplete = True
        return args, kwargs, len(args) if known is None else known, incomplete

    # ---------------------------------------------------------------------------------------------- functions

    def call_host(
        self, closure: Closure, function: FunctionValue, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Follow a call of a function of the user's."""
        node = function.node
        self.entered.add(node)
        if isinstance(node, ast.FunctionDef):
            for parameter, value in zip((*node.args.posonlyargs, *node.args.args), args, strict=False):
                hints.mark(self.domain, parameter.annotation, value)
            named = {p.arg: p.annotation for p in (*node.args.args, *node.args.kwonlyargs)}
            for name, value in kwargs.items():
                hints.mark(self.domain, named.get(name), value)
        return self.call_closure(closure, args, kwargs)

    def call_closure(self, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        frame = self.bind(closure, args, kwargs)
        node = closure.node
        if isinstance(node, ast.Lambda):
            return self.expression(node.body, frame)
        if self.budget.depth <= 0:
            raise BudgetExceeded("its calls are nested too deeply to evaluate")
        if node not in self.generators:
            self.generators[node] = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(node))
        if self.generators[node]:
            frame.yields = []
        self.budget.depth -= 1
        result: Any = None
        try:
            self.run(node.body, frame)
        except ReturnSignal as signal:
            result = signal.value
        finally:
            self.budget.depth += 1
        return result if frame.yields is None else frame.yields

    def _do_FunctionDef(self, node: ast.FunctionDef, frame: Frame) -> None:
        super()._do_FunctionDef(node, frame)
        made = frame.owner(node.name).locals.get(node.name)
        if isinstance(made, FunctionValue) and not made.is_kernel_code and frame.kind == "function":
            self.defined.append(made)

    def _Lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        made = super()._Lambda(node, frame)
        if isinstance(made, FunctionValue) and frame.kind == "function":
            self.defined.append(made)
        return made

    # ---------------------------------------------------------------------------------------------- statements

    def _do_If(self, node: ast.If, frame: Frame) -> None:
        before = self.domain.want
        # A test that guards an error holds the other way wherever the code goes on.
        raises = node.body and isinstance(node.body[-1], ast.Raise)
        self.domain.want = False if raises else None
        try:
            test = self.expression(node.test, frame)
            truth = self.domain.truth(test)
        finally:
            self.domain.want = before
        self.run(node.body if truth else node.orelse, frame)

    def _do_Assert(self, node: ast.Assert, frame: Frame) -> None:
        before, self.domain.want = self.domain.want, True
        try:
            truth = self.domain.truth(self.expression(node.test, frame))
        finally:
            self.domain.want = before
        if truth is False:
            raise Raised("AssertionError")

    def _do_Assign(self, node: ast.Assign, frame: Frame) -> None:
        # `a, b, c, d = *x.shape, n` tells how many dimensions `x` has.
        target = node.targets[0]
        if isinstance(node.value, ast.Tuple) and isinstance(target, ast.Tuple):
            stars = [e for e in node.value.elts if isinstance(e, ast.Starred)]
            if len(stars) == 1 and not any(isinstance(e, ast.Starred) for e in target.elts):
                sizes = self.expression(stars[0].value, frame)
                if isinstance(sizes, Sizes):
                    shapes.elements_of(self.domain, sizes, len(target.elts) - len(node.value.elts) + 1)
        super()._do_Assign(node, frame)

    def _do_AnnAssign(self, node: ast.AnnAssign, frame: Frame) -> None:
        super()._do_AnnAssign(node, frame)
        if node.value is not None and isinstance(node.target, ast.Name):
            hints.mark(self.domain, node.annotation, frame.lookup(node.target.id))

    def _do_For(self, node: ast.For, frame: Frame) -> None:
        iterable = self.expression(node.iter, frame)
        elements = self.elements(iterable)
        if isinstance(elements, Unknown):
            self._round(node.body, frame, (node.target, self.domain.element(iterable)))
            return
        if len(elements) > _ROUNDS:
            # Half a loop leaves values that no execution has.
            raise BudgetExceeded("a loop has too many rounds to follow")
        for element in elements:
            self.assign(node.target, element, frame)
            try:
                self.run(node.body, frame)
            except ContinueSignal:
                continue
            except BreakSignal:
                return
        self.run(node.orelse, frame)

    def _do_While(self, node: ast.While, frame: Frame) -> None:
        for _ in range(_WHILE):
            known = self.domain.known_truth(self.expression(node.test, frame))
            if known is None:
                self._round(node.body, frame, None)
                return
            if not known:
                self.run(node.orelse, frame)
                return
            try:
                self.run(node.body, frame)
            except ContinueSignal:
                continue
            except BreakSignal:
                return
        self._widened(dict.fromkeys(frame.locals, MISSING), frame)

    def _round(self, body: Sequence[ast.stmt], frame: Frame, target: tuple[ast.expr, Any] | None) -> None:
        """The first round of a loop whose number of rounds is not known."""
        before = dict(frame.locals)
        held = {n: (v, _contents(v)) for n, v in before.items() if type(v) in (list, dict, set)}
        if target is not None:
            self.assign(target[0], target[1], frame)
        with suppress(BreakSignal, ContinueSignal):
            self.run(body, frame)
        for name, (container, earlier) in held.items():
            now = _contents(container)
            if len(now) != len(earlier) or any(a is not b for a, b in zip(now, earlier, strict=True)):
                # What a loop puts into a container is not known by number.
                frame.locals[name] = self.domain.symbol(name)
        self._widened(before, frame)

    def _widened(self, before: Mapping[str, Any], frame: Frame) -> None:
        """Names that a loop changed are, after it, what they may be after any number of rounds."""
        for name, value in list(frame.locals.items()):
            earlier = before.get(name, value)
            if earlier is not value:
                frame.locals[name] = (
                    self.domain.widen(earlier, value) if earlier is not MISSING else self.domain.symbol(name)
                )

    def _unpack(self, targets: list[ast.expr], value: Any, frame: Frame) -> None:
        value = self.domain.world.resolve(value)
        if isinstance(value, Sizes) and not any(isinstance(t, ast.Starred) for t in targets):
            known = shapes.elements_of(self.domain, value, len(targets))
            if known is not None and len(known) == len(targets):
                for target, element in zip(targets, known, strict=True):
                    self.assign(target, element, frame)
                return
        if isinstance(self.elements(value), Unknown):
            count = len(targets)
            for index, target in enumerate(targets):
                starred = isinstance(target, ast.Starred)
                after = any(isinstance(t, ast.Starred) for t in targets[:index])
                at = (
                    self.domain.symbol("")
                    if starred
                    else self.domain.subscript(value, index - count if after else index)
                )
                self.assign(target, at, frame)
            return
        super()._unpack(targets, value, frame)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        if isinstance(target, ast.Subscript):
            owner = self.expression(target.value, frame)
            index = self.expression(target.slice, frame)
            if type(owner) in (list, dict) and self.domain.is_hashable(index):
                try:
                    self.domain.set_subscript(owner, index, value, self.budget)
                except (Undecided, Raised):
                    return
            return
        super().assign(target, value, frame)


def _contents(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
