"""A kernel and everything it reads as a closed program of plain data (ARCHITECTURE.md, "Units" and "Values")."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernel_ls.analysis.environment.classes import ClassBody, FieldDefault
from kernel_ls.analysis.environment.free_names import expression_reads, reads_of
from kernel_ls.analysis.environment.values import (
    Abstract,
    BoundMethod,
    ClassValue,
    Constexpr,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    Opaque,
    Ref,
    carried_kernel,
)
from kernel_ls.analysis.kernels import JitFunction
from kernel_ls.analysis.positions import build_unit
from kernel_ls.model import Json, Program, UnitOrigin
from kernel_ls.pyeval import MISSING, Builtin, Frame, Raised, Unknown

if TYPE_CHECKING:
    from kernel_ls.analysis.environment.workspace import Workspace

_UNITS = 2000
"""How many functions and classes a program may have."""
_DEPTH = 12
"""How deeply plain containers may be nested in a value."""
_ITEMS = 4096
"""How many elements a container in a program may have."""

Chains = set[tuple[str, ...]]


def build(workspace: Workspace, jit: JitFunction) -> Program:
    """The program of a kernel. A global that cannot be known is an `unknown` value with its reason; this never raises."""
    builder = _Builder(workspace)
    value = workspace.function_value(jit)
    if value is None:
        reason = f"{jit.path} cannot be read"
        return Program(jit.key, {}, {}, ((jit.key, jit.name, reason),))
    kernel = builder.function(value if value.is_kernel_code else _as_kernel(value, jit))
    builder.finish()
    return Program(kernel, builder.units, builder.origins, tuple(builder.unknown))


def _as_kernel(value: FunctionValue, jit: JitFunction) -> FunctionValue:
    return replace(value, role="gluon" if jit.dialect == "gluon" else "jit")


class _Builder:
    """Makes units until nothing that was reached is missing."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.units: dict[str, Json] = {}
        self.origins: dict[str, UnitOrigin] = {}
        self.unknown: list[tuple[str, str, str]] = []
        self._ids: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._pending: list[tuple[str, FunctionValue | ClassValue]] = []

    def finish(self) -> None:
        """Fill every unit that was referred to."""
        while self._pending:
            unit, value = self._pending.pop(0)
            if isinstance(value, FunctionValue):
                self._fill_function(unit, value)
            else:
                self._fill_class(unit, value.body)

    def function(self, value: FunctionValue) -> str:
        """The unit of a function."""
        return self._unit(("function", *value.key, value.role), value.module.name, self._function_name(value), value)

    def _function_name(self, value: FunctionValue) -> str:
        known = self.workspace.definitions(value.module.path).get((value.node.lineno, value.node.col_offset))
        return known.key if known is not None else value.qualname

    def class_(self, value: ClassValue) -> str:
        """The unit of a class."""
        return self._unit(("class", *value.body.key), value.body.module.name, value.body.qualname, value)

    def _unit(self, key: Any, module: str, qualname: str, value: FunctionValue | ClassValue) -> str:
        if key in self._ids:
            return self._ids[key]
        unit = base = f"{module}:{qualname}"
        number = 1
        while unit in self._taken:
            number += 1
            unit = f"{base}#{number}"
        self._taken.add(unit)
        self._ids[key] = unit
        self.units[unit] = {}
        if len(self._ids) <= _UNITS:
            self._pending.append((unit, value))
        return unit

    # ---------------------------------------------------------------------------------------------- units

    def _fill_function(self, unit: str, value: FunctionValue) -> None:
        node = value.node
        wire: dict[str, Json] = {
            "name": getattr(node, "name", "<lambda>"),
            "qualname": value.qualname,
            "module": value.module.name,
            "role": value.role,
            "source": "",
            "options": _options(value.options),
            "defaults": {n: self.value(v, unit, n) for n, v in value.defaults.items()},
            "annotations": {},
            "globals": {},
        }
        self.units[unit] = wire
        if isinstance(node, ast.FunctionDef):
            wire["source"], self.origins[unit] = build_unit(value.module.document, node)
            wire["annotations"] = self._annotations(unit, value, node)
        scope = Frame(value.frame.globals, value.frame, "function")
        reads = reads_of(node)
        for name in sorted(reads):
            found = self.read(scope, name, value)
            if found is not MISSING:
                wire["globals"][name] = self.value(found, unit, name, reads[name])

    def read(self, scope: Frame, name: str, function: FunctionValue) -> Any:
        """The value of a name that a function reads; MISSING for a builtin, and for a name that nothing binds."""
        try:
            value = scope.lookup(name)
        except Raised as raised:
            return Unknown(raised.reason, name)
        if value is MISSING and self.workspace.domain.builtin(name) is MISSING:
            star = function.module.opaque_star
            if star:
                return Unknown(f"it may come from `{star}`, which is imported with `*` and not read", name)
        return value

    def _annotations(self, unit: str, value: FunctionValue, node: ast.FunctionDef) -> dict[str, Json]:
        if _postponed(value.module.tree):
            return {}
        found: dict[str, Json] = {}
        spec = node.args
        for argument in (*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg):
            if argument is None or argument.annotation is None:
                continue
            evaluated = value.module.evaluate(argument.annotation, Frame(value.frame.globals, value.frame, "function"))
            if isinstance(evaluated, (str, Ref, type(None), Builtin)):
                found[argument.arg] = self.value(evaluated, unit, argument.arg)
        return found

    def _fill_class(self, unit: str, body: ClassBody) -> None:
        details: dict[str, Json] = {"kind": body.kind, "bases": [], "fields": [], "members": {}, "methods": {}}
        wire: dict[str, Json] = {
            "name": body.qualname.rpartition(".")[2],
            "qualname": body.qualname,
            "module": body.module.name,
            "role": "class",
            "source": "",
            "options": {},
            "defaults": {},
            "annotations": {},
            "globals": {},
            "class": details,
        }
        self.units[unit] = wire
        if body.node is not None:
            wire["source"], self.origins[unit] = build_unit(body.module.document, body.node)
        details["bases"] = [self.value(b, unit, "base") for b in body.bases]
        fields = body.fields
        names = {f[0] for f in fields}
        for name, annotation, default in fields:
            value = None if default is None else self._default(default[0], unit, name)
            details["fields"].append([name, self._field_annotation(annotation, body, unit), value])
        for name, member in body.members.items():
            function = member if isinstance(member, FunctionValue) else carried_kernel(member)
            if function is not None and isinstance(function.node, ast.FunctionDef):
                details["methods"][name] = self.function(function)
            elif name not in names and not name.startswith("__"):
                if body.kind == "enum" and name in body.member_names():
                    member = body.attribute(body.value, name).fields["value"]
                details["members"][name] = self.value(member, unit, name)

    def _default(self, value: Any, unit: str, name: str) -> Json:
        if isinstance(value, FieldDefault):
            if value.factory is None and not value.given:
                return None
            value = value.make(self.workspace.evaluator())
        return self.value(value, unit, name)

    def _field_annotation(self, node: ast.expr | None, body: ClassBody, unit: str) -> Json:
        if node is None:
            return None
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str):
            try:
                node = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError):
                return {"k": "lit", "v": text}
        value = body.module.evaluate(node, Frame(body.frame.globals, body.frame, "function"))
        if isinstance(value, Unknown):
            reads = expression_reads([node])
            if all(body.frame.lookup(n) is MISSING for n in reads):
                return {"k": "unknown", "reason": value.reason, "name": ast.unparse(node)}
            return {"k": "lit", "v": ast.unparse(node)}
        return self.value(value, unit, "annotation")

    # ---------------------------------------------------------------------------------------------- values

    def value(self, value: Any, unit: str, name: str, chains: Chains | None = None, depth: int = _DEPTH) -> Json:
        """A value on the wire. `chains` are the attributes that the unit reads of it; `name` is how it reads it."""
        if isinstance(value, Unknown):
            return self._unknown(value.reason, unit, name)
        if value is None or isinstance(value, (bool, int, str)):
            return {"k": "lit", "v": value}
        if isinstance(value, float):
            return {"k": "lit", "v": value} if math.isfinite(value) else {"k": "float", "v": repr(value)}
        if depth == 0:
            return self._unknown("it is nested too deeply", unit, name)
        if isinstance(value, (tuple, list, set, frozenset, dict)):
            return self._container(value, unit, name, depth)
        if isinstance(value, Builtin):
            return {"k": "ref", "path": f"builtins.{value.name}"}
        if isinstance(value, Abstract):
            return self._abstract(value, unit, name, chains, depth)
        return self._unknown(f"it is {self.workspace.domain.describe(value)}", unit, name)

    def _unknown(self, reason: str, unit: str, name: str) -> Json:
        triple = (unit, name, reason)
        if triple not in self.unknown:
            self.unknown.append(triple)
        return {"k": "unknown", "reason": reason, "name": name}

    def _container(self, value: Any, unit: str, name: str, depth: int) -> Json:
        if len(value) > _ITEMS:
            return self._unknown("it has too many elements", unit, name)
        if isinstance(value, dict):
            items = [
                [self.value(k, unit, name, None, depth - 1), self.value(v, unit, name, None, depth - 1)]
                for k, v in value.items()
            ]
            return {"k": "dict", "items": items}
        kind = "tuple" if isinstance(value, tuple) else "list" if isinstance(value, list) else "set"
        elements = sorted(value, key=repr) if kind == "set" else value
        return {"k": kind, "items": [self.value(v, unit, name, None, depth - 1) for v in elements]}

    def _abstract(self, value: Abstract, unit: str, name: str, chains: Chains | None, depth: int) -> Json:
        if isinstance(value, Ref):
            return {"k": "ref", "path": value.path}
        if isinstance(value, Constexpr):
            return {"k": "constexpr", "v": self.value(value.value, unit, name, chains, depth - 1)}
        if isinstance(value, Opaque):
            return {"k": "opaque", "name": value.name, "reason": value.reason or "it is not Triton's"}
        if isinstance(value, ModuleValue):
            return self._module(value, unit, name, chains or set(), depth)
        if isinstance(value, FunctionValue):
            if isinstance(value.node, ast.FunctionDef):
                return {"k": "fn", "unit": self.function(value)}
            return {"k": "opaque", "name": value.qualname, "reason": "it is a lambda"}
        if isinstance(value, ClassValue):
            return {"k": "class", "unit": self.class_(value)}
        kernel = carried_kernel(value)
        if kernel is not None and not isinstance(value, BoundMethod):
            return {"k": "fn", "unit": self.function(kernel)}
        if isinstance(value, InstanceValue):
            wire: dict[str, Json] = {"k": "instance", "unit": self.class_(value.cls)}
            if value.member:
                wire["member"] = value.member
            else:
                wire["fields"] = {
                    n: self.value(v, unit, f"{name}.{n}", None, depth - 1) for n, v in value.fields.items()
                }
            return wire
        return {"k": "opaque", "name": value.describe().strip("`"), "reason": "it is a host object"}

    def _module(self, value: ModuleValue, unit: str, name: str, chains: Chains, depth: int) -> Json:
        inner: dict[str, Chains] = {}
        for chain in chains:
            if chain:
                inner.setdefault(chain[0], set()).add(chain[1:])
        members: dict[str, Json] = {}
        for member, rest in sorted(inner.items()):
            if member.startswith("__"):
                continue
            try:
                found = value.module.member(member)
            except Raised:
                continue  # a fault of the kernel's that the generator will find
            members[member] = self.value(found, unit, f"{name}.{member}", rest, depth - 1)
        return {"k": "module", "name": value.module.name, "members": members}


def _options(options: Mapping[str, Any]) -> dict[str, Json]:
    """The arguments of a jit decorator that are plain data."""
    return {name: plain for name, value in options.items() if (plain := _plain(value)) is not MISSING}


def _plain(value: Any) -> Any:
    if isinstance(value, Constexpr):
        return _plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        items = [_plain(v) for v in value]
        return MISSING if any(i is MISSING for i in items) else items
    return MISSING


def _postponed(tree: ast.Module) -> bool:
    """Whether annotations are kept as text."""
    return any(
        isinstance(s, ast.ImportFrom) and s.module == "__future__" and any(a.name == "annotations" for a in s.names)
        for s in tree.body
    )
