"""Variables and parameters that a function binds and nowhere reads: where a value is missing, likely the ones that are meant."""

from __future__ import annotations

import ast

from kernel_ls.analysis.rules.syntax import UnitTree, is_constexpr_annotation


def unread_variables(tree: UnitTree) -> list[str]:
    """Names that are assigned and never read, masks left out, in the order of the text."""
    read = _read(tree)
    found: dict[str, None] = {}
    for node in tree.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        if node.targets[0].id not in read and not _is_test(node.value):
            found.setdefault(node.targets[0].id)
    return list(found)


def unread_parameters(tree: UnitTree) -> list[str]:
    """Parameters that are no constants and never read."""
    if tree.function is None:
        return []
    read, arguments = _read(tree), tree.function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return [a.arg for a in every if a.arg not in read and not is_constexpr_annotation(a.annotation)]


def _read(tree: UnitTree) -> set[str]:
    return {n.id for n in tree.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _is_test(node: ast.expr) -> bool:
    """Whether a value is made of comparisons, as a mask is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        return _is_test(node.left) or _is_test(node.right)
    return isinstance(node, (ast.Compare, ast.BoolOp))
