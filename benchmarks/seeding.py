"""Breaks a working kernel in one way at a known line.

An operator looks at one function's syntax tree and proposes `Seed`s: a replacement of text on one line, the line where a
person would look for the fault, and the codes that name it. Nothing here knows a corpus; every operator is about the
language alone.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Seed:
    """One planted fault: replace `[start, end)` (0-based UTF-8 byte columns) of the 1-based `line` by `text`.

    `tail` is appended to the file. Where a person would look is `line`, one of `lines` beside it, or, if `tail_line` is
    not 0, that line of the tail.
    """

    operator: str
    codes: frozenset[str]
    line: int
    start: int
    end: int
    text: str
    tail: str = ""
    tail_line: int = 0
    lines: frozenset[int] = frozenset()


Operator = Callable[[ast.FunctionDef], Iterator[Seed]]
OPERATORS: dict[str, Operator] = {}


def operator(
    *codes: str, tail: str = "", tail_line: int = 0
) -> Callable[[Callable[[ast.FunctionDef], Iterator[tuple[object, ...]]]], Operator]:
    """Registers a generator of (node to replace, new text, lines where the fault may show) as an operator."""

    def register(propose: Callable[[ast.FunctionDef], Iterator[tuple[object, ...]]]) -> Operator:
        def seeds(function: ast.FunctionDef) -> Iterator[Seed]:
            for node, text, *more in propose(function):
                assert isinstance(node, (ast.expr, ast.stmt, ast.arg, ast.keyword))
                if node.end_lineno == node.lineno and node.end_col_offset is not None:
                    lines = frozenset(n for group in more for n in group)  # type: ignore[attr-defined]
                    yield Seed(
                        propose.__name__,
                        frozenset(codes),
                        node.lineno,
                        node.col_offset,
                        node.end_col_offset,
                        str(text).replace("LANGUAGE", _alias(function)),
                        tail.replace("LANGUAGE", _alias(function)),
                        tail_line,
                        lines,
                    )

        OPERATORS[propose.__name__] = seeds
        return seeds

    return register


def _alias(function: ast.FunctionDef) -> str:
    """What the function calls the language."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in ("load", "store", "arange", "program_id", "constexpr"):
                return node.value.id
    return "tl"


def _assignments(function: ast.FunctionDef) -> Iterator[ast.Assign]:
    """Assignments to one name, each on a line of its own."""
    for statement in _simple(function.body):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if len(statement.targets) == 1:
                yield statement


