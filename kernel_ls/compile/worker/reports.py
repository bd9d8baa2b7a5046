"""From an exception of the generator to a fault: which exception says it, at which node, with which facts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from triton.compiler.errors import CompilationError

from . import facts, spans, typetext
from .unknown import Poisoned


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it was raised from, outermost first.

    `visit` wraps with `from None` what it meets; only the context still holds what was met.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        if isinstance(current, Poisoned):
            return
        following = current.__cause__
        context = current.__context__
        if following is None and context is not None and _wraps(current, context):
            following = context
        current = following


def _wraps(error: BaseException, context: BaseException) -> bool:
    wrapper = isinstance(error, CompilationError) and error.__suppress_context__
    return wrapper and error.error_message == repr(context)  # type: ignore[attr-defined]


def innermost(error: BaseException) -> BaseException:
    """The exception at the end of the chain: what went wrong, not who passed it on."""
    return list(chain(error))[-1]


def text_of(error: BaseException) -> str:
    """Triton's message, without the excerpt of the source that `CompilationError` puts before it."""
    if isinstance(error, CompilationError):
        message = error.error_message
        if message is None and isinstance(error.src, str) and not hasattr(error.node, "lineno"):
            # A name that cannot be compiled is reported with the message in the place of the source.
            return error.src
        return "" if message is None else str(message)
    if isinstance(error, KeyError) and error.args:
        return repr(error.args[0])
    return str(error)


def report(generator: Any, error: BaseException, statement: ast.AST, trail: tuple[ast.AST, ...]) -> None:
    """Record what an exception means, unless it is the echo of an earlier fault.

    Args:
        trail: the nodes that were being visited when it was raised, outermost first.
    """
    cause = innermost(error)
    if isinstance(cause, Poisoned):
        return
    node = _failing_node(generator, error, statement, trail)
    given = facts.basic(generator, node, "statement" if isinstance(node, ast.stmt) else "expression", statement)
    given.update(facts.meant(generator, node, cause))
    given.update(generator.take_pending())
    name = getattr(cause, "name", None)
    reason = getattr(cause, "reason", None)
    if type(cause).__name__ in ("OpaqueUse", "UnknownUse"):
        given.update(name=str(name or ""), reason=str(reason or ""))
        if type(cause).__name__ == "OpaqueUse":
            given["callee"] = str(name or given["callee"])
    if isinstance(node, ast.IfExp) and isinstance(cause, AssertionError):
        given.update(_ternary(generator, node))
    if isinstance(cause, RecursionError):
        given["event"] = "expression"
    generator.rec.fault(
        spans.of(generator.unit, node), type(cause).__name__, text_of(cause), type(node).__name__, given
    )


def _failing_node(generator: Any, error: BaseException, statement: ast.AST, trail: tuple[ast.AST, ...]) -> ast.AST:
    placed = [n for n in trail if spans.has_place(n) and isinstance(n, (ast.expr, ast.stmt, ast.arg, ast.keyword))]
    node = getattr(error, "node", None)
    # What was kept of a library function's first failure is raised again as it is, with a node of the library.
    own = getattr(error, "src", None) == generator.jit_fn.src
    if not (own and isinstance(node, ast.AST) and spans.has_place(node)):
        node = placed[-1] if placed else statement
    # The generator makes a binary operation of `x += y`; the fault stands in the statement that the user wrote.
    for outer in placed:
        made = isinstance(outer, ast.AugAssign) and isinstance(node, (ast.BinOp, ast.Assign))
        if made and facts.place(outer) == facts.place(node):
            return outer
    return node if spans.has_place(node) else statement


def _ternary(generator: Any, node: ast.IfExp) -> dict[str, Any]:
    def described(arm: ast.AST) -> str:
        key = facts.place(arm)
        return typetext.describe(generator.values[key]) if key in generator.values else ""

    return {
        "event": "branch",
        "kind": "ternary",
        "name": "",
        "then": described(node.body),
        "else": described(node.orelse),
        "then_span": spans.of(generator.unit, node.body),
        "else_span": spans.of(generator.unit, node.orelse),
        "initial": None,
        "initial_span": None,
    }
