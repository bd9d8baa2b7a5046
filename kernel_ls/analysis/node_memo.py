"""What pure functions of a syntax node have computed, kept at the node.

A statement that an edit left alone keeps its node (`reparse`), at the same rows and with the same text: what was computed
of it holds over edits elsewhere in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def once(node: ast.AST, name: str, make: Callable[[], T]) -> T:
    """What `make` gives for a node, computed once.

    Args:
        node: the node; the result may rest on its own text and rows and on nothing else.
        name: which function of the node.
        make: computes it.
    """
    kept: dict[str, Any] = node.__dict__.setdefault("_kernel_ls", {})
    if name not in kept:
        kept[name] = make()
    found: T = kept[name]
    return found
