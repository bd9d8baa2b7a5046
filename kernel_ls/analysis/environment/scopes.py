"""From a function of a document to its value: its module's statement, its class, or the function that it is nested in."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment.domain import qualname_in
from kernel_ls.analysis.environment.modules import Module
from kernel_ls.analysis.environment.values import ClassValue, FunctionValue, carried_kernel
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.node_memo import inside, once, once_for_text
from kernel_ls.pyeval import Frame, Raised, Unknown
from kernel_ls.pyeval.nodes import walk
from kernel_ls.pyeval.statements import bound_names

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace

_CALLERS = 20
"""How many calls of an enclosing function are looked at for constants that they pass."""


def locate_function(workspace: Workspace, jit: JitFunction) -> FunctionValue | None:
    """What a function's name stands for where it is defined, its decorators applied; None where its file is not readable."""
    module = workspace.module(jit.path)
    if module is None:
        return None
    frame = _frame_of(workspace, module, jit.scopes)
    value = _defined(workspace, module, jit.node, frame)
    if isinstance(value, FunctionValue) and value.node is jit.node:
        found: FunctionValue = value
    else:
        carried = carried_kernel(value)
        if carried is not None and carried.node is jit.node:
            found = carried
        else:
            found = _plain(module, jit.node, frame)
    if not found.is_kernel_code:
        _apply_assignments(module, jit, frame)
        noted = workspace._kernels.get(jit.path, {}).get((jit.node.lineno, jit.node.col_offset))
        if noted is not None:
            found = replace(noted, frame=found.frame, qualname=found.qualname)
    return found


def _plain(module: Module, node: ast.FunctionDef, frame: Frame) -> FunctionValue:
    """The function by itself, where its decorators made something else of it."""
    evaluator = module.workspace.evaluator()
    closure = evaluator.closure(node, frame, node.name)
    home = module.frame if frame.kind == "module" else frame
    return FunctionValue(module, node, home, qualname_in(frame, node.name), closure.defaults)


def _apply_assignments(module: Module, jit: JitFunction, frame: Frame) -> None:
    """Evaluate `g = wrapper(f)` for a function `f`: the call may make it a jit function."""
    if jit.scopes:
        return
    for statement in module.tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        names = {n.id for n in walk(statement.value) if isinstance(n, ast.Name)}
        if jit.name in names:
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    module.get(target.id)


def _defined(workspace: Workspace, module: Module, node: ast.FunctionDef | ast.ClassDef, frame: Frame) -> Any:
    """The value of a definition that is executed in a frame."""
    if frame.kind == "module":
        index = _statement_index(module, node)
        try:
            return module._run(node, index, node.name, Unknown("a definition")).get(node.name)
        except Raised as raised:
            return Unknown(raised.reason)
    existing = frame.locals.get(node.name)
    if isinstance(existing, FunctionValue) and existing.node is node:
        return existing
    if isinstance(existing, ClassValue) and existing.body.node is node:
        return existing
    scratch = Frame(frame.globals, frame.enclosing, frame.kind, frame.locals, frame.node)
    module.execute([node], scratch)
    return frame.locals.get(node.name)


def _statement_index(module: Module, node: ast.AST) -> int:
    line = getattr(node, "lineno", 0)
    for index, statement in enumerate(module.tree.body):
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        if first <= line <= (statement.end_lineno or statement.lineno):
            return index
    return len(module.tree.body)


def _frame_of(workspace: Workspace, module: Module, scopes: tuple[Any, ...]) -> Frame:
    """The frame that a definition inside `scopes` is executed in."""
    frame = module.frame
    for scope in scopes:
        if isinstance(scope, ast.ClassDef):
            cls = _defined(workspace, module, scope, frame)
            if isinstance(cls, ClassValue) and cls.body.node is scope:
                _ = cls.body.members
                inner = Frame(frame.globals, cls.body.frame, "class", dict(cls.body.members), scope)
                inner.locals["__class__"] = cls
                frame = inner
            else:
                frame = Frame(frame.globals, frame, "class", node=scope)
        elif isinstance(scope, ast.FunctionDef):
            frame = _run_enclosing(workspace, module, scope, frame)
        elif isinstance(scope, ast.Lambda):
            frame = Frame(frame.globals, frame, "function", node=scope)
            for name in _parameter_names(scope.args):
                frame.locals[name] = Unknown(f"`{name}` is a parameter of a lambda", name)
    return frame


def _run_enclosing(workspace: Workspace, module: Module, node: ast.FunctionDef, outer: Frame) -> Frame:
    """The names of a function after an abstract run of its body, as a function nested in it sees them."""
    key = ("frame", id(node))
    known = module.frames.get(key)
    if known is not None:
        return known
    evaluator = workspace.evaluator()
    defaults = evaluator.closure(node, outer, node.name).defaults
    frame = Frame(outer.globals, outer, "function", node=node)
    # Stored first: the body may lead back here.
    module.frames[key] = frame
    passed = _passed_by_callers(module, node) if outer.kind == "module" else {}
    for name in _parameter_names(node.args):
        if name in passed:
            frame.locals[name] = passed[name]
        elif name in defaults:
            frame.locals[name] = defaults[name]
        else:
            frame.locals[name] = Unknown(f"`{name}` is a parameter of `{node.name}` that its callers decide", name)
    if outer.kind == "module":
        frame.enclosing = module.frame
        frame.globals = module
    module.execute(node.body, frame)
    for name in bound_names(node.body):
        frame.locals.setdefault(name, Unknown(f"`{name}` is not assigned on every path of `{node.name}`", name))
    return frame


def _passed_by_callers(module: Module, node: ast.FunctionDef) -> dict[str, Any]:
    """What calls of the function in its own module pass, where that is known."""
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    found: dict[str, Any] = {}
    calls = [
        call
        for s in module.tree.body
        if node.name in once_for_text(s, "called", partial(_called, s))
        for call in once(s, "calls", partial(_calls, s))[node.name]
    ]
    for call in calls[:_CALLERS]:
        given = dict(zip(names, (a for a in call.args if not isinstance(a, ast.Starred)), strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg is not None})
        for name, argument in given.items():
            if name in found:
                continue
            value = module.evaluate(argument, module.frame)
            if not isinstance(value, Unknown):
                found[name] = value
    return found


def _called(statement: ast.stmt) -> frozenset[str]:
    return frozenset(once(statement, "calls", partial(_calls, statement)))


def _calls(statement: ast.stmt) -> dict[str, list[ast.Call]]:
    """The calls in a statement by the name that is called."""
    found: dict[str, list[ast.Call]] = {}
    for node in inside(statement, ast.Call):
        if isinstance(node.func, ast.Name):
            found.setdefault(node.func.id, []).append(node)
    return found


def _parameter_names(spec: ast.arguments) -> list[str]:
    return [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)] + [
        a.arg for a in (spec.vararg, spec.kwarg) if a is not None
    ]