def _simple(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements on one line without statements of their own."""
    for statement in body:
        for field in ("body", "orelse"):
            yield from _simple(getattr(statement, field, []))
        if not hasattr(statement, "body") and statement.end_lineno == statement.lineno:
            yield statement


def _run_time_loops(function: ast.FunctionDef) -> Iterator[ast.For]:
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            if ast.unparse(node.iter.func) in ("range", f"{_alias(function)}.range"):
                yield node


def _parts(function: ast.FunctionDef, name: str, least: int = 0) -> Iterator[ast.Call]:
    """Calls of the language's `name` on one line."""
    for _, node in _loads(function):
        if _language(node, name) and isinstance(node, ast.Call) and len(node.args) >= least:
            yield node


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
def misspelt_name(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    local = _bound(function)
    for _, node in _loads(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in local and len(node.id) > 1:
            yield node, node.id[:-1] + "_" + node.id[-1] + "x"


@operator("unknown-attribute")
def misspelt_function(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in ("load", "store", "arange", "zeros", "sum", "dot", "exp", "where", "program_id", "max"):
                yield node, f"{node.value.id}.{node.attr[:-1]}{node.attr[-1]}e_"


@operator("power-of-two")
def odd_range(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and len(node.args) == 2:
            yield node.args[1], "48"


@operator("constexpr-required")
def run_time_range(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = ast.unparse(node.func.value)
            if len(node.args) == 2:
                yield node.args[1], f"{module}.program_id(0)"


@operator("shape-mismatch")
def other_shape(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if _language(node, "arange") and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = ast.unparse(node.func.value)
            text = ast.unparse(node)
            yield node, f"({module}.arange(0, 8192) + {text})"


@operator("chained-comparison")
def chained(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
            yield node, f"(0 <= {ast.unparse(node)})"


@operator("loop-carried-type")
def narrow_accumulator(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    """In a run-time loop, an accumulator's update is converted to another type than it started with."""
    for loop in _run_time_loops(function):
        for statement in _simple(loop.body):
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                if isinstance(statement.op, ast.Add) and not re.search(r"ptr|^p_|offs|base", statement.target.id):
                    yield statement.value, f"({ast.unparse(statement.value)}).to(LANGUAGE.float64)"


@operator("loop-carried-type", "dot-operands")
def integer_accumulator(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    """An accumulator of a run-time loop starts as integers; the fault stands wherever it is changed."""
    for loop in _run_time_loops(function):
        changed: dict[str, set[int]] = {}
        for statement in ast.walk(function):
            if isinstance(statement, (ast.Assign, ast.AugAssign)):
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                if isinstance(target, ast.Name):
                    changed.setdefault(target.id, set()).add(statement.lineno)
        for first in _assignments(function):
            name = ast.unparse(first.targets[0])
            if (
                not changed.get(name, set()) & set(range(loop.lineno, (loop.end_lineno or 0) + 1))
                or first.lineno > loop.lineno
                or not _language(first.value, "zeros")
            ):
                continue
            for node in ast.walk(first.value):
                if isinstance(node, ast.Attribute) and node.attr == "float32":
                    yield node, "LANGUAGE.int32", changed[name]


@operator("branch-type")
def converted_under_a_test(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    """In place of a store, what it would store is converted under a run-time test."""
    for call in _parts(function, "store", 2):
        if isinstance(call.args[1], ast.Name):
            name = call.args[1].id
            yield call, f"if LANGUAGE.program_id(0) > 3: {name} = {name}.to(LANGUAGE.float64).to(LANGUAGE.float8e5)"


@operator("ternary-type")
def two_types(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _assignments(function):
        text = ast.unparse(statement.value)
        yield statement.value, f"({text}) if LANGUAGE.program_id(0) > 3 else LANGUAGE.zeros((2, 2, 2), LANGUAGE.int8)"


@operator("return-in-loop")
def left_early(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for loop in _run_time_loops(function):
        for statement in _simple(loop.body):
            if isinstance(statement, (ast.Assign, ast.AugAssign)):
                yield statement, f"{ast.unparse(statement)}; return"


@operator("unsupported-syntax")
def broken_off(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for loop in _run_time_loops(function):
        for statement in _simple(loop.body):
            if isinstance(statement, (ast.Assign, ast.AugAssign)):
                yield statement, f"{ast.unparse(statement)}; break"


@operator("constexpr-global", tail="SEEDED_SCALE = 3\n")
def plain_global(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _assignments(function):
        yield statement.value, f"({ast.unparse(statement.value)}) + SEEDED_SCALE"


@operator("constexpr-required")
def dropped_annotation(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    """A size loses its annotation; the fault stands where the size is used as one."""
    sizes: dict[str, set[int]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            (".arange", ".zeros", ".full", "static_range")
        ):
            for name in ast.walk(node):
                if isinstance(name, ast.Name):
                    sizes.setdefault(name.id, set()).update((name.lineno, node.lineno))
    for argument in function.args.args:
        if argument.annotation is not None and argument.arg in sizes:
            if ast.unparse(argument.annotation).endswith("constexpr"):
                yield argument, argument.arg, sizes[argument.arg]


@operator("tensor-truth-value")
def block_as_a_test(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            yield node.test, "LANGUAGE.arange(0, 8) > 3"


@operator("invalid-argument")
def axis_out_of_range(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for name in ("sum", "max", "min"):
        for call in _parts(function, name, 1):
            if len(call.args) == 1 and [k.arg for k in call.keywords] in ([], ["axis"]):
                yield call, f"{ast.unparse(call.func)}({ast.unparse(call.args[0])}, axis=5)"


@operator("invalid-argument")
def unknown_option(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for call in _parts(function, "load", 1):
        if "eviction_policy" not in [k.arg for k in call.keywords]:
            yield call, ast.unparse(call)[:-1] + ", eviction_policy='evict_frist')"


@operator("dot-operands")
def other_element_type(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for call in _parts(function, "dot", 2):
        yield call.args[0], f"({ast.unparse(call.args[0])}).to(LANGUAGE.int8)"


@operator("not-jit-function", tail="def seeded_helper(value):\n    return value\n")
def plain_helper(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _assignments(function):
        yield statement.value, f"seeded_helper({ast.unparse(statement.value)})"


@operator("recursion")
def calls_itself(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    for statement in _assignments(function):
        yield statement, f"{function.name}({', '.join(f'{n}={n}' for n in names)}); {ast.unparse(statement)}"


@operator("static-assert")
def false_assertion(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _simple(function.body):
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            yield statement, f"LANGUAGE.static_assert(1 > 2, 'seeded'); {ast.unparse(statement)}"


@operator("logical-operator", "tensor-truth-value")
def word_for_sign(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            if isinstance(node.left, ast.Compare) and isinstance(node.right, ast.Compare):
                yield node, f"({ast.unparse(node.left)} and {ast.unparse(node.right)})"


@operator("constexpr-reassigned")
def declared_twice(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _simple(function.body):
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            twice = "SEEDED: LANGUAGE.constexpr = 1; SEEDED: LANGUAGE.constexpr = 2"
            yield statement, f"{twice}; {ast.unparse(statement)}"


@operator(
    "return-type",
    tail="import triton\n\n\n@triton.jit\ndef seeded_pick(flag):\n    if flag > 3:\n        return 1.0\n    else:\n        return flag\n",
    tail_line=9,
)
def helper_of_two_types(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in _assignments(function):
        yield statement, f"seeded_pick(LANGUAGE.program_id(0)); {ast.unparse(statement)}"


@operator("incompatible-operands")
def half_an_offset(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for call in _parts(function, "load", 1):
        yield call.args[0], f"{ast.unparse(call.args[0])} + LANGUAGE.program_id(0) / 2"


@operator("unsupported-syntax")
def matrix_sign(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for call in _parts(function, "dot", 2):
        if len(call.args) == 2:
            yield call, f"({ast.unparse(call.args[0])}) @ ({ast.unparse(call.args[1])})"


@operator("call-arguments", "invalid-argument")
def misspelt_keyword(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for call in (*_parts(function, "load"), *_parts(function, "store")):
        for keyword in call.keywords:
            if keyword.arg in ("mask", "other"):
                wrong = {"mask": "maks", "other": "othr"}[keyword.arg]
                yield keyword, f"{wrong}={ast.unparse(keyword.value)}"


@operator("call-arguments")
def dropped_argument(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        for name in ("store", "arange", "where", "zeros", "full"):
            if _language(node, name) and isinstance(node, ast.Call) and len(node.args) >= 2:
                kept = [ast.unparse(a) for a in node.args[:1]]
                yield node, f"{ast.unparse(node.func)}({', '.join(kept)})"


@operator("call-arguments", "invalid-argument")
def unknown_keyword(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if _language(node, "load") and isinstance(node, ast.Call):
            yield node, ast.unparse(node)[:-1] + ", maks=None)"


@operator("unsupported-syntax")
def python_only(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and statement.end_lineno == statement.lineno:
            yield statement.value, f"(lambda: {ast.unparse(statement.value)})()"


@operator("pointer-expected")
def value_for_pointer(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for _, node in _loads(function):
        if (
            _language(node, "load")
            and isinstance(node, ast.Call)
            and node.args
            and isinstance(node.func, ast.Attribute)
        ):
            yield node.args[0], f"{ast.unparse(node.func.value)}.program_id(0)"


@operator("unsupported-call", "undefined-name", "unknown-attribute")
def host_function(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and statement.end_lineno == statement.lineno:
            if isinstance(statement.value, ast.Call):
                yield statement.value, f"sorted({ast.unparse(statement.value)})"


def apply(text: str, seeds: list[Seed]) -> tuple[str, list[frozenset[int]]]:
    """The text with all seeds planted, which are on different lines, and for each the lines where its fault may show."""
    lines = text.split("\n")
    places = []
    for seed in seeds:
        raw = lines[seed.line - 1].encode()
        lines[seed.line - 1] = (raw[: seed.start] + seed.text.encode() + raw[seed.end :]).decode()
    for seed in seeds:
        where = {seed.line, *seed.lines}
        if seed.tail:
            lines += ["", ""]
            if seed.tail_line:
                where.add(len(lines) + seed.tail_line)
            lines += seed.tail.split("\n")
        places.append(frozenset(where))
    return "\n".join(lines), places


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
