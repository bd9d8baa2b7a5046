"""From a name to where it is defined, from a jit function to its uses, from kernels to helpers and back to launch sites.

These read the workspace, other files included, and so run where it lives. Only what general servers do not answer, or do
not follow through decorators, is answered: names of globals inside of kernel code, and jit functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.environment import ModuleValue, Workspace
from kernel_ls.analysis.environment.bindings import binding_of
from kernel_ls.analysis.features import nodes
from kernel_ls.analysis.features.places import place_of
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.launches import LaunchIndex
from kernel_ls.analysis.positions import octets, span_of
from kernel_ls.model import Location, Position, Span
from kernel_ls.pyeval.nodes import walk


@dataclass(frozen=True, slots=True)
class Function:
    """A function in the hierarchy of calls: a kernel, a helper, or host code that launches. `key` finds it again."""

    path: str
    key: str
    name: str
    detail: str
    span: Span
    name_span: Span


@dataclass(frozen=True, slots=True)
class Caller:
    """One end of some calls, and where the calls stand (in the caller's file)."""

    function: Function
    spans: tuple[Span, ...]


# ------------------------------------------------------------------------------------------- what is where


def _function_at(workspace: Workspace, path: str, position: Position) -> JitFunction | None:
    """The innermost jit function that a position is in, its decorators included."""
    found = None
    for resolved in workspace.functions(path):
        node = resolved.jit.node
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if first <= position.line + 1 <= (node.end_lineno or node.lineno):
            found = resolved.jit
    return found


def _node_at(document: ParsedDocument, position: Position) -> list[ast.AST]:
    column = octets(document.line(position.line), position.column)
    return nodes.path_to(document.tree, position.line + 1, column)


def jit_at(workspace: Workspace, path: str, position: Position) -> JitFunction | None:
    """The jit function that is named at a position: its own name, or a name that leads to it."""
    document = workspace.document(path)
    if document is None:
        return None
    for resolved in workspace.functions(path):
        if resolved.jit.name_span.contains(position):
            return resolved.jit
    path_to = _node_at(document, position)
    node = path_to[-1] if path_to else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _resolved(workspace, path, node)
    if isinstance(node, ast.alias):
        return workspace.resolve_function(workspace.lookup(path, node.asname or node.name))
    return None


def _resolved(workspace: Workspace, path: str, node: ast.expr) -> JitFunction | None:
    """The jit function that a name of a module, or an attribute of a module, leads to."""
    if isinstance(node, ast.Name):
        return workspace.resolve_function(workspace.lookup(path, node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = workspace.lookup(path, node.value.id)
        if isinstance(owner, ModuleValue):
            return workspace.resolve_function(workspace.lookup(owner.module.path, node.attr))
    return None


# ---------------------------------------------------------------------------------------------- definition


def definition(workspace: Workspace, path: str, position: Position) -> Location | None:
    """Where a global that kernel code reads is defined: a jit helper, a constant, in this file or another."""
    document = workspace.document(path)
    function = _function_at(workspace, path, position)
    if document is None or function is None:
        return None
    path_to = _node_at(document, position)
    node = path_to[-1] if path_to else None
    if isinstance(node, ast.Attribute):
        target = _resolved(workspace, path, node)
        return target.name_location if target is not None else None
    if not isinstance(node, ast.Name) or _is_local(function, node.id):
        return None
    target = _resolved(workspace, path, node)
    if target is not None:
        return target.name_location
    binding = binding_of(workspace, path, node.id, function.node.lineno - 1)
    if binding is None:
        return None
    return Location(binding.document.path, _name_span(binding.document, binding.node, binding.name))


def _is_local(function: JitFunction, name: str) -> bool:
    if function.parameter(name) is not None:
        return True
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in walk(function.node))


def _name_span(document: ParsedDocument, node: ast.AST, name: str) -> Span:
    """The name within the statement that binds it."""
    for inner in walk(node):
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store):
            return span_of(inner, document.lines)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        line = node.lineno - 1
        at = document.line(line).find(name, node.col_offset)
        if at >= 0:
            return Span.of(line, at, line, at + len(name))
    return span_of(node, document.lines)


# ---------------------------------------------------------------------------------------------- references


def references(
    workspace: Workspace, path: str, position: Position, files: Iterable[str], *, declaration: bool = True
) -> tuple[Location, ...]:
    """The uses of the jit function that is named at a position, in its own file and in others.

    Args:
        workspace: the user's code.
        path: the file.
        position: a place in it.
        files: the files that may name the function.
        declaration: whether its own name counts.
    """
    function = jit_at(workspace, path, position)
    if function is None:
        return ()
    found = [function.name_location] if declaration else []
    for other in dict.fromkeys([function.path, *files]):
        found += [Location(other, span) for span, _ in uses(workspace, function, other)]
    return tuple(dict.fromkeys(found))


def uses(workspace: Workspace, function: JitFunction, path: str) -> Iterator[tuple[Span, ast.AST]]:
    """The places of a file that name a jit function, with their nodes."""
    document = workspace.document(path)
    if document is None or function.name not in document.text:
        return
    aliases = _aliases(workspace, function, path, document)
    for node in walk(document.tree):
        if isinstance(node, ast.Name):
            if node.id in aliases and isinstance(node.ctx, ast.Load) and not _is_shadowed(workspace, path, node):
                yield span_of(node, document.lines), node
        elif isinstance(node, ast.Attribute) and node.attr == function.name:
            target = _resolved(workspace, path, node)
            if target is not None and _same(target, function):
                whole = span_of(node, document.lines)
                start = Position(whole.end.line, whole.end.column - len(node.attr))
                yield Span(start, whole.end), node
        elif isinstance(node, ast.alias) and path != function.path:
            target = workspace.resolve_function(workspace.lookup(path, node.asname or node.name))
            if target is not None and _same(target, function):
                span = span_of(node, document.lines)
                yield (
                    Span.of(span.start.line, span.start.column, span.start.line, span.start.column + len(node.name)),
                    node,
                )


def _aliases(workspace: Workspace, function: JitFunction, path: str, document: ParsedDocument) -> set[str]:
    """The names that lead to a function in a file."""
    names = {function.name}
    for node in walk(document.tree):
        if isinstance(node, ast.ImportFrom):
            names.update(a.asname for a in node.names if a.name == function.name and a.asname)
    if path == function.path and function.scopes:
        return {function.name}
    found = set()
    for name in names:
        target = workspace.resolve_function(workspace.lookup(path, name))
        if target is not None and _same(target, function):
            found.add(name)
    return found


def _is_shadowed(workspace: Workspace, path: str, node: ast.Name) -> bool:
    for resolved in workspace.functions(path):
        jit = resolved.jit
        if jit.node.lineno <= node.lineno <= (jit.node.end_lineno or 0):
            return _is_local(jit, node.id)
    return False


def _same(one: JitFunction, other: JitFunction) -> bool:
    return one.path == other.path and one.key == other.key


# ------------------------------------------------------------------------------------------ call hierarchy


def function_item(workspace: Workspace, jit: JitFunction) -> Function:
    """A jit function as the hierarchy shows it."""
    unit = workspace.program(jit).kernel
    called = any(unit in workspace.calls(path) for path in (jit.path, *sorted(workspace.dependents(jit.path))))
    word = "helper" if called else "kernel"
    return Function(jit.path, jit.key, jit.qualname, word, jit.span, jit.name_span)


def prepare(workspace: Workspace, path: str, position: Position) -> Function | None:
    """The jit function at a position: one that is named there, else the one around it."""
    jit = jit_at(workspace, path, position) or _function_at(workspace, path, position)
    return function_item(workspace, jit) if jit is not None else None


def _find(workspace: Workspace, path: str, key: str) -> JitFunction | None:
    return next((f.jit for f in workspace.functions(path) if f.jit.key == key), None)


def incoming(
    workspace: Workspace, launches: LaunchIndex, path: str, key: str, files: Iterable[str]
) -> tuple[Caller, ...]:
    """Who calls a jit function: kernels and helpers, and the host code that launches it."""
    target = _find(workspace, path, key)
    if target is None:
        return ()
    calls: dict[tuple[str, str], tuple[Function, list[Span]]] = {}
    for other in dict.fromkeys([path, *files]):
        for span, node in uses(workspace, target, other):
            caller = _function_at(workspace, other, span.start)
            if caller is not None and not isinstance(node, ast.alias) and not _same(caller, target):
                function = function_item(workspace, caller)
                calls.setdefault((other, caller.key), (function, []))[1].append(span)
    for launch in launches.launches_of(target, [path, *files]):
        function = _host(workspace, launch.path, launch.location.span)
        spans = calls.setdefault((launch.path, function.key), (function, []))[1]
        if launch.location.span not in spans:
            spans.append(launch.location.span)
    return tuple(Caller(function, tuple(spans)) for function, spans in calls.values())


def _host(workspace: Workspace, path: str, span: Span) -> Function:
    """The host function that a span is in; the module where it is in none."""
    document = workspace.document(path)
    best: JitFunction | None = None
    if document is not None:
        for function in kernels.functions(document):
            if function.span.start <= span.start and span.end <= function.span.end:
                best = function
    if best is None:
        name = path.rpartition("/")[2]
        return Function(path, "", name, "launches", Span.of(0, 0, 0, 0), Span.of(0, 0, 0, 0))
    return Function(path, best.key, best.qualname, "launches", best.span, best.name_span)


def outgoing(workspace: Workspace, path: str, key: str) -> tuple[Caller, ...]:
    """The jit helpers that a jit function calls; for host code nothing, which general servers answer."""
    source = _find(workspace, path, key)
    if source is None:
        return ()
    calls: dict[tuple[str, str], tuple[Function, list[Span]]] = {}
    for node in walk(source.node):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            if isinstance(node.func, ast.Name) and _is_local(source, node.func.id):
                continue
            target = _resolved(workspace, path, node.func)
            if target is not None:
                item = calls.setdefault((target.path, target.key), (function_item(workspace, target), []))
                item[1].append(nodes.span(source.document.lines, place_of(node.func)))
    return tuple(Caller(function, tuple(spans)) for function, spans in calls.values())
