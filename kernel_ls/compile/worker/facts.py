"""What is known at a fault beside its text (ARCHITECTURE.md, "Facts"), so that rules need not read messages."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from triton.language import core

from . import quicker, spans, typetext
from .unknown import doubt_of

_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The evaluated children of a node, each with its role."""
    if isinstance(node, ast.BinOp):
        yield from (("left", node.left), ("right", node.right))
    elif isinstance(node, ast.AugAssign):
        yield from (("left", node.target), ("right", node.value))
    elif isinstance(node, ast.Compare):
        yield "left", node.left
        for index, right in enumerate(node.comparators):
            yield ("right" if index == 0 else f"right{index}"), right
    elif isinstance(node, ast.BoolOp):
        for index, value in enumerate(node.values):
            yield f"value{index}", value
    elif isinstance(node, ast.UnaryOp):
        yield "operand", node.operand
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield "self", node.func.value
        yield "func", node.func
        for index, argument in enumerate(node.args):
            yield f"arg{index}", argument
        for keyword in node.keywords:
            yield keyword.arg or "**", keyword.value
    elif isinstance(node, ast.Subscript):
        yield "value", node.value
        yield "index", node.slice
        if isinstance(node.slice, ast.Tuple):
            for index, element in enumerate(node.slice.elts):
                yield f"index{index}", element
    elif isinstance(node, ast.Attribute):
        yield "value", node.value
    elif isinstance(node, ast.IfExp):
        yield from (("test", node.test), ("body", node.body), ("orelse", node.orelse))
    elif isinstance(node, (ast.If, ast.While, ast.Assert)):
        yield "test", node.test
    elif isinstance(node, ast.For):
        yield from children(node.iter)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        for generator in node.generators:
            yield "iter", generator.iter
    elif isinstance(node, ast.JoinedStr):
        for index, part in enumerate(node.values):
            if isinstance(part, ast.FormattedValue):
                yield f"value{index}", part.value
    elif isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign, ast.Expr, ast.NamedExpr, ast.Starred)):
        written: ast.expr | None = node.value
        if written is not None:
            yield "value", written
        if isinstance(written, (ast.Tuple, ast.List)):
            for index, element in enumerate(written.elts):
                yield f"element{index}", element


