"""What a loop carries, said before its body is generated, so that one pass over the body is enough for a check.

Triton generates a loop's body once to see which names it changes, throws that away, and generates it again with these names
as arguments of the loop: 2^depth passes over the innermost body (depth + 1 since 3.9). The types of what is carried are
those from before the loop, and a body that changes them is rejected, so a second pass finds nothing that the first did not:
no fault and no type depends on which names are arguments. So the names that the body's text may bind are taken, and the
body is generated once. Too many names, or too few, change the module and nothing else; a job that wants the module too is
generated in Triton's way.
"""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

from triton.compiler.code_generator import CodeGenerator
from triton.language import core

from . import spans

Carried = tuple[list[str], list[Any], list[Any]]
"""Names in the order of the scope before the loop, their IR values there one after the other, their types."""


@functools.lru_cache(maxsize=1)
def can_be_said() -> bool:
    """Whether this Triton asks for a loop's carried names in one place, in the form that is known here."""
    method = getattr(CodeGenerator, "_find_carries", None)
    if method is None:
        return False
    try:
        return "return names, init_handles, init_tys" in inspect.getsource(method)
    except (OSError, TypeError):
        return False


@functools.lru_cache(maxsize=4096)
def bound_in(loop: ast.For | ast.While) -> frozenset[str]:
    """Names whose value a loop's body may change: bound ones, and those an attribute or element of which is assigned."""
    found: set[str] = set()
    for statement in loop.body:
        found.update(spans.stored_names(statement))
        for node in ast.walk(statement):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                base: ast.expr = node
                while isinstance(base, (ast.Attribute, ast.Subscript)):
                    base = base.value
                if isinstance(base, ast.Name):
                    found.add(base.id)
    return frozenset(found)


def of(liveins: dict[str, Any], ignore: frozenset[str], bound: frozenset[str]) -> Carried:
    """What a loop is said to carry.

    Args:
        liveins: the scope before it.
        ignore: names that Triton does not carry.
        bound: names that the body may bind.
    """
    names: list[str] = []
    handles: list[Any] = []
    types: list[Any] = []
    for name, value in liveins.items():
        if name not in bound or name in ignore or not isinstance(value, core.base_value):
            continue
        own = _handles(value)
        if own:
            names.append(name)
            handles.extend(own)
            types.append(value.type)
    return names, handles, types


def _handles(value: Any) -> list[Any]:
    found: list[Any] = []
    try:
        value._flatten_ir(found)
    except AttributeError:  # a value that has none, such as a function
        return []
    return found
