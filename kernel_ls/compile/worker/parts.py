"""The parts of a statement that cannot be generated as a whole: what is wrong in them by itself is found.

Each part is visited for the fault that it may raise; its value and its IR are left behind.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from typing import Any

from triton.language import core

from . import facts, guesses, reports, spans
from .control_flow import ControlFlowGenerator
from .unknown import Poisoned

_NOT_ALL_EVALUATED = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class PartsGenerator(ControlFlowGenerator):
    """See the module's docstring."""

    def look_at_other_names(self, statement: Any) -> None:
        """A statement that failed early may read other names that are wrong by themselves."""
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr) or any(isinstance(n, _NOT_ALL_EVALUATED) for n in ast.walk(value)):
            return
        for name in (n for n in ast.walk(value) if isinstance(n, ast.Name)):
            if facts.place(name) not in self.values:
                with contextlib.suppress(Exception):
                    self.visit(name)

    def look_at_parts(self, statement: Any) -> None:
        """A statement that reads what has no value may have parts that do not, and these may be wrong by themselves."""
        point = self._get_insertion_point_and_loc()
        for field in ("value", "test", "iter"):
            part = getattr(statement, field, None)
            if isinstance(part, ast.expr):
                self.look_at_part(statement, part)
                self._set_insertion_point_and_loc(*point)

    def look_at_part(self, statement: Any, node: ast.expr) -> None:
        before = len(self.scf_stack), len(self.regions), len(self.nodes), self.cur_node
        try:
            self.visit(node)
            return
        except Exception as error:
            trail = self._trail if self._seen is error else ()
            poisoned = isinstance(reports.innermost(error), Poisoned)
            reports.report(self, error, statement, trail)
            self._seen, self._trail = None, ()
        del self.scf_stack[before[0] :], self.regions[before[1] :], self.nodes[before[2] :]
        self.cur_node = before[3]
        if not poisoned:
            return
        if isinstance(node, ast.IfExp):
            self.look_at_part(statement, node.test)
        elif isinstance(node, ast.BoolOp):
            self.look_at_part(statement, node.values[0])
        elif not isinstance(node, _NOT_ALL_EVALUATED):
            for child in ast.iter_child_nodes(node):
                inner = child.value if isinstance(child, ast.keyword) else child
                if isinstance(inner, ast.expr) and spans.has_place(inner):
                    self.look_at_part(statement, inner)
            if isinstance(node, ast.Call):
                self._look_at_call(statement, node)
            elif isinstance(node, (ast.BinOp, ast.Compare)):
                self._look_at_operation(statement, node)

    def _look_at_operation(self, statement: Any, node: Any) -> None:
        """Whether an operator some of whose operands have no value is there at all, and takes what is known of them."""
        for again in guesses.operations(self, node):
            try:
                self.visit(again)
            except Exception as error:
                reports.report(self, error, statement, self._trail if self._seen is error else ())
                self._seen, self._trail = None, ()
                return

    def _look_at_call(self, statement: Any, node: ast.Call) -> None:
        """Whether a call of Triton's some of whose arguments have no value could be bound at all."""
        function = core._unwrap_if_constexpr(self.values.get(facts.place(node.func)))
        spread = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        if self._calls_itself(statement, function):
            text = "a jit function calls itself; recursion is not supported"
            given = {**facts.basic(self, node, "expression", statement), "callee": self.unit}
            self.rec.fault(spans.of(str(self.unit), node), "RecursionError", text, "Call", given)
            return
        if function is None or spread or not core.is_builtin(function):
            return
        internal = {"_semantic", "_generator", "_builder"}
        try:
            parameters = inspect.signature(function)
            taken = {n for n, p in parameters.parameters.items() if n in internal and p.default is p.empty}
            parameters.bind(*node.args, **{str(k.arg): k for k in node.keywords}, **dict.fromkeys(taken))
        except TypeError as error:
            given = facts.basic(self, node, "expression", statement)
            given.update(facts.meant(self, node, error))
            if given.get("candidates") == []:
                return  # not misspelt: the version that the call is meant for has it
            text = f"{getattr(function, '__name__', '')}() {error}"
            self.rec.fault(spans.of(str(self.unit), node), "TypeError", text, "Call", given)
            return
        except ValueError:
            return
        for call, about in guesses.accesses(self, node, function):
            try:
                self.visit(call)
            except Exception as error:
                trail = self._trail if self._seen is error else ()
                self._seen, self._trail = None, ()
                if about.search(reports.text_of(reports.innermost(error))):
                    reports.report(self, error, statement, trail)
                    return

    def _calls_itself(self, statement: Any, function: Any) -> bool:
        """Whether a statement that is reached in any case calls the function that it is part of: that has no end."""
        body = getattr(self.function, "body", ())
        return function is not None and self.rec.unit_of(function) == self.unit and any(s is statement for s in body)
