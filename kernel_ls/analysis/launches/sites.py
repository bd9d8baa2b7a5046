"""Where a text may launch kernels, by its syntax alone: which functions are worth following."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from sys import stdlib_module_names
from typing import cast

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument

_METHODS = ("run", "warmup")
_MARKS = ("](", "] (", ".run(", ".warmup(", "ASTSource")
NO_KERNELS = stdlib_module_names | {"torch", "numpy", "triton", "typing_extensions"}
"""Packages from which no kernel comes that anybody launches."""

_CALLERS = 3
"""Over how many calls the callers of a launching function are looked for."""

_LEAVES = frozenset(
    {ast.Name, ast.Constant, ast.Load, ast.Store, ast.arg, ast.alias, ast.Pass, ast.Import, ast.ImportFrom}
)

Scopes = tuple[ast.AST, ...]


def may_launch(text: str) -> bool:
    """Whether a text has anything that a launch is written with."""
    return "triton" in text or any(mark in text for mark in _MARKS)


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that launches, directly or through others, with the classes around it; None for the module's own code."""

    node: ast.FunctionDef | None
    cls: ast.ClassDef | None = None
    level: int = 0
    """Over how many calls it launches."""


def is_candidate(node: ast.Call) -> bool:
    """Whether a call is written as a launch is."""
    function = node.func
    if isinstance(function, ast.Subscript):
        return True
    if isinstance(function, ast.Attribute):
        return function.attr in _METHODS or function.attr == "ASTSource"
    return isinstance(function, ast.Name) and function.id == "ASTSource"


def entries(document: ParsedDocument) -> tuple[Entry, ...]:
    """The functions to follow: those that hold a launch, then those that call them; outermost functions only."""
    known = document.memo.get("launch entries")
    if known is None:
        known = document.memo["launch entries"] = tuple(_entries(document))
    return cast("tuple[Entry, ...]", known)


def _entries(document: ParsedDocument) -> Iterator[Entry]:
    if not may_launch(document.text):
        return
    launching, calls = _survey(document)
    found: dict[ast.AST | None, Entry] = {}
    for scopes in launching:
        entry = _entry(scopes, 0)
        # Inside of a kernel `x[0](...)` is no launch; following it finds none.
        if entry is not None:
            found.setdefault(entry.node, entry)
    if not found:
        return
    level = list(found.values())
    for depth in range(1, _CALLERS + 1):
        names = {e.node.name for e in level if e.node is not None and e.node.name != "forward"}
        names |= {e.cls.name for e in level if e.cls is not None}
        following = []
        for called, scopes in calls:
            entry = _entry(scopes, depth) if called in names else None
            if entry is not None and entry.node not in found:
                found[entry.node] = entry
                following.append(entry)
        level = following
    yield from sorted(found.values(), key=lambda e: (e.level, e.node.lineno if e.node is not None else 1 << 30))


def _entry(scopes: Scopes, level: int) -> Entry | None:
    cls: ast.ClassDef | None = None
    for scope in scopes:
        if isinstance(scope, ast.FunctionDef):
            return Entry(scope, cls, level)
        if isinstance(scope, ast.ClassDef):
            cls = scope
        else:
            return None
    return Entry(None, None, level) if cls is None else None


def _survey(document: ParsedDocument) -> tuple[list[Scopes], list[tuple[str, Scopes]]]:
    """Scopes in which something may be launched, and names that are called (`C` for `C.apply(...)`) with their scopes."""
    own = {f.name for f in kernels.functions(document) if f.is_jit}
    imported = kernels.imported_names(document.tree)
    known = own | {name for name, path in imported.items() if path.partition(".")[0] not in NO_KERNELS}
    launching: list[Scopes] = []
    calls: list[tuple[str, Scopes]] = []
    stack: list[tuple[ast.AST, Scopes]] = [(document.tree, ())]
    while stack:
        node, scopes = stack.pop()
        kind = type(node)
        if kind in _LEAVES:
            continue
        if isinstance(node, ast.Call):
            # A kernel that is handed to a function may be launched there.
            handed = (*node.args, *(k.value for k in node.keywords))
            if is_candidate(node) or any(isinstance(a, ast.Name) and a.id in own for a in handed):
                launching.append(scopes)
            function = node.func
            if isinstance(function, ast.Name):
                calls.append((function.id, scopes))
            elif isinstance(function, ast.Attribute):
                holder = function.value
                applied = function.attr == "apply" and isinstance(holder, ast.Name)
                calls.append((holder.id if applied and isinstance(holder, ast.Name) else function.attr, scopes))
        elif isinstance(node, ast.Subscript):
            # `partial(kernel[grid], ...)`: the launch follows as a plain call.
            if isinstance(node.value, ast.Name) and node.value.id in known:
                launching.append(scopes)
        elif isinstance(node, ast.Assign):
            # So it does after `name = kernel[grid]`.
            if isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name) and scopes:
                if not isinstance(node.value.slice, (ast.Constant, ast.Slice)):
                    launching.append(scopes)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scopes = (*scopes, node)
        stack.extend((child, scopes) for child in ast.iter_child_nodes(node))
    return launching, calls
