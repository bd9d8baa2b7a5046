"""Breaks a working kernel in one way at a known line.

An operator looks at one function's syntax tree and proposes `Seed`s: a replacement of text on one line, the line where a
person would look for the fault, and the codes that name it. Nothing here knows a corpus; every operator is about the
language alone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Seed:
    """One planted fault: replace `[start, end)` (0-based UTF-8 byte columns) of the 1-based `line` by `text`."""

    operator: str
    codes: frozenset[str]
    line: int
    start: int
    end: int
    text: str


Operator = Callable[[ast.FunctionDef], Iterator[Seed]]
OPERATORS: dict[str, Operator] = {}


def operator(*codes: str) -> Callable[[Callable[[ast.FunctionDef], Iterator[tuple[ast.expr, str]]]], Operator]:
    """Registers a generator of (expression to replace, new text) as an operator whose faults have these codes."""

    def register(propose: Callable[[ast.FunctionDef], Iterator[tuple[ast.expr, str]]]) -> Operator:
        def seeds(function: ast.FunctionDef) -> Iterator[Seed]:
            for node, text in propose(function):
                if node.end_lineno == node.lineno and node.end_col_offset is not None:
                    yield Seed(
                        propose.__name__, frozenset(codes), node.lineno, node.col_offset, node.end_col_offset, text
                    )

        OPERATORS[propose.__name__] = seeds
        return seeds

    return register


def _loads(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """Expressions of simple statements: a statement on one line, so that its line is the fault's line."""
    for statement in ast.walk(function):
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)) and statement.end_lineno == statement.lineno:
            yield from ((statement, node) for node in ast.walk(statement) if isinstance(node, ast.expr))


def _language(node: ast.expr, name: str) -> bool:
    """Whether a call is of the language's `name`, whatever the module's alias."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and isinstance(node.func.value, ast.Name)
    )


def _bound(function: ast.FunctionDef) -> set[str]:
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
        a.arg for a in function.args.args
    }


@operator("undefined-name")
def misspelt_name(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    local = _bound(function)
    for _, node in _loads(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in local and len(node.id) > 1:
            yield node, node.id[:-1] + "_" + node.id[-1] + "x"


@operator("unknown-attribute")
def misspelt_function(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in ("load", "store", "arange", "zeros", "sum", "dot", "exp", "where", "program_id", "max"):
                yield node, f"{node.value.id}.{node.attr[:-1]}{node.attr[-1]}e_"


@operator("power-of-two")
def odd_range(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and len(node.args) == 2:
            yield node.args[1], "48"


@operator("constexpr-required")
def run_time_range(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = ast.unparse(node.func.value)
            if len(node.args) == 2:
                yield node.args[1], f"{module}.program_id(0)"


@operator("shape-mismatch")
def other_shape(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = ast.unparse(node.func.value)
            text = ast.unparse(node)
            yield node, f"({module}.arange(0, 8192) + {text})"


@operator("chained-comparison")
def chained(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
            yield node, f"(0 <= {ast.unparse(node)})"


@operator("loop-carried-type")
def narrow_accumulator(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    """In a run-time loop, an accumulator's update is converted to another type than it started with."""
    for loop in ast.walk(function):
        if not (
            isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range"
        ):
            continue
        for statement in loop.body:
            if (
                isinstance(statement, ast.AugAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(statement.op, ast.Add)
                and statement.end_lineno == statement.lineno
                and statement.target.id.startswith(("acc", "b_", "sum", "_sum", "d"))
            ):
                yield statement.value, f"({ast.unparse(statement.value)}).to(tl.float64)"


@operator("call-arguments")
def dropped_argument(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        for name in ("store", "arange", "where", "zeros", "full"):
            if _language(node, name) and isinstance(node, ast.Call) and len(node.args) >= 2:
                kept = [ast.unparse(a) for a in node.args[:1]]
                yield node, f"{ast.unparse(node.func)}({', '.join(kept)})"


@operator("call-arguments", "invalid-argument")
def unknown_keyword(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if _language(node, "load") and isinstance(node, ast.Call):
            yield node, ast.unparse(node)[:-1] + ", maks=None)"


@operator("unsupported-syntax")
def python_only(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and statement.end_lineno == statement.lineno:
            yield statement.value, f"(lambda: {ast.unparse(statement.value)})()"


@operator("pointer-expected")
def value_for_pointer(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for _, node in _loads(function):
        if (
            _language(node, "load")
            and isinstance(node, ast.Call)
            and node.args
            and isinstance(node.func, ast.Attribute)
        ):
            yield node.args[0], f"{ast.unparse(node.func.value)}.program_id(0)"


@operator("unsupported-call", "undefined-name", "unknown-attribute")
def host_function(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and statement.end_lineno == statement.lineno:
            if isinstance(statement.value, ast.Call):
                yield statement.value, f"sorted({ast.unparse(statement.value)})"


def apply(text: str, seeds: list[Seed]) -> str:
    """The text with all seeds planted; they are on different lines."""
    lines = text.split("\n")
    for seed in seeds:
        raw = lines[seed.line - 1].encode()
        lines[seed.line - 1] = (raw[: seed.start] + seed.text.encode() + raw[seed.end :]).decode()
    return "\n".join(lines)


def choose(function: ast.FunctionDef, count: int, rng: random.Random, usable: set[int]) -> list[Seed]:
    """`count` seeds of different operators on different lines of `usable`, or as many as there are."""
    names = list(OPERATORS)
    rng.shuffle(names)
    chosen: list[Seed] = []
    taken: set[int] = set()
    for name in names:
        options = [s for s in OPERATORS[name](function) if s.line in usable and s.line not in taken]
        if options:
            seed = rng.choice(options)
            chosen.append(seed)
            taken.add(seed.line)
        if len(chosen) == count:
            break
    return chosen
