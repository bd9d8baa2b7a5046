"""What annotations of host code say of values, as far as it matters to a launch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .values import Symbol

if TYPE_CHECKING:
    from .domain import HostDomain

_KINDS = {"int": "int", "float": "float", "bool": "bool", "str": "str", "Tensor": "tensor", "LongTensor": "tensor",
          "IntTensor": "tensor", "FloatTensor": "tensor", "HalfTensor": "tensor", "BFloat16Tensor": "tensor",
          "dtype": "dtype", "device": "device"}  # fmt: skip


def kind(node: ast.expr | None) -> tuple[str, bool]:
    """The kind of an annotation (`tensor`, `int`, ..., or empty) and whether None is one of its values."""
    if node is None:
        return "", False
    if isinstance(node, ast.Constant):
        if node.value is None:
            return "none", True
        if isinstance(node.value, str):
            try:
                return kind(ast.parse(node.value, mode="eval").body)
            except (SyntaxError, ValueError, RecursionError):
                return "", False
        return "", False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([node.left, node.right])
    if isinstance(node, ast.Subscript):
        name = _last(node.value)
        if name == "Optional":
            return kind(node.slice)[0], True
        if name == "Union" and isinstance(node.slice, ast.Tuple):
            return _union(node.slice.elts)
        if name in ("Annotated", "Final") and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            return kind(node.slice.elts[0])
        return "", False
    return _KINDS.get(_last(node), ""), False


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _union(nodes: list[ast.expr]) -> tuple[str, bool]:
    kinds = [kind(n) for n in nodes]
    optional = any(o for _, o in kinds)
    names = {k for k, _ in kinds if k != "none"}
    if len(names) == 1:
        return names.pop(), optional
    return ("number" if names == {"int", "float"} else ""), optional


def mark(domain: HostDomain, annotation: ast.expr | None, value: Any) -> None:
    """Take from an annotation what a value is that is not known otherwise."""
    value = domain.world.resolve(value)
    if annotation is None or not isinstance(value, Symbol):
        return
    found, optional = kind(annotation)
    if found in ("int", "float", "bool") and not optional and value.id not in domain.world.tensors:
        domain.world.settle_kind(value, found)  # type: ignore[arg-type]
    if found == "tensor":
        if not optional or value.id in domain.world.objects:
            domain.as_tensor(value, mark=True)
        else:
            domain.world.optional.add(value.id)
            domain.world.optional_tensors.add(value.id)
