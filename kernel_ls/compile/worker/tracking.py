"""Triton's code generator with a memory: what each expression was, where each name was assigned, what is visited.

The first of five layers (tracking, names, control_flow, parts, recovery), each a subclass of the one before; the last is put in
the place of Triton's class. A layer leaves functions that are not of the program (`unit` is None) to Triton.
"""

from __future__ import annotations

import ast
from typing import Any

from triton.compiler import code_generator

from . import spans, typetext
from .recorder import Recorder
from .regions import Region
from .unknown import UNKNOWN, ReturnTypes

Stock = code_generator.CodeGenerator


class TrackingGenerator(Stock):  # type: ignore[misc,valid-type]
    """See the module's docstring. `rec` is set on a subclass made for one job (`recovery.installed`).

    Attributes:
        unit: the program's unit that is generated, or None for a function of Triton's own.
        values: what each expression gave last, by its place in the text.
        origins: for each name the span of its last assignment, the type it got, and the constant written there.
        regions: the `if`s and loops that are being generated, outermost first.
        nodes: the nodes that are being visited, outermost first.
        after_loop: loop variables whose loop is over and that were not assigned since.
        entered: loops whose body was generated.
        function: the `def` that is generated.
        returned: span and type of each `return` that was generated.
        return_lost: whether a `return` was not.
    """

    rec: Recorder
    lscope: dict[str, Any]
    local_defs: dict[str, Any]
    cur_node: Any
    function_ret_types: Any
    name_loc_as_prefix: Any
    ret_type: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not isinstance(self.function_ret_types, ReturnTypes):
            self.function_ret_types = ReturnTypes()
        self.unit: str | None = self.rec.unit_of(self.file_name)
        self.values: dict[tuple[int, int, int, int], Any] = {}
        self.origins: dict[str, tuple[spans.WireSpan, str, str | None]] = {}
        self.regions: list[Region] = []
        self.nodes: list[ast.AST] = []
        self.statements: list[ast.AST] = []
        self.after_loop: set[str] = set()
        self.function: ast.AST | None = None
        self.return_lost = False
        self.returned: list[tuple[spans.WireSpan, str]] = []
        self._lines = self.rec.sources[self.unit].split("\n") if self.unit is not None else []
        self._pending: dict[str, Any] = {}
        self._seen: BaseException | None = None
        self._trail: tuple[ast.AST, ...] = ()
        self.entered: set[int] = set()
        self._stripped: dict[int, ast.If] = {}

    def forget(self, name: str) -> None:
        """Let a name hold UNKNOWN."""
        self.lscope[name] = UNKNOWN
        self.local_defs.pop(name, None)
        self.after_loop.discard(name)

    def take_pending(self) -> dict[str, Any]:
        """Facts that were put aside for the fault that is being reported."""
        pending, self._pending = self._pending, {}
        return pending

    def source_of(self, node: Any) -> str:
        """The text of a node."""
        first, last = node.lineno - 1, node.end_lineno - 1
        lines = [line.encode() for line in self._lines[first : last + 1]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode(errors="replace")

    def set_value(self, name: str, value: Any) -> None:
        super().set_value(name, value)
        if self.unit is None:
            return
        self.after_loop.discard(name)
        self.assigned(name, value)

    def assigned(self, name: str, value: Any) -> None:
        """Remember where a name was assigned, and what."""
        here = next((n for n in reversed(self.nodes) if spans.has_place(n)), None)
        kind = typetext.describe(value)
        if isinstance(here, (ast.If, ast.For, ast.While)):
            # The end of a region merges values; the assignment is the one inside it.
            known = self.origins.get(name)
            span = known[0] if known is not None else spans.of(str(self.unit), getattr(here, "target", here))
            self.origins[name] = (span, kind, known[2] if known is not None else None)
            return
        if isinstance(here, ast.FunctionDef):
            arguments = [*here.args.posonlyargs, *here.args.args, *here.args.kwonlyargs]
            here = next((argument for argument in arguments if argument.arg == name), here)
        if here is not None:
            source = getattr(here, "value", None)
            written = repr(source.value) if isinstance(source, ast.Constant) else None
            self.origins[name] = (spans.of(str(self.unit), here), kind, written)

    def visit_AnnAssign(self, node: Any) -> Any:
        result = super().visit_AnnAssign(node)
        name = node.target.id if isinstance(node.target, ast.Name) and spans.has_place(node) else ""
        if self.unit is not None and name in self.lscope and name not in self.local_defs:
            self.assigned(name, self.lscope[name])
        return result
