"""Jobs made from the text of a small file, without the server: just enough evaluation for these tests' own kernels."""

from __future__ import annotations

import ast
from typing import Any

_LIBRARIES = {"triton", "math"}


def job(
    text: str, kernel: str, spec: str, *, target: str = "cuda:90", collect: tuple[str, ...] = (), budget: float = 30.0
) -> dict[str, Any]:
    """`Job.wire()` of a kernel of `text`; `spec` is in pin notation: `x_ptr=*fp32 n=i32 BLOCK=64 num_warps=4`.

    An integer is a constexpr; `i32=1` style values do not exist, write `n=1` for a parameter that was specialized to 1.
    """
    tree = ast.parse(text)
    known = _globals(tree)
    units = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            units[f"m:{node.name}"] = _unit(text, node, known)
    arguments, options = _arguments(spec, units[f"m:{kernel}"]["parameters"])
    for unit in units.values():
        del unit["parameters"]
    backend, arch = target.split(":")
    return {
        "kernel": f"m:{kernel}",
        "units": units,
        "specialization": {"arguments": arguments, "options": options},
        "target": [backend, int(arch) if backend == "cuda" else arch, 32 if backend == "cuda" else 64],
        "collect": list(collect),
        "budget": budget,
    }


def _globals(tree: ast.Module) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name] = _import(alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = _import(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.FunctionDef):
            known[node.name] = {"k": "fn", "unit": f"m:{node.name}"}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert isinstance(target, ast.Name)
            known[target.id] = _value(node.value, known)
    return known


def _import(path: str) -> dict[str, Any]:
    if path.partition(".")[0] in _LIBRARIES:
        return {"k": "ref", "path": path}
    return {"k": "opaque", "name": path, "reason": "is not Triton's"}


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    if isinstance(node, ast.Call):
        return {"k": "constexpr", "v": _value(node.args[0], known)}
    if isinstance(node, ast.Attribute):
        base = known[node.value.id] if isinstance(node.value, ast.Name) else _value(node.value, known)
        if base["k"] == "opaque":
            return {**base, "name": f"{base['name']}.{node.attr}"}
        return {"k": "ref", "path": f"{base['path']}.{node.attr}"}
    if isinstance(node, ast.Name):
        return known.get(node.id, {"k": "ref", "path": f"builtins.{node.id}"})
    value = ast.literal_eval(node)
    return (
        {"k": "tuple", "items": [{"k": "lit", "v": v} for v in value]}
        if isinstance(value, tuple)
        else {"k": "lit", "v": value}
    )


def _unit(text: str, node: ast.FunctionDef, known: dict[str, Any]) -> dict[str, Any]:
    source = "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])
    decorators = [ast.unparse(d) for d in node.decorator_list]
    role = "host"
    options: dict[str, Any] = {}
    for decorator in decorators:
        if decorator.startswith("gluon.jit"):
            role = "gluon"
        elif "constexpr_function" in decorator:
            role = "constexpr_function"
        elif decorator.startswith("triton.jit"):
            role = "jit"
            options = {"noinline": True} if "noinline=True" in decorator else {}
    arguments = node.args.args
    defaults = dict(
        zip([a.arg for a in arguments[len(arguments) - len(node.args.defaults) :]], node.args.defaults, strict=True)
    )
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return {
        "name": node.name,
        "qualname": node.name,
        "module": "m",
        "role": role,
        "source": source,
        "options": options,
        "defaults": {name: _value(value, known) for name, value in defaults.items()},
        "annotations": {a.arg: _value(a.annotation, known) for a in arguments if a.annotation is not None},
        "globals": {name: value for name, value in known.items() if name in read},
        "parameters": [a.arg for a in arguments],
    }


def _arguments(spec: str, parameters: list[str]) -> tuple[list[Any], dict[str, Any]]:
    given = dict(item.split("=", 1) for item in spec.split())
    options = {name: int(value) for name, value in given.items() if name not in parameters}
    arguments = []
    for name in parameters:
        kind = given.get(name, "*fp32" if name.endswith("_ptr") or name in ("src", "dst", "a", "b", "c") else "i32")
        try:
            value: Any = ast.literal_eval(kind)
        except (ValueError, SyntaxError):
            if kind.startswith("tl."):
                value = {"k": "ref", "path": f"triton.language.{kind[3:]}"}
                arguments.append([name, "constexpr", value, False])
            else:
                arguments.append([name, kind, None, kind.startswith("*")])
        else:
            arguments.append([name, "constexpr", {"k": "lit", "v": value}, False])
    return arguments, options


def lines_of(result: dict[str, Any], made: dict[str, Any], text: str) -> list[tuple[int, str]]:
    """File line and exception of each fault, sorted."""
    starts = {f"m:{n.name}": n.lineno for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    return sorted((starts[f["span"][0]] + f["span"][1] - 1, f["exception"]) for f in result["faults"])
