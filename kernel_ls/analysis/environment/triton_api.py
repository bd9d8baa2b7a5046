"""What the installed Triton has, as the worker's manifest tells it.

Without a manifest (no worker has answered yet) every dotted name below `triton` is taken to exist, so that a check that is
made early says nothing false about Triton.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_ls.pyeval import MISSING

_COMPLETE = ("triton.language", "triton.experimental.gluon")
"""Packages that the manifest lists whole, so that a name which it lacks is not there."""

_SUBMODULES = frozenset(
    "backends compiler errors experimental instrumentation knobs language ops profiler runtime testing tools".split()
)

ALIASES = {
    "triton.runtime.jit.jit": "triton.jit",
    "triton.runtime.autotuner.autotune": "triton.autotune",
    "triton.runtime.autotune": "triton.autotune",
    "triton.runtime.autotuner.heuristics": "triton.heuristics",
    "triton.runtime.heuristics": "triton.heuristics",
    "triton.runtime.autotuner.Config": "triton.Config",
    "triton.runtime.Config": "triton.Config",
    "triton.runtime.autotuner.Autotuner": "triton.Autotuner",
    "triton.runtime.Autotuner": "triton.Autotuner",
    "triton.runtime.autotuner.Heuristics": "triton.Heuristics",
    "triton.runtime.jit.JITFunction": "triton.JITFunction",
    "triton.runtime.JITFunction": "triton.JITFunction",
    "triton.runtime.jit.KernelInterface": "triton.KernelInterface",
    "triton.runtime.jit.constexpr_function": "triton.constexpr_function",
    "triton.experimental.gluon._runtime.jit": "triton.experimental.gluon.jit",
    "triton.experimental.gluon.constexpr_function": "triton.constexpr_function",
    "triton.experimental.gluon._runtime.constexpr_function": "triton.constexpr_function",
    "triton.experimental.gluon.aggregate": "triton.language.core._aggregate",
    "triton.aggregate": "triton.language.core._aggregate",
    "triton.language.core.aggregate": "triton.language.core._aggregate",
    "triton.language.core.constexpr_function": "triton.constexpr_function",
    "triton.language.constexpr_function": "triton.constexpr_function",
    "triton.language.core.constexpr": "triton.language.constexpr",
    "triton.experimental.gluon.language.constexpr": "triton.language.constexpr",
    "triton.experimental.gluon.language._core.constexpr": "triton.language.constexpr",
}
"""The same object under its other public names, for those that the evaluator itself gives a meaning."""


class TritonApi:
    """The public names of one Triton.

    Args:
        manifest: `{"triton": version, "names": {dotted name: {"kind", "value"?, "alias"?, ...}}}`, or None.
    """

    def __init__(self, manifest: Mapping[str, Any] | None = None) -> None:
        names = (manifest or {}).get("names", {})
        self._names: Mapping[str, Mapping[str, Any]] = names if isinstance(names, Mapping) else {}
        self.version = str((manifest or {}).get("triton", ""))
        self._members: dict[str, list[str]] = {}

    @property
    def is_known(self) -> bool:
        """Whether there is a manifest."""
        return bool(self._names)

    def entry(self, path: str) -> Mapping[str, Any] | None:
        """The manifest's entry of a dotted name, or None."""
        found = self._names.get(path)
        if found is not None:
            return found
        owner, _, name = path.rpartition(".")
        while owner:
            alias = (self._names.get(owner) or {}).get("alias")
            if alias and alias != owner:
                return self.entry(f"{alias}.{name}")
            owner, _, first = owner.rpartition(".")
            name = f"{first}.{name}"
        return None

    def exists(self, path: str) -> bool | None:
        """Whether the dotted name leads to something; None where the manifest cannot tell."""
        if not self.is_known:
            return None
        if self.entry(path) is not None:
            return True
        owner, _, name = path.rpartition(".")
        if name.startswith("_"):
            return None
        if owner == "triton":
            return None if name in _SUBMODULES else False
        canonical = self.canonical(owner)
        complete = any(canonical == root or canonical.startswith(root + ".") for root in _COMPLETE)
        if complete and (self.entry(owner) or {}).get("kind") == "module":
            return False
        return None

    def kind(self, path: str) -> str:
        """The manifest's kind of a dotted name: `module`, `dtype`, `builtin`, `jit`, ...; empty if it is not listed."""
        return str((self.entry(path) or {}).get("kind", ""))

    def value(self, path: str) -> Any:
        """The plain value of a constant of Triton's, or MISSING."""
        entry = self.entry(path) or {}
        if entry.get("kind") == "value" and "value" in entry and entry.get("type") != "float":
            return entry["value"]
        return MISSING

    def members(self, owner: str) -> tuple[str, ...]:
        """The public names of a module or class, sorted; none where it is not listed."""
        owner = str((self._names.get(owner) or {}).get("alias") or owner)
        if not self._members:
            for path in self._names:
                holder, _, name = path.rpartition(".")
                self._members.setdefault(holder, []).append(name)
        return tuple(sorted(self._members.get(owner, ())))

    def canonical(self, path: str) -> str:
        """The name under which the evaluator knows the same object."""
        if path in ALIASES:
            return ALIASES[path]
        alias = (self._names.get(path) or {}).get("alias")
        if isinstance(alias, str):
            return ALIASES.get(alias, alias)
        return path
