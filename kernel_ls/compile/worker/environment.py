"""A job's program as real objects: what the code generator is given.

    units (texts, plain values) -> function and class objects, each with globals of its own
    specialization              -> signature, constants, attributes, options, as Triton's own launcher makes them

Nothing of the user's is run here. Functions are hollow (functions.py), classes are made from data (classes.py), names of
Triton's lead to views (references.py), and no wire text reaches `eval`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import triton.language as tl

from . import classes, functions, references
from .functions import BuildError, unit_of_file
from .stand_ins import Opaque, OpaqueUse, StandInUse, Unknown, UnknownUse

__all__ = ["BuildError", "Built", "Opaque", "OpaqueUse", "StandInUse", "Unknown", "UnknownUse", "build"]

Path = tuple[int, ...]

_MAX_KEPT = 2048
"""Units that are kept between jobs; when there are more, all are let go."""

_DESCRIPTOR = re.compile(r"tensordesc<\w+\[[\d\s,]*\](?:,(?P<layout>.*))?>", re.DOTALL)


@dataclass
class Built:
    """A program and its specialization, ready for the generator.

    Attributes:
        kernel: the jit function to generate.
        functions: every object that was made, by unit id: jit functions, constexpr functions, plain functions, classes.
        sources: text of every unit of the job, by unit id.
        signature: parameter -> Triton's type text, a tuple of such, or "constexpr", in order of the parameters.
        constants: path of a constant in the arguments -> its value.
        attrs: path of an argument -> its attributes, `[["tt.divisibility", 16]]`.
        options: launch options by name, as given.
    """

    kernel: Any
    functions: dict[str, Any]
    sources: dict[str, str]
    signature: dict[str, Any] = field(default_factory=dict)
    constants: dict[Path, Any] = field(default_factory=dict)
    attrs: dict[Path, list[list[Any]]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def unit_of(self, thing: Any) -> str | None:
        """The unit of a function object, of a code generator's file name, or None where it is not of this program."""
        if isinstance(thing, str):
            unit = unit_of_file(thing)
        else:
            function = getattr(thing, "__func__", thing)
            function = getattr(function, "fn", function)
            code = getattr(function, "__code__", None)
            unit = unit_of_file(code.co_filename) if code is not None else None
        return unit if unit in self.sources else None


def build(job: Mapping[str, Any]) -> Built:
    """Make a job's program and arguments (`Job.wire()`).

    Raises:
        BuildError: the kernel, or something it needs at once, cannot be made.
    """
    units = job.get("units") or {}
    kernel_id = str(job["kernel"])
    if kernel_id not in units:
        raise BuildError(kernel_id, "KeyError", "the program lacks its kernel")
    builder = _Builder(units)
    kernel = builder.unit(kernel_id)
    if not hasattr(kernel, "arg_names"):
        raise BuildError(kernel_id, "TypeError", "the kernel is not a jit function")
    built = Built(kernel, builder.made, {unit: str(wire.get("source", "")) for unit, wire in units.items()})
    _specialize(built, job.get("specialization") or {}, builder)
    builder.finish()
    return built


# ---------------------------------------------------------------------------------------------- program


