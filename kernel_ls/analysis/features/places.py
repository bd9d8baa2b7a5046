"""Places of a document's nodes, and the types known at them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

Place = tuple[int, int, int, int]
"""First line (1-based), UTF-8 byte column, last line, end column: what tells one node of a text from the others."""

Types = Mapping[Place, tuple[str, ...]]


def place_of(node: ast.AST) -> Place:
    """The place of a node that has one."""
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None) or 0,
        getattr(node, "end_col_offset", None) or 0,
    )


def name_place(parameter: ast.arg) -> Place:
    """The place of a parameter's name, without its annotation."""
    end = parameter.col_offset + len(parameter.arg.encode())
    return (parameter.lineno, parameter.col_offset, parameter.lineno, end)
