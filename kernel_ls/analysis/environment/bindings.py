"""Where a name that a function reads is bound: its statement, in this file or in the module that it was imported from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment.modules import Module
from kernel_ls.analysis.environment.values import ModuleValue
from kernel_ls.pyeval import Raised
from kernel_ls.pyeval.statements import bound_names

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace

_MOST_HOPS = 16
"""How many re-exports are followed, so that modules that import from each other end."""


@dataclass(frozen=True, eq=False)
class Binding:
    """The statement that gives a name its value.

    `name` is the name in that statement's own file, which an import may have changed. For a name that comes from a module
    that is not read, it is the import statement.
    """

    document: ParsedDocument
    name: str
    node: ast.stmt | ast.arg
    imported: bool = False
    """Whether it stands in another file than the one that was asked about."""


def binding_of(workspace: Workspace, path: str, name: str, line: int) -> Binding | None:
    """The binding that a function at a line of a file sees of a name, or None where no text binds it.

    Args:
        workspace: where other modules are found.
        path: the file of the function.
        name: a name that it reads and does not bind.
        line: the 0-based line of its `def`, for what encloses it.
    """
    document = workspace.document(path)
    if document is None:
        return None
    for function in kernels.functions(document):
        if function.node.lineno - 1 == line:
            for scope in reversed(function.scopes):
                if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    node = _last(scope.body, name) or _parameter(scope.args, name)
                    if node is not None:
                        return _follow(workspace, Binding(document, name, node), _MOST_HOPS)
    return _in_module(workspace, path, name, _MOST_HOPS)


def _in_module(workspace: Workspace, path: str, name: str, hops: int) -> Binding | None:
    document = workspace.document(path)
    if document is None or hops <= 0:
        return None
    node = _last(document.tree.body, name)
    if node is not None:
        return _follow(workspace, Binding(document, name, node), hops)
    module = workspace.module(path)
    for statement in _statements(document.tree.body):
        if isinstance(statement, ast.ImportFrom) and any(a.name == "*" for a in statement.names):
            source = _module(workspace, module, statement)
            found = None if source is None else _in_module(workspace, source.path, name, hops - 1)
            if found is not None:
                return Binding(found.document, found.name, found.node, True)
    return None


def _follow(workspace: Workspace, binding: Binding, hops: int) -> Binding:
    """An import statement's binding where the module that it imports from is read."""
    node = binding.node
    if not isinstance(node, ast.ImportFrom):
        return binding
    source = _module(workspace, workspace.module(binding.document.path), node)
    if source is None:
        return binding
    name = next((a.name for a in node.names if (a.asname or a.name) == binding.name), binding.name)
    found = _in_module(workspace, source.path, name, hops - 1)
    return binding if found is None else Binding(found.document, found.name, found.node, True)


def _module(workspace: Workspace, importer: Module | None, node: ast.ImportFrom) -> Module | None:
    if importer is None:
        return None
    try:
        value = (
            workspace.import_relative(importer, node.level, node.module or "")
            if node.level
            else workspace.import_module(node.module or "", importer)
        )
    except Raised:
        return None
    return value.module if isinstance(value, ModuleValue) else None


def _last(body: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The last statement of a scope that binds a name: what a function sees when it is called."""
    found = None
    for statement in _statements(body):
        if name in bound_names([statement]):
            found = statement
    return found


def _parameter(arguments: ast.arguments, name: str) -> ast.arg | None:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return next((a for a in every if a.arg == name), None)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements and definitions of one scope, those in its `if`s, loops, `try`s and `with`s included."""
    for statement in body:
        inner = [
            *getattr(statement, "body", ()),
            *getattr(statement, "orelse", ()),
            *getattr(statement, "finalbody", ()),
        ]
        for handler in getattr(statement, "handlers", ()):
            inner += handler.body
        if inner and not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _statements(inner)
        else:
            yield statement
