"""What of a function has to be followed to know which arms of its tests are generated.

Most statements of a kernel load, multiply and store; none of that decides a compile-time test. A slice keeps the control
flow, every statement that a test may read from, and every call that may lead into another function of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kernel_ls.model import Json, Program

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert)


def deciding(node: ast.FunctionDef, globals_: Mapping[str, Json], program: Program) -> ast.FunctionDef:
    """A function without the statements that no arm hangs on. Nodes are shared with the whole one, places included.

    Args:
        node: the function.
        globals_: its globals as wire values.
        program: what it is a unit of.
    """
    leading = frozenset(name for name, value in globals_.items() if _leads(value))
    # Then what a local value has under a name may be a function of the program.
    modules = any(isinstance(v, Mapping) and v.get("k") == "module" for v in globals_.values())
    return _deciding(node, leading, modules or any("class" in unit for unit in program.units.values()))


@lru_cache(maxsize=1024)
def _deciding(node: ast.FunctionDef, leading: frozenset[str], methods: bool) -> ast.FunctionDef:
    return _Slice(node, leading, methods).function()


def _leads(value: Json) -> bool:
    """Whether a call of a global, or of what it has under a name, may reach an arm."""
    plain = isinstance(value, Mapping) and value.get("k") in ("ref", "opaque")
    return not plain or _asserts(str(value.get("path", "")).rpartition(".")[2])


def _asserts(name: str) -> bool:
    """An assertion on constants counts as a test that goes one way."""
    return name == "static_assert"


class _Slice:
    def __init__(self, node: ast.FunctionDef, leading: frozenset[str], methods: bool) -> None:
        self.node = node
        self.leading = leading
        self.methods = methods
        self.read: set[str] = set()
        self.bound = _bound(node)
        self._leads: dict[int, bool] = {}

    def function(self) -> ast.FunctionDef:
        size = -1
        while size != len(self.read):
            size = len(self.read)
            body = self.block(self.node.body)
        sliced = ast.FunctionDef(
            self.node.name, self.node.args, body or [ast.Pass()], self.node.decorator_list, self.node.returns
        )
        return ast.copy_location(sliced, self.node)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [kept for statement in body if (kept := self.statement(statement)) is not None]

    def statement(self, node: ast.stmt) -> ast.stmt | None:
        """What is kept of a statement; the names that it reads are noted."""
        if isinstance(node, _SIMPLE):
            if not (self._binds_what_is_read(node) or self._leads_somewhere(node)):
                return None
            self._reads(node)
            return node
        if isinstance(node, ast.If):
            self._reads(node.test)
            kept = ast.If(node.test, self.block(node.body) or [ast.Pass()], self.block(node.orelse))
            return ast.copy_location(kept, node)
        if isinstance(node, ast.For):
            body, orelse = self.block(node.body), self.block(node.orelse)
            if not body and not orelse and not self._leads_somewhere(node.iter) and not self._is_read(node.target):
                return None
            self._reads(node.iter)
            return ast.copy_location(ast.For(node.target, node.iter, body, orelse), node)
        if isinstance(node, ast.While):
            body = self.block(node.body)
            if not body and not self._leads_somewhere(node.test):
                return None
            self._reads(node.test)
            return ast.copy_location(ast.While(node.test, body, node.orelse), node)
        if isinstance(node, ast.With):
            for item in node.items:
                self._reads(item)
            return ast.copy_location(ast.With(node.items, self.block(node.body) or [ast.Pass()]), node)
        self._reads(node)
        return node

    def _reads(self, node: ast.AST) -> None:
        # What is assigned to is read with it: to add to a value is to read it.
        self.read.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))

    def _is_read(self, target: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.read for n in ast.walk(target))

    def _binds_what_is_read(self, node: ast.stmt) -> bool:
        targets: Iterable[ast.expr] = ()
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = (node.target,)
        return any(self._is_read(target) for target in targets)

    def _leads_somewhere(self, node: ast.AST) -> bool:
        """Whether an arm may be reached in an expression itself, or in what it calls."""
        known = self._leads.get(id(node))
        if known is None:
            known = self._leads[id(node)] = any(
                isinstance(n, ast.NamedExpr) or (isinstance(n, ast.Call) and self._calls_a_unit(n))
                for n in ast.walk(node)
            )
        return known

    def _calls_a_unit(self, node: ast.Call) -> bool:
        function: ast.expr = node.func
        if isinstance(function, ast.Attribute) and _asserts(function.attr):
            return True
        attribute = isinstance(function, ast.Attribute)
        while isinstance(function, ast.Attribute):
            function = function.value
        if isinstance(function, ast.Name) and function.id not in self.bound:
            return function.id in self.leading
        return self.methods or not attribute


def _bound(node: ast.FunctionDef) -> frozenset[str]:
    arguments = node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names.update(a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None)
    names.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset(names)
