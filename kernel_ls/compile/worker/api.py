"""The public interface of the installed Triton as plain data: what completion, rules and the static evaluator read.

    {"triton": version, "names": {dotted name: entry}}

An entry is `{"kind", "signature"?, "doc"?, "value"?, "type"?, "alias"?, "must_use"?}`:

- `kind`: module, dtype, builtin (callable in kernels only), jit, constexpr_function, class, function, method, constexpr, value;
- `signature`: parameters as `[[name, default's text or null, kind], ...]` without `self` and what the generator passes itself;
- `value`: of a plain constant or constexpr; `alias`: the dotted name under which the same object is listed in full.

Only modules of Triton are imported, and nothing is called but `inspect`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from .references import JITCallable

_ROOTS = (
    "triton.language",
    "triton.experimental.gluon",
    "triton.tools.tensor_descriptor",
    "triton.runtime",
    "triton.testing",
    "triton.tools",
)
"""Listed with their submodules, in this order: an object that several have is listed in full under the first."""

_SEARCHED = ("triton.language", "triton.experimental.gluon")
"""Packages whose submodules are imported to be listed; of the others only what is there already."""

_DOC_LIMIT = 2000
_INTERNAL = frozenset({"_semantic", "_generator", "_builder", "self", "cls"})
_PLAIN = (type(None), bool, int, float, str)
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def manifest() -> dict[str, Any]:
    """The manifest of the installed Triton."""
    listing = _Listing()
    for root in (*_ROOTS, "triton"):
        try:
            module = importlib.import_module(root)
        except Exception:  # noqa: RUF100, S112
            continue
        listing.module(root, module)
    return {"triton": triton.__version__, "names": listing.entries()}


class _Listing:
    """Every public name found, with its object."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}

    def module(self, name: str, module: ModuleType) -> None:
        """Find a module's public members and those of its submodules."""
        if name in self._objects:
            return
        seen = any(value is module for value in self._objects.values() if isinstance(value, ModuleType))
        self._objects[name] = module
        if seen:
            return
        submodules = {}
        for attribute in self._public(module):
            try:
                value = getattr(module, attribute)
            except Exception:  # noqa: RUF100, S112
                continue
            if isinstance(value, ModuleType):
                submodules[attribute] = value
            elif self._is_own(value):
                self._objects[f"{name}.{attribute}"] = value
        for attribute, value in {**self._on_disk(module), **submodules}.items():
            if self._is_listed(value.__name__):
                self.module(f"{name}.{attribute}", value)

    def entries(self) -> dict[str, dict[str, Any]]:
        """The entry of every name. Of several names of one object the shortest has the entry, the others point to it."""
        names: dict[int, str] = {}
        for name in sorted(
            self._objects, key=lambda name: (name.count("."), not name.startswith("triton.language"), name)
        ):
            names.setdefault(id(self._objects[name]), name)
        found: dict[str, dict[str, Any]] = {}
        for name, value in self._objects.items():
            entry = _documented({"kind": "module"}, value) if isinstance(value, ModuleType) else _entry(value)
            canonical = names[id(value)]
            if canonical != name and not isinstance(value, _PLAIN):
                entry = {"kind": entry["kind"], "alias": canonical}
            found[name] = entry
            if isinstance(value, type) and canonical == name:
                found.update(_members(name, value))
        return found

    @staticmethod
    def _is_own(value: Any) -> bool:
        """Whether it is Triton's, not what a module imported for itself (`typing.Any`, `functools.wraps`)."""
        home = getattr(value, "__module__", None)
        return not callable(value) or (isinstance(home, str) and home.split(".")[0] == "triton")

    @staticmethod
    def _is_listed(name: str) -> bool:
        return any(name == root or name.startswith(root + ".") for root in _ROOTS)

    @staticmethod
    def _public(module: ModuleType) -> list[str]:
        return sorted(name for name in vars(module) if not name.startswith("_") or name == "_aggregate")

    @staticmethod
    def _on_disk(module: ModuleType) -> dict[str, ModuleType]:
        if not any(module.__name__ == root or module.__name__.startswith(root + ".") for root in _SEARCHED):
            return {}
        found = {}
        for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if info.name.startswith("_"):
                continue
            try:
                found[info.name] = importlib.import_module(f"{module.__name__}.{info.name}")
            except Exception:  # noqa: RUF100, S112
                continue
        return found


def _members(name: str, cls: type) -> dict[str, dict[str, Any]]:
    """Entries of the public methods and properties of a class."""
    found = {}
    for attribute in sorted(dir(cls)):
        if attribute.startswith("_"):
            continue
        raw = inspect.getattr_static(cls, attribute, None)
        if isinstance(raw, property):
            found[f"{name}.{attribute}"] = _documented({"kind": "value", "type": "property"}, raw)
            continue
        entry = _entry(raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw)
        entry["kind"] = "method" if entry["kind"] == "function" else entry["kind"]
        found[f"{name}.{attribute}"] = entry
    return found


def _entry(value: Any) -> dict[str, Any]:
    if isinstance(value, tl.dtype):
        return {"kind": "dtype", "value": str(value)}
    if isinstance(value, tl.constexpr):
        plain = isinstance(value.value, _PLAIN)
        return {"kind": "constexpr", "value": value.value} if plain else {"kind": "constexpr", "type": repr(value)}
    if isinstance(value, JITFunction):
        return _called("jit", value.fn, value)
    if isinstance(value, JITCallable):
        return _called("constexpr_function", getattr(value, "fn", value), value)
    if isinstance(value, _PLAIN):
        finite = not isinstance(value, float) or value - value == 0
        return {"kind": "value", "value": value if finite else repr(value), "type": type(value).__name__}
    if isinstance(value, type):
        return _called("class", value, value)
    if callable(value):
        return _called("builtin" if getattr(value, "__triton_builtin__", False) else "function", value, value)
    return {"kind": "value", "type": type(value).__name__}


def _called(kind: str, function: Any, listed: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": kind}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    else:
        entry["signature"] = [
            [parameter.name, _default(parameter), _KINDS[parameter.kind]]
            for parameter in parameters
            if parameter.name not in _INTERNAL
        ]
    if getattr(listed, "_must_use_result", False):
        entry["must_use"] = True
    return _documented(entry, listed)


def _default(parameter: inspect.Parameter) -> str | None:
    if parameter.default is inspect.Parameter.empty:
        return None
    default = parameter.default
    text = repr(default.value) if isinstance(default, tl.constexpr) else repr(default)
    # An address says nothing, and differs from run to run.
    return "..." if " at 0x" in text else text[:80]


def _documented(entry: dict[str, Any], value: Any) -> dict[str, Any]:
    doc = getattr(value, "__doc__", None)
    if isinstance(doc, str) and doc.strip():
        entry["doc"] = inspect.cleandoc(doc)[:_DOC_LIMIT]
    return entry