def place(node: Any) -> tuple[int, int, int, int]:
    """A node's place as a key: copies that the generator makes of a node are at the same place."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def operands(generator: Any, node: ast.AST) -> list[dict[str, Any]]:
    """The operands of a node. One that was not evaluated has an empty type."""
    found = []
    for role, child in children(node):
        if not spans.has_place(child):
            continue
        key = place(child)
        evaluated = key in generator.values and not doubt_of(generator.values[key])
        value = generator.values.get(key)
        origin = generator.origins.get(child.id) if isinstance(child, ast.Name) else None
        found.append(
            {
                "role": role,
                "source": generator.source_of(child),
                "span": spans.of(generator.unit, child),
                "type": typetext.describe(value) if evaluated else "",
                "value": constant(value) if evaluated else None,
                "origin": {"span": origin[0], "type": origin[1]} if origin is not None else None,
            }
        )
    return found


def constant(value: Any) -> str | None:
    """The repr of what a value is at compile time; None for run-time values and for functions and modules."""
    if value is None:
        return "None"
    if isinstance(value, core.constexpr):
        value = value.value
    if isinstance(value, core.tuple):
        return (
            None if not typetext.is_constant(value) else "(" + ", ".join(str(constant(v)) for v in value.values) + ")"
        )
    if isinstance(value, core.base_value):
        return None
    if value is None or isinstance(value, (bool, int, float, str, tuple, list, core.dtype)):
        return typetext.constant_text(value)
    return None


def name_of(generator: Any, function: Any, node: ast.AST | None = None) -> str:
    """`module:qualname` of a function of the program, the public dotted name of a Triton function, else as written."""
    if isinstance(function, core.constexpr):
        function = function.value
    unit = generator.rec.unit_of(function) if function is not None else None
    if unit:
        return str(unit)
    opaque = getattr(type(function), "__name__", "")
    if opaque in ("Opaque", "Unknown"):
        return str(object.__getattribute__(function, "_name"))
    target = getattr(function, "__func__", function)
    target = getattr(target, "fn", target)
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and "<locals>" not in name:
        if module in ("triton.language.core", "triton.language.standard", "triton.language.semantic"):
            module = "triton.language"
        return f"{module}.{name}"
    return ast.unparse(node) if node is not None else ""


def callee(generator: Any, node: ast.AST) -> str:
    """What a call, or the iterator of a loop, called; empty for other nodes."""
    call = node.iter if isinstance(node, ast.For) else node
    if not isinstance(call, ast.Call):
        return ""
    return name_of(generator, generator.values.get(place(call.func)), call.func)


def basic(generator: Any, node: ast.AST, event: str, statement: ast.AST | None = None) -> dict[str, Any]:
    """The facts that every fault has."""
    return {
        "event": event,
        "operands": operands(generator, node),
        "callee": callee(generator, node),
        "statement": type(statement).__name__ if statement is not None else "",
    }


def meant(generator: Any, node: ast.AST, error: BaseException) -> dict[str, Any]:
    """Names that there are in place of one that there is not: attributes of an owner, parameters of a Triton function."""
    text = str(error)
    if isinstance(error, AttributeError) and isinstance(node, ast.Attribute):
        owner = generator.values.get(place(node.value))
        owner = owner.value if isinstance(owner, core.constexpr) else owner
        # A program holds views of modules, which know what was read from them only.
        owner = sys.modules.get(owner.__name__, owner) if isinstance(owner, ModuleType) else owner
        return {"candidates": _near(node.attr, dir(owner))} if owner is not None else {}
    unexpected = _UNEXPECTED.search(text) if isinstance(error, TypeError) and isinstance(node, ast.Call) else None
    if unexpected is not None:
        function = generator.values.get(place(node.func))  # type: ignore[attr-defined]
        try:
            names = list(quicker.signature_of(function).parameters)
        except (TypeError, ValueError):
            return {}
        return {"candidates": _near(unexpected.group(1), names)}
    return {}


def _near(name: str, names: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], n=8, cutoff=0.6)


def binding_problems(function: Any, args: list[Any], kwargs: dict[str, Any]) -> dict[str, list[str]] | None:
    """Which arguments of a jit function are missing, unknown or given twice; None where the call binds."""
    try:
        signature = quicker.signature_of(function.fn)
        signature.bind(*args, **kwargs)
    except TypeError:
        pass
    except (AttributeError, ValueError):
        return None
    else:
        return None
    parameters = list(signature.parameters.values())
    by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_keyword = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    given = by_position[: len(args)]
    variadic = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    extra = [] if variadic else [f"argument {i + 1}" for i in range(len(by_position), len(args))]
    if not any(p.kind == p.VAR_KEYWORD for p in parameters):
        extra += [name for name in kwargs if name not in by_keyword]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return {
        "missing": [name for name in needed if name not in given and name not in kwargs],
        "extra": extra,
        "duplicate": [name for name in kwargs if name in given],
    }


def bound_elsewhere(generator: Any, name: str, read: ast.AST) -> dict[str, list[spans.WireSpan]]:
    """Tests under which the function would have bound a name: those known at compile time, and the others."""
    under: list[spans.WireSpan] = []
    branch: list[spans.WireSpan] = []
    for test, arms in _conditionals(generator.function):
        if any(read in ast.walk(statement) for statement in arms):
            continue
        if not any(name in spans.stored_names(statement) for statement in arms):
            continue
        key = place(test)
        compile_time = (
            isinstance(test, ast.expr) and key in generator.values and typetext.is_constant(generator.values[key])
        )
        (under if compile_time else branch).append(spans.of(generator.unit, test))
    return {"bound_under": under, "bound_in_branch": branch}


def _conditionals(function: ast.AST | None) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.If):
            yield node.test, [*node.body, *node.orelse]
        elif isinstance(node, ast.While):
            yield node.test, node.body
        elif isinstance(node, ast.For):
            yield node.target, node.body
