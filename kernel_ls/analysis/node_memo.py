"""What pure functions of a syntax node have computed, kept at the node.

A statement that an edit left alone keeps its node (`reparse`), at the same rows and with the same text: what was computed
of it holds over edits elsewhere in the file. One that only moved has a new node, and keeps what rests on no row and no node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kernel_ls.pyeval.nodes import walk

T = TypeVar("T")
N = TypeVar("N", bound=ast.AST)


def once(node: ast.AST, name: str, make: Callable[[], T]) -> T:
    """What `make` gives for a node, computed once.

    Args:
        node: the node; the result may rest on its own text and rows and on nothing else.
        name: which function of the node.
        make: computes it.
    """
    return _at(node, "_kernel_ls", name, make)


def once_for_text(node: ast.AST, name: str, make: Callable[[], T]) -> T:
    """As `once`, for a result that rests on the text alone and holds no row and no node: it stays when the node's rows move."""
    return _at(node, "_kernel_ls_text", name, make)


def moved(before: ast.AST, now: ast.AST) -> None:
    """Say that a node is another one at other rows: what was computed for its text holds."""
    now.__dict__["_kernel_ls_text"] = before.__dict__.setdefault("_kernel_ls_text", {})


def inside(node: ast.AST, kind: type[N]) -> Sequence[N]:
    """The nodes of exactly one class in a statement, itself included, in the order of `walk`: one walk serves every class."""
    return once(node, "inside", partial(_by_class, node)).get(kind, ())  # type: ignore[return-value]


def _by_class(node: ast.AST) -> dict[type, list[ast.AST]]:
    found: dict[type, list[ast.AST]] = {}
    for inner in walk(node):
        of_class = found.get(inner.__class__)
        if of_class is None:
            found[inner.__class__] = [inner]
        else:
            of_class.append(inner)
    return found


def _at(node: ast.AST, place: str, name: str, make: Callable[[], T]) -> T:
    kept: dict[str, Any] = node.__dict__.setdefault(place, {})
    if name not in kept:
        kept[name] = make()
    found: T = kept[name]
    return found
