"""The signatures with which a jit helper was instantiated: what its call sites in a program pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernel_ls.analysis.features import notation
from kernel_ls.analysis.features.places import Types, place_of
from kernel_ls.analysis.specialize import value_text
from kernel_ls.model import CompileResult, Program
from kernel_ls.pyeval.nodes import walk


@dataclass(frozen=True, slots=True)
class Instance:
    """One way in which a helper was called: the type of each parameter, and of what it returns."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str

    def __str__(self) -> str:
        inside = ", ".join(f"{name}: {kind}" if kind else name for name, kind in self.parameters)
        return f"{self.name}({inside})" + (f" -> {self.result}" if self.result else "")


@lru_cache(maxsize=512)
def _parsed(source: str) -> ast.FunctionDef | None:
    try:
        node = ast.parse(source).body[0]
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def instances(program: Program, result: CompileResult, unit: str) -> list[Instance]:
    """How a helper was called in one specialization of a kernel, each way once."""
    wire = program.units.get(unit, {})
    node = _parsed(str(wire.get("source", "")))
    if node is None:
        return []
    name = str(wire.get("name", ""))
    found = dict.fromkeys(_calls(program, result, unit, name, node, wire.get("defaults") or {}))
    return list(found)


def _calls(
    program: Program, result: CompileResult, unit: str, name: str, node: ast.FunctionDef, defaults: Mapping[str, Any]
) -> Iterator[Instance]:
    for caller, rows in result.types.items():
        source = str(program.units.get(caller, {}).get("source", ""))
        if name not in source:
            continue
        tree = _parsed(source)
        if tree is None:
            continue
        told = {(r[0], r[1], r[2], r[3]): tuple(r[4]) for r in rows}
        for call in (n for n in walk(tree) if isinstance(n, ast.Call)):
            function = told.get(place_of(call.func), ())
            if any(t.rpartition(".")[2].removeprefix("function ") == name for t in function) and _is_it(
                program, caller, call.func, unit
            ):
                returned = told.get(place_of(call), ())
                yield Instance(name, tuple(_bound(call, node, told, defaults)), notation.shown(returned))


def _is_it(program: Program, caller: str, function: ast.expr, unit: str) -> bool:
    """Whether a name that is called may be this unit: what the caller's globals say, where they do."""
    if not isinstance(function, ast.Name):
        return True
    value = (program.units.get(caller, {}).get("globals") or {}).get(function.id)
    return not isinstance(value, dict) or value.get("k") != "fn" or value.get("unit") == unit


def _bound(
    call: ast.Call, node: ast.FunctionDef, told: Types, defaults: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    given: dict[str, str] = {}
    for name, argument in zip(names, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        given[name] = notation.shown(told.get(place_of(argument), ()))
    for keyword in call.keywords:
        if keyword.arg is not None:
            given[keyword.arg] = notation.shown(told.get(place_of(keyword.value), ()))
    for name in names:
        if name in given:
            yield name, given[name]
        elif name in defaults:
            yield name, f"constexpr[{value_text(defaults[name])}]"
        else:
            yield name, ""
