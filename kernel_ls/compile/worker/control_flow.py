"""Loops, branches and returns: each region is reconciled when its statements are done (regions.py), and closed.

Also what Triton lets pass or reports without a place: a `return` inside a loop, a `while` on something that is no boolean.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Iterable, Iterator
from typing import Any

from triton.compiler import code_generator
from triton.language import core

from . import carries, doubts, facts, spans, typetext, versions
from .names import NameGenerator
from .regions import Region
from .unknown import UNKNOWN, doubt_of

StockReturnChecker = code_generator.ContainsReturnChecker
_RETURN_IN_LOOP = "Cannot have `return` statements inside `while` or `for` statements in triton."


class ReturnChecker(StockReturnChecker):  # type: ignore[misc,valid-type]
    """Triton's, without the look-up that raises for a misspelt attribute: that is found where it stands."""

    def visit_Attribute(self, node: ast.Attribute) -> bool:
        return False if isinstance(node.value, ast.Name) else bool(self.visit(node.value))


class LostReturn(ast.Pass):
    """Stands for a `return` that no loop may have, so that the rest of the loop can be generated."""


class _ReturnsLost(ast.NodeTransformer):
    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.copy_location(LostReturn(), node)


class ControlFlowGenerator(NameGenerator):
    """See the module's docstring."""

    @contextlib.contextmanager
    def _region(self, node: ast.AST) -> Iterator[Region]:
        region = Region(node, self.origins, self.after_loop)
        self.regions.append(region)
        try:
            yield region
        finally:
            del self.regions[self.regions.index(region) :]
        self.after_loop &= region.marks
        for name, doubt in region.doubted.items():
            doubts.stain(self.lscope.get(name), doubt)
        for name in region.unknown:
            self.forget(name)
        for name, value in region.settled.items():
            self._settle(name, value)

    def _settle(self, name: str, value: Any) -> None:
        """After a region that changed a name's type, the name has the type that the obvious fix gives it."""
        for outer in self.regions:
            if outer.liveins is not None and name in outer.liveins:
                outer.settled[name] = value
        if value is UNKNOWN:
            self.forget(name)
        elif not isinstance(value, core.tensor):
            self.lscope[name] = value
        else:
            try:
                handle = self.builder.create_poison(value.type.to_ir(self.builder))
            except Exception:  # a type that the builder has no empty value of
                self.forget(name)
                return
            self.lscope[name] = core.tensor(handle, value.type)
            doubts.stain(self.lscope[name], doubt_of(value))
        self.local_defs.pop(name, None)

    def visit_then_else_blocks(self, node: Any, liveins: Any, *args: Any, **kwargs: Any) -> Any:
        if self.unit is not None and self.regions and self.regions[-1].node is node:
            self.regions[-1].liveins = liveins
        return super().visit_then_else_blocks(node, liveins, *args, **kwargs)

    def _find_carries(self, node: Any, liveins: Any, *args: Any, **kwargs: Any) -> Any:
        region = self.regions[-1] if self.regions and self.regions[-1].node is node else None
        if region is None:
            return super()._find_carries(node, liveins, *args, **kwargs)
        self.enter_loop(region, liveins, kwargs.get("ignore") or (args[0] if args else ()))
        said = self._said(region, liveins)
        if said is None:
            said = super()._find_carries(node, liveins, *args, **kwargs)
        else:
            self.lscope, self.local_defs = liveins.copy(), {}  # as Triton leaves them after its first pass
        self.leave_dry_pass(region)
        return said

    def _said(self, region: Region, liveins: dict[str, Any]) -> carries.Carried | None:
        """What the loop carries, where one pass over its body will do."""
        if self.rec.wants_ttir or not carries.can_be_said():
            return None
        bound = carries.bound_in(region.node)
        if bound & self.after_loop:
            return None  # such a name is alive again only if it is really assigned
        return carries.of(liveins, region.ignore, bound)

    def enter_loop(self, region: Region, liveins: dict[str, Any], ignore: Iterable[str]) -> None:
        """A loop's body is about to be generated for the first time, to see which names it changes."""
        self.entered.add(id(region.node))
        region.liveins = liveins
        region.ignore = frozenset(ignore)
        # The loop has bound its variable by now, also where one of the same name had died with an earlier loop.
        region.origins, region.marks = dict(self.origins), set(self.after_loop)

    def leave_dry_pass(self, region: Region) -> None:
        """The next pass over the loop's body is the one that is kept."""
        region.real = True
        self.origins = dict(region.origins)
        self.after_loop = set(region.marks)

    def visit_For(self, node: Any) -> Any:
        if self.unit is None:
            return super().visit_For(node)
        with self._region(node) as region:
            super().visit_For(node)
        if region.liveins is not None and versions.loop_variable_dies_with_loop() and isinstance(node.target, ast.Name):
            self.after_loop.add(node.target.id)
            self.origins[node.target.id] = (spans.of(self.unit, node.target), "", None)
        return None

    def visit_While(self, node: Any) -> Any:
        if self.unit is None:
            return super().visit_While(node)
        with self._region(node):
            super().visit_While(node)
        return None

    def while_condition(self, node: ast.expr, value: Any) -> Any:
        """What is no scalar boolean becomes invalid IR, not an exception: it is found here instead."""
        inner = getattr(value, "condition", value)
        if not isinstance(inner, core.tensor):
            return value
        if doubt_of(inner):
            return core.tensor(self.builder.get_int1(True), core.int1)
        block = inner.type.is_block()
        if not block and (inner.type == core.int1 or versions.while_takes_integers()):
            return value
        text = f"the condition of a `while` is {typetext.describe(inner)}; it has to be a scalar of type i1"
        given = facts.basic(self, self.regions[-1].node, "expression")
        self.rec.fault(spans.of(str(self.unit), node), "WhileCondition", text, type(node).__name__, given)
        return core.tensor(self.builder.get_int1(True), core.int1)

    def visit_If(self, node: Any) -> Any:
        if self.unit is None:
            return super().visit_If(node)
        given = node
        if self.scf_stack and spans.contains_return(node):
            given = self._without_returns(node)
        with self._region(given):
            super().visit_If(given)
        if given is not node and isinstance(self.values.get(facts.place(node.test)), core.tensor):
            # Under a run-time test Triton rejects even those that no constexpr test lets through.
            for lost in (n for n in ast.walk(node) if isinstance(n, ast.Return)):
                self._lose_return(lost)
        return None

    def _without_returns(self, node: ast.If) -> ast.If:
        if id(node) not in self._stripped:
            self._stripped[id(node)] = _ReturnsLost().visit(copy.deepcopy(node))
        return self._stripped[id(node)]

    def visit_IfExp(self, node: Any) -> Any:
        if self.unit is None:
            return super().visit_IfExp(node)
        # Triton gives each arm a block of its own and puts both into an operation at the end. After a fault they are left
        # behind, and the region around them would have more blocks than a loop's body may.
        made: list[Any] = []
        outer = self.builder.__dict__.pop("create_block", None)
        stock = self.builder.create_block

        def create() -> Any:
            made.append(stock())
            return made[-1]

        self.builder.create_block = create
        try:
            return super().visit_IfExp(node)
        except Exception:
            for block in reversed(made):
                block.erase()
            raise
        finally:
            del self.builder.create_block
            if outer is not None:
                self.builder.create_block = outer

    def visit_LostReturn(self, node: Any) -> None:
        span = spans.of(str(self.unit), node)
        given = {"event": "return", "types": [], "spans": [span], "in_loop": True, "operands": [], "callee": ""}
        self.return_lost = True
        self.rec.fault(span, "UnsupportedLanguageConstruct", _RETURN_IN_LOOP, "Return", given)

    def visit_Return(self, node: Any) -> Any:
        if self.unit is None:
            return super().visit_Return(node)
        if self.scf_stack:
            self._lose_return(node)
            self.visit(node.value)
            return None
        if versions.returns_are_settled_at_the_end():
            result = super().visit_Return(node)
            if self._returns_doubt(node):
                return result
            self.returned.append((spans.of(self.unit, node), typetext.describe(self.return_vals[-1])))
            return result
        try:
            result = super().visit_Return(node)
        except Exception as error:
            if isinstance(error, TypeError) and "Inconsistent return types" in str(error):
                kinds = self._return_kind(node)
                self._pending = {
                    "event": "return",
                    "types": [*(kind for _, kind in self.returned), kinds],
                    "spans": [*(span for span, _ in self.returned), spans.of(self.unit, node)],
                    "in_loop": False,
                }
            raise
        if not self._returns_doubt(node):
            self.returned.append((spans.of(self.unit, node), self._return_kind(node)))
        return result

    def _returns_doubt(self, node: ast.Return) -> bool:
        """Whether what is returned is partly a guess: then a call of the function has no value."""
        if node.value is None or not doubt_of(self.values.get(facts.place(node.value))):
            return False
        self.return_lost = True
        return True

    def _return_kind(self, node: ast.Return) -> str:
        if node.value is None:
            return "None"
        return typetext.describe(self.values.get(facts.place(node.value)))

    def _lose_return(self, node: Any) -> None:
        self.return_lost = self.return_lost or node.value is not None
        span = spans.of(str(self.unit), node)
        given = {"event": "return", "types": [], "spans": [span], "in_loop": True, "operands": [], "callee": ""}
        self.rec.fault(span, "UnsupportedLanguageConstruct", _RETURN_IN_LOOP, "Return", given)

    def handle_returns(self) -> None:
        """Triton 3.9 settles return types here; a disagreement stands at the `return` that brings it."""
        if self.unit is None:
            super().handle_returns()
            return
        try:
            self.decide_return_type()
        except Exception as error:
            last = next((i for i, (_, kind) in enumerate(self.returned) if kind != self.returned[0][1]), 0)
            span = self.returned[last][0]
            given = {
                "event": "return",
                "types": [kind for _, kind in self.returned],
                "spans": [span for span, _ in self.returned],
                "in_loop": False,
                "operands": [],
                "callee": "",
            }
            self.rec.fault(span, type(error).__name__, str(error), "Return", given)
            self.return_lost, self.returned = True, []
            return
        super().handle_returns()
