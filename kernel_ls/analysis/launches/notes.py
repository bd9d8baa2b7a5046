"""Launches as they are met on a course: noted with everything that was evaluated for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from kernel_ls.analysis.environment import FunctionValue, Partial
from kernel_ls.analysis.environment.domain import module_of, qualname_in
from kernel_ls.pyeval import MISSING, Evaluator, Frame
from kernel_ls.pyeval.nodes import walk

from . import dtypes
from .domain import HostDomain, launchable
from .values import Launcher, Number, Predicate, Symbol, Tensor


@dataclass(eq=False)
class Given:
    """One argument as it was evaluated: its value and its syntax, if it has any of its own."""

    value: Any
    node: ast.expr | None = None


@dataclass(eq=False)
class Noted:
    """One launch as it was met."""

    kernel: FunctionValue
    style: str
    path: str
    node: ast.AST | None
    grid: ast.expr | None
    function: str
    args: list[Given] = field(default_factory=list)
    kwargs: dict[str, Given] = field(default_factory=dict)
    known_args: int = 0
    """How many of the positional arguments stand before one that is unpacked and not known."""
    incomplete: bool = False


class LaunchNotes(Evaluator):
    """The part of the evaluator that notes launches."""

    domain: HostDomain
    noted: list[Noted]
    silent: int
    """Whether launches are only followed, not noted."""
    caller: Frame | None
    """The frame of the call that is being made."""

    def launched(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.AST | None) -> Any:
        """A call that did not come from a call's syntax, such as one of a partial launch; MISSING where it is no launch."""
        while isinstance(function, Partial):
            args = (*function.args, *args)
            kwargs = {**function.kwargs, **kwargs}
            function = function.function
            if isinstance(function, FunctionValue) and not function.is_kernel_code:
                return MISSING
        if not isinstance(function, Launcher) and launchable(function, "") is None:
            return MISSING
        values = [Given(self.domain.lift(a)) for a in args]
        named = {k: Given(self.domain.lift(v)) for k, v in kwargs.items()}
        module = module_of(self.caller) if self.caller is not None else None
        path = module.path if module is not None else ""
        within = function_of(self.caller) if self.caller is not None else ""
        return self._note(function, node, path, within, values, named, len(values), False)

    def launch(
        self,
        function: Launcher | FunctionValue,
        node: ast.Call,
        frame: Frame,
        args: list[Given],
        kwargs: dict[str, Given],
        known: int,
        incomplete: bool,
    ) -> Any:
        """A call that launches a kernel."""
        module = module_of(frame)
        path = module.path if module is not None else ""
        return self._note(function, node, path, function_of(frame), args, kwargs, known, incomplete)

    def _note(
        self,
        function: Launcher | FunctionValue,
        node: ast.AST | None,
        path: str,
        within: str,
        args: list[Given],
        kwargs: dict[str, Given],
        known: int,
        incomplete: bool,
    ) -> Any:
        kernel = function.kernel if isinstance(function, Launcher) else function
        style = function.style if isinstance(function, Launcher) else "call"
        grid = function.grid if isinstance(function, Launcher) and function.path == path else None
        if style in ("run", "warmup"):
            given = kwargs.pop("grid", None)
            grid = given.node if given is not None else None
            kwargs.pop("warmup", None)
        if style == "warmup":
            # `warmup` takes a dtype for a tensor of it.
            for one in (*args, *kwargs.values()):
                if dtypes.name_of(one.value) is not None:
                    one.value = Tensor(self.domain.world.fresh(), "", one.value)
        if not self.silent:
            tested = tested_for_none(kernel)
            names = dict(zip(kernel.parameters(), args[:known], strict=False))
            for name, one in (*names.items(), *kwargs.items()):
                self._settle(one, name in tested)
            self.noted.append(Noted(kernel, style, path, node, grid, within, args, kwargs, known, incomplete))
        return self.domain.symbol("")

    def _settle(self, given: Given, tested: bool) -> None:
        """Decide whether an argument is None, where host code or the kernel asks for it: what others are hangs on it."""
        world = self.domain.world
        value = given.value = world.resolve(given.value)
        site = ("argument", getattr(given.node, "lineno", 0), getattr(given.node, "col_offset", 0))
        if isinstance(value, Symbol) and value.id in world.optional and value.id not in world.objects:
            # A default of None is no evidence that None is passed; a parameter may just follow one that has a default.
            if tested or not world.absent:
                world.decide(Predicate(("None", value.id), False, "none", value), site)
        elif isinstance(value, Number) and value.predicate is not None and value.predicate.relation == "none":
            given.value = world.decide(value.predicate, site)

    def source(self, node: ast.Call, frame: Frame, args: list[Given], kwargs: dict[str, Given]) -> Any:
        """`ASTSource(...)`, which states the types of a kernel's arguments."""
        given = {**dict(zip(("fn", "signature", "constexprs", "attrs"), args, strict=False)), **kwargs}
        kernel = launchable(given["fn"].value, "") if "fn" in given else None
        if kernel is not None and not self.silent:
            module = module_of(frame)
            path = module.path if module is not None else ""
            self.noted.append(Noted(kernel, "ASTSource", path, node, None, function_of(frame), [], given))
        return self.domain.symbol("ASTSource(...)")


def tested_for_none(kernel: FunctionValue) -> frozenset[str]:
    """Parameters of a kernel that it, or a heuristic around it, compares with None."""
    memo = kernel.module.document.memo
    key = f"tested for none {kernel.node.lineno} {kernel.node.col_offset}"
    known = memo.get(key)
    if known is None:
        known = memo[key] = _tested_for_none(kernel)
    return cast("frozenset[str]", known)


def _tested_for_none(kernel: FunctionValue) -> frozenset[str]:
    found: set[str] = set()
    roots: list[ast.AST] = [kernel.node]
    for layer in kernel.heuristics:
        values = layer.values.values() if isinstance(layer.values, dict) else ()
        roots += [v.node for v in values if isinstance(v, FunctionValue)]
    for node in (n for root in roots for n in walk(root)):
        if isinstance(node, ast.Compare) and any(
            isinstance(c, ast.Constant) and c.value is None for c in node.comparators
        ):
            left = node.left
            if isinstance(left, ast.Name):
                found.add(left.id)
            elif isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Constant):
                found.add(str(left.slice.value))
    return frozenset(found)


def function_of(frame: Frame) -> str:
    """The qualified name of the function whose code a frame runs."""
    names = qualname_in(frame, "?").split(".")[:-1]
    return ".".join(names[:-1] if names and names[-1] == "<locals>" else names)
