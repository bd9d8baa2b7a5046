from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernel_ls.analysis.environment import Autotune, FunctionValue, Heuristics
from kernel_ls.analysis.rules.base import Explanation, Rule, finding_at
from kernel_ls.analysis.rules.edits import nearest
from kernel_ls.analysis.rules.layers import (
    LAUNCH_OPTIONS,
    RUN_ARGUMENTS,
    Heuristic,
    Read,
    accepts_anything,
    heuristics_of,
    parameter_names,
    tuned_names,
)
from kernel_ls.analysis.rules.surroundings import given, removal
from kernel_ls.model import Edit, Fix, Location, Severity

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.environment import ResolvedFunction
    from kernel_ls.analysis.rules.surroundings import Surroundings


class HeuristicsConfig(Rule):
    """Heuristics do not fit their kernel.

    What it finds:
        A value that is computed for something that is no parameter of the kernel, or that an autotuner sets as well; what
        is no function of the arguments; a function that reads an argument that there is not. As information: a value for
        a parameter that is no constexpr.

    Why it is a fault:
        At a launch each function is called with all arguments by name, and its result is passed to the kernel by name. A
        name that the kernel does not have fails then. A value for a parameter that is no constexpr arrives at run time, so
        that an `if` on it is decided on the device.

    Example:
        @triton.heuristics({"EVEN_N": lambda args: args["size"] % 64 == 0})
        @triton.jit
        def kernel(x_ptr, n, EVEN: tl.constexpr):
            tl.store(x_ptr, n)

    Instead:
        @triton.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})
        @triton.jit
        def kernel(x_ptr, n, EVEN: tl.constexpr):
            tl.store(x_ptr, n)

    Triton versions:
        All. Nothing is looked at before the launch.

    Fix and its safety:
        Renames to the nearest parameter, which is a guess at what was meant; else removes the value, which no launch could
        pass.
    """

    code = "heuristics-config"
    summary = "heuristics do not fit their kernel"
    priority = 10

    def check(self, document: ParsedDocument, surroundings: Surroundings) -> Iterable[Explanation]:
        for function in surroundings.functions:
            if accepts_anything(function.jit):
                continue
            inner: set[str] = set()
            for layer in function.value.layers:
                if isinstance(layer, Autotune):
                    inner |= tuned_names(layer)
                elif isinstance(layer, Heuristics) and surroundings.is_tritons(layer.location, "triton.heuristics"):
                    checks = _Checks(self, document, surroundings, function, layer)
                    for heuristic in heuristics_of(layer):
                        yield from checks.heuristic(heuristic, inner)


class _Checks:
    """The checks of one `heuristics`."""

    def __init__(
        self,
        rule: Rule,
        document: ParsedDocument,
        surroundings: Surroundings,
        function: ResolvedFunction,
        layer: Heuristics,
    ) -> None:
        assert layer.location is not None
        self.rule = rule
        self.document = document
        self.surroundings = surroundings
        self.function = function.jit
        self.parameters = parameter_names(function.jit)
        here = layer.location.path == document.path
        self.place = layer.location if here else Location(document.path, self.function.name_span)
        self.call = surroundings.call_at(layer.location) if here else None

    def heuristic(self, heuristic: Heuristic, tuned: set[str]) -> Iterator[Explanation]:
        """What is wrong with one value; `tuned` are those that an autotuner below sets."""
        name = heuristic.name
        parameter = self.function.parameter(name)
        if parameter is None:
            if name not in LAUNCH_OPTIONS:
                yield self._unknown(name)
            return
        if name in tuned:
            yield self.found(
                self._key(name),
                f"`{name}` is computed here and chosen by the autotuner below; a launch fails over the two.",
            )
        if not parameter.is_constexpr:
            yield self.found(
                self._key(name),
                f"`{name}` is no constexpr of `{self.function.name}`: the value arrives at run time.",
                severity=Severity.INFO,
                related=[("the parameter", Location(self.function.path, parameter.span))],
            )
        yield from self._function(heuristic)

    def _unknown(self, name: str) -> Explanation:
        near = nearest(name, self.parameters)
        hint = f"; did you mean `{near}`?" if near else "."
        place, key = self._key(name), self._entry(name)
        fixes = []
        if key is not None:
            if near:
                fixes.append(Fix(f"Rename to `{near}`", (Edit(place, f'"{near}"'),)))
            fixes.append(removal(self.document, key[0], f"Remove `{name}`", key[1]))
        return self.found(
            place,
            f"`{name}` is no parameter of `{self.function.name}`{hint}",
            fixes=fixes,
            related=[("the kernel", self.function.name_location)],
        )

    def _function(self, heuristic: Heuristic) -> Iterator[Explanation]:
        value, name = heuristic.value, heuristic.name
        if isinstance(value, (bool, int, float, str, list, tuple, dict)) or value is None:
            yield self.found(self._value(name), f"`{name}` is to be a function of the arguments, not a value.")
            return
        if not isinstance(value, FunctionValue):
            return
        spec = value.node.args
        positional = [*spec.posonlyargs, *spec.args]
        required = len(positional) - len(spec.defaults)
        if (not positional and spec.vararg is None) or required > 1:
            count = "none" if not positional else str(required)
            yield self.found(
                self._value(name), f"A heuristic takes one argument, a dictionary of all; this one takes {count}."
            )
            return
        for read in heuristic.reads:
            if read.name not in self.parameters and read.name not in LAUNCH_OPTIONS | RUN_ARGUMENTS and read.always:
                yield self._unknown_read(name, read)

    def _unknown_read(self, name: str, read: Read) -> Explanation:
        near = nearest(read.name, self.parameters)
        hint = f"; did you mean `{near}`?" if near else "."
        here = read.location is not None and read.location.path == self.document.path
        place = read.location if here and read.location is not None else self._value(name)
        fixes = [Fix(f"Rename to `{near}`", (Edit(place, f'"{near}"'),))] if here and near else []
        return self.found(
            place,
            f"`{self.function.name}` has no argument `{read.name}` for the heuristic of `{name}` to read{hint}",
            fixes=fixes,
        )

    # ---------------------------------------------------------------------------------------------- places

    def found(
        self,
        place: Location,
        message: str,
        *,
        severity: Severity | None = None,
        fixes: Sequence[Fix] = (),
        related: Sequence[tuple[str, Location]] = (),
    ) -> Explanation:
        """A finding about this kernel."""
        made = finding_at(self.rule, place, message, severity=severity, related=related, kernel=self.function.qualname)
        return Explanation(made, fixes=tuple(fixes))

    def _entry(self, name: str) -> tuple[ast.expr, ast.expr] | None:
        values = given(self.call, "values", 0) if self.call is not None else None
        if isinstance(values, ast.Dict):
            for key, value in zip(values.keys, values.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    return key, value
        return None

    def _key(self, name: str) -> Location:
        entry = self._entry(name)
        return self.place if entry is None else self.surroundings.location(self.document, entry[0])

    def _value(self, name: str) -> Location:
        entry = self._entry(name)
        return self.place if entry is None else self.surroundings.location(self.document, entry[1])