class _Builder:
    """Makes each unit of one program at most once; what it can it takes from earlier programs."""

    def __init__(self, units: Mapping[str, Any]) -> None:
        self._units = units
        self._keys = _closure_keys(units)
        self._pending: list[tuple[str, dict[str, Any]]] = []
        self._making: list[str] = []
        self.made: dict[str, Any] = {}

    def unit(self, unit: str) -> Any:
        """The object of a unit. Its globals are complete after `finish`.

        Raises:
            BuildError: it cannot be made.
        """
        if unit in self.made:
            return self.made[unit]
        if unit not in self._units:
            return Unknown(unit, "is not part of the program")
        if unit in self._making:
            raise BuildError(unit, "NameError", f"{unit} is needed to define itself")
        kept = _kept.get(self._keys.get(unit, ""))
        if kept is not None:
            # With it everything that it reaches, which `made` has to name as well.
            self.made.update(kept)
            return self.made[unit]
        self._making.append(unit)
        try:
            made = self._make(unit, self._units[unit])
        except RecursionError:
            raise BuildError(unit, "RecursionError", "the program is nested too deeply") from None
        finally:
            self._making.pop()
        self.made[unit] = made
        return made

    def finish(self) -> None:
        """Fill the globals of everything that was made, and keep it for the next job."""
        while self._pending:
            unit, scope = self._pending.pop()
            for name, value in (self._units[unit].get("globals") or {}).items():
                scope[name] = self.value(value, name)
        self._keep()

    def _keep(self) -> None:
        if len(_kept) > _MAX_KEPT:
            _kept.clear()
        for unit in self.made:
            key = self._keys.get(unit)
            if key and key not in _kept:
                reached = _reached(unit, self._units)
                _kept[key] = {other: self.made[other] for other in reached if other in self.made}

    def _make(self, unit: str, wire: Mapping[str, Any]) -> Any:
        role = wire.get("role")
        if role == "class":
            wanted = ((wire.get("class") or {}).get("methods") or {}).items()
            methods = {str(name): self.unit(method) for name, method in wanted}
            return classes.make_class(unit, wire, self.value, methods)
        source = str(wire.get("source", ""))
        node = functions.parse_unit(unit, source)
        scope: dict[str, Any] = {}
        self._pending.append((unit, scope))
        defaults = {name: self.value(value, name) for name, value in (wire.get("defaults") or {}).items()}
        annotations = {name: self.value(value, name) for name, value in (wire.get("annotations") or {}).items()}
        parts = {"defaults": defaults, "annotations": annotations, "scope": scope}
        if role in ("jit", "gluon"):
            hollow = functions.hollow_function(unit, wire, node, **parts)
            options = {str(k): self._option(v, str(k)) for k, v in (wire.get("options") or {}).items()}
            return functions.jit_function(unit, source, hollow, options, gluon=role == "gluon")
        evaluated = functions.evaluated_function(unit, wire, node, **parts)
        if role == "constexpr_function":
            return functions.constexpr_function(unit, source, evaluated)
        if role == "host":
            return evaluated
        raise BuildError(unit, "ValueError", f"a unit has no role {role!r}")

    def _option(self, value: Any, name: str) -> Any:
        """An option is plain data or a wire value; naming and metadata callbacks are of no concern to generation."""
        if name in ("repr", "launch_metadata"):
            return None
        decoded = self.value(value, name) if isinstance(value, dict) and "k" in value else value
        return None if isinstance(decoded, (Unknown, Opaque)) else decoded

    # ------------------------------------------------------------------------------------------ values

    def value(self, wire: Any, name: str) -> Any:
        """The object of a wire value (ARCHITECTURE.md, "Values"); `name` is for messages.

        What cannot be made is `Unknown` with the reason, so that it only matters where it is used.
        """
        try:
            return self._value(wire, name)
        except StandInUse as error:
            return Unknown(error.name, error.reason)
        except BuildError as error:
            return Unknown(name, f"{error.exception}: {error.text}")
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            return Unknown(name, f"cannot be made: {type(error).__name__}: {error}")

    def _value(self, wire: Any, name: str) -> Any:
        if not isinstance(wire, dict):
            # Plain JSON is allowed where it says the same as a literal.
            if wire is None or isinstance(wire, (bool, int, float, str)):
                return wire
            raise TypeError(f"{type(wire).__name__} is no value")
        kind = wire.get("k")
        if kind == "lit":
            value = wire.get("v")
            if value is None or isinstance(value, (bool, int, float, str)):
                return value
            raise TypeError("a literal is None, a bool, a number or a string")
        if kind == "float":
            return float(str(wire["v"]))
        if kind in ("tuple", "list", "set"):
            items = [self._value(item, name) for item in wire.get("items") or ()]
            return {"tuple": tuple, "list": list, "set": set}[kind](items)
        if kind == "dict":
            return {self._value(key, name): self._value(value, name) for key, value in wire.get("items") or ()}
        if kind == "constexpr":
            return tl.constexpr(self._value(wire["v"], name))
        if kind == "ref":
            return references.resolve(str(wire["path"]))
        if kind in ("fn", "class"):
            return self.unit(str(wire["unit"]))
        if kind == "instance":
            return self._instance(wire, name)
        if kind == "module":
            return self._module(wire, name)
        if kind == "opaque":
            return Opaque(str(wire.get("name") or name), str(wire.get("reason") or ""))
        if kind == "unknown":
            return Unknown(str(wire.get("name") or name), str(wire.get("reason") or "cannot be known statically"))
        raise ValueError(f"no kind of value is called {kind!r}")

    def _instance(self, wire: Mapping[str, Any], name: str) -> Any:
        made = self.unit(str(wire["unit"]))
        if isinstance(made, Unknown):
            return made
        if wire.get("member") is not None:
            return made[str(wire["member"])]
        fields = wire.get("fields")
        return classes.make_instance(
            made,
            [self._value(argument, name) for argument in wire.get("args") or ()],
            {str(key): self._value(value, name) for key, value in (wire.get("kwargs") or {}).items()},
            None if fields is None else {str(key): self._value(value, name) for key, value in fields.items()},
        )

    def _module(self, wire: Mapping[str, Any], name: str) -> Any:
        own = str(wire.get("name") or name)
        module = ModuleType(own)
        for member, value in (wire.get("members") or {}).items():
            if references.attribute_allowed(str(member)):
                setattr(module, str(member), self.value(value, f"{own}.{member}"))
        reason = str(wire.get("reason") or "")

        def look_up(attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return Unknown(f"{own}.{attribute}", reason or "was not evaluated")

        module.__getattr__ = look_up  # type: ignore[method-assign]
        return module


# ------------------------------------------------------------------------------------------------ reuse

_kept: dict[str, dict[str, Any]] = {}
"""Digest of a unit and all it reaches -> the objects made of them."""


def _mentioned(value: Any, units: Mapping[str, Any], found: set[str]) -> bool:
    """Collect the units that a wire value mentions; whether it holds something that a program could change."""
    changeable = False
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            kind = item.get("k")
            if kind in ("list", "dict", "set", "instance"):
                changeable = True
            unit = item.get("unit")
            if isinstance(unit, str) and unit in units:
                found.add(unit)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return changeable


def _neighbours(unit: str, units: Mapping[str, Any]) -> tuple[set[str], bool]:
    wire = units[unit]
    found: set[str] = set()
    changeable = _mentioned({key: value for key, value in wire.items() if key != "source"}, units, found)
    for method in ((wire.get("class") or {}).get("methods") or {}).values():
        if method in units:
            found.add(method)
    return found, changeable


def _reached(unit: str, units: Mapping[str, Any]) -> set[str]:
    reached, stack = {unit}, [unit]
    while stack:
        for other in _neighbours(stack.pop(), units)[0] - reached:
            reached.add(other)
            stack.append(other)
    return reached


def _closure_keys(units: Mapping[str, Any]) -> dict[str, str]:
    """A digest of each unit with all it reaches; none for units that reach a value which generation could change."""
    edges = {}
    frozen = {}
    texts = {}
    for unit, wire in units.items():
        neighbours, changeable = _neighbours(unit, units)
        edges[unit], frozen[unit] = neighbours, not changeable
        texts[unit] = hashlib.sha256(json.dumps(wire, sort_keys=True).encode()).hexdigest()
    keys = {}
    for unit in units:
        reached, stack = {unit}, [unit]
        while stack:
            for other in edges[stack.pop()] - reached:
                reached.add(other)
                stack.append(other)
        if all(frozen[other] for other in reached):
            text = json.dumps([unit, sorted((other, texts[other]) for other in reached)])
            keys[unit] = hashlib.sha256(text.encode()).hexdigest()
    return keys


# --------------------------------------------------------------------------------------- specialization


def _specialize(built: Built, wire: Mapping[str, Any], builder: _Builder) -> None:
    given = {}
    for entry in wire.get("arguments") or ():
        name, kind, value, divisible = (*entry, None, None, False)[:4] if len(entry) < 4 else entry
        given[str(name)] = (kind, value, divisible)
    for index, name in enumerate(built.kernel.arg_names):
        if name not in given:
            raise BuildError(str(wire.get("kernel", "")), "KeyError", f"the specialization lacks the argument {name}")
        kind, value, divisible = given[name]
        decoded = builder.value(value, name)
        built.signature[name] = _signature(kind, decoded, (index,), divisible, built)
    built.options = dict(wire.get("options") or {})


def _signature(kind: Any, value: Any, path: Path, divisible: Any, built: Built) -> Any:
    """Triton's type text of one argument or part of one; constants and attributes go to `built`."""
    if isinstance(kind, (list, tuple)):
        values = _parts(value, len(kind))
        hints = divisible if isinstance(divisible, (list, tuple)) else [divisible] * len(kind)
        parts = [
            _signature(part, values[index], (*path, index), hints[index] if index < len(hints) else False, built)
            for index, part in enumerate(kind)
        ]
        if _is_namedtuple(value) and len(value) == len(parts):
            # Triton takes the names of the fields from the type of the signature's tuple.
            return type(value)(*parts)
        return tuple(parts)
    text = _type_text(kind, built)
    if text == "constexpr":
        built.constants[path] = value.value if isinstance(value, tl.constexpr) else value
    elif divisible is True:
        built.attrs[path] = [["tt.divisibility", 16]]
    return text


def _parts(value: Any, count: int) -> list[Any]:
    if isinstance(value, (tuple, list)) and len(value) == count:
        return list(value)
    return [None] * count


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def _type_text(kind: Any, built: Built) -> str:
    """A type's text, if it is one that Triton can read without harm.

    Triton evaluates the layout of a Gluon descriptor's type as Python, so it has to be one plain constructor call.
    """
    unit = built.unit_of(built.kernel) or ""
    if not isinstance(kind, str) or not kind:
        raise BuildError(unit, "TypeError", f"{kind!r} is no type")
    if kind.startswith("constexpr"):
        return "constexpr"
    if not kind.lstrip("*").startswith("tensordesc"):
        return kind
    match = _DESCRIPTOR.fullmatch(kind)
    if match is None or (match["layout"] is not None and not _is_plain_layout(match["layout"])):
        raise BuildError(unit, "ValueError", f"{kind!r} is no descriptor type")
    return kind


def _is_plain_layout(text: str) -> bool:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or not tree.func.id.endswith("Layout"):
        return False
    if any(argument.arg is None for argument in tree.keywords):
        return False
    return all(_is_plain(argument) for argument in (*tree.args, *(keyword.value for keyword in tree.keywords)))


def _is_plain(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_plain(node.operand)
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_plain(item) for item in node.elts)
    return isinstance(node, ast.Constant)
