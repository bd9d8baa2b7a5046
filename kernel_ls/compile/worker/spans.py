"""Places of syntax nodes, on the wire: `[unit, line, column, end line, end column]`."""

from __future__ import annotations

import ast
import functools
from typing import Any

WireSpan = list[Any]

_KEPT = 16384
"""Nodes whose properties are kept. Trees are kept between jobs, and nothing changes a node once it was asked about."""


def has_place(node: Any) -> bool:
    """Whether a node stands in the text; those that the generator makes itself do not."""
    return getattr(node, "lineno", None) is not None and getattr(node, "end_lineno", None) is not None


def of(unit: str, node: Any) -> WireSpan:
    """The span of a node; of a compound statement only its header, so that a fault of an `if` is not its whole body."""
    line, column = node.lineno, node.col_offset
    end = _header_end(node)
    if end is None:
        return [unit, line, column, node.end_lineno, node.end_col_offset]
    return [unit, line, column, *end]


def _header_end(node: ast.AST) -> tuple[int, int] | None:
    last: ast.AST | None = None
    if isinstance(node, (ast.If, ast.While)):
        last = node.test
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        last = node.iter
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        item = node.items[-1]
        last = item.optional_vars or item.context_expr
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        word = {"FunctionDef": "def ", "AsyncFunctionDef": "async def ", "ClassDef": "class "}[type(node).__name__]
        return node.lineno, node.col_offset + len(word) + len(node.name.encode())
    elif type(node).__name__ in ("Try", "TryStar"):
        return node.lineno, node.col_offset + len("try")  # type: ignore[attr-defined]
    elif type(node).__name__ == "Match":
        last = node.subject  # type: ignore[attr-defined]
    if last is None or not has_place(last):
        return None
    return last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]


def header_lines(statement: ast.stmt) -> list[int]:
    """First and last line of a statement, of a compound statement without the statements inside it."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        last = max(first, body[0].lineno - 1)
    return [first, last]


@functools.lru_cache(maxsize=_KEPT)
def stored_names(node: ast.AST) -> tuple[str, ...]:
    """Names that a statement may bind, in the order of the text; those of functions defined in it stay inside."""
    names: dict[str, None] = {}
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop(0)
        if isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            names.setdefault(item.id)
        elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.setdefault(item.name)
            continue
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            for alias in item.names:
                names.setdefault(alias.asname or alias.name.partition(".")[0])
        elif isinstance(item, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        todo.extend(ast.iter_child_nodes(item))
    return tuple(names)


def assignments_of(name: str, statements: list[ast.stmt]) -> list[ast.AST]:
    """Statements among `statements`, nested ones included, that bind `name`; in the order of the text."""
    found: list[ast.AST] = []
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                targets: list[ast.AST] = list(node.targets)
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For)):
                targets = [node.target]
            else:
                continue
            if any(name in stored_names(target) for target in targets):
                found.append(node)
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=_KEPT)
def contains_return(node: ast.AST) -> bool:
    """Whether a `return` stands in a statement, outside functions defined in it."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return False
    return any(contains_return(child) for child in ast.iter_child_nodes(node))
