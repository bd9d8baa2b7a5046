"""Launches as their text has them: what is launched, under which decorators, with which grid; and calls that lack one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis import kernels
from kernel_ls.analysis.environment import Autotune, FunctionValue, Heuristics
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.rules.surroundings import called_names, calls
from kernel_ls.pyeval.nodes import walk
from kernel_ls.pyeval.statements import bound_names

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.launches import Launch
    from kernel_ls.analysis.rules.surroundings import Surroundings

_OWN = ("jit", "gluon", "autotune", "heuristics")
_HOST = ("torch.", "functools.", "contextlib.", "pytest.", "staticmethod", "classmethod", "property")
"""Beginnings of decorators under which a function stays host code."""

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Scope = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


@dataclass(frozen=True, eq=False)
class Site:
    """A call in the text that launches a kernel through Triton's own decorators and nothing else."""

    call: ast.Call
    kernel: JitFunction
    value: FunctionValue

    @property
    def grid(self) -> ast.expr | None:
        """The grid as written between the brackets."""
        return self.call.func.slice if isinstance(self.call.func, ast.Subscript) else None


class Sites:
    """The launches of one document, read with its scopes."""

    def __init__(self, document: ParsedDocument, surroundings: Surroundings) -> None:
        self.document = document
        self.surroundings = surroundings
        self.workspace = surroundings.workspace
        self.module = self.workspace.module(document.path)
        self._bound: dict[ast.AST, set[str]] = {}
        self._speaking: dict[ast.AST, bool] = {}

    def of(self, launch: Launch) -> Site | None:
        """The text of a launch; None where something of the user's may stand between it and the kernel."""
        call = calls(self.document).get(launch.location.span)
        if call is None or not self.is_certain(call):
            return None
        launched: ast.expr | None = None
        if isinstance(call.func, ast.Subscript) or (
            isinstance(call.func, ast.Attribute) and launch.style in ("run", "warmup")
        ):
            launched = call.func.value
        value = self.value(launched, call) if launched is not None else None
        if value is None or value.module.path != launch.kernel.path or value.node is not launch.kernel.node:
            return None
        return Site(call, launch.kernel, value)

    def value(self, node: ast.expr, at: ast.AST) -> FunctionValue | None:
        """The jit function that an expression certainly stands for, wrapped in nothing but Triton's own."""
        if self.module is None:
            return None
        if isinstance(node, ast.Attribute) and node.attr == "fn":
            # What an autotuner or heuristics wrap: the kernel with a layer less.
            outer = self.value(node.value, at)
            return replace(outer, layers=outer.layers[:-1]) if outer is not None and outer.layers else None
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or self.local(root.id, at) is not None:
            return self._local_kernel(node, at) if isinstance(node, ast.Name) else None
        found = self.module.evaluate(node, self.module.frame)
        return found if isinstance(found, FunctionValue) and self._is_plain(found) else None

    def _local_kernel(self, node: ast.Name, at: ast.AST) -> FunctionValue | None:
        """The kernel that a function defines and launches itself."""
        scope = self.local(node.id, at)
        if not isinstance(scope, _Function):
            return None
        binders = [s for s in _statements(scope.body) if node.id in bound_names([s])]
        if len(binders) != 1 or not isinstance(binders[0], ast.FunctionDef):
            return None
        jit = self.workspace.definitions(self.document.path).get((binders[0].lineno, binders[0].col_offset))
        found = self.workspace.function_value(jit) if jit is not None else None
        return found if found is not None and self._is_plain(found) else None

    def _is_plain(self, value: FunctionValue) -> bool:
        if not value.is_kernel_code or value.kind in ("property", "classmethod"):
            return False
        jit = self.workspace.resolve_function(value)
        if jit is None or any(d.kind not in _OWN and d.resolved != "staticmethod" for d in jit.decorators):
            return False
        names = {Autotune: "triton.autotune", Heuristics: "triton.heuristics"}
        return all(self.surroundings.is_tritons(a.location, names.get(type(a), "")) for a in value.layers)

    def local(self, name: str, at: ast.AST) -> ast.AST | None:
        """The innermost function (or comprehension) around a node that binds a name; None for a name of the module."""
        for scope in self.scopes(at):
            if isinstance(scope, ast.ClassDef):
                continue
            if isinstance(scope, _Comprehension):
                if any(name in bound_names([g.target]) for g in scope.generators):
                    return scope
                continue
            spec = scope.args
            parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
            if any(p is not None and p.arg == name for p in parameters):
                return scope
            if isinstance(scope, _Function):
                if scope not in self._bound:
                    self._bound[scope] = bound_names(scope.body)
                if name in self._bound[scope]:
                    return scope
        return None

    def scopes(self, at: ast.AST) -> Iterator[Scope]:
        """What binds names of its own around a node, innermost first."""
        node: ast.AST | None = self.document.parents.get(at)
        while node is not None:
            if isinstance(node, (*_Function, *_Comprehension, ast.Lambda, ast.ClassDef)):
                yield node
            node = self.document.parents.get(node)

    def is_certain(self, at: ast.AST) -> bool:
        """Whether nobody is prepared for what a node raises: no `try` around it, no `pytest.raises`."""
        node: ast.AST = at
        while node in self.document.parents:
            child, node = node, self.document.parents[node]
            if isinstance(node, ast.Try) and node.handlers and child in node.body:
                return False
            if isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if any(isinstance(n, ast.Attribute) and n.attr in ("raises", "suppress") for n in walk(item)):
                        return False
        return True

    # ---------------------------------------------------------------------------------------------- grids

    def assigned(self, node: ast.expr, at: ast.AST) -> ast.expr | None:
        """The expression behind a grid: itself, or what a name that is bound once in the function stands for."""
        if not isinstance(node, ast.Name):
            return node
        scope = self.local(node.id, at)
        body: list[ast.stmt] = []
        if isinstance(scope, _Function):
            body = scope.body
        elif scope is None:
            body = self.document.tree.body
        binders = [s for s in _statements(body) if node.id in bound_names([s])]
        if len(binders) != 1:
            return None
        binder = binders[0]
        if isinstance(binder, ast.Assign) and len(binder.targets) == 1 and isinstance(binder.targets[0], ast.Name):
            return binder.value
        if isinstance(binder, ast.FunctionDef) and not binder.decorator_list:
            returns = [n for n in walk(binder) if isinstance(n, ast.Return)]
            return returns[0].value if len(returns) == 1 else None
        return None

    def is_number(self, node: ast.expr) -> bool:
        """Whether an expression certainly is a number, as one reads it."""
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.BinOp):
            return self.is_number(node.left) and self.is_number(node.right)
        if isinstance(node, ast.Call):
            name = kernels.dotted(node.func)
            resolved = kernels.resolve(name, self._imported)
            if resolved in ("triton.cdiv", "triton.next_power_of_2", "math.ceil", "math.floor"):
                return True
            return name in ("int", "len", "round") and self.local(name, node) is None
        return False

    # ---------------------------------------------------------------------------------------------- calls without a grid

    def bare_calls(self) -> Iterator[tuple[ast.Call, FunctionValue]]:
        """Calls of jit functions from host code, as if they were functions."""
        if self.module is None:
            return
        known = self._kernel_names()
        if not known:
            return
        functions = {f.jit.node: f for f in self.surroundings.functions}
        read = {n.id for node in functions for n in walk(node) if isinstance(n, ast.Name)}
        for call in calls(self.document).values():
            if kernels.dotted(call.func) in known and self._is_host(call, functions, read) and self.is_certain(call):
                value = self.value(call.func, call)
                if value is not None:
                    yield call, value

    def _kernel_names(self) -> set[str]:
        """What may stand for a jit function when it is called: a cheap look, before anything is evaluated.

        Another module is not read for a name that does not look like a kernel's.
        """
        own = {f.jit.name for f in self.surroundings.functions}
        called = called_names(self.document)
        found = {name for name in called if name.rpartition(".")[2] in own}
        for name in called - found:
            head, _, last = name.partition(".")
            target = self._imported.get(head, "")
            if target.partition(".")[0] in ("triton", "torch") or not target:
                continue
            if "kernel" in last.lower() or (not last and "kernel" in target.rpartition(".")[2].lower()):
                found.add(name)
        return found

    def _is_host(self, call: ast.Call, functions: dict[Any, Any], read: set[str]) -> bool:
        for scope in self.scopes(call):
            if isinstance(scope, (ast.Lambda, *_Comprehension)):
                continue
            if isinstance(scope, ast.ClassDef):
                if scope.decorator_list:
                    return False  # An aggregate's methods are kernel code.
                continue
            if scope in functions or scope.name in read or self._speaks_triton(scope):
                return False
            names = (kernels.resolve(kernels.dotted(_callee(d)), self._imported) for d in scope.decorator_list)
            if not all(name.startswith(_HOST) for name in names):
                return False
        return True

    def _speaks_triton(self, scope: ast.AST) -> bool:
        """Whether a function is written in Triton's language, whatever decorates it elsewhere."""
        if scope not in self._speaking:
            self._speaking[scope] = any(
                isinstance(n, ast.Attribute)
                and isinstance(n.value, ast.Name)
                and n.value.id in ("tl", "gl", "ttgl")
                and n.attr not in ("dtype", "constexpr")
                for n in walk(scope)
            )
        return self._speaking[scope]

    @cached_property
    def _imported(self) -> dict[str, str]:
        return kernels.imported_names(self.document.tree)


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope, those in its `if`s and loops included, definitions not entered."""
    for statement in body:
        if isinstance(statement, (*_Function, ast.ClassDef)):
            yield statement
            continue
        inner: list[ast.stmt] = []
        for name in ("body", "orelse", "finalbody"):
            inner += getattr(statement, name, [])
        for handler in getattr(statement, "handlers", ()):
            inner += handler.body
        if inner:
            if isinstance(statement, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
                yield _head(statement)
            yield from _statements(inner)
        else:
            yield statement


def _head(statement: ast.For | ast.AsyncFor | ast.With | ast.AsyncWith) -> ast.stmt:
    """What a compound statement binds by itself, as a statement without a body."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return ast.For(target=statement.target, iter=statement.iter, body=[], orelse=[])
    return ast.With(items=statement.items, body=[])
