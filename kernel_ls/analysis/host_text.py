"""The lines of a file that are not in the body of a jit function, and what of the bodies matters outside of them.

An author edits the bodies of kernels. What host code passes to a kernel does not hang on them, but for what they compare
with None; which units a kernel reaches does not, but for the globals that they name.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import cast

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.model import digest
from kernel_ls.pyeval.statements import bound_names


@dataclass(frozen=True, slots=True)
class HostText:
    """The host text of a document.

    Attributes:
        digest: of its lines and of what bodies compare with None.
        lines: the (0-based) lines that it consists of.
        reach: a digest of its lines and of the module's names that bodies read.
    """

    digest: str
    lines: tuple[int, ...]
    reach: str


def host_text(document: ParsedDocument) -> HostText:
    """The host text of a document, computed once."""
    known = document.memo.get("host text")
    if known is None:
        known = document.memo["host text"] = _host_text(document)
    return cast("HostText", known)


def _host_text(document: ParsedDocument) -> HostText:
    inside: set[int] = set()
    asked: list[list[str]] = []
    read: list[list[str]] = []
    names = bound_names(document.tree.body)
    for function in kernels.functions(document):
        if function.is_jit:
            first, last = function.node.body[0].lineno, function.node.end_lineno or function.node.lineno
            head = max([function.node.lineno, *(a.end_lineno or 0 for a in _annotated(function.node))])
            inside.update(range(max(first, head + 1) - 1, last))
            asked.append(_compared_with_none(function.node))
            read.append(sorted(names & {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name)}))
    lines = tuple(n for n in range(len(document.lines)) if n not in inside)
    broken = [(b.enclosing, b.message) for b in document.broken]
    text = [document.lines[n] for n in lines]
    return HostText(digest([text, asked, broken]), lines, digest([text, read, broken]))


def _annotated(node: ast.FunctionDef) -> list[ast.expr]:
    """What may still stand on the lines of the signature."""
    spec = node.args
    arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    found = [a.annotation for a in arguments] + [*spec.defaults, *spec.kw_defaults, node.returns]
    return [expression for expression in found if expression is not None]


def _compared_with_none(node: ast.FunctionDef) -> list[str]:
    found = {
        ast.unparse(inner)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Compare)
        and any(isinstance(c, ast.Constant) and c.value is None for c in (inner.left, *inner.comparators))
    }
    return sorted(found)
