"""The syntax at a place of a snapshot's text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_ls.analysis.features.places import Place, place_of
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.positions import octets, points
from kernel_ls.model import Position, Span


def path_to(root: ast.AST, line: int, column: int) -> list[ast.AST]:
    """The nodes that hold a place (1-based line, UTF-8 byte column, a node's end included), outermost first."""
    found: list[ast.AST] = []
    node: ast.AST | None = root
    while node is not None:
        found.append(node)
        inner = None
        for child in _placed(node):
            if _holds(child, line, column):
                inner = child
                # A cursor between two nodes belongs to the one that begins there.
                if (child.lineno, child.col_offset) == (line, column):  # type: ignore[attr-defined]
                    break
        node = inner
    return found


def _placed(node: ast.AST) -> Iterator[ast.AST]:
    """The children that have a place; of what has none (arguments of a function, a comprehension's parts), theirs."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        elif not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)):
            yield from _placed(child)


def _holds(node: ast.AST, line: int, column: int) -> bool:
    first_line, first, last_line, last = place_of(node)
    return (first_line, first) <= (line, column) <= (last_line, last)


def at(function: JitFunction, position: Position) -> list[ast.AST]:
    """The nodes of a function that hold a buffer position, outermost first."""
    text = function.document.line(position.line)
    return path_to(function.node, position.line + 1, octets(text, position.column))


def span(lines: list[str], place: Place) -> Span:
    """A place in buffer coordinates."""
    line, column, end_line, end = place
    first = lines[line - 1] if 0 < line <= len(lines) else ""
    last = lines[end_line - 1] if 0 < end_line <= len(lines) else ""
    return Span.of(line - 1, points(first, column), end_line - 1, points(last, end))


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function, those in its loops and arms included, in order of the text; not of inner functions."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, name, []))
        for handler in getattr(node, "handlers", ()):
            yield from statements(handler.body)


def head(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without the statements in it."""
    stack: list[ast.AST] = [node]
    while stack:
        inner = stack.pop()
        yield inner
        stack.extend(c for c in ast.iter_child_nodes(inner) if not isinstance(c, (ast.stmt, ast.ExceptHandler)))
