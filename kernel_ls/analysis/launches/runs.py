"""Following a document's launching functions, each along several courses, and what the launches on them pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment import (
    ClassValue,
    FunctionValue,
    InstanceValue,
    Module,
    Workspace,
    carried_kernel,
)
from kernel_ls.analysis.kernels import imported_names
from kernel_ls.pyeval import Budget, BudgetExceeded, Frame, Raised, Undecided, Unknown
from kernel_ls.pyeval.nodes import walk
from kernel_ls.pyeval.values import BreakSignal, ContinueSignal, ReturnSignal

from . import hints, sites
from .collect import Collector
from .domain import HostDomain
from .evaluator import HostEvaluator
from .model import Launch
from .values import Number, Tensor
from .world import World, following

_RUNS = 12
"""How many courses of one function are followed."""

_STEPS = 30_000
"""Steps of one course."""

_TOTAL = 300_000
"""Steps for one document."""


class Follower:
    """Follows the host code of one document."""

    def __init__(self, workspace: Workspace, document: ParsedDocument, module: Module) -> None:
        self.workspace = workspace
        self.document = document
        self.module = module
        self.steps = _TOTAL
        self.generators: dict[ast.AST, bool] = {}
        self.changed: dict[ast.ClassDef, set[str]] = {}

    def launches(self) -> tuple[Launch, ...]:
        """Every launch that the document's text makes."""
        collector = Collector(self.workspace, self.document)
        entries = sites.entries(self.document)
        if not entries or not self._sees_kernels():
            return ()
        kernels = {f.jit.node for f in self.workspace.functions(self.document.path)}
        for entry in entries:
            if entry.node not in kernels:
                self._entry(entry, collector)
            if self.steps <= 0:
                break
        return collector.launches()

    def _sees_kernels(self) -> bool:
        """Whether the document has kernels, or imports something of a module that may have some."""
        if self.workspace.functions(self.document.path) or "ASTSource" in self.document.text:
            return True
        for name in imported_names(self.document.tree):
            value = self.module.get(name, None)
            module = getattr(carried_kernel(value) or value, "module", None) or getattr(
                getattr(value, "body", None), "module", None
            )
            if isinstance(module, Module) and (module.is_package or "triton" in module.document.text):
                return True
        return any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in _nested_imports(self.document.tree))

    def _entry(self, entry: sites.Entry, collector: Collector) -> None:
        # All that is optional given, then left out, then tests decided the other way round, then one decision at a time.
        plans: list[tuple[tuple[int, ...], bool, bool]] = [((), False, False), ((), False, True), ((), True, False)]
        tried: set[tuple[Any, int]] = set()
        runs = 0
        while plans and runs < _RUNS and self.steps > 0:
            plan, contrary, absent = plans.pop(0)
            runs += 1
            world = World(plan, contrary, absent)
            evaluator = self._run(entry, world)
            collector.add(evaluator)
            plans.extend((p, False, absent) for p in following(world, tried))

    def _run(self, entry: sites.Entry, world: World) -> HostEvaluator:
        domain = HostDomain(self.workspace, world)
        budget = Budget(steps=_STEPS, size=5_000)
        evaluator = HostEvaluator(domain, budget, self.generators)
        kernels = self.workspace._kernels
        noted = {path: dict(known) for path, known in kernels.items()}
        try:
            with self.workspace.evaluating(self.module):
                self._guarded(lambda: self._follow(entry, evaluator))
                self._guarded(lambda: self._nested(evaluator))
        finally:
            self.steps -= _STEPS - max(budget.steps, 0)
            # What a course makes of a function is no knowledge of the file.
            kernels.clear()
            kernels.update(noted)
        return evaluator

    @staticmethod
    def _guarded(run: Any) -> None:
        try:
            run()
        except (Raised, Undecided, BudgetExceeded, RecursionError, ReturnSignal, BreakSignal, ContinueSignal):
            return

    # ---------------------------------------------------------------------------------------------- functions

    def _follow(self, entry: sites.Entry, evaluator: HostEvaluator) -> None:
        if entry.node is None:
            self._top(evaluator)
            return
        if entry.cls is None:
            frame = self.module.frame
            evaluator.entered.add(entry.node)
            self._call(evaluator, entry.node, frame, ())
            return
        cls = self.module.get(entry.cls.name)
        if not isinstance(cls, ClassValue) or cls.body.node is not entry.cls:
            self._call(evaluator, entry.node, self.module.frame, ())
            return
        self._method(evaluator, entry.node, cls)

    def _method(self, evaluator: HostEvaluator, node: ast.FunctionDef, cls: ClassValue) -> None:
        _ = cls.body.members
        frame = Frame(cls.body.frame.globals, cls.body.frame, "class", dict(cls.body.members), cls.body.node)
        frame.locals["__class__"] = cls
        decorators = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
        positional = [*node.args.posonlyargs, *node.args.args]
        evaluator.entered.add(node)
        if "staticmethod" not in decorators:
            receiver: Any = cls
            if "classmethod" not in decorators:
                receiver = InstanceValue(cls, {})
                self._initialize(evaluator, receiver, node)
            self._call(evaluator, node, frame, (receiver,))
        elif positional and positional[0].arg == "ctx":
            self._call(evaluator, node, frame, (self._context(evaluator, node, cls, frame),))
        else:
            self._call(evaluator, node, frame, ())

    def _context(self, evaluator: HostEvaluator, node: ast.FunctionDef, cls: ClassValue, frame: Frame) -> Any:
        """The `ctx` of an autograd function: for `backward`, what `forward` left in it."""
        context = evaluator.domain.context()
        forward = cls.body.find("forward")
        if node.name == "backward" and isinstance(forward, FunctionValue) and isinstance(forward.node, ast.FunctionDef):
            evaluator.silent += 1
            steps = evaluator.budget.steps
            evaluator.budget.steps = steps // 2
            spent = evaluator.budget.steps
            try:
                self._call(evaluator, forward.node, frame, (context,))
            except (Raised, Undecided, BudgetExceeded, RecursionError):
                pass
            finally:
                evaluator.silent -= 1
                evaluator.budget.steps = steps - (spent - max(evaluator.budget.steps, 0))
        return context

    def _initialize(self, evaluator: HostEvaluator, receiver: InstanceValue, node: ast.FunctionDef) -> None:
        """Give an instance the attributes that its class's `__init__` sets, but for those that other methods change."""
        initializer = receiver.cls.body.find("__init__")
        if node.name == "__init__" or not isinstance(initializer, FunctionValue):
            return
        if not isinstance(initializer.node, ast.FunctionDef):
            return
        evaluator.silent += 1
        steps = evaluator.budget.steps
        evaluator.budget.steps = min(steps, 5_000)
        spent = evaluator.budget.steps
        try:
            self._call(evaluator, initializer.node, initializer.frame, (receiver,))
        except (Raised, Undecided, BudgetExceeded, RecursionError):
            pass
        finally:
            evaluator.silent -= 1
            evaluator.budget.steps = steps - (spent - max(evaluator.budget.steps, 0))
        owner = receiver.cls.body.node
        if owner is not None and owner not in self.changed:
            self.changed[owner] = _changed_elsewhere(owner)
        for name in self.changed[owner] if owner is not None else ():
            receiver.fields.pop(name, None)

    def _call(self, evaluator: HostEvaluator, node: ast.FunctionDef, frame: Frame, first: tuple[Any, ...]) -> Any:
        """Follow a function whose further arguments are not known."""
        closure = evaluator.closure(node, frame, node.name)
        spec = node.args
        positional = [*spec.posonlyargs, *spec.args]
        bound = dict(zip((p.arg for p in positional), first, strict=False))
        for parameter in (*positional[len(first) :], *spec.kwonlyargs):
            bound[parameter.arg] = _argument(evaluator, parameter, closure.defaults)
        if spec.vararg is not None:
            bound[spec.vararg.arg] = evaluator.domain.symbol(f"*{spec.vararg.arg}")
        if spec.kwarg is not None:
            bound[spec.kwarg.arg] = evaluator.domain.symbol(f"**{spec.kwarg.arg}")
        inner = Frame(closure.frame.globals, closure.frame, "function", bound, node)
        try:
            evaluator.run(node.body, inner)
        except ReturnSignal as signal:
            return signal.value
        return None

    def _nested(self, evaluator: HostEvaluator) -> None:
        """Follow functions that were defined on the way and called by nobody: what is timed, traced or returned."""
        for function in evaluator.defined[:8]:
            node = function.node
            if node in evaluator.entered or not any(
                sites.is_candidate(n) for n in walk(node) if isinstance(n, ast.Call)
            ):
                continue
            evaluator.entered.add(node)
            if isinstance(node, ast.FunctionDef):
                self._guarded(lambda n=node, f=function: self._call(evaluator, n, f.frame, ()))
            else:
                bound = {p.arg: evaluator.domain.symbol(p.arg) for p in node.args.args}
                inner = Frame(function.frame.globals, function.frame, "function", bound, node)
                self._guarded(lambda n=node, i=inner: evaluator.expression(n.body, i))

    # ---------------------------------------------------------------------------------------------- the module's own code

    def _top(self, evaluator: HostEvaluator) -> None:
        frame = Frame(self.module, self.module.frame, "function", node=None)
        evaluator.run(_script(self.module.tree.body), frame)


