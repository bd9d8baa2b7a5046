"""Names that a function may not read: globals that are no constexpr, names that are not there, dead loop variables."""

from __future__ import annotations

import ast
from typing import Any

from triton.language import core

from . import facts, guesses, spans, typetext
from .tracking import TrackingGenerator
from .unknown import UNKNOWN, Poisoned

_PLAIN = (bool, int, float, str, core.dtype)


class NameGenerator(TrackingGenerator):
    """Reads of names: each fault stands at its read, and where the obvious fix has a value, that value goes on."""

    def visit_Name(self, node: Any) -> Any:
        if self.unit is None or type(node.ctx) is not ast.Load:
            return super().visit_Name(node)
        name = node.id
        if name in self.lscope:
            value = self.lscope[name]
            if name in self.after_loop and isinstance(value, core.tensor):
                self._read_after_loop(node)
            return value
        if name in self.gscope and type(self.gscope[name]).__name__ == "Opaque":
            return self.gscope[name]  # its use is the fault, not its name: `np` of `np.sqrt(x)` is a module
        try:
            return super().visit_Name(node)
        except NameError as error:
            return self._plain_global(node, error) if name in self.gscope else self._missing_name(node, error)

    def _read_after_loop(self, node: ast.Name) -> None:
        text = f"`{node.id}` is read after its loop, where it has no defined value"
        given = facts.basic(self, node, "expression")
        origin = self.origins.get(node.id)
        given.update(name=node.id, initial_span=origin[0] if origin is not None else None)
        self.rec.fault(spans.of(str(self.unit), node), "LoopVariableAfterLoop", text, "Name", given)

    def _plain_global(self, node: ast.Name, error: NameError) -> Any:
        """A global that is no constexpr: a fault, and its value goes on as if it were one."""
        value = self.gscope[node.id]
        given = facts.basic(self, node, "global")
        given.update(name=node.id, type=type(value).__name__, value=typetext.constant_text(value))
        if callable(value):
            given["callee"] = facts.name_of(self, value, node)
            self.rec.fault(spans.of(str(self.unit), node), "NameError", str(error), "Name", given)
            if self.rec.unit_of(value) is None:
                raise Poisoned
            return value
        self.rec.fault(spans.of(str(self.unit), node), "NameError", str(error), "Name", given)
        if value is None or isinstance(value, _PLAIN):
            return core.constexpr(value)
        if isinstance(value, (tuple, list)) and all(item is None or isinstance(item, _PLAIN) for item in value):
            return core.tuple([core.constexpr(item) for item in value])
        raise Poisoned

    def _missing_name(self, node: ast.Name, error: NameError) -> Any:
        given = facts.basic(self, node, "name")
        known = {n for n, v in self.lscope.items() if v is not UNKNOWN} | set(self.gscope) | set(self.builtin_namespace)
        given.update(name=node.id, candidates=sorted(known), **facts.bound_elsewhere(self, node.id, node))
        self.rec.fault(spans.of(str(self.unit), node), "NameError", str(error), "Name", given)
        # A name that the function binds somewhere is meant, though it has no value here.
        bound = any(
            isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
            for n in ast.walk(self.function or node)
        )
        meant = guesses.NOTHING if bound else guesses.name(self, node.id)
        if meant is guesses.NOTHING:
            raise Poisoned
        return meant
