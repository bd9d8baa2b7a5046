"""Which names a function reads from outside itself, and along which attributes.

Triton's generator looks a name up among the function's own, then among the globals, at the moment it is read. So a name
that the function binds as well is still read from outside wherever it may not have been bound before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import partial

from kernel_ls.analysis.node_memo import once_for_text
from kernel_ls.pyeval.nodes import walk
from kernel_ls.pyeval.statements import bound_names

Reads = dict[str, set[tuple[str, ...]]]
"""Name -> the attribute chains that are read from it; the empty chain is the name itself."""


def reads_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Reads:
    """The names that Triton looks up outside a function, in order of the text.

    Its generator visits the annotations and the defaults of the parameters like any expression of the body.
    """
    return once_for_text(node, "reads", partial(_reads_of, node))


def _reads_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Reads:
    walker = _Walker()
    spec = node.args
    for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        if argument.annotation is not None:
            walker.expression(argument.annotation, set())
    for default in (*spec.defaults, *spec.kw_defaults):
        if default is not None:
            walker.expression(default, set())
    if isinstance(node, ast.Lambda):
        walker.expression(node.body, set(parameters(node.args)))
    else:
        walker.block(node.body, set(parameters(node.args)))
    return walker.reads


def expression_reads(nodes: Iterable[ast.expr]) -> Reads:
    """The names that expressions read."""
    walker = _Walker()
    for node in nodes:
        walker.expression(node, set())
    return walker.reads


def parameters(spec: ast.arguments) -> list[str]:
    """The names of all parameters."""
    names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return names + [a.arg for a in (spec.vararg, spec.kwarg) if a is not None]


class _Walker:
    """Walks statements in order with the set of names that are certainly bound; None stands for code that is not reached."""

    def __init__(self) -> None:
        self.reads: Reads = {}

    def block(self, statements: Sequence[ast.stmt], bound: set[str]) -> set[str] | None:
        current: set[str] | None = bound
        for statement in statements:
            # What follows a `return` is still text that Triton visits.
            current = self.statement(statement, current if current is not None else set(bound))
        return current

    def statement(self, node: ast.stmt, bound: set[str]) -> set[str] | None:
        if isinstance(node, (ast.Return, ast.Raise)):
            self._children(node, bound)
            return None
        if isinstance(node, (ast.Break, ast.Continue)):
            return None
        if isinstance(node, ast.If):
            self.expression(node.test, bound)
            return _meet(self.block(node.body, set(bound)), self.block(node.orelse, set(bound)))
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter, bound)
            inner = bound | bound_names([ast.Assign(targets=[node.target], value=ast.Constant(value=None))])
            self._target(node.target, bound)
            self.block(node.body, set(inner))
            self.block(node.orelse, set(bound))
            return bound
        if isinstance(node, ast.While):
            self.expression(node.test, bound)
            self.block(node.body, set(bound))
            self.block(node.orelse, set(bound))
            return bound
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._attempt(node, bound)  # type: ignore[arg-type]
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr, bound)
                if item.optional_vars is not None:
                    self._target(item.optional_vars, bound)
                    bound |= _stored(item.optional_vars)
            return self.block(node.body, bound)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
                if default is not None:
                    self.expression(default, bound)
            bound.add(node.name)
            self.block(node.body, bound | set(parameters(node.args)) | bound_names(node.body))
            return bound
        if isinstance(node, ast.ClassDef):
            self._children(node, bound)
            bound.add(node.name)
            return bound
        if isinstance(node, ast.AugAssign):
            self.expression(node.value, bound)
            if isinstance(node.target, ast.Name):
                self._read(node.target.id, (), bound)
                bound.add(node.target.id)
            else:
                self._target(node.target, bound)
            return bound
        if isinstance(node, ast.Assign):
            self.expression(node.value, bound)
            for target in node.targets:
                self._target(target, bound)
                bound |= _stored(target)
            return bound
        if isinstance(node, ast.AnnAssign):
            # Triton evaluates the annotation of a local (`x: tl.constexpr = 1`).
            self.expression(node.annotation, bound)
            if node.value is not None:
                self.expression(node.value, bound)
                self._target(node.target, bound)
                bound |= _stored(node.target)
            return bound
        self._children(node, bound)
        bound |= bound_names([node])
        return bound

    def _attempt(self, node: ast.Try, bound: set[str]) -> set[str] | None:
        after = self.block(node.body, set(bound))
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, bound)
            self.block(handler.body, set(bound) | ({handler.name} if handler.name else set()))
        self.block(node.orelse, set(after or bound))
        self.block(node.finalbody, set(bound))
        return bound

    def _target(self, node: ast.expr, bound: set[str]) -> None:
        """What an assignment's target reads: the object and the index of an element or attribute."""
        if isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self._target(element, bound)
        elif isinstance(node, ast.Starred):
            self._target(node.value, bound)
        elif isinstance(node, ast.Attribute):
            self.expression(node.value, bound)
        elif isinstance(node, ast.Subscript):
            self.expression(node.value, bound)
            self.expression(node.slice, bound)

    def _children(self, node: ast.AST, bound: set[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, bound)
            elif isinstance(child, ast.stmt):
                self.statement(child, set(bound))
            else:
                self._children(child, bound)

    def expression(self, node: ast.expr, bound: set[str]) -> None:
        """Note what an expression reads."""
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Load):
                self._read(inner.id, tuple(reversed(chain)), bound)
            return
        if chain:
            self.expression(inner, bound)
        elif isinstance(inner, ast.Lambda):
            for default in (*inner.args.defaults, *inner.args.kw_defaults):
                if default is not None:
                    self.expression(default, bound)
            self.expression(inner.body, bound | set(parameters(inner.args)))
        elif isinstance(inner, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            scope = set(bound)
            for generator in inner.generators:
                self.expression(generator.iter, scope)
                scope |= _stored(generator.target)
                for test in generator.ifs:
                    self.expression(test, scope)
            for part in (inner.key, inner.value) if isinstance(inner, ast.DictComp) else (inner.elt,):
                self.expression(part, scope)
        elif isinstance(inner, ast.NamedExpr):
            self.expression(inner.value, bound)
            bound.add(inner.target.id)
        else:
            self._children(inner, bound)

    def _read(self, name: str, chain: tuple[str, ...], bound: set[str]) -> None:
        if name not in bound:
            self.reads.setdefault(name, set()).add(chain)


def _stored(target: ast.expr) -> set[str]:
    return {n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _meet(first: set[str] | None, second: set[str] | None) -> set[str] | None:
    if first is None:
        return second
    return first if second is None else first & second