def _script(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the file is run as a program, without definitions."""
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(statement, ast.If) and "__name__" in {
            n.id for n in walk(statement.test) if isinstance(n, ast.Name)
        }:
            yield from statement.body
        else:
            yield statement


def _argument(evaluator: HostEvaluator, parameter: ast.arg, defaults: dict[str, Any]) -> Any:
    """What a parameter is where nothing is known of the caller: its default, or a value of its annotation."""
    domain, world = evaluator.domain, evaluator.domain.world
    name = parameter.arg
    found, optional = hints.kind(parameter.annotation)
    default = defaults.get(name, _ABSENT)
    if isinstance(default, bool):
        other = world.choose(("parameter", name, parameter.lineno), 2)
        return default if other == 0 else not default
    if default is not _ABSENT and default is not None and not isinstance(default, Unknown):
        return default
    id_ = world.identity("parameter", name, parameter.lineno)
    optional = optional or default is None
    if found in ("int", "float", "bool", "number") and not optional:
        return Number(id_, name, found)  # type: ignore[arg-type]
    if found == "tensor" and not optional:
        return Tensor(id_, name, None)
    symbol = domain.symbol(name, "parameter", name, parameter.lineno)
    world.parameters.add(symbol.id)
    if optional:
        world.optional.add(symbol.id)
        if found == "tensor":
            world.optional_tensors.add(symbol.id)
    elif found:
        world.objects.add(symbol.id)
    return symbol


_ABSENT = object()


def _nested_imports(tree: ast.Module) -> Iterator[ast.AST]:
    """Imports within functions, of anything but Triton and packages that are not read."""
    top = set(map(id, tree.body))
    for node in walk(tree):
        if isinstance(node, ast.Import) and id(node) not in top:
            if any(a.name.partition(".")[0] not in sites.NO_KERNELS for a in node.names):
                yield node
        elif isinstance(node, ast.ImportFrom) and id(node) not in top:
            if node.level or (node.module or "").partition(".")[0] not in sites.NO_KERNELS:
                yield node


def _changed_elsewhere(node: ast.ClassDef) -> set[str]:
    """Attributes of `self` that methods beside `__init__` set."""
    names: set[str] = set()
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            for inner in walk(method):
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                    names.add(inner.attr)
    return names


__all__ = ["Follower", "replace"]
