"""Questions about one unit's text that rules ask: which node stands here, who assigns this name, what encloses it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from kernel_ls.model import UnitSpan
from kernel_ls.pyeval.nodes import walk

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)
Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@lru_cache(maxsize=512)
def unit_tree(unit: str, source: str) -> UnitTree:
    """The tree of a unit's text, which every specialization of it shares. Nothing changes it."""
    return UnitTree(unit, source)


class UnitTree:
    """The syntax tree of a unit's text, with parents. A text that does not parse gives an empty tree."""

    def __init__(self, unit: str, source: str) -> None:
        self.unit = unit
        self.source = source
        self.memo: dict[Hashable, Any] = {}
        """What pure functions of this text have computed once."""
        try:
            self.module = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.module = ast.Module(body=[], type_ignores=[])

    @cached_property
    def lines(self) -> list[bytes]:
        """The text's lines as UTF-8, without line ends."""
        return [line.encode() for line in self.source.splitlines()]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node that has a position, in source order, outer before inner."""
        return [n for n in walk(self.module) if hasattr(n, "lineno")]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Each node's parent."""
        return {child: node for node in walk(self.module) for child in ast.iter_child_nodes(node)}

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The unit's own `def`."""
        for node in self.module.body:
            if isinstance(node, FunctionNode):
                return node
        return None

    def span(self, node: ast.AST) -> UnitSpan:
        """Where a node stands."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        return UnitSpan(
            self.unit,
            line,
            column,
            line if end_line is None else end_line,
            column if end_column is None else end_column,
        )

    def text(self, span: UnitSpan) -> str:
        """The text under a span."""
        lines = self.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        if len(lines) == 1:
            return lines[0][span.column : span.end_column].decode(errors="replace")
        parts = [lines[0][span.column :], *lines[1:-1], lines[-1][: span.end_column]]
        return b"\n".join(parts).decode(errors="replace")

    def source_of(self, node: ast.AST) -> str:
        """A node's text as written."""
        return self.text(self.span(node))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int, int, int], ast.AST]:
        """The innermost node at each place, as the last of those in source order."""
        return {(s.line, s.column, s.end_line, s.end_column): n for n in self.nodes for s in (self.span(n),)}

    def node_at(self, span: UnitSpan) -> ast.AST | None:
        """The innermost node whose span is `span`, else the smallest that contains it."""
        exact = self._by_place.get((span.line, span.column, span.end_line, span.end_column))
        if exact is not None:
            return exact
        best: tuple[tuple[int, int], ast.AST] | None = None
        for node in self.nodes:
            here = self.span(node)
            start, end = (here.line, here.column), (here.end_line, here.end_column)
            if start <= (span.line, span.column) and end >= (span.end_line, span.end_column):
                size = (here.end_line - here.line, here.end_column - here.column if here.end_line == here.line else 0)
                if best is None or size <= best[0]:
                    best = (size, node)
        return None if best is None else best[1]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node's parents, inner first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def enclosing(self, node: ast.AST, kinds: type | tuple[type, ...]) -> ast.AST | None:
        """The innermost ancestor of one of `kinds` (or the node itself), not looking beyond its function."""
        for candidate in (node, *self.ancestors(node)):
            if isinstance(candidate, kinds):
                return candidate
            if isinstance(candidate, FunctionNode) and candidate is not node:
                return None
        return None

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is part of."""
        found = self.enclosing(node, ast.stmt)
        return found if isinstance(found, ast.stmt) else None

    def call_at(self, span: UnitSpan) -> ast.Call | None:
        """The call at `span`, or the innermost one around it within its statement."""
        node = self.node_at(span)
        if node is None:
            return None
        found = self.enclosing(node, (ast.Call, ast.stmt))
        if isinstance(found, ast.Call):
            return found
        if isinstance(found, ast.Expr) and isinstance(found.value, ast.Call):
            return found.value
        return None

    def find(self, predicate: Callable[[ast.AST], bool]) -> ast.AST | None:
        """The first node in source order that satisfies `predicate`."""
        found = [n for n in self.nodes if predicate(n)]
        return min(found, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0))) if found else None

    def assignments(self, name: str, within: ast.AST | None = None) -> list[ast.stmt]:
        """Statements that bind `name`, in source order, in the unit or within one of its nodes."""
        found: list[ast.stmt] = []
        for node in walk(within or self.module):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)) and name in bound_names(node):
                found.append(node)
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def parameter(self, name: str) -> ast.arg | None:
        """The unit's parameter of that name."""
        function = self.function
        if function is None:
            return None
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        return next((a for a in every if a.arg == name), None)

    def argument_node(self, call: ast.Call, parameter: str, position: int | None = None) -> ast.expr | None:
        """The expression that a call passes for `parameter`, by keyword or by position."""
        for keyword in call.keywords:
            if keyword.arg == parameter:
                return keyword.value
        if position is not None and position < len(call.args):
            if not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
                return call.args[position]
        return None


def bound_names(node: ast.AST) -> set[str]:
    """The names that a statement binds by itself (not those its nested statements bind)."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For)):
        targets = [node.target]
    return {n.id for t in targets for n in walk(t) if isinstance(n, ast.Name)}


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes of a name, else an empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def is_constexpr_annotation(annotation: ast.expr | None) -> bool:
    """Whether an annotation spells `tl.constexpr` (or `constexpr`, or quoted)."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.split(".")[-1].strip() == "constexpr"
    return dotted(annotation).split(".")[-1] == "constexpr"


def contains_name(node: ast.AST, name: str) -> bool:
    """Whether `name` is read anywhere under `node`."""
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(node))


def shorten(text: str, limit: int = 40) -> str:
    """A text on one line, cut to `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
